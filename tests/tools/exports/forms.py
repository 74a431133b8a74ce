"""Five networks in the forms that ONNX Runtime's tools give them: f16, QDQ, QOperator, dynamically quantised.

    python forms.py --kiln build/gcc-release/kiln --work DIR [--filter TEXT] [--keep]

ResNet-50, MobileNet-v2, EfficientNet-B0 (torchvision), BERT (transformers) and an LSTM, random weights, exported by
PyTorch. Of each form kiln builds a package, which proves it, the package runs its self-test, and its outputs are held
to ONNX Runtime's (optimiser off, one thread). Both engines' distances to the float model are printed, in rms of the
output, and kiln's may be no more than 1.25 times ONNX Runtime's and a thousandth. The exit code is 1 where anything
failed.
"""
import argparse
import contextlib
import json
import logging
import os
import shutil
import subprocess
import sys
import zlib

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import numpy as np
import onnx
import onnxruntime as ort
import torch
import torchvision
import transformers
from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType, quant_pre_process,
                                      quantize_dynamic, quantize_static)
from onnxruntime.transformers.float16 import convert_float_to_float16

import architectures
import every
import exports
import golden

N_CALIBRATION = 4


def images(name, size=224):
    def build():
        return getattr(torchvision.models, name)(weights=None), (torch.randn(1, 3, size, size),), ["x"]
    return build


def bert():
    config = transformers.BertConfig(vocab_size=1000, hidden_size=256, num_hidden_layers=4, num_attention_heads=4,
                                     intermediate_size=1024)
    names = ["input_ids", "attention_mask"]
    ids = torch.randint(3, 999, (1, 64))
    mask = torch.ones(1, 64, dtype=torch.int64)
    mask[0, -9:] = 0
    return architectures.First(architectures.built(transformers.BertModel, config), names), (ids, mask), names


NETWORKS = {"resnet50": images("resnet50"), "mobilenet_v2": images("mobilenet_v2"),
            "efficientnet_b0": images("efficientnet_b0"), "bert": bert, "lstm": architectures.ROWS["lstm"]}


class Feeds(CalibrationDataReader):
    def __init__(self, feeds):
        self.left = list(feeds)

    def get_next(self):
        return self.left.pop() if self.left else None


def float_model(name, folder):
    """(path, feeds to calibrate by): the last of them is what all engines run."""
    torch.manual_seed(zlib.crc32(name.encode()))
    module, inputs, names = NETWORKS[name]()
    path, ready = os.path.join(folder, "float.onnx"), os.path.join(folder, "ready.onnx")
    with torch.no_grad(), every.quiet():
        torch.onnx.export(exports.settle(module), inputs, path, input_names=names, output_names=["y"], opset_version=17,
                          dynamo=False)
    quant_pre_process(path, ready, skip_symbolic_shape=True)
    feeds = []
    for _ in range(N_CALIBRATION):
        feeds.append({n: (torch.randn_like(x) if x.is_floating_point() else x[:, torch.randperm(x.shape[1])]
                          if x.shape[1] > 1 and n != "attention_mask" else x).numpy() for n, x in zip(names, inputs)})
    return ready, feeds


def half(ready, feeds, path):
    onnx.save(convert_float_to_float16(onnx.load(ready), keep_io_types=True), path)


def with_shared_bias(ready):
    """Products whose bias others read too: the quantiser's QOperator form of them does not load."""
    graph = onnx.load(ready).graph
    readers = [x for n in graph.node for x in n.input]
    return [n.name for n in graph.node if n.op_type == "Gemm" and len(n.input) > 2 and readers.count(n.input[2]) > 1]


def static(fmt):
    def make(ready, feeds, path):
        is_operator = fmt == QuantFormat.QOperator
        quantize_static(ready, path, Feeds(feeds), quant_format=fmt, activation_type=QuantType.QUInt8,
                        weight_type=QuantType.QInt8, per_channel=not is_operator,
                        nodes_to_exclude=with_shared_bias(ready) if is_operator else [])
    return make


def dynamic(ready, feeds, path):
    quantize_dynamic(ready, path, weight_type=QuantType.QUInt8)


FORMS = {"f16": half, "qdq": static(QuantFormat.QDQ), "qoperator": static(QuantFormat.QOperator), "dynamic": dynamic}


def run(path, feeds):
    o = ort.SessionOptions()
    o.graph_optimization_level, o.intra_op_num_threads = ort.GraphOptimizationLevel.ORT_DISABLE_ALL, 1
    o.log_severity_level = 3
    s = ort.InferenceSession(path, o, providers=["CPUExecutionProvider"])
    return dict(zip([y.name for y in s.get_outputs()], s.run(None, feeds)))


def folder_of(where, name, feeds, outputs):
    os.makedirs(where, exist_ok=True)
    golden.write(where, name, f"ort {ort.__version__}", feeds, outputs)
    return where


def distance(kiln, package, where, out):
    """Of the package's outputs to those in `where`, over their rms."""
    subprocess.run([kiln, "verify", package, "--golden", where, "--json", out], capture_output=True)
    with open(out) as f:
        checks = [c for c in json.load(f)["checks"] if c["name"].startswith("case")]
    return max(c["rms_error"] / c["rms_expected"] for c in checks) if checks else float("inf")


def check(kiln, name, form, ready, feeds, folder):
    """(what failed or None, words)."""
    title, path = f"{name}_{form}", os.path.join(folder, f"{form}.onnx")
    package = os.path.join(folder, f"{form}.kiln.tar.zst")
    with every.quiet():
        FORMS[form](ready, feeds, path)
    given = feeds[-1]
    exact, theirs = run(ready, given), run(path, given)
    where = folder_of(os.path.join(folder, form), title, given, theirs)
    plain = folder_of(os.path.join(folder, "plain"), name, given, exact)
    why = every.call([kiln, "build", path, "--profile", "native", "-o", package, "--no-ready"])
    why = why or every.call([kiln, "verify", package])
    if why is not None:
        return why, ""
    held = every.call([kiln, "verify", path, "--golden", where, "--profile", "native"])
    ours = distance(kiln, package, plain, os.path.join(folder, "plain.json"))
    other = max(float(np.sqrt(np.mean((theirs[y] - exact[y]) ** 2) / np.mean(exact[y] ** 2))) for y in exact)
    between = distance(kiln, package, where, os.path.join(folder, "between.json"))
    words = f"kiln {ours:.4f}, ONNX Runtime {other:.4f} from the float model; {between:.4f} between them"
    if held is not None:
        return held, words
    return (None if ours <= 1.25 * other + 1e-3 else "farther from the float model than ONNX Runtime"), words


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--kiln", required=True)
    p.add_argument("--work", required=True)
    p.add_argument("--filter", default="")
    p.add_argument("--keep", action="store_true", help="keep the models that are right, too")
    o = p.parse_args()
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    n, bad = 0, 0
    for name in NETWORKS:
        wanted = [form for form in FORMS if o.filter in f"{name}_{form}"]
        folder = os.path.join(o.work, name)
        if not wanted:
            continue
        os.makedirs(folder, exist_ok=True)
        ready, feeds = float_model(name, folder)
        for form in wanted:
            n += 1
            try:
                why, words = check(o.kiln, name, form, ready, feeds, folder)
            except Exception as e:  # the tools have many kinds
                why, words = f"{type(e).__name__}: {str(e).strip()[:300]}", ""
            bad += why is not None
            print(f"{'right ' if why is None else 'FAILED'} {name}_{form}: {words}{'' if why is None else chr(10) + '  ' + why}",
                  flush=True)
        if not o.keep and bad == 0:
            shutil.rmtree(folder)
    print(f"forms: ONNX Runtime {ort.__version__}: {n} forms, {bad} failed")
    sys.exit(1 if bad or n == 0 else 0)


if __name__ == "__main__":
    main()
