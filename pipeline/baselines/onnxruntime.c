/* ONNX Runtime, its CPU execution provider. Settings, after its documentation on
 * performance tuning: all graph optimisations, sequential execution, as many threads
 * within an operator as are compared, spinning as by default; inputs and outputs bound
 * once. */
#include "pipeline/baselines/baselines_internal.h"

static const char *const wheels[] = {"numpy", "onnxruntime", NULL};
static const char *const reads[] = {"onnx", NULL};

const kiln_baseline kiln_baseline_onnxruntime = {
    .name = "onnxruntime",
    .doc = "ONNX Runtime, CPU execution provider",
    .wheel = wheels,
    .reads = reads,
    .find = kiln_bridge_find,
    .open = kiln_bridge_open,
    .run = kiln_asked_run,
};
