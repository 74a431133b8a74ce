#!/bin/bash
# Compiles each header on its own.   CC=... FLAGS=... JOBS=N tools/headers.sh HEADER...
one() {
    local h bad=0
    for h in "$@"; do
        # The typedef keeps the unit from being empty, which ISO C forbids.
        if ! printf '#include "%s"\ntypedef int kiln_unit_is_not_empty;\n' "$h" |
            $CC $FLAGS -Werror -fsyntax-only -x c -; then
            echo "$h:1: does not compile on its own; include what it uses"
            bad=1
        fi
    done
    return $bad
}

if [ "${1:-}" = --some ]; then
    shift
    one "$@"
    exit
fi
printf '%s\0' "$@" | xargs -0 -n 20 -P "${JOBS:-1}" "$0" --some || exit 1
echo "headers: $# compile on their own"
