#include "tests/support/model/weighted_graph.h"

#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"

kiln_graph *kiln_test_weighted_graph(kiln_arena *a, const char *text,
                                     bool (*stays)(const kiln_value *v)) {
    kiln_err err = {.status = KILN_OK};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(kiln_graph_parse(a, kiln_str_from(text), "test", &g, &err),
                          &err);
    size_t n = 0;
    for (size_t i = 0; i < g->inputs.n; i++) {
        kiln_value *v = g->inputs.v[i];
        if (stays(v))
            g->inputs.v[n++] = v;
        else
            v->data = kiln_ref_random(a, &v->type, 7 + i).data;
    }
    g->inputs.n = n;
    kiln_graph_renumber(g);
    return g;
}
