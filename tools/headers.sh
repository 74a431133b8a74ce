#!/bin/bash
# Compiles each header on its own.   CC=... FLAGS=... tools/headers.sh HEADER...
bad=0
for h in "$@"; do
    # The typedef keeps the unit from being empty, which ISO C forbids.
    if ! printf '#include "%s"\ntypedef int kiln_unit_is_not_empty;\n' "$h" |
        $CC $FLAGS -Werror -fsyntax-only -x c -; then
        echo "$h:1: does not compile on its own; include what it uses"
        bad=1
    fi
done
[ $bad -ne 0 ] || echo "headers: $# compile on their own"
exit $bad
