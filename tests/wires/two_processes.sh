#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two processes of `gdaki perf`, kernels on the CPU, over each wire: every byte compared by both ends.
#
#   two_processes.sh GDAKI local       one host: UDP over IPv4 and IPv6, datagram sockets
#   two_processes.sh GDAKI namespaces  two network namespaces over a veth pair that loses 3 % of the RoCEv2 packets each way
#                                      (nftables): UDP, packet sockets, and one of each
#
# Run without a network namespace of its own it makes one. 77: that, or nft, may not be had.
set -u
gdaki=$1
mode=$2
GDAKI_NIC=softnic
GDAKI_GPU=cpu
export GDAKI_NIC GDAKI_GPU

if [ "${3:-}" != inside ]; then
    unshare -Urn true 2>/dev/null || { echo "SKIP: no network namespace of our own may be made"; exit 77; }
    exec unshare -Urn "$0" "$gdaki" "$mode" inside
fi

folder=$(mktemp -d) || exit 1
far= # a process that holds the other namespace
server=
# shellcheck disable=SC2317 # called by the trap
clean() {
    [ -z "$server" ] || kill "$server" 2>/dev/null
    [ -z "$far" ] || kill "$far" 2>/dev/null
    rm -rf "$folder"
}
trap clean EXIT
ip link set lo up || exit 1
failed=0
timeout=18 # 8 to 17 s until a connection is given up: a process may get no processor for a while, and over these wires nobody is told
[ "$mode" = local ] || timeout=16 # what is lost is sent again after a quarter to half a second

there() { # runs in the far namespace, or here when there is none
    if [ -n "$far" ]; then nsenter -t "$far" -n "$@"; else "$@"; fi
}

# run NAME WIRE-OF-CLIENT WIRE-OF-SERVER ADDRESS TEST OPTIONS...
run() {
    name=$1 near_wire=$2 far_wire=$3 address=$4 test=$5
    shift 5
    SOFTNIC_WIRE=$far_wire there timeout 100 "$gdaki" perf "$test" --bind="$address" >"$folder/server" 2>&1 &
    server=$!
    for _ in $(seq 600); do
        SOFTNIC_WIRE=$near_wire timeout 100 "$gdaki" perf "$test" --qp-timeout="$timeout" --timeout=50 "$@" "$address" >"$folder/client" 2>&1
        code=$?
        if ! grep -q "refused" "$folder/client" || ! kill -0 "$server" 2>/dev/null; then
            break
        fi # else the server does not listen yet
        sleep 0.1
    done
    [ "$code" -eq 0 ] || kill "$server" 2>/dev/null
    wait "$server"
    served=$?
    server=
    if [ "$code" -eq 0 ] && [ "$served" -eq 0 ] && grep -q 'yes$' "$folder/client"; then
        echo "$name $test $*: $(tail -n 1 "$folder/client")"
    else
        echo "$name $test $*: client $code, server $served"
        cat "$folder/client" "$folder/server"
        failed=1
    fi
}

if [ "$mode" = local ]; then
    run udp udp udp 127.0.0.1 put-bw -s 8,4096,65536 -n 200
    run udp-ipv6 udp:::1 udp:::1 127.0.0.1 get-bw -s 8,70000 -n 100
    run udp-two udp:127.0.0.2 udp:127.0.0.3 127.0.0.1 signal-lat -n 100
    run dgram "dgram:$folder/a,$folder/b" "dgram:$folder/b,$folder/a" 127.0.0.1 put-bw -s 8,65536 -n 50
    exit $failed
fi

unshare -n sleep 600 &
far=$!
tries=0
while [ "$(readlink /proc/$far/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do # until it is in its namespace
    tries=$((tries + 1))
    [ $tries -lt 600 ] || { echo "the other namespace was not made"; exit 1; }
    sleep 0.1
done
if ! ip link add va type veth peer name vb || ! ip link set vb netns "$far"; then
    echo "SKIP: no veth pair"
    exit 77
fi
ip addr add 192.0.2.1/24 dev va && ip -6 addr add 2001:db8::1/64 dev va nodad && ip link set va up || exit 1
there ip link set lo up
there ip addr add 192.0.2.2/24 dev vb && there ip -6 addr add 2001:db8::2/64 dev vb nodad && there ip link set vb up || exit 1

lose() { # interface: what leaves through it
    printf '%s\n' 'table netdev loss {' \
        "chain c { type filter hook egress device $1 priority 0; udp dport 4791 numgen random mod 100 < 3 counter drop; }" '}'
}
if ! lose va | nft -f - 2>/dev/null || ! lose vb | there nft -f - 2>/dev/null; then
    echo "SKIP: nftables cannot drop what leaves an interface here"
    exit 77
fi

run udp udp:192.0.2.1 udp:192.0.2.2 192.0.2.2 put-bw -s 8,4096,65536 -n 50
run udp-ipv6 udp:2001:db8::1 udp:2001:db8::2 192.0.2.2 get-bw -s 65536 -n 50
run udp udp:192.0.2.1 udp:192.0.2.2 192.0.2.2 signal-lat -n 50
run packet packet:va packet:vb 192.0.2.2 put-bw -s 8,65536 -n 100
run udp-packet udp:192.0.2.1 packet:vb 192.0.2.2 put-bw -s 65536 -n 50
run packet-udp packet:va udp:192.0.2.2 192.0.2.2 get-bw -s 65536 -n 50
nft list chain netdev loss c | sed -n 's/.*counter packets \([0-9]*\).*/lost on the way there: \1/p'
nft list chain netdev loss c | grep -q 'counter packets 0 ' && { echo "nothing was lost: no test of loss"; failed=1; }
exit $failed
