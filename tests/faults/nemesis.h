/*
 * The faults, in one table. A fault begins, lasts for a while, and ends; when it has ended, the
 * servers and clients are as before, so that all guarantees hold again. Each row says which
 * guarantees the fault suspends; docs/GUARANTEES.md says why.
 */
#ifndef FAULTS_NEMESIS_H
#define FAULTS_NEMESIS_H

#include "crew.h"
#include "site.h"

typedef struct {
    site *servers;
    crew *clients;
    unsigned seed;
    int target;          /* the server that the present fault is about */
    const char *lock;    /* a lock of that server, when the attack aimed at it */
    test_slot_move move; /* the slot that moves, or one of the target */
    unsigned masters;    /* of a failover: a bit for each server that was a master before */
    int successor;       /* the server that is a master since then */
    int64_t served_ns;   /* when it was first seen to be one */
} attack;

typedef struct {
    const char *name;
    unsigned sites; /* where it fits: bits of site_kind */
    site_needs needs;
    int shortest_ms, longest_ms; /* from the beginning to the end */
    /* False: it did not work, and the harness says so. NULL: there is nothing to do. */
    bool (*begin)(attack *);
    bool (*end)(attack *);
    bool fails_over;   /* another server becomes the master, perhaps without the last writes */
    bool forgets;      /* the server may lose data */
    bool jumps;        /* the clock of the server jumps forward */
    bool turns_back;   /* the clock of the server is set back */
    bool moves_queue;  /* waiters may lose their turn or their place */
    bool leaves_holds; /* holds may last to the end of their lease though nobody has them */
} nemesis;

extern const nemesis nemeses[];
extern const size_t nemesis_count;

/* For the files of the table: how long servers may take for anything. */
enum { ATTACK_MOST_MS = 60000 };
bool attack_settle(attack *); /* waits until the site is settled */
bool attack_aim(attack *);    /* the same; then draws a lock, and sets the target to its server */

/* Each pair is a row. */
typedef bool nemesis_act(attack *);
nemesis_act script_flush, memory_full, memory_free, clients_cut, server_stop, server_continue,
    server_kill, server_end, server_restart, clock_forward, clock_back; /* nemesis_server.c */
nemesis_act net_cut, net_whole, net_half_open, net_silent, net_open, net_slow, net_fast, net_refuse,
    net_accept; /* nemesis_network.c */
nemesis_act master_kill, master_revive, master_stop, master_resume, master_lag_and_kill,
    master_isolate, master_rejoin, failover_on_request, failover_with_other_clock, failover_done,
    replica_stop, replica_continue, slot_leaves, slot_arrives; /* nemesis_failover.c */

#endif
