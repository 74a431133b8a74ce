#include "tests/support/graph/node_run.h"

#include <inttypes.h>
#include <math.h>

kiln_status kiln_test_node_parse(kiln_test_node *t, kiln_arena *a, const char *body,
                                 kiln_err *err) {
    kiln_graph *g;
    *t = (kiln_test_node){.arena = a};
    const char *text = kiln_format(a, "graph \"test\" { %s }", body);
    KILN_TRY(kiln_graph_parse(a, kiln_str_from(text), "test", &g, err));
    assert_int_equal(g->nodes.n, 1);
    t->node = g->nodes.v[0];
    for (int k = 0; k < t->node->n_in; k++) {
        if (t->node->in[k] == NULL)
            continue;
        const kiln_type *type = &t->node->in[k]->type;
        t->native[k] = kiln_ref_random(a, type, kiln_test_seed() + (uint64_t)k);
        t->in[k] = kiln_wide_new(a, type);
        kiln_widen(type, t->native[k].data, &t->in[k]);
    }
    return KILN_OK;
}

void kiln_test_node_run(kiln_test_node *t) {
    kiln_err err = {0};
    kiln_tensor out[KILN_TEST_NODE_OUTS];
    for (int k = 0; k < t->node->n_in; k++) {
        if (t->node->in[k] == NULL)
            continue;
        kiln_narrow(&t->in[k], t->native[k].data);
        kiln_widen(&t->in[k].type, t->native[k].data, &t->in[k]);
    }
    kiln_assert_status_ok(kiln_ref_eval_node(t->arena, t->node, t->native, out, &err),
                          &err);
    for (int k = 0; k < t->node->n_out; k++) {
        t->out[k] = kiln_wide_new(t->arena, &out[k].type);
        kiln_widen(&out[k].type, out[k].data, &t->out[k]);
    }
}

static bool is_same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static double roundoff(kiln_dtype dtype) {
    switch (kiln_dtype_get(dtype)->bytes) {
    case 8:
        return 0x1p-53;
    case 4:
        return 0x1p-24;
    default:
        return dtype == KILN_F16 ? 0x1p-11 : 0x1p-8;
    }
}

static void check_whole(const kiln_wide *y, int64_t i, const kiln_test_element *want) {
    const kiln_dtype dtype = y->type.dtype;
    if (y->f == NULL) {
        if (y->i[i] != kiln_wrap_i64(dtype, (int64_t)want->i))
            fail_msg("element %" PRId64 ": want %" PRId64 ", got %" PRId64, i,
                     kiln_wrap_i64(dtype, (int64_t)want->i), y->i[i]);
        return;
    }
    const double room = roundoff(dtype) * fabs(want->f) + 1e-13 * want->magnitude;
    if (is_same(y->f[i], want->f) || fabs(y->f[i] - want->f) <= room)
        return;
    fail_msg("element %" PRId64 ": want %.17g, got %.17g", i, want->f, y->f[i]);
}

static void check_bound(kiln_dtype dtype, int64_t i, double bound, double picked,
                        const kiln_test_element *want) {
    if (!isfinite(picked)) {
        assert_true(bound == 0);
        return;
    }
    const double most =
        34 * roundoff(dtype) * fabs(want->f) + 1e-4 * want->magnitude + 1e-4;
    if (!(bound >= 0 && bound <= most))
        fail_msg("element %" PRId64 ": bound %g must be in [0, %g]", i, bound, most);
    if (dtype == KILN_F32 && fabs((double)want->narrow - picked) > bound)
        fail_msg("element %" PRId64 ": %.9g in float is more than %g from %.17g", i,
                 (double)want->narrow, bound, picked);
}

void kiln_test_node_check(kiln_test_node *t, kiln_test_element_fn want,
                          const void *user) {
    kiln_err err = {0};
    kiln_test_node_run(t);
    const kiln_wide *y = &t->out[0];
    const int64_t n = kiln_type_elems(&y->type);
    int64_t *pick = kiln_array(t->arena, int64_t, n);
    double *got = kiln_array(t->arena, double, n),
           *bound = kiln_array(t->arena, double, n);
    for (int64_t j = 0; j < n; j++) /* backwards: position and index differ */
        pick[j] = n - 1 - j;
    kiln_assert_status_ok(
        kiln_ref_pick(t->arena, t->node, t->native, pick, n, got, bound, &err), &err);
    for (int64_t j = 0; j < n; j++) {
        const int64_t i = pick[j];
        const kiln_test_element e = want(t, user, i);
        check_whole(y, i, &e);
        if (y->f == NULL) {
            if (fabs(got[j]) < 0x1p53) /* what double holds; picks are not wrapped */
                assert_int_equal(kiln_wrap_i64(y->type.dtype, (int64_t)got[j]),
                                 y->i[i]);
            continue;
        }
        if (!is_same(kiln_round_f64(y->type.dtype, got[j]), y->f[i]))
            fail_msg("element %" PRId64 ": whole %.17g, alone %.17g", i, y->f[i],
                     got[j]);
        check_bound(y->type.dtype, i, bound[j], got[j], &e);
    }
}

void kiln_test_element_add(kiln_test_element *e, const kiln_wide *x, int64_t xi,
                           const kiln_wide *w, int64_t wi) {
    if (x->f == NULL) {
        e->i += (uint64_t)x->i[xi] * (uint64_t)w->i[wi];
        return;
    }
    e->f += x->f[xi] * w->f[wi];
    e->magnitude += fabs(x->f[xi] * w->f[wi]);
    e->narrow += (float)x->f[xi] * (float)w->f[wi];
}

void kiln_test_unravel(int64_t index, int n, const int64_t *dim, int64_t *coord) {
    for (int i = n - 1; i >= 0; i--) {
        coord[i] = index % dim[i];
        index /= dim[i];
    }
}

int64_t kiln_test_ravel(int n, const int64_t *dim, const int64_t *coord) {
    int64_t index = 0;
    for (int i = 0; i < n; i++)
        index = index * dim[i] + coord[i];
    return index;
}

void kiln_test_check_refusal(void **state) {
    const kiln_test_refusal *row = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_test_node t;
    kiln_assert_fails(kiln_test_node_parse(&t, &a, row->body, &err), row->status, &err,
                      row->text);
    kiln_arena_fini(&a);
}

void kiln_test_put_list(kiln_buf *b, const char *name, int n, const int64_t *v) {
    bool is_given = false;
    for (int i = 0; i < n; i++)
        is_given = is_given || v[i] != 0;
    if (!is_given)
        return;
    kiln_buf_printf(b, ", %s=[", name);
    for (int i = 0; i < n; i++)
        kiln_buf_printf(b, "%s%lld", i == 0 ? "" : ",", (long long)v[i]);
    kiln_buf_puts(b, "]");
}
