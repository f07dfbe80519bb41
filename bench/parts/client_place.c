/* See client_place.h. */
#include "client_place.h"

#include "client_figures.h"

static cpu_set_t get(pid_t thread) {
    cpu_set_t set;
    if (sched_getaffinity(thread, sizeof set, &set) != 0)
        bench_fail("sched_getaffinity failed");
    return set;
}

static void set_to(pid_t thread, const cpu_set_t *set) {
    if (sched_setaffinity(thread, sizeof *set, set) != 0)
        bench_fail("sched_setaffinity failed");
}

static bench_place place_now(pid_t server) {
    return (bench_place){.caller = get(0), .server = get(server), .server_pid = server};
}

static cpu_set_t first_of(const cpu_set_t *set) {
    cpu_set_t one;
    size_t cpu = 0;
    while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, set))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return one;
}

void place_apart(bench_place *before, pid_t server) {
    *before = place_now(server);
    cpu_set_t one = first_of(&before->caller), others = before->caller;
    set_to(server, &one);
    CPU_XOR(&others, &before->caller, &one);
    if (CPU_COUNT(&others) > 0)
        set_to(0, &others);
}

void place_together(bench_place *before, pid_t server) {
    *before = place_now(server);
    cpu_set_t one = first_of(&before->caller);
    set_to(server, &one);
    set_to(0, &one);
}

void place_restore(const bench_place *before) {
    set_to(0, &before->caller);
    set_to(before->server_pid, &before->server);
}
