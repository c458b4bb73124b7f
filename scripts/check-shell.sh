#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs shellcheck over every shell script of the tree.
set -eu
cd "$(dirname "$0")/.."
# Scripts are found by their first line, since some have no suffix.
scripts=$(git ls-files --cached --others --exclude-standard | while read -r file; do
    [ -f "$file" ] && head -n 1 "$file" | grep -Eq '^#!.*\b(sh|bash)$' && echo "$file"
done || true)
[ -n "$scripts" ] || { echo "check-shell: found no script" >&2; exit 1; }
# SC2015: "a && b || fail" is how tests say that both must hold; fail is meant for either.
# shellcheck disable=SC2086  # a list of words
shellcheck -x --exclude=SC2015 $scripts
echo "shellcheck: $(echo "$scripts" | wc -l) scripts clean"
