/* oneDNN 2, Debian's, whatever wheel is here: it has Winograd's convolutions, which version
 * 3 has not on x86-64, and is the faster one there. */
#include "pipeline/baselines/baselines_internal.h"

const kiln_baseline kiln_baseline_onednn2 = {
    .name = "onednn2",
    .doc = "oneDNN 2, the last that has Winograd's convolutions",
    .packages = "libdnnl-dev",
    .program = "kiln-onednn",
    .find = kiln_program_baseline_find,
    .open_op = kiln_program_baseline_open,
    .run = kiln_asked_run,
};
