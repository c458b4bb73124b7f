#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An independent RoCEv2 implementation (foreign_peer.py, on a UDP socket) talks to softnic, in network namespaces of their own.
#
#   foreign.sh FOREIGN_END udp     softnic on a UDP socket, both on loopback
#   foreign.sh FOREIGN_END packet  softnic on a packet socket at the other end of a veth pair
#
# 77: there is no python3, or no such namespace or pair may be made.
set -u
if [ "${GDAKI_FOREIGN_INSIDE:-}" != 1 ]; then
    command -v python3 >/dev/null || { echo "SKIP: no python3"; exit 77; }
    unshare -Urn true 2>/dev/null || { echo "SKIP: no network namespace of our own may be made"; exit 77; }
    exec env GDAKI_FOREIGN_INSIDE=1 unshare -Urn "$0" "$@"
fi
end=$1
wire=$2
peer="${0%/*}/foreign_peer.py"
ip link set lo up || { echo "SKIP: no ip of iproute2"; exit 77; }

address() { # N INTERFACE COMMAND-PREFIX...
    n=$1 interface=$2
    shift 2
    "$@" ip addr add "192.0.2.$n/24" dev "$interface" && "$@" ip -6 addr add "fd77::$n/64" dev "$interface" nodad &&
        "$@" ip link set "$interface" up || exit 1
}

if [ "$wire" = udp ]; then
    address 201 lo env
    address 202 lo env
    exec python3 "$peer" udp "$end"
fi

unshare -n sleep 600 &
far=$! # holds the other namespace
trap 'kill $far' EXIT
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
address 201 va env
address 202 vb nsenter -t $far -n
python3 "$peer" packet:vb nsenter -t $far -n "$end"
