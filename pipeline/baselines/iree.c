/* IREE, compiled ahead for this processor. Settings, after its documentation on CPU
 * deployment: optimisation level 3 with data tiling, the host's features, one thread run in
 * line, more by its task system with as many workers. */
#include "pipeline/baselines/baselines_internal.h"

static const char *const wheels[] = {"numpy", "onnx", "iree-base-compiler",
                                     "iree-base-runtime", NULL};
static const char *const reads[] = {"onnx", NULL};

const kiln_baseline kiln_baseline_iree = {
    .name = "iree",
    .doc = "IREE, compiled for this CPU",
    .wheel = wheels,
    .reads = reads,
    .find = kiln_bridge_find,
    .open = kiln_bridge_open,
    .run = kiln_asked_run,
};
