# Completion of latchkey(1) in fish.

# Whether the next word is the value of this option.
function __latchkey_takes_value
    string match -qr -- '^(-[A-Za-z]*[uwEctTi]|--(url|prefix|tls-ca|tls-cert|tls-key|tls-server-name|wait|timeout|conflict-exit-code|command|lease|policy|group|owner|on-lost|on-abandoned|server-timeout|time|threads|interval|host|pid|app|mode|held-for))$' $argv[1]
end

# The words up to the cursor, without the program.
function __latchkey_words
    set -l tokens (commandline -opc)
    set -e tokens[1]
    string join \n -- $tokens
end

# The subcommand and the words after it, without the options of all commands before it.
function __latchkey_tokens
    set -l tokens (__latchkey_words)
    while string match -q -- '-*' "$tokens[1]"
        __latchkey_takes_value $tokens[1]; and set -e tokens[1]
        set -e tokens[1]
    end
    string join \n -- $tokens
end

# The number of words after the subcommand that are not options.
function __latchkey_arguments
    set -l count 0
    set -l skip 1 # the subcommand
    for word in (__latchkey_tokens)
        if test $skip = 1
            set skip 0
        else if __latchkey_takes_value $word
            set skip 1
        else if not string match -q -- '-*' $word
            set count (math $count + 1)
        end
    end
    echo $count
end

# Whether there is no subcommand yet.
function __latchkey_needs_command
    test (count (__latchkey_tokens)) -eq 0
end

# Whether the cursor is at a place for options of one of these subcommands.
function __latchkey_in
    set -l tokens (__latchkey_tokens)
    contains -- "$tokens[1]" $argv; or return 1
    test "$tokens[1]" != run; or test (__latchkey_arguments) -eq 0
end

# Whether the cursor is at the first argument of one of these subcommands.
function __latchkey_first_argument
    __latchkey_in $argv; and test (__latchkey_arguments) -eq 0
end

function __latchkey_behind_name
    set -l tokens (__latchkey_tokens)
    test "$tokens[1]" = run; and test (__latchkey_arguments) -gt 0
end

# Offers the locks of the server that the command line names. Each request takes at most a second, and none
# starts a private server. If the line names no server, the configured one is asked, unless that is a private
# server that is not running.
function __latchkey_locks
    set -l tokens (__latchkey_words)
    set -l address "$LATCHKEY_URL"
    set -l server
    set -l required "$LATCHKEY_REQUIRE_SERVER"
    set -l program (commandline -opc)[1]
    for i in (seq (count $tokens))
        if string match -qr -- '^(-u|--url|--prefix|--tls-(ca|cert|key|server-name))$' $tokens[$i]
            set -a server $tokens[$i] $tokens[(math $i + 1)]
            string match -qr -- '^(-u|--url)$' $tokens[$i]; and set address $server[-1]
        else if string match -qr -- '^--(url|prefix|tls-(ca|cert|key|server-name))=' $tokens[$i]
            set -a server $tokens[$i]
            string match -q -- '--url=*' $tokens[$i]; and set address (string replace -- --url= '' $tokens[$i])
        end
    end
    if test -z "$address"; or string match -q 'local:*' -- $address
        if not timeout 1 $program server status >/dev/null 2>&1
            test -z "$address"; or return
            set required 1
        end
    end
    env LATCHKEY_REQUIRE_SERVER=$required timeout 1 $program ls $server 2>/dev/null | tail -n +2 |
        string replace -r ' +(read|write|abandoned|-) +\d+ +\d+ +\S+$' ''
end

# The command of `run`, completed as that command would be.
function __latchkey_command
    set -l tokens (__latchkey_tokens)
    set -l skip 1
    for i in (seq (count $tokens))
        if test $skip = 1
            set skip 0
        else if __latchkey_takes_value $tokens[$i]
            set skip 1
        else if not string match -q -- '-*' $tokens[$i]
            set -l rest $tokens[(math $i + 1)..-1]
            contains -- "$rest[1]" -c --command; and return
            test "$rest[1]" = --; and set -e rest[1]
            complete -C (string join ' ' -- (string escape -- $rest) (commandline -ct))
            return
        end
    end
end

set -l all run ls inspect watch top release doctor bench # the subcommands with the common options

complete -c latchkey -f
complete -c latchkey -n __latchkey_needs_command -s u -l url -x -d 'the server'
complete -c latchkey -n __latchkey_needs_command -l prefix -x -d 'prefix of the keys'
complete -c latchkey -n __latchkey_needs_command -l tls-ca -r -F -d 'certificates to trust'
complete -c latchkey -n __latchkey_needs_command -l tls-cert -r -F -d 'client certificate'
complete -c latchkey -n __latchkey_needs_command -l tls-key -r -F -d 'client key'
complete -c latchkey -n __latchkey_needs_command -l tls-server-name -x -d 'name in the server certificate'
complete -c latchkey -n __latchkey_needs_command -l verbose -d 'log to stderr'
complete -c latchkey -n __latchkey_needs_command -s j -l json -d 'print JSON'
complete -c latchkey -n __latchkey_needs_command -s h -l help -d 'list the commands'
complete -c latchkey -n __latchkey_needs_command -s V -l version -d 'print the version'
complete -c latchkey -n __latchkey_needs_command -a run -d 'run a command under a lock'
complete -c latchkey -n __latchkey_needs_command -a ls -d 'list locks'
complete -c latchkey -n __latchkey_needs_command -a inspect -d 'show who holds a lock and who waits for it'
complete -c latchkey -n __latchkey_needs_command -a watch -d 'print grants, releases, losses and waits as they happen'
complete -c latchkey -n __latchkey_needs_command -a top -d 'show all locks on a live screen'
complete -c latchkey -n __latchkey_needs_command -a release -d 'take a lock away by force'
complete -c latchkey -n __latchkey_needs_command -a doctor -d 'check whether this server is safe for locks'
complete -c latchkey -n __latchkey_needs_command -a server -d 'start, stop or check the private server of local:'
complete -c latchkey -n __latchkey_needs_command -a bench -d 'measure the cost of locks on this server'
complete -c latchkey -n __latchkey_needs_command -a help -d 'list the commands, or show the help of one'

complete -c latchkey -n '__latchkey_first_argument run inspect release' -a '(__latchkey_locks)' -d lock
complete -c latchkey -n '__latchkey_first_argument ls watch' -a '(__latchkey_locks)' -d lock
complete -c latchkey -n '__latchkey_first_argument help' -a 'run ls inspect watch top release doctor server bench help'
complete -c latchkey -n '__latchkey_first_argument server' -a 'start stop status'
complete -c latchkey -n __latchkey_behind_name -a '(__latchkey_command)'

complete -c latchkey -n '__latchkey_in run' -s s -l shared -d 'a read lock'
complete -c latchkey -n '__latchkey_in run' -s x -l exclusive -d 'a write lock'
complete -c latchkey -n '__latchkey_in run' -s e -l write -d 'a write lock'
complete -c latchkey -n '__latchkey_in run' -s n -l nonblock -d 'do not wait'
complete -c latchkey -n '__latchkey_in run' -l nb -d 'do not wait'
complete -c latchkey -n '__latchkey_in run' -s w -l wait -x -d 'wait at most this long'
complete -c latchkey -n '__latchkey_in run' -l timeout -x -d 'wait at most this long'
complete -c latchkey -n '__latchkey_in run' -s E -l conflict-exit-code -x -d 'exit code if the lock is not free in time'
complete -c latchkey -n '__latchkey_in run' -s c -l command -x -d 'run a text in the shell'
complete -c latchkey -n '__latchkey_in run' -s o -l close -d 'no effect'
complete -c latchkey -n '__latchkey_in run' -l lease -x -d 'time until the lock is freed after a crash'
complete -c latchkey -n '__latchkey_in run' -l policy -x -a 'fair phase-fair prefer-writer prefer-reader' -d 'who comes next'
complete -c latchkey -n '__latchkey_in run' -l on-lost -x -a 'term kill ignore' -d 'what to do if the lock is lost'
complete -c latchkey -n '__latchkey_in run' -l on-abandoned -x -a 'run fail' -d 'what to do after a writer died'
complete -c latchkey -n '__latchkey_in run' -l owner -x -d 'act for this owner'
complete -c latchkey -n '__latchkey_in ls' -s l -l long -d 'one line for each holder'
complete -c latchkey -n '__latchkey_in ls' -l host -x -d 'only holders on this host'
complete -c latchkey -n '__latchkey_in ls' -l pid -x -d 'only holders with this process number'
complete -c latchkey -n '__latchkey_in ls' -l app -x -d 'only holders of this program'
complete -c latchkey -n '__latchkey_in ls' -l owner -x -d 'only holders of this owner'
complete -c latchkey -n '__latchkey_in ls' -l mode -x -a 'read write' -d 'only holders in this mode'
complete -c latchkey -n '__latchkey_in ls' -l held-for -x -d 'only holders that have held the lock for this long'
complete -c latchkey -n '__latchkey_in run' -l group -x -d 'only readers of the same group share the lock'
complete -c latchkey -n '__latchkey_in run' -l app -x -d 'the name that others see'
complete -c latchkey -n '__latchkey_in run' -l server-timeout -x -d 'longest outage to wait out'
complete -c latchkey -n '__latchkey_in release' -l owner -x -d 'only the holds of this owner'
complete -c latchkey -n '__latchkey_in release' -s y -l yes -d 'do not ask for confirmation'
complete -c latchkey -n '__latchkey_in bench' -s t -l time -x -d 'how long each workload runs'
complete -c latchkey -n '__latchkey_in bench' -s T -l threads -x -d 'threads of the parallel workloads'
complete -c latchkey -n '__latchkey_in watch top' -s i -l interval -x -d 'time between two snapshots'
complete -c latchkey -n '__latchkey_in server' -l prefix -x -d 'prefix of the keys'
complete -c latchkey -n '__latchkey_in server' -l verbose -d 'log to stderr'
complete -c latchkey -n '__latchkey_in server' -s h -l help -d 'print help'
complete -c latchkey -n '__latchkey_in ls inspect watch doctor server bench' -s j -l json -d 'print JSON'

complete -c latchkey -n "__latchkey_in $all" -s u -l url -x -d 'the server'
complete -c latchkey -n "__latchkey_in $all" -l prefix -x -d 'prefix of the keys'
complete -c latchkey -n "__latchkey_in $all" -l tls-ca -r -F -d 'certificates to trust'
complete -c latchkey -n "__latchkey_in $all" -l tls-cert -r -F -d 'client certificate'
complete -c latchkey -n "__latchkey_in $all" -l tls-key -r -F -d 'client key'
complete -c latchkey -n "__latchkey_in $all" -l tls-server-name -x -d 'name in the server certificate'
complete -c latchkey -n "__latchkey_in $all" -l verbose -d 'log to stderr'
complete -c latchkey -n "__latchkey_in $all" -s h -l help -d 'print help'
