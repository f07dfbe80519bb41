/*
 * Private servers whose folder was removed. New clients cannot reach such a server, but its
 * connected clients still hold locks there, which other clients can acquire on the next server. So
 * the old server must end; its clients then connect to the next one.
 */
#ifndef LKI_LOCAL_ORPHAN_H
#define LKI_LOCAL_ORPHAN_H

/*
 * Sends SIGTERM to every private server of this user whose removed folder had the path of this
 * folder. Does not wait until they have ended. No effect without /proc or pidfd_open(2).
 */
void lki_orphan_end(int folder_fd);

#endif
