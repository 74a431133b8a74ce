#!/bin/bash
# Runs cmocka test programs and adds up what they report.
#
#   tests/run.sh [-j JOBS] [-t SECONDS] [-l LOG_FOLDER] [-r RESULT_FILE] PROGRAM...
#   tests/run.sh -s RESULT_FILE...       print the sum of earlier results
#
# Of a program whose tests pass, one line is printed, and one more of what it has counted ("counted: ..."
# at the beginning of a line); of another what its failed tests said. All of it is in the log folder, and
# printed with VERBOSE=1.
#
# A program that hangs past the time limit, crashes, reports fewer tests than it announced, or
# announces none, is a failure: silence must never look like success. Exit code 0 only when
# something ran and nothing failed.
set -u
here=$(dirname "$0")
said_lines=20 # of one program at the end; its log has all

# Result files hold lines "NAME PASSED FAILED SKIPPED [REASON]", one a program.
summary() {
    awk '
    { passed += $2; failed += $3; skipped += $4; n++ }
    $3 > 0 {
        line = $1
        if (NF > 4) { $1 = $2 = $3 = $4 = ""; sub(/^ +/, ""); line = line ": " $0 }
        bad[++n_bad] = line
    }
    END {
        if (n == 0) { failed = 1; bad[++n_bad] = "nothing was run" }
        for (i = 1; i <= n_bad; i++) printf "%s  failed: %s\n", i == 1 ? "\n" : "", bad[i]
        printf "\n[==========] %d test(s) run.\n", passed + failed + skipped
        printf "[  PASSED  ] %d test(s).\n", passed
        if (skipped) printf "[  SKIPPED ] %d test(s).\n", skipped
        if (failed) printf "[  FAILED  ] %d test(s).\n", failed
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit failed > 0
    }' "$@"
}

# What the tests that were skipped said, most frequent reason first: "TEST<tab>REASON" a line, in
# files beside the results.
skips() {
    local file
    for file in "$@"; do
        cat "${file%.txt}.skips" 2>/dev/null
    done | awk -F '\t' '
    !seen[$1, $2]++ { n[$2]++; if (n[$2] <= 3) who[$2] = who[$2] (n[$2] > 1 ? ", " : "") $1 }
    END {
        for (why in n)
            printf "%d\t  skipped: %s: %s%s\n", n[why], why, who[why], (n[why] > 3 ? ", and " n[why] - 3 " more" : "")
    }' | sort -t "$(printf '\t')" -k 1,1nr -k 2 | cut -f 2- | { IFS= read -r first && printf '\n%s\n' "$first" && cat; }
}

# What failed tests said, once more at the end of all: many lines ago it was printed in passing.
said() {
    local file
    for file in "$@"; do
        cat "${file%.txt}.failures" 2>/dev/null
    done
}

# What is known to take long starts first, so that no processor is idle behind it at the end.
longest_first() {
    printf '%s\n' "$@" | awk '
    NR == FNR { rank[$1] = NR; next }
    {
        name = $0
        sub(/^.*\/tests\//, "", name)
        print (name in rank ? rank[name] : 1000000) " " FNR " " $0
    }' "$here/longest.txt" - | sort -n -k 1,1 -k 2,2 | cut -d ' ' -f 3-
}

# What `times` says of a shell's children, as seconds of processor time, user and system: on a machine that
# does other things too, they say better what a program costs.
spent() {
    awk 'NR == 2 {
        for (i = 1; i <= 2; i++) {
            split($i, part, /[ms]/)
            sum += 60 * part[1] + part[2]
        }
        printf "%.0f", sum
    }' "$1"
}

# tell PROGRAM "PASSED FAILED SKIPPED [REASON]" SECONDS LOG
tell() {
    local program=$1 seconds=$3 log=$4 passed failed skipped reason
    read -r passed failed skipped reason <<<"$2"
    if [ "${VERBOSE:-0}" != 0 ]; then
        echo "== $program ($seconds)"
        cat "$log"
    elif [ "$failed" -gt 0 ]; then
        echo "== $program ($seconds)"
        awk -f "$here/failed.awk" "$log"
        echo "== $program: $passed passed, $failed failed; all of it: $log"
    else
        echo "ok  $program: $passed passed$([ "$skipped" -eq 0 ] || echo ", $skipped skipped") ($seconds)"
        sed -n 's/^counted: /      /p' "$log"
    fi
    [ -z "$reason" ] || echo "== $program: $reason"
}

# One program: log, verdict and result line. Called again by this script, in parallel.
one() {
    local limit=$1 logs=$2 results=$3 program=$4
    local log=$logs/$(echo "${program#build/}" | tr / _).log
    local start=$SECONDS rc pid
    # Job control gives the program a process group of its own with default signals, so that
    # Ctrl-C here can end it and all it started, and tests of signals see what a user would.
    set -m
    timeout --kill-after=10 "$limit" "$program" >"$log" 2>&1 </dev/null &
    pid=$!
    trap 'kill -TERM -- -$pid 2>/dev/null; exit 130' INT TERM HUP
    wait "$pid" 2>/dev/null
    rc=$?
    # Job control tells of programs that somebody stopped, too.
    while [ $rc -gt 128 ] && kill -0 "$pid" 2>/dev/null; do
        sleep 0.1
        wait "$pid" 2>/dev/null
        rc=$?
    done
    set +m
    local line took
    times >"$log.times" # a shell below this one would tell of its own
    took="$((SECONDS - start)) s, $(spent "$log.times") of processor"
    rm -f "$log.times"
    line=$(awk -v rc=$rc -v limit="$limit" -f "$here/cmocka.awk" "$log")
    {
        flock 9
        tell "$program" "$line" "$took" "$log"
        echo "$program $line" >>"$results"
        [ "$(cut -d ' ' -f 2 <<<"$line")" = 0 ] || {
            printf '\n  %s:\n' "${program#build/}"
            awk -f "$here/failed.awk" "$log" | tail -n "$said_lines" | sed 's/^/    /'
        } >>"${results%.txt}.failures"
        awk -v program="${program#build/}" -f "$here/skipped.awk" "$log" >>"${results%.txt}.skips"
    } 9>>"$results.lock"
}

if [ "${1:-}" = --one ]; then
    shift
    one "$@"
    exit 0
fi

jobs=2 limit=120 logs=build/logs results=
while getopts j:t:l:r:s option; do
    case $option in
    j) jobs=$OPTARG ;;
    t) limit=$OPTARG ;;
    l) logs=$OPTARG ;;
    r) results=$OPTARG ;;
    s)
        shift $((OPTIND - 1))
        skips "$@"
        said "$@"
        summary "$@"
        exit
        ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
mkdir -p "$logs"
results=${results:-$logs/results.txt}
mkdir -p "$(dirname "$results")"
: >"$results"
: >"${results%.txt}.skips"
: >"${results%.txt}.failures"
if [ $# -gt 0 ]; then
    longest_first "$@" | tr '\n' '\0' |
        xargs -0 -n 1 -P "$jobs" "$0" --one "$limit" "$logs" "$results"
fi
rm -f "$results.lock"
# A worker that was itself killed wrote no line.
for program in "$@"; do
    grep -qF -- "$program " "$results" || echo "$program 0 1 0 the runner was interrupted" >>"$results"
done
sort -o "$results" "$results"
skips "$results"
summary "$results"
