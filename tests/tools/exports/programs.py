"""Networks that torch.export.save writes, held to PyTorch's own results.

    python programs.py --kiln build/gcc-release/kiln --work DIR [--filter TEXT] [--every] [--jobs N] [--keep]

Each architecture (architectures.py, and those here) is drawn with a fixed seed, run by PyTorch, and saved as torch.export
leaves it; every second one, or with --every all, also after run_decompositions(). kiln must build each file, which proves the
package against kiln's reference, and the package must give PyTorch's numbers. What PyTorch itself cannot export is counted by
itself. The exit code is 1 where anything of kiln's failed.
"""
import logging
import os
import shutil
import sys
import warnings
import zlib

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import numpy as np
import torch
from torch import nn

import architectures
import every
import exports
import golden

FORMS = {"exported": lambda program: program, "decomposed": lambda program: program.run_decompositions()}


# ---- what architectures.py does not have ----


class UNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()

        def block(n, m):
            return nn.Sequential(nn.Conv2d(n, m, 3, padding=1), nn.BatchNorm2d(m), nn.ReLU(inplace=True))
        self.down1, self.down2, self.bottom = block(3, width), block(width, 2 * width), block(2 * width, 4 * width)
        self.grow2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2)
        self.up2, self.up1 = block(4 * width, 2 * width), block(3 * width, width)
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(nn.functional.max_pool2d(a, 2))
        c = self.bottom(nn.functional.max_pool2d(b, 2))
        b = self.up2(torch.cat([self.grow2(c), b], 1))
        b = nn.functional.interpolate(b, scale_factor=2, mode="bilinear", align_corners=False)
        return self.head(self.up1(torch.cat([b, a], 1)))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 16)
        self.lstm = nn.LSTM(16, 8, 2, batch_first=True, bidirectional=True)
        self.gru, self.rnn = nn.GRU(16, 5), nn.RNN(5, 4)

    def forward(self, ids):
        y, (h, c) = self.lstm(self.embedding(ids))
        z, g = self.gru(y)
        return self.rnn(z)[0], h, c, g


class OneStage(nn.Module):
    """A detector whose boxes are decoded and sorted: as many as asked for come out."""

    def __init__(self, classes=6, best=10):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.SiLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.SiLU())
        self.scores, self.boxes = nn.Conv2d(32, classes, 3, padding=1), nn.Conv2d(32, 4, 3, padding=1)
        self.best = best

    def forward(self, x):
        y = self.body(x)
        h, w = y.shape[-2:]
        rows, columns = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        centre = torch.stack([columns, rows], -1).reshape(1, -1, 2).to(x.dtype) + 0.5
        delta = self.boxes(y).flatten(2).transpose(1, 2)
        middle, size = centre + delta[..., :2].tanh(), delta[..., 2:].clamp(max=4).exp()
        boxes = torch.cat([middle - size / 2, middle + size / 2], -1) * 4
        boxes = torch.stack([boxes[..., 0::2].clamp(0, x.shape[-1]), boxes[..., 1::2].clamp(0, x.shape[-2])], -1)
        scores, labels = self.scores(y).flatten(2).transpose(1, 2).softmax(-1).max(-1)
        scores, at = scores.topk(self.best, 1)
        boxes = boxes.flatten(2).gather(1, at[..., None].expand(-1, -1, 4))
        return boxes, scores, labels.gather(1, at)


class Writes(nn.Module):
    """Writing into parts."""

    def forward(self, x):
        y = x.new_zeros(x.shape)
        y[:, 1:] = x[:, :-1]
        y[:, 0] += 1
        z = y.view(-1)
        z.mul_(2)
        mask = torch.triu(torch.full((4, 4), float("-inf")), 1)
        return y, z.sum(), (x[:, :4, None] + mask).softmax(-1)


def row(name, make, *inputs):
    architectures.ROWS[name] = lambda: (make(), tuple(i() for i in inputs), None)


row("unet", UNet, lambda: torch.randn(1, 3, 32, 32))
row("recurrent", Recurrent, lambda: torch.randint(0, 20, (2, 6)))
row("one_stage", OneStage, lambda: torch.rand(2, 3, 32, 48))
row("suppressed", architectures.Suppressed, lambda: torch.randn(1, 3, 24, 32))
row("writes", Writes, lambda: torch.randn(3, 6))


# ---- one file ----


def export(name, form, path):
    module, inputs, _, outputs = exports.make(name, "dynamo")
    with torch.no_grad():
        program = FORMS[form](torch.export.export(module, inputs))
    torch.export.save(program, path)
    signature = program.graph_signature
    return (dict(zip(signature.user_inputs, (x.numpy() for x in inputs))),
            dict(zip(signature.user_outputs, (y.detach().numpy() for y in outputs))))


def check(o, name, form, folder):
    os.makedirs(folder, exist_ok=True)
    path, package = os.path.join(folder, "model.pt2"), os.path.join(folder, "model.kiln.tar.zst")
    try:
        with every.quiet():
            inputs, outputs = export(name, form, path)
    except Exception as e:  # there are many kinds
        return "refused", f"{type(e).__name__}: {str(e).strip()[:160]}"
    if not all(np.isfinite(y).all() for y in outputs.values() if y.dtype.kind == "f"):
        return "failed", "PyTorch's own results are not finite: nothing would be shown"
    golden.write(folder, name, f"torch {torch.__version__}", inputs, outputs)
    why = every.call([o.kiln, "build", path, "--profile", "native", "-o", package, "--no-ready"])
    why = why or every.call([o.kiln, "verify", package, "--golden", folder])
    return ("right", "") if why is None else ("failed", why)


def run(name, o):
    """All of one architecture's, in a process of its own."""
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)  # an operator that stands for a whole layer
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    rows = []
    for form in FORMS:
        if form == "decomposed" and not o.every and zlib.crc32(name.encode()) % 2:
            continue
        folder = os.path.join(o.work, f"{name}-{form}")
        outcome, words = check(o, name, form, folder)
        rows.append((f"{name} {form}", outcome, words))
        if outcome != "failed" and not o.keep:
            shutil.rmtree(folder)
    return rows


def main():
    o = every.options(every={"action": "store_true", "help": "all architectures decomposed, too"})
    every.all_of(run, architectures.ROWS, o, "files", "PyTorch", f"torch {torch.__version__}")


if __name__ == "__main__":
    main()
