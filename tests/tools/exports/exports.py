"""Networks that PyTorch's two exporters write, built and held to PyTorch's own results.

    python exports.py --kiln build/gcc-release/kiln --work DIR [--filter TEXT] [--every] [--jobs N] [--keep]

Each architecture (architectures.py) is drawn with a fixed seed, run by PyTorch, and exported by the
TorchScript exporter (opsets 11 to 20) and the one of torch.export (18 to 23). kiln must build each file, which
proves the package against kiln's reference, and the package must give PyTorch's numbers. By default each exporter
writes the oldest opset that it has for the architecture and a newer one, another for each; --every: all of them. What
an exporter itself refuses is counted by itself. The exit code is 1 where anything of kiln's failed.
"""
import functools
import itertools
import logging
import os
import shutil
import sys
import warnings
import zlib

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import numpy as np
import torch

import architectures
import detection  # its rows, too
import every
import golden

EXPORTERS = {"script": range(11, 21), "dynamo": range(18, 24)}
ATTENTION = {"script": "eager", "dynamo": "sdpa"}


def settle(module):
    """Statistics and scales that are not 0 and 1, as training leaves them."""
    for m in module.modules():
        if isinstance(m, torch.nn.modules.batchnorm._BatchNorm):
            m.running_mean.normal_(0, 0.2)
            m.running_var.uniform_(0.5, 2)
            torch.nn.init.uniform_(m.weight, 0.5, 1.5)
            torch.nn.init.normal_(m.bias, 0, 0.1)
    return module.eval()


def make(name, exporter):
    architectures.ATTENTION = ATTENTION[exporter]
    torch.manual_seed(zlib.crc32(name.encode()))
    module, inputs, names = architectures.ROWS[name]()
    with torch.no_grad():
        module = settle(module)
        outputs = module(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    return module, inputs, names, outputs


def export(made, exporter, opset, path):
    module, inputs, names, outputs = made
    out = [f"out{i}" for i in range(len(outputs))]
    options = dict(input_names=names, output_names=out, opset_version=opset)
    if exporter == "dynamo":
        options.update(dynamo=True, external_data=False, optimize=True)
    else:
        options.update(dynamo=False)
    with torch.no_grad():
        torch.onnx.export(module, inputs, path, **options)
    return dict(zip(names, (x.numpy() for x in inputs))), dict(zip(out, (y.numpy() for y in outputs)))


def check(kiln, made, name, exporter, opset, folder):
    """(outcome, words): 'right', 'refused' by the exporter, or 'failed'."""
    os.makedirs(folder, exist_ok=True)
    path, package = os.path.join(folder, "model.onnx"), os.path.join(folder, "model.kiln.tar.zst")
    try:
        with every.quiet():
            inputs, outputs = export(made, exporter, opset, path)
    except Exception as e:  # exporters have many kinds
        return "refused", f"{type(e).__name__}: {str(e).strip()[:160]}"
    if not all(np.isfinite(y).all() for y in outputs.values() if y.dtype.kind == "f"):
        return "failed", "PyTorch's own results are not finite: nothing would be shown"
    golden.write(folder, name, f"torch {torch.__version__}", inputs, outputs)
    why = every.call([kiln, "build", path, "--profile", "native", "-o", package, "--no-ready"])
    why = why or every.call([kiln, "verify", package, "--golden", folder])
    return ("right", "") if why is None else ("failed", why)


def attempt(o, rows, made, name, exporter, opset):
    """Whether the exporter has the opset for this architecture; what came of it is one more row."""
    folder = os.path.join(o.work, f"{name}-{exporter}-{opset}")
    outcome, words = check(o.kiln, made, name, exporter, opset, folder)
    rows.append((f"{name} {exporter} {opset}", outcome, words))
    if outcome != "failed" and not o.keep:
        shutil.rmtree(folder)
    return outcome != "refused"


def oldest_and_another(opsets, has, number):
    """The oldest that there is, and of the newer ones the first that there is, from a place that the number says."""
    newer = list(itertools.dropwhile(lambda opset: not has(opset), opsets))[1:]
    turn = number % max(len(newer), 1)
    any(has(opset) for opset in newer[turn:] + newer[:turn])


def run(name, o):
    """All of one architecture's, in a process of its own: exporters leave much behind."""
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)  # an operator that no exporter knows
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    rows = []
    for exporter, opsets in EXPORTERS.items():
        has = functools.partial(attempt, o, rows, make(name, exporter), name, exporter)
        if o.opset or o.every:
            for opset in sorted(set(o.opset or opsets) & set(opsets)):
                has(opset)
        else:
            oldest_and_another(opsets, has, zlib.crc32((name + exporter).encode()))
    return rows


def main():
    o = every.options(opset={"type": int, "action": "append", "help": "only this one (may be repeated)"},
                      every={"action": "store_true", "help": "every opset of both exporters"})
    every.all_of(run, architectures.ROWS, o, "exports", "the exporter", f"torch {torch.__version__}")


if __name__ == "__main__":
    main()
