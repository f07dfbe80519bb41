/* See fault.h. */
#include "net/fault.h"

#include <string.h>

#define NO_RIGHTS "the user lacks ACL rights; `latchkey doctor` lists them"
#define IS_REPLICA "the server is a replica; give the address of its master"
#define IS_FULL "the server is out of memory; raise its maxmemory, or remove data"
#define CANNOT_SAVE "the server refuses writes because it cannot save its data to disk"
#define FEW_REPLICAS "the server refuses writes while it has too few replicas"
#define IS_CLUSTER_NODE \
    "the server is a node of a cluster; give a URL with the scheme redis+cluster"
#define IS_MOVING "the cluster is moving the keys of this lock; try again"

/* Found by the code at the start of an error reply. */
static const struct {
    const char *code;
    lki_fault fault;
} faults[] = {
    {"LOADING",
     {true, LK_UNAVAILABLE, "the server is loading its data from disk; try again later"}},
    {"BUSY",
     {true, LK_UNAVAILABLE, "a long script blocks the server; SCRIPT KILL ends the script"}},
    {"TRYAGAIN", {true, LK_UNAVAILABLE, IS_MOVING}},
    {"CLUSTERDOWN",
     {true, LK_UNAVAILABLE,
      "a part of the cluster is down, or nobody serves this slot; `latchkey doctor` tells more"}},
    {"MASTERDOWN",
     {true, LK_UNAVAILABLE, "the server is a replica without a connection to its master"}},
    {"READONLY", {false, LK_UNAVAILABLE, IS_REPLICA}},
    {"OOM", {false, LK_UNAVAILABLE, IS_FULL}},
    {"MISCONF", {false, LK_UNAVAILABLE, CANNOT_SAVE}},
    {"NOREPLICAS", {false, LK_UNAVAILABLE, FEW_REPLICAS}},
    {"NOAUTH", {false, LK_DENIED, "give a user and a password, or set LATCHKEY_PASSWORD"}},
    {"WRONGPASS", {false, LK_DENIED, "check the user and the password"}},
    {"NOPERM", {false, LK_DENIED, NO_RIGHTS}},
    {"DENIED",
     {false, LK_DENIED,
      "the server is in protected mode; set a password on it, or connect from its own machine"}},
    {"WRONGTYPE",
     {false, LK_INVALID,
      "a key of this name belongs to another program; choose another name or prefix"}},
    {"MOVED", {false, LK_UNSUPPORTED, IS_CLUSTER_NODE}},
    {"CROSSSLOT", {false, LK_UNSUPPORTED, IS_CLUSTER_NODE}},
};

/* Found by a phrase anywhere in an error reply whose code is generic (ERR). */
static const struct {
    const char *words;
    lki_fault fault;
} inner_faults[] = {
    {"without any password configured",
     {false, LK_DENIED,
      "the server has no password; remove it from the URL and from LATCHKEY_PASSWORD, or set one "
      "on the server"}},
    {"DB index is out of range",
     {false, LK_INVALID, "the server has fewer databases; give a smaller db"}},
    {"max number of clients",
     {true, LK_UNAVAILABLE,
      "the server has reached its limit of clients; close some, or raise its maxclients"}},
    {"can't run this command", {false, LK_DENIED, NO_RIGHTS}},
    {"can't access at least one of the keys", {false, LK_DENIED, NO_RIGHTS}},
    {"ACL failure in script", {false, LK_DENIED, NO_RIGHTS}},
    {"No permissions", {false, LK_DENIED, NO_RIGHTS}},
    {"non local key", {true, LK_UNAVAILABLE, IS_MOVING}},
    {"unknown command", {false, LK_UNSUPPORTED, "the server does not have this command"}},
    {"-READONLY", {false, LK_UNAVAILABLE, IS_REPLICA}},
    {"-MISCONF", {false, LK_UNAVAILABLE, CANNOT_SAVE}},
    {"-NOREPLICAS", {false, LK_UNAVAILABLE, FEW_REPLICAS}},
    {"-OOM", {false, LK_UNAVAILABLE, IS_FULL}},
};

static bool begins_with_code(const char *text, const char *code) {
    size_t length = strlen(code);
    return strncmp(text, code, length) == 0 && (text[length] == ' ' || !text[length]);
}

/* Inside a script, the code may stand in the middle of the text. */
bool lki_fault_is_replica(const char *text) {
    return strstr(text, "READONLY ");
}

bool lki_fault_is_split(const char *text) {
    return begins_with_code(text, "TRYAGAIN");
}

lki_fault lki_fault_read(const char *text) {
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (begins_with_code(text, faults[i].code))
            return faults[i].fault;
    for (size_t i = 0; i < sizeof inner_faults / sizeof *inner_faults; i++)
        if (strstr(text, inner_faults[i].words))
            return inner_faults[i].fault;
    return (lki_fault){false, LK_INTERNAL, "latchkey does not know this error"};
}
