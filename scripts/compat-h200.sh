#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# NCCL and NVSHMEM, binaries untouched, on a machine with a GPU and no RDMA NIC: two processes on softnic, in the order of
# what each asks. Figures need two GPUs; on one, the processes take turns of milliseconds.
#     scripts/compat-h200.sh stage BUILD_FOLDER DEST    builds the two programs and collects a runnable folder
#     scripts/compat-h200.sh run DEST OUT [STEP...]     runs it; a table, and the logs in OUT
# stage needs nvcc, NCCL's headers and library (NCCL_HOME, or where the compiler looks), and NVSHMEM's (NVSHMEM_HOME).
# run looks for the libraries in NCCL_LIB and NVSHMEM_LIB, then in the loader's path, then in Python's packages.
# Each step has a time limit (GDAKI_COMPAT_SECONDS, 90); exit status 0: no step failed.
set -u

source_folder=$(cd "$(dirname "$0")/.." && pwd -P)
steps="nccl-ib nccl-ib-gpudirect nccl-gin-proxy nccl-gin-gdaki nvshmem-ibrc nvshmem-ibgda-host nvshmem-ibgda-gpu-doorbell nvshmem-ibgda-gpu-queues nccl-gin-gdaki-gpu-doorbell"

stage() { # BUILD DEST
    local build=$1 dest=$2 nccl=${NCCL_HOME:-} nvshmem=${NVSHMEM_HOME:-} arch=${GDAKI_COMPAT_ARCH:-sm_90} name path
    mkdir -p "$dest/bin" "$dest/lib" "$dest/softnic-libs"
    cp -L "$build/bin/softnic" "$dest/bin/"
    find "$build/src/softnic" -maxdepth 1 -name 'libsoftnic.so*' -exec cp -L {} "$dest/lib/" \;
    cp -RL "$build/softnic-libs/." "$dest/softnic-libs/"
    cp "$source_folder/scripts/compat-h200.sh" "$dest/"
    for name in libjansson.so.4 libdeflate.so.0 libelf.so.1 libz.so.1; do # such machines lack some of them
        path=$(ldconfig -p | awk -v name="$name" '$1 == name { print $NF; exit }')
        [ -z "$path" ] || cp -L "$path" "$dest/lib/"
    done
    nvcc -std=c++17 -O2 -arch="$arch" ${nccl:+-I"$nccl/include"} -o "$dest/bin/nccl_gin_test" \
        "$source_folder/compat/nccl_gin_test.cu" ${nccl:+-L"$nccl/lib"} -l:libnccl.so.2 || return 1
    nvcc -std=c++17 -O2 -arch="$arch" -rdc=true ${nvshmem:+-I"$nvshmem/include"} -o "$dest/bin/nvshmem_test" \
        "$source_folder/compat/nvshmem_test.cu" ${nvshmem:+-L"$nvshmem/lib"} -l:libnvshmem_host.so.3 -lnvshmem_device -lcuda ||
        return 1
    strip "$dest"/bin/* "$dest"/lib/* 2>/dev/null
    du -sh "$dest"
}

# find_library NAME VARIABLE'S VALUE: the folder that has it
find_library() {
    local name=$1 given=$2 path
    if [ -n "$given" ]; then
        echo "$given"
        return
    fi
    path=$(ldconfig -p 2>/dev/null | awk -v name="$name" '$1 == name { print $NF; exit }')
    [ -n "$path" ] || path=$(find /usr/local /usr/lib /opt -name "$name" 2>/dev/null | head -n 1)
    [ -z "$path" ] || dirname "$path"
}

dest='' out='' limit=${GDAKI_COMPAT_SECONDS:-90} failed=0 libraries=''

# two NAME PROGRAM MODE VARIABLE=VALUE...: both ranks under `softnic run`, ended after the limit
two() {
    local name=$1 program=$2 mode=$3 begun rank status=0 pids=() pid id verdict counts reason
    shift 3
    begun=$(date +%s)
    id=$out/$name.id
    rm -f "$id" "$id.new"
    for rank in 0 1; do
        # shellcheck disable=SC2086  # a mode may be no word, options may be several
        env "$@" NCCL_HOSTID="softnic-$rank" LD_LIBRARY_PATH="$dest/lib:$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
            timeout -k 5 "$limit" "$dest/bin/softnic" run --link infiniband ${softnic_options:-} ${GDAKI_COMPAT_SOFTNIC:-} -- \
            "$dest/bin/$program" "$rank" 2 "$id" $mode >"$out/$name.$rank.log" 2>&1 </dev/null &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        wait "$pid" || status=$?
    done
    rm -f "$id"
    counts=$(sed -n 's/^rank [01]: .*_test: //p' "$out/$name".?.log | tr '\n' ';' | sed 's/;$//; s/;/; /')
    if [ "$status" = 0 ] && [ "$(grep -c 'steps passed, 0 failed' "$out/$name".0.log "$out/$name".1.log | grep -c ':1$')" = 2 ]; then
        verdict=passed reason=$counts
    else
        verdict=FAILED failed=$((failed + 1))
        # What stops it: our own verdict, then the library's last warning, then the last line.
        reason=$(grep -hE 'FAILED' "$out/$name".?.log | head -n 1)
        [ -n "$reason" ] || reason=$(grep -hE 'WARN|error|ERROR|softnic.*refus|failed' "$out/$name".?.log | tail -n 1)
        [ -n "$reason" ] || reason=$(tail -qn 1 "$out/$name".?.log | tail -n 1)
        [ "$status" != 124 ] || reason="ended after $limit s: $reason"
        reason="status $status: $reason"
    fi
    printf '%-30s %-7s %4d s  %s\n' "$name" "$verdict" $(($(date +%s) - begun)) "${reason:0:220}"
}

# Both ranks count as hosts of their own (NCCL_HOSTID), so that the network is all they have.
nccl=(NCCL_SOCKET_IFNAME=lo NCCL_IB_HCA=mlx5_0 NCCL_NVLS_ENABLE=0 NCCL_MNNVL_ENABLE=0 NCCL_CUMEM_ENABLE=1
    NCCL_DMABUF_ENABLE=0 NCCL_DEBUG=INFO "NCCL_DEBUG_SUBSYS=INIT,NET")
nvshmem=(NVSHMEM_DISABLE_P2P=1 NVSHMEM_DISABLE_NVLS=1 NVSHMEM_BOOTSTRAP=UID NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=lo
    NVSHMEM_HCA_LIST=mlx5_0:1 NVSHMEM_SYMMETRIC_SIZE=64M NVSHMEM_DEBUG=WARN)
# The host's own calls (nvshmem_putmem from the CPU) go over ibrc beside it: IBGDA has none.
ibgda=(NVSHMEM_REMOTE_TRANSPORT=ibrc NVSHMEM_IB_ENABLE_IBGDA=1)

step() {
    case $1 in
    nccl-ib) two "$1" nccl_gin_test collectives "${nccl[@]}" NCCL_GIN_ENABLE=0 ;;
    # Payload straight from and to GPU memory, without the bounce through host memory.
    nccl-ib-gpudirect) softnic_options=--peermem two "$1" nccl_gin_test collectives "${nccl[@]}" NCCL_GIN_ENABLE=0 \
        NCCL_NET_GDR_LEVEL=SYS ;;
    # Without putValue, which the proxy of NCCL 2.28.9 cannot do with any NIC (compat/nccl_gin_test.cu says why).
    nccl-gin-proxy) two "$1" nccl_gin_test gin-without-values "${nccl[@]}" NCCL_GIN_TYPE=2 ;;
    # The register is plain memory: the library rings from its progress thread (handler 1).
    nccl-gin-gdaki) two "$1" nccl_gin_test gin "${nccl[@]}" NCCL_GIN_TYPE=3 NCCL_GIN_GDAKI_NIC_HANDLER=1 ;;
    # The GPU rings: softnic stands before libcuda and takes the IOMEMORY flag from the register's page (handler 2).
    nccl-gin-gdaki-gpu-doorbell) two "$1" nccl_gin_test gin "${nccl[@]}" NCCL_GIN_TYPE=3 NCCL_GIN_GDAKI_NIC_HANDLER=2 ;;
    nvshmem-ibrc) two "$1" nvshmem_test no-fetch "${nvshmem[@]}" NVSHMEM_REMOTE_TRANSPORT=ibrc ;;
    nvshmem-ibgda-host) two "$1" nvshmem_test '' "${nvshmem[@]}" "${ibgda[@]}" NVSHMEM_IBGDA_NIC_HANDLER=cpu_host_memory \
        NVSHMEM_IBGDA_FORCE_NIC_BUF_MEMTYPE=hostmem ;;
    nvshmem-ibgda-gpu-doorbell) two "$1" nvshmem_test '' "${nvshmem[@]}" "${ibgda[@]}" NVSHMEM_IBGDA_NIC_HANDLER=gpu \
        NVSHMEM_IBGDA_FORCE_NIC_BUF_MEMTYPE=hostmem ;;
    nvshmem-ibgda-gpu-queues) two "$1" nvshmem_test '' "${nvshmem[@]}" "${ibgda[@]}" NVSHMEM_IBGDA_NIC_HANDLER=gpu \
        NVSHMEM_IBGDA_FORCE_NIC_BUF_MEMTYPE=gpumem ;;
    *)
        echo "compat-h200: no step '$1'; there are: $steps" >&2
        return 2 ;;
    esac
}

run() { # DEST OUT STEP...
    local nccl_lib nvshmem_lib name
    dest=$(cd "$1" && pwd -P) || exit 2
    mkdir -p "$2" && out=$(cd "$2" && pwd -P) || exit 2
    shift 2
    nccl_lib=$(find_library libnccl.so.2 "${NCCL_LIB:-}")
    nvshmem_lib=$(find_library libnvshmem_host.so.3 "${NVSHMEM_LIB:-}")
    libraries=$nccl_lib${nvshmem_lib:+:$nvshmem_lib}
    echo "NCCL: ${nccl_lib:-not found}   NVSHMEM: ${nvshmem_lib:-not found}   $(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | sort | uniq -c | xargs)"
    # shellcheck disable=SC2086  # a list of words
    [ $# -gt 0 ] || set -- $steps
    for name in "$@"; do
        step "$name" || exit 2
    done
    echo "$failed of the steps failed"
    [ "$failed" = 0 ]
}

command=${1:-}
[ $# = 0 ] || shift
case $command in
stage) stage "${1:?BUILD_FOLDER}" "${2:?DEST}" ;;
run) run "${@:?DEST OUT}" ;;
*)
    sed -n '3,11s/^# \{0,1\}//p' "$0"
    exit 2 ;;
esac
