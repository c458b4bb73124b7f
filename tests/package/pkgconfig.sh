#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A C and a C++ program, built with nothing but what pkg-config says, shared and static, and run.
# shellcheck source=tests/package/common.sh
. "$(dirname "$0")/common.sh"
# The .pc files find themselves, so that an installed tree may be moved; no PKG_CONFIG_SYSROOT_DIR is needed.
export PKG_CONFIG_PATH="$libdir/pkgconfig"
export PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1

version=$(pkg-config --modversion gdaki) || { echo "pkg-config does not find gdaki"; exit 1; }
[ "$version" = "$PKG_VERSION" ] || fail "gdaki.pc says version $version, the project $PKG_VERSION"

build_and_run() { # label compiler standard link-flags language-flags
    label=$1
    # shellcheck disable=SC2086,SC2046  # flags are lists of words
    quietly "$2" "$3" -Wall -Wextra -Werror $(pkg-config --cflags gdaki) $5 "$here/use_host.c" -x none -o "$work/$label" $4 || return 0
    GDAKI_NIC=softnic GDAKI_GPU=cpu LD_LIBRARY_PATH="$libdir" quietly "$work/$label" || return 0
}
build_and_run c "$CC" -std=c17 "$(pkg-config --libs gdaki)" "-x c"
build_and_run cxx "$CXX" -std=c++17 "$(pkg-config --libs gdaki)" "-x c++"
# Static: the archive instead of the shared library, the private libraries from pkg-config.
static_libs=$(pkg-config --static --libs gdaki | sed "s|-ldoca_gpunetio_host|$libdir/libdoca_gpunetio_host.a|")
build_and_run c_static "$CC" -std=c17 "$static_libs" "-x c"
if [ -x "$work/c_static" ] && readelf -d "$work/c_static" | grep -q 'NEEDED.*libdoca_gpunetio_host'; then
    fail "the static program still needs the shared library"
fi
# Existing link lines name the other library, or both.
build_and_run both_names "$CC" -std=c17 "-L$libdir -ldoca_gpunetio -ldoca_gpunetio_host -Wl,-rpath-link,$libdir" "-x c"
finish "C, C++, static and both library names through pkg-config"
