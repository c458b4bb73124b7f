# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034  # the variables are for whoever sources this
# Sourced by the package tests. PKG_ROOT is the DESTDIR, PKG_PREFIX what stands below it.
set -eu
here=$(cd "$(dirname "$0")" && pwd -P)
prefix="$PKG_ROOT$PKG_PREFIX"
libdir="$prefix/$PKG_LIBDIR"
include="$prefix/include/gpunetio" # a root of its own: host/, common/ and cpu/ are no names for a shared one
work="$PKG_WORK/$(basename "$0" .sh)"
failures=0

fail() { # one finding; the test goes on and fails at the end
    echo "FAIL: $*"
    failures=$((failures + 1))
}

skip_case() { # name reason: counted and named by run-tests.sh; in CI nothing of this kind may be missing
    if [ "${CI:-}" = true ]; then
        fail "$1: $2"
    else
        echo "SKIP: $2"
        echo "[  SKIPPED ] $1"
    fi
}

quietly() { # command: shown only if it fails
    "$@" >"$work/log" 2>&1 || {
        fail "$*"
        cat "$work/log"
        return 1
    }
}

finish() { # what was looked at
    if [ "$failures" -gt 0 ]; then
        echo "$failures failures"
        exit 1
    fi
    echo "$*: fine"
}

rm -rf "$work"
mkdir -p "$work"
