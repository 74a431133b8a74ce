"""The five largest of a network's first output: top5.py FOLDER INPUT.npy (or raw bytes, row-major)"""

import sys

import kiln
import numpy as np


def read(path, port):
    if path.endswith(".npy"):
        return np.load(path)
    return np.fromfile(path, dtype=port.dtype).reshape(port.shape)


def main(folder, path):
    with kiln.Session(folder) as session:
        port = session.inputs[0]
        outputs = session.run({port.name: read(path, port)})
        score = outputs[session.outputs[0].name].ravel()
    for i in np.argsort(-score, kind="stable")[:5]:
        print(f"{i} {score[i]:.5f}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except (kiln.KilnError, OSError, TypeError, ValueError) as e:
        sys.exit(str(e))
