#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# softnic's wires beside ucx_perftest, libfabric and sockperf, interleaved in one run on the same two CPUs.
#     scripts/bench-alternatives.sh BUILD_FOLDER [ROUNDS]
# Results: alternatives.txt, .json, .svg and .png in BUILD_FOLDER/bench. Nothing here decides anything.
set -eu

build=${1:?usage: bench-alternatives.sh BUILD_FOLDER [ROUNDS]}
gdaki=$build/bin/gdaki
[ -x "$gdaki" ] || { echo "bench-alternatives: $gdaki is not there: build first (make)" >&2; exit 3; }
exec python3 "$(dirname "$0")/bench-alternatives.py" "$gdaki" "$build/bench" "${2:-5}"
