/* See differential_malform.h. */
#include "differential_malform.h"

#include "differential_cast.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DAY_US UINT64_C(86400000000)
#define CLIENT "0123456789abcdef0123456789abcdef"
#define NAMES_OF_NUMBERS "req fence told wait lease_ms floor target limit"
#define TEXT(literal) \
    { literal, sizeof literal - 1 }

typedef struct {
    const char *arguments; /* names of those that it is bad for, with spaces between */
    lkc_text text;
} bad_value;

static const bad_value bad_values[] = {
    {"handle", TEXT("")},
    {"handle", TEXT(CLIENT "-00000000000")},
    {"handle", TEXT(CLIENT "-0000000000001")},
    {"handle", TEXT("0" CLIENT "-00000000001")},
    {"handle", TEXT(CLIENT "-00000000000A")},
    {"handle", TEXT(CLIENT "-00000000000g")},
    {"handle", TEXT(CLIENT "0000000000001")},
    {"handle", TEXT("0123456789abcdef-0123456789abcdef-00000000000")},
    {"handle", TEXT(CLIENT "-0000000000\0001")},
    {NAMES_OF_NUMBERS, TEXT("")},
    {NAMES_OF_NUMBERS, TEXT("-1")},
    {NAMES_OF_NUMBERS, TEXT("+1")},
    {NAMES_OF_NUMBERS, TEXT(" 1")},
    {NAMES_OF_NUMBERS, TEXT("1 ")},
    {NAMES_OF_NUMBERS, TEXT("1\n")},
    {NAMES_OF_NUMBERS, TEXT("1.0")},
    {NAMES_OF_NUMBERS, TEXT("1e3")},
    {NAMES_OF_NUMBERS, TEXT("0x10")},
    {NAMES_OF_NUMBERS, TEXT("inf")},
    {NAMES_OF_NUMBERS, TEXT("nan")},
    {NAMES_OF_NUMBERS, TEXT("1\0")},
    {NAMES_OF_NUMBERS, TEXT("9007199254740993")},
    {NAMES_OF_NUMBERS, TEXT("00000000000000001")},
    {NAMES_OF_NUMBERS, TEXT("99999999999999999999")},
    {"req target", TEXT("0")},
    {"req target", TEXT("0000000000000000")},
    {"mode", TEXT("")},
    {"mode", TEXT("READ")},
    {"mode", TEXT("upgrade")},
    {"mode", TEXT("read\0")},
    {"mode", TEXT("write ")},
    {"wait told", TEXT("2")},
    {"wait told", TEXT("9007199254740992")},
    {"lease_ms", TEXT("0")},
    {"lease_ms", TEXT("99")},
    {"lease_ms", TEXT("86400001")},
    {"lease_ms", TEXT("9007199254740992")},
    {"policy", TEXT("")},
    {"policy", TEXT("Fair")},
    {"policy", TEXT("fair\0")},
    {"policy", TEXT("prefer")},
    {"floor", TEXT("9007199254740992")},
    {"owner group who", TEXT("a\0b")},
    {"owner group who", TEXT("\0")},
    {"limit", TEXT("100001")},
    {"limit", TEXT("9007199254740992")},
};
enum { BAD_VALUES = sizeof bad_values / sizeof *bad_values };

static bool is_among(const char *name, const char *names) {
    const char *found = strstr(names, name);
    size_t length = strlen(name);
    return found && (found == names || found[-1] == ' ') &&
           (found[length] == ' ' || found[length] == '\0');
}

static bool is_text(const char *name) {
    return is_among(name, "owner group who");
}

/* One byte more than it may have. */
static void make_too_long(step *one, size_t argument, const char *name) {
    size_t length = strcmp(name, "owner") == 0 ? 129 : strcmp(name, "group") == 0 ? 65 : 256;
    char *text = test_alloc(length, 1);
    memset(text, 'x', length);
    step_set(one, argument, (lkc_text){text, length});
    free(text);
}

static void make_too_far(step *one, size_t argument) {
    char *text = test_print("%" PRIu64, one->now_us + DAY_US + 1);
    step_set(one, argument, cast_text(text));
    free(text);
}

/* Numbers that are none are many: half of the time it is one that is out of its range. */
static const bad_value *draw_bad(random_source *random, const char *name) {
    const bad_value *any = NULL, *special = NULL;
    uint64_t anys = 0, specials = 0;
    for (size_t i = 0; i < BAD_VALUES; i++) {
        const bad_value *bad = &bad_values[i];
        if (!is_among(name, bad->arguments))
            continue;
        if (random_below(random, ++anys) == 0)
            any = bad;
        if (strcmp(bad->arguments, NAMES_OF_NUMBERS) != 0 && random_below(random, ++specials) == 0)
            special = bad;
    }
    return special && random_percent(random, 50) ? special : any;
}

static void spoil_value(random_source *random, step *one) {
    if (one->argument_count == 0)
        return;
    size_t argument = random_below(random, one->argument_count);
    size_t other = random_below(random, one->argument_count);
    if (other > argument) /* the first ones are those of most operations */
        argument = other;
    const char *name = step_argument_name(one->op, argument);
    if (is_text(name) && random_percent(random, 60)) {
        make_too_long(one, argument, name);
        return;
    }
    if (strcmp(name, "floor") == 0 && random_percent(random, 40)) {
        make_too_far(one, argument);
        return;
    }
    const bad_value *bad = draw_bad(random, name);
    if (bad)
        step_set(one, argument, bad->text);
}

static void spoil_count(random_source *random, step *one) {
    uint64_t kind = random_below(random, 4);
    if (kind == 0 && one->argument_count < STEP_ARGUMENTS_MOST)
        step_insert(one, random_below(random, one->argument_count + 1), cast_text("1"));
    else if (kind == 1)
        while (one->argument_count > 0)
            step_remove(one, 0);
    else if (one->argument_count > 0)
        step_remove(one, random_below(random, one->argument_count));
    /* For the scripts, as many strings as entries are the right number (SPEC 11.5). */
    if (one->op == LKC_OP_RENEW && one->argument_count == one->name_count)
        step_insert(one, 0, cast_text("1"));
}

static void spoil_name(random_source *random, step *one) {
    static const lkc_text bad[] = {TEXT(""), TEXT("\0"), TEXT("or\0ders"), TEXT("}\0")};
    enum { KINDS = sizeof bad / sizeof *bad, TOO_LONG = 513 };
    step_text *name = &one->names[random_below(random, one->name_count)];
    size_t kind = random_below(random, KINDS + 2);
    free(name->bytes);
    if (kind < KINDS) {
        *name = (step_text){test_copy(bad[kind].bytes, bad[kind].length), bad[kind].length};
        return;
    }
    *name = (step_text){test_alloc(TOO_LONG + 1, 1), TOO_LONG};
    memset(name->bytes, '%', TOO_LONG);
    if (kind == KINDS)
        name->bytes[0] = 'x';
}

/* Wrong keys, for the scripts alone. */

static void spoil_key_count(random_source *random, step *one) {
    static const size_t counts[] = {0, 3, 4, 8}, counts_of_renew[] = {0, 101, 202, 404};
    bool many = one->op == LKC_OP_RENEW;
    size_t at = random_below(random, sizeof counts / sizeof *counts);
    size_t count = many ? counts_of_renew[at] : counts[at];
    for (size_t i = 0; i < count; i++)
        step_add_key(one, cast_text("lk:{orders}"));
    one->expected = test_print("LKARG keys: expected 1 or 2%s, got %zu",
                               many ? " for each of 1 to 100 entries" : "", count);
}

static void spoil_key(random_source *random, step *one) {
    static const char *const sets[][2] = {
        {"lk:orders", NULL},           {"lk:orders", "lk:orders:i"},
        {"lk:{orders}", "lk:{orders}"}, {"lk:{orders}", "lk:{orders}:d"},
        {"lk:{orders}", "lk:{other}:i"}, {"lk:{orders}:i", "lk:{orders}"},
        {"l{k:{orders}", NULL},        {":{orders}", ":{orders}:i"},
        {"lk:{}}", NULL},              {"lk:{%}", "lk:{%}:i"},
        {"lk:{%a}", NULL},             {"lk:{orders", "lk:{orders:i"},
    };
    const char *const *set = sets[random_below(random, sizeof sets / sizeof *sets)];
    for (size_t i = 0; i < 2 && set[i]; i++)
        step_add_key(one, cast_text(set[i]));
    one->expected = test_print("LKARG keys: not the keys of one lock");
}

static void spoil_keys(random_source *random, step *one) {
    if (one->op == LKC_OP_RENEW || random_percent(random, 50))
        spoil_key_count(random, one); /* a key of renew is a fault of its entry only */
    else
        spoil_key(random, one);
}

void malform(random_source *random, step *one) {
    enum { VALUE, COUNT, NAME, KEYS, KINDS };
    static const unsigned weights[KINDS] = {[VALUE] = 72, [COUNT] = 10, [NAME] = 8, [KEYS] = 10};
    do {
        switch (random_weighted(random, weights, KINDS)) {
        case VALUE:
            spoil_value(random, one);
            break;
        case COUNT:
            spoil_count(random, one);
            break;
        case NAME:
            spoil_name(random, one);
            break;
        default:
            spoil_keys(random, one);
            return; /* they are looked at before all else */
        }
    } while (random_percent(random, 15));
}
