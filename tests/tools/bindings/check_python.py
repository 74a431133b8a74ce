"""What the Python package promises: check_python.py SMALL TYPES SHAPES, folders of tests/support/installed.c.

Prints nothing where all of it holds."""

import gc
import pathlib
import sys
import threading

import kiln
import numpy as np

SMALL, TYPES, SHAPES = (pathlib.Path(p) for p in sys.argv[1:])
X = np.fromfile(SMALL / "input.bin", dtype=np.float32).reshape(1, 12)


def refuses(kind, text, f):
    try:
        f()
    except kind as e:
        assert text in str(e), f"'{e}' does not say '{text}'"
    else:
        raise AssertionError(f"nothing was raised; wanted {kind.__name__}: {text}")


def check_ports():
    with kiln.Session(SMALL) as s:
        assert s.inputs == (kiln.Port("x", "f32", np.dtype(np.float32), (1, 12)),), s.inputs
        assert [p.name for p in s.outputs] == ["b"] and s.outputs[0].nbytes == 80
        assert s.model.name == "small" and s.model.profile and s.nbytes > 0
        assert "small" in repr(s.model)


def check_refusals():
    refuses(kiln.KilnError, "/nowhere/plan.bin': No such file", lambda: kiln.Session("/nowhere"))
    refuses(kiln.KilnError, "parameters in memory: their header does not fit", lambda: kiln.Model.from_bytes(b"", b"", b""))
    with kiln.Session(SMALL) as s:
        refuses(KeyError, "input 'x' is missing; inputs: x f32[1, 12]", lambda: s.run({}))
        refuses(KeyError, "'small' has no input 'y'", lambda: s.run({"x": X, "y": X}))
        refuses(KeyError, "'small' has no output 'c'", lambda: s.run({"x": X}, {"c": X}))
        refuses(TypeError, "must be float32, is float64", lambda: s.run({"x": X.astype(np.float64)}))
        refuses(TypeError, "must be float32, is >f4", lambda: s.run({"x": X.astype(">f4")}))
        refuses(ValueError, "must have shape (1, 12), has (12,)", lambda: s.run({"x": X[0]}))
        crooked = s.empty("b").reshape(-1)[1:]
        frozen = s.empty("b")
        frozen.flags.writeable = False
        refuses(ValueError, "must be writeable, contiguous", lambda: s.run({"x": X}, {"b": frozen}))
        refuses(ValueError, "must have shape (1, 20), has (19,)", lambda: s.run({"x": X}, {"b": crooked}))
        crooked = np.concatenate([crooked, crooked])[: 21][1:].reshape(1, 20)
        while crooked.ctypes.data % 64 == 0:
            crooked = np.empty(21, np.float32)[1:].reshape(1, 20)
        refuses(ValueError, "64-byte aligned", lambda: s.run({"x": X}, {"b": crooked}))
        refuses(TypeError, "output 'b' must be an array", lambda: s.run({"x": X}, {"b": [1.0]}))
        refuses(KeyError, "no input or output 'c'", lambda: s.empty("c"))
        s.run({"x": X})  # still good
    refuses(ValueError, "the session is closed", lambda: s.run({"x": X}))
    s.close()  # again


def check_copies():
    with kiln.Session(SMALL, threads=2) as s:
        want = s.run({"x": X})["b"]
        assert want.shape == (1, 20) and want.any()
        own, out = s.empty("x"), s.empty("b")
        own[:] = X
        assert s.run({"x": own}, {"b": out})["b"] is out and (out == want).all()
        strided = np.zeros((1, 24), np.float32)
        strided[:, ::2] = X
        assert (s.run({"x": strided[:, ::2]})["b"] == want).all()
        first = s.run({"x": X})["b"]
        second = s.run({"x": -X})["b"]
        assert (first == want).all() and not (second == want).all()  # each run's arrays are its own
        refuses(kiln.KilnError, "overlaps", lambda: overlapping(s))


def overlapping(s):
    block = np.empty(64 * 3, np.uint8)
    begin = -block.ctypes.data % 64
    x = block[begin : begin + 48].view(np.float32).reshape(1, 12)
    s.run({"x": x}, {"b": block[begin : begin + 80].view(np.float32).reshape(1, 20)})


def check_types():
    given = {
        "h": np.array([-1.5, 0.25, 3], np.float16),
        "q": kiln.f32_to_bf16(np.array([-2, 1.5, 256], np.float32)),
        "d": np.array([1.5, -2], np.float64),
        "i": np.array([[1, -2], [3, 1 << 40]], np.int64),
        "m": np.array([True, False, True, True]),
        "n": np.array([1, -2, 127], np.int8),
        "u": np.array([0, 7, 15], np.uint8),
    }
    with kiln.Session(TYPES) as s:
        assert {p.name: p.kind for p in s.inputs} == dict(h="f16", q="bf16", d="f64", i="i64", m="bool", n="i8", u="u4")
        out = s.run(given)
        assert {n: a.dtype for n, a in out.items()} == {
            n: given[g].dtype for n, g in zip(("oh", "oq", "od", "oi", "om", "on", "ou"), given)
        }, out
        assert out["oh"].tolist() == [0, 0.25, 3] and out["od"].tolist() == [-1.5, 2]
        assert kiln.bf16_to_f32(out["oq"]).tolist() == [0, 1.5, 256]
        assert out["oi"].tolist() == [[2, -4], [6, 1 << 41]] and out["om"].tolist() == [False, True, False, False]
        assert out["on"].tolist() == [-1, 2, -127] and out["ou"].tolist() == [0, 7, 15]
        refuses(TypeError, "input 'q' must be uint16 (bf16), is float32", lambda: s.run({**given, "q": X[0, :3]}))


def check_bf16():
    exact = np.array([0, -0.0, 1, -2.5, np.inf, 2.0**-133, 3e38], np.float32)
    codes = np.arange(1 << 16).astype(np.uint16)
    numbers = kiln.bf16_to_f32(codes)
    is_nan = np.isnan(numbers)
    assert (kiln.f32_to_bf16(numbers[~is_nan]) == codes[~is_nan]).all()
    assert np.isnan(kiln.bf16_to_f32(kiln.f32_to_bf16(numbers[is_nan]))).all()
    assert (kiln.bf16_to_f32(kiln.f32_to_bf16(exact[:6])) == exact[:6]).all()
    half = np.array([1 + 2**-8, 1 + 3 * 2**-8, -1 - 2**-8], np.float32)  # ties go to the even code
    assert kiln.bf16_to_f32(kiln.f32_to_bf16(half)).tolist() == [1, 1 + 2**-6, -1]
    refuses(TypeError, "must be uint16", lambda: kiln.bf16_to_f32(exact))
    refuses(TypeError, "must be float32", lambda: kiln.f32_to_bf16(codes))


def check_shapes():
    with kiln.Session(SHAPES, threads=2) as s:
        assert [v.inputs[0].shape[0] for v in s.model.variants] == [1, 4], s.model.variants
        four = np.linspace(-1, 1, 4 * 3 * 8 * 8, dtype=np.float32).reshape(4, 3, 8, 8)
        scores = s.run({"data": four})["scores"]
        assert scores.shape == (4, 10) and s.inputs[0].shape == (4, 3, 8, 8)
        for i in range(4):
            assert np.allclose(s.run({"data": four[i : i + 1]})["scores"], scores[i : i + 1], atol=1e-4)
        assert s.outputs[0].shape == (1, 10) and s.empty("data").shape == (1, 3, 8, 8)
        refuses(ValueError, "it was for: data f32[1, 3, 8, 8]; data f32[4, 3, 8, 8]", lambda: s.run({"data": four[:2]}))
        refuses(KeyError, "'m' has no input 'x'", lambda: s.run({"x": four, "data": four}))
        assert np.allclose(s.run({"data": four})["scores"], scores)


def check_lifetimes():
    model = kiln.Model(SMALL)
    s = kiln.Session(model)
    del model
    gc.collect()
    want = s.run({"x": X})["b"]
    files = [(SMALL / n).read_bytes() for n in ("plan.bin", "params.safetensors", "lib.so")]
    in_memory = kiln.Session(kiln.Model.from_bytes(*files))
    del files
    gc.collect()
    assert (in_memory.run({"x": X})["b"] == want).all()
    s.profile()
    s.run({"x": X})
    assert s.steps and s.steps[0].runs == 1 and s.steps[0].op == "matmul"
    s.close()
    assert (in_memory.run({"x": X})["b"] == want).all()
    return in_memory  # open at the interpreter's end


def check_threads():
    model = kiln.Model(SMALL)
    shared = kiln.Session(model)
    want = shared.run({"x": X})["b"]
    wrong = []

    def work(s):
        for i in range(100):
            if not (s.run({"x": X})["b"] == want).all():
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(kiln.Session(model) if t % 2 else shared,)) for t in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


check_ports()
check_refusals()
check_copies()
check_types()
check_bf16()
check_shapes()
left = check_lifetimes()
check_threads()
assert kiln.__version__ != "0+unknown"
