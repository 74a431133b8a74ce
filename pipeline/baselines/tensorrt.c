/* TensorRT, by ONNX Runtime's provider for it (bridge_cuda.py), in float32 with TF32 off.
 * Its libraries are 2 GB and come from NVIDIA: whoever has them installs them beside
 * onnxruntime-gpu. */
#include "pipeline/baselines/baselines_internal.h"

static const char *const reads[] = {"onnx", NULL};
static const char *const wheels[] = {"onnxruntime-gpu", NULL};

static kiln_status find(const kiln_baseline *b, kiln_arena *a, const char *dir,
                        kiln_baseline_here *out, kiln_err *err) {
    KILN_TRY(kiln_bridge_find(b, a, dir, out, err));
    if (!out->is_here)
        out->remedy = kiln_format(a,
                                  "%s; it needs NVIDIA's TensorRT ('pip install "
                                  "tensorrt' into the environment) beside "
                                  "onnxruntime_cuda's wheels",
                                  out->remedy);
    return KILN_OK;
}

const kiln_baseline kiln_baseline_tensorrt = {
    .name = "tensorrt",
    .doc = "TensorRT by ONNX Runtime, without TF32",
    .wheel = wheels,
    .is_by_name = true,
    .reads = reads,
    .find = find,
    .open = kiln_bridge_open,
    .run = kiln_asked_run,
};
