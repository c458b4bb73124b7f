#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# linked.sh PROGRAM FOLDER: a program linked against the packaged libraries runs on the drop-ins in FOLDER when it is told to
# look there, and meets nothing of them when it is not.
set -eu
program=$1
folder=$2
unset LD_LIBRARY_PATH SOFTNIC_NAMES 2>/dev/null || true
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

LD_LIBRARY_PATH=$folder "$program" >"$work/with" 2>"$work/with.err" || {
    cat "$work/with" "$work/with.err"
    echo "on the drop-ins: exit code $?"
    exit 1
}
for line in '1 devices' 'device softnic0' 'success: 4096 bytes' 'wqe: RDMA_WRITE of this queue pair'; do
    grep -qx "$line" "$work/with" || { echo "no line \"$line\" in:"; cat "$work/with"; exit 1; }
done
if [ -s "$work/with.err" ]; then
    echo "it said something:"
    cat "$work/with.err"
    exit 1
fi
LD_LIBRARY_PATH=$folder ldd "$program" | grep -E 'libibverbs.so.1|libmlx5.so.1' | grep -v "$folder/" && {
    echo "not the drop-ins"
    exit 1
}

# Without: the packaged libraries, none of ours, whatever devices the host has; as often as it is asked.
code=0
"$program" >"$work/without" 2>&1 || code=$?
[ "$code" -eq 3 ] || { echo "without the drop-ins: exit code $code"; cat "$work/without"; exit 1; }
if grep -q softnic "$work/without" || ldd "$program" | grep -q softnic; then
    echo "softnic where nobody asked for it"
    exit 1
fi
if command -v ibv_devices >/dev/null; then
    ibv_devices >"$work/before" 2>&1 || true
    LD_LIBRARY_PATH=$folder ibv_devices >"$work/ours" 2>&1
    ibv_devices >"$work/after" 2>&1 || true
    cmp "$work/before" "$work/after"
    grep -q softnic0 "$work/ours"
    if grep -q softnic "$work/before"; then
        echo "softnic is there without having been asked for:" >&2
        cat "$work/before" >&2
        exit 1
    fi
fi
echo "the same program: $(head -n 1 "$work/without") without, $(head -n 1 "$work/with") with"
