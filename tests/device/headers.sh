#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each device header compiles alone and without a warning: headers.sh <include folder> <compiler> <option>...
# The C-usable ones also as C17 when the compiler is a C compiler (its name says gcc, clang or cc, without ++).
include=$1
shift
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
case "$1" in
*nvcc*) # seconds each: what users include
    list=$(cd "$include" && ls common/doca*.h common/gdaki_wqe.h device/doca*.cuh doca_gpunetio_device.h) ;;
*++*) list=$(cd "$include" && ls common/*.h device/*.cuh ./*.cuh doca_gpunetio_device.h doca_gpunetio_config.h) ;;
*) list=$(cd "$include" && ls common/*.h doca_gpunetio_config.h) ;;
esac
case "$1" in
*nvcc*) suffix=cu ;;
*++*) suffix=cc ;;
*) suffix=c ;;
esac
failed=0
count=0
for header in $list; do
    # PTX helpers are common/gdaki_order.h's for GPUs and mean nothing alone
    [ "$header" = device/gdaki_order_ptx.cuh ] && continue
    printf '#include "%s"\n#include "%s"\nint unit_is_not_empty;\n' "$header" "$header" >"$work/unit.$suffix"
    if ! "$@" -I "$include" -c "$work/unit.$suffix" -o "$work/unit.o" >"$work/log" 2>&1 || [ -s "$work/log" ]; then
        echo "FAILED: $header with $*"
        cat "$work/log"
        failed=$((failed + 1))
    fi
    count=$((count + 1))
done
echo "$count headers with $1, $failed failed"
[ "$failed" -eq 0 ]
