"""ONNX models drawn at random, which ONNX Runtime runs and kiln must agree with.

    python random_models.py --kiln build/gcc-release/kiln --work DIR [--seed N] [--models N] [--profile native]

A second generator beside tests/pipeline/test_random_graphs.c: it knows ONNX and nothing of kiln, so that the way in
is tested too, by results that are not kiln's. Each model has a seed; what fails is kept as DIR/SEED. What shows
nothing is left out and counted. The exit code is 1 where anything differs or nothing was right, 77 where a wheel is
missing.
"""
import argparse
import collections
import os
import random
import shutil
import subprocess
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    import golden
    import makers
except ImportError as missing:
    print(f"random-models: left out, {missing}")
    sys.exit(77)
from onnx import helper, numpy_helper

# What kiln says, and why a model then shows nothing.
LEFT_OUT = {"every element hangs on rounding": "hanging on rounding in every element",
            "depends on data": "a length that depends on data, read by what has no rule for it"}
BY_DATA = {"NonZero", "Compress"}
MOST_ELEMENTS, LARGEST = 40000, 1e4


class Nothing(Exception):
    """No value suits the maker."""


def run(model, names, feeds):
    o = ort.SessionOptions()
    o.log_severity_level, o.intra_op_num_threads = 4, 1
    o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), o, providers=["CPUExecutionProvider"]).run(names, feeds)


def described(name, array):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def is_fit(array):
    return (isinstance(array, np.ndarray) and 0 < array.size <= MOST_ELEMENTS and
            (array.dtype.kind != "f" or (np.isfinite(array).all() and np.abs(array).max() <= LARGEST)))


class Model:
    def __init__(self, seed):
        self.choose, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.opset = self.choose.randint(13, 21)
        self.nodes, self.consts, self.values, self.feeds = [], [], [], {}

    def name(self):
        return f"v{len(self.values)}_{len(self.nodes)}"

    def const(self, array):
        self.consts.append(numpy_helper.from_array(np.asarray(array), f"k{len(self.consts)}"))
        return self.consts[-1].name

    def input(self, *shape):
        name = self.name()
        self.feeds[name] = self.numbers.standard_normal(shape).astype(np.float32)
        self.values.append((name, self.feeds[name]))

    def pick(self, suits):
        """A value, recent ones more often."""
        found = [v for v in self.values if suits(v[1])]
        if not found:
            raise Nothing
        return self.choose.choice(found[-6:] if self.choose.random() < 0.7 else found)

    def node(self, op, operands, n_out=1, **attributes):
        """The outputs' names; None: it is not taken."""
        outs = [f"{self.name()}_{k}" for k in range(n_out)]
        node = helper.make_node(op, operands, outs, name=f"n{len(self.nodes)}_{op}", **attributes)
        known = dict(self.values)
        feeds = {x: known[x] for x in operands if x in known}
        graph = helper.make_graph([node], "one", [described(n, a) for n, a in feeds.items()],
                                  [helper.make_empty_tensor_value_info(o) for o in outs],
                                  [c for c in self.consts if c.name in operands])
        try:
            results = run(self.whole(graph), None, feeds)
        except Exception:  # ONNX Runtime has many kinds
            return None
        if not all(is_fit(x) for x in results):
            return None
        self.nodes.append(node)
        self.values += list(zip(outs, results))
        return outs

    def whole(self, graph):
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)

    def finish(self, seed):
        """(model, names of outputs): what nobody reads, and some of the rest."""
        read = {x for n in self.nodes for x in n.input}
        outs = [(n, a) for n, a in self.values if n not in self.feeds and (n not in read or self.choose.random() < 0.1)]
        used = [c for c in self.consts if c.name in read]
        graph = helper.make_graph(self.nodes, f"seed_{seed}", [described(n, a) for n, a in self.feeds.items()],
                                  [described(n, a) for n, a in outs], used)
        return self.whole(graph), [n for n, _ in outs]


def draw(seed):
    m = Model(seed)
    r, spatial = m.choose, m.choose.choice([1, 2, 2, 2, 3])
    m.input(r.choice([1, 1, 2]), r.choice([3, 4, 8, 16, 17]), *(r.choice([5, 7, 8, 12]) for _ in range(spatial)))
    if r.random() < 0.4:
        m.input(r.choice([1, 3, 6]), r.choice([5, 8, 16]))
    wanted = r.randint(4, 16)
    for _ in range(60):
        if len(m.nodes) >= wanted:
            break
        try:
            r.choice(makers.MAKERS)(m, r)
        except Nothing:
            pass
    return m


def hold(kiln, profile, path, folder, is_package):
    """kiln's verdict. A model alone is read with the case's inputs at hand, so that lengths which depend on data are
    known; a package is not."""
    def call(*arguments):
        return subprocess.run([kiln, *arguments], capture_output=True, text=True, timeout=600)
    if not is_package:
        return call("verify", path, "--golden", folder, "--profile", profile)
    package = os.path.join(folder, "model.kiln.tar.zst")
    done = call("build", path, "--profile", profile, "-o", package, "--no-ready")
    return done if done.returncode != 0 else call("verify", package, "--golden", folder, "--model", path)


def check(kiln, profile, seed, folder):
    """(outcome, words): 'right', 'failed' or, with the reason, 'left out': it shows nothing."""
    m = draw(seed)
    model, names = m.finish(seed)
    if not names:
        return "left out", "without an output"
    try:
        results = run(model, names, m.feeds)
    except Exception:  # ONNX Runtime has many kinds
        return "left out", "refused as a whole by ONNX Runtime, which takes each node"
    os.makedirs(folder, exist_ok=True)
    golden.write(folder, f"seed {seed}", f"ort {ort.__version__}", m.feeds, dict(zip(names, results)))
    onnx.save(model, os.path.join(folder, "model.onnx"))
    done = hold(kiln, profile, os.path.join(folder, "model.onnx"), folder,
                any(n.op_type in BY_DATA for n in m.nodes))
    said = (done.stderr + done.stdout).strip()
    reasons = [words for said_so, words in LEFT_OUT.items() if said_so in said] if done.returncode != 0 else []
    if done.returncode != 0 and not reasons:
        return "failed", " ".join(n.op_type for n in m.nodes) + "\n  " + said[-600:]
    shutil.rmtree(folder)
    return ("left out", reasons[0]) if reasons else ("right", "")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--kiln", required=True)
    p.add_argument("--work", required=True)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--models", type=int, default=300)
    p.add_argument("--profile", default="native")
    o = p.parse_args()
    count, why = collections.Counter(), collections.Counter()
    for seed in range(o.seed, o.seed + o.models):
        outcome, words = check(o.kiln, o.profile, seed, os.path.join(o.work, str(seed)))
        count[outcome] += 1
        if outcome == "failed":
            print(f"FAILED seed {seed}: {words}", flush=True)
        elif outcome == "left out":
            why[words] += 1
    for words, n in why.most_common():
        print(f"left out: {n} {words}")
    print(f"random-models: ONNX Runtime {ort.__version__}: {o.models} models from seed {o.seed}: {count['right']} right, "
          f"{count['failed']} failed, {count['left out']} left out")
    sys.exit(1 if count["failed"] or count["right"] == 0 else 0)


if __name__ == "__main__":
    main()
