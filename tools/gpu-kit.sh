#!/bin/bash
# tools/gpu-kit.sh DIR
#
# Makes the folder DIR to carry to a machine with a GPU, where `./run.sh OUT` tests, tunes and measures
# (docs/gpu-kit.md). At most 60 MB: the programs of build/<compiler>-release with the libraries they
# need but glibc's, which the far side has, in one archive of xz, which Python there can read.
#
#   NODE_TESTS=DIR    ONNX's conformance tests (../shared/onnx-node-tests); without them that step fails
#   PRESET=9e         of xz; 0 is done in seconds
set -eu -o pipefail
export LC_ALL=C
[ $# -eq 1 ] || { echo "usage: tools/gpu-kit.sh DIR" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
dir=$(cd "$1" && pwd)
tests=${NODE_TESTS:-$root/../shared/onnx-node-tests}
most=$((60 * 1000 * 1000))
cd "$root"
make V=release kit-programs >&2
build=build/gcc-release

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir -p "$stage"/{bin,lib,share/kiln,models}

# --- programs ---------------------------------------------------------------------------------------
cp $build/kit/* $build/kiln-bridge $build/kiln-run "$stage/bin/"
cp $build/*.jsonl "$stage/share/kiln/"
linker=$(command -v ld.lld-19) || { echo "gpu-kit.sh: needs ld.lld-19: make deps" >&2; exit 4; }
cp -L "$linker" "$stage/lib/ld.lld-19"
# It cannot be linked anew, and starts nothing that would inherit the variable.
cat >"$stage/bin/ld.lld-19" <<'SCRIPT'
#!/bin/sh
exec env LD_LIBRARY_PATH="${0%/*}/../lib" "${0%/*}/../lib/ld.lld-19" "$@"
SCRIPT
chmod +x "$stage/bin/ld.lld-19"

# --- libraries, but glibc's -------------------------------------------------------------------------
# One of the programs is a script, which ldd refuses.
(ldd "$stage"/bin/kiln* "$stage"/bin/test_* "$stage/lib/ld.lld-19" 2>/dev/null || true) |
    awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | sort -u |
    grep -vE '^(libc|libm|libpthread|libdl|librt|libresolv|ld-linux-x86-64)\.so' >"$stage/needed"
while read -r name path; do
    cp -L "$path" "$stage/lib/$name"
done <"$stage/needed"

# What large libraries have that nobody calls: a solver that LLVM asks for at most in Clang's analyzer,
# the tables of ICU, which is there for encodings of XML. In their place is a library with the names
# alone.
stub() { # stub LIBRARY HOW USERS...
    local library=$stage/lib/$1 how=$2 user
    shift 2
    [ -f "$library" ] || return 0
    nm -D --defined-only "$library" | awk '{ sub(/@.*/, "", $3); print $3 }' | sort -u >"$stage/has"
    for user; do
        nm -D --undefined-only "$stage/lib/$user" | awk '{ sub(/@.*/, "", $2); print $2 }'
    done | sort -u | comm -12 - "$stage/has" >"$stage/names"
    {
        echo '#include <stdlib.h>'
        while read -r name; do
            case $how in
            functions) echo "void $name(void); void $name(void) { abort(); }" ;;
            data) echo "const long $name[64] = {0};" ;;
            esac
        done <"$stage/names"
    } >"$stage/stub.c"
    ${CC:-gcc} -shared -fPIC -s -Wl,-soname,"${library##*/}" "$stage/stub.c" -o "$library"
}
for library in "$stage"/lib/libz3.so.*; do stub "${library##*/}" functions $(ls "$stage/lib"); done
for library in "$stage"/lib/libicudata.so.*; do stub "${library##*/}" data $(ls "$stage/lib"); done
rm -f "$stage"/{needed,has,names,stub.c}

# --- models, tests, what runs them --------------------------------------------------------------------
cp -r demo/samplenet "$stage/models/"
cp tools/gpu-kit/*.ops "$stage/models/"
if [ -d "$tests/node" ]; then
    mkdir -p "$stage/models/onnx-tests"
    cp -r --no-preserve=mode "$tests"/{node,simple,pytorch-operator,pytorch-converted,LICENSE} "$stage/models/onnx-tests/"
else
    echo "gpu-kit.sh: no conformance tests in $tests" >&2
fi
cp tools/gpu-kit/steps.txt tools/gpu-kit/*.py "$stage/"

# --- the folder -----------------------------------------------------------------------------------------
tar -c --sort=name --owner=0 --group=0 --numeric-owner --mode=u+rw,go=rX -C "$stage" . |
    xz -T0 --x86 --lzma2=preset="${PRESET:-9e}" >"$dir/kit.tar.xz"
cp tools/gpu-kit/run.sh "$dir/run.sh"
cp LICENSE "$dir/LICENSE"
cp docs/gpu-kit.md "$dir/README.md"
size=$(du -sb "$dir" | cut -f1)
echo "$dir: $((size / 1000000)) MB, $(du -sb "$stage" | cut -f1 | awk '{ print int($1 / 1e6) }') MB unpacked"
[ "$size" -le $most ] || { echo "gpu-kit.sh: more than 60 MB" >&2; exit 1; }
