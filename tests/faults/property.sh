#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Random programs against the reference model (tests/property), with packets and doorbells tampered with below them: what the
# transport repairs must not show in a single result. Where packets can overtake each other or get lost, no operation of the
# programs fails: what is left of the answers before a refusal is then a matter of luck, on any NIC.
# usage: property.sh [EMULATOR OPTION...] PATH/property
export GDAKI_GPU=cpu GDAKI_NIC=softnic SOFTNIC_LOG=info
failed=0

# run PLAN FIRST-SEED SEEDS [repairable]
run() {
    # shellcheck disable=SC2086 # words: an emulator with its options; one word or none
    out=$(SOFTNIC_FAULTS=$1 SOFTNIC_FAULT_SEED=$2 $property "$2" "$3" ${4:-} 2>&1)
    status=$?
    echo "$out"
    case $out in
    *"faults injected: nothing"*) echo "FAILED: no fault was injected"; failed=1 ;;
    *"faults injected: "*) ;;
    *) echo "FAILED: the plan was not active"; failed=1 ;;
    esac
    [ $status -eq 0 ] || failed=1
}

property=$*
run "dup:rate=0.05;reorder:rate=0.05;delay:us=50,rate=0.02;doorbell-merged:rate=0.1,hold=100us;nak:code=sequence,rate=0.01" 1 12 repairable
run "drop:rate=0.001;lose-response:rate=0.002;corrupt:rate=0.001;dup:rate=0.05;reorder:rate=0.05" 101 5 repairable
run "doorbell-delayed:us=100,rate=0.3;delay:us=30,kind=response,rate=0.1" 201 6 repairable
run "doorbell-delayed:us=100,rate=0.3;doorbell-merged:rate=0.1,hold=100us" 301 12
exit $failed
