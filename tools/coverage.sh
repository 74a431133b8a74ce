#!/bin/bash
# Line coverage by folder after `make quick V=cov`.   tools/coverage.sh build/gcc-cov
build=${1:?usage: coverage.sh BUILD_FOLDER}
gcov=gcov
case $build in *clang*) gcov="llvm-cov gcov" ;; esac
find "$build" -name '*.gcda' ! -path '*/tests/*' -print0 |
    xargs -0 -r $gcov -n 2>/dev/null |
    awk -v root="$PWD/" '
    /^File / { file = $2; gsub(/\047/, "", file); sub(root, "", file); next }
    /^Lines executed:/ && file ~ /\.c$/ && file !~ /^\// {
        split($0, part, /[:% ]+/) # "Lines executed:87.50% of 16"
        folder = file
        sub(/\/[^\/]*$/, "", folder)
        lines[folder] += part[5]
        hit[folder] += part[5] * part[3] / 100
        file = ""
    }
    END {
        for (f in lines) printf "%6.1f%% of %6d lines  %s\n", 100 * hit[f] / lines[f], lines[f], f
    }' | sort -k5
