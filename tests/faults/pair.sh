#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two processes over shared memory with a fault plan in each. What the transport repairs: every byte is verified. What it
# does not: the run fails (3) and says in words what happened.
# usage: pair.sh PATH/gdaki
gdaki=$1
failed=0
export GDAKI_GPU=cpu GDAKI_NIC=softnic SOFTNIC_WIRE=shm

# run PLAN STATUS TEXT ARGUMENT...
run() {
    plan=$1 status=$2 text=$3
    shift 3
    out=$(SOFTNIC_FAULTS=$plan SOFTNIC_FAULT_SEED=5 timeout 60 "$gdaki" perf "$@" --pair --quiet 2>&1)
    got=$?
    case $out in
    *"$text"*) said=yes ;;
    *) said=no ;;
    esac
    if [ "$got" -ne "$status" ] || [ $said = no ]; then
        echo "FAILED: SOFTNIC_FAULTS='$plan' gdaki perf $*: status $got, want $status and '$text'"
        echo "$out" | sed 's/^/    /'
        failed=1
    fi
}

loss="drop:rate=0.01;dup:rate=0.02;reorder:rate=0.02;delay:us=100,rate=0.02;corrupt:rate=0.01"
export SOFTNIC_LOG=info # says at the end what was injected
for test in put-bw get-bw write-bw; do
    run "$loss" 0 "faults injected: drop" $test -s 6000 -n 60 --warmup=0 --threads=1
done
run "lose-response:kind=atomic,every=3" 0 "faults injected: lose-response 3" signal-lat -n 8 --warmup=0
run "dup:kind=atomic" 0 "faults injected: dup 100" signal-lat -n 100 --warmup=0
unset SOFTNIC_LOG
run "lose-response:kind=atomic" 3 "transport retry counter exceeded" signal-lat -n 5 --warmup=0
run "nak:code=access,nth=9" 3 "the peer refused the key" put-bw -s 6000 -n 100
run "nak:code=invalid,nth=9" 3 "(RDMA_WRITE, remote address" put-bw -s 6000 -n 100
run "nak:code=op,nth=9" 3 "NAK: remote operational error" get-bw -s 6000 -n 100
run "retry-exceeded:nth=9" 3 "no acknowledgement in time" put-bw -s 6000 -n 100
run "rnr:timer=1" 3 "RNR retry counter exceeded" put-bw -s 64 -n 10
run "link-down:nth=20" 3 "the peer did not answer" put-bw -s 6000 -n 100
run "cq-overrun:nth=9" 3 "CQ overrun" put-bw -s 6000 -n 100
run "doorbell-lost" 3 "waits for: a doorbell" put-bw -s 64 -n 10 --timeout=1
run "link-down" 3 "a link-down of SOFTNIC_FAULTS" put-bw -n 1
run "nonsense" 3 "no action is called 'nonsense'" put-bw -n 1
[ $failed = 0 ] && echo "faults between two processes: passed"
exit $failed
