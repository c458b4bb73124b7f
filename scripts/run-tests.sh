#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run-tests.sh BUILD_DIR [ctest arguments]: runs CTest and closes with counts that hide nothing.
#
# A skip is either a whole test (exit code 77, which CTest calls Skipped) or one case inside a cmocka program
# ("[  SKIPPED ]", which CTest does not see). Both are counted and named in the closing lines, with the reason when the
# test printed one as "SKIP: reason".
set -u
build=${1:?usage: run-tests.sh BUILD_FOLDER [CTEST-OPTION...]}
shift
jobs=${JOBS:-2}

here=$(cd "$(dirname "$0")" && pwd -P)

# Sanitizer runs: a report fails the test. Suppressions live in scripts/*.supp, each with its reason; none is needed
# while the file is absent.
suppress() { [ ! -f "$here/$1" ] || printf ':suppressions=%s' "$here/$1"; }
sanitize=$(sed -n 's/^GDAKI_SANITIZE:STRING=//p' "$build/CMakeCache.txt" 2>/dev/null)
case $sanitize in
*address*)
    export ASAN_OPTIONS="strict_string_checks=1:allocator_may_return_null=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
    LSAN_OPTIONS="print_suppressions=0$(suppress lsan.supp)${LSAN_OPTIONS:+:$LSAN_OPTIONS}"
    export LSAN_OPTIONS ;;
*thread*)
    TSAN_OPTIONS="halt_on_error=1:allocator_may_return_null=1:second_deadlock_stack=1$(suppress tsan.supp)${TSAN_OPTIONS:+:$TSAN_OPTIONS}"
    export TSAN_OPTIONS ;;
esac
case $sanitize in
*undefined*) export UBSAN_OPTIONS="print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}" ;;
esac

# Newer kernels place mappings over more bits than the sanitizers of gcc 12 know; without randomisation they agree.
fixed_layout=
if [ -n "$sanitize" ] && setarch -R true 2>/dev/null; then fixed_layout="setarch -R"; fi

rm -f "$build/Testing/last.xml" "$build/Testing/Temporary/LastTest.log"
# shellcheck disable=SC2086  # empty or two words
(cd "$build" && $fixed_layout ctest --output-on-failure --no-tests=error --timeout 600 --output-junit Testing/last.xml -j "$jobs" "$@")
status=$?

log="$build/Testing/Temporary/LastTest.log"
if [ ! -f "$log" ]; then
    echo "run-tests: CTest left no $log; nothing was run" >&2
    exit 1
fi

# Verdicts come from CTest's result file, so that a test which died is not lost; names of cases and reasons come from the
# full log. A test that CTest could not start ("notrun" without the skip code) is a failure.
awk -v build="$build" '
    function attribute(key,   value) {
        if (!match($0, " " key "=\"[^\"]*\"")) return ""
        value = substr($0, RSTART, RLENGTH); sub(/^[^"]*"/, "", value); sub(/"$/, "", value)
        return value
    }
    FILENAME ~ /last\.xml$/ && /<testcase / { name = attribute("name"); verdict = attribute("status"); total++
        if (verdict == "run") passed++; else if (verdict == "fail") failed++ ; else if (verdict == "disabled") skip[++nskip] = name }
    FILENAME ~ /last\.xml$/ && /<skipped / && verdict == "notrun" {
        if (attribute("message") ~ /^SKIP_/) skip[++nskip] = name; else failed++ }
    FILENAME ~ /last\.xml$/ { next }

    # A test in LastTest.log starts with "N/M Testing: NAME"; its output follows.
    /^[0-9]+\/[0-9]+ Testing: / { name = $0; sub(/^[0-9]+\/[0-9]+ Testing: /, "", name); reason = ""; next }
    /^Command: / { next }
    /SKIP: / { reason = $0; sub(/.*SKIP: /, "", reason); if (!(name in why)) why[name] = reason }
    /^\[  SKIPPED \] / {
        label = $0; sub(/^\[  SKIPPED \] /, "", label)
        if (label ~ /^[0-9]+ / || label ~ /test\(s\)/ || (name, label) in seen) next
        seen[name, label] = 1
        cases[++ncases] = name ": " label (reason != "" ? " (" reason ")" : "")
        reason = ""
    }
    /^\[       OK \] / { ok++ }
    END {
        if (total == 0) { print "run-tests: CTest ran no test"; exit 1 }
        print ""
        if (nskip + ncases > 0) print "skipped in " build ":"
        for (i = 1; i <= nskip; i++) print "  test  " skip[i] (skip[i] in why ? " (" why[skip[i]] ")" : "")
        for (i = 1; i <= ncases; i++) print "  case  " cases[i]
        printf "in %s: %d cmocka cases passed, %d skipped; whole tests:\n", build, ok, ncases
        printf "%d passed, %d failed, %d skipped\n", passed, failed, nskip
        exit failed > 0
    }' "$build/Testing/last.xml" "$log" || status=1
exit "$status"
