/* PyTorch on processors, which runs its own files as they are: programs of torch.export
 * and TorchScript. Settings, after its documentation on inference: a program is compiled
 * by torch.compile (inductor) with parameters frozen and calls from C++, and traced as
 * TorchScript, frozen and optimised for inference; what is faster in a short trial is what
 * is compared, and is named. A TorchScript file has the latter way alone. As many threads
 * within an operator as are compared, one between them, no gradients, and products of
 * float32 in float32. */
#include "pipeline/baselines/baselines_internal.h"

static const char *const wheels[] = {"numpy", "torch", NULL};
static const char *const reads[] = {"pytorch", NULL};

const kiln_baseline kiln_baseline_torch = {
    .name = "torch",
    .doc = "PyTorch, inductor or frozen TorchScript",
    .wheel = wheels,
    .is_by_name = true,
    .reads = reads,
    .find = kiln_bridge_find,
    .open = kiln_bridge_open,
    .run = kiln_asked_run,
};
