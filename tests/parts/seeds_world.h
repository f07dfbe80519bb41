/*
 * Sentinels and nodes that say what a test wants them to. Each is a thread that listens on a port of
 * 127.0.0.1, and answers everything that comes in one piece with the same bytes.
 */
#ifndef SEEDS_WORLD_H
#define SEEDS_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tls_server.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FAKES = 3, TEXT_MOST = 1024, GUESTS_MOST = 32 };

#define SILENCE "silence" /* an answer that is not sent */

typedef struct {
    int door;
    unsigned port;
    pthread_t thread;
    pthread_mutex_t mutex;
    char answer[TEXT_MOST];  /* to every request; "": hangs up; or SILENCE */
    unsigned delay_ms;       /* before each answer */
    char address[TEXT_MOST]; /* to GET-MASTER-ADDR-BY-NAME; "": as to the others */
    atomic_uint questions;   /* how many connections it had */
} fake;

static fake fakes[FAKES];

static inline bool answer_one(fake *self, int fd) {
    char request[TEXT_MOST] = {0}, answer[TEXT_MOST];
    if (recv(fd, request, sizeof request - 1, 0) <= 0)
        return false;
    bool wants_address = strstr(request, "GET-MASTER-ADDR-BY-NAME");
    pthread_mutex_lock(&self->mutex);
    memcpy(answer, wants_address && *self->address ? self->address : self->answer, sizeof answer);
    unsigned delay_ms = self->delay_ms;
    pthread_mutex_unlock(&self->mutex);
    if (strcmp(answer, SILENCE) == 0)
        return true;
    usleep(delay_ms * 1000);
    send(fd, answer, strlen(answer), MSG_NOSIGNAL);
    return *answer;
}

static inline void *answer_all(void *context) {
    fake *self = context;
    struct pollfd polled[1 + GUESTS_MOST] = {{self->door, POLLIN, 0}};
    nfds_t count = 1;
    for (int fd = 0; fd >= 0 && poll(polled, count, -1) > 0;) {
        for (nfds_t i = count - 1; i > 0; i--)
            if (polled[i].revents && !answer_one(self, polled[i].fd)) {
                close(polled[i].fd);
                polled[i] = polled[--count];
            }
        if (!polled[0].revents || count > GUESTS_MOST)
            continue;
        if ((fd = accept(self->door, NULL, NULL)) >= 0) {
            atomic_fetch_add(&self->questions, 1);
            polled[count++] = (struct pollfd){fd, POLLIN, 0};
        }
    }
    while (count > 1)
        close(polled[--count].fd);
    return NULL;
}

static inline void fake_says(size_t which, const char *answer) {
    pthread_mutex_lock(&fakes[which].mutex);
    snprintf(fakes[which].answer, sizeof fakes[which].answer, "%s", answer);
    pthread_mutex_unlock(&fakes[which].mutex);
}

static inline void fakes_start(void) {
    for (size_t i = 0; i < FAKES; i++) {
        fakes[i].door = bind_any_port(&fakes[i].port, 8);
        assert_true(fakes[i].door >= 0);
        atomic_store(&fakes[i].questions, 0);
        pthread_mutex_init(&fakes[i].mutex, NULL);
        assert_int_equal(pthread_create(&fakes[i].thread, NULL, answer_all, &fakes[i]), 0);
        fakes[i].address[0] = 0;
        fakes[i].delay_ms = 0;
        fake_says(i, "");
    }
}

static inline void fakes_stop(void) {
    for (size_t i = 0; i < FAKES; i++) {
        shutdown(fakes[i].door, SHUT_RDWR);
        pthread_join(fakes[i].thread, NULL);
        close(fakes[i].door);
        pthread_mutex_destroy(&fakes[i].mutex);
    }
}

#endif
