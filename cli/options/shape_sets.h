/* Several shapes of one model: --shape x:1x3x224x224 --shape x:8x3x224x224. */
#ifndef KILN_CLI_SHAPE_SETS_H
#define KILN_CLI_SHAPE_SETS_H

#include "cli/cli.h"

/* The command's words once for each set of shapes: of an input that is given several, the
 * k-th goes with the k-th of the others; one that is given once goes with all. One set
 * where no input is given several. KILN_ERR_ARG: inputs have different numbers of
 * shapes. */
kiln_status kiln_cli_shape_sets(const kiln_cli_args *args, int opt_shape, int n_options,
                                kiln_cli_args **out, size_t *n, kiln_err *err);

#endif
