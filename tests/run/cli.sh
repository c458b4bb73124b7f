#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The program `softnic`: options, exit statuses, what becomes of the process, and that coreutils, find and Python see one
# tree.
# usage: cli.sh PATH/softnic WORK-FOLDER VERBS-PROGRAM STATIC-PROGRAM-OR-EMPTY
softnic=$1 work=$2 verbs=$3 static=$4
failed=0
rm -rf "$work"
mkdir -p "$work"
unset SOFTNIC_DEVICES SOFTNIC_LINK SOFTNIC_WIRE SOFTNIC_NAMES SOFTNIC_GID SOFTNIC_PCAP SOFTNIC_FAULTS SOFTNIC_LOG

# expect STATUS TEXT COMMAND...: the text is somewhere in its output
expect() {
    status=$1 text=$2
    shift 2
    out=$(timeout 60 "$@" 2>&1)
    got=$?
    case $out in
    *"$text"*) said=yes ;;
    *) said=no ;;
    esac
    if [ "$got" -ne "$status" ] || [ $said = no ]; then
        echo "FAILED: $*: status $got, want $status and '$text'"
        echo "$out" | sed 's/^/    /'
        failed=1
    fi
}

# same WHAT A B
same() {
    if [ "$2" != "$3" ]; then
        echo "FAILED: $1: '$2' and '$3'"
        failed=1
    fi
}

# Statuses are the program's, or those of env and timeout.
expect 0 "" "$softnic" run true
expect 7 "" "$softnic" run -- sh -c 'exit 7'
expect 143 "" sh -c "'$softnic' run sh -c 'kill -TERM \$\$'"
expect 127 "not found in PATH" "$softnic" run no-such-program-anywhere
expect 127 "No such file" "$softnic" run /no/such/program
expect 126 "not an executable file" "$softnic" run /etc/passwd
expect 126 "not an executable file" "$softnic" run /
expect 125 "a program is missing" "$softnic" run --devices 2
expect 125 "unrecognized option" "$softnic" run --no-such-option true
expect 125 "is no command" "$softnic" walk true
expect 125 "expected ethernet or infiniband" "$softnic" run --link token-ring true
expect 125 "SOFTNIC_DEVICES=65" "$softnic" run --devices 65 true
expect 125 "SOFTNIC_NAMES=a,b: 2 names for 3 devices" "$softnic" run -d 3 -n a,b true
expect 125 "stands there twice" "$softnic" run -d 2 -n a,a true
expect 125 "SOFTNIC_NAMES=../x" "$softnic" run -n ../x true
expect 125 "SOFTNIC_GID=fish" "$softnic" run -g fish true
for address in 0.0.0.0 224.0.0.1 255.255.255.255 ::ffff:239.1.1.1 :: ff02::1; do
    expect 125 "address of one station" "$softnic" run -g $address true
done
expect 125 "more addresses than devices" "$softnic" run -g 10.0.0.1,10.0.0.2 true
expect 125 "SOFTNIC_FAULTS" "$softnic" run --faults nonsense:x=y true
expect 0 "softnic run: 2 devices: left right; wire none" "$softnic" run -v -d 2 -n left,right -w none true
expect 0 "/sys/class/infiniband, its devices" "$softnic" run -v true
expect 0 "Usage: softnic run" "$softnic" run --help
expect 0 "softnic 3" "$softnic" --version
expect 0 "" "$softnic" run --log off --seed 5 --fault-seed 2 --trace --no-cuda true
expect 125 "No such file" "$softnic" run --pcap "$work/none/x.pcap" true
expect 125 "Is a directory" "$softnic" run --pcap "$work" true
expect 0 "" "$softnic" run --pcap "$work/made-later.pcap" true
same "no capture without a device" "" "$(ls "$work")"
if [ "$(id -u)" != 0 ]; then
    expect 125 "Permission denied" "$softnic" run --pcap /etc/passwd true
fi
printf 'echo plain script\n' >"$work/plain"
chmod +x "$work/plain"
expect 0 "plain script" "$softnic" run "$work/plain"
same "quiet success" "" "$("$softnic" run true 2>&1)"

# It becomes the program: same process, descriptors and standard streams untouched.
# shellcheck disable=SC2016  # for the inner shells
expect 0 "same process" sh -c 'a=$$; exec "$0" run sh -c "[ \$\$ = $a ] && echo same process"' "$softnic"
same "standard input" "text" "$(echo text | "$softnic" run cat)"
same "descriptors" "$(sh -c 'ls /proc/self/fd | wc -l')" "$("$softnic" run sh -c 'ls /proc/self/fd | wc -l')"

# Options become variables; what was set stays; a second run inside changes nothing twice.
vars() { "$@" env | grep -E '^(SOFTNIC_|LD_)' | sort; }
once=$(vars "$softnic" run -d 3 -l infiniband -w none -n ib)
same "run inside run" "$once" "$(vars "$softnic" run -d 3 -l ib -w none -n ib "$softnic" run)"
case $once in *SOFTNIC_DEVICES=3*SOFTNIC_LINK=ib*SOFTNIC_NAMES=ib*SOFTNIC_WIRE=none*) ;; *) same "variables" "$once" "" ;; esac
same "a variable that is set" "SOFTNIC_NAMES=roce" "$(SOFTNIC_NAMES=roce vars "$softnic" run | grep NAMES)"
same "an empty option" "SOFTNIC_NAMES=mlx5_" "$(vars "$softnic" run -n "" | grep NAMES)"
same "an option beside it" "SOFTNIC_NAMES=other" "$(SOFTNIC_NAMES=roce vars "$softnic" run -n other | grep NAMES)"
same "own LD_LIBRARY_PATH" ":/opt/none" "$(LD_LIBRARY_PATH=/opt/none vars "$softnic" run | sed -n 's/^LD_LIBRARY_PATH=.*softnic-libs//p')"
same "a relative capture" "SOFTNIC_PCAP=$work/x.pcap" "$(cd "$work" && vars "$softnic" run -p x.pcap | grep PCAP)"
same "an address of a wire" "SOFTNIC_WIRE=udp:127.0.0.9" "$(vars "$softnic" run -w udp -g 127.0.0.9 | grep WIRE)"
"$softnic" run cp /sys/class/infiniband/mlx5_0/fw_ver "$work/copied"
same "a copy by cp" "$("$softnic" run cat /sys/class/infiniband/mlx5_0/fw_ver | wc -c)" "$(wc -c <"$work/copied")"
same "an address" "0000:0000:0000:0000:0000:ffff:0a00:0001" "$("$softnic" run -g 10.0.0.1 cat /sys/class/infiniband/mlx5_0/ports/1/gids/1)"

# Every reader sees the same tree.
tree=/sys/devices/pci5f17:00
find_it=$("$softnic" run -d 2 find $tree | sort)
ls_it=$("$softnic" run -d 2 ls -RA $tree | awk '/:$/ { sub(/:$/, ""); folder = $0; next } NF { print folder "/" $0 }' | sort)
same "find and ls" "$find_it" "$(printf '%s\n%s\n' $tree "$ls_it" | sort)"
same "not empty" "yes" "$([ "$(echo "$find_it" | wc -l)" -gt 200 ] && echo yes)"
if command -v python3 >/dev/null 2>&1; then
    python_it=$("$softnic" run -d 2 python3 -c "
import os
print('$tree')
for folder, folders, files in os.walk('$tree'):
    for name in folders + files:
        print(folder + '/' + name)" | sort)
    same "find and python" "$find_it" "$python_it"
    same "python's errors" "13 2 13" "$("$softnic" run python3 -c "
def number(path, mode):
    try:
        open(path, mode)
    except OSError as e:
        return e.errno
base = '/sys/class/infiniband/mlx5_0/'
print(number(base + 'fw_ver', 'w'), number(base + 'none', 'r'), number(base + 'none', 'w'))")"
fi
# shellcheck disable=SC2016  # for the inner shell
same "cat and sh" "$("$softnic" run cat /sys/class/infiniband/mlx5_0/ports/1/rate)" \
    "$("$softnic" run sh -c 'read -r line </sys/class/infiniband/mlx5_0/ports/1/rate; echo "$line"')"
same "InfiniBand has no interface" "Invalid argument" \
    "$("$softnic" run -l ib cat /sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0 2>&1 | sed 's/.*: //')"
same "LID" "0x11" "$("$softnic" run -d 2 -l ib cat /sys/class/infiniband/mlx5_1/ports/1/lid)"
expect 1 "No such file" "$softnic" run cat /sys/module/nvidia_peermem/version
expect 0 "softnic" "$softnic" run --peermem cat /sys/module/nvidia_peermem/version
expect 0 "" "$softnic" run --peermem test -r /sys/kernel/mm/memory_peers/nv_mem/version
same "without it" "$(ls -d /sys/class/infiniband 2>&1)" "$("$softnic" run --no-sysfs ls -d /sys/class/infiniband 2>&1)"

# What cannot be helped is said.
if [ -n "$static" ]; then
    expect 0 "is statically linked" "$softnic" run "$static"
fi
if [ "$(id -u)" = 0 ] && cp /bin/true "$work/setuid" && chown 65534 "$work/setuid" && chmod u+xs "$work/setuid"; then
    expect 0 "changes its privileges" "$softnic" run "$work/setuid"
fi
cp /bin/true "$work/other"
printf '\267' | dd of="$work/other" bs=1 seek=18 conv=notrunc 2>/dev/null # e_machine
if [ "$(uname -m)" = x86_64 ]; then
    expect 126 "is for another machine" "$softnic" run "$work/other"
fi

# What a program asks for, and what is answered.
expect 0 "carried        ibv_create_qp@IBVERBS_1.1" "$softnic" run --check "$verbs"
expect 0 "0 refused, 0 missing" "$softnic" run --check "$verbs"
expect 0 "names no function of RDMA libraries" "$softnic" run --check sh
expect 0 "a library" "$softnic" run --check "$(dirname "$softnic")/../softnic-libs/libmlx5.so.1"
expect 1 "no program that can be looked into" "$softnic" run --check /etc/passwd
expect 127 "No such file" "$softnic" run --check sh /no/such/library
echo "#!$verbs" >"$work/script"
chmod +x "$work/script"
expect 0 "a script of $verbs" "$softnic" run --check "$work/script"
sed 's/ibv_create_qp/ibv_create_qz/' "$verbs" >"$work/wrong" # a name of the same length in the string table
chmod +x "$work/wrong"
expect 1 "missing        ibv_create_qz" "$softnic" run --check "$work/wrong"
sed 's/libibverbs.so.1/libibverbz.so.1/' "$verbs" >"$work/wrong"
expect 1 "1 libraries not found" "$softnic" run --check "$work/wrong"
head -c 3000 "$verbs" >"$work/wrong"
expect 1 "" "$softnic" run --check "$work/wrong"
# Plugins: what a library opens beside it is looked into; what one lacks is its own affair.
mkdir -p "$work/lib/ucx" "$work/elsewhere"
cp "$(dirname "$softnic")/../softnic-libs/libmlx5.so.1" "$work/lib/libuct.so.0"
cp "$verbs" "$work/lib/ucx/libuct_ib.so.0"
ln -s libuct_ib.so.0 "$work/lib/ucx/libuct_ib.so"
cp /bin/true "$work/lib/ucx/libuct_cma.so"
expect 0 "libuct_ib.so.0 (opened by libuct.so.0): " "$softnic" run --check "$work/lib/libuct.so.0"
same "a plugin and its link" 1 "$("$softnic" run --check "$work/lib/libuct.so.0" | grep -c '^  plugin')"
expect 0 "libuct_cma.so (opened by libuct.so.0): names no function" "$softnic" run -v --check "$work/lib/libuct.so.0"
sed 's/ibv_create_qp/ibv_create_qz/' "$verbs" >"$work/lib/ucx/libuct_ib.so.0"
expect 0 "0 refused, 1 missing" "$softnic" run --check "$work/lib/libuct.so.0"
sed 's/libibverbs.so.1/libibverbz.so.1/' "$verbs" >"$work/lib/ucx/libuct_ib.so.0"
expect 0 "does not load without libibverbz.so.1" "$softnic" run --check "$work/lib/libuct.so.0"
same "another folder" 0 "$(UCX_MODULE_DIR="$work/elsewhere" "$softnic" run -v --check "$work/lib/libuct.so.0" | grep -c '^  plugin')"
# What nobody could read was not said.
expect_full() {
    out=$("$@" 2>&1 >/dev/full)
    got=$?
    case $out in
    *"cannot write to standard output: No space left"*) ;;
    *) got="$got without saying why" ;;
    esac
    same "$* >/dev/full" 125 "$got"
}
expect_full "$softnic" --help
expect_full "$softnic" --version
expect_full "$softnic" run --check "$verbs"
strange="$work/a [b] c*d?e\\f" # a pattern to glob(3), and a folder to everybody else
mkdir -p "$strange/ucx"
cp "$work/lib/libuct.so.0" "$strange/"
cp "$verbs" "$strange/ucx/libuct_ib.so.0"
same "plugins below a folder with a strange name" 1 "$("$softnic" run --check "$strange/libuct.so.0" | grep -c '^  plugin')"
same "a variable names it" 1 "$(UCX_MODULE_DIR="$strange/ucx" "$softnic" run --check "$work/lib/libuct.so.0" | grep -c '^  plugin')"
if [ -n "$static" ]; then
    expect 1 "is statically linked" "$softnic" run --check "$static"
fi
[ $failed = 0 ] && echo "all fine"
exit $failed
