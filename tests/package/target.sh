#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make install` builds what it installs and nothing else: the target `installed` holds every built file that is installed,
# and no test, example or fuzzer.
# shellcheck source=tests/package/common.sh
. "$(dirname "$0")/common.sh"
[ -f "$PKG_BUILD/build.ninja" ] || { echo "SKIP: not built with Ninja"; exit 77; }
ninja=$(sed -n 's/^CMAKE_MAKE_PROGRAM:[^=]*=//p' "$PKG_BUILD/CMakeCache.txt")
for tool in inputs query; do # the first leaves out archives that nothing links
    "$ninja" -C "$PKG_BUILD" -t $tool installed 2> "$work/log" || { cat "$work/log"; exit 1; }
done | sed 's/^ *//' > "$work/inputs"
for folder in tests examples fuzz; do
    if grep "^$folder/" "$work/inputs" > "$work/extra"; then fail "built for nothing: $(head -3 "$work/extra" | tr '\n' ' ')"; fi
done

# Files of this build that cmake --install copies, apart from those that configuring writes.
find "$PKG_BUILD" -name cmake_install.cmake -exec sed -n "s|.*\"$PKG_BUILD/\([^\"]*\)\".*|\1|p" {} + | sort -u > "$work/all"
count=0
while read -r file; do
    case $file in
    *.cmake | *.pc | install_manifest* | *.txt) continue ;;
    esac
    [ -f "$PKG_BUILD/$file" ] || continue
    count=$((count + 1))
    real=$(readlink -f "$PKG_BUILD/$file")
    real=${real#"$(readlink -f "$PKG_BUILD")"/}
    grep -qx -e "$file" -e "$real" "$work/inputs" || fail "installed, and not built by the target: $file"
done < "$work/all"
[ "$count" -ge 6 ] || fail "only $count built files are installed: has the list changed its form?"
finish "$count installed files, $(wc -l < "$work/inputs") inputs"
