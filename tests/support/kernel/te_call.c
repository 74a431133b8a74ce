#include "tests/support/kernel/te_call.h"

#include "tests/support/kiln_test.h"

#include <math.h>

double te_call_tolerance(kiln_dtype dtype, double want) {
    const double ulp = dtype == KILN_F16 ? 0x1p-10 : dtype == KILN_BF16 ? 0x1p-7 : 0;
    return 6e-4 + ulp * fabs(want);
}

static kiln_type type_of(const kiln_te *te, int out) {
    int64_t dim[KILN_MAX_AXES];
    for (int i = 0; i < te->rank; i++)
        dim[i] = kiln_te_dim(te, i);
    return kiln_type_make(te->dtype[out], te->rank, dim);
}

static kiln_tensor random_input(kiln_arena *a, kiln_rng *rng, const kiln_te *te) {
    const kiln_type t = type_of(te, 0);
    kiln_wide w = kiln_wide_new(a, &t);
    for (int64_t i = 0; i < kiln_type_elems(&t); i++) {
        if (w.f != NULL)
            w.f[i] = 2 * kiln_rng_unit(rng) - 1;
        else
            w.i[i] = kiln_rng_range(rng, t.dtype == KILN_BOOL ? 0 : -7,
                                    t.dtype == KILN_BOOL ? 1 : 7);
    }
    kiln_tensor out = kiln_tensor_new(a, &t);
    kiln_narrow(&w, out.data);
    return out;
}

void te_call_prepare(kiln_arena *a, kiln_rng *rng, const te_example *x, te_call *c,
                     kiln_wide *in) {
    for (size_t i = 0; i < x->n_inputs; i++) {
        const kiln_tensor t = random_input(a, rng, x->arg[i]);
        in[i] = kiln_wide_new(a, &t.type);
        kiln_widen(&t.type, t.data, &in[i]);
        c->arg[c->n_args++] = t.data;
    }
    for (size_t i = x->n_inputs; i < x->n_args; i++) {
        for (int k = 0; k < x->arg[i]->n_out; k++) {
            const kiln_type t = type_of(x->arg[i], k);
            c->out[c->n_out] = kiln_tensor_new(a, &t);
            unsigned char *bytes = c->out[c->n_out].data;
            for (int64_t b = 0; b < kiln_type_bytes(&t); b++)
                bytes[b] = 0xFF; /* NaN for floats */
            c->arg[c->n_args++] = c->out[c->n_out++].data;
        }
    }
}

void te_call_evaluate(kiln_arena *a, const te_example *x, const kiln_wide *in,
                      kiln_wide *want) {
    kiln_wide ordered[8];
    size_t n = 0, taken = 0;
    const kiln_te *const *outs = x->arg + x->n_inputs;
    const kiln_te **te = kiln_te_topo(a, outs, x->n_args - x->n_inputs, &n);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < x->n_inputs; k++)
            if (te[i] == x->arg[k])
                ordered[taken++] = in[k];
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_te_eval(a, outs, x->n_args - x->n_inputs, ordered, taken, want, &err),
        &err);
}

bool te_call_differs(kiln_arena *a, const kiln_tensor *got, const kiln_wide *want) {
    kiln_wide g = kiln_wide_new(a, &got->type);
    kiln_widen(&got->type, got->data, &g);
    for (int64_t i = 0; i < kiln_type_elems(&got->type); i++) {
        if (g.f != NULL ? !(fabs(g.f[i] - want->f[i]) <=
                            te_call_tolerance(got->type.dtype, want->f[i]))
                        : g.i[i] != want->i[i]) {
            print_error("element %lld: %.9g, wanted %.9g\n", (long long)i,
                        g.f != NULL ? g.f[i] : (double)g.i[i],
                        g.f != NULL ? want->f[i] : (double)want->i[i]);
            return true;
        }
    }
    return false;
}
