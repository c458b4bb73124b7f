#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that nobody here wrote, on softnic: ibverbs-utils, perftest, rdmacm-utils, UCX, libfabric, OpenMPI, pyverbs.
#     scripts/compat.sh BUILD_FOLDER [--quick] [--only REGEX] [--group NAME] [--list] [--json FILE]
# One line a run: program, version, what ran, result, figure or reason. Exit status 0: nothing failed, 1: something did,
# 2: it could not begin. Logs of every run are in BUILD_FOLDER/compat.
set -eu
build=${1:?usage: compat.sh BUILD_FOLDER [options]}
shift
exec python3 -B "$(dirname "$0")/compat" "$build" "$@"
