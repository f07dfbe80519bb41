/* The conformance runner: reads the scenarios, starts the servers, plays. `--help` says how. */
#include "coverage.h"
#include "play.h"

#include <getopt.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2, EXIT_NOT_THERE = 77 };

static const char usage[] =
    "conformance [option…] FILE-OR-FOLDER…\n"
    "  --forms LIST       core, scripts, or core,scripts (default)\n"
    "  --servers LIST     programs with colons between them; default: $LATCHKEY_TEST_SERVERS, or\n"
    "                     redis-server, and valkey-server where it is installed\n"
    "  --named            only what $LATCHKEY_TEST_SERVERS names\n"
    "  --only TEXT        scenarios whose id contains TEXT\n"
    "  --must-fail        the scenarios are wrong: it is a fault when one passes\n"
    "  --list             print the ids and end\n"
    "  --check-spec FILE  only check that every rule of FILE is shown by a scenario\n"
    "Ends with 1 when a scenario failed, with 77 when a server is not installed or none is "
    "named.\n";

typedef struct {
    bool core, scripts, named, list, must_fail;
    const char *servers, *only, *spec;
} options;

static bool read_options(int count, char **words, options *out) {
    static const struct option known[] = {
        {"forms", required_argument, NULL, 'f'},
        {"servers", required_argument, NULL, 's'},
        {"only", required_argument, NULL, 'o'},
        {"list", no_argument, NULL, 'l'},
        {"named", no_argument, NULL, 'n'},
        {"must-fail", no_argument, NULL, 'm'},
        {"check-spec", required_argument, NULL, 'c'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    *out = (options){.core = true, .scripts = true, .servers = getenv("LATCHKEY_TEST_SERVERS")};
    for (int found; (found = getopt_long(count, words, "", known, NULL)) >= 0;) {
        switch (found) {
        case 'f':
            out->core = strcmp(optarg, "core") == 0 || strcmp(optarg, "core,scripts") == 0;
            out->scripts = strcmp(optarg, "core") != 0;
            break;
        case 's':
            out->servers = optarg;
            break;
        case 'o':
            out->only = optarg;
            break;
        case 'n':
            out->named = true;
            break;
        case 'm':
            out->must_fail = true;
            break;
        case 'l':
            out->list = true;
            break;
        case 'c':
            out->spec = optarg;
            break;
        default:
            return false;
        }
    }
    return optind < count;
}

static bool read_scenarios(char *const *paths, scenario_list *list) {
    for (; *paths; paths++) {
        char *pattern = test_print("%s/*.spec", *paths);
        glob_t found = {0};
        bool good = true;
        if (glob(pattern, 0, NULL, &found) == 0) {
            for (size_t i = 0; i < found.gl_pathc; i++)
                good = scenario_read(found.gl_pathv[i], list) && good;
        } else {
            good = scenario_read(*paths, list);
        }
        globfree(&found);
        free(pattern);
        if (!good)
            return false;
    }
    return true;
}

static bool is_wanted(const options *said, const scenario *one) {
    return !said->only || strstr(one->id, said->only);
}

/* Plays everything against these forms; returns EXIT_SUCCESS when it went as it should. */
static int play_all(const options *said, const scenario_list *list, lock_form *const *forms,
                    size_t count) {
    size_t passed = 0, failed = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (!is_wanted(said, &list->items[i]))
            continue;
        if (!play_scenario(forms, count, &list->items[i])) {
            failed++;
        } else {
            passed++;
            if (said->must_fail)
                printf("%s should have failed\n", list->items[i].id);
        }
        fflush(stdout);
    }
    for (size_t i = 0; i < count; i++)
        printf("%s%s", i ? ", " : "", form_name(forms[i]));
    printf(": %zu passed, %zu failed\n", passed, failed);
    return (said->must_fail ? passed : failed) ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int play_core(const options *said, const scenario_list *list) {
    lock_form *core = form_core_new();
    int status = play_all(said, list, &core, 1);
    form_free(core);
    return status;
}

static int play_scripts(const options *said, const scenario_list *list, const test_server *server,
                        bool indexed) {
    int status = EXIT_FAILURE;
    lock_form *forms[2];
    size_t count = 0;
    if (said->core)
        forms[count++] = form_core_new();
    forms[count] = form_scripts_new(server, indexed);
    if (forms[count]) {
        count++;
        status = play_all(said, list, forms, count);
    }
    for (size_t i = 0; i < count; i++)
        form_free(forms[i]);
    return status;
}

/* With locks that are packed while they are small, and with locks that are indexed. */
static int play_server(const options *said, const scenario_list *list, const char *program) {
    test_server *server = test_server_start(program, NULL);
    if (!server)
        return EXIT_FAILURE;
    int packed = play_scripts(said, list, server, false);
    int indexed = play_scripts(said, list, server, true);
    test_server_stop(server);
    return packed == EXIT_SUCCESS ? indexed : packed;
}

/* One after the other; a named one that is missing is told, a default one passed over. */
static int play_servers(const options *said, const scenario_list *list) {
    bool named = said->servers && *said->servers, played = false;
    const char *text = named ? said->servers : "redis-server:valkey-server";
    int status = EXIT_SUCCESS;
    if (said->named && !named) {
        puts("LATCHKEY_TEST_SERVERS names no server");
        return EXIT_NOT_THERE;
    }
    char *copy = test_copy(text, strlen(text)), *rest = copy;
    for (char *program; (program = strsep(&rest, ":"));) {
        if (test_server_available(program)) {
            played = true;
            if (play_server(said, list, program) != EXIT_SUCCESS)
                status = EXIT_FAILURE;
        } else if (named) {
            printf("%s is not installed\n", program);
            if (status == EXIT_SUCCESS)
                status = said->named ? EXIT_FAILURE : EXIT_NOT_THERE;
        }
    }
    free(copy);
    if (!played && !named) {
        puts("neither redis-server nor valkey-server is installed");
        status = EXIT_FAILURE;
    }
    return status;
}

int main(int count, char **words) {
    options said;
    scenario_list list = {0};
    int status = EXIT_USAGE;
    if (!read_options(count, words, &said)) {
        fputs(usage, stderr);
        return status;
    }
    if (!read_scenarios(words + optind, &list))
        goto done;
    status = EXIT_SUCCESS;
    if (said.list) {
        for (size_t i = 0; i < list.count; i++)
            if (is_wanted(&said, &list.items[i]))
                puts(list.items[i].id);
    } else if (said.spec) {
        status = coverage_check(said.spec, &list) ? EXIT_SUCCESS : EXIT_FAILURE;
    } else if (said.scripts) {
        status = play_servers(&said, &list);
    } else {
        status = play_core(&said, &list);
    }
done:
    scenario_list_clear(&list);
    return status;
}
