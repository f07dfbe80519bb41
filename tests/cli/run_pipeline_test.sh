# `latchkey run` in a pipeline on a terminal: it leaves the terminal to the job, as flock(1) does.
# shellcheck shell=bash disable=SC2317,SC2016,SC2119
# shellcheck source-path=SCRIPTDIR source=harness.sh
source "${BASH_SOURCE%/*}/harness.sh"
# shellcheck source-path=SCRIPTDIR source=terminal.sh
source "${BASH_SOURCE%/*}/terminal.sh"

export LESS= LESSHISTFILE=-

# The last command of a pipeline. A key that is typed before it runs would not reach it.
reader="sh -c 'echo >reads; exec cat'"

# ------------------------------------------------------------------------------ in an interactive shell

pages() {
    type_line '$latchkey run x seq 1000 | less; echo "ended $?"'
    eventually sees '^40$'
    ! sees '^1000$' || fail "$(screen)"
    press G
    eventually sees '^1000$'
    press q
    eventually sees '^ended 0'
    is_free x || fail "it is not free"
}

reads() {
    type_line "sh -c 'echo >up; read a </dev/tty; echo got \$a' | \$latchkey run x cat"
    eventually test -e up
    type_line 'words'
    eventually sees '^got words'
    eventually is_free x
}

interrupts() {
    type_line "\$latchkey run x sh -c 'echo >up; exec sleep 1000' | sh -c 'echo >reads; cat; echo >second; exec sleep 1000'"
    eventually test -e up
    eventually test -e reads
    press C-c
    expect_code 130
    is_free x || fail "it is not free"
    [ ! -e second ] || fail "one Ctrl-C was not enough"
}

stops_and_continues() {
    type_line "\$latchkey run x sh -c 'echo \$\$ >up; read -r line </dev/tty; echo got \$line' | $reader"
    eventually test -s up
    eventually test -e reads
    stop_job "$(cat up)"
    continue_job
    type_line 'again'
    eventually sees '^got again'
    eventually is_free x
}

loses_while_stopped() {
    type_line "\$latchkey run --lease 2 x $beat | $reader"
    eventually test -s beats
    eventually test -e reads
    stop_job
    expect_exit 0 "$latchkey" run -w 60 x sh -c 'wc -l <beats >before'
    type_line 'fg'
    eventually sees '^> fg'
    expect_code '[0-9]'
    wc -l <beats | cmp - before || fail "it went on"
}

# As in `latchkey run x ./job | less`: the reader uses the terminal before the command ends.
excludes_while_its_reader_pages() {
    type_line "\$latchkey run --lease 4 x sh -c 'echo \$\$ >child; seq 1000; exec $beat' | less"
    eventually test -s beats
    eventually sees '^40$'
    expect_exit 1 "$latchkey" run -w 6 x true
    press q C-c
    eventually is_dead "$(cat child)"
    eventually is_free x
}

for shell in bash dash; do
    for what in pages reads interrupts stops_and_continues loses_while_stopped \
        excludes_while_its_reader_pages; do
        eval "test_in_tmux_a_pipeline_of_${shell}_$what() { open_terminal 80 $shell; $what; }"
        eval "test_in_script_a_pipeline_of_${shell}_$what() { open_script $shell; $what; }"
    done
done

# ------------------------------------------------------------------------------ in a shell without job control

interrupts_in_a_script() {
    begin_script "$1" '$latchkey run x sh -c "echo >up; exec sleep 1000" | sh -c "echo >reads; cat; echo >second; exec sleep 1000"'
    eventually test -e up
    eventually test -e reads
    printf '\003' >&8
    eventually is_dead "$begun"
    eventually is_free x
    [ ! -e second ] || fail "one Ctrl-C was not enough"
}

reads_in_a_script() {
    begin_script "$1" 'sh -c "echo >up; read a </dev/tty; echo got \$a" | $latchkey run x cat'
    eventually test -e up
    echo words >&8
    eventually grep -q '^got words' shown
    eventually is_free x
}

reads_in_the_command_in_a_script() {
    begin_script "$1" 'true | $latchkey run x sh -c "echo >up; read a </dev/tty; echo got \$a" | cat'
    eventually test -e up
    echo words >&8
    eventually grep -q '^got words' shown
    eventually is_free x
}

# The terminal is closed: no process of the job is left.
hangs_up_in_a_script() {
    begin_script "$1" '$latchkey run x sh -c "echo \$\$ >child; exec sleep 1000" | cat'
    eventually test -s child
    kill -KILL "$begun"
    eventually is_dead "$(cat child)"
    eventually is_free x
}

for shell in bash dash; do
    for what in interrupts_in_a_script reads_in_a_script reads_in_the_command_in_a_script \
        hangs_up_in_a_script; do
        eval "test_a_pipeline_of_${shell}_$what() { $what $shell; }"
    done
done

run_tests
