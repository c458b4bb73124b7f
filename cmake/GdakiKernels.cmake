# SPDX-License-Identifier: Apache-2.0
# Finds nvcc once. Kernel sources (.cu) are compiled twice: for `cpu` through gdaki-nvcc (always) and for `cuda` through nvcc (when found).
set(GDAKI_NVCC "")
if(NOT GDAKI_CUDA STREQUAL "OFF")
  find_program(GDAKI_NVCC_PROGRAM nvcc HINTS ENV CUDA_HOME PATHS /usr/local/cuda/bin PATH_SUFFIXES bin)
  if(GDAKI_NVCC_PROGRAM)
    set(GDAKI_NVCC "${GDAKI_NVCC_PROGRAM}")
  elseif(GDAKI_CUDA STREQUAL "ON")
    message(FATAL_ERROR "GDAKI_CUDA=ON, but no nvcc was found: put it on PATH or set CUDA_HOME")
  endif()
endif()
if(GDAKI_NVCC)
  message(STATUS "CUDA kernels: ${GDAKI_NVCC}")
else()
  message(STATUS "CUDA kernels: not built (no nvcc); the cpu executor needs none")
endif()

# GPU code for: everything from sm_75 on through PTX, Hopper directly. "native" asks nvcc for the GPU of this machine.
set(GDAKI_CUDA_ARCHS "75-virtual;90-real" CACHE STRING "Architectures of CUDA kernels: NN-virtual, NN-real, or native")

# gdaki_cuda_objects(<variable> SOURCES <file.cu>... [FLAGS <nvcc options>...]): compiles kernels for `cuda` with nvcc and
# puts the object files into <variable>. Include folders: include/, include/device, include/host, include/common. Only where
# GDAKI_NVCC is set. Link with gdaki_link_cudart(<target>).
function(gdaki_cuda_objects variable)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;FLAGS")
  set(code "")
  foreach(arch IN LISTS GDAKI_CUDA_ARCHS)
    if(arch STREQUAL "native")
      list(APPEND code -arch=native)
    elseif(arch MATCHES "^([0-9]+[af]?)-virtual$")
      list(APPEND code -gencode arch=compute_${CMAKE_MATCH_1},code=compute_${CMAKE_MATCH_1})
    elseif(arch MATCHES "^([0-9]+[af]?)-real$")
      list(APPEND code -gencode arch=compute_${CMAKE_MATCH_1},code=sm_${CMAKE_MATCH_1})
    else()
      message(FATAL_ERROR "GDAKI_CUDA_ARCHS: '${arch}' is neither NN-virtual, NN-real nor native")
    endif()
  endforeach()
  set(objects "")
  foreach(source IN LISTS arg_SOURCES)
    get_filename_component(path "${source}" ABSOLUTE)
    get_filename_component(name "${source}" NAME_WE)
    set(object "${CMAKE_CURRENT_BINARY_DIR}/${name}.cuda.o")
    add_custom_command(
      OUTPUT "${object}"
      COMMAND "${GDAKI_NVCC}" -std=c++17 -O2 -lineinfo ${code} -ccbin "${CMAKE_CXX_COMPILER}" -Xcompiler=-fPIC,-Wall,-Wextra
              -I "${PROJECT_SOURCE_DIR}/include" -I "${PROJECT_SOURCE_DIR}/include/device"
              -I "${PROJECT_SOURCE_DIR}/include/host" -I "${PROJECT_SOURCE_DIR}/include/common"
              ${arg_FLAGS} -MD -MF "${object}.d" -c "${path}" -o "${object}"
      DEPENDS "${path}"
      DEPFILE "${object}.d"
      COMMENT "nvcc ${name}.cu"
      VERBATIM)
    list(APPEND objects "${object}")
  endforeach()
  set(${variable} "${objects}" PARENT_SCOPE)
endfunction()

# Links the CUDA runtime, static as nvcc does it, so that no libcudart is needed at run time.
function(gdaki_link_cudart target)
  get_filename_component(bin "${GDAKI_NVCC}" REALPATH)
  get_filename_component(bin "${bin}" DIRECTORY)
  find_library(GDAKI_CUDART_STATIC cudart_static HINTS "${bin}/../lib64" "${bin}/../targets/x86_64-linux/lib"
               "${bin}/../targets/sbsa-linux/lib" NO_DEFAULT_PATH)
  if(NOT GDAKI_CUDART_STATIC)
    message(FATAL_ERROR "nvcc is ${GDAKI_NVCC}, but its libcudart_static.a was not found beside it")
  endif()
  find_package(Threads REQUIRED)
  target_link_libraries(${target} PRIVATE "${GDAKI_CUDART_STATIC}" Threads::Threads ${CMAKE_DL_LIBS} rt)
endfunction()
