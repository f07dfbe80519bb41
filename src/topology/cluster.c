/*
 * `redis+cluster://`: each node is a server, and has the locks whose keys are in its slots. Slots
 * move when a master fails, and when the cluster is resharded. A client notices it by MOVED, or
 * because a node does not answer; then a thread asks the nodes who has which slots.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "net/seeds.h"
#include "topology/cluster_map.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    ASK_MS = 500,     /* a node answers in this time, or the next one is asked first */
    PAUSE_MS = 200,   /* between two rounds of questions */
    QUIET_MS = 30000, /* without suspicion, the thread asks as seldom as this */
    REFRESH_MS = 5000
};

typedef struct {
    lki_topology base;
    lki_seeds seeds;
    pthread_mutex_t mutex; /* protects the map */
    lki_cluster_map map;
    lki_watcher watcher;
    pthread_t thread;
    bool is_watching;            /* the thread exists */
    int wake_fd;                 /* an eventfd, readable when somebody has a suspicion; -1: none */
    _Atomic int asking_fd;       /* the socket while a node is asked, else -1 */
    size_t named;                /* by the last MOVED; LKI_NODES_MOST: none since the last look */
    char *last_host, *last_port; /* the node that answered last. Not shared. */
} cluster;

/* ------------------------------------------------------------------------------ asking */

/*
 * The nodes to ask, in this order: the one that MOVED named, because others may not know of the
 * move yet; who answered last, who has slots, the seeds of the URL.
 */
typedef struct {
    lki_endpoint *nodes;
    size_t count;
} candidates;

static void candidates_clear(candidates *self) {
    for (size_t i = 0; i < self->count; i++)
        lki_endpoint_clear(&self->nodes[i]);
    lki_free(self->nodes);
}

static bool is_listed(const candidates *self, const char *host, const char *port) {
    for (size_t i = 0; i < self->count; i++)
        if (strcmp(self->nodes[i].host, host) == 0 && strcmp(self->nodes[i].port, port) == 0)
            return true;
    return false;
}

static bool add(candidates *self, const cluster *all, const char *host, const char *port) {
    if (is_listed(self, host, port))
        return true;
    if (!lki_seeds_endpoint(&all->seeds, host, port, &self->nodes[self->count]))
        return false;
    self->count++;
    return true;
}

static bool list_candidates(cluster *self, candidates *out) {
    pthread_mutex_lock(&self->mutex);
    const lki_cluster_map *map = &self->map;
    const lki_map_node *named = self->named < map->count ? &map->nodes[self->named] : NULL;
    self->named = LKI_NODES_MOST;
    out->nodes = lki_new((map->count + self->seeds.count + 1) * sizeof *out->nodes);
    bool done = out->nodes && (!named || add(out, self, named->host, named->port)) &&
                (!self->last_host || add(out, self, self->last_host, self->last_port));
    for (size_t i = 0; done && i < map->count; i++)
        done = !map->nodes[i].slots || add(out, self, map->nodes[i].host, map->nodes[i].port);
    for (size_t i = 0; done && i < self->seeds.count; i++)
        done = add(out, self, self->seeds.seeds[i].host, self->seeds.seeds[i].port);
    pthread_mutex_unlock(&self->mutex);
    return done;
}

static void remember(cluster *self, const lki_endpoint *node) {
    char *host = NULL, *port = NULL;
    if (!lki_copy_to(&host, node->host) || !lki_copy_to(&port, node->port)) {
        lki_free(host);
        return; /* the next round begins with another node */
    }
    lki_free(self->last_host);
    lki_free(self->last_port);
    self->last_host = host;
    self->last_port = port;
}

/*
 * A node that was cut off knows only an earlier state. So the client ignores a view with a lower
 * epoch, and the view of a node that cannot reach the others, unless no other node has a better one.
 */
static bool is_current(cluster *self, const lki_cluster_view *view) {
    pthread_mutex_lock(&self->mutex);
    bool is_newer = !view->epoch || view->epoch >= self->map.epoch;
    pthread_mutex_unlock(&self->mutex);
    return is_newer && view->is_ok;
}

static bool is_better(const lki_cluster_view *view, const lki_cluster_view *best) {
    if (view->epoch != best->epoch)
        return view->epoch > best->epoch;
    return view->is_ok && !best->is_ok;
}

typedef struct {
    lki_cluster_view best;
    bool found;        /* there is a best view */
    bool all_answered; /* no node was silent, or refused */
    lk_status worst;   /* if none was found */
    lki_error error;   /* of worst */
} survey;

static void note_failure(survey *all, lk_status status, const lki_error *why) {
    all->all_answered = false;
    if (lki_seed_error_weight(status) < lki_seed_error_weight(all->worst))
        return;
    all->worst = status;
    all->error = *why;
}

/* True: it is current, and no other node needs to be asked. */
static bool note_view(cluster *self, survey *all, lki_cluster_view *view,
                      const lki_endpoint *node) {
    bool is_done = is_current(self, view);
    if (!all->found || is_better(view, &all->best)) {
        lki_cluster_view_clear(&all->best);
        all->best = *view;
        remember(self, node);
    } else {
        lki_cluster_view_clear(view);
    }
    all->found = true;
    return is_done;
}

/* Asks one after the other, each for limit_ms at most, until one has a current view. */
static void ask_nodes(cluster *self, const candidates *nodes, const lki_reach *reach,
                      int64_t limit_ms, survey *all) {
    for (size_t i = 0; i < nodes->count && all->worst != LK_CANCELED; i++) {
        lki_cluster_view view = {0};
        lki_error why;
        lki_reach within = *reach;
        int64_t end_us = lki_after_ms(lki_now_us(), limit_ms);
        within.deadline_us = end_us < reach->deadline_us ? end_us : reach->deadline_us;
        lk_status status =
            lki_cluster_ask(&nodes->nodes[i], &within, &self->asking_fd, &view, &why);
        atomic_store(&self->asking_fd, -1);
        if (status != LK_OK)
            note_failure(all, status, &why);
        else if (note_view(self, all, &view, &nodes->nodes[i]))
            return;
    }
}

/* If no node answers soon, all may be far away: the second time, each has more time. */
static lk_status ask_twice(cluster *self, const candidates *nodes, const lki_reach *reach,
                           survey *all) {
    *all = (survey){.all_answered = true, .worst = LK_UNAVAILABLE};
    lki_error_set(&all->error, LK_UNAVAILABLE, "%s: no node answered", self->base.shown);
    ask_nodes(self, nodes, reach, ASK_MS, all);
    int64_t left_ms = (reach->deadline_us - lki_now_us()) / 1000;
    if (!all->found && all->worst == LK_UNAVAILABLE && left_ms > ASK_MS)
        ask_nodes(self, nodes, reach, left_ms / (int64_t)nodes->count, all);
    return all->found ? LK_OK : all->worst;
}

/* Asks, and updates the map. *changed: slots have other owners than before. */
static lk_status look(cluster *self, const lki_reach *reach, bool *changed, lki_error *error) {
    candidates nodes = {0};
    survey all = {0};
    *changed = false;
    lk_status status = list_candidates(self, &nodes) ? LK_OK : lki_error_no_memory(error);
    if (status == LK_OK && (status = ask_twice(self, &nodes, reach, &all)) != LK_OK)
        *error = all.error;
    if (status == LK_OK) {
        pthread_mutex_lock(&self->mutex);
        /* If all nodes agree on a lower epoch, the cluster was set up again. */
        const lki_cluster_view *view = &all.best;
        bool counts = !view->epoch || view->epoch >= self->map.epoch || all.all_answered;
        if (counts && !lki_cluster_map_apply(&self->map, view, changed))
            status = lki_error_no_memory(error);
        pthread_mutex_unlock(&self->mutex);
    }
    lki_cluster_view_clear(&all.best);
    candidates_clear(&nodes);
    return status;
}

static lk_status cluster_discover(lki_topology *topology, const lki_reach *reach,
                                  lki_error *error) {
    bool changed;
    return look((cluster *)topology, reach, &changed, error);
}

/* ------------------------------------------------------------------------------ watching */

static void clear_wake(int fd) {
    uint64_t count;
    while (read(fd, &count, sizeof count) > 0) {}
}

/* False: stop. */
static bool sleep_until(const cluster *self, bool may_be_woken, int64_t until_us) {
    struct pollfd polled[] = {{self->watcher.stop_fd, POLLIN, 0},
                              {may_be_woken ? self->wake_fd : -1, POLLIN, 0}};
    poll(polled, sizeof polled / sizeof *polled, lki_poll_ms(until_us));
    return !polled[0].revents;
}

static void *watch_cluster(void *context) {
    cluster *self = context;
    while (sleep_until(self, true, lki_after_ms(lki_now_us(), QUIET_MS))) {
        clear_wake(self->wake_fd); /* before the questions: a later suspicion asks again */
        lki_reach reach = {self->watcher.tls, lki_after_ms(lki_now_us(), REFRESH_MS),
                           self->watcher.stop_fd};
        lki_error error;
        bool changed;
        if (look(self, &reach, &changed, &error) == LK_OK && changed)
            self->watcher.remapped(self->watcher.context);
        if (!sleep_until(self, false, lki_after_ms(lki_now_us(), PAUSE_MS)))
            break;
    }
    return NULL;
}

static void cluster_suspect(lki_topology *topology) {
    static const uint64_t one = 1;
    const cluster *self = (const cluster *)topology;
    if (write(self->wake_fd, &one, sizeof one) < 0)
        return; /* EAGAIN: it is already readable */
}

static lk_status cluster_watch(lki_topology *topology, const lki_watcher *watcher,
                               lki_error *error) {
    cluster *self = (cluster *)topology;
    self->watcher = *watcher;
    self->is_watching = lki_thread_start(&self->thread, watch_cluster, self);
    return self->is_watching
               ? LK_OK
               : lki_error_set(error, LK_NOMEM, "cannot start a thread to watch the cluster");
}

static void cluster_unwatch(lki_topology *topology) {
    cluster *self = (cluster *)topology;
    if (self->is_watching)
        pthread_join(self->thread, NULL);
    self->is_watching = false;
}

/* ------------------------------------------------------------------------------ the map */

static size_t cluster_server_of(lki_topology *topology, unsigned slot) {
    cluster *self = (cluster *)topology;
    pthread_mutex_lock(&self->mutex);
    size_t node = lki_cluster_map_owner(&self->map, slot);
    pthread_mutex_unlock(&self->mutex);
    return node;
}

static bool cluster_has_slots(lki_topology *topology, size_t server) {
    cluster *self = (cluster *)topology;
    pthread_mutex_lock(&self->mutex);
    bool has_slots = server < self->map.count && self->map.nodes[server].slots;
    pthread_mutex_unlock(&self->mutex);
    return has_slots;
}

static void cluster_add_slots(lki_topology *topology, size_t server, lki_slots *slots) {
    cluster *self = (cluster *)topology;
    pthread_mutex_lock(&self->mutex);
    lki_cluster_map_add_slots(&self->map, server, slots);
    pthread_mutex_unlock(&self->mutex);
}

static void cluster_address(lki_topology *topology, size_t server, char out[LKI_ADDRESS_SIZE]) {
    cluster *self = (cluster *)topology;
    pthread_mutex_lock(&self->mutex);
    const lki_map_node *node = &self->map.nodes[server];
    lki_endpoint_address(&(lki_endpoint){.host = node->host, .port = node->port}, out);
    pthread_mutex_unlock(&self->mutex);
}

static lk_status cluster_redirect(lki_topology *topology, size_t from, const lki_redirect *redirect,
                                  size_t *server) {
    cluster *self = (cluster *)topology;
    pthread_mutex_lock(&self->mutex);
    const char *host = *redirect->host ? redirect->host : self->map.nodes[from].host;
    bool done = lki_cluster_map_node(&self->map, host, redirect->port, server);
    if (done && !redirect->is_ask) {
        done = lki_cluster_map_give(&self->map, redirect->slot, *server);
        self->named = *server;
    }
    pthread_mutex_unlock(&self->mutex);
    if (!redirect->is_ask)
        cluster_suspect(topology); /* other slots may have moved, too */
    return done ? LK_OK : LK_NOMEM;
}

static bool cluster_take_move(lki_topology *topology, size_t *from, size_t *to) {
    cluster *self = (cluster *)topology;
    lki_map_move move;
    pthread_mutex_lock(&self->mutex);
    bool found = lki_cluster_map_take_move(&self->map, &move);
    pthread_mutex_unlock(&self->mutex);
    if (!found)
        return false;
    *from = move.from;
    *to = move.to;
    return true;
}

static lk_status cluster_locate(lki_topology *topology, size_t server, const lki_reach *reach,
                                lki_endpoint *out, lki_error *error) {
    cluster *self = (cluster *)topology;
    (void)reach;
    pthread_mutex_lock(&self->mutex);
    const lki_map_node *node = &self->map.nodes[server];
    bool copied = lki_seeds_endpoint(&self->seeds, node->host, node->port, out);
    pthread_mutex_unlock(&self->mutex);
    return copied ? LK_OK : lki_error_no_memory(error);
}

/* ------------------------------------------------------------------------------ the topology */

static void cluster_close_after_fork(lki_topology *topology) {
    cluster *self = (cluster *)topology;
    int fd = atomic_load(&self->asking_fd);
    if (fd >= 0)
        close(fd);
    close(self->wake_fd);
}

static void cluster_close(lki_topology *topology) {
    cluster *self = (cluster *)topology;
    if (self->wake_fd >= 0)
        close(self->wake_fd);
    lki_free(self->last_host);
    lki_free(self->last_port);
    lki_cluster_map_clear(&self->map);
    lki_seeds_clear(&self->seeds);
    pthread_mutex_destroy(&self->mutex);
    lki_free(self->base.shown);
    lki_free(self);
}

static lk_status cluster_open(const char *url, const char *password, const char *sentinel_password,
                              lki_topology **out, lki_error *error) {
    static const lki_topology_methods methods = {.close = cluster_close,
                                                 .discover = cluster_discover,
                                                 .server_of = cluster_server_of,
                                                 .has_slots = cluster_has_slots,
                                                 .add_slots = cluster_add_slots,
                                                 .address = cluster_address,
                                                 .redirect = cluster_redirect,
                                                 .take_move = cluster_take_move,
                                                 .suspect = cluster_suspect,
                                                 .locate = cluster_locate,
                                                 .watch = cluster_watch,
                                                 .unwatch = cluster_unwatch,
                                                 .close_after_fork = cluster_close_after_fork};
    (void)sentinel_password;
    cluster *self = lki_new(sizeof *self);
    if (!self)
        return lki_error_no_memory(error);
    self->base.methods = &methods;
    pthread_mutex_init(&self->mutex, NULL);
    lki_cluster_map_init(&self->map);
    self->named = LKI_NODES_MOST;
    atomic_store(&self->asking_fd, -1);
    self->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    lk_status status = LK_OK;
    if (self->wake_fd < 0)
        status = lki_error_set(error, LK_NOMEM, "no file descriptor is left: %s", strerror(errno));
    if (status == LK_OK)
        status = lki_seeds_read(url, password, NULL, &self->seeds, error);
    if (status == LK_OK && !lki_copy_to(&self->base.shown, self->seeds.shown))
        status = lki_error_no_memory(error);
    if (status == LK_OK)
        *out = &self->base;
    else
        cluster_close(&self->base);
    return status;
}

static const char *const schemes[] = {"redis+cluster", "rediss+cluster", "valkey+cluster",
                                      "valkeys+cluster", NULL};
const lki_topology_kind lki_topology_cluster = {schemes, cluster_open};
