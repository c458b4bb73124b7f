#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tshark.sh CAPTURE_TEST VECTORS [GDAKI]: captures of every operation kind, opened with Wireshark's command line. No packet may be
# malformed, none may carry an expert note of warning or error, and what it reads in them is what was sent.
# shellcheck disable=SC2016  # what stands in single quotes is awk's
set -u
capture_test=$1
vectors=$2
gdaki=${3:-}
if ! command -v tshark >/dev/null 2>&1 || ! command -v mergecap >/dev/null 2>&1; then
    echo "SKIP: tshark and mergecap are not installed (scripts/install-deps.sh wire-tests)"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$capture_test" "$work" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
rm -f "$work"/busy*.pcap # files without packets
if [ -n "$gdaki" ]; then
    for operation in put-bw write-bw get-bw signal-lat; do
        "$gdaki" perf "$operation" --local -n 4 --warmup 1 --quiet --gpu-backend cpu --nic softnic \
            --pcap "$work/perf-$operation.pcap" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
        [ "$(wc -c <"$work/perf-$operation.pcap")" -gt 300 ] || { echo "$operation: nothing was captured"; exit 1; }
    done
fi

# Wireshark guesses what a SEND's payload might be, and may then find it malformed (any few bytes are an RPC-over-RDMA
# header to it): of every SEND of whatever make.
guesses=
for protocol in smc smb_direct rpcordma nvme-rdma lnet iser infiniband.eoib infiniband_sdp fcoib drbd; do
    guesses="$guesses --disable-protocol $protocol"
done
fields=
for field in frame.number _ws.malformed _ws.expert.severity infiniband.bth.opcode infiniband.bth.psn \
    infiniband.bth.padcnt infiniband.reth.dmalen infiniband.aeth.syndrome infiniband.invariant.crc _ws.expert.message; do
    fields="$fields -e $field"
done
# shellcheck disable=SC2086  # lists of options
dissect() { tshark -n $guesses -r "$1" -T fields -E separator=, $fields 2>/dev/null; }

failed=0
complain() {
    echo "$1"
    failed=1
}

# A note's severity is a number: 0x600000 is a warning, 0x800000 an error. softnic's own two opcodes are unknown to it.
cat >"$work/judge.awk" <<'END'
BEGIN { FS = "," }
$2 != "" { print "frame " $1 ": malformed: " $0; next }
$4 < 192 && $3 + 0 >= 6291456 { print "frame " $1 ": " $0; next }
# It shows no CRC of a congestion notification (129), nor of what it does not know.
$4 == "" || ($9 == "" && $4 != 129 && $4 < 192) { print "frame " $1 ": no InfiniBand packet with a CRC: " $0 }
END

mergecap -a -w "$work/all" "$work"/*.pcap "$vectors"/*.pcap || complain "mergecap failed"
dissect "$work/all" >"$work/fields"
frames=$(wc -l <"$work/fields")
[ "$frames" -gt 300 ] || complain "only $frames frames were dissected"
found=$(awk -f "$work/judge.awk" "$work/fields")
[ -z "$found" ] || complain "$found"

# By somebody else's reading of the specification: in the file of all opcodes a frame's PSN is its opcode.
dissect "$work/opcodes.pcap" >"$work/opcodes"
found=$(awk -F, '$4 != $5 { print "opcode " $5 " is read as " $4 }' "$work/opcodes")
[ -z "$found" ] || complain "$found"
[ "$(wc -l <"$work/opcodes")" -eq 40 ] || complain "not 40 opcodes"
# READs of 8 and of 4 * 1024 + 1 bytes; the SEND of 11 bytes and its pad; an RNR NAK of code 12.
grep -q '^[0-9]*,,[^,]*,12,[0-9]*,0,4097,' "$work/fields" || complain "no READ of 4097 bytes"
grep -q '^[0-9]*,,[^,]*,4,[0-9]*,1,,' "$work/fields" || complain "no SEND with a pad of 1"
grep -q '^[0-9]*,,[^,]*,17,[0-9]*,0,,44,' "$work/fields" || complain "no RNR NAK"

# Of exchanges alone: NAKs by their code, a SEND that ends a key, datagrams, notifications; at least so many frames of each.
mergecap -a -w "$work/live" "$work"/nak_*.pcap "$work"/invalidate.pcap "$work"/ud_*.pcap "$work"/cnp_*.pcap || complain "mergecap failed"
dissect "$work/live" >"$work/live.fields"
expect_frames() { # COUNT WHAT AWK-CONDITION
    [ "$(awk -F, "$3" "$work/live.fields" | wc -l)" -ge "$1" ] || complain "less than $1 of $2"
}
expect_frames 1 "NAK sequence error" '$4 == 17 && $8 == 96'
expect_frames 1 "NAK invalid request" '$4 == 17 && $8 == 97'
expect_frames 1 "NAK remote access" '$4 == 17 && $8 == 98'
expect_frames 1 "NAK remote operational" '$4 == 17 && $8 == 99'
expect_frames 1 "SEND last with invalidate" '$4 == 22'
expect_frames 4 "datagrams, over IPv4 and IPv6" '$4 == 100'
expect_frames 4 "datagrams with immediate" '$4 == 101'
expect_frames 4 "CNPs, each way over IPv4 and IPv6" '$4 == 129'

# Can it fail? A frame whose IP header promises more than there is.
{
    head -c 32 "$work/nak_access.pcap"
    printf '\050\000\000\000\050\000\000\000'
    tail -c +41 "$work/nak_access.pcap" | head -c 40
} >"$work/cut"
[ -n "$(dissect "$work/cut" | awk -f "$work/judge.awk")" ] || complain "a broken frame is not found"

[ "$failed" -eq 0 ] && echo "$frames frames, no complaint"
exit "$failed"
