/*
 * latchkey-demo shows a lock at work. Processes read and write under one lock, and one process is
 * killed while it holds the lock. At the end the demo compares what happened with what the library
 * promises.
 *
 *   demo.c       the options and the main loop
 *   stage.c      the processes: starts, watches, kills and ends them
 *   actor.c      the work of one process: the calls of the library
 *   record.c     the record of what happened, in shared memory
 *   timeline.c   the picture
 *   checks.c     the checks at the end
 */
#include "checks.h"
#include "record.h"
#include "stage.h"
#include "timeline.h"

#include <err.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SECONDS = 9, SECONDS_LEAST = 3, SECONDS_MOST = 300, FRAME_US = 40000, USAGE = 64 };

typedef struct {
    long seconds;
    bool plain;
} options;

static void usage(FILE *out) {
    fprintf(out,
            "usage: latchkey-demo [--seconds N] [--plain]\n"
            "  --seconds N  start new turns for this long, %d to %d. Default: %d.\n"
            "  --plain      print only the finished picture, in ASCII, without colors\n"
            "The lock is on the server of $LATCHKEY_URL or latchkey.conf(5). Default: a private\n"
            "server of this user.\n",
            SECONDS_LEAST, SECONDS_MOST, SECONDS);
}

static options read_options(int argc, char **argv) {
    static const struct option known[] = {{"seconds", required_argument, NULL, 's'},
                                          {"plain", no_argument, NULL, 'p'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    options chosen = {.seconds = SECONDS};
    for (int letter; (letter = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        char *end = "";
        if (letter == 's')
            chosen.seconds = strtol(optarg, &end, 10);
        else if (letter == 'p')
            chosen.plain = true;
        if (letter == 'h') {
            usage(stdout);
            exit(0);
        }
        if (letter == '?' || *end || chosen.seconds < SECONDS_LEAST ||
            chosen.seconds > SECONDS_MOST) {
            usage(stderr);
            exit(USAGE);
        }
    }
    if (optind < argc) {
        usage(stderr);
        exit(USAGE);
    }
    return chosen;
}

/* Returns the line that explains the present picture. */
static const char *comment(const record *shared, int64_t now) {
    if (shared->killed_us == 0)
        return "Readers share the lock, a writer has it alone. Waiters are served in order.";
    if (record_went_on_us(shared, now) == now)
        return "A writer was killed while it held the lock. Its lease of 1 s must expire first.";
    if (now < shared->stop_us)
        return "The lease expired. The next holders were told of the death, up to the next writer.";
    return "The time is over. The processes that still wait get their last turn.";
}

static bool play(stage *on, record *shared, const options *chosen, timeline *picture) {
    if (!stage_start(on, shared, (int)chosen->seconds))
        return false;
    while (stage_step(on)) {
        int64_t now = now_us();
        if (picture->live)
            timeline_draw(picture, shared, now, comment(shared, now));
        usleep(FRAME_US);
    }
    timeline_draw(picture, shared, now_us(), "");
    return !atomic_load(&shared->failed);
}

static bool judge(const record *shared, lk_client *client, const timeline *picture) {
    finding findings[CHECKS];
    bool fine = true;
    checks_make(shared, client, findings);
    printf("%sThe promises of the library, checked against what happened:\n",
           picture->live ? "" : "\n");
    for (int i = 0; i < CHECKS; i++) {
        printf("  %s %s\n", timeline_tick(picture, findings[i].fine), findings[i].text);
        fine &= findings[i].fine;
    }
    return fine;
}

int main(int argc, char **argv) {
    const options chosen = read_options(argc, argv);
    lk_defaults *server = NULL; /* stays NULL on a failure; `play` reports the reason */
    bool is_private = lk_defaults_read(&server) != LK_OK || strcmp(server->url, "local:") == 0;
    record *shared = record_new();
    timeline picture;
    stage on;
    timeline_init(&picture, chosen.plain, (int)chosen.seconds);
    printf("%d readers and %d writers, each a process, share one lock on %s for %ld seconds\n\n",
           READERS, WRITERS, is_private ? "a private server" : server->url, chosen.seconds);
    lk_defaults_free(server);
    fflush(stdout); /* otherwise each child would print it again */

    bool fine = play(&on, shared, &chosen, &picture);
    stage_end(&on);
    if (fine)
        fine = judge(shared, on.client, &picture);
    else
        warnx("%s", shared->why);
    lk_close(on.client);
    return fine ? 0 : 1;
}
