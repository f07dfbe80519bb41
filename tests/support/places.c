/* See places.h. */
#include "places.h"

#include "test_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PLACES_MOST = 8 };

struct test_places {
    int home; /* the namespace of the thread that made the places */
    size_t count;
    int spaces[PLACES_MOST];
    char *addresses[PLACES_MOST];
};

/* ------------------------------------------------------------------------------ namespaces */

static int open_own_space(void) {
    return open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

static void go_to(int space) {
    if (setns(space, CLONE_NEWNET) == 0)
        return;
    perror("setns");
    abort();
}

void test_places_enter(const test_places *places, size_t place) {
    go_to(places->spaces[place]);
}

void test_places_leave(const test_places *places) {
    go_to(places->home);
}

/* ------------------------------------------------------------------------------ the command ip */

/* The PATH of a user who is not root may lack the folder of ip. */
#define WITH_PATH "PATH=\"$PATH:/usr/sbin:/sbin\"; "

static bool has_ip(void) {
    return system(WITH_PATH "command -v ip >/dev/null") == 0;
}

/* Runs lines of commands in the namespace of the calling thread, until one fails. */
static bool run_ip(const char *lines) {
    FILE *ip = popen(WITH_PATH "exec ip -batch -", "w");
    bool written = ip && fputs(lines, ip) >= 0;
    return ip && pclose(ip) == 0 && written;
}

static bool run_ip_at(const test_places *places, size_t place, const char *lines) {
    test_places_enter(places, place);
    bool done = run_ip(lines);
    test_places_leave(places);
    return done;
}

/* ------------------------------------------------------------------------------ links */

/*
 * The link from place i to place j is called "to<j>" at place i, and has the MAC address
 * 02:00:00:00:<i>:<j> there. No place asks for MAC addresses: each is told them. A link is cut by
 * telling both ends a wrong one, because frames with a wrong one are dropped without a word.
 */
static void add_link(test_text *lines, const test_places *places, size_t here, size_t there) {
    test_text_print(lines,
                    "link add to%zu address 02:00:00:00:%02zx:%02zx type veth "
                    "peer name to%zu address 02:00:00:00:%02zx:%02zx netns /proc/%d/fd/%d\n",
                    there, here, there, here, there, here, (int)getpid(), places->spaces[there]);
}

static void tell_address(test_text *lines, const test_places *places, size_t here, size_t there) {
    test_text_print(lines,
                    "neigh replace %s lladdr 02:00:00:00:%02zx:%02zx dev to%zu nud permanent\n",
                    places->addresses[there], there, here, there);
}

static void tell_wrong_address(test_text *lines, const test_places *places, size_t there) {
    test_text_print(lines, "neigh replace %s lladdr 02:00:00:00:ff:ff dev to%zu nud permanent\n",
                    places->addresses[there], there);
}

static void set_up_link(test_text *lines, const test_places *places, size_t here, size_t there) {
    test_text_print(lines, "addr add %s/32 dev to%zu\n", places->addresses[here], there);
    test_text_print(lines, "link set to%zu up\n", there);
    test_text_print(lines, "route add %s/32 dev to%zu src %s\n", places->addresses[there], there,
                    places->addresses[here]);
    tell_address(lines, places, here, there);
}

static bool add_links(const test_places *places, size_t here) {
    test_text lines = {0};
    test_text_print(&lines, "link set lo up\n");
    for (size_t there = here + 1; there < places->count; there++)
        add_link(&lines, places, here, there);
    bool done = run_ip_at(places, here, lines.bytes);
    free(lines.bytes);
    return done;
}

static bool set_up_links(const test_places *places, size_t here) {
    test_text lines = {0};
    for (size_t there = 0; there < places->count; there++)
        if (there != here)
            set_up_link(&lines, places, here, there);
    bool done = run_ip_at(places, here, lines.bytes);
    free(lines.bytes);
    return done;
}

static bool change_end(const test_places *places, size_t here, size_t there, bool is_cut) {
    test_text lines = {0};
    if (is_cut)
        tell_wrong_address(&lines, places, there);
    else
        tell_address(&lines, places, here, there);
    bool done = run_ip_at(places, here, lines.bytes);
    free(lines.bytes);
    return done;
}

bool test_places_cut(const test_places *places, size_t a, size_t b) {
    return change_end(places, a, b, true) && change_end(places, b, a, true);
}

bool test_places_mend(const test_places *places, size_t a, size_t b) {
    return change_end(places, a, b, false) && change_end(places, b, a, false);
}

/* ------------------------------------------------------------------------------ start and stop */

static bool add_place(test_places *places) {
    if (unshare(CLONE_NEWNET) != 0) {
        perror("unshare");
        return false;
    }
    int space = open_own_space();
    go_to(places->home);
    if (space < 0) {
        perror("/proc/thread-self/ns/net");
        return false;
    }
    places->spaces[places->count] = space;
    places->addresses[places->count] = test_print("10.77.0.%zu", places->count + 1);
    places->count++;
    return true;
}

static bool link_all(const test_places *places) {
    for (size_t i = 0; i < places->count; i++)
        if (!add_links(places, i))
            return false;
    for (size_t i = 0; i < places->count; i++)
        if (!set_up_links(places, i))
            return false;
    return true;
}

test_places *test_places_start(size_t count) {
    test_places *places = test_alloc(1, sizeof *places);
    places->home = open_own_space();
    bool done = places->home >= 0 && count >= 2 && count <= PLACES_MOST;
    while (done && places->count < count)
        done = add_place(places);
    if (done && link_all(places))
        return places;
    fprintf(stderr, "the places of the network cannot be made\n");
    test_places_stop(places);
    return NULL;
}

void test_places_stop(test_places *places) {
    if (!places)
        return;
    if (places->home >= 0) {
        test_places_leave(places);
        close(places->home);
    }
    for (size_t i = 0; i < places->count; i++) {
        close(places->spaces[i]);
        free(places->addresses[i]);
    }
    free(places);
}

const char *test_places_address(const test_places *places, size_t place) {
    return places->addresses[place];
}

/* ------------------------------------------------------------------------------ whether it works */

static bool write_file(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return written;
}

/* Makes this process root of a user namespace, which owns the network namespaces that it makes. */
static bool become_root(void) {
    char *users = test_print("0 %u 1", (unsigned)geteuid());
    char *groups = test_print("0 %u 1", (unsigned)getegid());
    bool done = unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 &&
                write_file("/proc/self/setgroups", "deny") &&
                write_file("/proc/self/uid_map", users) &&
                write_file("/proc/self/gid_map", groups) && run_ip("link set lo up\n");
    free(users);
    free(groups);
    return done;
}

static bool can_add_space(void) {
    int home = open_own_space();
    bool can = home >= 0 && unshare(CLONE_NEWNET) == 0;
    if (can)
        go_to(home);
    if (home >= 0)
        close(home);
    return can;
}

const char *test_places_prepare(void) {
    if (!has_ip())
        return "the command ip is missing (Debian: iproute2)";
    if (!can_add_space() && (geteuid() == 0 || !become_root()))
        return "this user has no right to make network namespaces";
    test_places *places = test_places_start(2);
    if (!places)
        return "this machine cannot link network namespaces";
    test_places_stop(places);
    return NULL;
}
