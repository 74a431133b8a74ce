/* Shared by kiln tune's files: its options, and the part that hands the work to a
 * scheduler. */
#ifndef KILN_CLI_VERB_TUNE_H
#define KILN_CLI_VERB_TUNE_H

#include "cli/cli.h"
#include "compiler/target/target.h"

enum {
    OPT_OPS,
    OPT_OP,
    OPT_TRIALS,
    OPT_TIME,
    OPT_NO_EARLY_END,
    OPT_THREADS,
    OPT_RUNNER,
    OPT_POOL,
    OPT_DEVICES,
    OPT_PRIORITY,
    OPT_PROFILE,
    OPT_NUMERICS,
    OPT_DB,
    OPT_NO_READY,
    OPT_TEMPLATE,
    OPT_SEARCH,
    OPT_MODEL,
    OPT_HINTS,
    OPT_NO_TRANSFER,
    OPT_SEED,
    OPT_SHAPE,
    OPT_BIND,
    OPT_SIGNATURE,
    OPT_STATE,
    OPT_ROUNDING,
    OPT_JSON,
    OPT_DISPATCH,
    OPT_TUNERS,
    OPT_DISPATCH_OPTION,
    OPT_FOLDER,
    OPT_NO_WAIT,
    OPT_SHARD,
    OPT_AS,
    OPT_KEY,
    N_OPTIONS
};

/* `option` is the verb's table. Submits, and waits unless --no-wait is given; the answer
 * is the last tuner's, behind what became of all. */
kiln_status kiln_cli_tune_dispatch(const kiln_cli_args *args, const kiln_option *option,
                                   const kiln_profile *kernels, double seconds,
                                   kiln_err *err);
/* What the database's records of a profile go by. */
void kiln_cli_tune_key(const kiln_profile *kernels, char hex[KILN_SHA256_HEX]);

#endif
