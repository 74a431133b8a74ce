/* LiteRT, TensorFlow Lite's successor, on processors. Settings, after its documentation
 * on CPU inference: its XNNPACK delegate, which the interpreter applies by itself to what
 * that can run, quantised operators included; the delegate and the interpreter's own
 * kernels have as many threads as are compared; inputs filled once. It alters no model
 * and no precision: weights of 16 bits are widened when it is made ready. */
#include "pipeline/baselines/baselines_internal.h"

static const char *const wheels[] = {"numpy", "ai-edge-litert", NULL};
static const char *const reads[] = {"tflite", NULL};

const kiln_baseline kiln_baseline_litert = {
    .name = "litert",
    .doc = "LiteRT, XNNPACK delegate",
    .wheel = wheels,
    .reads = reads,
    .find = kiln_bridge_find,
    .open = kiln_bridge_open,
    .run = kiln_asked_run,
};
