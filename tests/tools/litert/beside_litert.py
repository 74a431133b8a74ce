"""kiln beside LiteRT on every TensorFlow Lite file of ../shared/models: the table, and geometric means.

    python3 beside_litert.py --kiln build/gcc-release/kiln --work DIR [--threads 1,2] [--rounds N] [--tune TIME] [--filter TEXT]

Each file is measured by `kiln bench --baselines litert`, both in the same rounds: untuned, or after --tune (60s, each number of
threads by itself) with a tuning database of its own in DIR. Ratios are kiln's time over LiteRT's, with their range of 95%. A file
whose first input is of integers is one of integers. The results lie in DIR, by the files' names. The exit code is 1 where
something could not be measured; no time is judged.
"""
import argparse
import glob
import json
import math
import os
import re
import subprocess
import sys

FILES = os.path.join("..", "shared", "models", "files", "*", "*.tflite")


def options():
    p = argparse.ArgumentParser()
    p.add_argument("--kiln", required=True)
    p.add_argument("--work", required=True)
    p.add_argument("--threads", default="1,2")
    p.add_argument("--rounds", default="30")
    p.add_argument("--tune", metavar="TIME", help="tune each file so long first (60s)")
    p.add_argument("--filter", default="", help="only files whose path has this text")
    return p.parse_args()


def said(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError((done.stderr + done.stdout).strip()[:400])
    return done.stdout


def kind_of(o, path):
    first = re.search(r"^inputs\s+\S+: (\w+)\[", said([o.kiln, "inspect", path]), re.M)
    return "int" if first and re.match(r"[iu]\d", first.group(1)) else "f32"


def measure(o, name, path):
    """Rows of threads, kiln's and LiteRT's milliseconds and the ratio with its range."""
    results = os.path.join(o.work, name + ".json")
    of = ["--no-ready", "--no-predict"]
    if o.tune:
        of = ["--db", os.path.join(o.work, name + ".db")]
        for threads in o.threads.split(","):
            said([o.kiln, "tune", path, "--profile", "native", "--threads", threads, "--time-limit", o.tune, "--quiet", *of])
    if os.path.exists(results):
        os.remove(results)
    done = subprocess.run([o.kiln, "bench", path, "--threads", o.threads, "--rounds", o.rounds, "--baselines", "litert", "--quiet",
                           "--json", results, *of], capture_output=True, text=True)
    if not os.path.exists(results):
        raise RuntimeError(done.stderr.strip()[:400])
    with open(results) as f:  # also where LiteRT refuses the file
        measured = json.load(f)
    rows = []
    for row in measured["threads"]:
        rival = row["baselines"][0]
        if rival["state"] != "measured":
            raise RuntimeError(f"LiteRT: {rival['problem']}")
        r = rival["ratio"]
        rows.append((row["threads"], row["median_ms"], rival["median_ms"], r["estimate"], r["low"], r["high"]))
    return rows, measured["output"]


def main():
    o = options()
    os.makedirs(o.work, exist_ok=True)
    ratios, failed = {}, 0
    print(f"{'file':36} {'kind':4} threads    kiln ms  LiteRT ms  ratio  [95%]")
    for path in sorted(p for p in glob.glob(FILES) if o.filter in p):
        name = os.path.basename(os.path.dirname(path)).removesuffix("_tflite")
        try:
            kind = kind_of(o, path)
            rows, output = measure(o, name, path)
        except RuntimeError as e:
            failed += 1
            print(f"{name:36} not measured: {e}", flush=True)
            continue
        for threads, ours, theirs, ratio, low, high in rows:
            ratios.setdefault((kind, threads), []).append(ratio)
            wrong = "" if output["ok"] else f"  WRONG: {output['problem']}"
            print(f"{name:36} {kind:4} {threads:7} {ours:10.4f} {theirs:10.4f} {ratio:6.3f}  [{low:.3f}, {high:.3f}]{wrong}",
                  flush=True)
    for (kind, threads), of_kind in sorted(ratios.items()):
        mean = math.exp(sum(map(math.log, of_kind)) / len(of_kind))
        print(f"geometric mean, {kind}, threads {threads}: {mean:.3f} of {len(of_kind)} files, the worst {max(of_kind):.3f}")
    sys.exit(1 if failed or not ratios else 0)


if __name__ == "__main__":
    main()
