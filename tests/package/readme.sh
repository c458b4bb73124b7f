#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The README's kernel compiles as it stands there: with the installed gdaki-nvcc, and with nvcc where it is found.
# shellcheck source=tests/package/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck disable=SC2016  # backquotes of Markdown
sed -n '/^```cuda$/,/^```$/p' "$here/../../README.md" | sed '1d;$d' >"$work/readme.cu"
[ "$(wc -l <"$work/readme.cu")" -gt 10 ] || fail "no CUDA block in README.md"
[ "$(wc -l <"$work/readme.cu")" -le 24 ] || fail "the README's example has grown beyond a glance"
LD_LIBRARY_PATH="$libdir" quietly "$prefix/bin/gdaki-nvcc" -I "$include" -c "$work/readme.cu" -o "$work/cpu.o" || true
with=gdaki-nvcc
if [ -n "$PKG_NVCC" ]; then
    quietly "$PKG_NVCC" -std=c++17 -arch=sm_90 -I "$include" -c "$work/readme.cu" -o "$work/cuda.o" || true
    with="gdaki-nvcc and nvcc"
else
    skip_case "README kernel with nvcc" "no nvcc here"
fi
finish "README kernel with $with"
