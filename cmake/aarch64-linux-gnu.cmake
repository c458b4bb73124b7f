# SPDX-License-Identifier: Apache-2.0
# Cross-build for 64-bit Arm with Debian's compiler; programs run under qemu-user. GDAKI_SYSROOT holds the few arm64
# libraries that tests and tools link to (scripts/aarch64-sysroot.sh unpacks them; nothing is installed on the host).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_ASM_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GDAKI_SYSROOT)
set(GDAKI_SYSROOT "" CACHE PATH "Folder with arm64 libraries (usr/lib/aarch64-linux-gnu below it)")
set(CMAKE_FIND_ROOT_PATH "${GDAKI_SYSROOT}" /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${GDAKI_SYSROOT}")
set(ENV{PKG_CONFIG_LIBDIR} "${GDAKI_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${GDAKI_SYSROOT}/usr/share/pkgconfig")
# RPATH, not RUNPATH: it holds for the libraries' own needs, too. No LD_LIBRARY_PATH for the emulator: tests set theirs. At the
# end of the link line, so that the folders of what is built here go before the sysroot, which has a libibverbs of its own.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,--disable-new-dtags")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-Wl,--disable-new-dtags")
foreach(language C CXX)
  set(CMAKE_${language}_STANDARD_LIBRARIES_INIT "-Wl,-rpath,${GDAKI_SYSROOT}/usr/lib/aarch64-linux-gnu")
endforeach()

find_program(GDAKI_QEMU NAMES qemu-aarch64-static qemu-aarch64 REQUIRED)
set(CMAKE_CROSSCOMPILING_EMULATOR "${GDAKI_QEMU};-L;/usr/aarch64-linux-gnu")
