/* ncnn, on the CPU, by its Python module. Settings: converted by pnnx at its highest level
 * with weights in float32; Winograd, packed layouts and SGEMM as by default; no half
 * precision of either kind; as many threads as are compared. */
#include "pipeline/baselines/baselines_internal.h"

static const char *const wheels[] = {"numpy", "ncnn", "pnnx", NULL};
static const char *const reads[] = {"onnx", NULL};

const kiln_baseline kiln_baseline_ncnn = {
    .name = "ncnn",
    .doc = "ncnn, on the CPU",
    .wheel = wheels,
    .reads = reads,
    .find = kiln_bridge_find,
    .open = kiln_bridge_open,
    .run = kiln_asked_run,
};
