"""A part of kiln-bridge: an ONNX file as functions of torch, for machines without a reader of their own.

The nodes are run once as they are read, on the real inputs, so that every shape is known: what depends on constants and
shapes alone becomes a constant. What is left is a torch.fx graph of plain functions. Batch normalisation is folded into
the convolution before it, as everybody's inference does.
"""

import operator


class OnnxAttributes:
    def __init__(self, node):
        import onnx

        self.of = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}

    def get(self, name, default=None):
        value = self.of.get(name, default)
        return value.decode() if isinstance(value, bytes) else value


class OnnxModule:
    """`module` is called with the inputs in the file's order, and gives a tuple of its outputs, in order."""

    def __init__(self, model, device, inputs, fuses=False):
        import numpy as np
        import onnx
        import torch
        from onnx import numpy_helper

        self.torch, self.np, self.device, self.fuses = torch, np, device, fuses
        read = onnx.load(model)
        self.opset = max((o.version for o in read.opset_import if o.domain in ("", "ai.onnx")), default=1)
        self.nodes = list(read.graph.node)
        # By name: a tensor on the device; those of `constant` do not change from run to run.
        self.value, self.constant, self.at = {}, set(), {}
        for tensor in read.graph.initializer:
            self.put_constant(tensor.name, numpy_helper.to_array(tensor))
        own = [v.name for v in read.graph.input if v.name not in self.constant]
        self.order = places("input", list(inputs), [{name} for name in own])
        values = list(inputs.values())
        self.graph, self.root, self.n_held = torch.fx.Graph(), torch.nn.Module(), 0
        for i, name in enumerate(own):
            given = values[self.order.index(i)]
            self.value[name] = torch.from_numpy(given).to(device)
            self.at[name] = self.graph.placeholder(f"x{i}")
        self.uses = {}
        for node in self.nodes:
            for name in node.input:
                self.uses[name] = self.uses.get(name, 0) + 1
        self.outputs = [v.name for v in read.graph.output]
        for name in self.outputs:
            self.uses[name] = self.uses.get(name, 0) + 1
        i = 0
        while i < len(self.nodes):
            i += self.add(i)
        self.graph.output(tuple(self.place(name) for name in self.outputs))
        self.module = torch.fx.GraphModule(self.root, self.graph).eval()

    def put_constant(self, name, array):
        tensor = self.torch.from_numpy(self.np.array(array))  # a copy: the file's is read-only
        self.value[name] = tensor.to(self.device)
        self.constant.add(name)

    def place(self, name):
        """The graph's node of a value; a constant's is made when it is first asked for."""
        if name not in self.at:
            held = f"c{self.n_held}"
            self.n_held += 1
            self.root.register_buffer(held, self.value[name])
            self.at[name] = self.graph.get_attr(held)
        return self.at[name]

    def known(self, node, i, default=None):
        """An operand that must be known ahead, as a list or number."""
        if i >= len(node.input) or node.input[i] == "":
            return default
        if node.input[i] not in self.constant:
            raise RuntimeError(f"{node.op_type} '{node.name}': operand {i} is known only when it runs")
        return self.value[node.input[i]].tolist()

    def only_reader(self, i):
        """The next node, where it alone reads what this one gives."""
        name = self.nodes[i].output[0]
        follows = i + 1 < len(self.nodes) and name in self.nodes[i + 1].input
        return self.nodes[i + 1] if follows and self.uses.get(name) == 1 else None

    def add(self, i):
        """Adds a node and runs it; how many nodes that were."""
        node, n = self.nodes[i], 1
        maker = getattr(self, "op_" + node.op_type, None)
        if maker is None or node.domain not in ("", "ai.onnx"):
            raise RuntimeError(f"no {node.op_type} in kiln's reader of ONNX for torch; where onnxruntime has it, compare with that")
        attributes = OnnxAttributes(node)
        outputs = list(node.output)
        if node.op_type == "Conv":
            function, names, n, outputs = self.conv(i, attributes)
        else:
            function = maker(node, attributes)
            names = [name for name in node.input if name != ""]
            if isinstance(function, tuple):  # which of the operands it takes
                function, names = function
        if getattr(function, "__name__", "") == "<lambda>":
            function.__name__ = "onnx_" + node.op_type  # torch.fx asks for it
        given = function(*[self.value[name] for name in names])
        given = given if isinstance(given, (tuple, list)) else (given,)
        is_constant = node.op_type == "Shape" or all(name in self.constant for name in names)
        call = None
        for k, name in enumerate(outputs):
            if name == "":
                continue
            self.value[name] = given[k]
            if is_constant:
                self.constant.add(name)
                continue
            if call is None:
                operands = tuple(self.place(operand) for operand in names)
                if isinstance(function, self.torch.nn.Module):
                    held = f"m{self.n_held}"
                    self.n_held += 1
                    self.root.add_module(held, function)
                    call = self.graph.call_module(held, operands)
                else:
                    call = self.graph.call_function(function, operands)
            several = len(given) > 1 or isinstance(function, self.torch.nn.Module)
            self.at[name] = self.graph.call_function(operator.getitem, (call, k)) if several else call
        return n

    # ---- windows -------------------------------------------------------------------

    def window(self, attributes, x, kernel):
        """Strides, dilations, padding before and behind, by axis."""
        rank = len(kernel)
        strides = list(attributes.get("strides", [1] * rank))
        dilations = list(attributes.get("dilations", [1] * rank))
        pads = list(attributes.get("pads", [0] * (2 * rank)))
        auto = attributes.get("auto_pad", "NOTSET")
        if auto in ("SAME_UPPER", "SAME_LOWER"):
            for i in range(rank):
                size = x.shape[2 + i]
                reach = (-(-size // strides[i]) - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1
                both = max(reach - size, 0)
                less, more = both // 2, both - both // 2
                pads[i], pads[rank + i] = (less, more) if auto == "SAME_UPPER" else (more, less)
        elif auto == "VALID":
            pads = [0] * (2 * rank)
        return strides, dilations, pads[:rank], pads[rank:]

    def padded(self, x, before, behind, value=0.0):
        pads = [p for pair in zip(reversed(before), reversed(behind)) for p in pair]
        return self.torch.nn.functional.pad(x, pads, value=value)

    def op_Conv(self, node, attributes):
        raise AssertionError("see conv")

    def conv(self, i, attributes):
        node, torch = self.nodes[i], self.torch
        x, weight = self.value[node.input[0]], self.value[node.input[1]]
        names, n, outputs = list(node.input), 1, list(node.output)
        normal = self.only_reader(i)
        is_held = all(name in self.constant for name in names[1:])
        if normal is not None and normal.op_type == "BatchNormalization" and is_held:
            scale, shift, mean, variance = (self.value[name].double() for name in normal.input[1:5])
            factor = scale / torch.sqrt(variance + OnnxAttributes(normal).get("epsilon", 1e-5))
            bias = self.value[names[2]].double() if len(names) > 2 and names[2] else 0.0
            folded = (weight.double() * factor.reshape(-1, *[1] * (weight.dim() - 1))).float()
            names = [names[0], node.output[0] + "#weight", node.output[0] + "#bias"]
            self.value[names[1]], self.value[names[2]] = folded, ((bias - mean) * factor + shift).float()
            self.constant.update(names[1:])
            weight, n, outputs = folded, 2, [normal.output[0]]
        names = [name for name in names if name != ""]
        kernel = list(weight.shape[2:])
        strides, dilations, before, behind = self.window(attributes, x, kernel)
        group = attributes.get("group", 1)
        run = getattr(torch.nn.functional, f"conv{len(kernel)}d")
        is_even = before == behind
        if self.fuses and is_even and len(kernel) == 2 and len(names) == 3:
            fused = self.fused_conv(i + n - 1, strides, before, dilations, group, names, outputs)
            if fused is not None:
                return fused[0], fused[1], n + fused[2], fused[3]

        def function(x, weight, bias=None):
            if not is_even:
                x = self.padded(x, before, behind)
            return run(x, weight, bias, strides, before if is_even else 0, dilations, group)

        return function, names, n, outputs

    def fused_conv(self, last, strides, pads, dilations, group, names, outputs):
        """The convolution with relu, or with a sum and relu behind it, as cuDNN fuses them."""
        torch = self.torch
        first = self.reader_of(last, outputs[0])
        if first is None:
            return None
        if first.op_type == "Relu":
            def function(x, weight, bias):
                return torch.cudnn_convolution_relu(x, weight, bias, strides, pads, dilations, group)

            return function, names, 1, [first.output[0]]
        second = self.reader_of(last + 1, first.output[0])
        if first.op_type != "Add" or second is None or second.op_type != "Relu":
            return None
        other = [name for name in first.input if name != outputs[0]]
        if len(other) != 1 or other[0] not in self.value:
            return None

        def function_with_sum(x, weight, bias, z):
            return torch.cudnn_convolution_add_relu(x, weight, z, 1.0, bias, strides, pads, dilations, group)

        return function_with_sum, [*names, other[0]], 2, [second.output[0]]

    def reader_of(self, i, name):
        follows = i + 1 < len(self.nodes) and name in self.nodes[i + 1].input
        return self.nodes[i + 1] if follows and self.uses.get(name) == 1 else None

    def op_ConvTranspose(self, node, attributes):
        weight = self.value[node.input[1]]
        kernel = list(weight.shape[2:])
        strides, dilations, before, behind = self.window(attributes, self.value[node.input[0]], kernel)
        more = attributes.get("output_padding", [0] * len(kernel))
        if before != behind or "output_shape" in attributes.of or attributes.get("auto_pad", "NOTSET") != "NOTSET":
            raise RuntimeError(f"ConvTranspose '{node.name}' pads one side more than the other")
        group = attributes.get("group", 1)
        run = getattr(self.torch.nn.functional, f"conv_transpose{len(kernel)}d")
        return lambda x, w, b=None: run(x, w, b, strides, before, more, group, dilations)

    def op_MaxPool(self, node, attributes):
        kernel = list(attributes.get("kernel_shape"))
        strides, dilations, before, behind = self.window(attributes, self.value[node.input[0]], kernel)
        ceil = bool(attributes.get("ceil_mode", 0))
        if len(node.output) > 1 and node.output[1]:
            raise RuntimeError(f"MaxPool '{node.name}' also says where its elements lie")
        run = getattr(self.torch.nn.functional, f"max_pool{len(kernel)}d")
        is_even = before == behind and all(2 * p <= k for p, k in zip(before, kernel))

        def function(x):
            if not is_even:
                x = self.padded(x, before, behind, float("-inf"))
            return run(x, kernel, strides, before if is_even else 0, dilations, ceil)

        return function

    def op_AveragePool(self, node, attributes):
        kernel = list(attributes.get("kernel_shape"))
        strides, dilations, before, behind = self.window(attributes, self.value[node.input[0]], kernel)
        counts = bool(attributes.get("count_include_pad", 0))
        if any(d != 1 for d in dilations) or (before != behind and not counts):
            raise RuntimeError(f"AveragePool '{node.name}' has windows that torch has not")
        ceil = bool(attributes.get("ceil_mode", 0))
        run = getattr(self.torch.nn.functional, f"avg_pool{len(kernel)}d")

        def function(x):
            if before != behind:
                return run(self.padded(x, before, behind), kernel, strides, 0, ceil)
            return run(x, kernel, strides, before, ceil, counts)

        return function

    def op_GlobalAveragePool(self, node, attributes):
        return lambda x: x.mean(dim=list(range(2, x.dim())), keepdim=True)

    def op_GlobalMaxPool(self, node, attributes):
        return lambda x: x.amax(dim=list(range(2, x.dim())), keepdim=True)

    # ---- norms ---------------------------------------------------------------------

    def op_BatchNormalization(self, node, attributes):
        epsilon = attributes.get("epsilon", 1e-5)
        run = self.torch.nn.functional.batch_norm
        return lambda x, scale, shift, mean, var: run(x, mean, var, scale, shift, False, 0.0, epsilon)

    def op_InstanceNormalization(self, node, attributes):
        epsilon = attributes.get("epsilon", 1e-5)
        run = self.torch.nn.functional.instance_norm
        return lambda x, scale, shift: run(x, None, None, scale, shift, True, 0.0, epsilon)

    def op_LayerNormalization(self, node, attributes):
        x = self.value[node.input[0]]
        shape = list(x.shape[attributes.get("axis", -1):])
        epsilon = attributes.get("epsilon", 1e-5)
        run = self.torch.nn.functional.layer_norm
        return lambda x, scale, shift=None: run(x, shape, scale.reshape(shape), shift.reshape(shape) if shift is not None else None, epsilon)

    def op_LRN(self, node, attributes):
        size, alpha = attributes.get("size"), attributes.get("alpha", 1e-4)
        beta, bias = attributes.get("beta", 0.75), attributes.get("bias", 1.0)
        return lambda x: self.torch.nn.functional.local_response_norm(x, size, alpha, beta, bias)

    def op_Softmax(self, node, attributes):
        axis = attributes.get("axis", -1 if self.opset >= 13 else 1)
        if self.opset < 13 and axis % self.value[node.input[0]].dim() != self.value[node.input[0]].dim() - 1:
            raise RuntimeError(f"{node.op_type} '{node.name}' over several axes")
        run = self.torch.softmax if node.op_type == "Softmax" else self.torch.log_softmax
        return lambda x: run(x, axis)

    op_LogSoftmax = op_Softmax

    # ---- products and sequences ----------------------------------------------------

    def op_MatMul(self, node, attributes):
        return self.torch.matmul

    def op_Gemm(self, node, attributes):
        ta, tb = attributes.get("transA", 0), attributes.get("transB", 0)
        alpha, beta = attributes.get("alpha", 1.0), attributes.get("beta", 1.0)

        def function(a, b, c=None):
            a, b = a.t() if ta else a, b.t() if tb else b
            if c is None:
                return alpha * (a @ b) if alpha != 1.0 else a @ b
            return self.torch.addmm(c, a, b, beta=beta, alpha=alpha)

        return function

    def op_LSTM(self, node, attributes):
        torch, names = self.torch, list(node.input) + [""] * (8 - len(node.input))
        x, w, r = (self.value[name] for name in names[:3])
        bad = names[7] or attributes.get("clip") or attributes.get("layout", 0) or attributes.get("input_forget", 0)
        if bad or attributes.get("activations") or not all(n in self.constant for n in names[1:4] if n):
            raise RuntimeError(f"LSTM '{node.name}' is not as torch has it")
        if names[4] and set(self.known(node, 4)) != {x.shape[0]}:
            raise RuntimeError(f"LSTM '{node.name}' has sequences of several lengths")
        two, hidden = w.shape[0] == 2, r.shape[2]
        if attributes.get("direction", "forward") == "reverse":
            raise RuntimeError(f"LSTM '{node.name}' runs backwards")
        module = torch.nn.LSTM(x.shape[2], hidden, bidirectional=two).to(self.device).eval()

        def gates(m):  # input, output, forget, cell there; input, forget, cell, output here
            i, o, f, c = m.chunk(4)
            return torch.cat([i, f, c, o])

        zeros = torch.zeros(w.shape[0], 8 * hidden, device=self.device)
        bias = self.value[names[3]] if names[3] else zeros
        for k, end in enumerate(["", "_reverse"][: w.shape[0]]):
            for name, m in (("weight_ih", w[k]), ("weight_hh", r[k]),
                            ("bias_ih", bias[k][: 4 * hidden]), ("bias_hh", bias[k][4 * hidden:])):
                getattr(module, f"{name}_l0{end}").data.copy_(gates(m))
        module.requires_grad_(False)
        module.flatten_parameters()
        has_state = [bool(name) for name in names[5:7]]

        class Sequence(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.lstm = module

            def forward(self, x, *state):
                state = list(state)
                zero = x.new_zeros(1 + two, x.shape[1], hidden)
                h = state.pop(0) if has_state[0] else zero
                c = state.pop(0) if has_state[1] else zero
                y, (h, c) = self.lstm(x, (h, c))
                y = y.reshape(y.shape[0], y.shape[1], 1 + two, hidden).transpose(1, 2)
                return y, h, c

        return Sequence(), [name for name in (names[0], names[5], names[6]) if name]

    # ---- shapes --------------------------------------------------------------------

    def op_Shape(self, node, attributes):
        begin, end = attributes.get("start", 0), attributes.get("end")
        return lambda x: self.torch.tensor(list(x.shape)[begin:end], dtype=self.torch.int64)

    def op_Flatten(self, node, attributes):
        axis, x = attributes.get("axis", 1), self.value[node.input[0]]
        axis = axis + x.dim() if axis < 0 else axis
        rows = 1
        for d in x.shape[:axis]:
            rows *= d
        return lambda x: x.reshape(rows, -1)

    def op_Reshape(self, node, attributes):
        shape, x = self.known(node, 1), self.value[node.input[0]]
        shape = [x.shape[i] if d == 0 and not attributes.get("allowzero", 0) else d for i, d in enumerate(shape)]
        return lambda x: x.reshape(shape), [node.input[0]]

    def op_Transpose(self, node, attributes):
        rank = self.value[node.input[0]].dim()
        order = list(attributes.get("perm", range(rank - 1, -1, -1)))
        return lambda x: x.permute(order)

    def op_Concat(self, node, attributes):
        axis = attributes.get("axis")
        return lambda *x: self.torch.cat(x, axis)

    def axes(self, node, attributes, default=None):
        given = attributes.get("axes")
        return list(given) if given is not None else self.known(node, 1, default)

    def op_Squeeze(self, node, attributes):
        x = self.value[node.input[0]]
        axes = self.axes(node, attributes, [i for i, d in enumerate(x.shape) if d == 1])
        shape = [d for i, d in enumerate(x.shape) if i not in {a % x.dim() for a in axes}]
        return lambda x: x.reshape(shape), [node.input[0]]

    def op_Unsqueeze(self, node, attributes):
        x = self.value[node.input[0]]
        axes = self.axes(node, attributes)
        rank = x.dim() + len(axes)
        shape, rest = [], list(x.shape)
        for i in range(rank):
            shape.append(1 if i in {a % rank for a in axes} else rest.pop(0))
        return lambda x: x.reshape(shape), [node.input[0]]

    def op_Expand(self, node, attributes):
        shape = self.known(node, 1)
        to = self.torch.broadcast_shapes(self.value[node.input[0]].shape, shape)
        return lambda x: x.expand(to), [node.input[0]]

    def op_Slice(self, node, attributes):
        x = self.value[node.input[0]]
        begin = attributes.get("starts") or self.known(node, 1)
        end = attributes.get("ends") or self.known(node, 2)
        axes = attributes.get("axes") or self.known(node, 3, list(range(len(begin))))
        steps = self.known(node, 4, [1] * len(begin)) if self.opset >= 10 else [1] * len(begin)
        if any(step < 1 for step in steps):
            raise RuntimeError(f"Slice '{node.name}' goes backwards")
        index = [slice(None)] * x.dim()
        for b, e, axis, step in zip(begin, end, axes, steps):
            index[axis] = slice(b, e, step)
        return lambda x: x[tuple(index)], [node.input[0]]

    def op_Split(self, node, attributes):
        x, axis = self.value[node.input[0]], attributes.get("axis", 0)
        sizes = attributes.get("split") or self.known(node, 1)
        if sizes is None:
            each = -(-x.shape[axis] // len(node.output))
            sizes = [min(each, x.shape[axis] - each * i) for i in range(len(node.output))]
        return lambda x: self.torch.split(x, list(sizes), axis), [node.input[0]]

    def op_Gather(self, node, attributes):
        axis = attributes.get("axis", 0)

        def function(x, index):
            index = self.torch.where(index < 0, index + x.shape[axis], index)
            picked = self.torch.index_select(x, axis, index.reshape(-1))
            return picked.reshape(*x.shape[:axis], *index.shape, *x.shape[axis + 1:])

        return function

    def op_Pad(self, node, attributes):
        x = self.value[node.input[0]]
        pads = attributes.get("pads") or self.known(node, 1)
        value = attributes.get("value", 0.0) if self.opset < 11 else self.known(node, 2, 0.0)
        mode = {"constant": "constant", "reflect": "reflect", "edge": "replicate"}[attributes.get("mode", "constant")]
        flat = [p for i in range(x.dim() - 1, -1, -1) for p in (pads[i], pads[x.dim() + i])]
        while mode != "constant" and len(flat) > 2 and flat[-2:] == [0, 0]:
            flat = flat[:-2]
        more = {"value": value} if mode == "constant" else {}
        return lambda x: self.torch.nn.functional.pad(x, flat, mode, **more), [node.input[0]]

    def op_Resize(self, node, attributes):
        x, scales, sizes = self.value[node.input[0]], self.known(node, 2), self.known(node, 3)
        sizes = sizes or [int(d * s) for d, s in zip(x.shape, scales)]
        mode, how = attributes.get("mode", "nearest"), attributes.get("coordinate_transformation_mode", "half_pixel")
        if list(sizes[:2]) != list(x.shape[:2]):
            raise RuntimeError(f"Resize '{node.name}' changes channels")
        run = self.torch.nn.functional.interpolate
        if mode == "nearest" and how == "asymmetric" and attributes.get("nearest_mode", "round_prefer_floor") == "floor":
            return lambda x: run(x, sizes[2:], mode="nearest"), [node.input[0]]
        if mode == "linear" and how in ("half_pixel", "pytorch_half_pixel", "align_corners") and x.dim() == 4:
            return lambda x: run(x, sizes[2:], mode="bilinear", align_corners=how == "align_corners"), [node.input[0]]
        raise RuntimeError(f"Resize '{node.name}' ({mode}, {how}) is not as torch has it")

    def op_Constant(self, node, attributes):
        from onnx import numpy_helper

        if "value" in attributes.of:
            value = numpy_helper.to_array(attributes.of["value"])
        else:
            (name, given), = attributes.of.items()
            kind = self.np.float32 if "float" in name else self.np.int64
            value = self.np.array(given, kind)
        held = self.torch.from_numpy(self.np.array(value)).to(self.device)
        return lambda: held

    def op_ConstantOfShape(self, node, attributes):
        from onnx import numpy_helper

        shape = self.known(node, 0)
        given = attributes.get("value")
        value = numpy_helper.to_array(given) if given is not None else self.np.zeros(1, self.np.float32)
        full = self.torch.from_numpy(self.np.full(shape, value[0])).to(self.device)
        return lambda: full, []

    # ---- element by element --------------------------------------------------------

    def op_Cast(self, node, attributes):
        torch = self.torch
        kinds = {1: torch.float32, 2: torch.uint8, 3: torch.int8, 5: torch.int16, 6: torch.int32, 7: torch.int64,
                 9: torch.bool, 10: torch.float16, 11: torch.float64, 16: torch.bfloat16}
        kind = kinds[attributes.get("to")]
        return lambda x: x.to(kind)

    def op_Clip(self, node, attributes):
        low = attributes.get("min") if self.opset < 11 else self.known(node, 1)
        high = attributes.get("max") if self.opset < 11 else self.known(node, 2)
        return lambda x: self.torch.clamp(x, low, high), [node.input[0]]

    def op_LeakyRelu(self, node, attributes):
        slope = attributes.get("alpha", 0.01)
        return lambda x: self.torch.nn.functional.leaky_relu(x, slope)

    def op_Elu(self, node, attributes):
        alpha = attributes.get("alpha", 1.0)
        return lambda x: self.torch.nn.functional.elu(x, alpha)

    def op_Gelu(self, node, attributes):
        how = attributes.get("approximate", "none")
        return lambda x: self.torch.nn.functional.gelu(x, approximate=how)

    def op_HardSigmoid(self, node, attributes):
        alpha, beta = attributes.get("alpha", 0.2), attributes.get("beta", 0.5)
        return lambda x: self.torch.clamp(x * alpha + beta, 0, 1)

    def op_HardSwish(self, node, attributes):
        return self.torch.nn.functional.hardswish

    def op_Identity(self, node, attributes):
        return lambda x, *others: x

    op_Dropout = op_Identity

    def op_Max(self, node, attributes):
        import functools

        pick = self.torch.maximum if node.op_type == "Max" else self.torch.minimum
        return lambda *x: functools.reduce(pick, x)

    op_Min = op_Max

    def op_Sum(self, node, attributes):
        return lambda *x: sum(x[1:], x[0])

    def reduce(self, node, attributes, run):
        x = self.value[node.input[0]]
        axes = self.axes(node, attributes)
        axes = list(range(x.dim())) if axes is None else axes
        keeps = bool(attributes.get("keepdims", 1))
        return lambda x: run(x, axes, keeps), [node.input[0]]

    def op_ReduceMean(self, node, attributes):
        return self.reduce(node, attributes, lambda x, axes, keeps: x.mean(dim=axes, keepdim=keeps))

    def op_ReduceSum(self, node, attributes):
        return self.reduce(node, attributes, lambda x, axes, keeps: x.sum(dim=axes, keepdim=keeps))

    def op_ReduceMax(self, node, attributes):
        return self.reduce(node, attributes, lambda x, axes, keeps: x.amax(dim=axes, keepdim=keeps))

    def op_ReduceMin(self, node, attributes):
        return self.reduce(node, attributes, lambda x, axes, keeps: x.amin(dim=axes, keepdim=keeps))


def name_plain_operators():
    """Those that torch has under one name, with the same meaning."""
    own = {"Relu": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "Exp": "exp", "Log": "log", "Sqrt": "sqrt", "Erf": "erf",
           "Abs": "abs", "Neg": "neg", "Reciprocal": "reciprocal", "Floor": "floor", "Ceil": "ceil", "Sin": "sin",
           "Cos": "cos", "Add": "add", "Sub": "sub", "Mul": "mul", "Pow": "pow", "Where": "where", "Equal": "eq",
           "Greater": "gt", "Less": "lt", "Not": "logical_not", "And": "logical_and", "Or": "logical_or"}
    for name, function in own.items():
        setattr(OnnxModule, "op_" + name, lambda self, node, attributes, f=function: getattr(self.torch, f))
    # Whole numbers are divided towards zero.
    setattr(OnnxModule, "op_Div", lambda self, node, attributes: lambda a, b: a / b if a.is_floating_point()
            else self.torch.div(a, b, rounding_mode="trunc"))


name_plain_operators()
