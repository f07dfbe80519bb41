# Writes the pages of section 3 into `folder`:
#
#   - a page for each group of functions that share a comment in latchkey.h,
#   - an alias for each further function of a group,
#   - a page for each type,
#   - liblatchkey.3: the given page with the prototypes added.
#
# The short descriptions and the date of all pages come from liblatchkey.3.
#   awk -v folder=FOLDER -f read-header.awk -f lay-out-text.awk -f write-pages.awk LIBLATCHKEY.3 HEADER

NR == FNR {
    page[++page_lines] = $0
    next
}
{
    header[++header_lines] = $0
}
END {
    read_header()
    read_page()
    write_library_page()
    for (i = 1; i <= groups; i++)
        write_functions(i)
    for (i = 1; i <= types; i++)
        write_type(type_name[i])
}

# ------------------------------------------------------------------------------ liblatchkey.3

# Reads the short descriptions. The text below `.It Fn lk_a , Fn lk_b` or `.It Vt lk_c` describes
# these names, up to its first semicolon or full stop.
function read_page(    i, names, count, text, k) {
    for (i = 1; i <= page_lines; i++) {
        if (page[i] ~ /^\.Dd /)
            date = page[i]
        if (page[i] !~ /^\.It (Fn|Vt) /)
            continue
        count = split(page[i], names, " ")
        for (text = ""; page[i + 1] !~ /^\.(It|El|Sh)/; i++)
            text = text " " in_words(page[i + 1])
        text = squeezed(text)
        gsub(/ ,/, ",", text)
        sub(/ *[;.]( .*)?$/, "", text)
        for (k = 2; k <= count; k++)
            if (names[k] ~ /^lk_/)
                short[names[k]] = tolower(substr(text, 1, 1)) substr(text, 2)
    }
}

# Removes the markup from a line of mdoc.
function in_words(line) {
    if (line !~ /^\./)
        return line
    sub(/^\.[A-Z][a-z] /, "", line)
    gsub(/\\&/, "", line)
    return line
}

function short_of(name) {
    if (!(name in short) || short[name] == "")
        fail(name " has no line in the lists of liblatchkey.3")
    return short[name]
}

function write_library_page(    file, i, k, names, count) {
    file = folder "/liblatchkey.3"
    for (i = 1; i <= page_lines; i++) {
        print page[i] >file
        if (page[i] !~ /^\.\\" PROTOTYPES/)
            continue
        for (k = 1; k <= groups; k++)
            printf "%s", prototypes(k) >file
        found = 1
    }
    if (!found)
        fail("liblatchkey.3 does not say where the prototypes go")
    close(file)
}

# ------------------------------------------------------------------------------ parts of a page

function prototypes(group,    names, count, i, k, words, words_count, out) {
    count = split(group_functions[group], names, " ")
    for (i = 1; i <= count; i++) {
        out = out ".Ft " argument(returns[names[i]]) "\n.Fn " names[i]
        words_count = split(arguments[names[i]], words, "\n")
        for (k = 1; k <= words_count; k++)
            out = out " " argument(words[k])
        out = out "\n"
    }
    return out
}

function beginning(names, count, words,    i, out) {
    out = ".\\\" Made from latchkey.h.\n" date "\n.Dt " toupper(names[1]) " 3\n.Os\n.Sh NAME\n"
    for (i = 1; i <= count; i++)
        out = out ".Nm " names[i] (i < count ? " ,\n" : "\n")
    return out ".Nd " words "\n" \
        ".Sh LIBRARY\n.Li cc program.c $(pkg-config --cflags --libs latchkey)\n" \
        ".Sh SYNOPSIS\n.In latchkey.h\n"
}

# Adds the public names in a text to `see`, except those of the page itself.
function see_names_of(text, own,    name) {
    while (match(text, /lk_[a-z0-9_]+/)) {
        name = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        if ((name in returns || name in fields) && !(name in own))
            see[name] = 1
    }
}

function see_also(    name, sorted, count, i, k, out) {
    for (name in see) {
        for (k = ++count; k > 1 && sorted[k - 1] > name; k--)
            sorted[k] = sorted[k - 1]
        sorted[k] = name
    }
    out = ".Sh SEE ALSO\n.Xr liblatchkey 3 ,\n"
    for (i = 1; i <= count; i++)
        out = out ".Xr " sorted[i] " 3 ,\n"
    split("", see)
    return out ".Xr latchkey 7\n"
}

# ------------------------------------------------------------------------------ functions

function write_functions(group,    names, count, i, own, file, text) {
    count = split(group_functions[group], names, " ")
    lay_out(group_comment[group], names[1])
    for (i = 1; i <= count; i++)
        if (returns[names[i]] == "lk_status" && status_list == "")
            fail(names[i] " lists no statuses")
    text = beginning(names, count, short_of(names[1])) prototypes(group)
    text = text ".Sh DESCRIPTION\n" description
    if (status_list != "")
        text = text ".Sh RETURN VALUES\n.Bl -tag -width LK_UNSUPPORTED\n" status_list ".El\n"
    for (i = 1; i <= count; i++)
        own[names[i]] = own["lk_lock"] = own["lk_client"] = 1
    see_names_of(group_comment[group] " " prototypes(group), own)
    file = folder "/" names[1] ".3"
    printf "%s%s", text, see_also() >file
    close(file)
    for (i = 2; i <= count; i++) {
        short_of(names[i])
        file = folder "/" names[i] ".3"
        print ".so man3/" names[1] ".3" >file
        close(file)
    }
}

# ------------------------------------------------------------------------------ types

function definition(name,    i, out, end) {
    if (!fields[name])
        return type_head[name] "\n"
    end = type_head[name] ~ /enum/ ? "," : ";"
    out = type_head[name] " {\n"
    for (i = 1; i <= fields[name]; i++)
        out = out "    " field[name, i] (end == "," && i == fields[name] ? "" : end) "\n"
    return out "} " name ";\n"
}

# Lists the fields that have a comment. A comment above a field that has its own stands between two
# lists.
function describe_fields(name,    i, above, note, open) {
    for (i = 1; i <= fields[name]; i++) {
        above = field_above[name, i]
        note = field_note[name, i]
        if (note == "" && above != "") {
            note = above
            above = ""
        }
        if (open && above != "")
            description = description ".El\n"
        if (above != "") {
            description = description (description == "" ? "" : ".Pp\n") filled(sentence(above))
            open = 0
        }
        if (note == "")
            continue
        if (!open)
            description = description ".Bl -tag -width Ds\n"
        open = 1
        description = description ".It " argument("\\fB" field[name, i] "\\fR") "\n" \
            filled(sentence(note))
    }
    if (open)
        description = description ".El\n"
}

# Adds the functions and types that use the type to `see`. If nearly every function uses it,
# liblatchkey(3) lists them.
function see_users_of(name, own,    i, k, count) {
    for (i = 1; i <= groups; i++)
        if ((" " prototypes(i)) ~ ("[^a-z0-9_]" name "[^a-z0-9_]"))
            count++
    for (i = 1; i <= groups && count <= 4; i++)
        if ((" " prototypes(i)) ~ ("[^a-z0-9_]" name "[^a-z0-9_]"))
            see_names_of(group_functions[i], own)
    for (i = 1; i <= types; i++)
        if (type_name[i] != name && definition(type_name[i]) ~ ("[^a-z0-9_]" name "[^a-z0-9_]"))
            see[type_name[i]] = 1
}

function write_type(name,    names, own, file, text) {
    names[1] = name
    own[name] = 1
    lay_out(type_comment[name], name)
    if (description == "")
        description = filled(sentence(short_of(name)))
    describe_fields(name)
    text = definition(name)
    gsub(/-/, "\\-", text)
    text = beginning(names, 1, short_of(name)) ".Bd -literal\n" text ".Ed\n"
    see_names_of(type_comment[name] " " definition(name) " " description, own)
    see_users_of(name, own)
    file = folder "/" name ".3"
    printf "%s.Sh DESCRIPTION\n%s%s", text, description, see_also() >file
    close(file)
}
