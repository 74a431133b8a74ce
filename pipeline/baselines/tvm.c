/* Apache TVM, compiled for this processor from ONNX. Settings: what its documentation's
 * pipeline for models of static shapes does (operators decomposed for inference,
 * legalised, constants folded, operators fused) with no trials of tuning, since its tuner
 * does not work in this wheel (README.md); its schedules for processors that need none
 * (dlight: products with a vector, reductions) where they fit; the host's instructions;
 * a pool of as many threads as are compared; inputs set once. */
#include "pipeline/baselines/baselines_internal.h"

static const char *const wheels[] = {"numpy", "onnx", "apache-tvm", NULL};
static const char *const reads[] = {"onnx", NULL};

const kiln_baseline kiln_baseline_tvm = {
    .name = "tvm",
    .doc = "Apache TVM, untuned",
    .wheel = wheels,
    .is_by_name = true,
    .reads = reads,
    .find = kiln_bridge_find,
    .open = kiln_bridge_open,
    .run = kiln_asked_run,
};
