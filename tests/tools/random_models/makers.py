"""One function a kind of node: draws operands and attributes and asks the model for the node.

A maker returns nothing where no value suits it; a node that ONNX Runtime refuses, or whose results are large, empty
or not finite, is forgotten (model.py).
"""
import numpy as np
from onnx import TensorProto as T

MAKERS = []


def maker(weight):
    def add(make):
        MAKERS.extend([make] * weight)
        return make
    return add


def is_float(a):
    return a.dtype == np.float32


def images(low, high, channels=64):
    return lambda a: is_float(a) and low <= a.ndim - 2 <= high and a.shape[1] <= channels


def ranked(least, floats=False):
    return lambda a: a.ndim >= least and (is_float(a) or not floats)


def is_varied(a, axes):
    """ONNX Runtime takes a variance as the difference of two squares: where it is small, digits are lost."""
    return a.std(axis=axes).min() > 0.1 * np.abs(a).max()


def weights(m, *shape):
    fan = max(1, int(np.prod(shape[1:])))
    return m.const((m.numbers.standard_normal(shape) / np.sqrt(fan)).astype(np.float32))


def ints(m, values):
    return m.const(np.array(values, np.int64))


# ---- windows ----


@maker(4)
def conv(m, r):
    name, a = m.pick(images(1, 3))
    c, n = a.shape[1], a.ndim - 2
    group = r.choice([1, 1, 1, c] + [d for d in (2, 3, 4) if c % d == 0])
    out = group * r.choice([1, 2, 3, 4]) if group > 1 else r.choice([3, 4, 8, 13, 16, 17])
    kernel = [r.choice([1, 2, 3, 3, 5]) for _ in range(n)]
    at = dict(kernel_shape=kernel, strides=[r.choice([1, 1, 2, 3]) for _ in range(n)],
              dilations=[r.choice([1, 1, 2]) for _ in range(n)], group=group)
    if r.random() < 0.3:
        at["auto_pad"] = r.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    else:
        at["pads"] = [r.choice([0, 1, 2]) for _ in range(2 * n)]
    m.node("Conv", [name, weights(m, out, c // group, *kernel)] + ([weights(m, out)] if r.random() < 0.6 else []), **at)


@maker(1)
def conv_transpose(m, r):
    name, a = m.pick(images(1, 2, 32))
    c, n = a.shape[1], a.ndim - 2
    kernel, strides = [r.choice([1, 2, 3]) for _ in range(n)], [r.choice([1, 2]) for _ in range(n)]
    m.node("ConvTranspose", [name, weights(m, c, r.choice([1, 2, 5]), *kernel)], kernel_shape=kernel, strides=strides,
           group=r.choice([1, 1] + [d for d in (2, 4) if c % d == 0]), pads=[r.choice([0, 0, 1]) for _ in range(2 * n)],
           output_padding=[r.randrange(s) for s in strides])


@maker(2)
def pool(m, r):
    name, a = m.pick(images(1, 3))
    op, n = r.choice(["MaxPool", "AveragePool", "LpPool"]), a.ndim - 2
    kernel = [r.randint(1, min(3, d)) for d in a.shape[2:]]  # where none fits, ONNX Runtime makes one and ONNX none
    at = dict(kernel_shape=kernel, strides=[r.choice([1, 2]) for _ in range(n)])
    if r.random() < 0.3:
        at["auto_pad"] = r.choice(["SAME_UPPER", "SAME_LOWER"])
    else:
        at["pads"] = [r.randrange(k) for k in kernel] * 2
    if op != "LpPool":
        at["ceil_mode"] = r.choice([0, 1])
    if op == "AveragePool":
        at["count_include_pad"] = r.choice([0, 1])
    m.node(op, [name], **at)


@maker(1)
def global_pool(m, r):
    m.node(r.choice(["GlobalAveragePool", "GlobalMaxPool"]), [m.pick(images(1, 3))[0]])


@maker(1)
def resize(m, r):
    name, a = m.pick(images(1, 2))
    scales = [1.0, 1.0] + [r.choice([0.5, 1.0, 1.5, 2.0, 3.0]) for _ in range(a.ndim - 2)]
    mode = r.choice(["nearest", "linear", "cubic"] if a.ndim == 4 else ["nearest", "linear"])
    at = dict(mode=mode, coordinate_transformation_mode=r.choice(["half_pixel", "asymmetric", "align_corners",
                                                                  "pytorch_half_pixel"]))
    if any(s * d % 1 for s, d in zip(scales, a.shape)):  # ONNX Runtime rounds sizes first, ONNX's own tests do not
        at["coordinate_transformation_mode"] = "asymmetric"
    if mode == "nearest":
        at["nearest_mode"] = r.choice(["floor", "ceil", "round_prefer_floor"])
    m.node("Resize", [name, "", m.const(np.array(scales, np.float32))], **at)


@maker(1)
def depth_and_space(m, r):
    name, a = m.pick(images(2, 2))
    if a.shape[1] % 4 == 0:
        m.node("DepthToSpace", [name], blocksize=2, mode=r.choice(["DCR", "CRD"]))
    elif a.shape[2] % 2 == 0 and a.shape[3] % 2 == 0:
        m.node("SpaceToDepth", [name], blocksize=2)


# ---- products ----


@maker(1)
def gemm(m, r):
    name, a = m.pick(lambda a: is_float(a) and a.ndim == 2)
    trans_a, trans_b, n = r.choice([0, 1]), r.choice([0, 1]), r.choice([3, 7, 16, 33])
    k = a.shape[0 if trans_a else 1]
    m.node("Gemm", [name, weights(m, *((n, k) if trans_b else (k, n))), weights(m, *r.choice([(n,), (1, n), (1, 1)]))],
           transA=trans_a, transB=trans_b, alpha=r.choice([1.0, 0.5]), beta=r.choice([1.0, 2.0]))


@maker(2)
def matmul(m, r):
    name, a = m.pick(ranked(2, True))
    k, n = a.shape[-1], r.choice([1, 4, 9, 16, 31])
    m.node("MatMul", [name, weights(m, *r.choice([(k, n), (k,), (1, k, n), a.shape[:-2] + (k, n)]))])


@maker(1)
def attention_like(m, r):
    name, a = m.pick(ranked(3, True))
    order = list(range(a.ndim))
    order[-1], order[-2] = order[-2], order[-1]
    turned = m.node("Transpose", [name], perm=order)
    if turned:
        m.node("MatMul", [name, turned[0]])


@maker(1)
def einsum(m, r):
    name, a = m.pick(lambda a: is_float(a) and 1 <= a.ndim <= 6)
    letters = "abcdef"[:a.ndim]
    m.node("Einsum", [name, name], equation=f"{letters},{letters}->{letters[1:]}")


@maker(1)
def recurrent(m, r):
    name, a = m.pick(lambda a: is_float(a) and a.ndim == 3 and a.shape[0] <= 20)
    op, gates = r.choice([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    hidden, direction = r.choice([3, 8, 16]), r.choice(["forward", "reverse", "bidirectional"])
    n = 2 if direction == "bidirectional" else 1
    operands = [name, weights(m, n, gates * hidden, a.shape[2]), weights(m, n, gates * hidden, hidden)]
    if r.random() < 0.5:
        operands.append(weights(m, n, 2 * gates * hidden))
    more = dict(linear_before_reset=r.choice([0, 1])) if op == "GRU" else {}
    m.node(op, operands, n_out=r.choice([1, 2]), hidden_size=hidden, direction=direction, **more)


# ---- moves ----


@maker(2)
def transpose(m, r):
    name, a = m.pick(ranked(2))
    m.node("Transpose", [name], perm=r.sample(range(a.ndim), a.ndim))


@maker(2)
def reshape(m, r):
    name, a = m.pick(ranked(1))
    dims, i = list(a.shape), r.randrange(a.ndim)
    shapes = [[-1], [0, -1]]
    if a.ndim >= 2 and i + 1 < a.ndim:
        shapes.append(dims[:i] + [dims[i] * dims[i + 1]] + dims[i + 2:])
    shapes += [dims[:i] + [dims[i] // d, d] + dims[i + 1:] for d in (2, 3, 4, 5) if dims[i] % d == 0]
    m.node("Reshape", [name, ints(m, r.choice(shapes))])


@maker(2)
def slices(m, r):
    name, a = m.pick(ranked(1))
    axes = r.sample(range(a.ndim), r.randint(1, a.ndim))
    starts, ends, steps = [], [], []
    for i in axes:
        n, step = a.shape[i], r.choice([1, 1, 1, 2, -1, -2])
        start = r.randrange(n) if step > 0 else r.choice([-1, n - 1])
        starts.append(start)
        ends.append(r.choice([n, r.randint(start + 1, n), 2**31]) if step > 0 else r.choice([-2**31, -n - 1]))
        steps.append(step)
    m.node("Slice", [name] + [ints(m, x) for x in (starts, ends, axes, steps)])


@maker(2)
def concat(m, r):
    name, a = m.pick(ranked(1))
    axis = r.randrange(a.ndim)
    suits = [n for n, b in m.values if b.dtype == a.dtype and b.ndim == a.ndim and
             all(b.shape[i] == a.shape[i] for i in range(a.ndim) if i != axis)]
    parts = [name] + [r.choice(suits) for _ in range(r.randint(1, 3))]
    r.shuffle(parts)
    m.node("Concat", parts, axis=r.choice([axis, axis - a.ndim]))


@maker(1)
def split(m, r):
    name, a = m.pick(lambda a: a.ndim >= 1 and max(a.shape) > 1)
    axis = r.choice([i for i in range(a.ndim) if a.shape[i] > 1])
    first = r.randint(1, a.shape[axis] - 1)
    m.node("Split", [name, ints(m, [first, a.shape[axis] - first])], n_out=2, axis=axis)


@maker(1)
def pad(m, r):
    name, a = m.pick(ranked(1, True))
    mode = r.choice(["constant", "reflect", "edge", "constant"])
    most = {"reflect": [0, 1], "edge": [0, 0, 1, 2], "constant": [0, 0, 1, 2]}[mode]
    pads = [r.choice(most) if mode != "reflect" or a.shape[i % a.ndim] > 1 else 0 for i in range(2 * a.ndim)]
    if mode == "constant" and r.random() < 0.2:
        pads = [r.choice([0, -1]) if a.shape[i % a.ndim] > 3 else 0 for i in range(2 * a.ndim)]
    value = [m.const(np.float32(1.5))] if mode == "constant" and r.random() < 0.5 else []
    m.node("Pad", [name, ints(m, pads)] + value, mode=mode)


@maker(1)
def tile(m, r):
    name, a = m.pick(ranked(1, True))
    m.node("Tile", [name, ints(m, [r.choice([1, 1, 2]) for _ in a.shape])])


@maker(1)
def squeeze_or_not(m, r):
    name, a = m.pick(ranked(1))
    if 1 in a.shape and r.random() < 0.5:
        m.node("Squeeze", [name, ints(m, [a.shape.index(1)])])
    else:
        m.node("Unsqueeze", [name, ints(m, [r.randrange(a.ndim + 1)])])


@maker(2)
def gather(m, r):
    name, a = m.pick(ranked(1))
    axis = r.randrange(a.ndim)
    n = a.shape[axis]
    m.node("Gather", [name, m.const(m.numbers.integers(-n, n, r.choice([(), (3,), (2, 2)])).astype(np.int64))], axis=axis)


@maker(1)
def gather_elements(m, r):
    name, a = m.pick(ranked(1, True))
    axis = r.randrange(a.ndim)
    n = a.shape[axis]
    m.node("GatherElements", [name, m.const(m.numbers.integers(-n, n, a.shape).astype(np.int64))], axis=axis)


@maker(1)
def scatter_elements(m, r):
    name, a = m.pick(ranked(1, True))
    axis = r.randrange(a.ndim)
    n = r.randint(1, a.shape[axis])
    at = np.argsort(m.numbers.random(a.shape), axis=axis).take(range(n), axis=axis).astype(np.int64)
    more = dict(reduction="add") if m.opset >= 16 and r.random() < 0.3 else {}
    m.node("ScatterElements", [name, m.const(at), weights(m, *at.shape)], axis=axis, **more)


# ---- elements, rows ----

ACTIVATIONS = ["Relu", "Sigmoid", "Tanh", "Softplus", "Elu", "Selu", "LeakyRelu", "HardSigmoid", "HardSwish", "Erf",
               "Abs", "Neg", "Floor", "Ceil", "Round", "Exp", "Sign", "Softsign", "Mish", "ThresholdedRelu", "Celu"]


@maker(3)
def activation(m, r):
    m.node(r.choice(ACTIVATIONS), [m.pick(is_float)[0]])


@maker(3)
def arithmetic(m, r):
    name, a = m.pick(is_float)
    others = [n for n, b in m.values if is_float(b) and b.shape == a.shape and n != name]
    other = r.choice(others) if others and r.random() < 0.7 else weights(m, *r.choice([a.shape, a.shape[-1:], (1,)]))
    m.node(r.choice(["Add", "Sub", "Mul", "Max", "Min", "Add", "Mul", "PRelu"]), [name, other])


@maker(1)
def where(m, r):
    name, a = m.pick(is_float)
    other = r.choice([n for n, b in m.values if is_float(b) and b.shape == a.shape])
    decides = m.node(r.choice(["Greater", "Less", "LessOrEqual"]), [name, other])
    if decides:
        m.node("Where", [decides[0], name, other])


@maker(1)
def cast(m, r):
    name, a = m.pick(lambda a: not is_float(a) or np.abs(a).max() < 100)
    m.node("Cast", [name], to=r.choice([T.INT32, T.INT64, T.FLOAT, T.BOOL, T.FLOAT, T.DOUBLE]))


@maker(1)
def there_and_back(m, r):
    name, _ = m.pick(is_float)
    scale, zero = m.const(np.float32(0.05)), m.const(np.uint8(128))
    steps = m.node("QuantizeLinear", [name, scale, zero])
    if steps:
        m.node("DequantizeLinear", [steps[0], scale, zero])


@maker(2)
def reduce(m, r):
    name, a = m.pick(ranked(1, True))
    op = r.choice(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceL1", "ReduceLogSumExp",
                   "ReduceSumSquare"])
    axes, keep = r.sample(range(a.ndim), r.randint(1, a.ndim)), r.choice([0, 1])
    if op == "ReduceSum" or m.opset >= 18:
        m.node(op, [name, ints(m, axes)], keepdims=keep)
    else:
        m.node(op, [name], axes=axes, keepdims=keep)


@maker(1)
def along_an_axis(m, r):
    name, a = m.pick(ranked(1, True))
    m.node(r.choice(["Softmax", "LogSoftmax", "Hardmax", "ArgMax", "ArgMin"]), [name], axis=r.randrange(-a.ndim, a.ndim))


@maker(1)
def cumulative(m, r):
    name, a = m.pick(ranked(1, True))
    m.node("CumSum", [name, m.const(np.array(r.randrange(a.ndim), np.int64))], exclusive=r.choice([0, 1]),
           reverse=r.choice([0, 1]))


@maker(1)
def top_k(m, r):
    name, a = m.pick(ranked(1, True))
    axis = r.randrange(a.ndim)
    m.node("TopK", [name, ints(m, [r.randint(1, a.shape[axis])])], n_out=2, axis=axis, largest=r.choice([0, 1]))


@maker(1)
def batch_normalization(m, r):
    name, a = m.pick(ranked(2, True))
    def row(low, high):
        return m.const(m.numbers.uniform(low, high, a.shape[1]).astype(np.float32))
    m.node("BatchNormalization", [name, row(0.5, 1.5), row(-1, 1), row(-1, 1), row(0.3, 2)])


@maker(1)
def layer_normalization(m, r):
    name, a = m.pick(lambda a: is_float(a) and a.ndim >= 2 and is_varied(a, (-1,)))
    m.node("LayerNormalization", [name, weights(m, a.shape[-1]), weights(m, a.shape[-1])], axis=-1)


@maker(1)
def instance_normalization(m, r):
    name, a = m.pick(lambda a: is_float(a) and a.ndim >= 3 and is_varied(a, tuple(range(2, a.ndim))))
    m.node("InstanceNormalization", [name, weights(m, a.shape[1]), weights(m, a.shape[1])])


# ---- lengths that depend on data ----


@maker(1)
def places(m, r):
    """Elements above a number, or where they are."""
    name, a = m.pick(ranked(1, True))
    above = m.node("Greater", [name, m.const(np.float32(r.uniform(-0.5, 0.5)))])
    at = above and m.node("NonZero", above)
    by_row = at and m.node("Transpose", at, perm=[1, 0])
    if by_row and r.random() < 0.7:
        m.node("GatherND", [name, by_row[0]])


@maker(1)
def compress(m, r):
    name, a = m.pick(ranked(1, True))
    axis = r.randrange(a.ndim)
    others = [i for i in range(a.ndim) if i != axis]
    total = m.node("ReduceSum", [name, ints(m, others)], keepdims=0) if others else [name]
    chosen = total and m.node("Greater", [total[0], m.const(np.float32(0))])
    if chosen:
        m.node("Compress", [name, chosen[0]], axis=axis)
