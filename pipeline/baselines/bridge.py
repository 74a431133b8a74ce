#!/usr/bin/env python3
"""kiln-bridge: a library that comes as a Python wheel runs a model, and times itself.

    kiln-bridge --version NAME      prints the wheel's version, an empty line where there is none, or
                                    "absent: " and why it cannot run here
    kiln-bridge NAME                answers requests until its input ends

Requests and answers are JSON, one line each; an answer with "problem" is a refusal.

    {"do": "load", "model": FILE, "threads": N, "inputs": [{"name": TEXT, "file": NPY}...],
     "outputs": [{"name": TEXT, "file": NPY}...]}         runs once, writes the outputs; the answer may have
                                     "implementation", as the library calls what it chose. What it writes besides goes
                                     into the folder of the outputs, which is gone after the session
    {"do": "run", "runs": R}         one run that is not timed, then R that are:
                                     {"wall_ns": all of them, "cpu_ns": of all threads, "preempted": times};
                                     cpu_ns 0: a GPU ran them, the processor only waited

An answer to "run" comes when the library's threads have stopped spinning, so that whoever
comes next has the processors to itself. A new library is one class here, and a row of baselines.def.

Between this text and what follows the build puts bridge_onnx.py and bridge_cuda.py, so that it is one file.
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
import warnings
import zipfile
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
        kind = kind_of_pytorch(model)
        if kind is None:
            read = core.read_model(model)
            own = [port.get_names() for port in read.inputs]
            ports = [read.inputs[i] for i in places("input", list(inputs), own)]
        else:
            # Its converter takes what torch loads, and gives the inputs in torch's order.
            program = PyTorchProgram(model, kind, inputs)
            read = ov.convert_model(program.loaded, example_input=program.given)
            ports = [read.inputs[i] for i in program.order]
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
        at = places("output", outputs, own) if kind is None else range(len(outputs))
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


def kind_of_pytorch(model):
    """"script" for what torch.jit.save wrote, "program" for torch.export.save, else None."""
    if not zipfile.is_zipfile(model):
        return None
    with zipfile.ZipFile(model) as archive:
        last = {name.rpartition("/")[2] for name in archive.namelist()}
    if last & {"model.json", "serialized_exported_program.json", "archive_format"}:
        return "program"
    return "script" if "constants.pkl" in last else None


def leaves(value):
    """Tensors of nested lists, tuples and dictionaries, in order."""
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in leaves(part)]
    if isinstance(value, dict):
        return leaves(list(value.values()))
    return [value]


class PyTorchProgram:
    """A file as torch loads it, with inputs in its own nesting: x.0 and x.1 are parts of x."""

    def __init__(self, model, kind, inputs):
        import torch

        self.torch, self.kind = torch, kind
        tensors = {name: torch.from_numpy(value) for name, value in inputs.items()}
        if kind == "script":
            self.loaded = torch.jit.load(model, map_location="cpu").eval()
            self.call = self.loaded
            arguments = self.loaded.forward.schema.arguments[1:]
            given = [self.argument(a, tensors) for a in arguments]
            while given and given[-1] is None:  # those that have a default
                given.pop()
            self.given, self.named = tuple(given), {}
            flat = leaves(given)
        else:
            from torch.utils import _pytree

            self.loaded = torch.export.load(model)
            self.call = self.loaded.module()
            own = list(self.loaded.graph_signature.user_inputs)
            at = places("input", list(tensors), [{name} for name in own])
            flat = [list(tensors.values())[at.index(i)] for i in range(len(own))]
            # The shape of the nest is known to the program's caller, not to its graph.
            nest = self.loaded.call_spec.in_spec
            self.given, self.named = _pytree.tree_unflatten(flat, nest)
        values = list(tensors.values())
        self.order = [next(i for i, leaf in enumerate(flat) if leaf is v) for v in values]

    @staticmethod
    def argument(argument, tensors):
        if argument.name in tensors:
            return tensors[argument.name]
        parts = [v for n, v in tensors.items() if n.rpartition(".")[0] == argument.name]
        if not parts:
            return None
        return parts if argument.type.kind() == "ListType" else tuple(parts)


class PyTorch:
    wheel = "torch"

    def __init__(self, model, threads, inputs, outputs):
        import torch

        warnings.simplefilter("ignore")  # that TorchScript is deprecated
        torch.set_num_threads(threads)
        torch.set_num_interop_threads(1)
        torch.set_float32_matmul_precision("highest")  # float32, no bfloat16 in its place
        torch.set_grad_enabled(False)
        program = PyTorchProgram(model, kind_of_pytorch(model), inputs)
        self.given, self.named = program.given, program.named
        ways = {"TorchScript, frozen": self.frozen, "inductor": self.inductor}
        tried, said = {}, []
        for name, way in ways.items():
            try:
                call = way(torch, program)
                tried[name] = (self.trial(call), call)
            except Exception as e:  # the other one may do it
                said.append(f"{name}: {type(e).__name__}: {str(e).strip()[:200]}")
        if not tried:
            raise RuntimeError("; ".join(said))
        self.implementation = min(tried, key=lambda name: tried[name][0])
        self.call = tried[self.implementation][1]
        values = leaves(self.call(*self.given, **self.named))
        if len(values) != len(outputs):
            raise RuntimeError(f"it gives {len(values)} outputs; asked for: {len(outputs)}")
        self.values = [v.detach().numpy().copy() for v in values]

    def trial(self, call):
        """Milliseconds of its best run, after those in which it specialises."""
        best = float("inf")
        for i in range(8):
            before = time.monotonic()
            call(*self.given, **self.named)
            if i > 2:
                best = min(best, 1e3 * (time.monotonic() - before))
        return best

    def frozen(self, torch, program):
        script = program.loaded
        if program.kind == "program":
            script = torch.jit.trace(program.call, self.given, check_trace=False, strict=False)
        frozen = torch.jit.freeze(script.eval())
        return torch.jit.optimize_for_inference(frozen)

    @staticmethod
    def inductor(torch, program):
        if program.kind == "script":
            raise RuntimeError("torch.compile takes no TorchScript")
        import torch._inductor.config as config

        config.freezing = True  # parameters are constants, folded and packed
        config.cpp_wrapper = True  # kernels are called from C++
        config.compile_threads = 1  # in this process
        return torch.compile(program.call)

    def run(self):
        self.call(*self.given, **self.named)


class Tvm:
    wheel = "apache-tvm"

    def __init__(self, model, threads, inputs, outputs):
        os.environ["TVM_NUM_THREADS"] = str(threads)
        import onnx
        import tvm
        from tvm import relax
        from tvm.relax.frontend.onnx import from_onnx
        from tvm.s_tir import dlight

        read = onnx.load(model)
        held = {tensor.name for tensor in read.graph.initializer}
        own = [value.name for value in read.graph.input if value.name not in held]
        at = places("input", list(inputs), [{name} for name in own])
        ordered = [list(inputs.values())[at.index(i)] for i in range(len(own))]
        shapes = {name: list(value.shape) for name, value in zip(own, ordered)}
        module = from_onnx(read, shape_dict=shapes)
        cpu = tvm.target.codegen.llvm_get_system_cpu()
        target = tvm.target.Target({"kind": "llvm", "mcpu": cpu, "num-cores": threads})
        # What its tuning pipeline does, without trials.
        passes = [
            relax.transform.DecomposeOpsForInference(),
            relax.transform.CanonicalizeBindings(),
            relax.get_pipeline("zero"),
            dlight.ApplyDefaultSchedule(dlight.cpu.GEMV(), dlight.cpu.Reduction()),
        ]
        with target:
            module = tvm.transform.Sequential(passes)(module)
        self.implementation = "untuned"
        self.machine = relax.VirtualMachine(tvm.compile(module, target=target), tvm.cpu())
        self.machine.set_input("main", *[tvm.runtime.tensor(value) for value in ordered])
        self.run()
        given = self.machine.get_outputs("main")
        given = list(given) if not hasattr(given, "numpy") else [given]
        names = [{value.name} for value in read.graph.output]
        self.values = [given[i].numpy() for i in places("output", outputs, names)]

    def run(self):
        self.machine.invoke_stateful("main")


LIBRARIES = {
    "onnxruntime": OnnxRuntime,
    "openvino": OpenVino,
    "litert": LiteRt,
    "mnn": Mnn,
    "ncnn": Ncnn,
    "iree": Iree,
    "torch": PyTorch,
    "tvm": Tvm,
    "torch_cuda": TorchCuda,
    "onnxruntime_cuda": OnnxRuntimeCuda,
    "tensorrt": TensorRt,
}


def load(request, library):
    import numpy as np

    inputs = {i["name"]: np.ascontiguousarray(np.load(i["file"])) for i in request["inputs"]}
    outputs = [o["name"] for o in request["outputs"]]
    # What libraries write is gone with the session, however it ends.
    own = os.path.dirname(request["outputs"][0]["file"]) if outputs else ""
    if os.path.isdir(own):
        os.environ["TMPDIR"] = tempfile.tempdir = own
    # Converters run in folders of their own.
    model = os.path.abspath(request["model"])
    subject = library(model, request["threads"], inputs, outputs)
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
    if getattr(subject, "is_on_device", False):
        return {"wall_ns": wall, "cpu_ns": 0, "preempted": 0}
    return {"wall_ns": wall, "cpu_ns": cpu, "preempted": after - before}


def version(library):
    try:
        found = metadata.version(library.wheel)
    except metadata.PackageNotFoundError:
        return ""
    why = library.absent() if hasattr(library, "absent") else None
    return found if why is None else f"absent: {' '.join(why.split())}"


def answer_all(library, requests, answers):
    subject = None
    for line in requests:
        request = json.loads(line)
        try:
            if request["do"] == "load":
                subject = load(request, library)
                answer = {"implementation": getattr(subject, "implementation", None)}
            else:
                answer = sample(subject, request["runs"])
        except Exception as e:  # whatever the library throws is its answer
            text = str(e).strip() or "no reason given"
            answer = {"problem": f"{type(e).__name__}: {text}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--version" and sys.argv[2] in LIBRARIES:
        print(version(LIBRARIES[sys.argv[2]]))
        return
    if len(sys.argv) != 2 or sys.argv[1] not in LIBRARIES:
        sys.exit(f"usage: kiln-bridge [--version] {'|'.join(LIBRARIES)}")
    # What libraries print must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    answer_all(LIBRARIES[sys.argv[1]], sys.stdin, answers)


if __name__ == "__main__":
    main()
