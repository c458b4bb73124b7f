#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh BUILD_DIR [TARGET...]: Ninja with JOBS jobs, everything or only the targets. One moving line on a terminal,
# silence elsewhere unless something fails.
set -eu
build=${1:?usage: build.sh BUILD_FOLDER [TARGET...]}
shift
if [ $# -gt 0 ]; then set -- --target "$@"; fi
if [ -t 1 ]; then
    exec cmake --build "$build" --parallel "${JOBS:-2}" "$@"
fi
start=$(date +%s)
cmake --build "$build" --parallel "${JOBS:-2}" "$@" -- --quiet
echo "built $build in $(($(date +%s) - start)) s"
