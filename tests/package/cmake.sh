#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The same program through find_package(gdaki), as C and as C++, and a kernel through gdaki_cpu_kernels.
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
add_executable(use_kernel)
gdaki_cpu_kernels(use_kernel use_kernel.cu)
target_link_libraries(use_kernel PRIVATE gdaki::doca_gpunetio_host)
END
cat >"$work/src/use_kernel.cu" <<'END'
#include <cuda_runtime.h>
#include <doca_gpunetio_device.h>

__global__ void count(unsigned *sum) { atomicAdd(sum, threadIdx.x); }

int main()
{
    unsigned *sum;

    if (cudaMallocManaged(&sum, sizeof(*sum)) != cudaSuccess)
        return 1;
    *sum = 0;
    count<<<1, 64>>>(sum);
    return cudaDeviceSynchronize() == cudaSuccess && *sum == 63 * 64 / 2 ? 0 : 1;
}
END
if quietly "$CMAKE" -S "$work/src" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$CC" \
    -DCMAKE_CXX_COMPILER="$CXX" && quietly "$CMAKE" --build "$work/build"; then
    for program in use_c use_cxx use_kernel; do GDAKI_NIC=softnic GDAKI_GPU=cpu quietly "$work/build/$program" || true; done
fi
finish "C, C++ and a kernel through find_package"
