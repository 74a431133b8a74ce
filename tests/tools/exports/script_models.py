"""Networks that torch.jit.save writes, held to PyTorch's own results.

    python script_models.py --kiln build/gcc-release/kiln --work DIR [--filter TEXT] [--jobs N] [--keep] [--reference]

Each architecture (architectures.py, and those here) is drawn with a fixed seed, run by PyTorch, traced and scripted. kiln
must compile each file for this machine and give PyTorch's numbers; --reference: by its interpreter instead. What PyTorch itself
cannot trace or script is counted by itself. The exit code is 1 where anything of kiln's failed.
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

NAMES = list(architectures.ROWS)  # without detectors, which exports.py adds: how many boxes they give depends on data
import every
import exports
import golden

FORMS = {"traced": lambda module, inputs: torch.jit.trace(module, inputs, strict=False, check_trace=False),
         "scripted": lambda module, inputs: torch.jit.script(module)}


# ---- what architectures.py does not have: state, code that decides, writing in place ----


@architectures.row
class recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 16)
        self.lstm = nn.LSTM(16, 8, 2, batch_first=True, bidirectional=True)
        self.gru, self.rnn = nn.GRU(16, 5), nn.RNN(5, 4)

    def forward(self, ids):
        y, (h, c) = self.lstm(self.embedding(ids))
        z, g = self.gru(y)
        return self.rnn(z)[0], {"h": h, "c": c, "g": g}


@architectures.row
class encoder(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation="gelu")
        self.embedding, self.place = nn.Embedding(30, 32), nn.Parameter(torch.randn(1, 64, 32))
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, ids):
        return self.layers(self.embedding(ids) + self.place[:, :ids.shape[1]])


@architectures.row
class u_net(nn.Module):
    def __init__(self):
        super().__init__()

        def block(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(True),
                                 nn.Conv2d(o, o, 3, padding=1), nn.GroupNorm(2, o), nn.ReLU(True))
        self.down1, self.down2, self.bottom, self.pool = block(3, 8), block(8, 16), block(16, 32), nn.MaxPool2d(2)
        self.up2, self.join2 = nn.ConvTranspose2d(32, 16, 2, 2), block(32, 16)
        self.up1, self.join1 = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), block(24, 8)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(self.pool(a))
        y = self.join2(torch.cat([self.up2(self.bottom(self.pool(b))), b], 1))
        return self.join1(torch.cat([self.up1(y), a], 1))


@architectures.row
class in_place(nn.Module):
    def forward(self, x):
        y = x.clone()
        y[:, 0] = 1.0
        y[:, 1:3] += 2.0
        z = y.view(2, -1)
        z.mul_(3.0)
        y.transpose(0, 1).add_(1.0)
        return y, z.sum(1), (y > 4).to(torch.float32).masked_fill(y < 2, -1.0)


@architectures.row
class decisions(nn.Module):
    def __init__(self, n: int = 3):
        super().__init__()
        self.n, self.layers = n, nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])

    def forward(self, x, scale: float = 2.0):
        out, i = [], 0
        while i < self.n:
            x = x * scale + i
            if x.size(0) > 1 and i % 2 == 0:
                x = x - 1
            i += 1
        for layer in self.layers:
            x = layer(x)
            out.append(x)
        assert x.dim() == 2, f"bad {x.dim()}"
        return torch.stack(out), {"last": x}


@architectures.row
class boxes(nn.Module):
    """A detector's end: boxes out of offsets to anchors, scores by class, the best of them."""

    def __init__(self):
        super().__init__()
        self.features = nn.Conv2d(3, 8, 3, 2, 1)
        self.where, self.what = nn.Conv2d(8, 2 * 4, 3, padding=1), nn.Conv2d(8, 2 * 5, 3, padding=1)

    def forward(self, x):
        f = torch.relu(self.features(x))
        n, _, h, w = f.shape
        offset = self.where(f).view(n, 2, 4, h, w).permute(0, 3, 4, 1, 2).reshape(n, -1, 4)
        score = self.what(f).view(n, 2, 5, h, w).permute(0, 3, 4, 1, 2).reshape(n, -1, 5).softmax(-1)
        y, x0 = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        center = torch.stack([x0, y], -1).float().view(-1, 1, 2).repeat(1, 2, 1).view(1, -1, 2)
        middle, size = center + offset[..., :2] * 0.1, torch.exp(offset[..., 2:] * 0.2)
        box = torch.cat([middle - size / 2, middle + size / 2], -1).clamp(0, float(w))
        best, label = score[..., 1:].max(-1)
        top, index = best.topk(10, dim=1)
        return box.gather(1, index.unsqueeze(-1).expand(-1, -1, 4)), top, label.gather(1, index)


@architectures.row
def suppressed():
    return architectures.Suppressed(10)


INPUTS = {  # of the rows here
    "recurrent": lambda: (torch.randint(0, 20, (2, 7)),), "encoder": lambda: (torch.randint(0, 30, (2, 9)),),
    "u_net": lambda: (torch.rand(1, 3, 32, 32),), "in_place": lambda: (torch.rand(2, 4, 3),),
    "decisions": lambda: (torch.rand(2, 4),), "boxes": lambda: (torch.rand(1, 3, 32, 32),),
    "suppressed": lambda: (torch.randn(1, 3, 24, 32),),
}


# ---- runs ----


def make(name):
    architectures.ATTENTION = "sdpa"
    torch.manual_seed(zlib.crc32(name.encode()))
    made = architectures.ROWS[name]()
    module, inputs = (made, INPUTS[name]()) if isinstance(made, nn.Module) else made[:2]
    module = exports.settle(module)
    for p in module.parameters():
        p.requires_grad_(False)
    return module, inputs


def outputs_of(value, path=""):
    """Tensors by the names that kiln gives them."""
    if torch.is_tensor(value):
        return {path or "output": value.detach().numpy()}
    found = {}
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    for key, item in items:
        part = str(key) if path or isinstance(value, dict) else f"output{key}"
        found.update(outputs_of(item, f"{path}.{part}" if path else part))
    return found


def names_of(script, n):
    """forward's parameters; debug names of a trace may carry a number behind a dot."""
    return [x.debugName().split(".")[0] for x in list(script.graph.inputs())[1:n + 1]]


def check(o, name, form, folder):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "model.pt")
    try:
        with every.quiet(), torch.no_grad():
            module, inputs = make(name)
            script = FORMS[form](module, inputs)
            torch.jit.save(script, path)
            script = torch.jit.load(path)
            want = outputs_of(script(*inputs))
    except Exception as e:  # there are many kinds
        return "refused", f"{type(e).__name__}: {str(e).strip()[:160]}"
    if not all(np.isfinite(y).all() for y in want.values() if y.dtype.kind == "f"):
        return "failed", "PyTorch's own results are not finite: nothing would be shown"
    names = names_of(script, len(inputs))
    golden.write(folder, name, f"torch {torch.__version__}", dict(zip(names, (x.numpy() for x in inputs))), want)
    command = [o.kiln, "verify", path, "--golden", folder]
    command += ["--reference"] if o.reference else ["--profile", "native"]
    for key, x in zip(names, inputs):
        command += ["--shape", f"{key}:{'x'.join(map(str, x.shape))}"]
    why = every.call(command)
    return ("right", "") if why is None else ("failed", why)


def run(name, o):
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)  # one operator that says what its layers' code says
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    rows = []
    for form in FORMS:
        folder = os.path.join(o.work, f"{name}-{form}")
        outcome, words = check(o, name, form, folder)
        rows.append((f"{name} {form}", outcome, words))
        if outcome != "failed" and not o.keep:
            shutil.rmtree(folder)
    return rows


def main():
    o = every.options(reference={"action": "store_true", "help": "by the reference interpreter"})
    every.all_of(run, NAMES + list(INPUTS), o, "files", "PyTorch", f"torch {torch.__version__}")


if __name__ == "__main__":
    main()
