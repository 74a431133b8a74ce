"""Models of one operator of com.microsoft each, with inputs."""
import math

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper

from runtime import session

MS = "com.microsoft"
TYPES = {"float32": T.FLOAT, "float16": T.FLOAT16, "uint8": T.UINT8, "int8": T.INT8, "int16": T.INT16,
         "uint16": T.UINT16, "int32": T.INT32, "int64": T.INT64, "bool": T.BOOL}


class Case:
    """want: outputs by name where ONNX Runtime has no kernel here. Results must agree as networks do (integers: be
    equal), or differ by at most `steps`, or by `rms` of the root mean square."""

    def __init__(self, name, model, feeds, want=None, steps=0, rms=0):
        self.name, self.model, self.feeds, self.want = name, model, feeds, want
        self.steps, self.rms = steps, rms


def value(name, array):
    return helper.make_tensor_value_info(name, TYPES[str(array.dtype)], array.shape)


def one(name, op, inputs, outputs, consts=(), want=None, steps=0, version=17, domain=MS, **attrs):
    """inputs: (name, array or None) in order; those named in consts become initializers. outputs: name -> (dtype,
    rank) or dtype; want: name -> array."""
    node = helper.make_node(op, [n if a is not None else "" for n, a in inputs], list(outputs), domain=domain, **attrs)
    given = {n: a for n, a in inputs if a is not None}
    feeds = {n: a for n, a in given.items() if n not in consts}
    graph = helper.make_graph(
        [node], "g", [value(n, a) for n, a in feeds.items()],
        [helper.make_tensor_value_info(n, TYPES[d], None) for n, d in outputs.items() if n],
        [onnx.numpy_helper.from_array(given[n], n) for n in given if n in consts])
    model = helper.make_model(graph, ir_version=8,
                              opset_imports=[helper.make_opsetid("", version), helper.make_opsetid(MS, 1)])
    return Case(name, model, feeds, want, steps)


def rng(seed):
    return np.random.default_rng(seed)


def f32(r, *shape):
    return r.standard_normal(shape).astype(np.float32)


def f(x):
    return np.array(x, np.float32)


def ints(r, dtype, *shape):
    i = np.iinfo(dtype)
    return r.integers(i.min, i.max + 1, shape).astype(dtype)


F = "float32"


def erf_gelu(x):
    return (0.5 * x * (1 + np.vectorize(math.erf)(x.astype(np.float64) / math.sqrt(2)))).astype(np.float32)


def activations():
    r = rng(1)
    x, bias = f32(r, 2, 5, 16), f32(r, 16)
    yield one("Gelu", "Gelu", [("x", x)], {"y": F})
    yield one("QuickGelu", "QuickGelu", [("x", x)], {"y": F})
    yield one("QuickGelu_alpha", "QuickGelu", [("x", x)], {"y": F}, alpha=0.7)
    yield one("FastGelu", "FastGelu", [("x", x)], {"y": F})
    yield one("FastGelu_bias", "FastGelu", [("x", x), ("b", bias)], {"y": F}, consts=["b"])
    yield one("BiasGelu", "BiasGelu", [("x", x), ("b", bias)], {"y": F})
    skip = f32(r, 2, 5, 16)
    yield one("BiasAdd", "BiasAdd", [("x", x), ("b", bias), ("s", skip)], {"y": F}, want={"y": x + bias + skip})
    z = x + bias
    yield one("BiasSplitGelu", "BiasSplitGelu", [("x", x), ("b", bias)], {"y": F},
              want={"y": z[..., :8] * erf_gelu(z[..., 8:])})

    def softmax(v, axis):
        flat = v.reshape(int(np.prod(v.shape[:axis])), -1).astype(np.float64)
        e = np.exp(flat - flat.max(1, keepdims=True))
        return (e / e.sum(1, keepdims=True)).reshape(v.shape).astype(np.float32)
    s = f32(r, 2, 3, 4, 6)
    for name, shape, axis, inner in [("inner", (2, 1, 1, 6), 3, 1), ("outer", (1, 3, 4, 6), 3, 0), ("flat", (1, 1, 4, 6), 2, 0)]:
        b = f32(r, *shape)
        yield one(f"BiasSoftmax_{name}", "BiasSoftmax", [("x", s), ("b", b)], {"y": F}, axis=axis,
                  is_inner_broadcast=inner, want={"y": softmax(s + b, axis)})


def convolutions():
    r = rng(2)
    x, w, b = f32(r, 2, 4, 9, 7), f32(r, 6, 4, 3, 3), f32(r, 6)
    z = f32(r, 2, 6, 9, 7)
    pads = dict(pads=[1, 1, 1, 1])
    for act, params in [("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.3]), ("Clip", [-0.5, 1.5]),
                        ("HardSigmoid", [0.3, 0.4])]:
        a = dict(activation=act, **pads)
        if params:
            a["activation_params"] = params
        yield one(f"FusedConv_{act}", "FusedConv", [("x", x), ("w", w), ("b", b)], {"y": F}, consts=["w", "b"], **a)
    yield one("FusedConv_sum", "FusedConv", [("x", x), ("w", w), ("b", b), ("z", z)], {"y": F}, consts=["w", "b"],
              activation="Relu", **pads)
    yield one("FusedConv_sum_no_bias", "FusedConv", [("x", x), ("w", w), ("b", None), ("z", z)], {"y": F},
              consts=["w"], activation="Relu", **pads)
    wg = f32(r, 4, 2, 3, 3)
    yield one("FusedConv_groups", "FusedConv", [("x", x), ("w", wg)], {"y": F}, consts=["w"], group=2,
              strides=[2, 1], dilations=[1, 2], activation="Relu", auto_pad="VALID")
    # No kernel for float on this processor: ONNX Runtime's own convolution, turned.
    plain = one("c", "Conv", [("x", x), ("w", w), ("b", b)], {"y": F}, domain="", **pads)
    y = session(plain.model).run(None, plain.feeds)[0]
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    yield one("NhwcConv", "NhwcConv", [("x", last), ("w", np.ascontiguousarray(w.transpose(0, 2, 3, 1))), ("b", b)],
              {"y": F}, consts=["w", "b"], want={"y": y.transpose(0, 2, 3, 1)}, **pads)
    zl = z.transpose(0, 2, 3, 1)
    yield one("NhwcFusedConv", "NhwcFusedConv", [("x", last), ("w", w), ("b", b), ("z", np.ascontiguousarray(zl))],
              {"y": F}, consts=["w", "b"], want={"y": np.maximum(y.transpose(0, 2, 3, 1) + zl, 0)},
              activation="Relu", **pads)
    for dtype in (np.uint8, np.int8):
        q = ints(r, dtype, 2, 9, 7, 5)
        yield one(f"NhwcMaxPool_{dtype.__name__}", "NhwcMaxPool", [("x", q)], {"y": dtype.__name__},
                  kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])


def products():
    r = rng(3)
    for ta in (0, 1):
        for tb in (0, 1):
            a, b = f32(r, *((5, 7) if not ta else (7, 5))), f32(r, *((7, 6) if not tb else (6, 7)))
            yield one(f"FusedGemm_{ta}{tb}", "FusedGemm", [("a", a), ("b", b), ("c", f32(r, 6))], {"y": F}, transA=ta,
                      transB=tb, alpha=0.5, beta=2.0, activation="Relu")
    a, b = f32(r, 5, 7), f32(r, 7, 6)
    yield one("FusedGemm_leaky", "FusedGemm", [("a", a), ("b", b)], {"y": F}, activation="LeakyRelu",
              activation_alpha=0.2)
    yield one("FusedGemm_hard", "FusedGemm", [("a", a), ("b", b)], {"y": F}, activation="HardSigmoid",
              activation_alpha=0.3, activation_beta=0.4)
    yield one("FusedGemm_tanh", "FusedGemm", [("a", a), ("b", b)], {"y": F}, activation="Tanh")
    for ta in (0, 1):
        for tb in (0, 1):
            for ba in (0, 1):
                for bb in (0, 1):
                    # Operand [.., M, K] of batch 2 x 3 seen the other way round.
                    a, b = f32(r, 2, 3, 5, 7), f32(r, 2, 3, 7, 6)
                    a = a.swapaxes(-1, -2) if ta else a
                    b = b.swapaxes(-1, -2) if tb else b
                    a = np.moveaxis(a, -2, 0) if ba else a
                    b = np.moveaxis(b, -2, 0) if bb else b
                    yield one(f"FusedMatMul_{ta}{tb}{ba}{bb}", "FusedMatMul",
                              [("a", np.ascontiguousarray(a)), ("b", np.ascontiguousarray(b))], {"y": F}, transA=ta,
                              transB=tb, transBatchA=ba, transBatchB=bb, alpha=0.3)
    yield one("FusedMatMul_vector", "FusedMatMul", [("a", f32(r, 7)), ("b", f32(r, 2, 7, 3))], {"y": F}, transA=0)
    yield one("TransposeMatMul", "TransposeMatMul", [("a", f32(r, 2, 7, 5)), ("b", f32(r, 2, 6, 7))], {"y": F},
              transA=1, transB=1, alpha=2.0)
    a, b = f32(r, 2, 5, 7), f32(r, 7, 6)
    yield one("FusedMatMulActivation", "FusedMatMulActivation", [("a", a), ("b", b)], {"y": F}, alpha=0.5,
              activation="Relu", want={"y": np.maximum(0.5 * (a @ b), 0).astype(np.float32)})
    x, w, bias = f32(r, 2, 5, 7), f32(r, 7, 6), f32(r, 6)
    u = (x @ w + bias).astype(np.float64)
    g = 0.5 * u * (1 + np.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u ** 3)))
    yield one("GemmFastGelu", "GemmFastGelu", [("x", x), ("w", w), ("b", bias)], {"y": F},
              want={"y": g.astype(np.float32)})
    yield one("MatMulInteger16", "MatMulInteger16", [("a", ints(r, np.int16, 3, 4)), ("b", ints(r, np.int16, 4, 5))],
              {"y": "int32"})


def norms():
    r = rng(4)
    x, s, g, b, bias = f32(r, 2, 5, 16), f32(r, 2, 5, 16), f32(r, 16), f32(r, 16), f32(r, 16)
    yield four("SkipLayerNormalization_sum", "SkipLayerNormalization",
               [("x", x), ("s", s), ("g", g), ("b", b), ("bias", bias)])
    yield one("SkipLayerNormalization_plain", "SkipLayerNormalization", [("x", x), ("s", s), ("g", g)], {"y": F})
    yield one("SkipLayerNormalization_skip_2d", "SkipLayerNormalization",
              [("x", x), ("s", f32(r, 5, 16)), ("g", g), ("b", b)], {"y": F}, epsilon=1e-3)
    yield one("SkipLayerNormalization_skip_1", "SkipLayerNormalization",
              [("x", x), ("s", f32(r, 1, 5, 16)), ("g", g), ("b", b)], {"y": F}, epsilon=1e-3)
    yield four("SkipSimplifiedLayerNormalization_sum", "SkipSimplifiedLayerNormalization",
               [("x", x), ("s", s), ("g", g), ("bias", bias)])
    yield one("SkipSimplifiedLayerNormalization", "SkipSimplifiedLayerNormalization", [("x", x), ("s", s), ("g", g)],
              {"y": F}, epsilon=1e-3)
    for axis in (-1, 1):
        scale = f32(r, *x.shape[axis:])
        yield one(f"SimplifiedLayerNormalization_{axis % 3}", "SimplifiedLayerNormalization",
                  [("x", x), ("g", scale)], {"y": F}, domain="", axis=axis, epsilon=1e-4, stash_type=1)
    yield one("LayerNormalization_1", "LayerNormalization", [("x", x), ("g", g), ("b", b)], {"y": F}, domain="",
              version=12, axis=-1, epsilon=1e-4)
    ids, seg = r.integers(0, 20, (2, 6)).astype(np.int32), r.integers(0, 2, (2, 6)).astype(np.int32)
    word, pos, sege = f32(r, 20, 16), f32(r, 8, 16), f32(r, 2, 16)
    mask = (np.arange(6) < np.array([[4], [6]])).astype(np.int32)
    tables = ["w", "p", "se", "g", "b"]
    yield one("EmbedLayerNormalization", "EmbedLayerNormalization",
              [("ids", ids), ("seg", seg), ("w", word), ("p", pos), ("se", sege), ("g", g), ("b", b), ("mask", mask)],
              {"y": F, "m": "int32", "sum": F}, consts=tables)
    places = r.integers(0, 8, (2, 6)).astype(np.int32)
    yield one("EmbedLayerNormalization_places", "EmbedLayerNormalization",
              [("ids", ids), ("seg", None), ("w", word), ("p", pos), ("se", None), ("g", g), ("b", b), ("mask", None),
               ("places", places)], {"y": F, "m": "int32"}, consts=tables, epsilon=1e-3)
    q = [("wq", ints(r, np.uint8, 20, 16)), ("pq", ints(r, np.uint8, 8, 16)), ("sq", ints(r, np.uint8, 2, 16)),
         ("gq", ints(r, np.uint8, 16)), ("bq", ints(r, np.uint8, 16))]
    scales = [(f"s{i}", f(0.01 * (i + 1))) for i in range(5)]
    zeros = [(f"z{i}", np.array(100 + i, np.uint8)) for i in range(5)]
    names = [n for n, _ in q + scales + zeros]
    yield one("QEmbedLayerNormalization", "QEmbedLayerNormalization",
              [("ids", ids), ("seg", seg)] + q + [("mask", mask)] + scales + zeros, {"y": F, "m": "int32"},
              consts=names, epsilon=1e-3)

    def group_norm(v, groups, silu):
        n, c = v.shape[0], v.shape[-1]
        u = v.astype(np.float64).reshape(n, -1, groups, c // groups)
        u = (u - u.mean((1, 3), keepdims=True)) / np.sqrt(u.var((1, 3), keepdims=True) + 1e-5)
        u = u.reshape(v.shape) * gn + bn
        return (u / (1 + np.exp(-u)) if silu else u).astype(np.float32)
    img, gn, bn = f32(r, 2, 5, 3, 8), f32(r, 8), f32(r, 8)
    for act in (0, 1):
        y = group_norm(img, 4, act)
        yield one(f"GroupNorm_{act}", "GroupNorm", [("x", img), ("g", gn), ("b", bn)], {"y": F}, groups=4,
                  activation=act, want={"y": y})
    yield one("GroupNorm_first", "GroupNorm",
              [("x", np.ascontiguousarray(img.transpose(0, 3, 1, 2))), ("g", gn), ("b", bn)], {"y": F}, groups=4,
              activation=1, channels_last=0, want={"y": y.transpose(0, 3, 1, 2)})
    skip, bias = f32(r, 2, 8), f32(r, 8)
    total = img + skip[:, None, None, :] + bias
    yield one("SkipGroupNorm", "SkipGroupNorm",
              [("x", img), ("g", gn), ("b", bn), ("s", skip), ("bias", bias)], {"y": F, "sum": F}, groups=2,
              activation=1, want={"y": group_norm(total, 2, 1), "sum": total})


def four(name, op, inputs):
    """Outputs 0 and 3, the others left out."""
    c = one(name, op, inputs, {"y": F, "sum": F}, epsilon=1e-5)
    node = c.model.graph.node[0]
    del node.output[:]
    node.output.extend(["y", "", "", "sum"])
    return c


def attention():
    r = rng(5)
    batch, length, width, heads, past = 2, 5, 16, 4, 3
    size = width // heads
    x = f32(r, batch, length, 12)
    w, b = 0.3 * f32(r, 12, 3 * width), f32(r, 3 * width)
    masks = {
        "none": (None, 0), "ends": (np.array([3, 5], np.int32), 0), "ends_begins": (np.array([4, 5, 1, 2], np.int32), 0),
        "keys": ((np.arange(length) < np.array([[3], [5]])).astype(np.int32), 0),
        "pairs": (r.integers(0, 2, (batch, length, length)).astype(np.int32), 0),
        "causal": (None, 1), "keys_causal": ((np.arange(length) < np.array([[3], [5]])).astype(np.int32), 1),
        "one": (np.ones((batch, 1), np.int32), 0)}
    for name, (mask, causal) in masks.items():
        yield one(f"Attention_{name}", "Attention", [("x", x), ("w", w), ("b", b), ("m", mask)], {"y": F},
                  consts=["w", "b"], num_heads=heads, unidirectional=causal)
    old = f32(r, 2, batch, heads, past, size)
    keys = (np.arange(length + past) < np.array([[6], [8]])).astype(np.int32)
    yield one("Attention_past", "Attention", [("x", x), ("w", w), ("b", b), ("m", keys), ("past", old)],
              {"y": F, "present": F}, consts=["w", "b"], num_heads=heads, unidirectional=1)
    yield one("Attention_bias", "Attention",
              [("x", x), ("w", w), ("b", b), ("m", None), ("past", None), ("a", f32(r, 1, heads, length, length))],
              {"y": F}, consts=["w", "b"], num_heads=heads, scale=0.3)
    wide = 0.3 * f32(r, 12, 8 + 8 + 20)
    yield one("Attention_sizes", "Attention", [("x", x), ("w", wide), ("b", f32(r, 36))], {"y": F}, consts=["w", "b"],
              num_heads=heads, qkv_hidden_sizes=[8, 8, 20])
    yield one("Attention_filter", "Attention", [("x", x), ("w", w), ("b", b), ("m", masks["keys"][0])], {"y": F},
              consts=["w", "b"], num_heads=heads, mask_filter_value=-1.5)
    for dtype in (np.uint8, np.int8):
        for per in ("tensor", "column"):
            n = () if per == "tensor" else (3 * width,)
            ws = np.full(n, 0.003, np.float32) * (1 if per == "tensor" else r.uniform(0.5, 2, n).astype(np.float32))
            yield one(f"QAttention_{dtype.__name__}_{per}", "QAttention",
                      [("x", ints(r, np.uint8, batch, length, 12)), ("w", ints(r, dtype, 12, 3 * width)), ("b", b),
                       ("xs", f(0.02)), ("ws", ws), ("m", masks["ends"][0]), ("xz", np.array(120, np.uint8)),
                       ("wz", np.full(n, 3 if dtype == np.int8 else 130, dtype))], {"y": F},
                      consts=["w", "b", "ws", "wz", "xs", "xz"], num_heads=heads)
    yield one("QAttention_past", "QAttention",
              [("x", ints(r, np.uint8, batch, length, 12)), ("w", ints(r, np.int8, 12, 3 * width)), ("b", b),
               ("xs", f(0.02)), ("ws", f(0.003)), ("m", None), ("xz", np.array(120, np.uint8)),
               ("wz", np.array(0, np.int8)), ("past", old)], {"y": F, "present": F},
              consts=["w", "b", "ws", "wz", "xs", "xz"], num_heads=heads, unidirectional=1)
    # MultiHeadAttention
    q, k, v = f32(r, batch, length, width), f32(r, batch, 7, width), f32(r, batch, 7, 24)
    yield one("MultiHeadAttention_cross", "MultiHeadAttention", [("q", q), ("k", k), ("v", v)], {"y": F},
              num_heads=heads)
    yield one("MultiHeadAttention_bias", "MultiHeadAttention",
              [("q", q), ("k", k), ("v", v), ("b", f32(r, 2 * width + 24))], {"y": F}, num_heads=heads, scale=0.2)
    km = (np.arange(7) < np.array([[3], [7]])).astype(np.int32)
    yield one("MultiHeadAttention_mask", "MultiHeadAttention",
              [("q", q), ("k", k), ("v", v), ("b", None), ("m", km), ("a", f32(r, batch, 1, length, 7))], {"y": F},
              num_heads=heads)
    yield one("MultiHeadAttention_ends", "MultiHeadAttention",
              [("q", q), ("k", k), ("v", v), ("b", None), ("m", np.array([2, 6], np.int32))], {"y": F},
              num_heads=heads)
    k2, v2 = f32(r, batch, length, width), f32(r, batch, length, width)
    yield one("MultiHeadAttention_causal", "MultiHeadAttention", [("q", q), ("k", k2), ("v", v2)], {"y": F},
              num_heads=heads, unidirectional=1)
    pk, pv = f32(r, batch, heads, past, size), f32(r, batch, heads, past, size)
    yield one("MultiHeadAttention_past", "MultiHeadAttention",
              [("q", q), ("k", k2), ("v", v2), ("b", f32(r, 3 * width)), ("m", None), ("a", None), ("pk", pk), ("pv", pv)],
              {"y": F, "nk": F, "nv": F}, num_heads=heads, unidirectional=1)
    yield one("MultiHeadAttention_heads", "MultiHeadAttention",
              [("q", q), ("k", f32(r, batch, heads, 6, size)), ("v", f32(r, batch, heads, 6, size))], {"y": F},
              num_heads=heads)
    # Packed forms have kernels for GPUs only; what they mean follows from the unpacked one.
    plain = one("p", "MultiHeadAttention", [("q", q), ("k", k2), ("v", v2)], {"y": F}, num_heads=heads)
    y = session(plain.model).run(None, plain.feeds)[0]
    parts = [t.reshape(batch, length, heads, size) for t in (q, k2, v2)]
    yield one("MultiHeadAttention_packed", "MultiHeadAttention", [("q", np.stack(parts, 3))], {"y": F},
              num_heads=heads, want={"y": y})
    yield one("MultiHeadAttention_packed_kv", "MultiHeadAttention", [("q", q), ("k", np.stack(parts[1:], 3))],
              {"y": F}, num_heads=heads, want={"y": y})


def rotations():
    r = rng(7)
    batch, heads, length, size = 2, 3, 5, 8
    places = r.integers(0, 11, (batch, length))

    def caches(half):
        a = r.uniform(0, 6, (11, half))
        return [("c", np.cos(a).astype(np.float32)), ("s", np.sin(a).astype(np.float32))]
    flat, split = f32(r, batch, length, heads * size), f32(r, batch, heads, length, size)
    for inter in (0, 1):
        yield one(f"RotaryEmbedding_{inter}", "RotaryEmbedding", [("x", flat), ("p", places)] + caches(4), {"y": F},
                  interleaved=inter)
        yield one(f"RotaryEmbedding_first_{inter}", "RotaryEmbedding", [("x", split), ("p", np.array([4]))] + caches(4),
                  {"y": F}, interleaved=inter)
        yield one(f"RotaryEmbedding_part_{inter}", "RotaryEmbedding", [("x", flat), ("p", places)] + caches(2),
                  {"y": F}, interleaved=inter, num_heads=heads, rotary_embedding_dim=4)


def quantised():
    r = rng(6)
    for dtype in (np.uint8, np.int8):
        d = dtype.__name__
        mid = 128 if dtype == np.uint8 else 0

        def z(k):
            return np.array(mid + k, dtype)

        def q(*shape):
            return ints(r, dtype, *shape)
        for op, cs in (("QLinearAdd", 0.031), ("QLinearMul", 0.0063)):
            for name, shape in (("same", (3, 5, 37)), ("row", (37,)), ("scalar", ())):
                yield one(f"{op}_{d}_{name}", op,
                          [("a", q(3, 5, 37)), ("as", f(0.013)), ("az", z(3)), ("b", q(*shape)), ("bs", f(0.021)),
                           ("bz", z(-7)), ("cs", f(cs)), ("cz", z(5))], {"y": d},
                          consts=["as", "az", "bs", "bz", "cs", "cz"])
            # Ties: every quotient is a half or a whole.
            yield one(f"{op}_{d}_ties", op,
                      [("a", q(64)), ("as", f(0.25)), ("az", z(3)), ("b", q(64)), ("bs", f(0.25)), ("bz", z(-7)),
                       ("cs", f(0.5 if op == "QLinearAdd" else 0.125)), ("cz", z(5))], {"y": d},
                      consts=["as", "az", "bs", "bz", "cs", "cz"])
        for op, attrs in (("QLinearSigmoid", {}), ("QLinearLeakyRelu", {"alpha": 0.3}), ("QLinearLeakyRelu", {})):
            yield one(f"{op}_{d}_{len(attrs)}", op,
                      [("x", q(400)), ("xs", f(0.031)), ("xz", z(3)), ("ys", f(0.0043)), ("yz", z(-100 if not attrs else 5))],
                      {"y": d}, consts=["xs", "xz", "ys", "yz"], **attrs)
        for opset, axis in ((13, -1), (13, 1), (12, 1), (12, 2)):
            yield one(f"QLinearSoftmax_{d}_{opset}_{axis % 3}", "QLinearSoftmax",
                      [("x", q(3, 7, 5)), ("xs", f(0.021)), ("xz", z(3)), ("ys", f(1 / 256)),
                       ("yz", np.array(np.iinfo(dtype).min, dtype))], {"y": d}, consts=["xs", "xz", "ys", "yz"],
                      opset=opset, axis=axis)
        for parts in (2, 3):
            inputs = [("ys", f(0.023)), ("yz", z(4))]
            for i in range(parts):
                inputs += [(f"x{i}", q(2, 3 + i, 5)), (f"s{i}", f(0.01 * (i + 1) + 0.003)), (f"z{i}", z(i - 1))]
            yield one(f"QLinearConcat_{d}_{parts}", "QLinearConcat", inputs, {"y": d},
                      consts=[n for n, _ in inputs if n[0] != "x"], axis=1)
        yield one(f"QLinearWhere_{d}", "QLinearWhere",
                  [("c", r.integers(0, 2, (4, 6)).astype(bool)), ("x", q(4, 6)), ("xs", f(0.02)), ("xz", z(3)),
                   ("y", q(6)), ("ys", f(0.013)), ("yz", z(-3)), ("zs", f(0.017)), ("zz", z(6))], {"r": d},
                  consts=["xs", "xz", "ys", "yz", "zs", "zz"])
        par = [("xs", f(0.0213457)), ("xz", z(3)), ("ys", f(0.0171931)), ("yz", z(-5))]
        names = [n for n, _ in par]
        for last in (0, 1):
            x = q(2, 4, 9, 7) if not last else q(2, 9, 7, 4)
            yield one(f"QLinearGlobalAveragePool_{d}_{last}", "QLinearGlobalAveragePool", [("x", x)] + par, {"y": d},
                      consts=names, channels_last=last)
            for pad in (0, 1):
                yield one(f"QLinearAveragePool_{d}_{last}{pad}", "QLinearAveragePool", [("x", x)] + par, {"y": d},
                          consts=names, channels_last=last, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 1, 1, 0],
                          count_include_pad=pad)
        x = q(2, 3, 4, 5)
        m = (x.astype(np.int32) - int(par[1][1])).astype(np.float64).mean((1, 3)) * 0.0213457 / 0.0171931
        y = np.clip(np.rint(m) + int(par[3][1]), np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)
        yield one(f"QLinearReduceMean_{d}", "QLinearReduceMean", [("x", x)] + par, {"y": d}, consts=names,
                  axes=[1, 3], keepdims=0, want={"y": y})
        yield from quantised_products(r, dtype, d, z, q)
    yield from wide_quantisation(r)


def quantised_products(r, dtype, d, z, q):
    for wd in (np.uint8, np.int8):
        if dtype == np.int8 and wd == np.uint8:
            continue  # no kernel
        for per in ("tensor", "column"):
            n = () if per == "tensor" else (6,)
            bs = (0.01 * r.uniform(0.5, 2, n)).astype(np.float32)
            bz = np.full(n, 7 if wd == np.int8 else 121, wd)
            name = f"{d}_{wd.__name__}_{per}"
            par = ["as", "az", "bs", "bz", "c", "ys", "yz", "b"]
            for tb in (0, 1):
                head = [("a", q(5, 9)), ("as", f(0.02)), ("az", z(2)), ("b", ints(r, wd, *((9, 6) if not tb else (6, 9)))),
                        ("bs", bs), ("bz", bz), ("c", r.integers(-3000, 3000, 6).astype(np.int32))]
                yield one(f"QGemm_{name}_{tb}", "QGemm", head + [("ys", f(0.11)), ("yz", z(3))], {"y": d}, consts=par,
                          transB=tb, alpha=1.0)
                yield one(f"QGemm_float_{name}_{tb}", "QGemm", head, {"y": F}, consts=par, transB=tb, alpha=0.5)
            yield one(f"MatMulIntegerToFloat_{name}", "MatMulIntegerToFloat",
                      [("a", q(2, 5, 9)), ("b", ints(r, wd, 9, 6)), ("as", f(0.02)), ("bs", bs), ("az", z(2)),
                       ("bz", bz), ("c", f32(r, 6))], {"y": F}, consts=par)
            if dtype == np.uint8:
                yield one(f"DynamicQuantizeMatMul_{name}", "DynamicQuantizeMatMul",
                          [("a", f32(r, 2, 5, 9)), ("b", ints(r, wd, 9, 6)), ("bs", bs), ("bz", bz), ("c", f32(r, 6))],
                          {"y": F}, consts=par)
            m = () if per == "tensor" else (6,)
            for last in (0, 1):
                x = q(2, 4, 8, 7) if not last else q(2, 8, 7, 4)
                yield one(f"QLinearConv_{name}_{last}", "QLinearConv",
                          [("x", x), ("xs", f(0.02)), ("xz", z(2)), ("w", ints(r, wd, 6, 4, 3, 3)),
                           ("ws", (0.01 * r.uniform(0.5, 2, m)).astype(np.float32)), ("wz", np.full(m, 0 if wd == np.int8 else 128, wd)),
                           ("ys", f(0.21)), ("yz", z(4)), ("b", r.integers(-3000, 3000, 6).astype(np.int32))],
                          {"y": d}, consts=["w", "xs", "xz", "ws", "wz", "ys", "yz", "b"], pads=[1, 1, 1, 1],
                          strides=[2, 1], channels_last=last)
    if dtype == np.uint8:
        yield one("DynamicQuantizeMatMul_zero", "DynamicQuantizeMatMul",
                  [("a", np.zeros((2, 9), np.float32)), ("b", ints(r, np.int8, 9, 6)), ("bs", f(0.1)), ("bz", None),
                   ("c", f32(r, 6))], {"y": F})


def wide_quantisation(r):
    x = 3 * f32(r, 4, 50)
    for dtype in (np.uint8, np.int8, np.uint16, np.int16):
        d = dtype.__name__
        zero = np.array(np.iinfo(dtype).max // 2 + 3 if d[0] == "u" else 5, dtype)
        scale = f(0.041 if dtype(0).nbytes == 1 else 0.00013)
        yield one(f"QuantizeLinear_{d}", "QuantizeLinear", [("x", x), ("s", scale), ("z", zero)], {"y": d})
        yield one(f"DequantizeLinear_{d}", "DequantizeLinear",
                  [("x", ints(r, dtype, 4, 50)), ("s", scale), ("z", zero)], {"y": F})
        axis = (0.02 * r.uniform(0.5, 2, 4)).astype(np.float32)
        yield one(f"QuantizeLinear_axis_{d}", "QuantizeLinear", [("x", x), ("s", axis), ("z", np.full(4, zero))],
                  {"y": d}, axis=0)
    for bits in (2, 4, 8):
        for block, k in ((16, 40), (32, 64)):
            for zeros in ("none", "packed") + (("float",) if bits < 8 else ()):
                n, blocks = 6, -(-k // block)
                inputs = [("a", f32(r, 2, 3, k)), ("b", ints(r, np.uint8, n, blocks, block * bits // 8)),
                          ("s", (0.1 * r.uniform(0.5, 2, (n, blocks))).astype(np.float32))]
                if zeros == "packed":
                    inputs.append(("z", ints(r, np.uint8, n, -(-blocks * bits // 8))))
                if zeros == "float":
                    inputs.append(("z", r.uniform(0, 2 ** bits - 1, (n, blocks)).astype(np.float32)))
                yield one(f"MatMulNBits_{bits}_{block}_{zeros}", "MatMulNBits", inputs, {"y": F}, consts=["b", "s", "z"],
                          K=k, N=n, bits=bits, block_size=block, accuracy_level=1)


def all_cases():
    groups = [activations, convolutions, products, norms, attention, rotations, quantised]
    return [c for g in groups for c in g()]
