/*
 * Readers cache a config file, and a writer rewrites the file in place.
 *
 * Reader threads share a client, and each thread has a handle of its own. Under the read lock, a
 * reader reads the first line of the file, the generation, and parses the rest only if the
 * generation is new. The writer is another process. It pauses in the middle of a rewrite, when the
 * file is neither the old config nor the new one. No reader ever sees the file in that state.
 */
#include <err.h>
#include <latchkey.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { READERS = 4, SETTINGS = 8, GENERATIONS = 12 };

typedef struct {
    int generation;
    int settings[SETTINGS];
} config;

typedef struct {
    lk_client *client;
    pthread_t thread;
    int uses, loads;
    bool wrong; /* it saw half a config, or an older one than before */
} reader;

static char path[] = "/tmp/latchkey-config-XXXXXX";

static lk_lock *new_handle(lk_client *client) {
    lk_lock *lock;
    if (lk_lock_new(client, "config:example", NULL, &lock) != LK_OK)
        errx(1, "%s", lk_last_error());
    return lock;
}

/* Every setting has the number of its generation, so that a mixture can be detected. */
static void rewrite(int generation, int pause_us) {
    FILE *file = fopen(path, "w");
    if (!file)
        err(1, "%s", path);
    fprintf(file, "generation=%d\n", generation);
    for (int i = 0; i < SETTINGS; i++) {
        fprintf(file, "setting%d=%d\n", i, generation);
        fflush(file);
        usleep((useconds_t)pause_us);
    }
    if (fclose(file) != 0)
        err(1, "%s", path);
}

static int write_all_generations(void) {
    lk_client *client;
    if (lk_open(NULL, NULL, &client) != LK_OK)
        errx(1, "%s", lk_last_error());
    lk_lock *lock = new_handle(client);
    for (int generation = 2; generation <= GENERATIONS; generation++) {
        usleep(20000);
        if (lk_wrlock(lock) != LK_OK)
            errx(1, "%s", lk_last_error());
        rewrite(generation, 1000);
        if (lk_wrunlock(lock) != LK_OK)
            errx(1, "%s", lk_last_error());
    }
    lk_lock_free(lock);
    lk_close(client);
    return 0;
}

/* Updates the cache. Returns whether it had to parse. The caller holds the lock. */
static bool refresh(config *cache, bool *wrong) {
    FILE *file = fopen(path, "r");
    int generation = 0, parsed = 0;
    if (!file)
        err(1, "%s", path);
    bool loads = fscanf(file, "generation=%d\n", &generation) != 1 ||
                 generation != cache->generation; /* the cheap check */
    if (loads) {
        while (parsed < SETTINGS &&
               fscanf(file, "setting%*d=%d\n", &cache->settings[parsed]) == 1 &&
               cache->settings[parsed] == generation)
            parsed++;
        *wrong |= parsed < SETTINGS || generation < cache->generation;
        cache->generation = generation;
    }
    fclose(file);
    return loads;
}

static void *read_until_last(void *arg) {
    reader *self = arg;
    config cache = {0};
    lk_lock *lock = new_handle(self->client);
    while (cache.generation != GENERATIONS && !self->wrong) {
        if (lk_rdlock(lock) != LK_OK)
            errx(1, "%s", lk_last_error());
        self->loads += refresh(&cache, &self->wrong);
        self->uses++;
        if (lk_rdunlock(lock) != LK_OK)
            errx(1, "%s", lk_last_error());
        usleep(2000); /* the work that needs the config */
    }
    lk_lock_free(lock);
    return NULL;
}

int main(void) {
    reader readers[READERS] = {0};
    lk_client *client;
    bool wrong = false;
    int fd = mkstemp(path), status;
    if (fd < 0)
        err(1, "%s", path);
    close(fd);
    rewrite(1, 0);

    /* Before lk_open(): a client does not survive a fork. */
    pid_t writer = fork();
    if (writer < 0)
        err(1, "fork");
    if (writer == 0)
        exit(write_all_generations());

    if (lk_open(NULL, NULL, &client) != LK_OK)
        errx(1, "%s", lk_last_error());
    for (int i = 0; i < READERS; i++) {
        readers[i].client = client;
        if (pthread_create(&readers[i].thread, NULL, read_until_last, &readers[i]) != 0)
            errx(1, "cannot start a thread");
    }
    for (int i = 0; i < READERS; i++) {
        pthread_join(readers[i].thread, NULL);
        printf("reader %d used the config %d times and parsed it %d times%s\n", i + 1,
               readers[i].uses, readers[i].loads, readers[i].wrong ? ": HALF WRITTEN" : "");
        wrong |= readers[i].wrong;
    }
    lk_close(client);
    if (waitpid(writer, &status, 0) < 0 || status != 0)
        errx(1, "the writer failed");
    unlink(path);
    printf("%d generations written, %s\n", GENERATIONS,
           wrong ? "and a reader saw half of one" : "and no reader saw half of one");
    return wrong;
}
