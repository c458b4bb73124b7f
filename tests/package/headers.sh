#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every installed header compiles on its own, without a warning: .h as C17 and C++17 (g++ and, where it is there, clang++),
# .cuh through gdaki-nvcc. nvcc has a test of its own beside the device headers. Exceptions: headers.txt.
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

# A header is plain (C and C++), c++ only, cuda (gdaki-nvcc), or part of another one: by suffix, unless headers.txt says so.
grep -vE '^(#|$)' "$here/headers.txt" >"$work/exceptions"
kind_of() { # path
    while read -r pattern kind _; do
        if echo "$1" | grep -qxE "$pattern"; then
            echo "$kind"
            return
        fi
    done <"$work/exceptions"
    case $1 in *.cuh) echo cuda ;; *.hpp) echo c++ ;; *) echo plain ;; esac
}

(cd "$include" && find . -name '*.h' -o -name '*.hpp' -o -name '*.cuh') | sed 's|^\./||' | sort >"$work/all"
while read -r name; do
    kind=$(kind_of "$name")
    printf '#include "%s"\nint header_is_alone;\n' "$name" >"$work/alone.c"
    cp "$work/alone.c" "$work/alone.cpp"
    printf '#include "%s"\n__global__ void header_is_alone() {}\n' "$name" >"$work/alone.cu"
    # shellcheck disable=SC2086
    case $kind in
    plain)
        compile "$name as C" "$CC" -std=c17 $warnings -I "$include" -fsyntax-only "$work/alone.c" ;;
    cuda)
        compile "$name with gdaki-nvcc" env LD_LIBRARY_PATH="$libdir" "$prefix/bin/gdaki-nvcc" $warnings -I "$include" \
            -c "$work/alone.cu" -o "$work/alone.o" ;;
    esac
    case $kind in
    plain | c++)
        for compiler in $compilers; do
            # shellcheck disable=SC2086
            compile "$name as C++ with $compiler" "$compiler" -std=c++17 $warnings -I "$include" -fsyntax-only "$work/alone.cpp"
        done ;;
    esac
done <"$work/all"

# Each spelling of the API that existing code uses, in both languages.
for api in 1 2 3; do
    printf '#include <doca_gpunetio_host.h>\nint header_is_alone;\n' >"$work/api.c"
    cp "$work/api.c" "$work/api.cpp"
    # shellcheck disable=SC2086
    compile "DOCA_GPUNETIO_API=$api as C" "$CC" -std=c17 $warnings -DDOCA_GPUNETIO_API=$api -I "$include" -fsyntax-only "$work/api.c"
    # shellcheck disable=SC2086
    compile "DOCA_GPUNETIO_API=$api as C++" "$CXX" -std=c++17 $warnings -DDOCA_GPUNETIO_API=$api -I "$include" -fsyntax-only "$work/api.cpp"
done

[ "$count" -gt 10 ] || fail "only $count compiles: were the headers installed?"
finish "$(wc -l <"$work/all") headers, $count compiles ($compilers, gdaki-nvcc)"
