#!/bin/bash
# `make check`: everything CI runs, in phases. A phase that fails does not stop the others, so one
# run tells all; the closing lines add up every test, fuzz target and lint check in cmocka's words.
set -u
make=${MAKE:-make}
results=build/results
# Of debug builds lines alone: stacks of failed tests name them, and nobody opens a debugger here. Names of
# variables would be most of what is written and linked.
export DEBUG_INFO=-g1
# What is no test's hot loop (compiling it was a third of the sanitizer's build: 165 s of processor time, 70
# without an optimizer; its tests take as long). `make soak` fuzzes it optimized.
export UNOPTIMIZED="cli/% history/% packager/% pipeline/% reports/% sql/% tuning_db/% zoo/% compiler/frontend/%"
rm -rf "$results"
mkdir -p "$results"
times=

# count NAME RESULT_FILE|- SECONDS EXIT_CODE: what the end says of a phase.
count() {
    local name=$1 result=$2 rc=$4
    times="$times$(printf '%5d s  %-22s %s' "$3" "$name" "$([ "$rc" -eq 0 ] && echo ok || echo FAILED)")"$'\n'
    # A phase that failed before anything reported (it did not build, say) must count as well.
    if [ "$rc" -ne 0 ] && { [ "$result" = - ] || ! awk '$3 > 0 { bad = 1 } END { exit !bad }' "$result" 2>/dev/null; }; then
        echo "${name// /-} 0 1 0 the phase failed" >>"$results/phases.txt"
    fi
}

# phase NAME RESULT_FILE|- COMMAND...: returns the command's exit code.
phase() {
    local name=$1 result=$2 start=$SECONDS rc
    shift 2
    echo
    echo "=== $name"
    "$@"
    rc=$?
    count "$name" "$result" $((SECONDS - start)) $rc
    return $rc
}

# beside COMMAND...: it runs with what the phases after it leave of the processors (little in unit tests, more
# where end-to-end tests wait for others), and what it says is kept for beside_ends NAME RESULT_FILE.
beside() {
    rm -f "$results/beside.seconds"
    set -m # a group of its own, which ends with this script: what is beside hears no Ctrl-C
    (
        nice -n 19 "$@"
        rc=$?
        echo $SECONDS >"$results/beside.seconds"
        exit $rc
    ) >"$results/beside.said" 2>&1 </dev/null &
    beside_pid=$! beside_start=$SECONDS
    set +m
    trap 'kill -TERM -- "-$beside_pid" 2>/dev/null' EXIT
}
beside_ends() {
    local rc
    wait "$beside_pid"
    rc=$?
    trap - EXIT
    echo
    echo "=== $1"
    cat "$results/beside.said"
    count "$1" "$2" $(($(cat "$results/beside.seconds") - beside_start)) $rc
}

phase "deps" - $make deps
# What each of them is for is in tests/README.md. The tests of make, scripts and installing are the
# same whatever kiln was compiled by: once is enough. Clang's warnings do not hang on a sanitizer.
phase "build gcc" - $make -k WERROR=1 CC=gcc V=debug quick-programs &&
    phase "test gcc" "$results/quick-gcc-debug.txt" $make WERROR=1 CC=gcc V=debug quick
phase "build clang asan" - $make -k WERROR=1 CC=clang V=asan SKIP=tests/tools/ quick-programs e2e-programs fuzz-programs
asan_is_built=$?
# All objects that it reads are there by now: nothing builds one of them twice at once.
beside $make WERROR=1 "LINT_ARCHIVES=CC=gcc V=debug" "LINT_OBJECTS=CC=clang V=asan" lint
[ $asan_is_built -eq 0 ] &&
    phase "test clang asan" "$results/quick-clang-asan.txt" $make WERROR=1 CC=clang V=asan SKIP=tests/tools/ quick
# Faults are planted in debug builds only.
phase "build faults" - $make -k WERROR=1 CC=gcc V=debug TEST=faults_planted e2e-programs &&
    phase "faults" "$results/e2e-gcc-debug.txt" $make WERROR=1 CC=gcc V=debug TEST=faults_planted e2e
phase "tsan" "$results/tsan-gcc-tsan.txt" $make WERROR=1 CC=gcc tsan
phase "build e2e gcc release" - $make -k WERROR=1 CC=gcc V=release e2e-programs
release_is_built=$?
# End to end as users run it, and once more under the sanitizers.
[ $release_is_built -eq 0 ] &&
    phase "e2e gcc release" "$results/e2e-gcc-release.txt" $make WERROR=1 CC=gcc V=release e2e
# What the emulator runs, a sanitizer does not see; planted faults make wrong code, which the debug build
# has found; of tuners that are killed the sanitizer sees the fleet's own tests; a report's page is the browser's.
# The conformance tests, which frontends' own tests and fuzzers have met most of, are for make soak under it.
if [ $asan_is_built -eq 0 ]; then
    phase "e2e clang asan" "$results/e2e-clang-asan.txt" $make WERROR=1 CC=clang V=asan \
        "SKIP=test_emulated test_conformance test_faults_planted test_killed_tuners test_page" e2e
    phase "fuzz" "$results/fuzz.txt" $make WERROR=1 fuzz-smoke
fi
beside_ends "lint" "$results/lint.txt"

echo
echo "=== times"
printf '%s%5d s  in all\n' "$times" $SECONDS
tests/run.sh -s "$results"/*.txt
