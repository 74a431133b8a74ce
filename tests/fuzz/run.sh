#!/bin/bash
# Runs fuzz targets, two at a time, each for a bounded time.
#
#   tests/fuzz/run.sh [-s SECONDS] [-r RESULT_FILE] -b BUILD_FOLDER TARGET...
#   tests/fuzz/run.sh -m -b BUILD_FOLDER TARGET      merge what was found into the saved corpus
#
# Saved inputs in tests/fuzz/corpus/TARGET are only read; new ones go to build/fuzz/TARGET/corpus.
# A crash leaves its input in build/fuzz/TARGET/ and the log beside it.
set -u

one() {
    local seconds=$1 build=$2 results=$3 x=$4
    local work=build/fuzz/$x saved=tests/fuzz/corpus/$x log=build/fuzz/$x/log.txt rc dict=
    mkdir -p "$work/corpus"
    [ -f "tests/fuzz/$x.dict" ] && dict=-dict=tests/fuzz/$x.dict
    # libFuzzer ends by itself; the outer limit is for a target that blocks it.
    timeout --foreground --kill-after=10 $((seconds + 300)) "$build/tests/fuzz/fuzz_$x" \
        -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$work/" $dict "$work/corpus" $([ -d "$saved" ] && echo "$saved") \
        >"$log" 2>&1 </dev/null
    rc=$?
    {
        flock 9
        if [ $rc -eq 0 ]; then
            echo "fuzz $x: $seconds s, $(awk '/number_of_executed_units/ { print $2 }' "$log") inputs, nothing found"
            echo "fuzz_$x 1 0 0" >>"$results"
        else
            echo "fuzz $x: FAILED (exit code $rc); the end of $log:"
            # The report, without the fuzzer's progress lines and raw bytes.
            grep -vE '^#[0-9]+|^0x|NEW_FUNC|^stat::' "$log" | tail -n 60
            echo "fuzz $x: replay the input named above with: $build/tests/fuzz/fuzz_$x FILE"
            echo "fuzz $x: after the fix, keep it: move it to $saved/"
            echo "fuzz_$x 0 1 0 see $log" >>"$results"
        fi
    } 9>>"$results.lock"
}

merge() {
    local build=$1 x=$2
    mkdir -p "tests/fuzz/corpus/$x" "build/fuzz/$x/corpus"
    "$build/tests/fuzz/fuzz_$x" -merge=1 "tests/fuzz/corpus/$x" "build/fuzz/$x/corpus"
}

if [ "${1:-}" = --one ]; then
    shift
    one "$@"
    exit 0
fi

seconds=30 build= results= merging=
while getopts s:b:r:m option; do
    case $option in
    s) seconds=$OPTARG ;;
    b) build=$OPTARG ;;
    r) results=$OPTARG ;;
    m) merging=yes ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
for x in "$@"; do
    [ -x "$build/tests/fuzz/fuzz_$x" ] || {
        echo "fuzz: there is no target '$x'; it would be tests/fuzz/fuzz_$x.c"
        exit 2
    }
done
if [ -n "$merging" ]; then
    merge "$build" "$1"
    exit
fi

mkdir -p build/fuzz
results=${results:-build/fuzz/results.txt}
mkdir -p "$(dirname "$results")"
: >"$results"
[ $# -gt 0 ] && printf '%s\0' "$@" |
    xargs -0 -n 1 -P 2 "$0" --one "$seconds" "$build" "$results"
rm -f "$results.lock"
tests/run.sh -s "$results"
