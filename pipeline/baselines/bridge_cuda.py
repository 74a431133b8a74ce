"""A part of kiln-bridge: libraries that run models on an NVIDIA GPU.

A run is what kiln's is: inputs are copied from the host's memory, outputs back into it, and it is over when they are
there. float32 stays float32: TF32 is off.
"""

import contextlib
import os
import signal
import time


class TookTooLong(Exception):
    pass


@contextlib.contextmanager
def at_most(seconds):
    """Ends what it is around when the time is over."""
    def end(number, frame):
        raise TookTooLong(f"not ready after {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class TorchCuda:
    """PyTorch with the whole network as one CUDA graph, made in several ways; the fastest is compared."""

    wheel = "torch"
    is_on_device = True
    # Of all that is compiled together (KILN_TORCH_SECONDS).
    compile_seconds = 60.0

    @staticmethod
    def absent():
        os.environ.setdefault("NVIDIA_TF32_OVERRIDE", "0")
        try:
            import torch
        except Exception as e:
            return f"torch does not load: {str(e).strip()[:200]}"
        if os.environ.get("KILN_TORCH_DEVICE", "cuda") == "cpu":  # for tests of what is not the GPU's
            return None
        if not torch.cuda.is_available():
            return "torch finds no NVIDIA GPU, or was built for processors alone"
        try:
            import onnx  # noqa: F401
        except Exception:
            return "the wheel 'onnx' is not beside torch, which reads the models"
        return None

    def __init__(self, model, threads, inputs, outputs):
        os.environ["NVIDIA_TF32_OVERRIDE"] = "0"
        import torch

        self.torch = torch
        self.device = os.environ.get("KILN_TORCH_DEVICE", "cuda")
        torch.set_grad_enabled(False)
        torch.set_num_threads(threads)
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        warnings.simplefilter("ignore")
        self.model, self.inputs = model, inputs
        self.plain = OnnxModule(model, self.device, inputs)
        own = self.plain.outputs
        self.wanted = places("output", outputs, [{name} for name in own])
        values = list(inputs.values())
        at = [self.plain.order.index(i) for i in range(len(values))]
        self.host = [torch.from_numpy(values[i]) for i in at]
        self.made = time.monotonic()
        tried, said = {}, []
        for name, way in self.ways().items():
            try:
                ready = way()
                tried[name] = (self.trial(ready), ready)
            except Exception as e:  # another one may do it
                said.append(f"{name}: {type(e).__name__}: {str(e).strip()[:200]}")
        if os.environ.get("KILN_TORCH_SAYS"):
            print({name: ms for name, (ms, _) in tried.items()}, said, file=sys.stderr)
        if not tried:
            raise RuntimeError("; ".join(said))
        best = min(tried, key=lambda name: tried[name][0])
        self.ready = tried[best][1]
        alone = getattr(self.ready, "alone_ms", None)
        self.implementation = best + (f", {alone:.4f} ms on the GPU alone" if alone else "")
        self.ready.run()
        self.values = [self.ready.host_out[i].numpy().copy() for i in self.wanted]

    def ways(self):
        """By name; each gives something with run() and host_out."""
        def eager(layout=None, fuses=False):
            def make():
                plain = OnnxModule(self.model, self.device, self.inputs, fuses) if fuses else self.plain
                return self.captured(plain.module, layout)

            return make

        def compiled(layout=None, mode=None):
            def make():
                left = float(os.environ.get("KILN_TORCH_SECONDS", self.compile_seconds)) - (time.monotonic() - self.made)
                if left < 5:
                    raise TookTooLong("no time is left to compile")
                with at_most(left):
                    self.torch._dynamo.reset()
                    return self.captured(self.torch.compile(self.plain.module, mode=mode), layout)

            return make

        if self.device == "cpu":
            return {"eager": eager()}
        last = self.torch.channels_last
        return {
            "eager in a CUDA graph": eager(),
            "eager in a CUDA graph, channels last": eager(last),
            "cuDNN's fusion in a CUDA graph": eager(fuses=True),
            "cuDNN's fusion in a CUDA graph, channels last": eager(last, fuses=True),
            "inductor in a CUDA graph": compiled(),
            "inductor in a CUDA graph, channels last": compiled(last),
            "inductor, max-autotune in a CUDA graph": compiled(mode="max-autotune-no-cudagraphs"),
        }

    def captured(self, module, layout):
        if self.device == "cpu":
            return OnHost(self.torch, module, self.host)
        return InGraph(self.torch, module, self.host, layout)

    @staticmethod
    def trial(ready):
        """Milliseconds: the median of its runs, after those that warm it up."""
        took = []
        for i in range(25):
            before = time.monotonic()
            ready.run()
            if i >= 5:
                took.append(1e3 * (time.monotonic() - before))
        return sorted(took)[len(took) // 2]

    def run(self):
        self.ready.run()


class OnHost:
    """The same without a GPU, to test what is read."""

    def __init__(self, torch, module, host):
        self.module, self.host = module, host
        self.run()

    def run(self):
        self.host_out = [v.contiguous() for v in self.module(*self.host)]


class InGraph:
    """Copies to the GPU, the network, copies back: one CUDA graph. Where copies cannot be captured, they are around it."""

    def __init__(self, torch, module, host, layout):
        self.torch, self.module, self.layout = torch, module, layout
        if layout is not None:
            for m in (module, getattr(module, "_orig_mod", module)):
                m.to(memory_format=layout)
        self.host = [v.pin_memory() for v in host]
        self.inside = [v.cuda() for v in self.host]
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(4):  # what is chosen, compiled and allocated at first is so ahead
                given = self.call()
        torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.synchronize()
        self.host_out = [torch.empty(v.shape, dtype=v.dtype).pin_memory() for v in given]
        self.alone_ms = self.time_alone()
        self.graph, self.copies_inside = torch.cuda.CUDAGraph(), True
        try:
            with torch.cuda.graph(self.graph):
                self.copy_in()
                self.given = self.call()
                self.copy_out()
        except Exception:
            torch.cuda.synchronize()
            self.graph, self.copies_inside = torch.cuda.CUDAGraph(), False
            with torch.cuda.graph(self.graph):
                self.given = self.call()
        self.run()

    def call(self):
        if self.layout is None:
            return self.module(*self.inside)
        return self.module(*[v.contiguous(memory_format=self.layout) if v.dim() == 4 else v for v in self.inside])

    def copy_in(self):
        for to, value in zip(self.inside, self.host):
            to.copy_(value, non_blocking=True)

    def copy_out(self):
        for to, value in zip(self.host_out, self.given):
            to.copy_(value, non_blocking=True)

    def time_alone(self):
        """The median of its runs by the GPU's clock, without copies."""
        torch, took = self.torch, []
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.call()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        for i in range(25):
            begin.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            if i >= 5:
                took.append(begin.elapsed_time(end))
        return sorted(took)[len(took) // 2]

    def run(self):
        if not self.copies_inside:
            self.copy_in()
        self.graph.replay()
        if not self.copies_inside:
            self.copy_out()
        self.torch.cuda.synchronize()


class OnnxRuntimeCuda:
    """ONNX Runtime by its CUDA provider: cuDNN's exhaustive search, a CUDA graph where it can have one."""

    wheel = "onnxruntime-gpu"
    is_on_device = True
    provider = "CUDAExecutionProvider"
    options = {"use_tf32": "0", "cudnn_conv_algo_search": "EXHAUSTIVE"}
    graph_option = "enable_cuda_graph"

    @classmethod
    def absent(cls):
        os.environ.setdefault("NVIDIA_TF32_OVERRIDE", "0")
        try:
            import onnxruntime as ort
        except Exception as e:
            return f"onnxruntime does not load: {str(e).strip()[:200]}"
        if cls.provider not in ort.get_available_providers():
            return f"this onnxruntime has no {cls.provider}"
        return None

    def __init__(self, model, threads, inputs, outputs):
        os.environ["NVIDIA_TF32_OVERRIDE"] = "0"
        import onnxruntime as ort

        with contextlib.suppress(Exception):  # what torch's wheels bring of CUDA and cuDNN
            ort.preload_dlls()
        self.given = list(inputs.values())
        said = []
        for has_graph in (True, False):
            try:
                self.open(ort, model, threads, inputs, outputs, has_graph)
                self.implementation = "a CUDA graph" if has_graph else "no CUDA graph"
                return
            except Exception as e:
                said.append(str(e).strip()[:200])
        raise RuntimeError("; ".join(said))

    def open(self, ort, model, threads, inputs, outputs, has_graph):
        o = ort.SessionOptions()
        o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        o.intra_op_num_threads = threads
        o.log_severity_level = 3
        options = dict(self.options)
        if has_graph:
            options[self.graph_option] = "1"
        self.session = ort.InferenceSession(model, o, providers=[(self.provider, options), "CPUExecutionProvider"])
        if self.session.get_providers()[0] != self.provider:
            raise RuntimeError(f"it falls back to {self.session.get_providers()[0]}")
        self.binding = self.session.io_binding()
        self.inside = [ort.OrtValue.ortvalue_from_numpy(v, "cuda", 0) for v in self.given]
        for name, value in zip(inputs, self.inside):
            self.binding.bind_ortvalue_input(name, value)
        for name in outputs:
            self.binding.bind_output(name, "cuda")
        self.session.run_with_iobinding(self.binding)
        self.out = self.binding.get_outputs()
        for name, value in zip(outputs, self.out):  # bound once: a graph writes where it wrote
            self.binding.bind_ortvalue_output(name, value)
        for _ in range(3):
            self.run()
        self.values = [v.numpy().copy() for v in self.out]

    def run(self):
        for to, value in zip(self.inside, self.given):
            to.update_inplace(value)
        self.session.run_with_iobinding(self.binding)
        self.binding.synchronize_outputs()
        for value in self.out:
            value.numpy()


class TensorRt(OnnxRuntimeCuda):
    """TensorRT by ONNX Runtime's provider, in float32."""

    provider = "TensorrtExecutionProvider"
    options = {"trt_fp16_enable": "0"}
    graph_option = "trt_cuda_graph_enable"

    @classmethod
    def absent(cls):
        import ctypes

        why = super().absent()
        if why is not None:
            return why
        with contextlib.suppress(Exception):  # its wheel's libraries, for the provider
            import tensorrt  # noqa: F401
        try:
            ctypes.CDLL("libnvinfer.so.10")
        except OSError as e:
            return f"TensorRT's library does not load: {e}"
        return None
