#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each wire that carries frames: 8 B latency, 8 B rate and 64 KiB bandwidth between two processes, client on the first CPU,
# server on the second, every byte compared. Rounds are interleaved; medians are printed.
#     scripts/bench-wires.sh BUILD_FOLDER [ROUNDS]
# Results: wires.txt and wires.json in BUILD_FOLDER/bench. Makes network namespaces of its own with a veth pair between them
# and a TAP interface; what may not be made here is left out, and named. Nothing here decides anything.
set -eu

build=${1:?usage: bench-wires.sh BUILD_FOLDER [ROUNDS]}
rounds=${2:-3}
gdaki=$build/bin/gdaki
out=$build/bench
[ -x "$gdaki" ] || { echo "bench-wires: $gdaki is not there: build first (make)" >&2; exit 3; }
if [ "${3:-}" != inside ]; then
    own=-Urn # XDP wants rights that only root outside has
    [ "$(id -u)" -ne 0 ] || own=-n
    unshare $own true 2>/dev/null || { echo "bench-wires: no network namespace of our own may be made here" >&2; exit 3; }
    exec unshare $own "$0" "$build" "$rounds" inside
fi
mkdir -p "$out"
GDAKI_GPU=cpu GDAKI_NIC=softnic
export GDAKI_GPU GDAKI_NIC
folder=$(mktemp -d)
rows=$folder/rows
far=
server=
# shellcheck disable=SC2317 # called by the trap
clean() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    [ -z "$far" ] || kill "$far" 2>/dev/null || true
    rm -rf "$folder"
}
trap clean EXIT

ip link set lo up
unshare -n sleep 3600 &
far=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do # until it is in its namespace
    [ "$(readlink /proc/$far/ns/net)" = "$(readlink /proc/self/ns/net)" ] || break
    sleep 0.1
done
veth=no
if ip link add va type veth peer name vb && ip link set vb netns "$far"; then
    veth=yes
    ip addr add 192.0.2.1/24 dev va
    nsenter -t "$far" -n ip link set lo up
    nsenter -t "$far" -n ip addr add 192.0.2.2/24 dev vb
    ip link set va up
    nsenter -t "$far" -n ip link set vb up
fi
tap=no
if ip tuntap add dev ta mode tap; then
    tap=yes
    ip addr add 198.51.100.1/24 dev ta
    ip link set ta up
fi
cpus=$(python3 -c 'import os; c = sorted(os.sched_getaffinity(0)); print(c[0], c[min(1, len(c) - 1)])')
client_cpu=${cpus% *}
server_cpu=${cpus#* }

# once NAME FIGURE WIRE-OF-CLIENT WIRE-OF-SERVER WHERE ADDRESS TEST OPTIONS...; WHERE: far or here, the server's namespace
once() {
    name=$1 figure=$2 client_wire=$3 server_wire=$4 where=$5 address=$6 test=$7
    shift 7
    enter=
    [ "$where" = here ] || enter="nsenter -t $far -n"
    # shellcheck disable=SC2086 # two words or none
    SOFTNIC_WIRE=$server_wire $enter taskset -c "$server_cpu" timeout 60 "$gdaki" perf "$test" --bind="$address" \
        >"$folder/server" 2>&1 &
    server=$!
    code=1
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        code=0
        SOFTNIC_WIRE=$client_wire taskset -c "$client_cpu" timeout 60 "$gdaki" perf "$test" --quiet \
            --json "$folder/row.json" "$@" "$address" >"$folder/client" 2>&1 || code=$?
        grep -q "refused" "$folder/client" || break # the server does not listen yet
        sleep 0.1
    done
    [ "$code" -eq 0 ] || kill "$server" 2>/dev/null || true
    wait "$server" || true
    server=
    if [ "$code" -eq 0 ]; then
        printf '%s\t%s\t%s\n' "$name" "$figure" "$(tr -d '\n' <"$folder/row.json")" >>"$rows"
    else
        why=$(grep -m 1 '^gdaki' "$folder/client" || echo "exit status $code")
        echo "bench-wires: $name, $figure: $(echo "$why" | cut -c1-200)" >&2
    fi
}

# wire NAME WIRE-OF-CLIENT WIRE-OF-SERVER WHERE ADDRESS
wire() {
    once "$1" lat "$2" "$3" "$4" "$5" put-lat -s 8 -n 5000
    once "$1" rate "$2" "$3" "$4" "$5" put-bw -s 8 -D 0.5 --threads 32
    once "$1" bandwidth "$2" "$3" "$4" "$5" put-bw -s 64K --span 64K -D 0.5 --threads 1 --sharing exclusive --window 8
}

set_mtu() {
    [ "$veth" = no ] && return
    ip link set va mtu "$1"
    nsenter -t "$far" -n ip link set vb mtu "$1"
}

: >"$rows"
n=0
while [ "$n" -lt "$rounds" ]; do
    n=$((n + 1))
    echo "round $n of $rounds" >&2
    wire "udp, loopback" udp udp here 127.0.0.1
    wire "dgram, MTU 1500" "dgram:$folder/a,$folder/b" "dgram:$folder/b,$folder/a" here 127.0.0.1
    wire "dgram, MTU 4200" "dgram:$folder/a,$folder/b,mtu=4200" "dgram:$folder/b,$folder/a,mtu=4200" here 127.0.0.1
    if [ "$veth" = yes ]; then
        set_mtu 1500
        wire "udp, veth, MTU 1500" udp:192.0.2.1 udp:192.0.2.2 far 192.0.2.2
        wire "packet, veth, MTU 1500" packet:va packet:vb far 192.0.2.2
        wire "xdp, veth, MTU 1500" xdp:va xdp:vb far 192.0.2.2
        set_mtu 4200
        wire "udp, veth, MTU 4200" udp:192.0.2.1 udp:192.0.2.2 far 192.0.2.2
        wire "packet, veth, MTU 4200" packet:va packet:vb far 192.0.2.2
    fi
    [ "$tap" = no ] || wire "tap to the kernel's udp, MTU 1500" tap:ta,198.51.100.2 udp:198.51.100.1 here 198.51.100.1
done

python3 - "$rows" "$out" "$rounds" "$client_cpu" "$server_cpu" << 'SUMMARY' | tee "$out/wires.txt"
import json, pathlib, statistics, sys

rows, out, rounds, client, server = sys.argv[1:]
take = {"lat": lambda r: r["latency_us"]["p50"], "rate": lambda r: r["messages_per_s"] / 1e6, "bandwidth": lambda r: r["gb_per_s"]}
values = {}
for line in pathlib.Path(rows).read_text().splitlines():
    name, figure, text = line.split("\t")
    values.setdefault(name, {}).setdefault(figure, []).append(take[figure](json.loads(text)["rows"][0]))
print(f"{rounds} rounds, CPUs {client} and {server}; medians")
print(f"{'wire':36} {'8 B p50, us':>12} {'8 B rate, M/s':>14} {'64 KiB, GB/s':>13}")
for name, figures in values.items():
    cell = lambda figure: f"{statistics.median(figures[figure]):.3f}" if figure in figures else "-"
    print(f"{name:36} {cell('lat'):>12} {cell('rate'):>14} {cell('bandwidth'):>13}")
(pathlib.Path(out) / "wires.json").write_text(json.dumps(values, indent=1))
SUMMARY
