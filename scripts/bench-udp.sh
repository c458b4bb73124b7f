#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 8 B one way over the UDP wire beside sockperf's non-blocked UDP ping-pong, and the message rate with 32 puts a doorbell
# beside UCX over TCP, interleaved round by round on the same two CPUs.
#     scripts/bench-udp.sh BUILD_FOLDER [ROUNDS] [OTHER_BUILD_FOLDER...]
# Results: udp.txt and udp.json in BUILD_FOLDER/bench. Other builds are measured in the same rounds. Nothing here decides anything.
set -eu

build=${1:?usage: bench-udp.sh BUILD_FOLDER [ROUNDS] [OTHER_BUILD_FOLDER...]}
for folder in "$build" $(shift && [ $# -gt 0 ] && shift && echo "$@"); do
    [ -x "$folder/bin/gdaki" ] || { echo "bench-udp: $folder/bin/gdaki is not there: build first (make)" >&2; exit 3; }
done
exec python3 "$(dirname "$0")/bench-udp.py" "$@"
