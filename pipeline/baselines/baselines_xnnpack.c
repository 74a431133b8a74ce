/* XNNPACK, by its C interface in a program of its own (library/library_xnnpack.c says how it is
 * set up). */
#include "pipeline/baselines/baselines_internal.h"

const kiln_baseline kiln_baseline_xnnpack = {
    .name = "xnnpack",
    .doc = "XNNPACK, single operators with what it fuses behind them",
    .packages = "libxnnpack-dev libpthreadpool-dev",
    .find = kiln_program_baseline_find,
    .open_op = kiln_program_baseline_open,
    .run = kiln_asked_run,
};
