/* A small example of what kiln does wrong: the verb's work, for verbs that find it. */
#ifndef KILN_CLI_VERB_REDUCE_H
#define KILN_CLI_VERB_REDUCE_H

#include "cli/cli.h"
#include "compiler/graph/graph.h"

typedef struct kiln_reduce_to {
    const char *path; /* of the example */
    const char *profile;
    const int *same; /* options of the verb that `kiln build` gets as well */
    size_t n_same;
    double seconds;
    const char *expect; /* as of kiln_reduce_options; may be NULL */
} kiln_reduce_to;

/* Reduces and says on stderr how far it is, and where the example is or why there is
 * none: what the verb failed with stays its answer. `option` is the verb's table. */
void kiln_cli_leave_reproducer(const kiln_cli_args *args, const kiln_option *option,
                               const kiln_graph *imported, const kiln_reduce_to *to);

#endif
