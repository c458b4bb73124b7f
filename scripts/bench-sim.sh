#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a simulated NIC and a simulated packet cost as NICs grow: all-to-all over fat trees under loss (the scenario of
# scenarios/fat-tree-1000.sim with fewer NICs, then itself with --full). CPU time, so that a busy machine matters little.
#   scripts/bench-sim.sh GDAKI [--full]
set -eu
gdaki=$1
full=${2:-}
here=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
sizes="32 64 128 256 512"
[ "$full" = "--full" ] && sizes="$sizes 1000"
echo "| NICs | connections | packets | events | CPU s | µs of CPU a connection | ns of CPU a packet | ns of CPU an event | MiB resident | KiB a NIC | violations |"
echo "|---|---|---|---|---|---|---|---|---|---|---|"
for n in $sizes; do
    # --full runs the shipped file; the others keep to the same tree, so that paths are as long.
    sed "s/nics=1000/nics=$n/" "$here/scenarios/fat-tree-1000.sim" >"$dir/$n.sim"
    "$gdaki" sim "$dir/$n.sim" --json "$dir/$n.json" >"$dir/$n.txt" || true
    resident=$(sed -n 's/.*; \([0-9]*\) MiB resident.*/\1/p' "$dir/$n.txt")
    python3 - "$dir/$n.json" "$resident" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
mib = int(sys.argv[2])
print("| %d | %d | %d | %d | %.1f | %.1f | %.0f | %.0f | %d | %.0f | %d |" % (
    r["nics"], r["connections"], r["packets"], r["events"], r["cpu_s"], r["cpu_s"] * 1e6 / r["connections"],
    r["cpu_s"] * 1e9 / r["packets"], r["cpu_s"] * 1e9 / r["events"], mib, mib * 1024 / r["nics"], r["violations"]))
PY
done
