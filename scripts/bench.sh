#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Benchmarks on this machine's CPUs, each with its floors measured in the same run (docs/benchmarks.md says how to read them).
#     scripts/bench.sh BUILD_FOLDER
# Results: JSON files and summary.txt in BUILD_FOLDER/bench. Nothing here decides anything: exit status 0 unless a run fails.
set -eu

build=${1:?usage: bench.sh BUILD_FOLDER}
gdaki=$build/bin/gdaki
out=$build/bench
[ -x "$gdaki" ] || { echo "bench: $gdaki is not there: build first (make)" >&2; exit 3; }
mkdir -p "$out"
GDAKI_GPU=cpu GDAKI_NIC=softnic
export GDAKI_GPU GDAKI_NIC
status=0

# run NAME TEST OPTIONS...
run() {
    name=$1 test=$2
    shift 2
    timeout 120 "$gdaki" perf "$test" --quiet --floor --json "$out/$name.json" "$@" || { echo "bench: $name failed" >&2; status=3; }
    echo
}

run put-lat-in-process put-lat --local -s 8,64,4K -n 20000
run put-lat-shared-memory put-lat --pair --pin -s 8,64,4K -n 20000
run write-lat-in-process write-lat --local -s 8,64,4K -n 20000
run write-lat-shared-memory write-lat --pair --pin -s 8,64,4K -n 20000
run signal-lat-in-process signal-lat --local -s 8,64,4K -n 20000
run rate-in-process put-bw --local -s 8 -D 1 --threads 1 --sharing exclusive --window 256
run rate-shared-memory put-bw --pair --pin -s 8 -D 1 --threads 1 --sharing exclusive --window 256
run rate-shared-queue put-bw --local -s 8 -D 1
run bandwidth-64k-span put-bw --local -s 64K --span 64K -D 1 --threads 1 --sharing exclusive --window 32
run bandwidth-64m-span put-bw --local -s 64K --span 64M -D 1 --threads 1 --sharing exclusive --window 32
run bandwidth-shm-64k-span put-bw --pair --pin -s 64K --span 64K -D 1 --threads 1 --sharing exclusive --window 32
run bandwidth-shm-64m-span put-bw --pair --pin -s 64K --span 64M -D 1 --threads 1 --sharing exclusive --window 32
run get-64k get-bw --local -s 64K -D 1
run idle-1000 put-lat --local --qps 500 --sharing gpu -t 64 --idle 10 -n 100

for scope in thread warp; do
    for sharing in exclusive cta gpu; do
        timeout 60 "$gdaki" perf post-rate --scope "$scope" --sharing "$sharing" --threads 64 -n 65536 \
            --json "$out/post-$scope-$sharing.json" || status=3
    done
done

python3 - "$out" << 'SUMMARY' | tee "$out/summary.txt"
import json, sys, pathlib

out = pathlib.Path(sys.argv[1])


def row(name):
    path = out / (name + ".json")
    return json.loads(path.read_text())["rows"][0] if path.exists() else None


def mean(r, key):
    return (r["floors_before"][key] + r["floors_after"][key]) / 2


print("result beside its floors (mean of before and after, same run)")
for name, limit in (("put-lat-in-process", 2), ("put-lat-shared-memory", 4)):
    r = row(name)
    if r:
        rtt = mean(r, "line_round_trip_ns") / 1e3
        print(f"{name}: 8 B p50 {r['latency_us']['p50']:.3f} us = {r['latency_us']['p50'] / rtt:.2f} round trips of "
              f"{rtt:.3f} us ({r['floors_before']['placement']}, {r['floors_after']['placement']}); aim {limit}")
for name in ("rate-in-process", "rate-shared-memory"):
    r = row(name)
    if r:
        rtt = mean(r, "line_round_trip_ns")
        print(f"{name}: 8 B {r['messages_per_s'] / 1e6:.2f} M/s = one message per {1e9 / r['messages_per_s'] / rtt:.2f} "
              f"round trips; aim 2")
for name, key in (("bandwidth-64k-span", "memcpy_64k_gb_per_s"), ("bandwidth-64m-span", "memcpy_64m_gb_per_s"),
                  ("bandwidth-shm-64k-span", "memcpy_64k_gb_per_s"), ("bandwidth-shm-64m-span", "memcpy_64m_gb_per_s")):
    r = row(name)
    if r:
        print(f"{name}: {r['gb_per_s']:.2f} GB/s = {100 * r['gb_per_s'] / mean(r, key):.0f} % of memcpy "
              f"{mean(r, key):.2f} GB/s; aim 60 in process")
path = out / "idle-1000.json"
if path.exists():
    idle = json.loads(path.read_text())
    before, after = idle["idle_floors_percent_of_a_core"]
    print(f"idle: 1,000 connected queues (500 at each end), {idle['idle_percent_of_a_core']:.2f} % of a core; aim 2; a thread that "
          f"only sleeps, 1 ms at a time, {before:.2f} and {after:.2f} %")
SUMMARY
exit "$status"
