"""Element types and arrays as the runtime wants them."""

from typing import Tuple

import numpy as np

from . import _runtime

_BYTE = ("u8", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0", "f4e2m1", "u4", "u2")
_SIGNED_BYTE = ("i8", "i4", "i2")

DTYPES = {
    "f16": np.dtype("<f2"),
    "f32": np.dtype("<f4"),
    "f64": np.dtype("<f8"),
    "bf16": np.dtype("<u2"),
    "i16": np.dtype("<i2"),
    "u16": np.dtype("<u2"),
    "i32": np.dtype("<i4"),
    "u32": np.dtype("<u4"),
    "i64": np.dtype("<i8"),
    "u64": np.dtype("<u8"),
    "bool": np.dtype(np.bool_),
    **{name: np.dtype(np.uint8) for name in _BYTE},
    **{name: np.dtype(np.int8) for name in _SIGNED_BYTE},
}
"""What elements of each of kiln's types are in NumPy."""


def aligned_empty(shape: Tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array whose memory a session can use as it is."""
    n = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    block = np.empty(n + _runtime.ALIGN, dtype=np.uint8)
    begin = -block.ctypes.data % _runtime.ALIGN
    return block[begin : begin + n].view(dtype).reshape(shape)


def is_bindable(array: np.ndarray) -> bool:
    return array.flags.c_contiguous and array.ctypes.data % _runtime.ALIGN == 0


def bf16_to_f32(codes: np.ndarray) -> np.ndarray:
    """The numbers that bf16's codes (uint16) stand for; exact."""
    codes = np.asarray(codes)
    if codes.dtype != np.uint16:
        raise TypeError(f"bf16's codes must be uint16, are {codes.dtype}")
    return (codes.astype(np.uint32) << 16).view(np.float32)


def f32_to_bf16(array: np.ndarray) -> np.ndarray:
    """bf16's codes (uint16) of the nearest numbers, ties to even; NaN stays NaN."""
    array = np.asarray(array)
    if array.dtype != np.float32:
        raise TypeError(f"the array must be float32, is {array.dtype}")
    bits = np.ascontiguousarray(array).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(array), (bits >> 16) | 0x40, rounded).astype(np.uint16)
