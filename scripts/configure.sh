#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# configure.sh BUILD_DIR [cmake arguments]: runs CMake, quietly unless it fails. A build folder made from another place
# (a moved or copied clone) is started anew, since CMake would refuse it.
set -eu
source_dir=$(cd "$(dirname "$0")/.." && pwd -P)
build=${1:?usage: configure.sh BUILD_FOLDER [CMAKE-ARGUMENT...]}
shift

cache="$build/CMakeCache.txt"
if [ -f "$cache" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$source_dir" "$cache"; then
    echo "configure: $build belongs to another source folder; starting it anew"
    rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles"
fi
# With CI=true a missing CUDA compiler is a failure, never a silent skip.
if [ "${CI:-}" = true ] && ! printf '%s\n' "$@" | grep -q '^-DGDAKI_CUDA='; then
    set -- -DGDAKI_CUDA=ON "$@"
fi
mkdir -p "$build"
if ! cmake -G Ninja -S "$source_dir" -B "$build" "$@" >"$build/configure.log" 2>&1; then
    cat "$build/configure.log"
    echo "configure: failed; the log above is $build/configure.log" >&2
    exit 1
fi
# Warnings are worth a look even when configuring succeeds.
grep -E '^(CMake (Deprecation )?Warning|-- CUDA kernels:)' "$build/configure.log" || true
