#include "tests/support/kernel/compute_case.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "compiler/schedule/schedule.h"
#include "tests/support/graph/random_layout.h"

/* ---- what is wanted -------------------------------------------------------------- */

static double half_ulp(kiln_dtype dtype, double v) {
    int exponent = 0;
    (void)frexp(v, &exponent);
    return ldexp(0.5, exponent - kiln_dtype_get(dtype)->mantissa_bits);
}

/* Outputs behind the first, and those behind other nodes: bounds in units in the last
 * place around the rounded value. */
static void bounds_by_ulp(kiln_arena *a, const kiln_node *n, const kiln_tensor *t,
                          double *value, double *bound) {
    const kiln_bound b = n->op->error_bound(n);
    kiln_wide w = kiln_wide_new(a, &t->type);
    kiln_widen(&t->type, t->data, &w);
    for (int64_t i = 0; i < kiln_type_elems(&t->type); i++) {
        value[i] = w.f[i];
        bound[i] = 0;
        if (isfinite(w.f[i]) && b.kind == KILN_BOUND_ULP)
            bound[i] = fmax((2 * b.c + 1) * half_ulp(t->type.dtype, w.f[i]),
                            b.floor * 0x1p-24);
    }
}

/* The tensor of a value that no node makes; data NULL: a node makes it. */
static kiln_tensor given(const compute_case *c, const kiln_value *v) {
    for (size_t i = 0; i < c->g->inputs.n; i++)
        if (c->g->inputs.v[i] == v)
            return c->in[i];
    return (kiln_tensor){v->type, (void *)(uintptr_t)v->data};
}

static kiln_status bounds_of(kiln_arena *a, const compute_case *c, size_t k,
                             kiln_err *err) {
    const kiln_value *v = c->g->outputs.v[k];
    const kiln_node *n = v->def;
    const int64_t n_elems = kiln_type_elems(&v->type);
    if (n == NULL || !kiln_dtype_is_float(v->type.dtype))
        return KILN_OK;
    c->value[k] = kiln_array(a, double, n_elems);
    c->bound[k] = kiln_array(a, double, n_elems);
    kiln_tensor *in = kiln_array(a, kiln_tensor, n->n_in);
    int64_t *pick = kiln_array(a, int64_t, n_elems);
    bool is_first = v->def_index == 0;
    for (int i = 0; i < n->n_in; i++) {
        if (n->in[i] == NULL)
            continue;
        in[i] = given(c, n->in[i]);
        is_first = is_first && in[i].data != NULL;
    }
    if (!is_first) {
        bounds_by_ulp(a, n, &c->want[k], c->value[k], c->bound[k]);
        return KILN_OK;
    }
    for (int64_t i = 0; i < n_elems; i++)
        pick[i] = i;
    return kiln_ref_pick(a, n, in, pick, n_elems, c->value[k], c->bound[k], err);
}

kiln_status compute_case_init(kiln_arena *a, compute_case *c, kiln_graph *g,
                              const kiln_tensor *in, kiln_err *err) {
    const size_t n = g->outputs.n;
    *c = (compute_case){.g = g, .in = in};
    c->want = kiln_array(a, kiln_tensor, n);
    c->value = kiln_array(a, double *, n);
    c->bound = kiln_array(a, double *, n);
    KILN_TRY(kiln_ref_run(a, g, in, g->inputs.n, c->want, err));
    for (size_t k = 0; k < n; k++)
        KILN_TRY(bounds_of(a, c, k, err));
    return KILN_OK;
}

kiln_graph *compute_node_graph(kiln_arena *a, const kiln_node *n, int *from) {
    kiln_graph *g = kiln_graph_new(a, "node");
    kiln_value **in = kiln_array(a, kiln_value *, n->n_in);
    kiln_attr_arg *args = kiln_array(a, kiln_attr_arg, n->op->n_attr);
    kiln_node *copy = NULL;
    kiln_err err = {0};
    int n_given = 0;
    for (int i = 0; i < n->n_in; i++) {
        if (n->in[i] == NULL)
            continue;
        in[i] = kiln_graph_add_input(g, "x", &n->in[i]->type);
        from[n_given++] = i;
    }
    for (size_t i = 0; i < n->op->n_attr; i++)
        args[i] = (kiln_attr_arg){.name = n->op->attr[i].name,
                                  .kind = n->op->attr[i].kind,
                                  .value = n->attr[i]};
    const kiln_node_spec spec = {.op = n->op,
                                 .in = in,
                                 .n_in = n->n_in,
                                 .n_out = n->n_out,
                                 .args = args,
                                 .n_args = n->op->n_attr};
    const kiln_status st = kiln_graph_add_node(g, &spec, &copy, &err);
    KILN_ASSERT(st == KILN_OK, "%s", err.text);
    for (int k = 0; k < n->n_out; k++)
        kiln_graph_add_output(g, copy->out[k], kiln_format(a, "y%d", k));
    return g;
}

/* ---- comparing ------------------------------------------------------------------- */

static bool is_close(double got, double want, double bound) {
    if (isnan(want))
        return isnan(got);
    return got == want || fabs(got - want) <= bound || bound == HUGE_VAL;
}

static const char *check_output(kiln_arena *a, const compute_case *c, size_t k,
                                const kiln_wide *got) {
    const kiln_type *t = &c->want[k].type;
    kiln_wide want = kiln_wide_new(a, t);
    kiln_widen(t, c->want[k].data, &want);
    for (int64_t i = 0; i < kiln_type_elems(t); i++) {
        const bool has_bound = c->value[k] != NULL;
        const double bound = has_bound ? c->bound[k][i] : 0;
        if (want.f == NULL
                ? got->i[i] == want.i[i]
                : is_close(got->f[i], has_bound ? c->value[k][i] : want.f[i], bound))
            continue;
        return kiln_format(
            a, "'%s' element %" PRId64 " must be %.9g within %.3g, is %.9g",
            c->g->output_names.v[k], i, want.f != NULL ? want.f[i] : (double)want.i[i],
            bound, want.f != NULL ? got->f[i] : (double)got->i[i]);
    }
    return NULL;
}

/* Elements of a packed tensor as one axis: layouts may have more axes than types.
 * Stages know low-bit types as the bytes that they are stored in. */
static kiln_type flat(const kiln_type *t) {
    const int64_t n = kiln_type_stored_elems(t);
    return kiln_type_make(kiln_dtype_stored(t->dtype), 1, &n);
}

/* Elements in place, tail lanes zero; where they are trusted, zero times an infinity
 * may stand in them. */
static const char *check_packed(kiln_arena *a, const compute_case *c, size_t k,
                                const kiln_type *t, const void *packed,
                                bool trust_tails) {
    const kiln_type plain = kiln_type_make(t->dtype, t->rank, t->dim), all = flat(t);
    kiln_tensor out = kiln_tensor_new(a, &plain), again = kiln_tensor_new(a, t);
    kiln_wide w = kiln_wide_new(a, &plain);
    kiln_wide got = kiln_wide_new(a, &all), want = kiln_wide_new(a, &all);
    kiln_layout_unpack(t, packed, out.data);
    kiln_widen(&plain, out.data, &w);
    const char *wrong = check_output(a, c, k, &w);
    kiln_layout_pack(t, out.data, again.data);
    kiln_widen(&all, packed, &got);
    kiln_widen(&all, again.data, &want);
    for (int64_t i = 0; i < all.dim[0] && wrong == NULL; i++) {
        const bool is_nan = got.f != NULL && isnan(got.f[i]);
        if (got.f != NULL
                ? !is_close(got.f[i], want.f[i], 0) && !(trust_tails && is_nan)
                : got.i[i] != want.i[i])
            wrong = kiln_format(a, "tail lanes of '%s' must be zero",
                                c->g->output_names.v[k]);
    }
    return wrong;
}

/* ---- running --------------------------------------------------------------------- */

typedef struct run {
    kiln_arena *a;
    const compute_case *c;
    bool trust_tails;
    kiln_te_graph te;
    void **arg;
    kiln_err err;
} run;

static const char *failed(run *r, const char *what) {
    return kiln_format(r->a, "%s: %s", what, r->err.text);
}

static const char *evaluate(run *r) {
    kiln_arena *a = r->a;
    const kiln_te_graph *t = &r->te;
    size_t n = 0, n_in = 0;
    const size_t n_outs = t->n_args - t->n_inputs;
    const kiln_te *const *outs = t->arg + t->n_inputs;
    const kiln_te **te = kiln_te_topo(a, outs, n_outs, &n);
    kiln_wide *in = kiln_array(a, kiln_wide, t->n_inputs);
    kiln_wide *out = kiln_array(a, kiln_wide, n_outs);
    for (size_t s = 0; s < n; s++) {
        if (te[s]->kind == KILN_TE_EXTERN)
            return NULL;
        for (size_t i = 0; i < t->n_inputs; i++) {
            if (te[s] != t->arg[i])
                continue;
            const kiln_type all = flat(&t->arg_type[i]);
            in[n_in] = kiln_wide_new(a, &all);
            kiln_widen(&all, r->arg[i], &in[n_in++]);
        }
    }
    if (kiln_te_eval(a, outs, n_outs, in, n_in, out, &r->err) != KILN_OK)
        return failed(r, "evaluated");
    const char *wrong = NULL;
    for (size_t k = 0; k < n_outs && wrong == NULL; k++) {
        const kiln_type all = flat(&t->arg_type[t->n_inputs + k]);
        kiln_tensor packed = kiln_tensor_new(a, &all);
        kiln_narrow(&out[k], packed.data);
        wrong = check_packed(a, r->c, k, &t->arg_type[t->n_inputs + k], packed.data,
                             r->trust_tails);
    }
    return wrong == NULL ? NULL : kiln_format(a, "evaluated: %s", wrong);
}

static const char *interpret(run *r, const kiln_program *p, const char *how) {
    const kiln_te_graph *t = &r->te;
    const char *wrong = NULL;
    for (size_t i = t->n_inputs; i < t->n_args; i++)
        memset(r->arg[i], 0xFF, (size_t)kiln_type_bytes(&t->arg_type[i]));
    if (kiln_program_run(r->a, p, r->arg, NULL, &r->err) != KILN_OK)
        return failed(r, how);
    for (size_t i = t->n_inputs; i < t->n_args && wrong == NULL; i++)
        wrong = check_packed(r->a, r->c, i - t->n_inputs, &t->arg_type[i], r->arg[i],
                             r->trust_tails);
    return wrong == NULL ? NULL : kiln_format(r->a, "%s: %s", how, wrong);
}

static const char *lower_and_run(run *r) {
    const kiln_te_graph *t = &r->te;
    kiln_program *p = NULL;
    const kiln_schedule *s =
        kiln_schedule_new(r->a, t->arg + t->n_inputs, t->n_args - t->n_inputs);
    if (kiln_lower(r->a, s, t->arg, t->n_args, t->n_inputs, "f", &p, &r->err) !=
            KILN_OK ||
        kiln_program_verify(p, &r->err) != KILN_OK)
        return failed(r, "lowered");
    const char *wrong = interpret(r, p, "lowered");
    if (wrong != NULL)
        return wrong;
    if (kiln_program_optimize(p, NULL, &r->err) != KILN_OK)
        return failed(r, "optimised");
    return interpret(r, p, "optimised");
}

/* Tail lanes of which nothing is known hold all bits: NaN, where there is one. */
static void poison_tails(kiln_arena *a, const kiln_type *t, unsigned char *packed) {
    if ((t->facts & KILN_FACT_TAIL_ZERO) != 0 || kiln_layout_is_plain(&t->layout))
        return;
    const size_t n = (size_t)kiln_type_bytes(t);
    const kiln_type shape = kiln_type_make(t->dtype, t->rank, t->dim);
    unsigned char *plain = kiln_tensor_new(a, &shape).data;
    unsigned char *is_element = kiln_tensor_new(a, t).data;
    memset(plain, 0xFF, (size_t)kiln_type_bytes(&shape));
    kiln_layout_pack(t, plain, is_element);
    for (size_t i = 0; i < n; i++)
        packed[i] = is_element[i] == 0 ? 0xFF : packed[i];
}

const char *compute_case_check(kiln_arena *a, const compute_case *c,
                               const kiln_layout *layout, bool trust_tails) {
    run r = {.a = a, .c = c, .trust_tails = trust_tails};
    if (kiln_graph_compute(a, c->g, layout, trust_tails, &r.te, &r.err) != KILN_OK)
        return failed(&r, "computing");
    r.arg = kiln_array(a, void *, r.te.n_args);
    for (size_t i = 0; i < r.te.n_args; i++) {
        r.arg[i] = kiln_tensor_new(a, &r.te.arg_type[i]).data;
        if (i >= r.te.n_inputs)
            continue;
        kiln_layout_pack(&r.te.arg_type[i], given(c, r.te.arg_value[i]).data, r.arg[i]);
        poison_tails(a, &r.te.arg_type[i], r.arg[i]);
    }
    const char *wrong = evaluate(&r);
    return wrong != NULL ? wrong : lower_and_run(&r);
}

kiln_layout *compute_random_layouts(kiln_arena *a, const kiln_graph *g, kiln_rng *rng,
                                    kiln_buf *text) {
    kiln_layout *l = kiln_array(a, kiln_layout, g->values.n);
    for (size_t v = 0; v < g->values.n; v++) {
        kiln_type t = g->values.v[v]->type;
        t.layout = l[v] = random_layout(rng, t.rank);
        kiln_buf_printf(text, "%s %s; ", g->values.v[v]->name, kiln_type_text(a, &t));
    }
    return l;
}
