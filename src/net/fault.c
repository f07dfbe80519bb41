/* See fault.h. */
#include "net/fault.h"

#include <string.h>

#define NO_RIGHTS "the user's ACL rights do not suffice; `latchkey doctor` says which it lacks"

/* By the code that an error reply begins with. */
static const struct {
    const char *code;
    lki_fault fault;
} faults[] = {
    {"LOADING", {true, LK_UNAVAILABLE, "it reads its data from disk; try again when it is up"}},
    {"BUSY",
     {true, LK_UNAVAILABLE, "it is held up by somebody's long script; SCRIPT KILL ends that"}},
    {"TRYAGAIN", {true, LK_UNAVAILABLE, "its cluster is being rearranged; try again"}},
    {"CLUSTERDOWN", {true, LK_UNAVAILABLE, "its cluster does not work now"}},
    {"MASTERDOWN", {true, LK_UNAVAILABLE, "it is a replica that has lost its master"}},
    {"READONLY", {false, LK_UNAVAILABLE, "it is a replica; give the address of the master"}},
    {"OOM", {false, LK_UNAVAILABLE, "it is full; raise its maxmemory, or remove data"}},
    {"MISCONF", {false, LK_UNAVAILABLE, "it refuses writes because it cannot save to disk"}},
    {"NOREPLICAS", {false, LK_UNAVAILABLE, "it refuses writes while it has too few replicas"}},
    {"NOAUTH", {false, LK_DENIED, "give user and password, or LATCHKEY_PASSWORD"}},
    {"WRONGPASS", {false, LK_DENIED, "check user and password"}},
    {"NOPERM", {false, LK_DENIED, NO_RIGHTS}},
    {"DENIED",
     {false, LK_DENIED,
      "it is in protected mode; set a password there, or connect from its own machine"}},
    {"WRONGTYPE",
     {false, LK_INVALID, "a key of this name is somebody else's; take another name or prefix"}},
    {"MOVED", {false, LK_UNSUPPORTED, "it is a node of a cluster, not a server of its own"}},
    {"CROSSSLOT", {false, LK_UNSUPPORTED, "it is a node of a cluster, not a server of its own"}},
};

/* By words within, for errors whose code says nothing (ERR). */
static const struct {
    const char *words;
    lki_fault fault;
} inner_faults[] = {
    {"without any password configured",
     {false, LK_DENIED,
      "it has no password; leave it out of the URL and of LATCHKEY_PASSWORD, or set it there"}},
    {"DB index is out of range", {false, LK_INVALID, "it has fewer databases; give a smaller db"}},
    {"max number of clients",
     {true, LK_UNAVAILABLE,
      "it has as many clients as it may; close some, or raise its maxclients"}},
    {"can't run this command", {false, LK_DENIED, NO_RIGHTS}},
    {"can't access at least one of the keys", {false, LK_DENIED, NO_RIGHTS}},
    {"ACL failure in script", {false, LK_DENIED, NO_RIGHTS}},
    {"No permissions", {false, LK_DENIED, NO_RIGHTS}},
    {"unknown command", {false, LK_UNSUPPORTED, "this server does not have that command"}},
    {"-READONLY", {false, LK_UNAVAILABLE, "it is a replica; give the address of the master"}},
    {"-MISCONF", {false, LK_UNAVAILABLE, "it refuses writes because it cannot save to disk"}},
    {"-NOREPLICAS", {false, LK_UNAVAILABLE, "it refuses writes while it has too few replicas"}},
    {"-OOM", {false, LK_UNAVAILABLE, "it is full; raise its maxmemory"}},
};

static bool begins_with_code(const char *text, const char *code) {
    size_t length = strlen(code);
    return strncmp(text, code, length) == 0 && (text[length] == ' ' || !text[length]);
}

lki_fault lki_fault_read(const char *text) {
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (begins_with_code(text, faults[i].code))
            return faults[i].fault;
    for (size_t i = 0; i < sizeof inner_faults / sizeof *inner_faults; i++)
        if (strstr(text, inner_faults[i].words))
            return inner_faults[i].fault;
    return (lki_fault){false, LK_INTERNAL, "latchkey does not know this answer"};
}
