# The manual and the completions have exactly the options of the command.
# shellcheck shell=bash source-path=SCRIPTDIR source-path=SCRIPTDIR/../..
# shellcheck disable=SC2317 # run_tests calls the tests
source_folder=$(realpath "${BASH_SOURCE%/*}/../..") # before the harness changes the folder
# shellcheck source=harness.sh
source "${BASH_SOURCE%/*}/harness.sh"

pages=$source_folder/man
completions=$source_folder/completions

# For a test that leaves commands in the background: they end with the test, even if it fails.
end_jobs_with_test() {
    trap 'jobs -p | xargs -r kill 2>/dev/null' EXIT
}

# ------------------------------------------------------------------------------ what there is

# The subcommands, as `latchkey help` lists them.
subcommands() {
    "$latchkey" help | sed -nE 's/^  ([a-z]+) +[^ ].*/\1/p'
}

# The options that a subcommand prints with --help, one on each line, sorted.
helped_options() {
    "$latchkey" help "$1" | sed -n '/^options$/,/^examples$/p' |
        sed -nE 's/^ +(-[A-Za-z])?,? *(--[a-z-]+)( .*)?$/\1 \2/p' | one_a_line
}

one_a_line() {
    tr -s ' \n' '\n' | sed '/^$/d' | LC_ALL=C sort
}

# The lines of a page's section, without its heading.
section() {
    sed -n "/^\.Sh $2\$/,/^\.Sh /p" "$1" | sed '/^\.Sh /d'
}

# Fl x is -x, Fl -long is --long; arguments are left out.
page_options() {
    section "$pages/latchkey-$1.1" OPTIONS | sed -nE 's/^\.It (Fl .*)/\1/p' |
        grep -oE 'Fl [^ ]+' | sed 's/^Fl /-/' | one_a_line
}

expect_same() {
    diff -u "$2" "$3" >difference || fail "$1: $(cat difference)"
}

# ------------------------------------------------------------------------------ pages

test_each_subcommand_has_a_page_and_latchkey_1_lists_them() {
    local name
    subcommands >listed
    check [ -s listed ]
    while read -r name; do
        check [ -f "$pages/latchkey-$name.1" ]
    done <listed
    section "$pages/latchkey.1" DESCRIPTION | sed -nE 's/^\.It Xr latchkey-([a-z]+) 1$/\1/p' >in_page
    expect_same latchkey.1 listed in_page
    find "$pages" -name 'latchkey-*.1' -exec basename {} .1 \; | sed 's/^latchkey-//' | sort >there
    sort listed >wanted
    expect_same "the pages" wanted there
}

test_pages_have_the_options_that_help_prints() {
    local name
    for name in $(subcommands); do
        helped_options "$name" >helped
        [ "$name" = help ] || check grep -qx -- --help helped
        page_options "$name" >in_page
        expect_same "latchkey-$name.1" helped in_page
    done
}

test_pages_are_written_without_faults() {
    local page
    for page in "$pages"/*.[1-8]; do
        check mandoc -T lint -W warning "$page"
        check mandoc -T utf8 "$page" >rendered
        check [ -s rendered ]
    done
}

test_pages_refer_to_pages_that_exist() {
    local name number
    sed -nE 's/^.*Xr ((lib)?latchkey[a-z.-]*) ([1-8]).*/\1 \3/p' "$pages"/*.[1-8] | sort -u >named
    check [ -s named ]
    while read -r name number; do
        check [ -f "$pages/$name.$number" ]
    done <named
}

# The lines of the literal blocks.
examples() {
    section "$1" EXAMPLES | sed -n '/^\.Bd -literal/,/^\.Ed/p' | sed '/^\./d'
}

test_examples_begin_with_a_command_that_exists() {
    local page word name rest
    subcommands >listed
    for page in "$pages"/latchkey*.1; do
        examples "$page" >lines
        check [ -s lines ]
        while read -r word name rest; do
            [ "$name" != -u ] || read -r _ name rest <<<"$rest"
            case $word in
            latchkey) check grep -qx -- "$name" listed ;;
            export) ;;
            *) fail "${page##*/}: $word $name $rest" ;;
            esac
        done <lines
    done
}

test_exit_codes_of_latchkey_1_are_those_of_the_command() {
    sed -nE 's/^ *EXIT_[A-Z_]+ = ([0-9]+).*/\1/p' "$source_folder/cli/exits.h" | sort -nu >codes
    check [ -s codes ]
    section "$pages/latchkey.1" 'EXIT STATUS' | sed -nE 's/^\.It ([0-9]+)(\+n)?$/\1/p' |
        sed '/^0$/d' | sort -nu >in_page
    expect_same "the exit codes" codes in_page
}

test_environment_variables_of_the_code_are_in_latchkey_1() {
    local name
    {
        grep -rhoE '(getenv|setenv|setting)\("[A-Z_]+"' "$source_folder/src" "$source_folder/cli"
        grep -rhoE '"LATCHKEY_[A-Z_]+"' "$source_folder/src" "$source_folder/cli"
    } | sed -E 's/.*"(.*)"/\1/' | sort -u >variables
    check grep -qx LATCHKEY_URL variables
    check grep -qx LATCHKEY_TLS_CA variables
    while read -r name; do
        check grep -qE "^\.(It )?Ev $name( |\$)" "$pages/latchkey.1"
    done <variables
}

test_the_keys_of_a_configuration_are_those_of_latchkey_conf_5() {
    sed -nE 's/^ +X\([A-Z_]+, "([a-z_]+)", .*/\1/p' "$source_folder/src/client/config.h" | sort >keys
    check [ -s keys ]
    section "$pages/latchkey.conf.5" KEYS | sed -nE 's/^\.It Cm ([a-z_]+)$/\1/p' | sort >in_page
    expect_same "the keys" keys in_page
}

# The command accepts the lines of the examples.
# An example begins with its URL. Those with TLS are understood if nothing but the certificates is wrong.
test_the_examples_of_latchkey_conf_5_are_understood() {
    local file
    examples "$pages/latchkey.conf.5" | sed "s,/etc/latchkey.password,$PWD/password," |
        awk '/^url = / { count++ } { print >count + 0 ".conf" }'
    echo s3cr3t >password
    chmod 600 password
    check grep -q require_server 1.conf
    check grep -q cluster 2.conf
    for file in 1 2; do
        expect_exit 78 env LATCHKEY_CONFIG="$PWD/$file.conf" LATCHKEY_TLS_CA=/no/such "$latchkey" ls
        expect_said "LATCHKEY_TLS_CA: /no/such cannot be read"
    done
    check [ "$(cat 3.conf)" = "url = local:" ]
}

# The page lists every scheme of the code, and each has an example.
test_the_schemes_of_urls_are_those_of_latchkey_url_7() {
    {
        echo local
        sed -nE 's/^ +\{"([a-z+]+)", "[a-z]+", LKI_URL_.*/\1/p' "$source_folder/src/net/url_parts.c"
    } | sort >schemes
    check grep -qx valkeys+cluster schemes
    section "$pages/latchkey-url.7" FORMS | sed -nE 's/^\.It Li ([a-z+]+):.*/\1/p' | sort >in_page
    expect_same "the schemes" schemes in_page
    examples "$pages/latchkey-url.7" | sed 's/:.*//' | sort -u >in_examples
    expect_same "the schemes of the examples" schemes in_examples
}

# The parser is content with the first line if it complains about the second.
test_the_examples_of_latchkey_url_7_are_understood() {
    local url
    examples "$pages/latchkey-url.7" >urls
    check [ -s urls ]
    while read -r url; do
        printf 'url = %s\nnonsense\n' "$url" >mine.conf
        expect_exit 78 env LATCHKEY_CONFIG="$PWD/mine.conf" "$latchkey" ls
        grep -q 'mine.conf:2: ' said || fail "$url: $(cat said)"
    done <urls
}

test_pages_that_latchkey_url_7_names_refer_back_to_it() {
    local name number
    section "$pages/latchkey-url.7" 'SEE ALSO' | sed -nE 's/^\.Xr ([a-z.-]+) ([1-8]).*/\1 \2/p' >named
    check [ -s named ]
    while read -r name number; do
        section "$pages/$name.$number" 'SEE ALSO' >there
        check grep -q '^\.Xr latchkey-url 7' there
    done <named
}

test_the_page_of_the_library_has_each_function_type_and_status() {
    local header=$source_folder/include/latchkey.h
    grep '^LK_API' "$header" | grep -oE '\blk_[a-z0-9_]+\(' | tr -d '(' | sort -u >functions
    check [ -s functions ]
    grep -E '^\.It Fn' "$pages/liblatchkey.3" | grep -oE 'lk_[a-z0-9_]+' | sort -u >in_page
    expect_same "functions" functions in_page
    sed -nE 's/^(typedef .*|\}) \**(lk_[a-z0-9_]+)(\(.*|;.*)/\2/p' "$header" | sort -u >types
    check [ -s types ]
    sed -nE 's/^\.It Vt (lk_[a-z0-9_]+)$/\1/p' "$pages/liblatchkey.3" | sort -u >in_page
    expect_same "types" types in_page
    sed -nE 's/^ *X\((LK_[A-Z_]+),.*/\1/p' "$header" >statuses
    sed -nE 's/^\.It Dv (LK_[A-Z_]+)$/\1/p' "$pages/liblatchkey.3" >in_page
    expect_same "statuses" statuses in_page
}

# The page describes the keys of an object at each level.
expect_keys_in() {
    local page=$1 key
    grep -oE '"[a-z_0-9]+":' printed | tr -d '":' | sort -u >keys
    check [ -s keys ]
    while read -r key; do
        section "$page" JSON | grep -qE "^\.(It )?Li .*\b$key\b" || fail "${page##*/} lacks $key"
    done <keys
}

# Ends the wait and the hold of the test below, and leaves the output of `watch` about them in `printed`.
watch_until_released() {
    local watch
    "$latchkey" watch --json -i 10ms >printed &
    watch=$!
    eventually grep -q watching printed
    echo >stop
    eventually grep -q released printed
    kill "$watch"
    wait
}

test_fields_of_json_are_in_the_pages() {
    end_jobs_with_test
    mkfifo stop
    "$latchkey" run a sh -c 'read -r line <stop' &
    eventually "$latchkey" ls a
    "$latchkey" run -s a true &
    eventually sh -c "'$latchkey' inspect a | grep -q '1 wait'"
    expect_exit 0 "$latchkey" ls --json
    expect_keys_in "$pages/latchkey-ls.1"
    expect_exit 0 "$latchkey" ls -l --json
    expect_printed held_ms
    expect_keys_in "$pages/latchkey-ls.1"
    expect_exit 0 "$latchkey" inspect a --json
    expect_printed waited_ms
    expect_keys_in "$pages/latchkey-inspect.1"
    expect_exit 0 "$latchkey" bench --json -t 10ms
    expect_keys_in "$pages/latchkey-bench.1"
    expect_exit 0 "$latchkey" server --json status
    expect_keys_in "$pages/latchkey-server.1"
    "$latchkey" doctor --json >printed
    expect_keys_in "$pages/latchkey-doctor.1"
    watch_until_released
    expect_keys_in "$pages/latchkey-watch.1"
}

# ------------------------------------------------------------------------------ bash

# complete_line LINE: leaves what bash would offer at its end in `offered`. Splits COMP_WORDS as bash does: at
# spaces, and at : and =, which become words of their own.
complete_line() {
    local COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=() COMP_CWORD COMPREPLY=()
    mapfile -t COMP_WORDS < <(sed -E 's/([:=]+)/ \1 /g' <<<"$1" | tr -s ' ' '\n' | sed '/^$/d')
    case $1 in *[\ :=]) COMP_WORDS+=('') ;; esac
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _latchkey
    [ "${#COMPREPLY[@]}" -eq 0 ] || printf '%s\n' "${COMPREPLY[@]}"
} >offered 2>&1

expect_offered() {
    printf '%s\n' "$@" | one_a_line >wanted
    one_a_line <offered >got
    expect_same offered wanted got
}

load_bash_completion() {
    # shellcheck source=completions/latchkey.bash
    source "$completions/latchkey.bash"
}

test_bash_offers_the_subcommands() {
    load_bash_completion
    complete_line "latchkey "
    # shellcheck disable=SC2046
    expect_offered $(subcommands)
    complete_line "latchkey help "
    # shellcheck disable=SC2046
    expect_offered $(subcommands)
    complete_line "latchkey insp"
    expect_offered inspect
}

test_bash_offers_the_options_that_help_prints() {
    local name
    load_bash_completion
    for name in $(subcommands); do
        helped_options "$name" >helped
        complete_line "latchkey $name -"
        one_a_line <offered >got
        expect_same "bash, $name" helped got
    done
}

# The options before the subcommand: those that all subcommands have, and --json.
global_options() {
    local name
    for name in run ls inspect watch top release doctor bench; do
        helped_options "$name"
    done | sort | uniq -c | sed -nE 's/^ *8 (.*)/\1/p'
    printf '%s\n' -j --json -V --version
}

test_bash_offers_the_options_of_all_before_the_subcommand() {
    load_bash_completion
    complete_line "latchkey -"
    # shellcheck disable=SC2046
    expect_offered $(global_options)
    complete_line "latchkey --verbose --tls-k"
    expect_offered --tls-key
}

test_bash_offers_all_as_usual_behind_options_of_all() {
    load_bash_completion
    for lead in "-u local:" "--url=local:" "-ulocal:" "--verbose --prefix lk" "-u local: --"; do
        complete_line "$latchkey $lead "
        # shellcheck disable=SC2046
        expect_offered $(subcommands)
        complete_line "$latchkey $lead insp"
        expect_offered inspect
        complete_line "$latchkey $lead run --policy="
        expect_offered fair phase-fair prefer-writer prefer-reader
    done
    complete_line "$latchkey -u "
    expect_offered ''
    : >ca.pem
    complete_line "$latchkey --tls-ca ca"
    expect_offered ca.pem
    end_jobs_with_test
    mkfifo stop
    "$latchkey" run --prefix other web sh -c 'read -r line <stop' &
    eventually "$latchkey" ls --prefix other web
    complete_line "$latchkey --prefix other inspect "
    expect_offered web
    complete_line "$latchkey inspect "
    expect_offered ''
    echo >stop
    wait
}

test_latchkey_1_lists_the_options_of_all() {
    global_options | sed -nE '/^--(help|version)$/d; /^--/p' | one_a_line >wanted
    section "$pages/latchkey.1" DESCRIPTION | sed -n '/^Options that all/,/^All other options/p' |
        sed -nE 's/^\.Fl (-[a-z-]+).*/-\1/p' | one_a_line >in_page
    expect_same latchkey.1 wanted in_page
}

test_bash_knows_which_options_take_a_value() {
    local name option
    load_bash_completion
    for name in $(subcommands); do
        "$latchkey" help "$name" | sed -n '/^options$/,/^examples$/p' |
            grep -oE -- '^ +(-[A-Za-z], )?--[a-z-]+( [A-Z]+$| [A-Z]+  )?' >rows
        while read -r option; do
            _latchkey_value "$name" "$(grep -oE -- '--[a-z-]+' <<<"$option")"
            if [[ $option =~ \ [A-Z]+$ ]]; then
                [ -n "$REPLY" ] || fail "$name: $option takes a value"
            else
                [ -z "$REPLY" ] || fail "$name: $option takes no value"
            fi
        done <rows
    done
}

test_bash_offers_the_values_of_options() {
    load_bash_completion
    complete_line "latchkey run --policy "
    expect_offered fair phase-fair prefer-writer prefer-reader
    complete_line "latchkey run --policy=prefer-"
    expect_offered prefer-writer prefer-reader
    complete_line "latchkey run --on-lost "
    expect_offered term kill ignore
    complete_line "latchkey ls --mode "
    expect_offered read write
    complete_line "latchkey run --on-abandoned "
    expect_offered run fail
    : >ca.pem
    complete_line "latchkey ls --tls-ca ca"
    expect_offered ca.pem
    complete_line "latchkey run -s -w "
    expect_offered ''
}

test_bash_offers_locks_and_then_commands() {
    local line
    load_bash_completion
    end_jobs_with_test
    mkfifo stop
    "$latchkey" run "deploy:web" sh -c 'read -r line <stop' &
    eventually "$latchkey" ls 'deploy:web'
    for line in "run " "run -s -w 5 " "run -sw5 " "run -w 5 -- " "ls " "inspect " "release --yes "; do
        complete_line "$latchkey $line"
        expect_offered deploy:web
    done
    complete_line "$latchkey inspect dep"
    expect_offered deploy:web
    complete_line "$latchkey inspect deploy:w" # bash only replaces the part after its last break
    expect_offered web
    complete_line "$latchkey inspect deploy:web "
    expect_offered ''
    complete_line "$latchkey run --prefix other "
    expect_offered ''
    echo >stop
    wait
    : >there
    complete_line "$latchkey run deploy:web truncat"
    check grep -qx truncate offered
    complete_line "$latchkey run deploy:web -- cat the"
    expect_offered there
    complete_line "$latchkey run deploy:web -n"
    check [ "$(grep -c -- --nonblock offered)" -eq 0 ]
}

test_bash_starts_no_server_for_a_question() {
    load_bash_completion
    export LATCHKEY_LOCAL_DIR=$PWD/elsewhere
    complete_line "$latchkey inspect "
    expect_offered ''
    check [ ! -e elsewhere ]
}

test_bash_offers_the_locks_of_a_server_that_is_configured() {
    load_bash_completion
    start_server # shellcheck disable=SC2119
    echo "url = $url" >mine.conf
    export LATCHKEY_CONFIG=$PWD/mine.conf LATCHKEY_LOCAL_DIR=$LATCHKEY_LOCAL_DIR/none
    begin "$latchkey" run "deploy:web" sleep 60
    eventually "$latchkey" ls 'deploy:web'
    complete_line "$latchkey inspect "
    expect_offered deploy:web
    check [ ! -e "$LATCHKEY_LOCAL_DIR" ]
}

# ------------------------------------------------------------------------------ zsh and fish

# Reads the rows of `common` and of the function of a subcommand: {-s,--shared}, '--nb[…]', {-w+,--wait=}.
zsh_options() {
    {
        sed -n "/^_latchkey_$1() {/,/^}/p" "$completions/_latchkey" >its_own
        if grep -q ' [$]common ' its_own; then
            sed -n '/ common=(/,/^    )/p' "$completions/_latchkey"
        fi
        cat its_own
    } | sed -nE "s/^ +'(\([^)]*\))?'\{(-[A-Za-z])\+?,(--[a-z-]+)=?\}.*/\2 \3/p
                 s/^ +'(\([^)]*\))?(--[a-z-]+)=?\[.*/\2/p" | one_a_line
}

fish_options() {
    local all
    all=$(sed -nE 's/^set -l all ([a-z ]+).*/\1/p' "$completions/latchkey.fish")
    sed -nE "s/\\\$all/$all/; s/^complete -c latchkey -n ['\"]__latchkey_in ([a-z ]+)['\"] (.*)/ \1 \2/p" \
        "$completions/latchkey.fish" | grep -E "^ [a-z ]*\b$1\b[a-z ]* +-[sl] " |
        sed 's/ -d .*//' | sed -E "s/^.* -s ([A-Za-z]) -l ([a-z-]+).*/-\1 --\2/; t; s/^.* -l ([a-z-]+).*/--\1/" |
        one_a_line
}

test_zsh_and_fish_have_the_options_that_help_prints() {
    local name
    for name in $(subcommands); do
        [ "$name" != help ] || continue
        helped_options "$name" >helped
        zsh_options "$name" >got
        expect_same "zsh, $name" helped got
        fish_options "$name" >got
        expect_same "fish, $name" helped got
    done
}

test_zsh_and_fish_have_the_subcommands() {
    subcommands >listed
    sed -n '/commands=(/,/^    )/p' "$completions/_latchkey" | sed -nE "s/^ +'([a-z]+):.*/\1/p" >got
    expect_same zsh listed got
    sed -nE 's/^complete .*_needs_command -a ([a-z]+) .*/\1/p' "$completions/latchkey.fish" >got
    expect_same fish listed got
    sed -nE "s/^complete .*_first_argument help' -a '([a-z ]+)'.*/\1/p" "$completions/latchkey.fish" |
        tr ' ' '\n' >got
    expect_same "fish, help" listed got
}

test_zsh_and_fish_have_the_options_of_all_before_the_subcommand() {
    global_options | one_a_line >wanted
    {
        sed -n '/ common=(/,/^    )/p' "$completions/_latchkey"
        sed -n '/_arguments -C : [$]common/,/arguments/p' "$completions/_latchkey"
    } | sed -nE "s/^ +'(\([^)]*\))?'\{(-[A-Za-z])\+?,(--[a-z-]+)=?\}.*/\2 \3/p
                 s/^ +'(--[a-z-]+)=?\[.*/\1/p" | one_a_line >got
    expect_same zsh wanted got
    sed -nE 's/^complete -c latchkey -n __latchkey_needs_command -(.*) -d .*/-\1/p' "$completions/latchkey.fish" |
        sed -nE 's/^-s ([A-Za-z]) -l ([a-z-]+).*/-\1 --\2/p; s/^-l ([a-z-]+).*/--\1/p' | one_a_line >got
    expect_same fish wanted got
}

# fish_offers LINE: leaves the words that fish offers at its end in `offered`.
fish_offers() {
    # shellcheck disable=SC2016 # fish expands them
    fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$completions/latchkey.fish" "$1" |
        cut -f1 >offered
}

test_fish_offers_all_as_usual_behind_options_of_all() {
    if ! command -v fish >/dev/null; then
        echo "left out: there is no fish here"
        return
    fi
    export HOME=$PWD
    for lead in "" "-u local: " "--url=local: " "--verbose --prefix lk "; do
        fish_offers "latchkey $lead"
        # shellcheck disable=SC2046
        expect_offered $(subcommands)
        fish_offers "latchkey ${lead}run --on-lost "
        expect_offered term kill ignore
    done
    end_jobs_with_test
    mkfifo stop
    "$latchkey" run --prefix other web sh -c 'read -r line <stop' &
    eventually "$latchkey" ls --prefix other web
    fish_offers "$latchkey --prefix other inspect "
    expect_offered web
    echo >stop
    wait
}

test_zsh_and_fish_can_read_theirs() {
    if command -v zsh >/dev/null; then
        check zsh -n "$completions/_latchkey"
    else
        echo "left out: there is no zsh here"
    fi
    if command -v fish >/dev/null; then
        check fish --no-execute "$completions/latchkey.fish"
    else
        echo "left out: there is no fish here"
    fi
}

run_tests
