#!/bin/bash
# Holds every #include of a tree against its layers.txt. Exit code 1 when one points the wrong way.
#   tools/layers.sh [ROOT]
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:-.}" || exit 2
[ -f layers.txt ] || { echo "layers: there is no layers.txt in '$PWD'"; exit 2; }
find . \( -name build -o -name out -o -name '.?*' \) -prune -o -type f \
    \( -name '*.c' -o -name '*.h' -o -name '*.def' \) -print | sed 's|^\./||' | sort |
    xargs awk -f "$here/layers.awk" layers.txt
