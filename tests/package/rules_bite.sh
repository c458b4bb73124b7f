#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The checks themselves are checked: check-tree.sh must find planted offences, and run-tests.sh must count a pass, a
# failure, a program that is not there, a time-out, a skipped test and a skipped case for what they are.
# shellcheck source=tests/package/common.sh
. "$(dirname "$0")/common.sh"

tree="$work/tree"
mkdir -p "$tree/scripts" "$tree/src" "$tree/docs"
cp "$here/../../scripts/check-tree.sh" "$tree/scripts/"
spdx='/* SPDX-License-Identifier: Apache-2.0 */'
echo 'int a;' >"$tree/src/unlicensed.c"
{ echo "$spdx"; yes 'int b;' | head -n 900; } >"$tree/src/long.c"
printf '%s\n// see /%s/main\n' "$spdx" work >"$tree/src/machine.c"
printf '%s\n\tint c;\n' "$spdx" >"$tree/src/tab.c"
printf '%s\nint d; \n' "$spdx" >"$tree/src/blank.c"
printf '%s\nchar *e = getenv("GDAKI_%s");\n' "$spdx" SECRET >"$tree/src/secret.c"
if "$tree/scripts/check-tree.sh" >"$work/found" 2>&1; then fail "check-tree.sh accepts a tree full of offences"; fi
while read -r offence; do
    grep -q "$offence" "$work/found" || fail "check-tree.sh does not find: $offence"
done <<'END'
src/unlicensed.c: no SPDX line
src/long.c: 901 lines
src/machine.c:2:.*names a machine
src/tab.c: has a tab
src/blank.c: has blanks
GDAKI_SECRET is read by the code and not listed
END
rm -r "$tree/src"
mkdir "$tree/src"
printf '%s\nint fine;\n' "$spdx" >"$tree/src/fine.c"
quietly "$tree/scripts/check-tree.sh" || true

project="$work/project"
mkdir "$project"
cat >"$project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.20)
project(counts NONE)
include(CTest)
add_test(NAME good COMMAND sh -c "printf '[       OK ] a\\nSKIP: no gpu\\n[  SKIPPED ] b\\n[  SKIPPED ] 1 test(s), listed below:\\n[  SKIPPED ] b\\n'")
add_test(NAME skip COMMAND sh -c "echo SKIP: no device; exit 77")
set_tests_properties(skip PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME bad COMMAND sh -c "exit 1")
add_test(NAME absent COMMAND this-program-does-not-exist)
add_test(NAME slow COMMAND sleep 20)
set_tests_properties(slow PROPERTIES TIMEOUT 1)
END
quietly "$CMAKE" -S "$project" -B "$project/build" || true
if "$here/../../scripts/run-tests.sh" "$project/build" >"$work/counts" 2>&1; then fail "run-tests.sh passes a failing run"; fi
[ "$(tail -n 1 "$work/counts")" = "1 passed, 3 failed, 1 skipped" ] || fail "closing line: $(tail -n 1 "$work/counts")"
grep -qx '  test  skip (no device)' "$work/counts" || fail "the skipped test is not named with its reason"
[ "$(grep -cx '  case  good: b (no gpu)' "$work/counts")" = 1 ] || fail "the skipped case is not named once with its reason"
if "$here/../../scripts/run-tests.sh" "$project/build" -R nothing-matches >"$work/none" 2>&1; then fail "run-tests.sh passes an empty run"; fi
if "$here/../../scripts/run-tests.sh" "$project/build" -R 'good|skip' >"$work/green" 2>&1; then :; else fail "run-tests.sh fails a passing run"; fi
finish "planted offences and counts"
