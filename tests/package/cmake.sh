#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The same program through find_package(gdaki), as C and as C++.
# shellcheck source=tests/package/common.sh
. "$(dirname "$0")/common.sh"
mkdir "$work/src"
cp "$here/use_host.c" "$work/src/use_host.c"
cp "$here/use_host.c" "$work/src/use_host_cxx.cpp"
cat >"$work/src/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES C CXX)
find_package(gdaki 3 REQUIRED)
add_executable(use_c use_host.c)
target_link_libraries(use_c PRIVATE gdaki::doca_gpunetio_host)
add_executable(use_cxx use_host_cxx.cpp)
target_link_libraries(use_cxx PRIVATE gdaki::doca_gpunetio_host)
END
if quietly "$CMAKE" -S "$work/src" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$CC" \
    -DCMAKE_CXX_COMPILER="$CXX" && quietly "$CMAKE" --build "$work/build"; then
    for program in use_c use_cxx; do GDAKI_NIC=softnic GDAKI_GPU=cpu quietly "$work/build/$program" || true; done
fi
finish "C and C++ through find_package"
