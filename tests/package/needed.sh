#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the libraries are linked to: the C library, our own, and nothing of CUDA or rdma-core, which are opened at run time.
# shellcheck source=tests/package/common.sh
. "$(dirname "$0")/common.sh"
allowed='libc\.so\.6|libm\.so\.6|libstdc\+\+\.so\.6|libgcc_s\.so\.1|ld-linux.*|libdl\.so\.2|libpthread\.so\.0|lib(doca_gpunetio|doca_gpunetio_host|softnic|gdaki_cpu|gdaki)[a-z_]*\.so(\.[0-9]+)*'
for file in "$libdir"/*.so "$libdir"/gdaki/*.so* "$prefix"/bin/*; do
    [ -f "$file" ] || continue
    readelf -d "$file" 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >"$work/needed"
    extra=$allowed
    case $file in
    */softnic) extra="$allowed|libelf\.so\.1" ;;                         # --check reads programs
    "$prefix"/bin/*) extra="$allowed|libjansson\.so\.4|libdeflate\.so\.0" ;; # tools write JSON and frames
    */libsoftnic*) extra="$allowed|libdeflate\.so\.0" ;;                    # CRC of frames
    esac
    grep -vxE "$extra" "$work/needed" >"$work/surplus" || true
    while read -r library; do fail "$(basename "$file") needs $library"; done <"$work/surplus"
done
# Sonames are what programs look for at run time.
while read -r file soname; do
    found=$(readelf -d "$libdir/$file" 2>/dev/null | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
    [ "$found" = "$soname" ] || fail "$file has soname '$found', not $soname"
done <<END
libdoca_gpunetio_host.so libdoca_gpunetio_host.so.3
END
finish "needed libraries and sonames"
