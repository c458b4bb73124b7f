#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a simulated NIC and a simulated packet cost as NICs grow, at equal numbers of packets (docs/results/sim.md).
#   scripts/bench-sim.sh GDAKI [--full]
# Each NIC opens connections to others at random, some 100,000 in all, one request each, under loss: around one switch,
# where each packet's way is as long, then in a 16-ary fat tree. Each row is run three times and the least CPU time taken,
# since a busy machine adds to it. --full: also scenarios/fat-tree-1000.sim, all-to-all, once.
set -eu
gdaki=${1:?usage: bench-sim.sh PATH/gdaki [--full]}
full=${2:-}
here=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

head() {
    echo "| topology | NICs | connections | packets | events | CPU s | µs of CPU a connection | ns of CPU a packet | ns of CPU an event | MiB resident | KiB a NIC | violations |"
    echo "|---|---|---|---|---|---|---|---|---|---|---|---|"
}

# row NAME FILE RUNS
row() {
    for run in $(seq "$3"); do
        "$gdaki" sim "$2" --json "$dir/$run.json" >"$dir/$run.txt" || true
        sed -n 's/.*; \([0-9]*\) MiB resident.*/\1/p' "$dir/$run.txt" >"$dir/$run.mib"
    done
    python3 - "$dir" "$1" "$3" <<'PY'
import json, sys
runs = [str(i + 1) for i in range(int(sys.argv[3]))]
r, mib = min(((json.load(open(f"{sys.argv[1]}/{i}.json")), int(open(f"{sys.argv[1]}/{i}.mib").read())) for i in runs),
             key=lambda x: x[0]["cpu_s"])
print("| %s | %d | %d | %d | %d | %.1f | %.1f | %.0f | %.0f | %d | %.0f | %d |" % (
    sys.argv[2], r["nics"], r["connections"], r["packets"], r["events"], r["cpu_s"], r["cpu_s"] * 1e6 / r["connections"],
    r["cpu_s"] * 1e9 / r["packets"], r["cpu_s"] * 1e9 / r["events"], mib, mib * 1024 / r["nics"], r["violations"]))
PY
}

head
for shape in star "fat-tree k=16"; do
    for n in 32 100 320 1000; do
        sed -e "s/shape=fat-tree k=16 nics=1000/shape=$shape nics=$n/" \
            -e "s/pattern=all-to-all/pattern=random connections=$((100000 / n))/" "$here/scenarios/fat-tree-1000.sim" >"$dir/$n.sim"
        row "${shape% *}" "$dir/$n.sim" 3
    done
done
[ "$full" = "--full" ] || exit 0
row "fat tree, all-to-all" "$here/scenarios/fat-tree-1000.sim" 1
