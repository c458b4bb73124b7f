#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Everything on a machine with a real GPU and no RDMA NIC: correctness first, then figures. Under eight minutes.
#     scripts/h200.sh stage BUILD_FOLDER DEST    collects a runnable folder (no toolkit needed where it runs)
#     scripts/h200.sh run DEST OUT               runs it; JSON, CSV and log files go to OUT
# GDAKI_H200_STEPS: all, or words of correctness, tests, posting, figures, with commas between them.
# Every step has its own time limit, and kernels end by themselves when a NIC does not answer.
set -u

stage() {
    build=$1 dest=$2
    mkdir -p "$dest/tests"
    cp -L "$build"/bin/gdaki "$build"/bin/gdaki-kernels-*.so "$dest/"
    find "$build" -name 'lib*.so*' -path '*src*' -exec cp -L {} "$dest/" \;
    find "$build" \( -name '*_cuda' -o -name '*.cuda' \) -type f -perm -u+x -exec cp -L {} "$dest/tests/" \;
    for name in libjansson.so.4 libdeflate.so.0; do # such machines lack them
        path=$(ldconfig -p | awk -v name="$name" '$1 == name { print $NF; exit }')
        [ -z "$path" ] || cp -L "$path" "$dest/"
    done
    strip "$dest"/*.so* "$dest"/gdaki "$dest"/tests/* 2> /dev/null
    du -sh "$dest"
}

dest='' out='' failed=0 passed=0

# step NAME SECONDS COMMAND...: passed if the command ends well in time
step() {
    name=$1 limit=$2
    shift 2
    begun=$(date +%s)
    if timeout -k 5 "$limit" "$@" > "$out/$name.log" 2>&1; then
        passed=$((passed + 1)) verdict=ok
    else
        verdict="FAILED ($?)" failed=$((failed + 1))
        tail -5 "$out/$name.log" | sed 's/^/    /'
    fi
    echo "$name: $verdict, $(($(date +%s) - begun)) s"
}

perf() { # perf NAME SECONDS TEST OPTIONS...
    name=$1 limit=$2
    shift 2
    step "$name" "$limit" "$dest/gdaki" perf "$@" --quiet --json "$out/$name.json"
}

correctness() {
    step info 60 "$dest/gdaki" info --json
    for handler in gpu-db gpu-no-dbr gpu-bf cpu-proxy; do
        for cq in regular collapsed; do
            perf "check-put-$handler-$cq" 40 put-bw --local -s 8,64K -n 512 --handler "$handler" --cq "$cq"
        done
    done
    for sharing in exclusive cta gpu; do
        for scope in thread warp; do
            perf "check-put-$sharing-$scope" 40 put-bw --local -s 8,4K -n 512 --sharing "$sharing" --scope "$scope"
        done
    done
    for mem in gpu host; do
        perf "check-write-$mem" 40 write-bw --local -s 8,64K -n 512 --mem "$mem"
        perf "check-get-$mem" 40 get-bw --local -s 8,64K -n 512 --mem "$mem"
        perf "check-signal-$mem" 40 signal-lat --local -s 8,4K -n 100 --mem "$mem"
        perf "check-ping-$mem" 40 write-lat --local -s 8,4K -n 100 --mem "$mem"
    done
    perf check-queues-gpu 60 put-bw --local -s 8,4K -n 128 --queue-mem gpu
    perf check-bidirectional 40 put-bw --local -s 8,64K -n 512 -b
    perf check-pair 60 put-bw --pair -s 8,64K -n 512
}

tests() { # programs of the test suite, built with GDAKI_CUDA_TESTS
    for test in "$dest"/tests/*; do
        [ -x "$test" ] || continue
        label=test-$(basename "$test")
        case $label in
        test-matrix_cuda)
            step "$label-auto" 90 "$test"
            for handler in gpu-db gpu-bf gpu-no-dbr cpu-proxy; do
                step "$label-$handler" 90 "$test" "$handler"
            done
            ;;
        test-property_cuda) step "$label" 90 "$test" 1 300 ;;
        *) step "$label" 90 "$test" ;;
        esac
    done
}

# One shared queue, a queue a block, a queue a thread. DEST/variants/NAME/ may hold a gdaki with other kernels beside it:
# the same shapes are run with each in turn, so that they are compared in one run.
posting() {
    for shape in 1x32 1x512 16x128 132x32; do
        for sharing in gpu cta exclusive; do
            for variant in "$dest" "$dest"/variants/*; do
                [ -x "$variant/gdaki" ] || continue
                tag=''
                [ "$variant" = "$dest" ] || tag=-$(basename "$variant")
                step "posting-$sharing-$shape$tag" 20 "$variant/gdaki" perf post-rate --scope thread --sharing "$sharing" \
                    --ctas "${shape%x*}" --threads "${shape#*x}" --json "$out/posting-$sharing-$shape$tag.json"
                awk 'NR == 4 { print "    " $6 " WQE/s, floor " $7 }' "$out/posting-$sharing-$shape$tag.log"
            done
        done
    done
}

figures() {
    for mem in gpu host; do
        perf "put-bw-$mem" 60 put-bw --local -s 8,64,512,4K,32K,256K,1M -D 0.3 --mem "$mem" --floor --csv "$out/put-bw-$mem.csv"
        perf "put-lat-$mem" 60 put-lat --local -s 8,64,512,4K,32K,256K,1M -n 1000 --mem "$mem" --floor --csv "$out/put-lat-$mem.csv"
        perf "write-lat-$mem" 60 write-lat --local -s 8,64,4K -n 1000 --mem "$mem" --floor
        perf "signal-lat-$mem" 60 signal-lat --local -s 8,64,4K -n 1000 --mem "$mem" --floor
        perf "get-bw-$mem" 60 get-bw --local -s 8,4K,64K,1M -D 0.3 --mem "$mem" --floor
    done
    perf put-bw-proxy 60 put-bw --local -s 8,4K,64K -D 0.3 --mem host --handler cpu-proxy
    for scope in thread warp; do
        for sharing in exclusive cta gpu; do
            for shape in 1x32 1x512 16x128 132x32; do
                perf "post-$scope-$sharing-$shape" 30 post-rate --scope "$scope" --sharing "$sharing" \
                    --ctas "${shape%x*}" --threads "${shape#*x}"
            done
        done
    done
    for handler in cpu-proxy gpu-no-dbr; do
        perf "post-$handler" 30 post-rate --handler "$handler" --ctas 132 --threads 32 --sharing cta
    done
    perf post-host-rings 30 post-rate --ctas 16 --threads 128 --queue-mem host
}

run() {
    dest=$1 out=$2
    mkdir -p "$out"
    LD_LIBRARY_PATH=$dest${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    GDAKI_GPU=cuda GDAKI_NIC=softnic CUDA_MODULE_LOADING=EAGER
    export LD_LIBRARY_PATH GDAKI_GPU GDAKI_NIC CUDA_MODULE_LOADING
    step smoke 60 "$dest/gdaki" perf put-bw --local -s 8 -n 64 # nothing else makes sense if this fails
    cat "$out/smoke.log"
    [ "$failed" -eq 0 ] || exit 1
    case ${GDAKI_H200_STEPS:-all} in *correctness* | all) correctness ;; esac
    case ${GDAKI_H200_STEPS:-all} in *posting*) posting ;; esac
    case ${GDAKI_H200_STEPS:-all} in *tests* | all) tests ;; esac
    case ${GDAKI_H200_STEPS:-all} in *figures* | all) figures ;; esac
    echo "$passed steps passed, $failed failed"
    [ "$failed" -eq 0 ]
}

case ${1:-} in
stage) stage "${2:?BUILD_FOLDER}" "${3:?DEST}" ;;
run) run "${2:?DEST}" "${3:?OUT}" ;;
*)
    sed -n '3,7s/^# *//p' "$0" >&2
    exit 2
    ;;
esac
