#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# softnic and Linux's rdma_rxe, live: a virtual machine (emulated, no KVM needed) whose NIC and softnic share a cable runs
# rxe; tests/interop/exchange plays every operation both ways between the two, over IPv4 and IPv6, then with faults.
#     scripts/interop-rxe.sh BUILD_FOLDER [PHASE...]
# PHASE: plain ipv6 faults (all). Needs the packages of `install-deps.sh build interop`, and a mirror for Debian's kernel,
# which is fetched once into BUILD_FOLDER/interop. Totals: `N passed, N failed`; captures and logs stay in that folder.
set -euo pipefail

build=$(cd "${1:?usage: interop-rxe.sh BUILD_FOLDER [plain|ipv6|faults...]}" && pwd -P)
shift
phases=${*:-plain ipv6 faults}
exchange=$build/tests/interop/interop_exchange
dir=$build/interop
fail() {
    echo "interop-rxe: $*" >&2
    exit 3
}
[ -x "$exchange" ] || fail "$exchange is not there: build first (make)"
for program in qemu-system-x86_64 cpio depmod modprobe rdma dpkg-deb apt-get; do
    command -v "$program" >/dev/null || fail "no $program: scripts/install-deps.sh interop"
done
rxe=$(find /usr/lib -name 'librxe-rdmav*.so' | head -n 1)
[ -n "$rxe" ] || fail "no verbs provider for rxe: scripts/install-deps.sh interop"
mkdir -p "$dir"
cd "$dir"

# ---- a kernel with its modules, as Debian makes it ----
if ! ls kernel/boot/vmlinuz-* >/dev/null 2>&1; then
    # The architecture's meta-package names the present one; the flavour of clouds has no RDMA.
    package=$(apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/^ *Depends: *\(linux-image-.*\)/\1/p' | head -n 1)
    [ -n "$package" ] || fail "apt knows no linux-image-amd64"
    echo "fetching $package"
    rm -rf kernel && mkdir kernel
    apt-get -q download "$package" >download.log 2>&1 || { cat download.log >&2; fail "apt-get download $package failed"; }
    dpkg-deb -x "$package"_*.deb kernel
    rm -f "$package"_*.deb
fi
version=$(basename kernel/boot/vmlinuz-*)
version=${version#vmlinuz-}

# ---- a root file system: busybox, rxe's modules, the exchange with the packaged verbs ----
rm -rf root
mkdir -p root/{bin,dev,proc,sys,tmp,modules,etc/libibverbs.d}
cp "$(command -v busybox)" root/bin/busybox
carry() { # a program and the libraries that it is linked to, without ours
    local library
    cp -L "$1" "root/bin/$2"
    LD_LIBRARY_PATH='' ldd "$1" | awk '/=> \//{ print $3 } /^\t\/lib/{ print $1 }' | while read -r library; do
        case $library in "$build"/*) continue ;; esac
        mkdir -p "root$(dirname "$library")"
        cp -Ln "$library" "root$library"
    done
}
carry "$(command -v rdma)" rdma
carry "$exchange" exchange
mkdir -p "root$(dirname "$rxe")"
cp -L "$rxe" "root$rxe"
cp /etc/libibverbs.d/rxe.driver root/etc/libibverbs.d/
verbs=$(ldconfig -p | awk '$1 == "libibverbs.so.1" { print $NF }' | head -n 1)
{
    echo "$verbs"
    ldd "$verbs" "$rxe" | awk '/=> \//{ print $3 }'
} | sort -u | while read -r library; do
    mkdir -p "root$(dirname "$library")"
    cp -Ln "$library" "root$library"
done
depmod -b kernel "$version"
for module in virtio_pci virtio_net crc32_generic ib_uverbs rdma_rxe; do
    modprobe -n --show-depends -d kernel -S "$version" "$module"
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r path; do
    cp "$path" root/modules/
    basename "$path"
done >root/modules/order
cat >root/init <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc p /proc
mount -t sysfs s /sys
mount -t devtmpfs d /dev
while read -r module; do insmod "/modules/$module" || echo "no $module"; done </modules/order
echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad
ip link set lo up
ip link set eth0 mtu 4200 up
ip addr add 192.0.2.2/24 dev eth0
ip -6 addr add 2001:db8::2/64 dev eth0
ip link set eth1 up
ip addr add 10.0.2.15/24 dev eth1
ulimit -l unlimited
rdma link add rxe0 type rxe netdev eth0
(while true; do exchange serve 7001 192.0.2.2; sleep 1; done) &
(while true; do exchange serve 7002 2001:db8::2; sleep 1; done) &
while true; do sleep 1000; done
INIT
chmod +x root/init
(cd root && find . | cpio --quiet -o -H newc) | gzip -1 >initrd.gz

# ---- the machine: eth0 is the cable to softnic, eth1 carries the exchange's own TCP ----
sockets=$(mktemp -d)
port=$((20000 + $$ % 20000))
qemu=
cleanup() {
    [ -z "$qemu" ] || kill "$qemu" 2>/dev/null || true
    rm -rf "$sockets"
}
trap cleanup EXIT
rm -f console.log
qemu-system-x86_64 -accel tcg -m 512 -smp 1 -display none -monitor none -serial "file:$dir/console.log" -no-reboot \
    -kernel "kernel/boot/vmlinuz-$version" -initrd initrd.gz -append "console=ttyS0 panic=-1 quiet" \
    -netdev "dgram,id=cable,local.type=unix,local.path=$sockets/vm,remote.type=unix,remote.path=$sockets/nic" \
    -device virtio-net-pci,netdev=cable,host_mtu=4200,mac=52:54:00:00:00:02,romfile= \
    -netdev "user,id=tcp,restrict=on,hostfwd=tcp:127.0.0.1:$port-:7001,hostfwd=tcp:127.0.0.1:$((port + 1))-:7002" \
    -device virtio-net-pci,netdev=tcp,romfile= >qemu.log 2>&1 &
qemu=$!
echo "booting Linux $version with rdma_rxe (emulated, no disk)"
begun=$SECONDS
until [ "$(grep -c '^serving on port' console.log 2>/dev/null)" = 2 ]; do
    kill -0 "$qemu" 2>/dev/null || { cat qemu.log console.log >&2; fail "the virtual machine ended"; }
    [ $((SECONDS - begun)) -lt 300 ] || { tail -n 20 console.log >&2; fail "rxe did not come up within 300 s"; }
    sleep 1
done
grep -i 'no .*\.ko' console.log || true

# ---- the phases ----
export SOFTNIC_LINK=eth SOFTNIC_WIRE="dgram:$sockets/nic,$sockets/vm,192.0.2.1,2001:db8::1,mtu=4200"
passed=0 failed=0
play() { # NAME PORT ADDRESS [VARIABLE=VALUE...] -- OPTION...
    local name=$1 at=$2 address=$3 log=$dir/$1.log variables=()
    shift 3
    while [ "$1" != -- ]; do variables+=("$1"); shift; done
    shift
    rm -f "$dir/$name.pcap"
    env SOFTNIC_PCAP="$dir/$name.pcap" "${variables[@]}" timeout 900 "$exchange" --quiet "$@" ask 127.0.0.1 "$at" "$address" >"$log" 2>&1 || true
    grep '^FAILED' "$log" || true
    local total
    total=$(tail -n 1 "$log")
    if [[ $total =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
    else
        cat "$log"
        failed=$((failed + 1)) total="did not end"
    fi
    printf '%-34s %s\n' "$name" "$total"
}
# What Wireshark makes of the captures. It guesses what a payload might be, an Ethernet type for one, and then finds that
# malformed, in packets of either make: such a guess stands behind "infiniband" in its list of protocols.
dissected() { # NAME...
    command -v tshark >/dev/null || { echo "no tshark: captures are not looked at"; return; }
    local name bad
    for name in "$@"; do
        bad=$(tshark -n -r "$dir/$name.pcap" -Y '_ws.malformed || _ws.expert.severity >= "Warning"' -T fields -e frame.protocols 2>/dev/null | grep -c 'infiniband$' || true)
        if [ "$bad" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
        printf '%-34s %s frames, %s malformed or with a warning\n' "$name.pcap" "$(tshark -n -r "$dir/$name.pcap" 2>/dev/null | wc -l)" "$bad"
    done
}
for phase in $phases; do
    case $phase in
    plain)
        play plain "$port" 192.0.2.1 --
        dissected plain ;;
    ipv6)
        play ipv6 $((port + 1)) 2001:db8::1 --
        dissected ipv6 ;;
    faults)
        # What rxe (6.1) makes of loss as the one that asks bounds the second of each pair: docs/wires.md, "Beside Linux's rdma_rxe".
        number=0
        for plan in "drop:rate=0.02" "drop:rate=0.02,dir=rx" "dup:rate=0.03;reorder:rate=0.03" "corrupt:rate=0.02" "delay:rate=0.05,by=1ms"; do
            number=$((number + 1))
            echo "SOFTNIC_FAULTS=\"$plan\":"
            play "faults-$number-softnic-asks" "$port" 192.0.2.1 "SOFTNIC_FAULTS=$plan" SOFTNIC_FAULT_SEED=7 -- --lossy --only "client asks"
            play "faults-$number-rxe-asks" "$port" 192.0.2.1 "SOFTNIC_FAULTS=$plan" SOFTNIC_FAULT_SEED=7 -- --lossy --only "server asks" --not "every kind"
        done ;;
    *) fail "no phase '$phase'" ;;
    esac
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
