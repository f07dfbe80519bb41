/* Whether the process has forked since: a client of the parent's is of no use in the child. */
#ifndef LKI_FORKED_H
#define LKI_FORKED_H

unsigned lki_fork_count(void); /* differs in a child from what it was in its parent */

#endif
