#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `gdaki sim`: exit statuses, messages, and that a seed is replayed with the same result and the same capture, byte for
# byte. Arguments: the program, the folder of scenarios.
set -u
gdaki=$1
scenarios=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

# expect STATUS WORDS COMMAND...: the status, and words in what is printed.
expect() {
    status=$1
    words=$2
    shift 2
    "$@" >"$dir/out" 2>&1
    got=$?
    if [ "$got" != "$status" ] || ! grep -qF -e "$words" "$dir/out"; then
        echo "FAILED: $* gave $got, expected $status and '$words':"
        head -20 "$dir/out"
        failed=1
    fi
}

same() {
    if ! cmp -s "$1" "$2"; then
        echo "FAILED: $1 and $2 differ"
        failed=1
    fi
}

# Every scenario that is shipped, but the one that takes minutes.
for file in "$scenarios"/*.sim; do
    case $file in
    *-1000.sim) expect 0 "nics=1000" "$gdaki" sim "$file" --print ;;
    *) expect 0 "violations     0" "$gdaki" sim "$file" ;;
    esac
done

# The same seed, the same bytes; --print makes a file that does the same.
"$gdaki" sim --random 826 --pcap "$dir/1.pcap" --pcap-received "$dir/1r.pcap" >"$dir/1.txt" || failed=1
"$gdaki" sim --random 826 --print >"$dir/826.sim" || failed=1
"$gdaki" sim "$dir/826.sim" --pcap "$dir/2.pcap" --pcap-received "$dir/2r.pcap" >"$dir/2.txt" || failed=1
same "$dir/1.pcap" "$dir/2.pcap"
same "$dir/1r.pcap" "$dir/2r.pcap"
grep -v '^cost' "$dir/1.txt" >"$dir/1.cut"
grep -v '^cost' "$dir/2.txt" >"$dir/2.cut"
same "$dir/1.cut" "$dir/2.cut"
[ -s "$dir/1.pcap" ] || { echo "FAILED: the capture is empty"; failed=1; }

# A planted bug: status 1, told in words, replayed identically, captured.
printf 'run seed=5 plant=modify plant-nth=4\nlink loss=1%%\nworkload pattern=pairs messages=50 depth=2 size=100..2K\n' >"$dir/bad.sim"
expect 1 "has succeeded, but byte" "$gdaki" sim "$dir/bad.sim"
grep '^trace hash' "$dir/out" >"$dir/hash1"
expect 1 "has succeeded, but byte" "$gdaki" sim "$dir/bad.sim"
grep '^trace hash' "$dir/out" >"$dir/hash2"
same "$dir/hash1" "$dir/hash2"
expect 1 "seed 5: 1 violations" "$gdaki" sim "$dir/bad.sim" --seeds 3 --pcap "$dir/bad.pcap"
[ -s "$dir/bad.pcap" ] || { echo "FAILED: no capture of the first seed that failed"; failed=1; }
expect 1 '"violations": 1' "$gdaki" sim "$dir/bad.sim" --json -
printf 'run plant=repeat\nworkload messages=2 mix=fetch-add:1\n' >"$dir/first.sim" # the first occasion, if none is named
expect 1 "differ from the model" "$gdaki" sim "$dir/first.sim"
expect 1 "planted        yes" "$gdaki" sim "$dir/first.sim"
printf 'run plant=repeat\nworkload messages=2 mix=write:1\n' >"$dir/first.sim" # no atomics: nothing to find, and it says so
expect 0 "planted        no: its occasion did not come" "$gdaki" sim "$dir/first.sim"
printf 'run duration=1ms\nlink loss=30%%\nqp timeout=31\nworkload messages=20\n' >"$dir/late.sim" # the time is over, at its end
expect 1 "1000.000 us: 2 connections are not over" "$gdaki" sim "$dir/late.sim"
expect 1 "virtual time   0.001000 s" "$gdaki" sim "$dir/late.sim"

# Many seeds, and results as JSON.
expect 0 "40 seeds, 0 failed" "$gdaki" sim --random 1 --seeds 40
expect 0 '"trace_hash"' "$gdaki" sim "$scenarios/lost-atomic-ack.sim" --json -

# Bad input: status 2, and the message names line, key and value.
printf 'run seed=1\nlink loss=banana\nworkload pattern=pairs\n' >"$dir/bad.sim"
expect 2 "bad.sim:2: key 'loss': value 'banana'" "$gdaki" sim "$dir/bad.sim"
expect 2 "cannot be opened" "$gdaki" sim "$dir/none.sim"
expect 2 "expected either a scenario file or --random" "$gdaki" sim
expect 2 "expected either a scenario file or --random" "$gdaki" sim "$dir/826.sim" --random 3
expect 2 "'-3' is not a number" "$gdaki" sim --random=-3
expect 2 "out of range" "$gdaki" sim "$dir/826.sim" --seeds 0
expect 3 "cannot write the capture" "$gdaki" sim "$dir/826.sim" --pcap "$dir/no/such.pcap"
expect 3 "cannot write" "$gdaki" sim "$dir/826.sim" --json "$dir/no/such.json"
! grep -q '^seed' "$dir/out" || { echo "FAILED: it ran, and then had nowhere to write"; failed=1; }
exit $failed
