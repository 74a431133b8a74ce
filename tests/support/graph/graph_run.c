#include "tests/support/graph/graph_run.h"

#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"

#include <math.h>

void kiln_test_counted(kiln_arena *a, const kiln_graph *g, double less,
                       const char *shape, const double *want, int64_t most) {
    kiln_err err = {0};
    float x[KILN_TEST_COUNTED];
    kiln_tensor in[2] = {{.data = x}, {.data = x}}, out[1];
    for (int i = 0; i < KILN_TEST_COUNTED; i++)
        x[i] = (float)((double)i - less);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    assert_true(g->inputs.n <= 2 && g->outputs.n == 1);
    for (size_t i = 0; i < g->inputs.n; i++) {
        in[i].type = g->inputs.v[i]->type;
        assert_true(kiln_type_elems(&in[i].type) <= KILN_TEST_COUNTED);
    }
    kiln_assert_status_ok(kiln_ref_run(a, g, in, g->inputs.n, out, &err), &err);
    const kiln_type *const t = &out[0].type;
    assert_string_equal(kiln_shape_text(a, t->rank, t->dim), shape);
    const int64_t n = kiln_type_elems(t);
    assert_true(n <= most);
    for (int64_t i = 0; i < n; i++) {
        const double got = (double)((const float *)out[0].data)[i];
        if (!(fabs(got - want[i]) <= 1e-5))
            fail_msg("element %lld must be %g, is %g", (long long)i, want[i], got);
    }
}
