#!/bin/bash
# Reads files by clang-tidy, twenty in a process (49 files take 3.4 s of processor time; 5.3 with a process
# each).   FLAGS=... JOBS=N tools/tidy.sh LIST
# One with va_start is read alone: in a process's second file, version 14's valist checks do not know it.
# A line of LIST is a file, and after a space the flags that are its own. Each of twenty that are clean gets its
# stamp, build/lint/FILE.tidy, by which make knows what is left to read.
batch() {
    local own said
    eval "own=($1)"
    shift
    if ! said=$(clang-tidy --quiet "$@" -- $FLAGS "${own[@]}" 2>&1); then
        grep -vE '^[0-9]+ warnings? (and [0-9]+ errors? )?generated' <<<"$said"
        return 1
    fi
    local stamps=("${@/#/build/lint/}")
    stamps=("${stamps[@]/%.c/.tidy}")
    mkdir -p $(dirname "${stamps[@]}")
    touch "${stamps[@]}"
}

if [ "${1:-}" = --some ]; then
    IFS=$'\t' read -r files flags <<<"$2"
    batch "$flags" $files
    exit
fi
[ -f "$1" ] || exit 0
sort -u "$1" | awk '
function has_va_start(file,    line, has) {
    while (!has && (getline line < file) > 0) has = line ~ /va_start/
    close(file)
    return has
}
has_va_start($1) { print $1 "\t" substr($0, length($1) + 2); next }
{
    file = $1
    flags = substr($0, length(file) + 2)
    files[flags] = files[flags] " " file
    if (++n[flags] % 20 == 0) { print files[flags] "\t" flags; files[flags] = "" }
}
END { for (flags in files) if (files[flags] != "") print files[flags] "\t" flags }' |
    xargs -r -d '\n' -n 1 -P "${JOBS:-1}" "$0" --some
bad=$?
rm -f "$1" # what is not clean is listed again by the next make
exit $((bad > 0))
