#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gdaki-nvcc by its command line: driver.sh <gdaki-nvcc> <c++> <cc>
set -eu
nvcc=$1 cxx=$2 cc=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

cat >k.cuh <<'END'
#define PLUS 40
template <class T> __global__ void put(T *out) { __shared__ T one; one = PLUS; *out = one + EXTRA; }
END
cat >main.cu <<'END'
#include "k.cuh"
#include <cstdio>
extern "C" int from_c(int);
int main()
{
    int *out;
    cudaMallocManaged(&out, sizeof(int));
    put<int><<<1, 1>>>(out);
    cudaDeviceSynchronize();
    return std::printf("%d\n", from_c(*out)) < 0;
}
END
echo 'int from_c(int x) { int class = x; return class; }' >c.c

# one step: a .cu and a .c, a definition, options without meaning here
"$nvcc" -ccbin "$cxx" -O1 -arch=sm_90 -gencode arch=compute_90,code=sm_90 -std=c++17 -DEXTRA=2 -x cu main.cu -c -o main.o
"$cc" -c c.c -o c.o
"$nvcc" -ccbin "$cxx" main.o c.o -o prog -lm -Xlinker -z,now
test "$(./prog)" = 42 || fail "program says $(./prog)"
"$nvcc" -ccbin "$cxx" -DEXTRA=3 main.cu c.c -o prog2
test "$(./prog2)" = 43 || fail "program in one step says $(./prog2)"

# dependencies
"$nvcc" -ccbin "$cxx" -DEXTRA=2 -c main.cu -o main.o -MD -MF main.d -MT target.o
grep -q '^target.o:' main.d && grep -q 'k.cuh' main.d || fail "dependencies: $(cat main.d)"
"$nvcc" -ccbin "$cxx" -DEXTRA=2 -M main.cu | grep -q 'k.cuh' || fail "-M"

# -E is rewritten text; --dryrun shows and does nothing
"$nvcc" -ccbin "$cxx" -DEXTRA=2 -E main.cu | grep -q 'gdaki_cpu::on(1, 1)' || fail "-E"
rm main.o
"$nvcc" -ccbin "$cxx" -DEXTRA=2 --dryrun -c main.cu -o main.o 2>log
test ! -e main.o && grep -q -- "-c " log || fail "--dryrun"

# compiler errors name the user's file and line
printf '#include "k.cuh"\nvoid f(int *o)\n{\n    put<int><<<1,\n        2>>>(o);\n    undeclared_thing();\n}\n' >bad.cu
"$nvcc" -ccbin "$cxx" -DEXTRA=2 -c bad.cu 2>log && fail "bad.cu compiled"
grep -q 'bad.cu:6:' log || fail "wrong line: $(cat log)"

# what is not covered has its name in the message
printf 'void f(cudaGraph_t g) { }\n' >graph.cu
"$nvcc" -ccbin "$cxx" -c graph.cu 2>log && fail "graph.cu compiled"
grep -q 'cudaGraph_t' log || fail "graph: $(cat log)"

# the lint warns; the exit status stays
printf '__global__ void k() { if (threadIdx.x) __syncthreads(); }\n' >lint.cu
"$nvcc" -ccbin "$cxx" --lint -c lint.cu 2>log || fail "lint"
grep -q 'lint.cu:1: warning: __syncthreads may not be reached' log || fail "lint: $(cat log)"

# refusals
"$nvcc" --no-such-option main.cu 2>log && fail "unknown option accepted"
grep -q -- '--no-such-option' log || fail "unknown option not named"
"$nvcc" missing.cu 2>log && fail "missing input accepted"
grep -q 'missing.cu' log || fail "missing input not named"
"$nvcc" 2>/dev/null && fail "no input accepted"
"$nvcc" --version | grep -q '^gdaki-nvcc ' || fail "--version"
"$nvcc" --help | grep -q 'Usage' || fail "--help"
echo "driver: all passed"
