"""Holds kiln to ONNX Runtime on the operators that its optimiser and quantiser write.

    python vendor_ops.py --kiln build/gcc-release/kiln --work DIR [--filter TEXT] [--profile native]

Each case is a small model with inputs drawn by a fixed seed. ONNX Runtime runs it as it is (its
optimiser off, one thread), the outputs become golden files, and `kiln verify` must give the same by the
reference and, with --profile, compiled. Where ONNX Runtime has no kernel for this processor the case
brings its own numbers. The exit code is 1 where anything differs, 77 where a wheel is missing.
"""
import argparse
import json
import os
import subprocess
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
try:
    import onnx
    import onnxruntime as ort
    import cases
    import flows
    import golden
    from runtime import session
except ImportError as missing:
    print(f"vendor-ops: left out, {missing}")
    sys.exit(77)


def expected(case):
    """(names, arrays) of the outputs."""
    if case.want is not None:
        return list(case.want), list(case.want.values())
    s = session(case.model)
    names = [o.name for o in s.get_outputs()]
    return names, s.run(names, case.feeds)


def write(case, folder):
    os.makedirs(folder, exist_ok=True)
    onnx.save(case.model, os.path.join(folder, "model.onnx"))
    golden.write(folder, case.name, "ort", case.feeds, dict(zip(*expected(case))))


def verify(kiln, folder, how, case):
    """None where kiln agrees, else what it says."""
    out = os.path.join(folder, "result.json")
    if os.path.exists(out):
        os.remove(out)
    done = subprocess.run([kiln, "verify", os.path.join(folder, "model.onnx"), "--golden", folder, "--json", out] + how,
                          capture_output=True, text=True)
    if done.returncode == 0:
        return None
    said = (done.stderr + done.stdout).strip()
    if not os.path.exists(out):
        return said
    with open(out) as f:
        checks = [c for c in json.load(f)["checks"] if c["outcome"] != "passed"]
    def is_near(c):
        return "max_abs_error" in c and (
            c["max_abs_error"] <= case.steps or c["rms_error"] <= case.rms * c["rms_expected"])
    if checks and all(is_near(c) for c in checks):
        return None
    return said


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--kiln", required=True)
    p.add_argument("--work", required=True)
    p.add_argument("--filter", default="")
    p.add_argument("--profile")
    p.add_argument("--flows", action="store_true", help="also whole networks through the optimiser and quantiser")
    o = p.parse_args()
    ways = [["--reference"]] + ([["--profile", o.profile]] if o.profile else [])
    n, bad = 0, 0
    wanted = [(c.name, c) for c in cases.all_cases() if o.filter in c.name]
    if o.flows:
        wanted += flows.all_cases(os.path.join(o.work, "flows"), o.filter)
    for name, case in wanted:
        folder = os.path.join(o.work, name)
        try:
            if isinstance(case, Exception):
                raise case
            write(case, folder)
        except Exception as e:  # ONNX Runtime has many kinds
            print(f"NO MODEL {name}: {type(e).__name__} {str(e).strip()[:400]}", flush=True)
            n, bad = n + 1, bad + 1
            continue
        for way in ways:
            n += 1
            why = verify(o.kiln, folder, way, case)
            if why is not None:
                bad += 1
                print(f"FAILED {case.name} {' '.join(way)}:\n  {why[-600:]}", flush=True)
    print(f"vendor-ops: ONNX Runtime {ort.__version__}: {n} checks, {bad} failed")
    sys.exit(1 if bad or n == 0 else 0)


if __name__ == "__main__":
    main()
