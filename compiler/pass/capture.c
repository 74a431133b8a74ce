/* Constants that regions capture: a region that has them as its own folds what depends
 * on them, and whoever compiles it packs them. */
#include "compiler/pass/pass_internal.h"

bool kiln_capture_constants(kiln_sweep *s, kiln_node *n, size_t attr) {
    kiln_graph *region = n->attr[attr].graph;
    size_t of_node = 0, of_region = 0;
    n->op->captures(n, attr, &of_node, &of_region);
    size_t kept = of_region;
    for (size_t i = of_region; i < region->inputs.n; i++) {
        kiln_value *v = region->inputs.v[i];
        const size_t at = of_node + (kept - of_region);
        const kiln_value *given = n->in[at];
        if (!kiln_value_is_const(given)) {
            region->inputs.v[kept++] = v;
            continue;
        }
        v->data = given->data;
        kiln_sweep_remove_in(s, n, (int)at);
    }
    const bool found = kept < region->inputs.n;
    region->inputs.n = kept;
    return found;
}
