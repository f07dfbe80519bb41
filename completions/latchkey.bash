# Completion of latchkey(1) in bash. It works without bash-completion. With it, the command after
# `latchkey run NAME` is completed as usual.
# shellcheck shell=bash

# Sets REPLY to the options of a subcommand.
_latchkey_options() {
    local common='-u --url --prefix --tls-ca --tls-cert --tls-key --tls-server-name --verbose -h --help'
    case $1 in
    run)
        REPLY="-s --shared -x --exclusive -e --write -n --nonblock --nb -w --wait --timeout
            -E --conflict-exit-code -c --command -o --close --lease --policy --group --owner --app
            --server-timeout --on-lost --on-abandoned $common"
        ;;
    ls) REPLY="-l --long --host --pid --app --owner --mode --held-for -j --json $common" ;;
    inspect | doctor) REPLY="-j --json $common" ;;
    watch) REPLY="-j --json -i --interval $common" ;;
    top) REPLY="-i --interval $common" ;;
    server) REPLY='-j --json --prefix --verbose -h --help' ;;
    release) REPLY="--owner -y --yes $common" ;;
    bench) REPLY="-t --time -T --threads -j --json $common" ;;
    '') REPLY="-j --json -V --version $common" ;; # before the subcommand
    *) REPLY='' ;;
    esac
}

# Sets REPLY to the kind of value that an option takes: empty, `file`, `text`, or the possible words.
_latchkey_value() {
    REPLY=''
    case $1:$2 in
    *:--tls-ca | *:--tls-cert | *:--tls-key) REPLY='file' ;;
    *:-u | *:--url | *:--prefix | *:--tls-server-name) REPLY=text ;;
    run:--policy) REPLY='fair phase-fair prefer-writer prefer-reader' ;;
    run:--on-lost) REPLY='term kill ignore' ;;
    run:--on-abandoned) REPLY='run fail' ;;
    run:--group | run:--app | run:--server-timeout) REPLY=text ;;
    run:-w | run:--wait | run:--timeout | run:-E | run:--conflict-exit-code) REPLY=text ;;
    run:-c | run:--command | run:--lease | run:--owner | release:--owner) REPLY=text ;;
    ls:--mode) REPLY='read write' ;;
    ls:--host | ls:--pid | ls:--app | ls:--owner | ls:--held-for) REPLY=text ;;
    watch:-i | watch:--interval | top:-i | top:--interval) REPLY=text ;;
    bench:-t | bench:--time | bench:-T | bench:--threads) REPLY=text ;;
    esac
}

# Sets `words` to the words up to the cursor, and `begins` to the index of each in COMP_WORDS. Bash splits
# order:42 and --policy=fair at COMP_WORDBREAKS; this joins them again.
_latchkey_words() {
    local line=$COMP_LINE word i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i == 0)) || [[ -z $COMP_LINE || $line == [[:space:]]* ]]; then
            words+=("$word")
            begins+=("$i")
        else
            words[-1]+=$word
        fi
        line=${line#"${line%%[![:space:]]*}"}
        line=${line#"$word"}
    done
}

# Offers the words that begin with `current`.
_latchkey_offer() {
    local word quoted cut=''
    if [[ $current != "${COMP_WORDS[COMP_CWORD]}" ]]; then
        cut=${current%"${current##*[:=]}"} # bash only replaces the part after its last break
    fi
    for word in "$@"; do
        if [[ $current == [\'\"]* ]]; then
            [[ $word != "${current:1}"* ]] || COMPREPLY+=("$word")
            continue
        fi
        printf -v quoted %q "$word"
        if [[ -n $word && ($quoted == "$current"* || $word == "$current"*) ]]; then
            COMPREPLY+=("${quoted#"$cut"}")
        fi
    done
}

# Offers the locks of the server that the command line names. Each request takes at most a second, and none
# starts a private server. If the line names no server, the configured one is asked, unless that is a private
# server that is not running.
_latchkey_locks() {
    local program=${words[0]} address=${server_url:-${LATCHKEY_URL-}} names
    local required=${LATCHKEY_REQUIRE_SERVER-}
    [[ -z $unreadable ]] || return 0
    type -P "$program" >/dev/null || program=latchkey
    if [[ -z $address || $address == local:* ]] && ! timeout 1 "$program" server status &>/dev/null; then
        [[ -z $address ]] || return 0
        required=1
    fi
    mapfile -t names < <(LATCHKEY_REQUIRE_SERVER=$required timeout 1 "$program" ls "${server[@]}" 2>/dev/null |
        sed -E '1d; s/ +(read|write|abandoned|-) +[0-9]+ +[0-9]+ +[^ ]+$//')
    _latchkey_offer "${names[@]}"
}

_latchkey_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
}

# Completes the command of `run`. The argument is the index of its first word.
_latchkey_command() {
    local first=$1
    if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "${begins[first]}"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "${begins[first]}"
    elif ((first == last)) && [[ $current != */* ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$current" | sort -u)
    else
        _latchkey_files
    fi
}

# Adds an option that names the server to `server`. A value that only the shell can expand cannot be used:
# then no server is asked.
_latchkey_note() {
    case $1 in
    -u | --url) server_url=$2 ;;
    --prefix | --tls-*) ;;
    *) return ;;
    esac
    server+=("$1" "$2")
    [[ $2 != *[\$\`\'\"\\~]* ]] || unreadable=1
}

# Reads the words before the cursor, and sets:
#   subcommand  the first word that is not an option
#   wanted      the option whose value is at the cursor
#   arguments   the number of arguments of the subcommand
#   after       the index of the first word of the command of `run`
_latchkey_read() {
    local i word letter ended=''
    for ((i = 1; i < last; i++)); do
        word=${words[i]}
        if [[ -z $ended && $word == -- ]]; then
            ended=1
        elif [[ -z $ended && $word == --*=* ]]; then
            _latchkey_note "${word%%=*}" "${word#*=}"
        elif [[ -z $ended && $word == -?* ]]; then
            letter=$word
            if [[ $word != --* ]]; then # -sw 5, -sw5
                for ((letter = 1; letter < ${#word} - 1; letter++)); do
                    _latchkey_value "$subcommand" "-${word:letter:1}"
                    [[ -z $REPLY ]] || continue 2
                done
                letter=-${word: -1}
            fi
            _latchkey_value "$subcommand" "$letter"
            if [[ -n $REPLY ]]; then
                ((++i < last)) || wanted=$letter
                ((i >= last)) || _latchkey_note "$letter" "${words[i]}"
            fi
        elif [[ -z $subcommand ]]; then
            subcommand=$word
            ended=''
        else
            ((++arguments))
            if [[ $subcommand == run ]]; then
                after=$((i + 1))
                return
            fi
        fi
    done
    options_ended=$ended
}

_latchkey_behind_name() {
    local first=$after
    if ((first < last)) && [[ ${words[first]} == -- ]]; then
        ((++first))
    elif ((first < last)) && [[ ${words[first]} == -c || ${words[first]} == --command ]]; then
        return
    fi
    _latchkey_command "$first"
}

_latchkey_argument() {
    case $subcommand in
    '') _latchkey_offer "${subcommands[@]}" ;;
    run) _latchkey_locks ;;
    ls | inspect | release | watch) ((arguments > 0)) || _latchkey_locks ;;
    server) ((arguments > 0)) || _latchkey_offer start stop status ;;
    help) ((arguments > 0)) || _latchkey_offer "${subcommands[@]}" ;;
    esac
}

_latchkey() {
    local REPLY words=() begins=() server=() server_url='' unreadable='' wanted='' options_ended=''
    local subcommands=(run ls inspect watch top release doctor server bench help)
    local last current subcommand='' arguments=0 after=0
    COMPREPLY=()
    _latchkey_words
    last=$((${#words[@]} - 1))
    current=${words[last]}
    _latchkey_read
    if ((after > 0)); then
        _latchkey_behind_name
        return 0
    fi
    if [[ -z $wanted && -z $options_ended && $current == --*=* ]]; then
        wanted=${current%%=*}
        current=${current#*=}
    fi
    if [[ -n $wanted ]]; then
        _latchkey_value "$subcommand" "$wanted"
        case $REPLY in
        file) _latchkey_files ;;
        text | '') ;;
        *) mapfile -t COMPREPLY < <(compgen -W "$REPLY" -- "$current") ;;
        esac
    elif [[ -z $options_ended && $current == -* ]]; then
        _latchkey_options "$subcommand"
        mapfile -t COMPREPLY < <(compgen -W "$REPLY" -- "$current")
    else
        _latchkey_argument
    fi
    return 0
}

complete -F _latchkey latchkey
