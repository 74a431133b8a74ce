/* pipeline/reduce: a small graph for which kiln still fails as it did for a large one.
 *
 * Delta debugging (Zeller, Hildebrandt: Simplifying and isolating failure-inducing
 * input, IEEE TSE 28(2), 2002) over graphs: nodes, outputs, shapes, attributes and
 * constants go as long as `kiln build` of what is left, in a process of its own, ends
 * as it did before. The order of candidates follows from the graph alone.
 */
#ifndef KILN_PIPELINE_REDUCE_H
#define KILN_PIPELINE_REDUCE_H

#include "base/base.h"
#include "compiler/graph/graph.h"

/* What is left so far. */
typedef struct kiln_reduce_state {
    size_t n_nodes;  /* regions' included */
    int64_t n_elems; /* of all values */
    int n_asked;     /* candidates that were built */
    double seconds;  /* since the start */
} kiln_reduce_state;

typedef struct kiln_reduce_options {
    const char *const *option; /* of `kiln build`, in order: "--profile", "native", ...
                                */
    size_t n_options;
    const char *expect;  /* what stderr must hold for a failure to be this one; NULL:
                            what the first failure's says about its kind */
    double seconds;      /* of all; 0: 60 */
    double case_seconds; /* of one candidate, 0: 30; one that takes longer did not fail
                          */
    int max_asked;       /* candidates; 0: 5000 */
    void (*progress)(void *user, const kiln_reduce_state *s); /* may be NULL */
    void *user;
} kiln_reduce_options;

typedef struct kiln_reduced {
    bool is_reproduced;  /* false: the graph does not fail by itself, nothing is here */
    bool is_finished;    /* false: time, candidates or Ctrl-C ended it before it was
                            smallest */
    const char *message; /* what the failing build says, one line */
    kiln_reduce_state state;
    kiln_str text; /* the graph, printed; constants that do not matter are random */
} kiln_reduced;

/* `imported`: before the passes. Values of large constants are kept only where the
 * failure needs them. KILN_ERR_LIMIT where it needs more than text can hold. */
kiln_status kiln_reduce(kiln_arena *a, const kiln_graph *imported,
                        const kiln_reduce_options *o, kiln_reduced *out, kiln_err *err);
/* The graph with a comment in front that says how to see the failure: at `path`, whole
 * or not at all. */
kiln_status kiln_reduced_write(const kiln_reduced *r, const kiln_reduce_options *o,
                               const char *path, kiln_err *err);
/* The command line that shows it. In the arena. */
const char *kiln_reduced_command(kiln_arena *a, const kiln_reduce_options *o,
                                 const char *path);

#endif
