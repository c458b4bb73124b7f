#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Libraries export what symbols.txt says and nothing else. A line: library, then a pattern of the whole symbol name.
# shellcheck source=tests/package/common.sh
. "$(dirname "$0")/common.sh"
checked=0
grep -vE '^(#|$)' "$here/symbols.txt" >"$work/rules"
for library in "$libdir"/*.so "$libdir"/gdaki/*.so* "$libdir"/softnic/*.so; do
    [ -f "$library" ] || continue
    name=$(basename "$library")
    # Another name for a library that is looked at anyway.
    case $(basename "$(readlink -f "$library")") in "${name%.so}".*) ;; *) [ ! -L "$library" ] || continue ;; esac
    awk -v name="$name" '$1 == name { print $2 }' "$work/rules" >"$work/allowed"
    if [ ! -s "$work/allowed" ]; then
        fail "$name has no line in symbols.txt: decide what it exports"
        continue
    fi
    nm -D --defined-only --format=posix "$library" | awk '$2 != "A" { sub(/@.*/, "", $1); print $1 }' | sort -u >"$work/exported"
    grep -vxEf "$work/allowed" "$work/exported" >"$work/surplus" || true
    while read -r symbol; do fail "$name exports $symbol"; done <"$work/surplus"
    # A pattern that nothing matches any more is a symbol that was lost.
    while read -r pattern; do
        grep -qxE "$pattern" "$work/exported" || fail "$name exports nothing like $pattern"
    done <"$work/allowed"
    checked=$((checked + 1))
done
[ "$checked" -gt 2 ] || fail "only $checked libraries found in $libdir"
finish "$checked libraries"
