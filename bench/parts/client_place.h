/*
 * On which processors threads run. Whether two that talk to each other share a processor changes
 * the time of a round trip several times over, and the kernel moves them about as it likes: so
 * where it matters, the places are the same for everything that is compared.
 */
#ifndef BENCH_CLIENT_PLACE_H
#define BENCH_CLIENT_PLACE_H

#include <sched.h>
#include <sys/types.h>

typedef struct {
    cpu_set_t caller, server; /* as they were */
    pid_t server_pid;
} bench_place;

/*
 * The server on a processor of its own, and the calling thread, with all threads and processes that
 * it starts from now on, on the others; or all on one. Where there is only one, both are the same.
 */
void place_apart(bench_place *, pid_t server);
void place_together(bench_place *, pid_t server);
void place_restore(const bench_place *);

#endif
