/* The options of kiln explain, which two files read. */
#ifndef KILN_CLI_VERB_EXPLAIN_H
#define KILN_CLI_VERB_EXPLAIN_H

#include "cli/cli.h"

enum kiln_explain_option {
    OPT_OP,
    OPT_OPS,
    OPT_STAGE,
    OPT_KNOBS,
    OPT_PROFILE,
    OPT_TEMPLATE,
    OPT_CONFIG_FILE,
    OPT_SCHEDULE,
    OPT_STEP,
    OPT_MODEL,
    OPT_RESULTS,
    OPT_DB,
    OPT_NO_READY,
    OPT_NO_PREDICT,
    OPT_THREADS,
    OPT_NUMERICS,
    OPT_SHAPE,
    OPT_BIND,
    OPT_SIGNATURE,
    OPT_STATE,
    OPT_ROUNDING,
    OPT_JSON,
    N_OPTIONS
};

/* A package, or a model as it would be built: its steps, or one of them. */
kiln_status kiln_cli_explain_shipped(const kiln_cli_args *args,
                                     const kiln_option *option, kiln_err *err);

#endif
