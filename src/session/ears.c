/* See ears.h. */
#include "session/ears.h"

#include "base/clock.h"
#include "base/memory.h"
#include "net/resp.h"
#include "session/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static lk_status draw_id(char id[LKI_CLIENT_ID_LENGTH + 1], lki_error *error) {
    unsigned char bytes[LKI_CLIENT_ID_LENGTH / 2];
    ssize_t length;
    do {
        length = getrandom(bytes, sizeof bytes, 0);
    } while (length < 0 && errno == EINTR);
    if (length != sizeof bytes)
        return lki_error_set(error, LK_INTERNAL, "cannot read random numbers: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(id + 2 * i, 3, "%02x", bytes[i]);
    return LK_OK;
}

lk_status lki_ears_init(lki_server *server, lki_error *error) {
    server->own.server = server;
    return draw_id(server->own.id, error);
}

void lki_ears_free(lki_server *server) {
    for (lki_ear *ear = server->own.next, *next; ear; ear = next) {
        next = ear->next;
        lki_free(ear);
    }
    server->own.next = NULL;
}

/* The pub/sub channel on which servers publish to the handles with this id (SPEC 10.10). */
void lki_ear_channel(const lki_ear *ear, char out[LKI_CHANNEL_SIZE]) {
    snprintf(out, LKI_CHANNEL_SIZE, "%s:%s", ear->server->session->settings.prefix, ear->id);
}

static bool is_of(const lki_ear *ear, const char *handle) {
    return memcmp(ear->id, handle, LKI_CLIENT_ID_LENGTH) == 0;
}

static lki_ear *find_ear(const lki_server *server, const char *handle) {
    const lki_ear *ear = &server->own;
    while (ear && !is_of(ear, handle))
        ear = ear->next;
    return (lki_ear *)ear;
}

static void subscription_answered(lki_request *request, const redisReply *reply) {
    lki_ear *ear = (lki_ear *)(void *)request;
    const lki_session *session = ear->server->session;
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        return; /* after the next connection, it is tried again */
    ear->is_heard = true;
    session->events->subscribed(session->context, ear->server);
}

static void subscribe(lki_ear *ear) {
    lki_link *link = &ear->server->messages.link;
    char channel[LKI_CHANNEL_SIZE];
    if (!lki_link_is_up(link) || ear->is_heard || ear->subscription.on_way)
        return;
    lki_ear_channel(ear, channel);
    lki_bytes *out = lki_link_begin(link);
    lki_resp_command(out, 2);
    lki_resp_text(out, "SUBSCRIBE");
    lki_resp_text(out, channel);
    ear->subscription.complete = subscription_answered;
    lki_link_commit(link, &ear->subscription, lki_now_us()); /* LK_NOMEM: see above */
    lki_keeper_kick(ear->server->session);
}

void lki_server_listen(lki_server *server, const char *handle) {
    lki_ear *ear = find_ear(server, handle);
    if (!ear && (ear = lki_new(sizeof *ear))) {
        memcpy(ear->id, handle, LKI_CLIENT_ID_LENGTH);
        ear->server = server;
        ear->next = server->own.next;
        server->own.next = ear;
    }
    if (ear && ear != &server->own)
        subscribe(ear);
}

bool lki_server_hears(const lki_server *server, const char *handle) {
    const lki_ear *ear = lki_link_is_up(&server->messages.link) ? find_ear(server, handle) : NULL;
    return ear && (ear == &server->own || ear->is_heard);
}

void lki_ears_subscribe(lki_server *server) {
    for (lki_ear *ear = server->own.next; ear; ear = ear->next) {
        ear->is_heard = false;
        subscribe(ear);
    }
}
