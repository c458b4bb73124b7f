#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The newcomer's first ten minutes, proved: a fresh Debian 12 with nothing but git and make clones this repository (its
# last commit) and runs `make demo` and `make test`, as root; then an ordinary user builds and runs a part of the tests
# from a folder with a space in its name.
#
# newcomer-chroot.sh [BASE]: BASE is a folder for the bare system, made by debootstrap when it is not there and left for
# the next run; without it everything is temporary. Needs root and debootstrap, and uses this machine's apt mirror.
# GDAKI_NEWCOMER_STEPS="demo test user" chooses steps. Ends with PASS or FAIL.
# shellcheck disable=SC2016  # what stands in single quotes is for the inner shell, or for apt
set -euo pipefail
source_dir=$(cd "$(dirname "$0")/.." && pwd -P)
suite=bookworm
steps=${GDAKI_NEWCOMER_STEPS:-demo test user}

fail() {
    echo "FAIL: $*"
    exit 1
}
[ "$(id -u)" = 0 ] || fail "needs root for chroot"

# A mount namespace of its own: whatever is mounted below ends with this script.
if [ "${GDAKI_NEWCOMER_INSIDE:-}" != 1 ]; then
    "$source_dir/scripts/install-deps.sh" newcomer
    GDAKI_NEWCOMER_INSIDE=1 exec unshare --mount --propagation private "$0" "$@"
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/newcomer.XXXXXX")
cleanup() {
    umount -R "$work/root/proc" "$work/root/sys" "$work/root/dev" 2>/dev/null || true
    # Never delete through a mount that would not go away.
    if ! grep -q " $work/root/" /proc/self/mounts; then rm -rf "$work"; fi
}
trap cleanup EXIT

base=${1:-$work/base}
if [ ! -e "$base/.bare-debian" ]; then
    mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(CREATED_BY)' |
        awk -v suite="$suite" '$3 == "Packages" && $2 == suite { print $1; exit }')
    [ -n "$mirror" ] || fail "no apt source for $suite is configured here"
    rm -rf "$base"
    echo "debootstrap: a bare $suite"
    debootstrap --variant=minbase "$suite" "$base" "$mirror" >"$work/debootstrap.log" 2>&1 ||
        { tail "$work/debootstrap.log"; fail "debootstrap"; }
    touch "$base/.bare-debian"
fi

root="$work/root"
cp -a --reflink=auto "$base" "$root"
for file in resolv.conf hosts; do
    if [ -e "/etc/$file" ]; then cp -L "/etc/$file" "$root/etc/$file"; fi
done
# How this machine reaches its mirror (a proxy, say) is this machine's matter and is carried over as it is.
apt-config dump | grep -E '^Acquire::.*[Pp]roxy' >"$root/etc/apt/apt.conf.d/90mirror" || true
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"

inside() { # command...: in the chroot, with an environment of nothing but the usual
    chroot "$root" /usr/bin/env -i HOME=/root USER=root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        LANG=C.UTF-8 TERM=dumb "$@"
}
inside sh -c 'apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends git make' \
    >"$work/apt.log" 2>&1 || { tail -n 20 "$work/apt.log"; fail "installing git and make"; }
git clone -q --no-hardlinks "$source_dir" "$root/srv/gdaki" || fail "git clone"
inside chown -R root:root /srv/gdaki
echo "newcomer: bare $suite, git and make; clone of $(git -C "$root/srv/gdaki" rev-parse --short HEAD)"

results=()
run() { # name command: timed, shown, judged
    local name=$1 start=$SECONDS
    shift
    echo "--- $name: $*"
    if "$@"; then
        results+=("PASS $name ($((SECONDS - start)) s)")
    else
        results+=("FAIL $name ($((SECONDS - start)) s)")
    fi
}

for step in $steps; do
    case $step in
    demo)
        run "make demo" inside sh -c 'cd /srv/gdaki && make demo'
        run "the pictures" inside sh -c 'cd /srv/gdaki && ls -l $(find build* -name "*.svg" -o -name "*.png") | grep svg && find build* -name "*.png" | grep -q .'
        ;;
    test)
        run "make test" inside sh -c 'cd /srv/gdaki && make test'
        run "a clean tree" inside sh -c 'cd /srv/gdaki && git status --porcelain && test -z "$(git status --porcelain)"'
        ;;
    user) # not root, another place, nothing left to install
        inside useradd -m -d /srv/newcomer newcomer
        inside cp -r /srv/gdaki "/srv/newcomer/my gdaki"
        inside chown -R newcomer "/srv/newcomer/my gdaki"
        run "make as a user" inside su newcomer -c 'cd "$HOME/my gdaki" && make && make install DESTDIR="$HOME/into" PREFIX=/usr'
        ;;
    *) fail "unknown step '$step'" ;;
    esac
done

echo
printf '%s\n' "${results[@]}"
case "${results[*]}" in
*FAIL*) echo "FAIL: the newcomer did not get through" && exit 1 ;;
*) echo "PASS: the newcomer got through" ;;
esac
