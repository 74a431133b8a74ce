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
import resource
import sys
import time
from importlib import metadata


class OnnxRuntime:
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
    def __init__(self, model, threads, inputs, outputs):
        import openvino as ov

        core = ov.Core()
        read = core.read_model(model)
        read.reshape({name: list(value.shape) for name, value in inputs.items()})
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
        for name, value in inputs.items():
            self.request.set_tensor(name, ov.Tensor(value))
        self.run()
        self.values = [self.request.get_tensor(name).data.copy() for name in outputs]

    def run(self):
        self.request.infer()


LIBRARIES = {"onnxruntime": OnnxRuntime, "openvino": OpenVino}


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
    if len(sys.argv) == 3 and sys.argv[1] == "--version":
        print(version(sys.argv[2]))
        return
    if len(sys.argv) != 2 or sys.argv[1] not in LIBRARIES:
        sys.exit(f"usage: kiln-bridge [--version] {'|'.join(LIBRARIES)}")
    # What libraries print must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    answer_all(LIBRARIES[sys.argv[1]], sys.stdin, answers)


if __name__ == "__main__":
    main()
