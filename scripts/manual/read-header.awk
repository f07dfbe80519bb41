# Reads latchkey.h: its functions with their comments, its types with their fields. Knows the layout
# of the header and nothing about manual pages. It sets these variables:
#
#   statuses                    the number of statuses; status_code[i], status_text[code]
#   groups                      the number of groups. A group is the functions below one comment:
#                               group_comment[i], group_functions[i]
#   returns[f], arguments[f]    the type and the arguments of function f; line feeds separate the
#                               arguments
#   types                       the number of types; type_name[i]. For each name: type_comment,
#                               type_head ("typedef struct") and fields, the number of its fields.
#                               For each name and number of a field: field (its text), field_note
#                               (its comment) and field_above (a comment above it)

function fail(what) {
    print "manual: latchkey.h: " what >"/dev/stderr"
    exit 1
}

function squeezed(text) {
    gsub(/[ \t\n]+/, " ", text)
    sub(/^ /, "", text)
    sub(/ $/, "", text)
    return text
}

# The text of a comment without its frame. Lines keep their indentation.
function comment_text(raw,    lines, count, i, line, text) {
    sub(/^[ \t]*\/\*/, "", raw)
    sub(/[ \t]*\*\/[ \t\n]*$/, "", raw)
    count = split(raw, lines, "\n")
    for (i = 1; i <= count; i++) {
        line = lines[i]
        if (i > 1)
            sub(/^[ \t]*\*/, "", line)
        sub(/^ /, "", line)
        sub(/[ \t]+$/, "", line)
        text = text line "\n"
    }
    gsub(/^\n+|\n+$/, "", text)
    return text
}

# The position of the parenthesis that closes the one at `from`.
function closing(text, from,    depth, i, c) {
    for (i = from; i <= length(text); i++) {
        c = substr(text, i, 1)
        depth += (c == "(") - (c == ")")
        if (depth == 0)
            return i
    }
    fail("a parenthesis is not closed: " text)
}

function split_arguments(text,    depth, i, c, out) {
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        depth += (c == "(") - (c == ")")
        out = out (c == "," && depth == 0 ? "\n" : c)
    }
    gsub(/\n /, "\n", out)
    return out
}

function add_function(declaration, comment,    name, open) {
    sub(/^LK_API /, "", declaration)
    if (!match(declaration, /lk_[a-z0-9_]+\(/))
        fail("this declares no function: " declaration)
    name = substr(declaration, RSTART, RLENGTH - 1)
    open = RSTART + RLENGTH - 1
    if (!group) {
        if (comment == "")
            fail(name " has no comment directly above it")
        group = ++groups
        group_comment[group] = comment
    }
    group_functions[group] = group_functions[group] (group_functions[group] == "" ? "" : " ") name
    returns[name] = squeezed(substr(declaration, 1, RSTART - 1))
    arguments[name] = split_arguments( \
        squeezed(substr(declaration, open + 1, closing(declaration, open) - open - 1)))
}

function add_field(name, text, above) {
    fields[name]++
    field[name, fields[name]] = text
    field_above[name, fields[name]] = above
}

# A comment that begins on the line of a field belongs to that field. A comment on a line of its own
# stands above the next field.
function read_fields(name, body, separator,    above, same_line, end, to) {
    if (body ~ /[{]/)
        fail(name " has a struct in it, which cannot be read yet")
    while (body != "") {
        if (match(body, /^[ \t\n]+/)) {
            if (index(substr(body, 1, RLENGTH), "\n"))
                same_line = 0
            body = substr(body, RLENGTH + 1)
        } else if (substr(body, 1, 2) == "/*") {
            end = index(body, "*/") + 2
            if (same_line)
                field_note[name, fields[name]] = squeezed(comment_text(substr(body, 1, end - 1)))
            else
                above = squeezed(comment_text(substr(body, 1, end - 1)))
            body = substr(body, end)
        } else if (substr(body, 1, 1) == separator) {
            body = substr(body, 2)
        } else {
            end = index(body, separator)
            to = index(body, "/*")
            if (!end || (to && to < end))
                end = to
            if (!end)
                end = length(body) + 1
            add_field(name, squeezed(substr(body, 1, end - 1)), above)
            above = ""
            same_line = 1
            body = substr(body, end)
        }
    }
}

function add_statuses(name,    i) {
    for (i = 1; i <= statuses; i++) {
        add_field(name, status_code[i], "")
        field_note[name, i] = status_text[status_code[i]]
    }
}

function add_type(text, comment,    name, head, open, end) {
    open = index(text, "{")
    if (open) {
        end = match(text, /[}][^}]*;/)
        name = substr(text, end + 1)
        sub(/;.*/, "", name)
        head = squeezed(substr(text, 1, open - 1))
    } else {
        head = squeezed(text)
        if (match(head, /lk_[a-z0-9_]+\(/))
            name = substr(head, RSTART, RLENGTH - 1)
        else
            name = substr(head, match(head, /[^ ]+;$/))
        sub(/;.*/, "", name)
    }
    name = squeezed(name)
    if (name !~ /^lk_[a-z0-9_]+$/)
        fail("this defines no type: " text)
    type_name[++types] = name
    type_comment[name] = comment
    type_head[name] = head
    fields[name] = 0
    if (!open)
        return
    if (text ~ /LK_STATUSES/)
        add_statuses(name)
    else
        read_fields(name, substr(text, open + 1, end - open - 1), head ~ /enum/ ? "," : ";")
}

function read_status(line,    code) {
    if (!match(line, /X\(LK_[A-Z_]+, "/))
        return
    code = substr(line, RSTART + 2, RLENGTH - 5)
    status_code[++statuses] = code
    line = substr(line, RSTART + RLENGTH)
    status_text[code] = substr(line, 1, match(line, /"\)/) - 1)
}

# Joins the lines from `at` to the first that matches `end`. Leaves `at` on that line.
function lines_until(end,    text) {
    text = header[at]
    while (header[at] !~ end) {
        if (++at > header_lines)
            fail("it ends in the middle of: " text)
        text = text "\n" header[at]
    }
    return text
}

function read_header(    line, comment) {
    for (at = 1; at <= header_lines; at++) {
        line = header[at]
        if (line ~ /^\/\*/) {
            comment = comment_text(lines_until("\\*/"))
            if (comment ~ /^---/)
                comment = ""
            group = 0
        } else if (line ~ /^LK_API /) {
            add_function(squeezed(lines_until(";")), comment)
            comment = ""
        } else if (line ~ /^typedef /) {
            # A type with braces ends at the closing brace, any other at a semicolon.
            add_type(lines_until(line ~ /[{]/ && line !~ /[}]/ ? "^[}]" : ";"), comment)
            comment = ""
            group = 0
        } else if (line ~ /^#/) {
            read_status(line)
            while (header[at] ~ /\\$/)
                read_status(header[++at])
            comment = ""
            group = 0
        } else if (line ~ /^(extern "C" [{]|[}])?$/) {
            comment = ""
            group = 0
        } else {
            fail("line " at " cannot be part of a manual page: " line)
        }
    }
}
