/* What a search over layouts would like to have measured: of what hangs on estimates in
 * the choices that look best, and in the greedy ones beside them. Whoever measures asks
 * again, until nothing is wished for: what is never in a best choice is never measured
 * (as LazySP asks for edges of shortest paths: Dellin and Srinivasa, ICAPS'16). */
#ifndef KILN_COMPILER_NETWORK_WISHES_H
#define KILN_COMPILER_NETWORK_WISHES_H

#include "compiler/network/executable.h"

typedef struct kiln_net_wish {
    const char *workload; /* kiln_workload_key, whole */
    const char *tmpl;
    const char
        *config; /* in the layouts that are wished for, as the template's rule has
                           it otherwise; JSON */
    bool is_conversion; /* then of a value of `type`, row-major here */
    kiln_type type;
    double calls; /* in one run of the network */
} kiln_net_wish;

typedef struct kiln_net_wishes {
    KILN_VEC(kiln_net_wish) list; /* different ones, in order of the steps */
    /* Expected, if wishes come out a little better than estimates. */
    double greedy_ns, search_ns;
} kiln_net_wishes;

/* Of a graph that has been through the passes; o->oracle says what is known. Texts live
 * in `a`. Failures as kiln_compile's. */
kiln_status kiln_network_wishes(kiln_arena *a, const kiln_graph *g,
                                const kiln_profile *p, const kiln_choose_options *o,
                                kiln_net_wishes *out, kiln_err *err);

#endif
