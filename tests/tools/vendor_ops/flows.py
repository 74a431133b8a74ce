"""Whole networks through ONNX Runtime's tools: its optimiser, its optimiser for transformers, its quantiser."""
import contextlib
import functools
import logging
import os

import onnx
import onnxruntime as ort
from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType, quant_pre_process,
                                      quantize_dynamic, quantize_static)

from onnx import helper

import networks
from cases import Case
from runtime import session

LEVEL = ort.GraphOptimizationLevel


class Feeds(CalibrationDataReader):
    def __init__(self, feeds):
        self.left = [feeds]

    def get_next(self):
        return self.left.pop() if self.left else None


def case(name, path, feeds, must=(), rms=0):
    """must: operators that the tool has to have written, or the case shows nothing."""
    model = onnx.load(path)
    have = {n.op_type for n in model.graph.node}
    for op in must:
        if op not in have:
            raise AssertionError(f"{name}: no {op} among {sorted(have)}")
    return Case(name, model, feeds, rms=rms)


def optimised(work, name, network, level, must):
    model, feeds = network
    path = os.path.join(work, name + ".onnx")
    o = ort.SessionOptions()
    o.graph_optimization_level, o.optimized_model_filepath, o.log_severity_level = level, path, 3
    ort.InferenceSession(model.SerializeToString(), o, providers=["CPUExecutionProvider"])
    return case(name, path, feeds, must)


def transformer(work, name, must, **options):
    from onnxruntime.transformers import optimizer
    from onnxruntime.transformers.fusion_options import FusionOptions
    model, feeds = networks.bert()
    path = os.path.join(work, name + ".onnx")
    onnx.save(model, path + ".in")
    fusion = FusionOptions("bert")
    for key, value in options.items():
        setattr(fusion, key, value)
    m = optimizer.optimize_model(path + ".in", model_type="bert", num_heads=networks.BERT["heads"],
                                 hidden_size=networks.BERT["hidden"], opt_level=0, optimization_options=fusion)
    m.save_model_to_file(path)
    return case(name, path, feeds, must)


def prepared(work, name, network):
    model, feeds = network
    plain, ready = os.path.join(work, name + ".in.onnx"), os.path.join(work, name + ".pre.onnx")
    onnx.save(model, plain)
    quant_pre_process(plain, ready, skip_symbolic_shape=True)
    return ready, feeds


def static(work, name, network, fmt, activation, weight, must, **options):
    ready, feeds = prepared(work, name, network)
    path = os.path.join(work, name + ".onnx")
    quantize_static(ready, path, Feeds(feeds), quant_format=fmt, activation_type=activation, weight_type=weight, **options)
    return case(name, path, feeds, must)


def layers(work, name, network, activation, weight, **options):
    """Each layer of a QDQ network by itself, given the quantised tensors that ONNX Runtime has with its optimiser on,
    so with its integer kernels: kiln must be within one step of each. (Over many layers the steps add up, in ONNX
    Runtime's own two ways as well.)"""
    whole = static(work, name, network, QuantFormat.QDQ, activation, weight, ["QuantizeLinear"], **options)
    seen, cut = onnx.ModelProto(), whole.model
    seen.CopyFrom(cut)
    types = {i.name: i.data_type for i in cut.graph.initializer}
    quantised = [(n.output[0], types[n.input[2]]) for n in cut.graph.node if n.op_type == "QuantizeLinear"]
    seen.graph.output.extend(helper.make_tensor_value_info(q, t, None) for q, t in quantised)
    s = session(seen, LEVEL.ORT_ENABLE_ALL)
    value = dict(zip([o.name for o in s.get_outputs()], s.run(None, whole.feeds)))
    del cut.graph.output[:]
    feeds, want = dict(whole.feeds), {}
    for node in cut.graph.node:
        if node.op_type == "QuantizeLinear":
            q, t = node.output[0], types[node.input[2]]
            node.output[0] = q + "_layer"
            cut.graph.input.append(helper.make_tensor_value_info(q, t, value[q].shape))
            cut.graph.output.append(helper.make_tensor_value_info(q + "_layer", t, value[q].shape))
            feeds[q], want[q + "_layer"] = value[q], value[q]
    return Case(name, cut, feeds, want=want, steps=1)


def dynamic(work, name, network, weight, must, rms=0):
    ready, feeds = prepared(work, name, network)
    path = os.path.join(work, name + ".onnx")
    quantize_dynamic(ready, path, weight_type=weight)
    return case(name, path, feeds, must, rms)


def dynamic_optimised(work, name, network, weight, must):
    plain = dynamic(work, name + "_plain", network, weight, [])
    return optimised(work, name, (plain.model, plain.feeds), LEVEL.ORT_ENABLE_EXTENDED, must)


def dynamic_transformer(work, name, weight, must):
    path = os.path.join(work, name + ".onnx")
    fused = transformer(work, name + "_fused", [])
    quantize_dynamic(os.path.join(work, name + "_fused.onnx"), path, weight_type=weight)
    return case(name, path, fused.feeds, must)


def make(work):
    """What makes each case, not yet called: one that fails must not hide the others."""
    def add(make_case, name, *args, **options):
        wanted.append((name, functools.partial(make_case, work, name, *args, **options)))
    wanted = []
    add(optimised, "flow_cnn_extended", networks.cnn(), LEVEL.ORT_ENABLE_EXTENDED, ["FusedConv"])
    add(optimised, "flow_mlp_extended", networks.mlp(), LEVEL.ORT_ENABLE_EXTENDED, ["FusedGemm", "QuickGelu"])
    add(optimised, "flow_mlp_all", networks.mlp(), LEVEL.ORT_ENABLE_ALL, ["FusedGemm"])
    add(optimised, "flow_bert_extended", networks.bert(), LEVEL.ORT_ENABLE_EXTENDED,
        ["SkipLayerNormalization", "FusedMatMul", "Gelu"])
    add(transformer, "flow_bert_transformers",
        ["Attention", "SkipLayerNormalization", "LayerNormalization", "BiasGelu"])
    add(transformer, "flow_bert_multi_head", ["MultiHeadAttention"], use_multi_head_attention=True)
    add(transformer, "flow_bert_approximate", ["FastGelu"], enable_gelu_approximation=True)
    u8, s8, qdq, qop = QuantType.QUInt8, QuantType.QInt8, QuantFormat.QDQ, QuantFormat.QOperator
    for name, a, w in (("u8s8", u8, s8), ("s8s8", s8, s8), ("u8u8", u8, u8)):
        for per in (False, True):
            tag = f"{name}{'_channel' if per else ''}"
            add(static, f"flow_cnn_qdq_{tag}", networks.cnn(), qdq, a, w, ["QuantizeLinear"], per_channel=per)
            add(layers, f"flow_cnn_layers_{tag}", networks.cnn(), a, w, per_channel=per)
            add(static, f"flow_cnn_qop_{tag}", networks.cnn(), qop, a, w,
                ["QLinearConv", "QLinearAdd", "QLinearConcat", "QLinearGlobalAveragePool", "QGemm"], per_channel=per)
    add(static, "flow_mlp_qop", networks.mlp(), qop, u8, s8, ["QGemm"])
    add(static, "flow_mlp_qdq_16", networks.mlp(), qdq, QuantType.QUInt16, s8, ["QuantizeLinear"],
        extra_options={"UseQDQContribOps": True})
    for name, w in (("u8", u8), ("s8", s8)):
        add(dynamic, f"flow_mlp_dynamic_{name}", networks.mlp(), w, ["MatMulInteger"])
        add(dynamic_optimised, f"flow_mlp_dynamic_{name}_extended", networks.mlp(), w, ["DynamicQuantizeMatMul"])
    add(dynamic, "flow_cnn_dynamic", networks.cnn(), u8, ["ConvInteger"])
    # ONNX Runtime rounds inputs and hidden states to 8 bits on the way, kiln does not.
    add(dynamic, "flow_lstm_dynamic", networks.lstm(), s8, ["DynamicQuantizeLSTM"], rms=0.02)
    add(dynamic_transformer, "flow_bert_dynamic", s8, ["QAttention", "MatMulInteger"])
    return wanted


def all_cases(work, chosen):
    """(name, case or the exception that its making raised)."""
    os.makedirs(work, exist_ok=True)
    logging.disable(logging.WARNING)
    done = []
    for name, make_case in make(work):
        if chosen not in name:
            continue
        try:
            with open(os.devnull, "w") as quiet, contextlib.redirect_stdout(quiet):
                done.append((name, make_case()))
        except Exception as e:  # whatever the tools raise
            done.append((name, e))
    return done
