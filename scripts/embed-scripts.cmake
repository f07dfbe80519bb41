# Writes a C header with the Lua scripts of protocol/lua, ready to be sent to a server.
#
#   cmake -D LUA_DIR=<folder> -D FLAVOUR=production|test|indexed -D OUTPUT=<header> [-D TEXTS=<folder>]
#         -P embed-scripts.cmake
#
# With TEXTS, each script is also written there by itself, for redis-cli.
#
# A script's text is its file with each line `--@include X.lua` replaced by that file, once each.
# Flavour `test` takes clock_test.lua where clock.lua is named. Flavour `indexed` does so, too, and
# takes limits_test.lua where limits.lua is named. A line `--@constant NAME VALUE`, in any
# file, makes NAME stand for VALUE in all files. Blank lines, indentation and lines that are only a
# comment are left out: what is sent is small, and its SHA1 stays when only a comment changes. Long
# strings and long comments ([[ ]]) would not survive that: they are refused.
cmake_minimum_required(VERSION 3.18)

set(operations acquire release renew convert cancel inspect force)

# Lua text has brackets and semicolons, which CMake's lists do not carry. So text is cut into lines
# by hand and never becomes a list.
function(next_line text_var line_var)
    set(text "${${text_var}}")
    string(FIND "${text}" "\n" end)
    if(end EQUAL -1)
        set(${line_var} "${text}" PARENT_SCOPE)
        set(${text_var} "" PARENT_SCOPE)
    else()
        string(SUBSTRING "${text}" 0 ${end} line)
        math(EXPR rest "${end} + 1")
        string(SUBSTRING "${text}" ${rest} -1 text)
        set(${line_var} "${line}" PARENT_SCOPE)
        set(${text_var} "${text}" PARENT_SCOPE)
    endif()
endfunction()

# The files that this flavour takes in place of others: replaced_<file>.
if(FLAVOUR STREQUAL "test" OR FLAVOUR STREQUAL "indexed")
    set(replaced_clock.lua clock_test.lua)
endif()
if(FLAVOUR STREQUAL "indexed")
    set(replaced_limits.lua limits_test.lua)
else()
    set(unused limits_test.lua)
endif()

# The constants of all files: a list of names, and a variable constant_<name> for each.
set(constants "")
file(GLOB sources RELATIVE "${LUA_DIR}" "${LUA_DIR}/*.lua")
list(REMOVE_ITEM sources ${unused})
foreach(source IN LISTS sources)
    if(DEFINED replaced_${source})
        continue()
    endif()
    file(STRINGS "${LUA_DIR}/${source}" lines REGEX "^--@constant ")
    foreach(line IN LISTS lines)
        if(NOT line MATCHES "^--@constant ([A-Z_]+) ([-0-9.e]+|'[^']*')( .*)?$")
            message(FATAL_ERROR "embed-scripts: ${source}: cannot read: ${line}")
        endif()
        if(DEFINED constant_${CMAKE_MATCH_1})
            message(FATAL_ERROR "embed-scripts: ${CMAKE_MATCH_1} is a constant twice")
        endif()
        list(APPEND constants "${CMAKE_MATCH_1}")
        set(constant_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
    endforeach()
endforeach()

# A match takes the characters around a name with it, so neighbours need a second round. A name
# beside a quote is part of a text.
function(replace_constants text_var)
    set(text "${${text_var}}")
    foreach(name IN LISTS constants)
        string(FIND "${text}" "${name}" found)
        if(NOT found EQUAL -1)
            foreach(round 1 2)
                string(REGEX REPLACE "([^A-Za-z0-9_'])${name}([^A-Za-z0-9_'])"
                                     "\\1${constant_${name}}\\2" text "${text}")
            endforeach()
        endif()
    endforeach()
    set(${text_var} "${text}" PARENT_SCOPE)
endfunction()

# Appends the lines of `file` to the caller's `script`, and notes the file in its `included`.
function(append_file file)
    set(source "${file}")
    if(DEFINED replaced_${file})
        set(source "${replaced_${file}}")
    endif()
    if(NOT EXISTS "${LUA_DIR}/${source}")
        message(FATAL_ERROR "embed-scripts: there is no ${source} in ${LUA_DIR}")
    endif()
    list(APPEND included "${file}")
    if(NOT DEFINED text_of_${source})
        file(READ "${LUA_DIR}/${source}" text)
        string(REGEX REPLACE "\n *--[^@\n][^\n]*" "" text "\n${text}")
        string(REGEX REPLACE "--@constant [^\n]*" "" text "${text}")
        replace_constants(text)
        set(text_of_${source} "${text}" CACHE INTERNAL "")
    endif()
    set(text "${text_of_${source}}")
    while(NOT text STREQUAL "")
        next_line(text line)
        string(REGEX REPLACE "^[ \t\r]+|[ \t\r]+$" "" line "${line}")
        if(line MATCHES "^--@include +([A-Za-z0-9_.-]+)$")
            set(wanted "${CMAKE_MATCH_1}")
            list(FIND included "${wanted}" place)
            if(place EQUAL -1)
                append_file("${wanted}")
            endif()
        elseif(line MATCHES "^--@")
            message(FATAL_ERROR "embed-scripts: ${source}: cannot read: ${line}")
        elseif(line MATCHES "^--\\[=*\\[" OR line MATCHES "[=(,{ ]\\[=*\\[")
            message(FATAL_ERROR "embed-scripts: ${source}: long strings and comments are not "
                                "supported: ${line}")
        elseif(NOT line STREQUAL "" AND NOT line MATCHES "^--")
            string(APPEND script "${line}\n")
        endif()
    endwhile()
    set(script "${script}" PARENT_SCOPE)
    set(included "${included}" PARENT_SCOPE)
endfunction()

# The text as C literals, one a line of Lua.
function(to_literals text result_var)
    set(result "")
    while(NOT text STREQUAL "")
        next_line(text line)
        string(REPLACE "\\" "\\\\" line "${line}")
        string(REPLACE "\"" "\\\"" line "${line}")
        string(REPLACE "\t" "\\t" line "${line}")
        string(REPLACE "?" "\\?" line "${line}")
        string(APPEND result "\n        \"${line}\\n\"")
    endwhile()
    set(${result_var} "${result}" PARENT_SCOPE)
endfunction()

if(FLAVOUR STREQUAL "production")
    set(array lki_scripts)
    set(guard LKI_SCRIPTS_H)
elseif(FLAVOUR STREQUAL "test")
    set(array lki_test_scripts)
    set(guard LKI_SCRIPTS_TEST_H)
elseif(FLAVOUR STREQUAL "indexed")
    set(array lki_indexed_scripts)
    set(guard LKI_SCRIPTS_INDEXED_H)
else()
    message(FATAL_ERROR "embed-scripts: FLAVOUR must be production, test or indexed")
endif()

set(rows "")
foreach(operation IN LISTS operations)
    set(script "")
    set(included "")
    append_file("${operation}.lua")
    string(SHA1 sha1 "${script}")
    string(LENGTH "${script}" length)
    if(TEXTS)
        file(WRITE "${TEXTS}/${operation}.lua" "${script}")
    endif()
    to_literals("${script}" literals)
    string(APPEND rows "    {\"${operation}\", \"${sha1}\", ${length}U,${literals}},\n")
endforeach()

file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT [[
/* Made by scripts/embed-scripts.cmake from the Lua scripts; not to be edited. */
#ifndef @guard@
#define @guard@

#include <stddef.h>

#ifndef LKI_SCRIPT_DEFINED
#define LKI_SCRIPT_DEFINED
typedef struct {
    const char *name;
    const char *sha1; /* of the text, as EVALSHA wants it */
    size_t length;
    const char *text;
} lki_script;
#endif

/* ISO C promises 4095 characters in a literal; every compiler that we build with takes more. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"

/* In the order of lkc_op (protocol/core/words.h). */
static const lki_script @array@[] = {
@rows@};

#pragma GCC diagnostic pop

#endif
]])
# It may be as it was, and stay untouched; but it is up to date now, and must look so.
file(TOUCH "${OUTPUT}")
