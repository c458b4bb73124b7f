#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# self.sh EXCHANGE plain|loss|ipv6: two processes of softnic, one cable of frames between them, every case both ways.
set -eu
exchange=$1 how=$2
dir=$(mktemp -d)
server=
cleanup() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$dir"
}
trap cleanup EXIT
here=192.0.2.1 there=192.0.2.2
set --
export SOFTNIC_LINK=eth
case $how in
loss)
    export SOFTNIC_FAULTS="drop:rate=0.01;dup:rate=0.01;reorder:rate=0.01" SOFTNIC_FAULT_SEED=5
    set -- --lossy --not "B, path" ;; # the mixtures have all sizes
ipv6) here=2001:db8::1 there=2001:db8::2 ;;
esac

# The kernel chooses a free port for `serve 0`; it says which.
SOFTNIC_WIRE="dgram:$dir/b,$dir/a,$there,mtu=4200" "$exchange" --once serve 0 "$there" >"$dir/served" 2>&1 &
server=$!
tries=0
until port=$(sed -n 's/^serving on port //p' "$dir/served") && [ -n "$port" ]; do
    tries=$((tries + 1))
    if [ "$tries" -gt 1200 ] || ! kill -0 "$server" 2>/dev/null; then
        echo "the server did not come up:"
        cat "$dir/served"
        exit 1
    fi
    sleep 0.05
done
SOFTNIC_WIRE="dgram:$dir/a,$dir/b,$here,mtu=4200" "$exchange" --quiet "$@" ask 127.0.0.1 "$port" "$here"
