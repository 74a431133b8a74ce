"""What `kiln export` writes, run by ONNX Runtime.

    python export_onnx.py --kiln build/gcc-release/kiln --work DIR [--random DIR] [--filter TEXT]

Five kinds of models: the ONNX project's conformance tests (their own expected data), the trained ONNX models of
../shared/models (golden outputs), all files there of whatever format (what kiln makes of them compiled: so formats
are checked whose runtime is not here), networks of the zoo (the file that the zoo writes, against the export of it after
the graph passes), and graphs drawn at random (what kiln's reference gave; tests/compiler/export/
test_random_export.c leaves them below --random). Each export is held to ONNX's own checker, with types and shapes, and
run without optimisation. What ONNX Runtime has no kernel for is counted by operator and type. The exit code is 1 where
anything differs, is refused by the checker or nothing was right, 77 where a wheel is missing.
"""
import argparse
import collections
import glob
import json
import os
import re
import subprocess
import sys
import urllib.parse

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    from onnx import numpy_helper
except ImportError as missing:
    print(f"export-onnx: left out, {missing}")
    sys.exit(77)

SHARED = os.path.join("..", "shared")
NODE_TESTS, MODELS = os.path.join(SHARED, "onnx-node-tests"), os.path.join(SHARED, "models")
# As the ONNX project's own runner has them, and by type what a few roundings of it are.
RTOL, ATOL = 1e-3, 1e-6
BY_TYPE = {"float16": 2e-2, "bfloat16": 6e-2}
NO_KERNEL = re.compile(r"NOT_IMPLEMENTED|not supported|Could not find an implementation|is not implemented|"
                       r"Unsupported|No opset import for domain|not a registered function/op|under development|"
                       r"unknown data type|Unexpected input data type", re.I)
# Where ONNX's checker and ONNX Runtime differ from ONNX's text and data: in the model's path and what is said, and why.
ELSEWHERE = {r"resize_downsample_scales_(cubic|linear)_align_corners.*instead of":
             "align_corners by scales: ONNX Runtime aligns to a whole length, and leaves out this test itself",
             r"_inlfunc_ReduceLogSum": "ReduceLogSum of integers has a body that is of floats",
             r"AveragePool.*Inferred shape": "a window that lies in the padding is counted when shapes are inferred"}


class Left(Exception):
    """Shows nothing, for the reason given."""


def export(args, model, out, options=(), files=None):
    """Inputs that decide a shape are fixed to their values in `files`."""
    options = list(options)
    while True:
        done = subprocess.run([args.kiln, "export", model, "-o", out, "--quiet", *options], capture_output=True,
                              text=True)
        if done.returncode == 0:
            return
        name = re.search(r"depends on graph input '([^']*)'", done.stderr)
        bind = f"{name.group(1)}={(files or {}).get(name.group(1))}" if name else None
        if not name or name.group(1) not in (files or {}) or bind in options:
            raise Left("kiln: " + re.sub(r"'[^']*'|\d+", "_", done.stderr.strip().split("\n")[0])[:90])
        options += ["--bind", bind]


def run(path, feeds, level=ort.GraphOptimizationLevel.ORT_DISABLE_ALL):
    onnx.checker.check_model(path, full_check=True)
    o = ort.SessionOptions()
    o.graph_optimization_level = level
    o.intra_op_num_threads, o.log_severity_level = 1, 4
    try:
        session = ort.InferenceSession(path, o, providers=["CPUExecutionProvider"])
        names = [i.name for i in session.get_inputs()]
        got = session.run(None, {k: v for k, v in feeds.items() if k in names})
    except Exception as e:
        if "umpy" in str(e):
            raise Left("ONNX Runtime's Python has no such type") from e
        if NO_KERNEL.search(str(e)):
            op = re.search(r"for (\w+)\(", str(e))
            raise Left(f"ONNX Runtime has no kernel: {op.group(1) if op else str(e)[:160]}") from e
        if "onnxruntime/core/providers/" in str(e) or "Status Message" in str(e):
            said = re.sub(r".*(false|Message). ?", "", str(e).strip())
            raise Left(f"ONNX Runtime's kernel refuses it: {re.sub(r'[^ ]*/', '', said)[:100].strip()}") from e
        raise
    return dict(zip([o.name for o in session.get_outputs()], got))


def as_number(array):
    return np.asarray(array).astype(np.float64) if np.asarray(array).dtype.kind not in "iub" else np.asarray(array)


def difference(got, want, rtol, atol):
    """None where they are near enough."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return f"shape {got.shape} instead of {want.shape}"
    if got.dtype == np.uint8 and want.dtype.itemsize == 1:
        want = want.view(np.uint8)
    if got.dtype != want.dtype:
        return f"type {got.dtype} instead of {want.dtype}"
    scale = BY_TYPE.get(str(want.dtype), 0)
    got, want = as_number(got), as_number(want)
    if np.allclose(got, want, rtol=max(rtol, scale), atol=max(atol, scale), equal_nan=True):
        return None
    return f"{got.ravel()[:4]} instead of {want.ravel()[:4]}"


def rows(results, name):
    """The rows of a bounded output that count."""
    value = results[name]
    count = results.get(name + ".count")
    return value if count is None else value[:int(count)]


def tensors(folder, kind):
    found = []
    for i in range(len(glob.glob(os.path.join(folder, kind + "_*.pb")))):
        proto = onnx.TensorProto()
        with open(os.path.join(folder, f"{kind}_{i}.pb"), "rb") as f:
            proto.ParseFromString(f.read())
        found.append(numpy_helper.to_array(proto))
    return found


def conformance(args, folder):
    path, data = os.path.join(folder, "model.onnx"), os.path.join(folder, "test_data_set_0")
    model = onnx.load(path)
    constants = {i.name for i in model.graph.initializer}
    names = [i.name for i in model.graph.input if i.name not in constants]
    try:
        inputs, outputs = tensors(data, "input"), tensors(data, "output")
    except Exception as e:
        raise Left("data that is no tensor") from e
    shapes = [f"{n}:{'x'.join(map(str, v.shape))}" for n, v in zip(names, inputs) if v.ndim > 0]
    out = os.path.join(args.work, "model.onnx")
    files = {n: os.path.join(data, f"input_{i}.pb") for i, n in enumerate(names)}
    try:
        export(args, path, out, files=files)
    except Left:
        export(args, path, out, [w for s in shapes for w in ("--shape", s)], files)
    got = run(out, dict(zip(names, inputs)))
    for o, want in zip(model.graph.output, outputs):
        wrong = difference(rows(got, o.name), want, RTOL, ATOL)
        if wrong:
            raise AssertionError(f"output '{o.name}': {wrong}")


def trained(args, folder):
    """All cases of a golden folder whose outputs are there whole."""
    name = os.path.basename(folder)
    model = glob.glob(os.path.join(MODELS, "files", name, "*.onnx"))
    if not model:
        raise Left("no ONNX file")
    with open(os.path.join(folder, "golden.json")) as f:
        cases = json.load(f)["cases"]
    n = 0
    for case in cases:
        if any("npy" not in t for t in case["inputs"] + case["outputs"]):
            continue
        declared = [i for i in onnx.load(model[0]).graph.input
                    if i.name not in {c.name for c in onnx.load(model[0]).graph.initializer}]
        named = {t.get("name", d.name): np.load(os.path.join(folder, t["npy"]))
                 for t, d in zip(case["inputs"], declared)}
        options = []
        for k, v in named.items():
            options += ["--shape", f"{k}:{'x'.join(map(str, v.shape))}"] if v.ndim > 0 else []
            options += ["--bind", f"{k}={v.item()}"] if v.ndim == 0 else []
        out = os.path.join(args.work, "model.onnx")
        export(args, model[0], out, options)
        got = run(out, named)
        for t in case["outputs"]:
            want = np.load(os.path.join(folder, t["npy"]))
            wrong = difference(got[t["name"]], want, 1e-3, 1e-4 * float(np.sqrt(np.mean(want.astype(float) ** 2)) + 1))
            if wrong:
                raise AssertionError(f"output '{t['name']}': {wrong}")
        n += 1
    if n == 0:
        raise Left("no case with whole outputs")


def file_of(folder):
    """The model among a folder's files; a folder in it is a SavedModel."""
    for ending in ("*.onnx", "*.tflite", "*.pb", "*.mlmodel", "*.h*5", "*.prototxt", "*symbol.json", "*/"):
        found = sorted(glob.glob(os.path.join(folder, ending)))
        if found:
            return found[0].rstrip("/")
    raise Left("weights alone, without a model's code")


def words_of_shapes(args, model, name):
    """--shape for what the file leaves open: as the golden data has it, else as kiln suggests."""
    asked = subprocess.run([args.kiln, "export", model, "-o", os.path.join(args.work, "model.onnx"), "--quiet"],
                           capture_output=True, text=True)
    words = {}
    for word in re.findall(r"--shape (\S+:[0-9x]+)", asked.stderr):
        words[word.rsplit(":", 1)[0]] = word
    binds = [w for word in re.findall(r"--bind (\S+=[0-9]+)", asked.stderr) for w in ("--bind", word)]
    golden = os.path.join(MODELS, "golden", name, "golden.json")
    if words and os.path.exists(golden):
        with open(golden) as f:
            inputs = json.load(f)["cases"][0]["inputs"]
        for key, t in zip(list(words), inputs):
            key = t.get("name") if t.get("name") in words else key
            words[key] = f"{key}:{'x'.join(map(str, t['shape']))}"
    return binds + [w for word in words.values() for w in ("--shape", word)]


def random_inputs(path):
    numbers, feeds = np.random.default_rng(1), {}
    for i in onnx.load(path).graph.input:
        shape = [d.dim_value for d in i.type.tensor_type.shape.dim]
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type))
        low, high = (0, 1) if dtype.itemsize > 2 or dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        feeds[i.name] = (numbers.uniform(0, 1, shape).astype(dtype) if dtype.kind == "f" else
                         numbers.integers(low, high, shape, dtype=dtype, endpoint=True))
    return feeds


def beside(got, want, again):
    """What is wrong with it, or None; integers may be a step off where floats before them were near a tie.

    `again` is ONNX Runtime's other result, behind its optimiser. A float whose two results are apart hangs on how a sum was
    rounded (which of two equal scores is a maximum): another runtime is not held to either, if there are few of them.
    """
    if got.dtype.kind == "f":
        near = 1e-3, 1e-3 * float(np.sqrt(np.mean(np.square(want.astype(float))))) + 2**-22
        hangs = ~np.isclose(as_number(again), as_number(want), *near, equal_nan=True)
        if got.shape == want.shape and np.count_nonzero(hangs) <= want.size // 200:
            got = np.where(hangs, want, got)
        return difference(got, want, *near)
    apart = np.abs(got.astype(np.int64) - want.astype(np.int64))
    if got.shape != want.shape or (np.count_nonzero(apart) > got.size // 200 + 1 if apart.max() > 1 else False):
        return f"{np.count_nonzero(apart)} of {got.size} integers differ, by {apart.max()} at most"
    return None


def any_format(args, folder):
    """The export, by ONNX Runtime, against the model compiled by kiln, and, if that is an ONNX file, itself by ONNX Runtime."""
    model, out = file_of(folder), os.path.join(args.work, "model.onnx")
    package, results = os.path.join(args.work, "model.kiln.tar.zst"), os.path.join(args.work, "run")
    shapes = words_of_shapes(args, model, os.path.basename(folder))
    for more in ([], ["--passes"]):  # these make more of what ONNX Runtime has no kernel for known: sizes of sums
        export(args, model, out, shapes + more)
        feeds, given = random_inputs(out), []
        try:
            wanted, again = (run(out, feeds, level) for level in (ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
                                                                  ort.GraphOptimizationLevel.ORT_ENABLE_ALL))
            break
        except Left:
            if more:
                raise
    if model.endswith(".onnx") and {i.name for i in ort.InferenceSession(model).get_inputs()} <= set(feeds):
        for name, want in run(model, feeds).items():
            wrong = difference(wanted[name], want, 1e-4, 1e-4 * float(np.sqrt(np.mean(np.square(want.astype(float))))) + ATOL)
            if wrong:
                raise AssertionError(f"output '{name}', beside the file that was exported: {wrong}")
    for i, (name, x) in enumerate(feeds.items()):
        np.save(os.path.join(args.work, f"in{i}.npy"), x)
        given += ["--input", f"{name}={os.path.join(args.work, f'in{i}.npy')}"]
    for command in ([args.kiln, "build", model, *shapes, "--profile", "native", "--no-ready", "--quiet", "-o", package],
                    [args.kiln, "run", package, *given, "--output-dir", results, "--quiet"]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(done.stderr.strip())
    for name, want in wanted.items():
        escaped = [f for f in os.listdir(results) if urllib.parse.unquote(f) == name + ".npy"]
        wrong = beside(np.load(os.path.join(results, escaped[0])), want, again[name])
        if wrong:
            raise AssertionError(f"output '{name}': {wrong}")


def drawn(_, folder):
    path = os.path.join(folder, "model.onnx")
    model = onnx.load(path)

    def of(kind, values):
        return {v.name: np.load(os.path.join(folder, f"{kind}{i}.npy")) for i, v in enumerate(values)}

    got = run(path, of("in", model.graph.input))
    for name, want in of("out", model.graph.output).items():
        wrong = difference(got[name], want, RTOL, 1e-4)
        if wrong:
            raise AssertionError(f"output '{name}': {wrong}")


ZOO = ["dqn", "resnet18", "mobilenet_v3_large", "bert_mini", "lstm_lm_step", "whisper_tiny_encoder", "ssd_resnet50"]


def zoo(args, name):
    before, after = (os.path.join(args.work, f) for f in ("zoo.onnx", "zoo_passes.onnx"))
    subprocess.run([args.kiln, "zoo", "make", name, "-o", before, "--quiet"], check=True, capture_output=True)
    export(args, before, after, ["--passes"])
    numbers = np.random.default_rng(1)
    feeds = {}
    for i in onnx.load(before, load_external_data=False).graph.input:
        shape = [d.dim_value for d in i.type.tensor_type.shape.dim]
        is_float = i.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
        feeds[i.name] = (numbers.uniform(-1, 1, shape).astype(np.float32) if is_float else
                         numbers.integers(0, 2, shape).astype(onnx.helper.tensor_dtype_to_np_dtype(
                             i.type.tensor_type.elem_type)))
    want, got = run(before, feeds), run(after, feeds)
    for o, value in want.items():
        rms = float(np.sqrt(np.mean(np.square(value.astype(float)))))
        wrong = difference(rows(got, o), value, 1e-3, 1e-4 * rms + ATOL)
        if wrong:
            raise AssertionError(f"output '{o}': {wrong}")


def check_all(args, what, check, folders):
    left, wrong, right = collections.Counter(), [], 0
    for folder in folders:
        if args.filter and args.filter not in folder:
            continue
        try:
            check(args, folder)
            right += 1
        except Left as e:
            left[str(e)] += 1
        except Exception as e:  # the checker's and ONNX Runtime's are of many classes
            known = [why for what_it_says, why in ELSEWHERE.items() if re.search(what_it_says, f"{folder}: {e}")]
            if known:
                left[known[0]] += 1
            else:
                wrong.append(f"{folder}: {str(e).strip()[:400]}")
    # Numbers of random graphs hang on rounding now and then: casts to integers, nearest elements at a tie.
    noise = [w for w in wrong if check is drawn and ": output '" in w]
    print(f"{what}: {right} right, {len(wrong)} wrong, {sum(left.values())} left out")
    for reason, n in left.most_common():
        print(f"  {n} left out: {reason}")
    for line in wrong:
        print(f"  WRONG {line}")
    return right, len(wrong) - (len(noise) if len(noise) * 100 <= right else 0)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--kiln", required=True)
    p.add_argument("--work", required=True)
    p.add_argument("--random")
    p.add_argument("--filter")
    args = p.parse_args()
    os.makedirs(args.work, exist_ok=True)
    tests = sorted(os.path.dirname(m) for m in glob.glob(os.path.join(NODE_TESTS, "**", "model.onnx"), recursive=True))
    kinds = [("conformance", conformance, tests),
             ("trained models", trained, sorted(glob.glob(os.path.join(MODELS, "golden", "*")))),
             ("files of every format", any_format, sorted(glob.glob(os.path.join(MODELS, "files", "*")))),
             ("networks of the zoo", zoo, ZOO)]
    if args.random:
        kinds.append(("random graphs", drawn, sorted(glob.glob(os.path.join(args.random, "*")))))
    results = [check_all(args, *kind) for kind in kinds]
    sys.exit(0 if sum(r for r, _ in results) > 0 and not any(w for _, w in results) else 1)


main()
