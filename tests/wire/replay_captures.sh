#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# replay_captures PROGRAM VECTORS: what the program says of captures that fit, and of files that do not.
set -eu
program=$1 vectors=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "$*: " >&2
    cat "$work/out" >&2
    exit 1
}

says() { # TEXT
    grep -qF "$1" "$work/out" || fail "it does not say: $1"
}

"$program" "$vectors" >"$work/out" || fail "the vectors do not fit"
n=$(find "$vectors" -name '*.pcap' | wc -l)
says "$n captures, 0 not taken"
says "as responder: $n of $n exchanges fit"
says "as requester: $n of $n exchanges fit"

refused() { # TEXT
    if "$program" --quiet "$work/in" >"$work/out"; then
        fail "it fits: $1"
    fi
    says "$1"
    says "1 captures, 1 not taken"
}

mkdir "$work/in"
head -c 100 "$vectors/rc_write_8.pcap" >"$work/in/a.pcap"
refused "a.pcap: NO: "
# The last byte is the invariant CRC's.
size=$(wc -c <"$vectors/rc_write_8.pcap")
{ head -c $((size - 1)) "$vectors/rc_write_8.pcap"; printf '\252'; } >"$work/in/a.pcap"
refused "a.pcap: NO: frame 2: invariant CRC"
rm "$work/in/a.pcap"
"$program" "$work/in" >"$work/out" && fail "an empty folder fits"
says "no *.pcap in it"

# Only the request: as a responder the engine answers nothing to nobody; as a requester it gets no completion.
first=$((24 + 16 + 82))
head -c $first "$vectors/rc_write_8.pcap" >"$work/in/a.pcap"
"$program" "$work/in/a.pcap" >"$work/out" || fail "a request without an answer does not fit"
# Only the answer.
{ head -c 24 "$vectors/rc_write_8.pcap"; tail -c +$((first + 1)) "$vectors/rc_write_8.pcap"; } >"$work/in/a.pcap"
"$program" "$work/in/a.pcap" >"$work/out" && fail "an answer to nothing fits"
says "cannot be told from the capture: answers without the requests that they are about"
