# Turns the text of a comment into mdoc(7). A comment of the header has these parts:
#
#   - Paragraphs, separated by empty lines.
#   - Lists. Each item begins with "- ".
#   - Lists of terms. A term is indented by 2 spaces. Its meaning follows after two spaces or more,
#     or on the lines below it, which are indented further.
#   - The list of statuses. This is a list of terms, too: a status, and on the same line when it is
#     returned. The list may stand nowhere else and in no other form.
#   - Code, indented by 4 spaces or more.
#
# `subject` names the function or type of the comment in messages about mistakes.

function indent_of(line) {
    match(line, /^ */)
    return RLENGTH
}

# ------------------------------------------------------------------------------ words

# Escapes text for roff: a minus stays a minus, and a backslash is printed.
function escaped(text) {
    gsub(/\\/, "\\e", text)
    if (text ~ /^-/)
        text = "\\" text
    gsub(/ -/, " \\-", text)
    gsub(/--/, "-\\-", text)
    return text
}

# Sets the names of functions and statuses, and text in back quotes, in bold.
function marked(text,    out) {
    text = escaped(text)
    while (match(text, /`[^`]+`|lk_[a-z0-9_]+\(\)|LK_[A-Z_]+/)) {
        out = out substr(text, 1, RSTART - 1) bold(substr(text, RSTART, RLENGTH))
        text = substr(text, RSTART + RLENGTH)
    }
    return out text
}

function bold(word) {
    if (word ~ /^`/)
        return "\\fB" substr(word, 2, length(word) - 2) "\\fR"
    if (word ~ /\(\)$/)
        return "\\fB" substr(word, 1, length(word) - 2) "\\fR()"
    return "\\fB" word "\\fR"
}

# Quotes a text as one argument of a macro.
function argument(text) {
    gsub(/"/, "\\(dq", text)
    return "\"" text "\""
}

# Breaks text into lines of at most 80 bytes. Each sentence begins a line. Names are not hyphenated.
function filled(text,    words, count, i, line, out) {
    count = split(marked(squeezed(text)), words, " ")
    for (i = 1; i <= count; i++) {
        if (words[i] ~ /_|\\fB/)
            words[i] = "\\%" words[i]
        if (line != "" && (ends_sentence(words[i - 1], words[i]) || \
                           length(line) + length(words[i]) >= 80)) {
            out = out text_line(line)
            line = ""
        }
        line = line (line == "" ? "" : " ") words[i]
    }
    return line == "" ? out : out text_line(line)
}

function ends_sentence(word, next_word) {
    return word ~ /\.$/ && next_word ~ /^[A-Z*`"(\\]/
}

# A line of text that roff does not take for a command.
function text_line(line) {
    return (line ~ /^[.']/ ? "\\&" : "") line "\n"
}

# Makes a sentence: "held" becomes "Held."; names keep their first letter.
function sentence(text) {
    if (text ~ /^[a-z]+([ ,;:.]|$)/)
        text = toupper(substr(text, 1, 1)) substr(text, 2)
    return text ~ /[.!?]$/ ? text : text "."
}

# ------------------------------------------------------------------------------ terms

# Splits an item into the globals `term` and `meaning`.
function split_term(item) {
    term = item
    meaning = ""
    if (match(item, /  +|\n/)) {
        term = substr(item, 1, RSTART - 1)
        meaning = squeezed(substr(item, RSTART + RLENGTH))
    }
}

function begins_with_status(text) {
    return match(text, /^LK_[A-Z_]+/) && substr(text, 1, RLENGTH) in status_text
}

function add_status(item) {
    split_term(item)
    if (!(term in status_text))
        fail(subject ": this does not begin with one status: " squeezed(item))
    if (item !~ /^[A-Z_]+  +[^ \n]/)
        fail(subject ": the line of " term " does not say when it is returned")
    if (term in listed)
        fail(subject ": " term " is listed twice")
    listed[term] = 1
    status_list = status_list ".It " argument(marked(term)) "\n" filled(sentence(meaning))
}

function add_terms(items, count,    i, out) {
    for (i = 1; i <= count; i++) {
        split_term(items[i])
        out = out ".It " argument("\\fB" escaped(term) "\\fR") "\n" filled(meaning)
    }
    description = description ".Bl -tag -width Ds\n" out ".El\n"
}

# ------------------------------------------------------------------------------ blocks

function add_paragraph(text) {
    if (text ~ /LK_[A-Z_]+.* · / || (begins_with_status(text) && text ~ /^LK_[A-Z_]+([:.]|$)/))
        fail(subject ": the statuses are not on lines of their own, indented by 2 spaces: " text)
    description = description (description == "" ? "" : ".Pp\n") filled(text)
}

function add_code(lines, first, last,    i, line, depth) {
    depth = indent_of(lines[first])
    description = description ".Bd -literal -offset indent\n"
    for (i = first; i <= last; i++) {
        line = substr(lines[i], depth + 1)
        gsub(/\\/, "\\e", line)
        gsub(/-/, "\\-", line)
        description = description text_line(line)
    }
    description = description ".Ed\n"
}

function add_bullets(items, count,    i, out) {
    for (i = 1; i <= count; i++)
        out = out ".It\n" filled(items[i])
    description = description ".Bl -bullet\n" out ".El\n"
}

# The items of a block of lines. Each begins on a line that is indented like the first one.
function split_items(lines, first, last, items,    i, count, line, depth) {
    split("", items)
    depth = indent_of(lines[first])
    for (i = first; i <= last; i++) {
        line = lines[i]
        if (indent_of(line) == depth)
            items[++count] = ""
        sub(/^ */, "", line)
        if (items[count] == "")
            sub(/^- /, "", line)
        items[count] = items[count] (items[count] == "" ? "" : "\n") line
    }
    return count
}

function add_block(lines, first, last,    i, text, items, count, depth) {
    for (i = first; i <= last; i++)
        text = text lines[i] "\n"
    depth = indent_of(lines[first])
    if (depth == 0 && lines[first] !~ /^- /) {
        add_paragraph(squeezed(text))
        return
    }
    if (depth >= 4) {
        add_code(lines, first, last)
        return
    }
    count = split_items(lines, first, last, items)
    if (lines[first] ~ /^- /) {
        add_bullets(items, count)
    } else if (begins_with_status(items[1])) {
        if (depth != 2)
            fail(subject ": the list of statuses is not indented by 2 spaces")
        for (i = 1; i <= count; i++)
            add_status(items[i])
    } else {
        add_terms(items, count)
    }
}

# A block ends at an empty line, and where indentation begins or ends, except inside a list item.
function lay_out(comment, of,    lines, count, i, first) {
    subject = of
    description = ""
    status_list = ""
    split("", listed)
    count = split(comment, lines, "\n")
    first = 1
    for (i = 1; i <= count + 1; i++) {
        if (i <= count && lines[i] != "" && (i == first || goes_on(lines[first], lines[i])))
            continue
        if (first < i)
            add_block(lines, first, i - 1)
        first = lines[i] == "" ? i + 1 : i
    }
}

function goes_on(first_line, line) {
    if (first_line ~ /^- /)
        return line ~ /^(- |  )/
    return (indent_of(first_line) > 0) == (indent_of(line) > 0)
}
