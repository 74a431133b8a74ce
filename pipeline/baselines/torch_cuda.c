/* PyTorch on an NVIDIA GPU (bridge_cuda.py): the whole network, with the copies to the GPU
 * and back, as one CUDA graph, of eager operators, of those with cuDNN's fusion, and of
 * what inductor compiles; what is fastest in a short trial is compared, and is named. It
 * searches for cuDNN's fastest algorithms (benchmark); TF32 is off. torch reads no ONNX:
 * bridge_onnx.py makes its calls of a file. */
#include "pipeline/baselines/baselines_internal.h"

static const char *const wheels[] = {"numpy", "onnx", "torch", NULL};
static const char *const reads[] = {"onnx", NULL};

const kiln_baseline kiln_baseline_torch_cuda = {
    .name = "torch_cuda",
    .doc = "PyTorch on an NVIDIA GPU, in a CUDA graph, without TF32",
    .wheel = wheels,
    .is_by_name = true,
    .reads = reads,
    .find = kiln_bridge_find,
    .open = kiln_bridge_open,
    .run = kiln_asked_run,
};
