#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every installed header compiles on its own, without a warning: .h as C17 and C++17 (g++ and, where it is there, clang++),
# .cuh through gdaki-nvcc. nvcc has a test of its own beside the device headers.
# shellcheck source=tests/package/common.sh
. "$(dirname "$0")/common.sh"
warnings="-Wall -Wextra -Werror"
count=0

compile() { # label command...
    label=$1
    shift
    count=$((count + 1))
    "$@" >"$work/log" 2>&1 || {
        fail "$label"
        head -n 15 "$work/log"
    }
}
compilers="$CXX"
if command -v clang++ >/dev/null; then
    compilers="$compilers clang++"
else
    skip_case "headers with clang++" "no clang++ here"
fi

find "$include" -name '*.h' -o -name '*.hpp' | sort >"$work/plain"
find "$include" -name '*.cuh' | sort >"$work/device"
while read -r header; do
    name=${header#"$include"/}
    printf '#include "%s"\nint header_is_alone;\n' "$name" >"$work/alone.c"
    cp "$work/alone.c" "$work/alone.cpp"
    # What stands in for CUDA's headers, and what existing C++ code takes from the reference, is C++ only.
    if [ "$name" = "${name%.hpp}" ] && ! grep -q 'gdaki: C++ only' "$header"; then
        # shellcheck disable=SC2086
        compile "$name as C" "$CC" -std=c17 $warnings -I "$include" -fsyntax-only "$work/alone.c"
    fi
    for compiler in $compilers; do
        # shellcheck disable=SC2086
        compile "$name as C++ with $compiler" "$compiler" -std=c++17 $warnings -I "$include" -fsyntax-only "$work/alone.cpp"
    done
done <"$work/plain"

# Each spelling of the API that existing code uses, in both languages.
for api in 1 2 3; do
    printf '#include <doca_gpunetio_host.h>\nint header_is_alone;\n' >"$work/api.c"
    cp "$work/api.c" "$work/api.cpp"
    # shellcheck disable=SC2086
    compile "DOCA_GPUNETIO_API=$api as C" "$CC" -std=c17 $warnings -DDOCA_GPUNETIO_API=$api -I "$include" -fsyntax-only "$work/api.c"
    # shellcheck disable=SC2086
    compile "DOCA_GPUNETIO_API=$api as C++" "$CXX" -std=c++17 $warnings -DDOCA_GPUNETIO_API=$api -I "$include" -fsyntax-only "$work/api.cpp"
done

while read -r header; do
    name=${header#"$include"/}
    printf '#include "%s"\n__global__ void header_is_alone() {}\n' "$name" >"$work/alone.cu"
    compile "$name with gdaki-nvcc" env LD_LIBRARY_PATH="$libdir" "$prefix/bin/gdaki-nvcc" -I "$include" -c "$work/alone.cu" -o "$work/alone.o"
done <"$work/device"
[ "$count" -gt 10 ] || fail "only $count compiles: were the headers installed?"
finish "$(cat "$work/plain" "$work/device" | wc -l) headers, $count compiles ($compilers, gdaki-nvcc)"
