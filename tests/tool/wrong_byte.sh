#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A wrong byte is told: the program that `make demo` runs ends with status 1 when one byte of what arrives is not the one that
# was sent, and with 0 when none is.
#     wrong_byte.sh GDAKI WRONG_BYTE_LIBRARY
set -u
gdaki=$1 library=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
run() {
    timeout 100 "$gdaki" perf put-bw --pair --scope thread --handler gpu-db -s 256K -n 64 --warmup 0 >"$dir/out" 2>&1
}

run || { cat "$dir/out"; echo "wrong_byte: failed without a wrong byte"; exit 1; }
export WRONG_BYTE_TOLD="$dir/told"
LD_PRELOAD=$library run
status=$?
if [ ! -e "$dir/told" ]; then
    echo "SKIP: softnic copies payload by other means than memmove here"
    exit 77
fi
[ "$status" -eq 1 ] || { cat "$dir/out"; echo "wrong_byte: a byte was changed and the status is $status, not 1"; exit 1; }
grep -q NO "$dir/out" || { cat "$dir/out"; echo "wrong_byte: the table does not tell"; exit 1; }
