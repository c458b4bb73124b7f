#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# aarch64-sysroot.sh DIR: unpacks the arm64 libraries that a cross-build links to below DIR. apt is asked with lists of its
# own, so the machine's packages and architectures stay as they are, and root is not needed. Done once; a finished DIR
# asks nothing of the network.
set -eu
dir=$1
packages="libibverbs-dev libibverbs1 librdmacm-dev librdmacm1 libjansson-dev libjansson4 libcmocka-dev libcmocka0 libdeflate-dev libdeflate0 libelf-dev libelf1 zlib1g libnl-3-200 libnl-route-3-200"
stamp="$dir/.complete"
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$packages" ]; then
    exit 0
fi

rm -rf "$dir"
mkdir -p "$dir/apt/lists/partial" "$dir/apt/archives/partial" "$dir/debs"
dir=$(cd "$dir" && pwd -P)
stamp="$dir/.complete"
touch "$dir/apt/status"
log="$dir/apt/log"

apt_arm64() {
    apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State="$dir/apt" \
        -o Dir::State::lists="$dir/apt/lists" -o Dir::State::status="$dir/apt/status" \
        -o Dir::Cache="$dir/apt" -o APT::Sandbox::User=root "$@" >>"$log" 2>&1 || {
        tail -n 20 "$log" >&2
        echo "aarch64-sysroot: 'apt-get $*' for arm64 failed" >&2
        exit 1
    }
}
echo "fetching arm64 packages: $packages"
apt_arm64 update
cd "$dir/debs"
# shellcheck disable=SC2086  # a list of words
apt_arm64 download $packages
for deb in ./*.deb; do
    dpkg-deb -x "$deb" "$dir"
done
if [ -d "$dir/lib" ]; then # as on a machine with a merged /usr
    cp -a "$dir/lib/." "$dir/usr/lib/"
    rm -rf "${dir:?}/lib"
fi
rm -rf "$dir/apt/lists" "$dir/apt/archives" "$dir/debs"
echo "$packages" >"$stamp"
