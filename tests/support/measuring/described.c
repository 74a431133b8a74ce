#include "tests/support/measuring/described.h"
#include "pipeline/kernels/kernels_internal.h"
#include "pipeline/kernels/op_line.h"
#include "compiler/reference/reference.h"

kiln_status kiln_test_describe(const char *line, kiln_test_described *out,
                               kiln_err *err) {
    kiln_arena *a = kiln_test_arena();
    kiln_op_line parsed;
    kiln_assert_status_ok(kiln_op_line_of(a, line, &parsed, err), err);
    kiln_assert_status_ok(kiln_op_work_make(a, &parsed, &out->work, err), err);
    const kiln_graph *g = out->work.graph;
    out->plain = kiln_array(a, kiln_tensor, g->values.n);
    for (size_t i = 0; i < g->values.n; i++) {
        const kiln_value *v = g->values.v[i];
        if (v->data != NULL)
            out->plain[i] =
                (kiln_tensor){.type = v->type, .data = (void *)(uintptr_t)v->data};
        else if (v->def == NULL)
            out->plain[i] = kiln_ref_random(a, &v->type, kiln_test_seed() + i);
    }
    return kiln_library_op_of(g, out->work.workload.anchor, out->plain, &out->op, err);
}

void kiln_test_described_compare(const kiln_test_described *d, const kiln_tensor *out) {
    kiln_arena *a = kiln_test_arena();
    kiln_expected want;
    kiln_verdict v = {.ok = true, .problem = ""};
    kiln_err err = {.status = KILN_OK};
    kiln_assert_status_ok(kiln_expect(a, d->work.graph, d->work.workload.anchor,
                                      d->plain, 1, kiln_test_seed(), &want, &err),
                          &err);
    kiln_expected_compare(a, &want, out, "y", &v);
    if (!v.ok)
        fail_msg("%s", v.problem);
    assert_int_equal(v.n_checked, kiln_type_elems(&d->op.out));
}
