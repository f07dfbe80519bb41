# Prints the functions of C files that let go of the monitor: those that unlock it, wait on a condition,
# or call another such function, before they lock the monitor themselves. Static functions are followed,
# and not printed. Layout as clang-format leaves it: a definition begins in the first column, and its
# closing brace stands there.
FNR == 1 { name = ""; begins = 0 }
/^[a-z_].*\(/ && !/;$/ && !/^(typedef|struct|enum|union) *\{/ { begins = 1; head = "" }
begins {
    head = head $0
    if (/\{$/) {
        begins = 0
        match(head, /[a-z_0-9]+\(/)
        name = substr(head, RSTART, RLENGTH - 1)
        if (head ~ /^static/)
            name = FILENAME ":" name
        is_known[name] = 1
        file[name] = FILENAME
    } else if (/;$/) {
        begins = 0
    }
    next
}
/^}/ { name = "" }
name != "" {
    line = $0
    while (match(line, /[a-z_][a-z_0-9]*\(/)) {
        calls[name, ++count[name]] = substr(line, RSTART, RLENGTH - 1)
        line = substr(line, RSTART + RLENGTH)
    }
}

# What a name means inside a function.
function meaning(inside, called) {
    return (file[inside] ":" called) in is_known ? file[inside] ":" called : called
}

function does_unlock(inside, i) {
    for (i = 1; i <= count[inside] && calls[inside, i] != "pthread_mutex_lock"; i++)
        if (meaning(inside, calls[inside, i]) in unlocks)
            return 1
    return 0
}

END {
    unlocks["pthread_mutex_unlock"] = unlocks["pthread_cond_wait"] = unlocks["pthread_cond_timedwait"] = 1
    do {
        found = 0
        for (name in is_known)
            if (!(name in unlocks) && does_unlock(name))
                unlocks[name] = found = 1
    } while (found)
    for (name in is_known)
        if (name in unlocks && name !~ /:/)
            print name
}
