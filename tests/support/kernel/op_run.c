#include "tests/support/kernel/op_run.h"

#include <inttypes.h>
#include <math.h>

static kiln_tensor make(kiln_arena *a, const kiln_test_tensor *t) {
    const kiln_type type = kiln_type_make(t->dtype, t->rank, t->dim);
    const int64_t n_elems = kiln_type_elems(&type);
    assert_true(n_elems <= KILN_TEST_ELEMS);
    kiln_wide w = kiln_wide_new(a, &type);
    for (int64_t k = 0; k < n_elems; k++)
        if (w.f != NULL)
            w.f[k] = t->f[k];
        else
            w.i[k] = t->i[k];
    const kiln_tensor out = kiln_tensor_new(a, &type);
    kiln_narrow(&w, out.data);
    return out;
}

static kiln_status build(kiln_arena *a, const kiln_test_op_row *row, kiln_tensor *in,
                         kiln_node **node, kiln_err *err) {
    kiln_graph *g = kiln_graph_new(a, "test");
    kiln_value *values[KILN_TEST_INS] = {NULL};
    kiln_node_spec spec = {
        .op = row->op, .in = values, .args = row->args, .n_out = row->n_out};
    for (int k = 0; k < KILN_TEST_INS; k++) {
        if (!row->in[k].is_given)
            continue;
        in[k] = make(a, &row->in[k]);
        values[k] = kiln_graph_add_input(g, "x", &in[k].type);
        spec.n_in = k + 1;
    }
    while (spec.n_args < KILN_TEST_ARGS && row->args[spec.n_args].name != NULL)
        spec.n_args++;
    return kiln_graph_add_node(g, &spec, node, err);
}

static void check_double(const char *what, int64_t at, double got, double want,
                         double rel) {
    const bool is_good = (isnan(got) && isnan(want)) ||
                         (got == want && !signbit(got) == !signbit(want)) ||
                         (isfinite(want) && fabs(got - want) <= rel * fabs(want));
    if (!is_good)
        fail_msg("%s %" PRId64 ": want %a (%g), got %a (%g)", what, at, want, want, got,
                 got);
}

static void check_elements(kiln_arena *a, const kiln_test_op_row *row,
                           const kiln_test_tensor *literal, const kiln_tensor *got) {
    const kiln_tensor want = make(a, literal);
    assert_string_equal(kiln_type_text(a, &got->type), kiln_type_text(a, &want.type));
    kiln_wide g = kiln_wide_new(a, &got->type), w = kiln_wide_new(a, &want.type);
    kiln_widen(&got->type, got->data, &g);
    kiln_widen(&want.type, want.data, &w);
    for (int64_t k = 0; k < kiln_type_elems(&got->type); k++)
        if (g.f != NULL)
            check_double("element", k, g.f[k], w.f[k], row->rel);
        else if (g.i[k] != w.i[k])
            fail_msg("element %" PRId64 ": want %" PRId64 ", got %" PRId64, k, w.i[k],
                     g.i[k]);
}

/* Elements picked in reverse order, so that position and index differ. */
static void check_picks(kiln_arena *a, const kiln_node *n, const kiln_tensor *in,
                        const kiln_tensor *whole) {
    const int64_t n_elems = kiln_type_elems(&whole->type);
    const kiln_dtype dtype = whole->type.dtype;
    int64_t pick[KILN_TEST_ELEMS];
    double got[KILN_TEST_ELEMS], bound[KILN_TEST_ELEMS];
    for (int64_t k = 0; k < n_elems; k++)
        pick[k] = n_elems - 1 - k;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_ref_pick(a, n, in, pick, n_elems, got, bound, &err),
                          &err);
    kiln_wide w = kiln_wide_new(a, &whole->type);
    kiln_widen(&whole->type, whole->data, &w);
    for (int64_t k = 0; k < n_elems; k++) {
        assert_true(bound[k] >= 0);
        if (w.f != NULL)
            check_double("picked", pick[k], kiln_round_f64(dtype, got[k]), w.f[pick[k]],
                         0);
        else if (fabs(got[k]) < 0x1p53) /* what double holds; picks are not wrapped */
            assert_int_equal(kiln_wrap_i64(dtype, (int64_t)got[k]), w.i[pick[k]]);
    }
}

/* What the node computes. */
static void check_run(kiln_arena *a, const kiln_test_op_row *row, const kiln_node *node,
                      const kiln_tensor *in) {
    kiln_tensor out[KILN_TEST_OUTS] = {{.data = NULL}};
    kiln_err err = {0};
    assert_in_range(node->n_out, 1, KILN_TEST_OUTS);
    const kiln_status st = kiln_ref_eval_node(a, node, in, out, &err);
    if (row->is_late) {
        kiln_assert_fails(st, row->fails, &err, row->text);
        return;
    }
    kiln_assert_status_ok(st, &err);
    check_elements(a, row, &row->want, &out[0]);
    if (row->also.is_given)
        check_elements(a, row, &row->also, &out[1]);
    if (node->op->can_pick)
        check_picks(a, node, in, &out[0]);
}

void kiln_test_check_op(void **state) {
    const kiln_test_op_row *row = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_tensor in[KILN_TEST_INS] = {{.data = NULL}};
    kiln_node *node = NULL;
    const kiln_status st = build(&a, row, in, &node, &err);
    if (row->fails != KILN_OK && !row->is_late) {
        kiln_assert_fails(st, row->fails, &err, row->text);
    } else {
        kiln_assert_status_ok(st, &err);
        check_run(&a, row, node, in);
    }
    kiln_arena_fini(&a);
}
