/* oneDNN, by its C interface in a program of its own (library/onednn.c says how it is
 * set up). */
#include "pipeline/baselines/baselines_internal.h"

const kiln_baseline kiln_baseline_onednn = {
    .name = "onednn",
    .doc = "oneDNN, single operators with what it fuses behind them",
    .packages = "libdnnl-dev",
    .find = kiln_program_baseline_find,
    .open_op = kiln_program_baseline_open,
    .run = kiln_asked_run,
};
