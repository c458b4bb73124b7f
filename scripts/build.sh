#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh BUILD_DIR: Ninja with JOBS jobs. One moving line on a terminal, silence elsewhere unless something fails.
set -eu
if [ -t 1 ]; then
    exec cmake --build "$1" --parallel "${JOBS:-2}"
fi
start=$(date +%s)
cmake --build "$1" --parallel "${JOBS:-2}" -- --quiet
echo "built $1 in $(($(date +%s) - start)) s"
