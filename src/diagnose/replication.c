/* See replication.h. */
#include "diagnose/replication.h"

#include "diagnose/facts.h"
#include "net/greet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPLICAS_MOST = 1000, FIELD_SIZE = 32 };

static size_t line_length(const char *line) {
    return strcspn(line, "\r\n");
}

/* The value of a part of "ip=10.0.0.7,port=6379,state=online,offset=123,lag=0". *length: its. */
static const char *find_part(const char *line, const char *name, size_t *length) {
    size_t end = line_length(line), name_length = strlen(name);
    for (size_t at = 0; at < end; at += strcspn(line + at, ",\r\n") + 1)
        if (end - at > name_length && strncmp(line + at, name, name_length) == 0 &&
            line[at + name_length] == '=') {
            const char *value = line + at + name_length + 1;
            *length = strcspn(value, ",\r\n");
            return value;
        }
    *length = 0;
    return "";
}

static int64_t find_number(const char *line, const char *name) {
    size_t length;
    const char *value = find_part(line, name, &length);
    return length ? strtoll(value, NULL, 10) : -1;
}

static void read_replica(const char *line, int64_t master_offset, lki_pool *pool,
                         lk_replica_facts *out) {
    size_t ip_length, port_length, state_length;
    const char *ip = find_part(line, "ip", &ip_length);
    const char *port = find_part(line, "port", &port_length);
    const char *state = find_part(line, "state", &state_length);
    int64_t offset = find_number(line, "offset");
    out->address = lki_address_text(pool, ip, ip_length, port, port_length);
    out->state = lki_pool_text(pool, state, state_length);
    out->lag_s = find_number(line, "lag");
    out->lag_bytes = -1;
    if (offset >= 0 && master_offset >= 0)
        out->lag_bytes = master_offset > offset ? master_offset - offset : 0;
}

static const char *replica_line(const char *info, size_t index) {
    char field[FIELD_SIZE];
    snprintf(field, sizeof field, "slave%zu:", index);
    return lki_info_field(info, field);
}

void lki_replication_read(const char *info, lki_pool *pool, lk_facts *facts) {
    const char *role = lki_info_field(info, "role:");
    const char *replicas = lki_info_field(info, "connected_slaves:");
    const char *offset = lki_info_field(info, "master_repl_offset:");
    if (role)
        facts->replica = strncmp(role, "slave", strlen("slave")) == 0 ? LK_YES : LK_NO;
    if (replicas)
        facts->replicas = strtoll(replicas, NULL, 10);
    size_t count = 0;
    while (count < REPLICAS_MOST && replica_line(info, count))
        count++;
    lk_replica_facts *list = lki_pool_new(pool, (count ? count : 1) * sizeof *list);
    if (!list)
        return;
    for (size_t i = 0; i < count; i++)
        read_replica(replica_line(info, i), offset ? strtoll(offset, NULL, 10) : -1, pool,
                     &list[i]);
    facts->replica_list = list;
    facts->replica_list_count = count;
}

void lki_replication_read_settings(const redisReply *reply, lk_facts *facts) {
    const char *replicas = lki_reply_value(reply, "min-replicas-to-write");
    const char *lag = lki_reply_value(reply, "min-replicas-max-lag");
    if (!replicas || !lag)
        return;
    facts->min_replicas = strtoll(replicas, NULL, 10);
    facts->min_replicas_lag_s = strtoll(lag, NULL, 10);
    /* If one of the two is 0, the server ignores the other. */
    if (facts->min_replicas == 0 || facts->min_replicas_lag_s == 0)
        facts->min_replicas = facts->min_replicas_lag_s = 0;
}
