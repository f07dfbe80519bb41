/* See cluster_nodes.h. */
#include "topology/cluster_nodes.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The words of a line; slots follow. */
enum { ID, ADDRESS, FLAGS, MASTER, PING_SENT, PONG_GOT, EPOCH, LINK_STATE, WORDS };

static bool has_flag(const char *flags, const char *flag) {
    size_t length = strlen(flag);
    for (const char *at = flags; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, flag, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

/*
 * ip:port[@bus-port][,name[,...]]. An IPv6 address stands without brackets, so its colons come
 * before that of the port.
 */
static bool split_address(char *address, lki_cluster_node *out) {
    char *name = strchr(address, ',');
    if (name) {
        *name++ = '\0';
        name[strcspn(name, ",")] = '\0';
    }
    address[strcspn(address, "@")] = '\0';
    char *colon = strrchr(address, ':');
    if (!colon)
        return false;
    *colon = '\0';
    out->ip = address;
    out->port = colon + 1;
    out->name = name ? name : "";
    return *out->port != '\0';
}

static bool read_line(char *line, lki_cluster_node *out) {
    char *words[WORDS];
    for (size_t i = 0; i < WORDS; i++) {
        words[i] = line;
        line += strcspn(line, " ");
        if (line == words[i] || (!*line && i + 1 < WORDS))
            return false;
        if (*line)
            *line++ = '\0';
    }
    const char *flags = words[FLAGS];
    *out = (lki_cluster_node){.id = words[ID],
                              .master = words[MASTER],
                              .is_self = has_flag(flags, "myself"),
                              .is_replica = has_flag(flags, "slave"),
                              .is_down = has_flag(flags, "fail") || has_flag(flags, "fail?") ||
                                         has_flag(flags, "noaddr"),
                              .slots = line};
    return split_address(words[ADDRESS], out);
}

bool lki_cluster_nodes_next(char **rest, lki_cluster_node *out) {
    while (**rest) {
        char *line = *rest;
        size_t length = strcspn(line, "\n");
        *rest = line + length + (line[length] == '\n');
        line[length] = '\0';
        line[strcspn(line, "\r")] = '\0';
        if (read_line(line, out))
            return true;
    }
    return false;
}

bool lki_cluster_slots_next(const char **slots, unsigned *first, unsigned *last) {
    while (**slots) {
        const char *word = *slots;
        size_t length = strcspn(word, " ");
        char *end;
        *slots = word + length + (word[length] == ' ');
        if (!isdigit((unsigned char)*word)) /* "[7->-ID]": it moves; its owner lists it, too */
            continue;
        unsigned long from = strtoul(word, &end, 10);
        unsigned long to = *end == '-' ? strtoul(end + 1, &end, 10) : from;
        if (from > to || to >= LKI_SLOTS)
            continue;
        *first = (unsigned)from;
        *last = (unsigned)to;
        return true;
    }
    return false;
}

size_t lki_cluster_slots_open(const char *slots) {
    size_t count = 0;
    for (; *slots; slots++)
        count += *slots == '[';
    return count;
}
