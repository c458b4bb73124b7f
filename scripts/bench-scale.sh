#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What connected queues cost as their number grows to 20,000 queue pairs in one process (docs/results/scale.md).
#     scripts/bench-scale.sh BUILD_FOLDER
# All numbers are measured in turn in one process. Results: scale.json (a line for each number), scale.svg and scale.png in BUILD_FOLDER/bench. Nothing here decides anything.
set -eu

build=${1:?usage: bench-scale.sh BUILD_FOLDER}
bench=$build/tests/scale/scale_bench
out=$build/bench
[ -x "$bench" ] || { echo "bench-scale: $bench is not there: build first (make)" >&2; exit 3; }
mkdir -p "$out"
timeout 300 "$bench" 2 10 30 100 300 1000 3000 5000 10000 >"$out/scale.json"

python3 - "$out" << 'PICTURE'
import json, shutil, subprocess, sys

out = sys.argv[1]
with open(out + "/scale.json") as file:
    rows = [json.loads(line) for line in file]
print("queue pairs  busy p50 us  ratio  p99 us  clock p50 us  p99 us  max us  max smooth  cold p50 us  p99 us  max us  max smooth  idle %  (only sleeping)  create us  connect us  destroy us")
for r in rows:
    print(f"{2 * r['pairs']:11} {r['busy_p50_us']:12.3f} {r['busy_ratio']:6.2f} {r['busy_p99_us']:7.3f} "
          f"{r['clock_p50_us']:13.1f} {r['clock_p99_us']:7.1f} {r['clock_max_us']:7.0f} {r['clock_smooth_max_us']:11.0f} "
          f"{r['cold_p50_us']:12.1f} {r['cold_p99_us']:7.1f} {r['cold_max_us']:7.0f} {r['cold_smooth_max_us']:11.0f} "
          f"{r['idle_percent']:7.2f} {(r['idle_floor_before'] + r['idle_floor_after']) / 2:17.2f} "
          f"{r['create_us']:10.1f} {r['connect_us']:11.1f} {r['destroy_us']:11.1f}")
data = "\n".join(f"{2 * r['pairs']} {r['busy_p50_us']} {r['clock_p50_us']} {r['clock_p99_us']} {r['idle_percent']} {r['create_us']}"
                 for r in rows)
for kind, terminal in (("svg", "svg size 900,600 background '#ffffff'"), ("png", "pngcairo size 900,600")):
    script = f"""set terminal {terminal}
set output '{out}/scale.{kind}'
set title 'softnic: what connected queues cost'
set logscale xy
set xlabel 'queue pairs in the process'
set ylabel 'microseconds; idle: percent of a core'
set grid
set key top left
$data << EOD
{data}
EOD
plot $data using 1:2 with linespoints title 'busy queue, put to completion, p50', \\
     $data using 1:3 with linespoints title 'first doorbell of a cold queue to completion, p50', \\
     $data using 1:4 with linespoints title 'the same, p99', 100 with lines dashtype 2 title 'goal for it', \\
     $data using 1:5 with linespoints title 'all idle, percent of a core', \\
     $data using 1:6 with linespoints title 'creating a queue pair'
"""
    if shutil.which("gnuplot"):
        subprocess.run(["gnuplot"], input=script, text=True, check=False)
PICTURE
