#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh BUILD_DIR [TARGET...]: libFuzzer (clang, with ASan and UBSan) on every fuzz target, or on those named, FUZZ_SECONDS
# each (default 10). What it finds new stays in BUILD_DIR/corpus/TARGET and is read again by the next run; an input that
# fails is BUILD_DIR/crash/TARGET-*. Ends with a table; exit code 1 when anything failed.
set -eu
build=${1:?usage: fuzz.sh BUILD_FOLDER [TARGET...]}
shift
source_dir=$(cd "$(dirname "$0")/.." && pwd -P)
seconds=${FUZZ_SECONDS:-10}

if ! command -v clang >/dev/null 2>&1; then
    echo "SKIP: no clang (scripts/install-deps.sh fuzz)"
    exit 77
fi
# Others' warnings are gcc's affair; here clang is a means.
CC=clang CXX=clang++ "$source_dir/scripts/configure.sh" "$build" -DGDAKI_FUZZ=ON -DGDAKI_SANITIZE=address,undefined \
    -DGDAKI_CUDA=OFF -DBUILD_TESTING=OFF -DGDAKI_WERROR=OFF
"$source_dir/scripts/build.sh" "$build" fuzz_targets
if [ $# = 0 ]; then
    for corpus in "$source_dir"/fuzz/corpus/*/; do
        set -- "$@" "$(basename "$corpus")"
    done
fi

mkdir -p "$build/crash"
export ASAN_OPTIONS="quarantine_size_mb=16${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
failed=0
table=
for target in "$@"; do
    new="$build/corpus/$target"
    log="$build/fuzz-$target.log"
    mkdir -p "$new"
    verdict=passed
    "$build/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=2048 -timeout=60 -malloc_limit_mb=256 -rss_limit_mb=2048 \
        -print_final_stats=1 -artifact_prefix="$build/crash/$target-" "$new" "$source_dir/fuzz/corpus/$target" \
        >"$log" 2>&1 || verdict=FAILED
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    cover=$(grep -ao 'cov: [0-9]*' "$log" | tail -n 1)
    table="$table$(printf '%-10s %-6s %6s s %12s runs  %s' "$target" "$verdict" "$seconds" "${runs:-?}" "$cover")
"
    if [ "$verdict" = FAILED ]; then
        failed=1
        echo "fuzz: $target failed; the end of $log:"
        tail -n 60 "$log"
    fi
done
printf '%s' "$table"
exit "$failed"
