#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# House rules that a compiler does not check: licence lines, file sizes, nothing of one machine in the tree, every
# environment variable and every page listed. Prints each offence as FILE: what, and fails when there is one.
set -eu
cd "$(dirname "$0")/.."
list=$(mktemp)
offences=$(mktemp)
trap 'rm -f "$list" "$offences"' EXIT

# Tracked files and new ones that git would not ignore; without git (a source archive), everything but build folders.
if ! git ls-files --cached --others --exclude-standard >"$list" 2>/dev/null || [ ! -s "$list" ]; then
    find . -type d \( -name .git -o -name 'build*' -o -name ci-logs -o -name .venv \) -prune -o -type f -print | sed 's|^\./||' >"$list"
fi
sort -u -o "$list" "$list"
tr '\n' '\0' <"$list" | xargs -0 ls -d 2>/dev/null >"$list.there" || true # deleted in the tree, still in the index
mv "$list.there" "$list"

# Data and pictures carry no licence line of their own; LICENSE is the licence.
text_files() { grep -vE '^LICENSE$|\.(png|svg|json|csv|tsv|dat|log|bin|hex|pcap|xml)$|^docs/results/.*\.txt$|^\.gitignore$|^\.git' "$list"; }
code_files() { grep -E '\.(c|h|cc|cpp|cu|cuh|hpp|inc|S|sh|py|cmake|in|map)$|(^|/)(CMakeLists\.txt|Makefile|run)$' "$list" || true; }

text_files | tr '\n' '\0' | xargs -0 awk '
    FNR == 1 { if (file != "" && !found) print file ": no SPDX line in its first three lines"; file = FILENAME; found = 0 }
    FNR <= 3 && /SPDX-License-Identifier: Apache-2\.0/ { found = 1 }
    FNR == 3 { nextfile }
    END { if (file != "" && !found) print file ": no SPDX line in its first three lines" }' >>"$offences"

code_files | tr '\n' '\0' | xargs -0 wc -l | awk '$2 != "total" && $1 > 900 { print $2 ": " $1 " lines; the limit is 900" }' >>"$offences"

# Words that tell where somebody worked. The brackets keep this line from finding itself.
machine='/wor[k]/|(^|[^A-Za-z0-9_])/(roo[t]|home)/|/tmp/(build-|bash_)|gdaki-(brief|notes)|artifact[-]?registry|deb[.]debian|pypi[.]org|files[.]pythonhosted|Co-Authored[-]By|\b[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}:(80|3128|8080)\b'
text_files | tr '\n' '\0' | xargs -0 grep -nIE "$machine" /dev/null 2>/dev/null | grep -vE '^scripts/check-tree\.sh:' |
    sed 's/$/   <- names a machine or a registry/' >>"$offences" || true

# Spacing: no tabs in C, no blanks at the end of a line.
c_files() { code_files | grep -E '\.(c|h|cc|cpp|cu|cuh|hpp|inc)$' | tr '\n' '\0'; }
c_files | xargs -0 grep -lP '\t' /dev/null 2>/dev/null | sed 's/$/: has a tab/' >>"$offences" || true
c_files | xargs -0 grep -lP '[ \t]+$' /dev/null 2>/dev/null | sed 's/$/: has blanks at the end of a line/' >>"$offences" || true

# The index of documents names each of them.
grep -E '^docs/[^/]+\.md$' "$list" | grep -v '^docs/README\.md$' | while read -r page; do
    grep -qF "](${page#docs/})" docs/README.md || echo "docs/README.md: $page is not listed"
done >>"$offences"

# Environment variables: whatever the code reads must stand in docs/environment.md. Names of ours in quotes count wherever
# they are (tables feed getenv too), other names when they are getenv's argument.
variables=$(grep -E '^(src|include|tools|examples)/' "$list" | tr '\n' '\0' |
    xargs -0 grep -hoE '"(GDAKI|SOFTNIC)_[A-Z0-9_]+"|getenv\( *"[A-Z0-9_]+"' /dev/null 2>/dev/null |
    sed 's/^[^"]*"//; s/"$//' | sort -u || true)
# In a file called env.c or env.h every name is one that is read.
variables="$variables $(grep -E '(^|/)env\.[ch]$' "$list" | tr '\n' '\0' |
    xargs -0 grep -hoE '"[A-Z][A-Z0-9]*_[A-Z0-9_]+"' /dev/null 2>/dev/null | tr -d '"' | sort -u || true)"
variables=$(echo "$variables" | tr ' ' '\n' | sort -u)
for variable in $variables; do
    grep -qw "$variable" docs/environment.md 2>/dev/null || echo "docs/environment.md: $variable is read by the code and not listed"
done >>"$offences"

if [ -s "$offences" ]; then
    cat "$offences"
    echo "check-tree: $(wc -l <"$offences") offences in $(wc -l <"$list") files"
    exit 1
fi
echo "check-tree: $(wc -l <"$list") files clean"
