"""Models and sessions."""

import ctypes
import os
import threading
import weakref
from typing import Dict, List, Mapping, NamedTuple, Optional, Tuple, Union

import numpy as np

from . import _arrays, _runtime
from ._runtime import lib


class KilnError(RuntimeError):
    """What the runtime refuses, in its words."""


class Port(NamedTuple):
    """An input or output."""

    name: str
    kind: str
    """kiln's name of the type: "f32", "bf16", "i4"."""
    dtype: np.dtype
    """What its elements are in NumPy: float32; uint16 (bf16's codes); int8."""
    shape: Tuple[int, ...]

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


class Step(NamedTuple):
    """Where time went, in all runs that were profiled."""

    name: str
    op: str
    nanoseconds: int
    runs: int


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def _ports(model: int, at) -> Tuple[Port, ...]:
    ports, info = [], _runtime.PortInfo()
    while at(model, len(ports), ctypes.byref(info)) == 0:
        kind = _text(info.dtype)
        if kind not in _arrays.DTYPES:
            raise KilnError(f"port '{_text(info.name)}' is of type '{kind}', which this package does not know")
        ports.append(Port(_text(info.name), kind, _arrays.DTYPES[kind], tuple(info.dim[: info.rank])))
    return tuple(ports)


class Variant(NamedTuple):
    """One of the shapes that a package was built for."""

    inputs: Tuple[Port, ...]
    outputs: Tuple[Port, ...]


class Model:
    """A package, opened once: code, parameters and plan, read-only. Any number of sessions share it, in any
    threads; it is closed when nobody holds it any more."""

    def __init__(self, folder: Union[str, "os.PathLike[str]"]):
        error = ctypes.create_string_buffer(_runtime.ERROR_TEXT)
        self._take(lib.kiln_model_open(os.fsencode(folder), None, error), error)

    @classmethod
    def from_bytes(cls, plan: bytes, params: bytes, library: bytes) -> "Model":
        """From the bytes of plan.bin, params.safetensors and lib.so, wherever they are kept."""
        model = cls.__new__(cls)
        error = ctypes.create_string_buffer(_runtime.ERROR_TEXT)
        data = np.frombuffer(params, dtype=np.uint8)
        if not _arrays.is_bindable(data):
            data = _arrays.aligned_empty(data.shape, data.dtype)
            data[:] = np.frombuffer(params, dtype=np.uint8)
        files = _runtime.ModelFiles(
            ctypes.cast(ctypes.c_char_p(bytes(plan)), ctypes.c_void_p),
            data.ctypes.data,
            ctypes.cast(ctypes.c_char_p(bytes(library)), ctypes.c_void_p),
            len(plan),
            data.nbytes,
            len(library),
        )
        model._take(lib.kiln_model_open_memory(ctypes.byref(files), None, error), error, data)
        return model

    def _take(self, handle: Optional[int], error, *held) -> None:
        if not handle:
            raise KilnError(_text(error.value))
        self._handle = handle
        # What the runtime borrows lives as long as the finalizer that closes the model.
        weakref.finalize(self, lambda h, *_: lib.kiln_model_close(h), handle, *held)
        self.name: str = _text(lib.kiln_model_name(handle))
        self.profile: str = _text(lib.kiln_model_profile(handle))
        """What machine it is made for."""
        each = (lib.kiln_model_variant(handle, i) for i in range(lib.kiln_model_n_variants(handle)))
        self.variants: Tuple[Variant, ...] = tuple(
            Variant(_ports(m, lib.kiln_model_input), _ports(m, lib.kiln_model_output)) for m in each
        )
        """One for each shape that it was built for; most packages have one."""
        self.inputs: Tuple[Port, ...] = self.variants[0].inputs
        self.outputs: Tuple[Port, ...] = self.variants[0].outputs

    def __repr__(self) -> str:
        return f"<kiln.Model '{self.name}' for {self.profile}>"


class Session:
    """Runs a model, by so many threads.

        with kiln.Session("resnet18", threads=2) as session:
            scores = session.run({"data": image})["scores"]

    Calls from several Python threads wait for each other; to run at once, open several sessions of one Model.
    While a network runs, other Python threads go on.
    """

    def __init__(self, model: Union[Model, str, "os.PathLike[str]"], threads: int = 1):
        self.model = model if isinstance(model, Model) else Model(model)
        error = ctypes.create_string_buffer(_runtime.ERROR_TEXT)
        options = _runtime.SessionOptions(threads)
        handle = lib.kiln_session_open(self.model._handle, ctypes.byref(options), error)
        if not handle:
            raise KilnError(_text(error.value))
        self._lock = threading.Lock()
        self._copy: Dict[Tuple[int, int], np.ndarray] = {}
        self._now = 0
        self._handle: Optional[int] = handle
        # The model in its arguments: it is closed after its sessions.
        self._close = weakref.finalize(self, lambda h, _: lib.kiln_session_close(h), handle, self.model)

    @property
    def inputs(self) -> Tuple[Port, ...]:
        """Of a package for several shapes: as the last run had them, or the first ones."""
        return self.model.variants[self._now].inputs

    @property
    def outputs(self) -> Tuple[Port, ...]:
        return self.model.variants[self._now].outputs

    def close(self) -> None:
        """Gives back memory and threads; the end of a `with` block and of the object do the same."""
        with self._lock:
            self._handle = None
            self._close()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def _open(self) -> int:
        if self._handle is None:
            raise ValueError("the session is closed")
        return self._handle

    # ---- running

    def empty(self, name: str) -> np.ndarray:
        """An array for this input or output that is used as it is, without a copy."""
        for port in (*self.inputs, *self.outputs):
            if port.name == name:
                return _arrays.aligned_empty(port.shape, port.dtype)
        raise KeyError(f"'{self.model.name}' has no input or output '{name}'")

    def run(
        self, inputs: Mapping[str, np.ndarray], out: Optional[Mapping[str, np.ndarray]] = None
    ) -> Dict[str, np.ndarray]:
        """Runs once, on an array for each input, of its dtype and shape: nothing is converted (TypeError,
        ValueError say what is wrong). Of a package for several shapes, the arrays' shapes say which. Arrays that are contiguous and begin at a multiple of 64 bytes
        (`empty` makes such) are used where they are, others are copied once.

        Gives a new array for each output, or those of `out`, which must be as `empty` makes them. Of an output
        whose length depends on data, `outputs[name + ".count"]` says how many elements count."""
        with self._lock:
            handle = self._open()
            self._choose(inputs)
            given = _by_port(inputs, self.inputs, "input", self.model.name)
            results = self._results(out or {})
            held = [self._bindable(i, a) for i, a in enumerate(given)]
            try:
                for i, array in enumerate(held):
                    self._check(lib.kiln_session_bind_input(handle, i, array.ctypes.data))
                for i, array in enumerate(results):
                    self._check(lib.kiln_session_bind_output(handle, i, array.ctypes.data))
                self._check(lib.kiln_session_run(handle))
            finally:
                # The arrays are their owners' again.
                for i in range(len(held)):
                    lib.kiln_session_bind_input(handle, i, None)
                for i in range(len(results)):
                    lib.kiln_session_bind_output(handle, i, None)
        return {port.name: array for port, array in zip(self.outputs, results)}

    def _choose(self, given: Mapping[str, np.ndarray]) -> None:
        """The variant for these arrays; as it was where their names are not the inputs'."""
        if len(self.model.variants) == 1:
            return
        found = [i for i, v in enumerate(self.model.variants) if _takes(given, v.inputs)]
        if not found:
            shapes = "; ".join(_names(v.inputs) for v in self.model.variants)
            raise ValueError(f"'{self.model.name}' was not built for arrays of these shapes; it was for: {shapes}")
        if self._now in found:
            return
        inputs = self.model.variants[found[0]].inputs
        shape = (_runtime.Shape * len(inputs))()
        for i, port in enumerate(inputs):
            shape[i].rank = len(port.shape)
            shape[i].dim[: len(port.shape)] = port.shape
        self._check(lib.kiln_session_set_shapes(self._handle, shape, len(inputs)))
        self._now = found[0]

    def _check(self, status: int) -> None:
        if status != 0:
            raise KilnError(_text(lib.kiln_session_error(self._handle)))

    def _bindable(self, i: int, array: np.ndarray) -> np.ndarray:
        if _arrays.is_bindable(array):
            return array
        key = self._now, i
        if key not in self._copy:
            self._copy[key] = _arrays.aligned_empty(array.shape, array.dtype)
        np.copyto(self._copy[key], array)
        return self._copy[key]

    def _results(self, out: Mapping[str, np.ndarray]) -> List[np.ndarray]:
        for name in out:
            if all(port.name != name for port in self.outputs):
                raise KeyError(f"'{self.model.name}' has no output '{name}'; outputs: {_names(self.outputs)}")
        results = []
        for port in self.outputs:
            array = out.get(port.name)
            if array is None:
                array = _arrays.aligned_empty(port.shape, port.dtype)
            elif not isinstance(array, np.ndarray):
                raise TypeError(f"output '{port.name}' must be an array, is {type(array).__name__}")
            _fits(array, port, "output")
            if not _arrays.is_bindable(array) or not array.flags.writeable:
                raise ValueError(f"output '{port.name}' must be writeable, contiguous and 64-byte aligned: Session.empty")
            results.append(array)
        return results

    # ---- profile

    def profile(self, is_on: bool = True) -> None:
        """Measures each step from now on, from zero, or no more."""
        with self._lock:
            lib.kiln_session_profile(self._open(), int(is_on))

    @property
    def steps(self) -> List[Step]:
        with self._lock:
            steps, info = [], _runtime.StepInfo()
            while lib.kiln_session_step(self._open(), len(steps), ctypes.byref(info)) == 0:
                steps.append(Step(_text(info.name), _text(info.op), info.nanoseconds, info.runs))
            return steps

    @property
    def nbytes(self) -> int:
        """Bytes that the session allocated; parameters are the model's."""
        with self._lock:
            return lib.kiln_session_bytes(self._open())


def _takes(given: Mapping[str, np.ndarray], ports: Tuple[Port, ...]) -> bool:
    return all(p.name not in given or np.shape(given[p.name]) == p.shape for p in ports)


def _names(ports: Tuple[Port, ...]) -> str:
    return ", ".join(f"{p.name} {p.kind}{list(p.shape)}" for p in ports) or "none"


def _fits(array: np.ndarray, port: Port, what: str) -> None:
    if array.dtype != port.dtype:
        codes = "" if port.kind == port.dtype.name or port.dtype.kind in "fb" else f" ({port.kind})"
        raise TypeError(f"{what} '{port.name}' must be {port.dtype}{codes}, is {array.dtype}")
    if array.shape != port.shape:
        raise ValueError(f"{what} '{port.name}' must have shape {port.shape}, has {array.shape}")


def _by_port(given: Mapping[str, np.ndarray], ports: Tuple[Port, ...], what: str, model: str) -> List[np.ndarray]:
    for name in given:
        if all(port.name != name for port in ports):
            raise KeyError(f"'{model}' has no {what} '{name}'; {what}s: {_names(ports)}")
    arrays = []
    for port in ports:
        if port.name not in given:
            raise KeyError(f"{what} '{port.name}' is missing; {what}s: {_names(ports)}")
        array = np.asarray(given[port.name])
        if port.kind == "bf16" and array.dtype.name == "bfloat16":  # of ml_dtypes: the same bits
            array = array.view(np.uint16)
        _fits(array, port, what)
        arrays.append(array)
    return arrays
