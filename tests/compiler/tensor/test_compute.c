/* What operators compute as tensor expressions is what the reference computes: for the
 * graph of every golden operator file, in row-major and in random layouts, by
 * evaluating the stages, by interpreting the loop program of the default schedule, and
 * once more after all loop passes.
 *
 * An element may differ by what the operator's error bound allows. Extern stages have
 * no expression to evaluate: only their loop programs are run. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/reference/reference.h"
#include "compiler/schedule/schedule.h"
#include "compiler/tensor/compute.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random_layout.h"

#define FOLDER "tests/compiler/graph/golden/op"

enum {
    N_LAYOUTS = 3, /* random ones, beside row-major */
    /* Operators that make no kernel: control flow, and what follows from types. */
    N_WITHOUT = 4
};

/* One operator's graph and what the reference says. */
typedef struct example {
    kiln_arena *a;
    kiln_graph *g;
    kiln_tensor *want;       /* of each output */
    double **value, **bound; /* unrounded, and how far off; NULL: integers, exact */
    bool trust_tails;
    const char *how; /* what is being tried, for messages */
} example;

/* ---- what is wanted -------------------------------------------------------------- */

static double half_ulp(kiln_dtype dtype, double v) {
    int exponent = 0;
    (void)frexp(v, &exponent);
    return ldexp(0.5, exponent - kiln_dtype_get(dtype)->mantissa_bits);
}

/* Outputs behind the first: bounds in units in the last place. */
static void bounds_of_later(const kiln_node *n, const kiln_tensor *t, double *value,
                            double *bound) {
    const kiln_bound b = n->op->error_bound(n);
    kiln_wide w = kiln_wide_new(kiln_test_arena(), &t->type);
    kiln_widen(&t->type, t->data, &w);
    for (int64_t i = 0; i < kiln_type_elems(&t->type); i++) {
        value[i] = w.f[i];
        bound[i] = 0;
        if (isfinite(w.f[i]) && b.kind == KILN_BOUND_ULP)
            bound[i] = fmax((2 * b.c + 1) * half_ulp(t->type.dtype, w.f[i]),
                            b.floor * 0x1p-24);
    }
}

static void bounds_of(const example *x, const kiln_value *v, const kiln_tensor *want,
                      double **value, double **bound) {
    const kiln_node *n = v->def;
    const int64_t n_elems = kiln_type_elems(&v->type);
    kiln_err err = {0};
    *value = *bound = NULL;
    if (n == NULL || !kiln_dtype_is_float(v->type.dtype))
        return;
    *value = kiln_array(x->a, double, n_elems);
    *bound = kiln_array(x->a, double, n_elems);
    kiln_tensor *in = kiln_array(x->a, kiln_tensor, n->n_in);
    int64_t *pick = kiln_array(x->a, int64_t, n_elems);
    bool from_constants = true;
    for (int i = 0; i < n->n_in; i++) {
        if (n->in[i] == NULL)
            continue;
        from_constants = from_constants && n->in[i]->data != NULL;
        in[i] = (kiln_tensor){n->in[i]->type, (void *)(uintptr_t)n->in[i]->data};
    }
    if (v->def_index > 0 || !from_constants) {
        bounds_of_later(n, want, *value, *bound);
        return;
    }
    for (int64_t i = 0; i < n_elems; i++)
        pick[i] = i;
    kiln_assert_status_ok(
        kiln_ref_pick(x->a, n, in, pick, n_elems, *value, *bound, &err), &err);
}

static void example_init(example *x, kiln_arena *a, const kiln_op_def *op) {
    kiln_err err = {0};
    kiln_test_golden golden;
    const char *path = kiln_format(a, FOLDER "/%s.txt", op->name);
    *x = (example){.a = a};
    kiln_test_golden_read(path, &golden);
    kiln_assert_status_ok(kiln_graph_parse(a, golden.input, path, &x->g, &err), &err);
    const size_t n = x->g->outputs.n;
    x->want = kiln_array(a, kiln_tensor, n);
    x->value = kiln_array(a, double *, n);
    x->bound = kiln_array(a, double *, n);
    kiln_assert_status_ok(kiln_ref_run(a, x->g, NULL, 0, x->want, &err), &err);
    for (size_t i = 0; i < n; i++)
        bounds_of(x, x->g->outputs.v[i], &x->want[i], &x->value[i], &x->bound[i]);
}

/* ---- comparing ------------------------------------------------------------------- */

static bool is_close(double got, double want, double bound) {
    if (isnan(want))
        return isnan(got);
    return got == want || fabs(got - want) <= bound || bound == HUGE_VAL;
}

static void check_output(const example *x, size_t k, const kiln_wide *got) {
    const kiln_type *t = &x->want[k].type;
    kiln_wide want = kiln_wide_new(x->a, t);
    kiln_widen(t, x->want[k].data, &want);
    for (int64_t i = 0; i < kiln_type_elems(t); i++) {
        if (want.f != NULL && x->value[k] != NULL) {
            if (!is_close(got->f[i], x->value[k][i], x->bound[k][i]))
                fail_msg("%s: '%s' element %" PRId64
                         " must be %.9g within %.3g, is %.9g",
                         x->how, x->g->output_names.v[k], i, x->value[k][i],
                         x->bound[k][i], got->f[i]);
        } else if (want.f != NULL ? !is_close(got->f[i], want.f[i], 0)
                                  : got->i[i] != want.i[i]) {
            fail_msg("%s: '%s' element %" PRId64 " must be %.9g, is %.9g", x->how,
                     x->g->output_names.v[k], i,
                     want.f != NULL ? want.f[i] : (double)want.i[i],
                     want.f != NULL ? got->f[i] : (double)got->i[i]);
        }
    }
}

/* Elements of a packed tensor as one axis: layouts may have more axes than types. */
static kiln_type flat(const kiln_type *t) {
    const int64_t n = kiln_type_stored_elems(t);
    return kiln_type_make(t->dtype, 1, &n);
}

/* Elements in place, tail lanes zero; where they are trusted, zero times an infinity
 * may stand in them. */
static void check_packed(const example *x, size_t k, const kiln_type *t,
                         const void *packed) {
    const kiln_type plain = kiln_type_make(t->dtype, t->rank, t->dim), all = flat(t);
    kiln_tensor out = kiln_tensor_new(x->a, &plain), again = kiln_tensor_new(x->a, t);
    kiln_wide w = kiln_wide_new(x->a, &plain);
    kiln_wide got = kiln_wide_new(x->a, &all), want = kiln_wide_new(x->a, &all);
    kiln_layout_unpack(t, packed, out.data);
    kiln_widen(&plain, out.data, &w);
    check_output(x, k, &w);
    kiln_layout_pack(t, out.data, again.data);
    kiln_widen(&all, packed, &got);
    kiln_widen(&all, again.data, &want);
    for (int64_t i = 0; i < all.dim[0]; i++)
        if (got.f != NULL ? !is_close(got.f[i], want.f[i], 0) &&
                                !(x->trust_tails && isnan(got.f[i]))
                          : got.i[i] != want.i[i])
            fail_msg("%s: tail lanes of '%s' must be zero", x->how,
                     x->g->output_names.v[k]);
}

/* ---- running --------------------------------------------------------------------- */

static bool has_extern(const kiln_te_graph *c, kiln_arena *a) {
    size_t n = 0;
    const kiln_te **te =
        kiln_te_topo(a, c->arg + c->n_inputs, c->n_args - c->n_inputs, &n);
    for (size_t i = 0; i < n; i++)
        if (te[i]->kind == KILN_TE_EXTERN)
            return true;
    return false;
}

static void evaluate(const example *x, const kiln_te_graph *c, void *const *arg) {
    kiln_arena *a = x->a;
    kiln_err err = {0};
    size_t n = 0, n_in = 0;
    const kiln_te *const *outs = c->arg + c->n_inputs;
    const kiln_te **te = kiln_te_topo(a, outs, c->n_args - c->n_inputs, &n);
    kiln_wide *in = kiln_array(a, kiln_wide, c->n_inputs);
    kiln_wide *out = kiln_array(a, kiln_wide, c->n_args - c->n_inputs);
    for (size_t s = 0; s < n; s++)
        for (size_t i = 0; i < c->n_inputs; i++) {
            if (te[s] != c->arg[i])
                continue;
            const kiln_type t = flat(&c->arg_type[i]);
            in[n_in] = kiln_wide_new(a, &t);
            kiln_widen(&t, arg[i], &in[n_in++]);
        }
    kiln_assert_status_ok(
        kiln_te_eval(a, outs, c->n_args - c->n_inputs, in, n_in, out, &err), &err);
    for (size_t i = c->n_inputs; i < c->n_args; i++) {
        const kiln_type t = flat(&c->arg_type[i]);
        kiln_tensor packed = kiln_tensor_new(a, &t);
        kiln_narrow(&out[i - c->n_inputs], packed.data);
        check_packed(x, i - c->n_inputs, &c->arg_type[i], packed.data);
    }
}

static void interpret(const example *x, const kiln_te_graph *c, const kiln_program *p,
                      void *const *arg) {
    kiln_err err = {0};
    for (size_t i = c->n_inputs; i < c->n_args; i++)
        memset(arg[i], 0xFF, (size_t)kiln_type_bytes(&c->arg_type[i]));
    kiln_assert_status_ok(kiln_program_run(x->a, p, arg, NULL, &err), &err);
    for (size_t i = c->n_inputs; i < c->n_args; i++)
        check_packed(x, i - c->n_inputs, &c->arg_type[i], arg[i]);
}

static void lower_and_run(example *x, const kiln_te_graph *c, void *const *arg,
                          const char *how) {
    kiln_err err = {0};
    kiln_program *p = NULL;
    const kiln_schedule *s =
        kiln_schedule_new(x->a, c->arg + c->n_inputs, c->n_args - c->n_inputs);
    kiln_assert_status_ok(
        kiln_lower(x->a, s, c->arg, c->n_args, c->n_inputs, "f", &p, &err), &err);
    kiln_assert_status_ok(kiln_program_verify(p, &err), &err);
    x->how = kiln_format(x->a, "%s, lowered", how);
    interpret(x, c, p, arg);
    kiln_assert_status_ok(kiln_program_optimize(p, NULL, &err), &err);
    x->how = kiln_format(x->a, "%s, optimised", how);
    interpret(x, c, p, arg);
}

static void try_layouts(example *x, const kiln_layout *layout, bool trust_tails,
                        const char *how) {
    kiln_arena *a = x->a;
    kiln_te_graph c;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_graph_compute(a, x->g, layout, trust_tails, &c, &err),
                          &err);
    x->trust_tails = trust_tails;
    void **arg = kiln_array(a, void *, c.n_args);
    for (size_t i = 0; i < c.n_args; i++) {
        arg[i] = kiln_tensor_new(a, &c.arg_type[i]).data;
        if (i < c.n_inputs)
            kiln_layout_pack(&c.arg_type[i], c.arg_value[i]->data, arg[i]);
    }
    x->how = kiln_format(a, "%s, evaluated", how);
    if (getenv("KILN_SHOW") != NULL) {
        kiln_buf b;
        kiln_buf_init(&b, a);
        kiln_te_print(&b, c.arg + c.n_inputs, c.n_args - c.n_inputs);
        print_message("%s\n", b.p);
    }
    if (!has_extern(&c, a))
        evaluate(x, &c, arg);
    lower_and_run(x, &c, arg, how);
}

/* ---- rows ------------------------------------------------------------------------ */

static void computes_what_the_reference_does(void **state) {
    const kiln_op_def *op = *state;
    kiln_arena a;
    kiln_rng rng;
    example x;
    kiln_arena_init(&a);
    kiln_rng_init(&rng, kiln_hash64(op->name, strlen(op->name), kiln_test_seed()));
    example_init(&x, &a, op);
    try_layouts(&x, NULL, false, "row-major");
    for (int i = 0; i < N_LAYOUTS; i++) {
        kiln_layout *l = kiln_array(&a, kiln_layout, x.g->values.n);
        kiln_buf text;
        kiln_buf_init(&text, &a);
        for (size_t v = 0; v < x.g->values.n; v++) {
            kiln_type t = x.g->values.v[v]->type;
            t.layout = l[v] = random_layout(&rng, t.rank);
            kiln_buf_printf(&text, "%s %s; ", x.g->values.v[v]->name,
                            kiln_type_text(&a, &t));
        }
        try_layouts(&x, l, i % 2 == 1,
                    kiln_format(&a, "%s%s", text.p, i % 2 == 1 ? "tails trusted" : ""));
    }
    kiln_arena_fini(&a);
}

/* Adding an operator without a tensor expression is a decision: it changes a number
 * here. */
static void few_operators_have_none(void **state) {
    (void)state;
    int n = 0;
    kiln_buf names;
    kiln_buf_init(&names, kiln_test_arena());
    for (int i = 0; i < (int)KILN_N_OPS; i++) {
        if (kiln_op_at(i)->compute != NULL)
            continue;
        kiln_buf_printf(&names, " %s", kiln_op_at(i)->name);
        n++;
    }
    print_message("without a tensor expression:%s\n", names.p);
    assert_int_equal(n, N_WITHOUT);
}

int main(void) {
    kiln_test_add("few_operators_have_none", few_operators_have_none, NULL);
    for (int i = 0; i < (int)KILN_N_OPS; i++)
        if (kiln_op_at(i)->compute != NULL)
            kiln_test_add(kiln_op_at(i)->name, computes_what_the_reference_does,
                          (void *)(uintptr_t)kiln_op_at(i));
    return kiln_test_run("compute");
}
