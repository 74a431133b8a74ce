#!/bin/bash
# run.sh OUT [--minutes N] [--gpu WHICH] [--profile P] [--only NAME,NAME...] [--db FILE] [--short] [--list]
#
# Runs kiln's GPU tests, tunes and measures on this machine, and leaves the results in OUT, a handful of
# files. Needs a driver and Python 3; PyTorch with CUDA is compared with where it is there. Each step
# has a time limit of its own, and one that fails or hangs costs itself alone.
#
#   --minutes N     all of it (30)
#   --gpu WHICH     make code for this GPU, as kiln profile detect --gpu has it (cuda)
#   --profile P     make code for this profile instead: records are for it, not for this very GPU
#   --only LIST     these steps alone; a name that ends in * stands for all that begin so
#   --db FILE       begin with the tuning database of an earlier run
#   --short         a few steps on the spot, to see whether the kit works here
#   --list          print the steps and end
set -u
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)

fail() {
    echo "run.sh: $*" >&2
    exit 2
}

out= minutes=30 gpu=cuda profile= only= db= mode=gpu list=
while [ $# -gt 0 ]; do
    case $1 in
    --minutes | --gpu | --profile | --only | --db)
        [ $# -ge 2 ] || fail "$1 needs a value"
        declare "${1#--}=$2"
        shift
        ;;
    --short) mode=short ;;
    --list) list=yes ;;
    -*) fail "there is no option '$1'; see the head of $0" ;;
    *)
        [ -z "$out" ] || fail "one folder for results, not '$out' and '$1'"
        out=$1
        ;;
    esac
    shift
done
case $minutes in '' | *[!0-9]* | 0) fail "--minutes $minutes: a whole number from 1" ;; esac
[ -n "$out" ] || [ -n "$list" ] || fail "usage: ./run.sh OUT [--minutes N]"
begun=$(date +%s)
end=$((begun + minutes * 60))

# --- a folder to work in, gone at the end ---------------------------------------------------------
work=$(mktemp -d "${TMPDIR:-/tmp}/kiln-gpu.XXXXXX") || exit 4
trap 'rm -rf "$work"' EXIT
trap 'exit 7' INT TERM HUP
if [ -f "$here/kit.tar.xz" ]; then
    python3 - "$here/kit.tar.xz" "$work" <<'PYTHON' || fail "kit.tar.xz could not be unpacked"
import sys, tarfile
with tarfile.open(sys.argv[1], "r:xz") as archive:
    archive.extractall(sys.argv[2])
PYTHON
else
    cp "$here"/steps.txt "$here"/*.py "$work" # of the sources: --list
fi

# Steps of this run: name, weight, least, command, each an array.
names=() weights=() leasts=() commands=()
is_wanted() {
    [ -n "$only" ] || { [ "$2" = all ] || [ "$2" = "$mode" ]; return; }
    local pattern
    for pattern in ${only//,/ }; do
        # Unquoted: the asterisk counts.
        [[ $1 == $pattern ]] && return 0
    done
    return 1
}
trim() {
    local text="${1#"${1%%[![:space:]]*}"}"
    printf %s "${text%"${text##*[![:space:]]}"}"
}
while IFS='|' read -r name weight least when command; do
    name=$(trim "$name") when=$(trim "$when")
    case $name in '' | '#'*) continue ;; esac
    is_wanted "$name" "$when" || continue
    names+=("$name") weights+=($weight) leasts+=($least) commands+=("$(trim "$command")")
done <"$work/steps.txt"
[ ${#names[@]} -gt 0 ] || fail "no step is called '$only'; --list names them"
if [ -n "$list" ]; then
    for i in "${!names[@]}"; do
        printf '%-18s %3d %4d  %s\n' "${names[i]}" "${weights[i]}" "${leasts[i]}" "${commands[i]}"
    done
    exit 0
fi

mkdir -p "$out" "$work/results/logs" || exit 4
[ -z "$db" ] || cp "$db" "$work/results/tuning.db" || exit 3
out=$(cd "$out" && pwd)
results=$work/results
export PATH="$work/bin:$PATH" KILN_LIBEXEC="$work/bin" KILN_DATA="$work/share/kiln"
export KILN_DB="$results/tuning.db" XDG_CACHE_HOME="$work/cache" XDG_STATE_HOME="$work/state"
export TMPDIR="$work/tmp"
export KILN_PYTHON="${KILN_PYTHON:-$(command -v python3)}" KILN_TORCH_SECONDS="${KILN_TORCH_SECONDS:-15}"
mkdir -p "$TMPDIR"
cd "$work" || exit 4

# --- which GPU ------------------------------------------------------------------------------------
timeout -k 5 60 kiln profile detect --no-measure -o "$results/host.json" >"$results/gpus.txt" 2>&1
if [ -z "$profile" ]; then
    profile=$results/gpu.json
    timeout -k 5 60 kiln profile detect --gpu "$gpu" -o "$profile" 2>"$work/why" || {
        cat "$work/why" >&2
        exit 4
    }
fi
{
    echo "profile: $profile"
    cat "$results/gpus.txt"
    uname -a
    nproc
    timeout 20 nvidia-smi 2>&1
    timeout 60 python3 -c 'import torch; print("torch", torch.__version__, torch.version.cuda)' 2>&1 |
        tail -1
} >"$results/machine.txt"

# A database that is named must be there. That there is nothing to import is an error, behind which it is.
[ -n "$db" ] || kiln db import /dev/null >/dev/null 2>&1
[ -f "$KILN_DB" ] || fail "no tuning database could be made: $(kiln db import /dev/null 2>&1)"

# Libraries are compared with that come with this Python, if any.
# Baselines that this kiln knows, that are for GPUs and that are here.
timeout -k 5 60 kiln baselines list >"$results/baselines.txt" 2>&1
baselines_of() {
    awk -v kind="$1" '$1 ~ /cuda|cudnn|cublas|tensorrt|clblast/ && $2 == kind && $3 == "here" {
        list = list (list == "" ? "" : ",") $1 }
        END { if (list != "") print "--baselines " list }' "$results/baselines.txt"
}
ops=$(baselines_of operators)
nets=$(baselines_of models)

# A test of random cases on the device, from one seed after another: once, then as long as the time allows.
random() { # random TEST PROFILE
    local kind=cuda seed=1 longest=5 from
    grep -q '"arch": "opencl"' <(kiln profile show "$2") && kind=opencl
    while [ $seed = 1 ] || { [ $((SECONDS + 2 * longest)) -lt "$limit" ] && [ $seed -le 60 ]; }; do
        from=$SECONDS
        LD_LIBRARY_PATH="$work/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" KILN="$work/bin/kiln" \
            KILN_TEST_GPU=$kind KILN_TEST_PROFILE=$2 KILN_GRAPHS=10 KILN_SCHEDULES=1 KILN_SEED=$seed \
            "$work/bin/test_gpu_$1" || return 1
        [ $((SECONDS - from)) -le $longest ] || longest=$((SECONDS - from))
        seed=$((seed + 1))
    done
}
export -f random

# ONNX's tests by operator, several at once, as many as the time allows: one that hangs costs its
# operator alone. 1: one failed that does not fail on a CPU too (docs/conformance.md).
conformance_one() { # conformance_one PART PROFILE
    local left=$((conformance_end - $(date +%s))) said
    [ $left -gt 0 ] || { echo "$1: no time left"; return 0; }
    said=$(timeout -k 5 $((left + 10)) kiln verify --onnx-tests "$work/models/onnx-tests" --filter "$1" \
        --profile "$2" --json "$work/results/conformance/$1.json" 2>&1)
    printf '%s\n' "$said" | sed "s/^/$1: /" | tail -n 20
}
conformance() { # conformance PROFILE [PART]
    export conformance_end=$(($(date +%s) + limit - 20))
    mkdir -p "$work/results/conformance"
    if [ $# -gt 1 ]; then
        echo "$2"
    else
        # The names' first words; what begins with another is among that one's.
        ls "$work/models/onnx-tests/"* | sed -n 's/^\(test_[A-Za-z0-9]*\).*/\1/p' | sort -u |
            awk 'last == "" || index($0, last) != 1 { print; last = $0 }'
    fi | xargs -P $((($(nproc) + 2) / 3)) -I '{}' bash -c 'conformance_one "$1" "$2"' - '{}' "$1" |
        tee "$work/results/conformance.txt" | grep -vE ' 0 failed, [0-9]+ unsupported$'
    awk '/[0-9]+ passed, [0-9]+ failed, [0-9]+ unsupported$/ {
            passed += $(NF - 5); failed += $(NF - 3); unsupported += $(NF - 1); parts++ }
        /no time left$/ { late++ }
        END { printf "%d passed, %d failed, %d unsupported; %d parts, %d without time\n",
            passed, failed, unsupported, parts, late
            exit passed == 0 }' "$work/results/conformance.txt" || return 1
    ! grep -v 'test_dft_inverse' "$work/results/conformance.txt" | grep -qE '^[^:]*: failed '
}
export -f conformance conformance_one
export work

# --- what is brought home, written anew after every step ------------------------------------------
bring_home() {
    timeout 60 python3 "$work/summary.py" "$results" "$out" >"$results/logs/summary.log" 2>&1 ||
        cp "$results/logs/summary.log" "$out/summary-failed.txt"
    cp "$results/tuning.db" "$out/tuning.db" 2>/dev/null
    tar czf "$out/details.tar.gz.new" -C "$results" --exclude='*.kiln.tar.zst' --exclude=tuning.db \
        --exclude='tuning.db-*' . 2>/dev/null && mv "$out/details.tar.gz.new" "$out/details.tar.gz"
}

total=0
for w in "${weights[@]}"; do total=$((total + w)); done
for i in "${!names[@]}"; do
    name=${names[i]}
    left=$((end - $(date +%s)))
    limit=$((left * weights[i] / total))
    [ $limit -ge "${leasts[i]}" ] || limit=${leasts[i]}
    total=$((total - weights[i]))
    if [ $left -lt 10 ]; then
        printf '%s\t%s\t%s\t%s\n' "$name" "no time left" 0 "" >>"$results/steps.tsv"
        continue
    fi
    [ $limit -le $left ] || limit=$left
    # What does not count as tuning: the networks' reference, what is under way at the end.
    tune=$((limit * 85 / 100 - 5))
    [ $tune -ge 5 ] || tune=5
    command=${commands[i]}
    command=${command//'{P}'/$profile} command=${command//'{T}'/$tune}
    command=${command//'{O}'/$results} command=${command//'{M}'/$work/models}
    command=${command//'{ops}'/$ops} command=${command//'{nets}'/$nets}
    printf '%s  %-18s at most %d s\n' "$(date +%T)" "$name" "$limit"
    from=$(date +%s)
    {
        echo "\$ $command"
        limit=$limit timeout -k 10 "$limit" bash -c "$command"
    } >"$results/logs/$name.log" 2>&1 </dev/null
    rc=$?
    took=$(($(date +%s) - from))
    case $rc in
    0) verdict=good ;;
    1) verdict="a check failed" ;;
    124 | 137) verdict="over its time" ;;
    *) verdict="ended with $rc" ;;
    esac
    printf '%s\t%s\t%s\t%s\n' "$name" "$verdict" "$took" "$command" >>"$results/steps.tsv"
    printf '%s  %-18s %s, %d s\n' "$(date +%T)" "$name" "$verdict" "$took"
    [ "$verdict" = good ] || tail -n 5 "$results/logs/$name.log" | sed 's/^/    /'
    rm -f "$results/samplenet.kiln.tar.zst"
    bring_home
done
bring_home
cat "$out/summary.txt"
grep -qvE '^[^	]*	good	' "$results/steps.tsv" && exit 1
exit 0
