"""Small networks with random weights, as an exporter writes them: nothing fused, nothing quantised."""
import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper


class Builder:
    def __init__(self, seed, version=17):
        self.r = np.random.default_rng(seed)
        self.nodes, self.consts, self.version, self.n = [], [], version, 0

    def const(self, array, name=None):
        name = name or f"c{len(self.consts)}"
        self.consts.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weight(self, *shape, scale=None):
        fan = int(np.prod(shape[1:])) if len(shape) > 1 else 1
        scale = scale if scale is not None else 1 / np.sqrt(max(fan, 1))
        return self.const((scale * self.r.standard_normal(shape)).astype(np.float32))

    def op(self, kind, *inputs, n_out=1, **attrs):
        outs = []
        for _ in range(n_out):
            self.n += 1
            outs.append(f"{kind.lower()}_{self.n}")
        self.nodes.append(helper.make_node(kind, list(inputs), outs, name=f"{kind}_{self.n}", **attrs))
        return outs[0] if n_out == 1 else outs

    def model(self, inputs, outputs):
        """inputs: (name, type, shape); outputs: name -> (type, shape)."""
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info(*i) for i in inputs],
                                  [helper.make_tensor_value_info(n, t, s) for n, (t, s) in outputs.items()],
                                  self.consts)
        m = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", self.version)])
        onnx.checker.check_model(m)
        return onnx.shape_inference.infer_shapes(m)


def cnn(seed=11):
    """Residual blocks, a branch that is concatenated, average pools, two dense layers."""
    b = Builder(seed)

    def conv(x, i, o, k, **a):
        pad = k // 2
        return b.op("Conv", x, b.weight(o, i // a.get("group", 1), k, k), b.weight(o, scale=0.1), pads=[pad] * 4, kernel_shape=[k, k], **a)
    x = b.op("Relu", conv("x", 3, 16, 3, strides=[2, 2]))
    x = b.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for _ in range(2):
        y = b.op("Relu", conv(x, 16, 16, 3))
        x = b.op("Relu", b.op("Add", x, conv(y, 16, 16, 3)))
    left, right = b.op("LeakyRelu", conv(x, 16, 8, 1), alpha=0.1), b.op("Sigmoid", conv(x, 16, 8, 3))
    x = b.op("Concat", left, right, axis=1)
    x = b.op("Mul", x, b.op("Sigmoid", conv(x, 16, 16, 1)))
    x = b.op("Clip", conv(x, 16, 16, 3, group=4), b.const(np.float32(0)), b.const(np.float32(6)))
    x = b.op("AveragePool", x, kernel_shape=[2, 2], strides=[1, 1])
    x = b.op("Flatten", b.op("GlobalAveragePool", x))
    x = b.op("Relu", b.op("Gemm", x, b.weight(24, 16), b.weight(24, scale=0.1), transB=1))
    x = b.op("MatMul", x, b.weight(24, 10))
    y = b.op("Softmax", x, axis=-1)
    return b.model([("x", T.FLOAT, [1, 3, 32, 32])], {y: (T.FLOAT, [1, 10])}), {
        "x": b.r.standard_normal((1, 3, 32, 32)).astype(np.float32)}


def lstm(seed=12):
    b = Builder(seed)
    h = 12
    parts = []
    for direction, n in (("forward", 1), ("bidirectional", 2)):
        y = b.op("LSTM", "x", b.weight(n, 4 * h, 8, scale=0.4), b.weight(n, 4 * h, h, scale=0.3),
                 b.weight(n, 8 * h, scale=0.1), hidden_size=h, direction=direction, n_out=3)[0]
        parts.append(b.op("Reshape", b.op("Transpose", y, perm=[0, 2, 1, 3]), b.const(np.array([7, 2, n * h]))))
    y = b.op("Concat", *parts, axis=2)
    y = b.op("MatMul", y, b.weight(3 * h, 5))
    return b.model([("x", T.FLOAT, [7, 2, 8])], {y: (T.FLOAT, [7, 2, 5])}), {
        "x": b.r.standard_normal((7, 2, 8)).astype(np.float32)}


def mlp(seed=13):
    b = Builder(seed)
    x = b.op("Relu", b.op("Gemm", "x", b.weight(20, 12), b.weight(20, scale=0.1), transB=1))
    x = b.op("LeakyRelu", b.op("Gemm", x, b.weight(20, 20), b.weight(20, scale=0.1)), alpha=0.2)
    x = b.op("Tanh", b.op("Gemm", x, b.weight(20, 16), b.weight(16, scale=0.1)))
    x = b.op("Mul", x, b.op("Sigmoid", b.op("Mul", x, b.const(np.float32(1.702)))))
    y = b.op("MatMul", x, b.op("Transpose", b.weight(9, 16), perm=[1, 0]))
    return b.model([("x", T.FLOAT, [4, 12])], {y: (T.FLOAT, [4, 9])}), {
        "x": b.r.standard_normal((4, 12)).astype(np.float32)}


BERT = {"batch": 2, "length": 8, "hidden": 32, "heads": 4}


def bert(seed=14, layers=2):
    """Encoder as PyTorch's exporter wrote BERT at opset 11 to 14: layer norms, GELU and attention in small pieces."""
    b = Builder(seed, version=14)
    batch, length, hidden, heads = BERT["batch"], BERT["length"], BERT["hidden"], BERT["heads"]
    ids = ["input_ids", "attention_mask", "token_type_ids"]

    def norm(x):
        mean = b.op("ReduceMean", x, axes=[-1], keepdims=1)
        d = b.op("Sub", x, mean)
        v = b.op("ReduceMean", b.op("Pow", d, b.const(np.float32(2))), axes=[-1], keepdims=1)
        d = b.op("Div", d, b.op("Sqrt", b.op("Add", v, b.const(np.float32(1e-12)))))
        gamma = b.const((1 + 0.1 * b.r.standard_normal(hidden)).astype(np.float32))
        return b.op("Add", b.op("Mul", d, gamma), b.weight(hidden, scale=0.1))

    def dense(x, i, o):
        w = b.const((b.r.standard_normal((i, o)) / np.sqrt(i)).astype(np.float32))
        return b.op("Add", b.op("MatMul", x, w), b.weight(o, scale=0.1))

    def heads_of(x, perm):
        shape = b.const(np.array([0, 0, heads, hidden // heads], np.int64))
        return b.op("Transpose", b.op("Reshape", x, shape), perm=perm)

    mask = b.op("Unsqueeze", b.op("Unsqueeze", "attention_mask", b.const(np.array([1]))), b.const(np.array([2])))
    mask = b.op("Sub", b.const(np.float32(1)), b.op("Cast", mask, to=T.FLOAT))
    mask = b.op("Mul", mask, b.const(np.float32(-10000)))
    word = b.op("Gather", b.weight(30, hidden, scale=1), "input_ids", axis=0)
    kind = b.op("Gather", b.weight(2, hidden, scale=1), "token_type_ids", axis=0)
    place = b.op("Gather", b.weight(16, hidden, scale=1), b.const(np.arange(length)[None]), axis=0)
    x = norm(b.op("Add", b.op("Add", word, kind), place))
    for _ in range(layers):
        q, k, v = (dense(x, hidden, hidden) for _ in range(3))
        q, k, v = heads_of(q, [0, 2, 1, 3]), heads_of(k, [0, 2, 3, 1]), heads_of(v, [0, 2, 1, 3])
        s = b.op("Div", b.op("MatMul", q, k), b.const(np.float32(np.sqrt(hidden // heads))))
        p = b.op("Softmax", b.op("Add", s, mask), axis=3)
        o = b.op("Transpose", b.op("MatMul", p, v), perm=[0, 2, 1, 3])
        o = b.op("Reshape", o, b.const(np.array([0, 0, hidden], np.int64)))
        x = norm(b.op("Add", dense(o, hidden, hidden), x))
        u = dense(x, hidden, 64)
        e = b.op("Add", b.op("Erf", b.op("Div", u, b.const(np.float32(np.sqrt(2))))), b.const(np.float32(1)))
        g = b.op("Mul", b.op("Mul", u, e), b.const(np.float32(0.5)))
        x = norm(b.op("Add", dense(g, 64, hidden), x))
    feeds = {"input_ids": b.r.integers(0, 30, (batch, length)),
             "attention_mask": (np.arange(length) < np.array([[5], [8]])).astype(np.int64),
             "token_type_ids": b.r.integers(0, 2, (batch, length))}
    return b.model([(i, T.INT64, [batch, length]) for i in ids], {x: (T.FLOAT, [batch, length, hidden])}), feeds
