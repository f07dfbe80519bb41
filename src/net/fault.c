/* See fault.h. */
#include "net/fault.h"

#include <string.h>

#define NO_RIGHTS "the user's ACL rights do not suffice; `latchkey doctor` says which it lacks"

/* By the code that an error reply begins with. */
static const struct {
    const char *code;
    lki_fault fault;
} faults[] = {
    {"NOSCRIPT", {LKI_FAULT_NO_SCRIPT, LK_INTERNAL, "the server lacks a script"}},
    {"LOADING",
     {LKI_FAULT_LATER, LK_UNAVAILABLE, "it reads its data from disk; try again when it is up"}},
    {"BUSY",
     {LKI_FAULT_LATER, LK_UNAVAILABLE,
      "it is held up by somebody's long script; SCRIPT KILL ends that"}},
    {"TRYAGAIN", {LKI_FAULT_LATER, LK_UNAVAILABLE, "its cluster is being rearranged; try again"}},
    {"CLUSTERDOWN", {LKI_FAULT_LATER, LK_UNAVAILABLE, "its cluster does not work now"}},
    {"MASTERDOWN", {LKI_FAULT_LATER, LK_UNAVAILABLE, "it is a replica that has lost its master"}},
    {"READONLY",
     {LKI_FAULT_FINAL, LK_UNAVAILABLE, "it is a replica; give the address of the master"}},
    {"OOM", {LKI_FAULT_FINAL, LK_UNAVAILABLE, "it is full; raise its maxmemory, or remove data"}},
    {"MISCONF",
     {LKI_FAULT_FINAL, LK_UNAVAILABLE, "it refuses writes because it cannot save to disk"}},
    {"NOREPLICAS",
     {LKI_FAULT_FINAL, LK_UNAVAILABLE, "it refuses writes while it has too few replicas"}},
    {"NOAUTH", {LKI_FAULT_FINAL, LK_DENIED, "give user and password, or LATCHKEY_PASSWORD"}},
    {"WRONGPASS", {LKI_FAULT_FINAL, LK_DENIED, "check user and password"}},
    {"NOPERM", {LKI_FAULT_FINAL, LK_DENIED, NO_RIGHTS}},
    {"DENIED",
     {LKI_FAULT_FINAL, LK_DENIED,
      "it is in protected mode; set a password there, or connect from its own machine"}},
    {"LKTYPE",
     {LKI_FAULT_FINAL, LK_INVALID,
      "a key of this name is somebody else's; take another name or prefix"}},
    {"WRONGTYPE",
     {LKI_FAULT_FINAL, LK_INVALID,
      "a key of this name is somebody else's; take another name or prefix"}},
    {"LKDEPTH", {LKI_FAULT_TOO_DEEP, LK_INVALID, "holds nest no deeper; unlock some"}},
    {"MOVED",
     {LKI_FAULT_FINAL, LK_UNSUPPORTED, "it is a node of a cluster, not a server of its own"}},
    {"CROSSSLOT",
     {LKI_FAULT_FINAL, LK_UNSUPPORTED, "it is a node of a cluster, not a server of its own"}},
};

/* By words within, for errors whose code says nothing (ERR). */
static const struct {
    const char *words;
    lki_fault fault;
} inner_faults[] = {
    {"LKARG floor",
     {LKI_FAULT_FINAL, LK_UNAVAILABLE,
      "its clock is more than a day behind what it was before; set it right"}},
    {"without any password configured",
     {LKI_FAULT_FINAL, LK_DENIED,
      "it has no password; leave it out of the URL and of LATCHKEY_PASSWORD, or set it there"}},
    {"DB index is out of range",
     {LKI_FAULT_FINAL, LK_INVALID, "it has fewer databases; give a smaller db"}},
    {"max number of clients",
     {LKI_FAULT_LATER, LK_UNAVAILABLE,
      "it has as many clients as it may; close some, or raise its maxclients"}},
    {"can't run this command", {LKI_FAULT_FINAL, LK_DENIED, NO_RIGHTS}},
    {"can't access at least one of the keys", {LKI_FAULT_FINAL, LK_DENIED, NO_RIGHTS}},
    {"ACL failure in script", {LKI_FAULT_FINAL, LK_DENIED, NO_RIGHTS}},
    {"No permissions", {LKI_FAULT_FINAL, LK_DENIED, NO_RIGHTS}},
    {"unknown command",
     {LKI_FAULT_FINAL, LK_UNSUPPORTED, "this server does not have that command"}},
    {"-READONLY",
     {LKI_FAULT_FINAL, LK_UNAVAILABLE, "it is a replica; give the address of the master"}},
    {"-MISCONF",
     {LKI_FAULT_FINAL, LK_UNAVAILABLE, "it refuses writes because it cannot save to disk"}},
    {"-NOREPLICAS",
     {LKI_FAULT_FINAL, LK_UNAVAILABLE, "it refuses writes while it has too few replicas"}},
    {"-OOM", {LKI_FAULT_FINAL, LK_UNAVAILABLE, "it is full; raise its maxmemory"}},
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
    return (lki_fault){LKI_FAULT_FINAL, LK_INTERNAL, "latchkey does not know this answer"};
}
