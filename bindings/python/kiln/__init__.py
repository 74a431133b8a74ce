"""Runs neural networks that kiln packaged.

    import kiln

    with kiln.Session("resnet18", threads=2) as session:   # a folder that `kiln unpack` made
        scores = session.run({"data": image})["scores"]
"""

from importlib import metadata as _metadata

from ._arrays import bf16_to_f32, f32_to_bf16
from ._session import KilnError, Model, Port, Session, Step, Variant

try:
    __version__ = _metadata.version("kiln-runtime")
except _metadata.PackageNotFoundError:  # run from a source tree
    __version__ = "0+unknown"

__all__ = ["KilnError", "Model", "Port", "Session", "Step", "Variant", "bf16_to_f32", "f32_to_bf16"]
