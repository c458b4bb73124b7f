#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# symbols.sh FOLDER: every versioned symbol that installed programs and libraries want from rdma-core is defined, under that
# version, by the drop-ins in FOLDER. What is not installed is named. SYMBOLS_ALSO: more files to look at.
set -eu
folder=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C

# "NAME@VERSION" of each symbol that a drop-in defines; the loader does not care which is the default.
for library in "$folder"/lib*.so.1; do
    nm -D --with-symbol-versions --defined-only "$library" | awk '$2 != "A" { sub(/@@/, "@", $3); print $3 }'
done | sort -u >"$work/defined"

libraries="/usr/lib/$(uname -m)-linux-gnu /usr/lib64 /usr/lib"
: >"$work/files"
absent=
want() { # want NAME PATTERN...: files of something that may be installed
    name=$1
    shift
    found=
    for file in "$@"; do
        [ -f "$file" ] || continue
        readlink -f "$file" >>"$work/files"
        found=1
    done
    [ -n "$found" ] || absent="$absent $name"
}
in_libraries() { # the same, below the folders of libraries
    name=$1
    shift
    files=
    for directory in $libraries; do
        for pattern in "$@"; do
            for file in "$directory"/$pattern; do files="$files $file"; done
        done
    done
    # shellcheck disable=SC2086
    want "$name" $files
}
want perftest /usr/bin/ib_write_bw /usr/bin/ib_write_lat /usr/bin/ib_read_bw /usr/bin/ib_read_lat /usr/bin/ib_send_bw \
    /usr/bin/ib_send_lat /usr/bin/ib_atomic_bw /usr/bin/ib_atomic_lat
want ibverbs-utils /usr/bin/ibv_devices /usr/bin/ibv_devinfo /usr/bin/ibv_*_pingpong /usr/bin/ibv_asyncwatch
want rdmacm-utils /usr/bin/rping /usr/bin/ucmatose /usr/bin/udaddy /usr/bin/rdma_client /usr/bin/rdma_server \
    /usr/bin/mckey /usr/bin/cmtime /usr/bin/rdma_xserver /usr/bin/rstream
want pyverbs /usr/lib/python3/dist-packages/pyverbs/*.so /usr/lib/python3/dist-packages/pyverbs/providers/*/*.so
in_libraries librdmacm 'librdmacm.so.1'
in_libraries libefa 'libefa.so.1'
in_libraries libmlx4 'libmlx4.so.1'
in_libraries libmana 'libmana.so.1'
in_libraries ucx 'ucx/libuct_ib*.so.0' 'ucx/libuct_rdmacm.so.0'
in_libraries libfabric 'libfabric.so.1'
in_libraries openmpi 'openmpi/lib/openmpi3/*.so' 'openmpi/lib/openmpi/*.so'
in_libraries nccl 'libnccl.so.2'
in_libraries nvshmem 'nvshmem/*/nvshmem_transport_*.so.*'
for file in ${SYMBOLS_ALSO:-}; do readlink -f "$file" >>"$work/files"; done
sort -u -o "$work/files" "$work/files"

# "FILE NAME@VERSION" of each symbol that is wanted.
tr '\n' '\0' <"$work/files" | xargs -0 nm -D -A --with-symbol-versions --undefined-only 2>/dev/null |
    awk '{ sub(/:$/, "", $1) } $NF ~ /@(IBVERBS|MLX5|EFA)_/ { sub(/:.*/, "", $1); print $1, $NF }' >"$work/wanted" || true
awk 'NR == FNR { defined[$1] = 1; next } !($2 in defined) { print $1 " wants " $2 ", and no drop-in has it" }' \
    "$work/defined" "$work/wanted" >"$work/missing"
cat "$work/missing"
wanted=$(wc -l <"$work/wanted")
programs=$(cut -d ' ' -f 1 "$work/wanted" | sort -u | wc -l)
bad=$(wc -l <"$work/missing")

[ -z "$absent" ] || echo "not installed:$absent"
if [ "$programs" -eq 0 ]; then
    echo "SKIP: nothing is installed that uses rdma-core"
    exit 77
fi
echo "$wanted symbols of $programs files, $bad missing"
[ "$bad" -eq 0 ]
