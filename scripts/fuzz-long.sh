#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz-long.sh FOLDER OUT [TARGET...]: fuzz targets that were built elsewhere (make fuzz leaves them in build-fuzz/fuzz),
# side by side on every CPU; needs no compiler. FUZZ_SECONDS (600) each, FUZZ_JOBS processes in all (one a CPU).
# Processes of one target share a corpus: OUT/corpus/TARGET, begun from fuzz/corpus/TARGET. An input that fails is
# OUT/crash/TARGET-*. Ends with a table of processes, process-seconds and executions; exit code 1 when anything failed.
set -eu
folder=${1:?FOLDER of fuzz_* programs} out=${2:?OUT folder}
shift 2
source_dir=$(cd "$(dirname "$0")/.." && pwd -P)
seconds=${FUZZ_SECONDS:-600}
jobs=${FUZZ_JOBS:-$(nproc)}
if [ $# = 0 ]; then
    for program in "$folder"/fuzz_*; do
        set -- "$@" "$(basename "$program" | sed 's/^fuzz_//')"
    done
fi
mkdir -p "$out/crash" "$out/log"
export ASAN_OPTIONS="quarantine_size_mb=16${ASAN_OPTIONS:+:$ASAN_OPTIONS}"

each=$((jobs / $#)) left=$((jobs % $#))
[ "$each" -gt 0 ] || each=1 left=0
for target in "$@"; do
    mkdir -p "$out/corpus/$target"
    processes=$each
    if [ "$left" -gt 0 ]; then
        processes=$((processes + 1)) left=$((left - 1))
    fi
    n=0
    while [ "$n" -lt "$processes" ]; do
        n=$((n + 1))
        nice -n 15 "$folder/fuzz_$target" -max_total_time="$seconds" -max_len=2048 -timeout=60 -malloc_limit_mb=256 \
            -rss_limit_mb=2048 -reload=1 -print_final_stats=1 -artifact_prefix="$out/crash/$target-" \
            "$out/corpus/$target" "$source_dir/fuzz/corpus/$target" > "$out/log/$target.$n" 2>&1 < /dev/null &
        echo "$! $target $n"
    done
done > "$out/processes"

failed=0
: > "$out/failed"
while read -r pid target n; do
    wait "$pid" || {
        echo "fuzz: $target failed; the end of $out/log/$target.$n:"
        tail -n 40 "$out/log/$target.$n"
        echo "$target" >> "$out/failed"
        failed=1
    }
done < "$out/processes"

printf '%-10s %-6s %5s %10s %12s %8s %8s\n' target result procs proc-s executions edges features
for target in "$@"; do
    verdict=passed
    ! grep -qx "$target" "$out/failed" || verdict=FAILED
    cat "$out/log/$target".* | awk -v target="$target" -v verdict="$verdict" -v seconds="$seconds" '
        /^stat::number_of_executed_units:/ { runs += $2; procs++ }
        / cov: [0-9]+ ft: [0-9]+/ {
            for (i = 1; i < NF; i++) {
                if ($i == "cov:" && $(i + 1) > cover) cover = $(i + 1)
                if ($i == "ft:" && $(i + 1) > features) features = $(i + 1)
            }
        }
        END { printf "%-10s %-6s %5d %10d %12d %8d %8d\n", target, verdict, procs, procs * seconds, runs, cover, features }'
done
exit "$failed"
