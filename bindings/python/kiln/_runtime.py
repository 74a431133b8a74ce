"""The functions of kiln.h by ctypes, which lets go of the interpreter's lock while they run."""

import ctypes
import os
from ctypes import POINTER, Structure, c_char_p, c_int, c_int64, c_size_t, c_uint64, c_void_p

ERROR_TEXT = 256
MAX_RANK = 8
ALIGN = 64
"""Bytes: bound memory begins at a multiple of it."""

_FILE = "libkiln-runtime.so.0"


class PortInfo(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("dtype", c_char_p),
        ("rank", c_int),
        ("dim", c_int64 * MAX_RANK),
        ("bytes", c_size_t),
    ]


class Shape(Structure):
    _fields_ = [("rank", c_int), ("dim", c_int64 * MAX_RANK)]


class SessionOptions(Structure):
    _fields_ = [("n_threads", c_int)]


class StepInfo(Structure):
    _fields_ = [("name", c_char_p), ("op", c_char_p), ("nanoseconds", c_uint64), ("runs", c_uint64)]


class ModelFiles(Structure):
    _fields_ = [
        ("plan", c_void_p),
        ("params", c_void_p),
        ("lib", c_void_p),
        ("plan_bytes", c_size_t),
        ("param_bytes", c_size_t),
        ("lib_bytes", c_size_t),
    ]


_SIGNATURES = {
    "kiln_model_open": (c_void_p, [c_char_p, c_void_p, c_char_p]),
    "kiln_model_open_memory": (c_void_p, [POINTER(ModelFiles), c_void_p, c_char_p]),
    "kiln_model_close": (None, [c_void_p]),
    "kiln_model_name": (c_char_p, [c_void_p]),
    "kiln_model_profile": (c_char_p, [c_void_p]),
    "kiln_model_input": (c_int, [c_void_p, c_int, POINTER(PortInfo)]),
    "kiln_model_output": (c_int, [c_void_p, c_int, POINTER(PortInfo)]),
    "kiln_model_n_variants": (c_int, [c_void_p]),
    "kiln_model_variant": (c_void_p, [c_void_p, c_int]),
    "kiln_session_open": (c_void_p, [c_void_p, POINTER(SessionOptions), c_char_p]),
    "kiln_session_close": (None, [c_void_p]),
    "kiln_session_set_shapes": (c_int, [c_void_p, POINTER(Shape), c_int]),
    "kiln_session_bind_input": (c_int, [c_void_p, c_int, c_void_p]),
    "kiln_session_bind_output": (c_int, [c_void_p, c_int, c_void_p]),
    "kiln_session_run": (c_int, [c_void_p]),
    "kiln_session_error": (c_char_p, [c_void_p]),
    "kiln_session_bytes": (c_size_t, [c_void_p]),
    "kiln_session_profile": (None, [c_void_p, c_int]),
    "kiln_session_step": (c_int, [c_void_p, c_int, POINTER(StepInfo)]),
}


def _load() -> ctypes.CDLL:
    """The library that came with the package; without one, the system's."""
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), _FILE)
    try:
        lib = ctypes.CDLL(own if os.path.exists(own) else _FILE)
    except OSError as e:
        raise ImportError(
            f"kiln's runtime library cannot be loaded: {e}; install the wheel that `make wheel` makes, "
            f"or have {_FILE} where the loader looks (LD_LIBRARY_PATH)"
        ) from e
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(lib, name)
        function.restype = result
        function.argtypes = arguments
    return lib


lib = _load()
