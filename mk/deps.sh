#!/bin/bash
# Installs the packages of a list (first word of each line, # starts a comment) that are missing.
# The network is asked only when something is missing.
set -u
list=${1:?usage: deps.sh LIST}
packages=$(sed 's/#.*//' "$list" | awk 'NF { print $1 }')

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "deps: this is not a Debian system; install by hand what these Debian packages hold:"
    echo $packages
    exit 4
fi

missing=
for p in $packages; do
    state=$(dpkg-query -W -f='${Status}' "$p" 2>/dev/null)
    case $state in
    *" installed") ;;
    *) missing="$missing $p" ;;
    esac
done
if [ -z "$missing" ]; then
    echo "deps: all $(echo $packages | wc -w) packages are installed"
    exit 0
fi

echo "deps: missing:$missing"
as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "deps: needs root: neither are you root nor is there sudo; as root, run:"
        echo "    apt-get install$missing"
        exit 4
    fi
    as_root=sudo
fi
apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 \
        -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 "$@"
}
# An update may fail for one source of several; the install then says whether that mattered.
apt update || echo "deps: apt-get update failed; trying with the package lists that are there"
if ! apt install -y --no-install-recommends $missing; then
    echo "deps: could not install:$missing"
    echo "deps: look at the lines above; is there a network, is the disk full?"
    exit 4
fi
echo "deps: installed:$missing"
