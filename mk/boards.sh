#!/bin/bash
# Unpacks Debian packages of other machines below a folder: the rows of a list (mk/boards.txt). Nothing is
# installed, no architecture is added to this system: apt works in folders of its own, with this system's
# sources and keys. The network is asked only when something is missing. Never fails: who builds without one
# of these is told by what lacks it.
set -u
list=${1:?usage: boards.sh LIST FOLDER}
to=${2:?usage: boards.sh LIST FOLDER}
rows=$(sed 's/#.*//' "$list" | awk 'NF { print $1 ":" $2 }')
done_of() { echo "$to/have/${1//[:\/]/-}"; }

missing=
for r in $rows; do
    [ -e "$(done_of "$r")" ] || missing="$missing $r"
done
if [ -z "$missing" ]; then
    echo "deps: all $(echo $rows | wc -w) libraries for boards are in $to"
    exit 0
fi
if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
    echo "deps: not a Debian system; without these for boards:$missing"
    exit 0
fi
as_root=
if ! mkdir -p "$to/have" 2>/dev/null; then
    command -v sudo >/dev/null && as_root=sudo
    if ! $as_root mkdir -p "$to/have" 2>/dev/null; then
        echo "deps: cannot write to $to; 'make deps BOARD_LIBS=FOLDER' and 'make BOARD_LIBS=FOLDER' take another;"
        echo "deps: without these for boards:$missing"
        exit 0
    fi
fi
work=$(mktemp -d) || exit 0
trap 'rm -rf "$work"' EXIT

# apt MACHINE ARGUMENT...: everything that it writes is in the work folder.
apt() {
    local own=$work/apt-$1 machine=$1
    shift
    mkdir -p "$own/state/lists/partial" "$own/cache/archives/partial"
    : > "$own/status"
    DEBIAN_FRONTEND=noninteractive apt-get -qq -o APT::Architecture="$machine" -o APT::Architectures::="$machine" \
        -o Dir::State="$own/state" -o Dir::State::status="$own/status" -o Dir::Cache="$own/cache" \
        -o APT::Sandbox::User= -o Acquire::Retries=3 -o Debug::NoLocking=1 "$@"
}

unpack() { # MACHINE PACKAGE
    apt "$1" update >/dev/null 2>&1 # one of several sources may not know the machine
    (cd "$work" && rm -f ./*.deb && apt "$1" download "$2" >/dev/null 2>&1 &&
        $as_root dpkg-deb -x ./*.deb "$to")
}

# This system's sources, asked for source.
source_lists() {
    mkdir -p "$work/parts"
    for f in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
        case $f in
        *.list) sed -n 's/^deb /deb-src /p' "$f" > "$work/parts/${f##*/}" ;;
        *.sources) sed 's/^Types:.*/Types: deb-src/' "$f" > "$work/parts/${f##*/}" ;;
        esac
    done 2>/dev/null
}

# libsodium where Debian has its source alone: the portable C, by the cross compiler. Its package would make the
# script that configures it first, by tools that nothing else here needs.
libsodium() { # MACHINE
    local host=$1-linux-gnu lists=(-o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$work/parts")
    command -v "$host-gcc" >/dev/null && command -v patch >/dev/null || return 1
    source_lists
    apt "$1" "${lists[@]}" update >/dev/null 2>&1
    mkdir -p "$work/sodium/tree" "$work/sodium/o"
    (
        cd "$work/sodium" && apt "$1" "${lists[@]}" source --download-only libsodium >/dev/null 2>&1 &&
            tar xf ./*.orig.tar.* -C tree --strip-components=1 && tar xf ./*.debian.tar.* -C tree && cd tree || exit 1
        for p in $(sed 's/#.*//' debian/patches/series 2>/dev/null); do
            patch -s -p1 < "debian/patches/$p" || exit 1
        done
        from=src/libsodium
        find $from -name '*.c' | xargs -P "$(nproc)" -I FILE sh -c "$host-gcc -O2 -w -D_GNU_SOURCE -DCONFIGURED=1 \
            -DSODIUM_STATIC=1 -DDEV_MODE=0 -DNATIVE_LITTLE_ENDIAN=1 -DHAVE_TI_MODE=1 -DHAVE_WEAK_SYMBOLS=1 \
            -DHAVE_C_VARARRAYS=1 -DHAVE_INLINE_ASM=1 -DHAVE_EXPLICIT_BZERO=1 -DHAVE_SYS_MMAN_H=1 -DHAVE_MMAP=1 \
            -DHAVE_MLOCK=1 -DHAVE_MADVISE=1 -DHAVE_MPROTECT=1 -DHAVE_POSIX_MEMALIGN=1 -DHAVE_NANOSLEEP=1 \
            -DHAVE_GETPID=1 -DHAVE_RAISE=1 -I $from/include -I $from/include/sodium -isystem /usr/include/sodium \
            -c FILE -o ../o/\$(echo FILE | tr / _).o" || exit 1
        ar rcs ../libsodium.a ../o/*.o && $as_root mkdir -p "$to/usr/lib/$host" &&
            $as_root cp ../libsodium.a "$to/usr/lib/$host/"
    )
}

for r in $missing; do
    machine=${r%%:*} package=${r#*:}
    case $package in
    source:libsodium) way=libsodium ;;
    *) way=unpack ;;
    esac
    if $way "$machine" "$package"; then
        $as_root touch "$(done_of "$r")"
        echo "deps: $package of $machine is in $to"
    else
        echo "deps: no $package of $machine: kiln is built without what needs it (mk/boards.txt)"
    fi
done
exit 0
