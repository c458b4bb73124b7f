#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An independent RoCEv2 implementation talks to softnic over UDP (foreign_peer.py), in a network namespace of its own.
#
#   foreign.sh FOREIGN_END
#
# 77: there is no python3, or no such namespace may be made.
set -u
if [ "${GDAKI_FOREIGN_INSIDE:-}" != 1 ]; then
    command -v python3 >/dev/null || { echo "SKIP: no python3"; exit 77; }
    unshare -Urn true 2>/dev/null || { echo "SKIP: no network namespace of our own may be made"; exit 77; }
    exec env GDAKI_FOREIGN_INSIDE=1 unshare -Urn "$0" "$@"
fi
ip link set lo up || { echo "SKIP: no ip of iproute2"; exit 77; }
for n in 201 202; do
    ip -6 addr add "fd77::$n/128" dev lo nodad || exit 1
done
exec python3 "${0%/*}/foreign_peer.py" "$@"
