#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# perf_pcap.sh GDAKI VECTOR_TEST: gdaki perf --pcap, with both ends in a process, as two processes over shared memory and
# over UDP. Every frame in the files has to be taken, with its CRC, and rebuilt; what one end sent the other received.
set -u
gdaki=$1
vector_test=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
complain() {
    echo "$1"
    failed=1
}

run() { # name, wire, arguments
    name=$1
    wire=$2
    shift 2
    mkdir "$work/$name"
    if ! SOFTNIC_WIRE=$wire timeout 60 "$gdaki" perf "$@" --quiet --gpu-backend cpu --nic softnic --threads 1 -n 4 --warmup 1 \
        --pcap "$work/$name/a.pcap" >"$work/$name/log" 2>&1; then
        complain "$name: $(cat "$work/$name/log")"
    fi
    "$vector_test" "$work/$name" >"$work/$name/log" 2>&1 || complain "$name: $(cat "$work/$name/log")"
}

# The WRITEs in a file from the BTH to the pad, each once (time to live and source port do not cross shared memory). A record's header is 16 bytes, the file's 24; the opcode is
# byte 42 of a frame over IPv4. Acknowledgements may be under way when an end closes; WRITEs that were verified are not.
writes() {
    od -An -v -tx1 -w1 "$1" | awk '
        function digit(c) { return index("0123456789abcdef", c) - 1 }
        function hex(text) { return digit(substr(text, 1, 1)) * 16 + digit(substr(text, 2, 1)); }
        { byte[NR] = $1 }
        END {
            for (at = 25; at + 16 <= NR; at += 16 + size) {
                size = hex(byte[at + 8]) + 256 * hex(byte[at + 9]);
                opcode = hex(byte[at + 16 + 42]);
                if (opcode < 6 || opcode > 11)
                    continue;
                line = "";
                for (i = 42; i < size - 4; i++)
                    line = line byte[at + 16 + i];
                print line;
            }
        }' | sort -u
}

run one_process shm put-bw --local -s 8,5000
[ -s "$work/one_process/a.pcap" ] || complain "one process: no file"
for wire in shm udp; do
    run "pair_$wire" "$wire" put-bw --pair -s 5000
    writes "$work/pair_$wire/a.pcap" >"$work/client"
    writes "$work/pair_$wire/a.server.pcap" >"$work/server"
    [ -s "$work/client" ] || complain "pair_$wire: nothing was captured"
    found=$(comm -3 "$work/client" "$work/server" | cut -c1-100 | head -n 3)
    [ -z "$found" ] || complain "pair_$wire: seen by one end only: $found"
done

if "$gdaki" perf post-rate --pcap "$work/x.pcap" >"$work/log" 2>&1; then complain "post-rate took --pcap"; fi
grep -q -e '--pcap' "$work/log" || complain "post-rate: $(cat "$work/log")"
if timeout 60 "$gdaki" perf put-bw --local --quiet --gpu-backend cpu --nic softnic -n 1 --pcap /nowhere/x.pcap >"$work/log" 2>&1
then complain "a file that cannot be made was taken"; fi
grep -q 'SOFTNIC_PCAP=/nowhere/x.pcap: .*No such file' "$work/log" || complain "no reason: $(cat "$work/log")"
[ "$failed" -eq 0 ] && echo "captures of a process and of pairs over shm and udp"
exit "$failed"
