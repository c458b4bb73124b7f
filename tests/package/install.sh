#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the build below PKG_ROOT and checks that what the README promises is there.
# shellcheck source=tests/package/common.sh
. "$(dirname "$0")/common.sh"
rm -rf "$PKG_ROOT"
DESTDIR="$PKG_ROOT" "$CMAKE" --install "$PKG_BUILD" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }

while read -r file; do
    case $file in '' | '#'*) continue ;; esac
    [ -e "$prefix/$(echo "$file" | sed "s|^lib/|$PKG_LIBDIR/|")" ] || fail "not installed: $file"
done <"$here/promised.txt"

# Nothing may point back into the build or source folder.
grep -rlF -e "$PKG_BUILD" --include='*.pc' --include='*.cmake' --include='*.h' --include='*.cuh' "$prefix" >"$work/leaks" || true
while read -r file; do fail "$file names the build folder"; done <"$work/leaks"
for program in "$prefix"/bin/* "$libdir"/*.so; do
    [ -f "$program" ] || continue
    if readelf -d "$program" 2>/dev/null | grep -E 'R(UN)?PATH' | grep -qF "$PKG_BUILD"; then
        fail "$program has the build folder in its run path"
    fi
done
finish "$(find "$prefix" -type f | wc -l) installed files"
