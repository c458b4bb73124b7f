#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Debian packages, by group. `install-deps.sh GROUP...` installs what is missing (as root, or through sudo);
# `install-deps.sh --check GROUP...` only says what is missing. When nothing is missing, nothing is asked of the network.
# The README says why each package is there.
set -eu

packages_of() {
    case $1 in
    build) # compile and test
        echo build-essential cmake ninja-build pkg-config libibverbs-dev librdmacm-dev libjansson-dev libcmocka-dev libdeflate-dev libelf-dev ;;
    demo) # the picture at the end of `make demo`; SVG to PNG
        echo gnuplot-nox librsvg2-bin ;;
    bench) # the summary of make bench
        echo python3 ;;
    alternatives) # what softnic is compared with
        echo ucx-utils libfabric-bin libfabric-dev sockperf ;;
    aarch64) # cross-build, and the emulator that runs the tests
        echo gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-user-static ;;
    clang) # second compiler for headers and kernels
        echo clang ;;
    fuzz) # libFuzzer and its sanitizers' runtime
        echo clang libclang-rt-dev ;;
    lint)
        echo shellcheck codespell ;;
    wire-tests) # what Wireshark makes of our captures, interfaces and loss; without them those tests are skipped
        echo tshark iproute2 nftables python3 ;;
    compat-tests) # programs of others that softnic has to carry; tests of what is missing are skipped by name
        echo ibverbs-utils perftest rdmacm-utils ucx-utils libfabric-bin python3 python3-pyverbs ;;
    compat) # all that scripts/compat.sh runs
        echo ibverbs-utils perftest rdmacm-utils ucx-utils libfabric-bin python3 python3-pyverbs openmpi-bin libopenmpi-dev tshark ;;
    interop) # a virtual machine with Linux's rdma_rxe
        echo qemu-system-x86 cpio busybox-static kmod iproute2 ibverbs-providers tshark ;;
    newcomer)
        echo debootstrap git ;;
    *)
        echo "install-deps: unknown group '$1' (build, demo, bench, alternatives, aarch64, clang, fuzz, lint, wire-tests, compat-tests, compat, interop, newcomer)" >&2
        return 1 ;;
    esac
}

installed() { # package
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

check_only=no
if [ "${1:-}" = --check ]; then
    check_only=yes
    shift
fi
wanted=
for group in "$@"; do
    list=$(packages_of "$group")
    wanted="$wanted $list"
done

if ! command -v dpkg-query >/dev/null 2>&1; then
    # Not a Debian: the compiler and CMake will say what is missing, by name.
    if [ "$check_only" = no ]; then
        echo "install-deps: this is no Debian; install the counterparts of:$wanted" >&2
    fi
    exit 0
fi
missing=
for package in $wanted; do
    installed "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$check_only" = yes ]; then
    echo "missing Debian packages:$missing" >&2
    echo "'make deps' installs them, or: apt-get install$missing" >&2
    exit 1
fi

if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null 2>&1; then
    as_root=sudo
else
    echo "missing Debian packages:$missing" >&2
    echo "neither root nor sudo is at hand; as root, run: apt-get install$missing" >&2
    exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt_get() {
    # shellcheck disable=SC2086  # $as_root is empty or one word
    if ! $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 "$@" >"$log" 2>&1; then
        tail -n 30 "$log" >&2
        echo "install-deps: 'apt-get $*' failed; the packages wanted are:$missing" >&2
        exit 1
    fi
}
echo "installing Debian packages:$missing"
apt_get update
# shellcheck disable=SC2086  # a list of words
apt_get install --no-install-recommends $missing
echo "installed."
