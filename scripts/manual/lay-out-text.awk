# Turns the text of a comment into mdoc(7). Knows the habits of the header's comments:
#
#   - paragraphs are separated by empty lines;
#   - a paragraph that begins with "- " is a list, an item for each "- ";
#   - lines that are indented by 2 or 3 are a list of terms; what a term means stands behind two
#     spaces, or below it, indented further;
#   - lines that are indented by 4 or more are code;
#   - what begins with LK_OK is the list of the statuses, separated by " · " or each on its line.

function indent_of(line) {
    match(line, /^ */)
    return RLENGTH
}

# ------------------------------------------------------------------------------ words

# For roff: no line begins with a control character, a minus is one, and a backslash is printed.
function escaped(text) {
    gsub(/\\/, "\\e", text)
    if (text ~ /^-/)
        text = "\\" text
    gsub(/ -/, " \\-", text)
    gsub(/--/, "-\\-", text)
    return text
}

# Names of functions and statuses, and what stands in back quotes, are bold.
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

# One argument of a macro, whatever is in it.
function argument(text) {
    gsub(/"/, "\\(dq", text)
    return "\"" text "\""
}

# Text lines: no longer than 80, a new one for each sentence. Names are not hyphenated.
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
    return word ~ /\.$/ && next_word ~ /^[A-Z`"(\\]/
}

function text_line(line) {
    return (line ~ /^[.']/ ? "\\&" : "") line "\n"
}

# A sentence of its own: "held" is "Held."; names keep their first letter.
function sentence(text) {
    if (text ~ /^[a-z]+([ ,;:.]|$)/)
        text = toupper(substr(text, 1, 1)) substr(text, 2)
    return text ~ /[.!?]$/ ? text : text "."
}

# ------------------------------------------------------------------------------ statuses

function is_status(text) {
    return match(text, /^LK_[A-Z_]+/) && substr(text, 1, RLENGTH) in status_text
}

# "LK_DENIED, LK_INVALID", "otherwise LK_INVALID": how much of an item names statuses.
function named_length(item,    rest, length_so_far) {
    rest = item
    if (match(rest, /^[a-z]+ LK_/))
        rest = substr(rest, RLENGTH - 2)
    while (is_status(rest)) {
        match(rest, /^LK_[A-Z_]+/)
        rest = substr(rest, RLENGTH + 1)
        length_so_far = length(item) - length(rest)
        if (!match(rest, /^(, (or |and )?| or | and )LK_/))
            break
        rest = substr(rest, RLENGTH - 2)
    }
    return length_so_far
}

function add_status(item,    size, names, meaning) {
    item = squeezed(item)
    size = named_length(item)
    # "LK_DENIED, or LK_INVALID if …: what it means": the condition is the last name's.
    if (substr(item, 1, size) ~ / (or|and) LK_/ && match(substr(item, size + 1), /^ [a-z][^:]*: /))
        size += RLENGTH - 2
    names = substr(item, 1, size)
    meaning = substr(item, size + 1)
    sub(/^[ :,.]+/, "", meaning)
    sub(/^- /, "", meaning)
    if (meaning == "" && names in status_text)
        meaning = status_text[names]
    status_list = status_list ".It " argument(marked(names)) "\n"
    if (meaning != "")
        status_list = status_list filled(sentence(meaning))
}

# The last item is a sentence; what follows it is about the function again.
function add_last_status(item,    end) {
    end = match(item, /\. [A-Z`]/)
    if (!end) {
        add_status(item)
        return
    }
    add_status(substr(item, 1, end))
    add_paragraph(substr(item, end + 2))
}

function add_statuses_in_text(text,    items, count, i) {
    count = split(text, items, / *· */)
    for (i = 1; i < count; i++)
        add_status(items[i])
    add_last_status(items[count])
}

# ------------------------------------------------------------------------------ blocks

function add_paragraph(text,    start) {
    start = match(text, /^LK_OK([:,.]|$| ·)/) ? 1 : match(text, /\. LK_OK([:,.]| ·)/) + 2
    if (start == 2) {
        description = description (description == "" ? "" : ".Pp\n") filled(text)
        return
    }
    if (start > 1)
        add_paragraph(substr(text, 1, start - 2))
    add_statuses_in_text(substr(text, start))
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

function add_terms(items, count,    i, term, meaning, out) {
    for (i = 1; i <= count; i++) {
        term = items[i]
        meaning = ""
        if (match(term, /  +|\n/)) {
            meaning = substr(term, RSTART + RLENGTH)
            term = substr(term, 1, RSTART - 1)
        }
        out = out ".It " argument("\\fB" escaped(term) "\\fR") "\n" filled(meaning)
    }
    description = description ".Bl -tag -width Ds\n" out ".El\n"
}

function add_bullets(items, count,    i, out) {
    for (i = 1; i <= count; i++)
        out = out ".It\n" filled(items[i])
    description = description ".Bl -bullet\n" out ".El\n"
}

# The items of a block of lines: each begins on a line that is indented as the first one.
function split_items(lines, first, last, items,    i, count, line, depth) {
    split("", items)
    depth = indent_of(lines[first])
    for (i = first; i <= last; i++) {
        line = lines[i]
        if (indent_of(line) == depth && \
            (!is_status(squeezed(lines[first])) || is_status(squeezed(line))))
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
    count = split_items(lines, first, last, items)
    if (is_status(items[1]) && text !~ / ·/ && (depth > 0 || lines[first] ~ /^-/ || count > 1)) {
        for (i = 1; i < count; i++)
            add_status(items[i])
        add_last_status(squeezed(items[count]))
    } else if (lines[first] ~ /^- /) {
        add_bullets(items, count)
    } else if (depth == 0) {
        add_paragraph(squeezed(text))
    } else if (depth < 4) {
        add_terms(items, count)
    } else {
        add_code(lines, first, last)
    }
}

# A block ends at an empty line, and where indentation begins or ends; that of a list item or of a
# status goes on.
function lay_out(comment,    lines, count, i, first) {
    description = ""
    status_list = ""
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
    if (is_status(first_line))
        return 1
    return (indent_of(first_line) > 0) == (indent_of(line) > 0)
}
