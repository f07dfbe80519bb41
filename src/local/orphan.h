/*
 * Servers whose folder was removed under them. Nobody can reach such a one any more but those who
 * are connected to it, and these would hold locks that everybody else can take: it has to end, so
 * that they come to its successor.
 */
#ifndef LKI_LOCAL_ORPHAN_H
#define LKI_LOCAL_ORPHAN_H

/* Sends SIGTERM to every server that was surely ours, in a removed folder of the same path as this
 * one. It does not wait for their end, and does nothing where there is no /proc or pidfd_open(2).
 */
void lki_orphan_end(int folder_fd);

#endif
