/* OpenVINO, its CPU plugin. Settings, after its documentation on low latency: the
 * latency hint, one stream, as many threads as are compared; arithmetic in float32, as
 * kiln's is, where the processor would also offer bfloat16. PyTorch's files its converter
 * takes from PyTorch, which loads them. */
#include "pipeline/baselines/baselines_internal.h"

static const char *const wheels[] = {"numpy", "openvino", NULL};
static const char *const reads[] = {"onnx", "tflite", "tensorflow", "pytorch", NULL};

const kiln_baseline kiln_baseline_openvino = {
    .name = "openvino",
    .doc = "OpenVINO, CPU plugin",
    .wheel = wheels,
    .reads = reads,
    .borrowed_format = "pytorch",
    .borrowed_from = "torch",
    .find = kiln_bridge_find,
    .open = kiln_bridge_open,
    .run = kiln_asked_run,
};
