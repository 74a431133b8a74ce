/* ONNX Runtime's CUDA provider (bridge_cuda.py): cuDNN's exhaustive search, a CUDA graph
 * where the model allows one, TF32 off; inputs are copied to the GPU and outputs back in
 * every run, as in kiln's. */
#include "pipeline/baselines/baselines_internal.h"

static const char *const wheels[] = {"nvidia-cublas",
                                     "nvidia-cuda-nvrtc",
                                     "nvidia-cuda-runtime",
                                     "nvidia-cudnn-cu13",
                                     "nvidia-cufft",
                                     "onnxruntime-gpu",
                                     NULL};
static const char *const reads[] = {"onnx", NULL};

const kiln_baseline kiln_baseline_onnxruntime_cuda = {
    .name = "onnxruntime_cuda",
    .doc = "ONNX Runtime on an NVIDIA GPU, without TF32",
    .wheel = wheels,
    .is_by_name = true,
    .reads = reads,
    .find = kiln_bridge_find,
    .open = kiln_bridge_open,
    .run = kiln_asked_run,
};
