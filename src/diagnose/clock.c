/* See clock.h. */
#include "diagnose/clock.h"

#include "base/clock.h"

#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 8 };

static int64_t wall_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static bool read_time(const redisReply *reply, int64_t *us) {
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        reply->element[0]->type != REDIS_REPLY_STRING ||
        reply->element[1]->type != REDIS_REPLY_STRING)
        return false;
    int64_t seconds = strtoll(reply->element[0]->str, NULL, 10);
    if (seconds < 0 || seconds > INT64_MAX / 1000000 - 1)
        return false;
    *us = seconds * 1000000 + strtol(reply->element[1]->str, NULL, 10) % 1000000;
    return true;
}

/* Uses the shortest round trip: the error is at most half of it. */
static void read_clock(lk_facts *facts, const redisReply *reply, int64_t sent_wall_us,
                       int64_t trip_us) {
    int64_t time_us;
    if (facts->round_trip_us >= 0 && trip_us >= facts->round_trip_us)
        return;
    facts->round_trip_us = trip_us;
    if (!read_time(reply, &time_us))
        return;
    facts->clock_known = LK_YES;
    facts->clock_offset_us = time_us - (sent_wall_us + trip_us / 2);
    facts->clock_error_us = (trip_us + 1) / 2;
}

lk_status lki_clock_compare(lki_talk *talk, lk_facts *facts, lki_error *error) {
    static const char *const words[] = {"TIME", NULL};
    lk_status status = LK_OK;
    for (int i = 0; i < ROUNDS && status == LK_OK; i++) {
        redisReply *reply = NULL;
        int64_t sent_wall_us = wall_us(), sent_us = lki_now_us();
        status = lki_talk_ask(talk, words, &reply, error);
        if (status == LK_OK)
            read_clock(facts, reply, sent_wall_us, lki_now_us() - sent_us);
        freeReplyObject(reply);
    }
    return status;
}
