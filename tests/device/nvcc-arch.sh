#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nvcc-arch.sh <nvcc> <architecture> <source> <include folder> [option...]: compiles for one architecture, no warning
# allowed. An architecture that this toolkit does not know is a skip.
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
if ! "$1" --list-gpu-code | grep -qx "sm_$2"; then
    echo "SKIP: $("$1" --version | tail -n 1) does not know sm_$2"
    exit 77
fi
# Device code alone: the host pass is the same for all, and device.nvcc.headers makes it.
nvcc=$1 arch=$2 source=$3 include=$4
shift 4
"$nvcc" -std=c++17 -cubin -arch="sm_$arch" -Xptxas -O0 -Werror all-warnings -I "$include" "$@" "$source" -o "$out"
