/* MNN, its CPU backend. Settings: the model converted with its defaults, which fuse and
 * fold; high precision, which is float32; as many threads as are compared; the session's
 * tensors filled once. */
#include "pipeline/baselines/baselines_internal.h"

static const char *const wheels[] = {"numpy", "mnn", NULL};
static const char *const reads[] = {"onnx", NULL};

const kiln_baseline kiln_baseline_mnn = {
    .name = "mnn",
    .doc = "MNN, CPU backend",
    .wheel = wheels,
    .reads = reads,
    .find = kiln_bridge_find,
    .open = kiln_bridge_open,
    .run = kiln_asked_run,
};
