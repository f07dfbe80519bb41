/* See differential_cast.h. */
#include "differential_cast.h"

#include "words.h"

#include <assert.h>
#include <string.h>

#define CLIENT_A "00000000000000000000000000000001"
#define CLIENT_B "9f3c00000000000000000000000000b2"
#define CLIENT_C "9f3c00000000000000000000000000c3"
#define CLIENT_D "ffffffffffffffffffffffffffffffff"
#define KIN "team"
#define TEN(text) text text text text text text text text text text

typedef struct {
    const char *label, *handle, *owner;
} member;

/* a2 acts for a1 by naming its text, b1 and c1 for one team, d2 for an owner of the greatest length
 * that reads like the numbers of a record. */
static const member members[] = {
    {"a1", CLIENT_A "-000000000001", ""},
    {"b1", CLIENT_B "-000000000001", KIN},
    {"c1", CLIENT_C "-000000000001", KIN},
    {"d1", CLIENT_D "-ffffffffffff", ""},
    {"a2", CLIENT_A "-00000000000a", CLIENT_A "-000000000001"},
    {"b2", CLIENT_B "-000000000010", ""},
    {"c2", CLIENT_C "-0000000000c2", "7 9 "},
    {"d2", CLIENT_D "-0123456789ab", TEN("1 0 a 2 3 ") "1 2 3 4 5 6 7 8 9 0 1 2 3 4 "},
    {"a3", CLIENT_A "-000000000003", ""},
    {"b3", CLIENT_B "-000000000003", ""},
    {"c3", CLIENT_C "-000000000003", ""},
    {"d3", CLIENT_D "-000000000003", ""},
    {"a4", CLIENT_A "-000000000100", ""},
    {"b4", CLIENT_B "-000000000100", ""},
    {"c4", CLIENT_C "-000000000100", ""},
    {"d4", CLIENT_D "-000000000100", KIN},
    {"a5", CLIENT_A "-00000000ffff", CLIENT_B "-000000000010"},
    {"b5", CLIENT_B "-00000000ffff", ""},
    {"c5", CLIENT_C "-00000000ffff", ""},
    {"d5", CLIENT_D "-00000000ffff", ""},
    {"a6", CLIENT_A "-fffffffffffe", ""},
    {"b6", CLIENT_B "-fffffffffffe", ""},
    {"c6", CLIENT_C "-fffffffffffe", ""},
    {"d6", CLIENT_D "-fffffffffffe", ""},
};
static_assert(sizeof members / sizeof *members == CAST_HANDLES, "one row for each handle");

static const char *const groups[] = {"", "g", TEN("23 5 ") "12345678901234"};
static_assert(sizeof groups / sizeof *groups == CAST_GROUPS, "one row for each group");

static const char *const names[] = {
    "orders",
    "}",
    "%",
    "a{b}c",
    "orders}:d",
    "}{%",
    "%}",
    "{",
    "%25",
    "two words\n\xff\x01",
    TEN(TEN("five ")) "to the limit",
};

static const char *const whos[] = {
    "",
    "4711 host app",
    "0 0 0",
    TEN("25 bytes, as often as ten") "tail\xfe",
};

lkc_text cast_text(const char *text) {
    return (lkc_text){text, strlen(text)};
}

lkc_text cast_handle(int handle) {
    return (lkc_text){members[handle].handle, LKC_HANDLE_LENGTH};
}

const char *cast_label(int handle) {
    return members[handle].label;
}

int cast_find(const char *bytes, size_t length) {
    for (int i = 0; i < CAST_HANDLES; i++)
        if (length == LKC_HANDLE_LENGTH && memcmp(bytes, members[i].handle, length) == 0)
            return i;
    return CAST_NOBODY;
}

lkc_text cast_owner(int handle) {
    return cast_text(members[handle].owner);
}

lkc_text cast_kin(void) {
    return cast_text(KIN);
}

lkc_text cast_group(uint64_t number) {
    return cast_text(groups[number % CAST_GROUPS]);
}

size_t cast_name_count(void) {
    return sizeof names / sizeof *names;
}

lkc_text cast_name(uint64_t number) {
    return cast_text(names[number % cast_name_count()]);
}

lkc_text cast_who(uint64_t number) {
    return cast_text(whos[number % (sizeof whos / sizeof *whos)]);
}
