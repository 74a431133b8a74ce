"""Golden folders, as `kiln verify --golden` reads them."""
import hashlib
import json
import os

import numpy as np


def _listed(folder, kind, named):
    """Writes arrays as .npy and returns what golden.json says of them."""
    rows = []
    for i, (name, array) in enumerate(named.items()):
        array = np.asarray(array, order="C")
        file = f"{kind}{i}.npy"
        np.save(os.path.join(folder, file), array)
        rows.append({"name": name, "dtype": str(array.dtype), "shape": list(array.shape), "elements": array.size,
                     "sha256": hashlib.sha256(array.tobytes()).hexdigest(), "npy": file})
    return rows


def write(folder, name, runtime, inputs, outputs):
    """One case: inputs and outputs are arrays by name."""
    text = {"id": name, "runtime": runtime, "cases": [{"inputs": _listed(folder, "in", inputs),
                                                       "outputs": _listed(folder, "out", outputs)}]}
    with open(os.path.join(folder, "golden.json"), "w") as f:
        json.dump(text, f)
