#!/usr/bin/env python3
"""kiln-bridge: a library that comes as a Python wheel runs a model, and times itself.

    kiln-bridge --version NAME      prints the wheel's version, or an empty line where there is none
    kiln-bridge NAME                answers requests until its input ends

Requests and answers are JSON, one line each; an answer with "problem" is a refusal.

    {"do": "load", "model": FILE, "threads": N, "inputs": [{"name": TEXT, "file": NPY}...],
     "outputs": [{"name": TEXT, "file": NPY}...]}         runs once, writes the outputs
    {"do": "run", "runs": R}         one run that is not timed, then R that are:
                                     {"wall_ns": all of them, "cpu_ns": of all threads, "preempted": times}

An answer to "run" comes when the library's threads have stopped spinning, so that whoever
comes next has the processors to itself. A new library is one class here, and a row of baselines.def.
"""

import gc
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from importlib.util import find_spec


def places(what, asked, own):
    """Where the library has what is asked for: own has a set of names for each of its tensors.
    Frameworks call the first output of x "x" or "x:0". Where a file names its tensors
    otherwise, or not at all, they are in its order, as kiln's are."""
    at = []
    for name in asked:
        same = {name, f"{name}:0", name.removesuffix(":0")}
        at.append(next((i for i, names in enumerate(own) if same & set(names)), None))
    if None not in at and len(set(at)) == len(at):
        return at
    if len(asked) == len(own):
        return list(range(len(own)))
    names = ", ".join("/".join(sorted(n)) for n in own)
    raise RuntimeError(f"its {what}s are {names}; asked for: {', '.join(asked)}")


class OnnxRuntime:
    wheel = "onnxruntime"

    def __init__(self, model, threads, inputs, outputs):
        import onnxruntime as ort

        o = ort.SessionOptions()
        o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        o.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
        o.intra_op_num_threads = threads
        o.inter_op_num_threads = 1
        o.enable_mem_pattern = True
        o.log_severity_level = 3  # errors
        self.session = ort.InferenceSession(model, o, providers=["CPUExecutionProvider"])
        # Bound once: runs then copy and allocate nothing on the way in and out.
        self.binding = self.session.io_binding()
        for name, value in inputs.items():
            self.binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(value))
        for name in outputs:
            self.binding.bind_output(name)
        self.run()
        self.values = [v.numpy().copy() for v in self.binding.get_outputs()]
        for name, value in zip(outputs, self.values):
            self.binding.bind_ortvalue_output(name, ort.OrtValue.ortvalue_from_numpy(value))
        self.run()

    def run(self):
        self.session.run_with_iobinding(self.binding)


class OpenVino:
    wheel = "openvino"

    def __init__(self, model, threads, inputs, outputs):
        import openvino as ov

        # A SavedModel is its folder, with the variables.
        if os.path.basename(model) == "saved_model.pb":
            model = os.path.dirname(model) or "."
        core = ov.Core()
        read = core.read_model(model)
        own = [port.get_names() for port in read.inputs]
        ports = [read.inputs[i] for i in places("input", list(inputs), own)]
        shapes = {port: list(v.shape) for port, v in zip(ports, inputs.values())}
        read.reshape(shapes)
        compiled = core.compile_model(
            read,
            "CPU",
            {
                "PERFORMANCE_HINT": "LATENCY",
                "NUM_STREAMS": "1",
                "INFERENCE_NUM_THREADS": str(threads),
                "INFERENCE_PRECISION_HINT": "f32",
            },
        )
        self.request = compiled.create_infer_request()
        for port, value in zip(ports, inputs.values()):
            self.request.set_tensor(port, ov.Tensor(value))
        self.run()
        own = [port.get_names() for port in compiled.outputs]
        at = places("output", outputs, own)
        self.values = [self.request.get_output_tensor(i).data.copy() for i in at]

    def run(self):
        self.request.infer()


class LiteRt:
    wheel = "ai-edge-litert"

    def __init__(self, model, threads, inputs, outputs):
        from ai_edge_litert.interpreter import Interpreter

        # It hands what it can to the XNNPACK delegate by itself, with as many threads.
        self.interpreter = Interpreter(model, num_threads=threads)
        own = self.interpreter.get_input_details()
        at = places("input", list(inputs), [{tensor["name"]} for tensor in own])
        own = [own[i] for i in at]
        for tensor, value in zip(own, inputs.values()):
            if list(tensor["shape"]) != list(value.shape):
                self.interpreter.resize_tensor_input(tensor["index"], value.shape)
        self.interpreter.allocate_tensors()
        # Filled once: a run changes no input.
        for tensor, value in zip(own, inputs.values()):
            self.interpreter.set_tensor(tensor["index"], value)
        self.run()
        own = self.interpreter.get_output_details()
        at = places("output", outputs, [{tensor["name"]} for tensor in own])
        self.values = [self.interpreter.get_tensor(own[i]["index"]) for i in at]

    def run(self):
        self.interpreter.invoke()


def convert(argv, folder):
    """Runs a library's converter; what it said last is why it failed."""
    done = subprocess.run(argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        said = done.stdout.decode(errors="replace").strip()[-400:]
        raise RuntimeError(f"{os.path.basename(argv[0])} ended with {done.returncode}: {said}")


class Mnn:
    wheel = "mnn"

    def __init__(self, model, threads, inputs, outputs):
        # Not MNN.tools: importing that asks pip for further packages.
        import _tools
        import MNN
        import numpy as np

        with tempfile.TemporaryDirectory(prefix="kiln-") as folder:
            own = os.path.join(folder, "model.mnn")
            options = ["--modelFile", model, "--MNNModel", own, "--bizCode", "kiln"]
            _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--keepInputFormat", "1", *options])
            if not os.path.exists(own):
                raise RuntimeError("its converter refuses the model")
            self.net = MNN.Interpreter(own)
        self.session = self.net.createSession(
            {"backend": "CPU", "numThread": threads, "precision": "high"}
        )
        own = self.net.getSessionInputAll(self.session)
        for name, value in inputs.items():
            self.net.resizeTensor(own[name], tuple(value.shape))
        self.net.resizeSession(self.session)
        own = self.net.getSessionInputAll(self.session)
        for name, value in inputs.items():
            is_float = value.dtype == np.float32
            kind = MNN.Halide_Type_Float if is_float else MNN.Halide_Type_Int
            value = np.ascontiguousarray(value, dtype=np.float32 if is_float else np.int32)
            layout = MNN.Tensor_DimensionType_Caffe
            own[name].copyFrom(MNN.Tensor(tuple(value.shape), kind, value, layout))
        self.run()
        self.values = [self.output(MNN, np, name) for name in outputs]

    def output(self, mnn, np, name):
        value = self.net.getSessionOutput(self.session, name)
        shape, kind = value.getShape(), value.getDataType()
        dtype = np.float32 if kind == mnn.Halide_Type_Float else np.int32
        host = mnn.Tensor(shape, kind, np.zeros(shape, dtype), mnn.Tensor_DimensionType_Caffe)
        value.copyToHostTensor(host)
        return np.array(host.getNumpyData(), dtype=dtype).reshape(shape)

    def run(self):
        self.net.runSession(self.session)


class Ncnn:
    wheel = "ncnn"

    def __init__(self, model, threads, inputs, outputs):
        import ncnn
        import numpy as np

        self.net = ncnn.Net()
        o = self.net.opt
        o.num_threads = threads
        o.use_fp16_packed = o.use_fp16_storage = o.use_fp16_arithmetic = False
        o.use_bf16_storage = False
        with tempfile.TemporaryDirectory(prefix="kiln-") as folder:
            shutil.copy(model, os.path.join(folder, "model.onnx"))
            converter = os.path.join(find_spec("pnnx").submodule_search_locations[0], "pnnx")
            convert([converter, "model.onnx", "fp16=0", "optlevel=2"], folder)
            files = [os.path.join(folder, f"model.ncnn.{end}") for end in ("param", "bin")]
            with open(os.path.join(folder, "model_ncnn.py")) as f:
                example = f.read()
            if self.net.load_param(files[0]) != 0 or self.net.load_model(files[1]) != 0:
                raise RuntimeError("it does not read what its converter made")
        # Which dimension is the batch, that its tensors do not have, the converter says in an example.
        self.inputs = []
        for i, value in enumerate(inputs.values()):
            value = value.astype(np.int32) if value.dtype == np.int64 else value
            batch = re.search(rf"Mat\(in{i}\.numpy\(\), batch_index=(\d+)", example)
            mat = ncnn.Mat(value, batch_index=int(batch[1])) if batch else ncnn.Mat(value)
            self.inputs.append((f"in{i}", mat.clone()))
        self.outputs = [f"out{i}" for i in range(len(outputs))]
        self.values = []
        for name, mat in zip(self.outputs, self.run()):
            batch = re.search(rf"{name}\.numpy\(batch_index=(\d+)", example)
            value = mat.numpy(batch_index=int(batch[1])) if batch else mat.numpy()
            self.values.append(np.array(value))

    def run(self):
        values = []
        with self.net.create_extractor() as ex:
            for name, value in self.inputs:
                ex.input(name, value)
            for name in self.outputs:
                status, value = ex.extract(name)
                if status != 0:
                    raise RuntimeError(f"a run gives {status} for output '{name}'")
                values.append(value)
        return values


class Iree:
    wheel = "iree-base-runtime"

    def __init__(self, model, threads, inputs, outputs):
        import iree.compiler
        import iree.runtime as rt

        with tempfile.TemporaryDirectory(prefix="kiln-") as folder:
            read, own = os.path.join(folder, "model.mlir"), os.path.join(folder, "model.vmfb")
            # Operators of before opset 17 are brought there on the way.
            importer = [sys.executable, "-I", "-m", "iree.compiler.tools.import_onnx"]
            convert([*importer, model, "-o", read, "--opset-version", "17"], folder)
            iree.compiler.compile_file(
                read,
                output_file=own,
                extra_args=[
                    "--iree-hal-target-device=local",
                    "--iree-hal-local-target-device-backends=llvm-cpu",
                    "--iree-llvmcpu-target-cpu=host",
                    "--iree-opt-level=O3",
                    "--iree-opt-data-tiling",
                ],
            )
            with open(own, "rb") as f:
                code = f.read()
        if threads > 1:
            rt.flags.parse_flags(f"--task_topology_group_count={threads}")
        config = rt.Config("local-sync" if threads == 1 else "local-task")
        self.context = rt.SystemContext(config=config)
        module = rt.VmModule.copy_buffer(self.context.instance, code)
        self.context.add_vm_module(module)
        name = next(n for n in module.function_names if n[0] != "_" and "$" not in n)
        self.function, self.rt = module.lookup_function(name), rt
        self.held = [rt.asdevicearray(config.device, value) for value in inputs.values()]
        self.inputs = rt.VmVariantList(len(self.held))
        for value in self.held:
            self.inputs.push_ref(value._buffer_view)
        given = self.run()
        views = [given.get_as_object(i, rt.HalBufferView) for i in range(len(outputs))]
        arrays = [rt.DeviceArray(config.device, v, implicit_host_transfer=True) for v in views]
        self.values = [array.to_host().copy() for array in arrays]

    def run(self):
        given = self.rt.VmVariantList(1)
        self.context.vm_context.invoke(self.function, self.inputs, given)
        return given


LIBRARIES = {
    "onnxruntime": OnnxRuntime,
    "openvino": OpenVino,
    "litert": LiteRt,
    "mnn": Mnn,
    "ncnn": Ncnn,
    "iree": Iree,
}


def load(request, library):
    import numpy as np

    inputs = {i["name"]: np.ascontiguousarray(np.load(i["file"])) for i in request["inputs"]}
    outputs = [o["name"] for o in request["outputs"]]
    subject = library(request["model"], request["threads"], inputs, outputs)
    for output, value in zip(request["outputs"], subject.values):
        np.save(output["file"], np.ascontiguousarray(value))
    gc.collect()
    gc.freeze()
    gc.disable()
    settle()
    return subject


def is_busy(task):
    """Is this thread running? By the state in its stat, behind the name in brackets."""
    try:
        with open(f"/proc/self/task/{task}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] == "R"
    except OSError:  # it has ended
        return False


def settle():
    """Waits until this process does nothing: threads spin for a while after a run. The process's
    CPU time does not tell: the kernel adds what a thread on another processor does at its next tick."""
    tick, limit, own = 0.001, 2.0, str(os.getpid())
    end = time.monotonic() + limit
    while time.monotonic() < end:
        time.sleep(tick)
        if not any(is_busy(task) for task in os.listdir("/proc/self/task") if task != own):
            return
    raise RuntimeError(f"threads still work {limit:.0f} s after a run")


def preempted():
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def sample(subject, runs):
    run = subject.run
    run()
    before, cpu, wall = preempted(), time.process_time_ns(), time.monotonic_ns()
    for _ in range(runs):
        run()
    wall, cpu = time.monotonic_ns() - wall, time.process_time_ns() - cpu
    after = preempted()
    settle()
    return {"wall_ns": wall, "cpu_ns": cpu, "preempted": after - before}


def version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def answer_all(library, requests, answers):
    subject = None
    for line in requests:
        request = json.loads(line)
        try:
            if request["do"] == "load":
                subject = load(request, library)
                answer = {}
            else:
                answer = sample(subject, request["runs"])
        except Exception as e:  # whatever the library throws is its answer
            text = str(e).strip() or "no reason given"
            answer = {"problem": f"{type(e).__name__}: {text}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--version" and sys.argv[2] in LIBRARIES:
        print(version(LIBRARIES[sys.argv[2]].wheel))
        return
    if len(sys.argv) != 2 or sys.argv[1] not in LIBRARIES:
        sys.exit(f"usage: kiln-bridge [--version] {'|'.join(LIBRARIES)}")
    # What libraries print must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    answer_all(LIBRARIES[sys.argv[1]], sys.stdin, answers)


if __name__ == "__main__":
    main()
