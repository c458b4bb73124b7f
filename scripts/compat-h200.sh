#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# NCCL and NVSHMEM, binaries untouched, on a machine with a GPU and no RDMA NIC: two processes on softnic, in the order of
# what each asks. Figures need two GPUs; on one, the processes take turns of milliseconds.
#     scripts/compat-h200.sh stage BUILD_FOLDER DEST [SET]      builds the two programs and collects a runnable folder
#     scripts/compat-h200.sh run [OPTION...] DEST OUT [STEP...] runs it; a table, the logs and results.json in OUT
#     scripts/compat-h200.sh steps                              lists the steps
# stage needs nvcc, NCCL's headers and library (NCCL_HOME, or where the compiler looks), and NVSHMEM's (NVSHMEM_HOME). Programs
# for several versions of the libraries stand side by side in one DEST, each under its SET (a word; "default").
# run looks for the libraries in NCCL_LIB and NVSHMEM_LIB, then in Python's packages, then in the loader's path. Options:
#     --set SET     the programs of SET         --one-gpu    both ranks on the first GPU (default: one each, where there are two)
#     --new         the steps of newer libraries (NCCL 2.30 and NVSHMEM 3.7 or later), too
#     --figures     latencies and bandwidths, too (the default with two GPUs)
# Each step has a time limit (GDAKI_COMPAT_SECONDS, 90); exit status 0: no step failed.
set -u

source_folder=$(cd "$(dirname "$0")/.." && pwd -P)
steps="nccl-ib nccl-ib-gpudirect nccl-gin-proxy nccl-gin-gdaki nvshmem-ibrc nvshmem-ibgda-host nvshmem-ibgda-gpu-doorbell nvshmem-ibgda-gpu-queues nccl-gin-gdaki-gpu-doorbell"
new_steps="nvshmem-gpunetio-cpu nvshmem-gpunetio-gdaki-cpu nvshmem-gpunetio-gdaki-gpu"
figure_steps="figures-nccl-ib figures-nccl-ib-gpudirect figures-nccl-socket figures-nccl-shm figures-nccl-p2p figures-nvshmem-p2p figures-gin-proxy figures-gin-gdaki figures-gin-gdaki-gpu-doorbell figures-nvshmem-ibrc figures-nvshmem-ibgda-host figures-nvshmem-ibgda-gpu-doorbell figures-nvshmem-ibgda-gpu-queues"
new_figure_steps="figures-nvshmem-gpunetio-cpu figures-nvshmem-gpunetio-gdaki-cpu figures-nvshmem-gpunetio-gdaki-gpu"

stage() { # BUILD DEST [SET]
    local build=$1 dest=$2 bin=$2/bin/${3:-default} nccl=${NCCL_HOME:-} nvshmem=${NVSHMEM_HOME:-} arch=${GDAKI_COMPAT_ARCH:-sm_90} name path
    mkdir -p "$bin" "$dest/lib" "$dest/softnic-libs"
    cp -L "$build/bin/softnic" "$dest/bin/"
    find "$build/src/softnic" -maxdepth 1 -name 'libsoftnic.so*' -exec cp -L {} "$dest/lib/" \;
    cp -RL "$build/softnic-libs/." "$dest/softnic-libs/"
    cp "$source_folder/scripts/compat-h200.sh" "$dest/"
    for name in libjansson.so.4 libdeflate.so.0 libelf.so.1 libz.so.1; do # such machines lack some of them
        path=$(ldconfig -p | awk -v name="$name" '$1 == name { print $NF; exit }')
        [ -z "$path" ] || cp -L "$path" "$dest/lib/"
    done
    nvcc -std=c++17 -O2 -arch="$arch" ${nccl:+-I"$nccl/include"} -o "$bin/nccl_gin_test" \
        "$source_folder/compat/nccl_gin_test.cu" ${nccl:+-L"$nccl/lib"} -l:libnccl.so.2 || return 1
    nvcc -std=c++17 -O2 -arch="$arch" -rdc=true ${nvshmem:+-I"$nvshmem/include"} -o "$bin/nvshmem_test" \
        "$source_folder/compat/nvshmem_test.cu" ${nvshmem:+-L"$nvshmem/lib"} -l:libnvshmem_host.so.3 -lnvshmem_device -lcuda ||
        return 1
    strip "$dest/bin/softnic" "$bin"/* "$dest"/lib/* 2>/dev/null
    du -sh "$dest"
}

# find_library NAME VARIABLE'S VALUE: the folder that has it
find_library() {
    local name=$1 given=$2 path
    if [ -n "$given" ]; then
        echo "$given"
        return
    fi
    path=$(find /usr/local /usr/lib /opt -path "*/site-packages/nvidia/*/$name" 2>/dev/null | head -n 1)
    [ -n "$path" ] || path=$(ldconfig -p 2>/dev/null | awk -v name="$name" '$1 == name { print $NF; exit }')
    [ -n "$path" ] || path=$(find /usr/local /usr/lib /opt -name "$name" 2>/dev/null | head -n 1)
    [ -z "$path" ] || dirname "$path"
}

dest='' out='' limit=${GDAKI_COMPAT_SECONDS:-90} failed=0 libraries='' set=default softnic_options='' on_softnic=yes
gpus='' nccl_lib='' nvshmem_lib='' pids=()
# Ranks that outlived an interrupted run would take turns with the next one on their GPU.
trap 'kill "${pids[@]}" 2>/dev/null; sleep 1; kill -KILL "${pids[@]}" 2>/dev/null; exit 130' INT TERM

# what_stopped STEP: our own verdict, else the library's last warning, else the last line
what_stopped() {
    local logs=("$out/$1".?.log) reason
    reason=$(grep -hE 'FAILED' "${logs[@]}" | head -n 1)
    [ -n "$reason" ] || reason=$(grep -hE 'WARN|error|ERROR|softnic.*refus|failed|not modelled' "${logs[@]}" | tail -n 1)
    [ -n "$reason" ] || reason=$(tail -qn 1 "${logs[@]}" | tail -n 1)
    echo "$reason"
}

# record STEP VERDICT SECONDS REASON: one object of results.json, with the figures that the step printed
record() {
    python3 - "$@" "$out" "$gpus" "$nccl_lib" "$nvshmem_lib" <<'END' || true
import glob, json, sys
step, verdict, seconds, reason, out, gpus, nccl, nvshmem = sys.argv[1:9]
figures = [json.loads(line[5:]) for log in sorted(glob.glob(f"{out}/{step}.?.log"))
           for line in open(log, errors="replace") if line.startswith("JSON ")]
one = {"step": step, "verdict": verdict, "seconds": int(seconds), "reason": reason, "gpus": gpus,
       "nccl": nccl, "nvshmem": nvshmem, "figures": figures}
open(f"{out}/results.jsonl", "a").write(json.dumps(one) + "\n")
json.dump([json.loads(line) for line in open(f"{out}/results.jsonl")], open(f"{out}/results.json", "w"), indent=1)
END
}

# two NAME PROGRAM MODE VARIABLE=VALUE...: both ranks under `softnic run`, ended after the limit
two() {
    local name=$1 program=$2 mode=$3 begun rank status=0 pid id verdict counts reason under
    shift 3
    begun=$(date +%s) pids=()
    id=$out/$name.id
    rm -f "$id" "$id.new"
    for rank in 0 1; do
        under=("$dest/bin/softnic" run --link infiniband)
        [ "$on_softnic" = yes ] || under=(env)
        # shellcheck disable=SC2206  # options may be several words, or none
        [ "$on_softnic" != yes ] || under+=(${softnic_options:-} ${GDAKI_COMPAT_SOFTNIC:-} --)
        # shellcheck disable=SC2086  # a mode may be no word
        env "NCCL_HOSTID=host-$rank" "$@" LD_LIBRARY_PATH="$dest/lib:$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
            timeout -k 5 "$limit" "${under[@]}" "$dest/bin/$set/$program" "$rank" 2 "$id" $mode \
            >"$out/$name.$rank.log" 2>&1 </dev/null &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        wait "$pid" || status=$?
    done
    pids=()
    rm -f "$id"
    counts=$(sed -n 's/^rank [01]: .*_test: //p' "$out/$name".?.log | tr '\n' ';' | sed 's/;$//; s/;/; /')
    if [ "$status" = 0 ] && [ "$(grep -c 'steps passed, 0 failed' "$out/$name".0.log "$out/$name".1.log | grep -c ':1$')" = 2 ]; then
        verdict=passed reason=$counts
    else
        verdict=FAILED failed=$((failed + 1))
        reason=$(what_stopped "$name")
        [ "$status" != 124 ] || reason="ended after $limit s: $reason"
        reason="status $status: $reason"
    fi
    printf '%-38s %-7s %4d s  %s\n' "$name" "$verdict" $(($(date +%s) - begun)) "${reason:0:220}"
    sed -n 's/^figure /    /p' "$out/$name".?.log
    record "$name" "$verdict" $(($(date +%s) - begun)) "$reason"
}

# Both ranks count as hosts of their own (NCCL_HOSTID), so that the network is all they have.
nccl_common=(NCCL_SOCKET_IFNAME=lo NCCL_NVLS_ENABLE=0 NCCL_MNNVL_ENABLE=0 NCCL_CUMEM_ENABLE=1 NCCL_MULTI_RANK_GPU_ENABLE=1
    NCCL_DMABUF_ENABLE=0 NCCL_DEBUG=INFO "NCCL_DEBUG_SUBSYS=INIT,NET")
nccl=("${nccl_common[@]}" NCCL_IB_HCA=mlx5_0)
nvshmem=(NVSHMEM_DISABLE_P2P=1 NVSHMEM_DISABLE_NVLS=1 NVSHMEM_BOOTSTRAP=UID NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=lo
    NVSHMEM_HCA_LIST=mlx5_0:1 NVSHMEM_SYMMETRIC_SIZE=64M NVSHMEM_DEBUG=WARN)
# The host's own calls (nvshmem_putmem from the CPU) go over ibrc beside it: IBGDA has none.
ibgda=(NVSHMEM_REMOTE_TRANSPORT=ibrc NVSHMEM_IB_ENABLE_IBGDA=1)
gpunetio=(NVSHMEM_REMOTE_TRANSPORT=gpunetio NVSHMEM_IB_ENABLE_IBGDA=0)

# transport STEP PROGRAM MODE: how NCCL and NVSHMEM are told to use the transport that the step names
transport() {
    local name=$1 program=$2 mode=$3 gin=(NCCL_GIN_TYPE=3) peermem=''
    # Newer versions ask whether the NIC reaches GPU memory before they offer GIN.
    [ "$new" = no ] || peermem=--peermem
    case ${name#figures-} in
    nccl-ib) two "$name" "$program" "$mode" "${nccl[@]}" NCCL_GIN_ENABLE=0 ;;
    # Payload straight from and to GPU memory, without the bounce through host memory.
    nccl-ib-gpudirect) softnic_options=--peermem two "$name" "$program" "$mode" "${nccl[@]}" NCCL_GIN_ENABLE=0 \
        NCCL_NET_GDR_LEVEL=SYS ;;
    # What there is without a NIC: TCP, the host's shared memory, NVLink or PCIe.
    nccl-socket) on_softnic=no two "$name" "$program" "$mode" "${nccl_common[@]}" NCCL_GIN_ENABLE=0 NCCL_NET=Socket NCCL_IB_DISABLE=1 ;;
    nccl-shm) on_softnic=no two "$name" "$program" "$mode" "${nccl_common[@]}" NCCL_GIN_ENABLE=0 NCCL_HOSTID=host NCCL_IB_DISABLE=1 \
        NCCL_P2P_DISABLE=1 ;;
    nccl-p2p) on_softnic=no two "$name" "$program" "$mode" "${nccl_common[@]}" NCCL_GIN_ENABLE=0 NCCL_HOSTID=host NCCL_IB_DISABLE=1 ;;
    nvshmem-p2p) on_softnic=no two "$name" "$program" "$mode" "${nvshmem[@]}" NVSHMEM_DISABLE_P2P=0 NVSHMEM_REMOTE_TRANSPORT=none ;;
    nccl-gin-proxy | gin-proxy) softnic_options=$peermem two "$name" "$program" "$mode" "${nccl[@]}" NCCL_GIN_TYPE=2 ;;
    # The register is plain memory: the library rings from its progress thread (handler 1).
    nccl-gin-gdaki | gin-gdaki) softnic_options=$peermem two "$name" "$program" "$mode" "${nccl[@]}" "${gin[@]}" \
        NCCL_GIN_GDAKI_NIC_HANDLER=1 ;;
    # The GPU rings: softnic stands before libcuda and takes the IOMEMORY flag from the register's page (handler 2).
    nccl-gin-gdaki-gpu-doorbell | gin-gdaki-gpu-doorbell) softnic_options=$peermem two "$name" "$program" "$mode" "${nccl[@]}" \
        "${gin[@]}" NCCL_GIN_GDAKI_NIC_HANDLER=2 ;;
    nvshmem-ibrc) two "$name" "$program" "$mode" "${nvshmem[@]}" NVSHMEM_REMOTE_TRANSPORT=ibrc ;;
    nvshmem-ibgda-host) two "$name" "$program" "$mode" "${nvshmem[@]}" "${ibgda[@]}" NVSHMEM_IBGDA_NIC_HANDLER=cpu_host_memory \
        NVSHMEM_IBGDA_FORCE_NIC_BUF_MEMTYPE=hostmem ;;
    nvshmem-ibgda-gpu-doorbell) two "$name" "$program" "$mode" "${nvshmem[@]}" "${ibgda[@]}" NVSHMEM_IBGDA_NIC_HANDLER=gpu \
        NVSHMEM_IBGDA_FORCE_NIC_BUF_MEMTYPE=hostmem ;;
    nvshmem-ibgda-gpu-queues) two "$name" "$program" "$mode" "${nvshmem[@]}" "${ibgda[@]}" NVSHMEM_IBGDA_NIC_HANDLER=gpu \
        NVSHMEM_IBGDA_FORCE_NIC_BUF_MEMTYPE=gpumem ;;
    # NVSHMEM 3.7 and later: its own copy of GPUNetIO. First the queue pairs of its proxy, then the GPU's, rung by the CPU or the GPU.
    nvshmem-gpunetio-cpu) two "$name" "$program" "$mode" "${nvshmem[@]}" "${gpunetio[@]}" NVSHMEM_GPUNETIO_ENABLE_GDAKI=0 ;;
    nvshmem-gpunetio-gdaki-cpu) two "$name" "$program" "$mode" "${nvshmem[@]}" "${gpunetio[@]}" NVSHMEM_GPUNETIO_ENABLE_GDAKI=1 \
        NVSHMEM_GPUNETIO_NIC_HANDLER=cpu ;;
    nvshmem-gpunetio-gdaki-gpu) two "$name" "$program" "$mode" "${nvshmem[@]}" "${gpunetio[@]}" NVSHMEM_GPUNETIO_ENABLE_GDAKI=1 \
        NVSHMEM_GPUNETIO_NIC_HANDLER=gpu ;;
    *)
        echo "compat-h200: no step '$name'; there are: $steps $new_steps $figure_steps $new_figure_steps" >&2
        return 2 ;;
    esac
}

step() {
    case $1 in
    figures-nccl-*) transport "$1" nccl_gin_test collective-figures ;;
    figures-gin-*) transport "$1" nccl_gin_test gin-figures ;;
    figures-nvshmem-*) transport "$1" nvshmem_test figures ;;
    nccl-ib*) transport "$1" nccl_gin_test collectives ;;
    # Without putValue where the proxy of NCCL 2.28.9 cannot do it with any NIC (compat/nccl_gin_test.cu says why).
    nccl-gin-proxy) transport "$1" nccl_gin_test "$([ "$new" = yes ] && echo gin || echo gin-without-values)" ;;
    nccl-gin-*) transport "$1" nccl_gin_test gin ;;
    nvshmem-ibrc) transport "$1" nvshmem_test no-fetch ;;
    *) transport "$1" nvshmem_test '' ;;
    esac
}

new=no figures=''

run() { # [OPTION...] DEST OUT STEP...
    local name count
    while [ "${1:0:2}" = -- ]; do
        case $1 in
        --set) set=${2:?SET} && shift ;;
        --one-gpu) export CUDA_VISIBLE_DEVICES=0 ;;
        --new) new=yes ;;
        --figures) figures=yes ;;
        *) echo "compat-h200: no option '$1'" >&2 && exit 2 ;;
        esac
        shift
    done
    dest=$(cd "${1:?DEST}" && pwd -P) || exit 2
    mkdir -p "${2:?OUT}" && out=$(cd "$2" && pwd -P) || exit 2
    shift 2
    nccl_lib=$(find_library libnccl.so.2 "${NCCL_LIB:-}")
    nvshmem_lib=$(find_library libnvshmem_host.so.3 "${NVSHMEM_LIB:-}")
    libraries=$nccl_lib${nvshmem_lib:+:$nvshmem_lib}
    gpus=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | sort | uniq -c | xargs)
    count=$(nvidia-smi --list-gpus 2>/dev/null | wc -l)
    [ -z "${CUDA_VISIBLE_DEVICES:-}" ] || count=1 gpus="$gpus, one used"
    [ "$count" -lt 2 ] || figures=${figures:-yes}
    rm -f "$out/results.jsonl"
    echo "NCCL: ${nccl_lib:-not found}   NVSHMEM: ${nvshmem_lib:-not found}   $gpus"
    if [ $# = 0 ]; then
        # shellcheck disable=SC2046,SC2086  # lists of words
        set -- $steps $([ "$new" = no ] || echo $new_steps) $([ "$figures" != yes ] || echo $figure_steps) \
            $([ "$figures-$new" != yes-yes ] || echo $new_figure_steps)
    fi
    for name in "$@"; do
        step "$name" || exit 2
    done
    echo "$failed of the steps failed"
    [ "$failed" = 0 ]
}

command=${1:-}
[ $# = 0 ] || shift
case $command in
stage) stage "${1:?BUILD_FOLDER}" "${2:?DEST}" "${3:-default}" ;;
steps) echo "$steps $new_steps $figure_steps $new_figure_steps" | tr ' ' '\n' ;;
run) run "${@:?DEST OUT}" ;;
*)
    sed -n '3,18s/^# \{0,1\}//p' "$0"
    exit 2 ;;
esac
