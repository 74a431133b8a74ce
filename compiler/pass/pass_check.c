/* --check-passes: a graph must give the same outputs before and after a pass.
 *
 * Exact passes keep every bit (NaN equals NaN). The others move roundings: a batch norm
 * in the weights of a convolution rounds each product differently, by a few units in
 * the last place of the parameters' dtype, and layers behind add up. Floats may then
 * differ by c * u * (|want| + rms(want)), with u the unit roundoff of the output's
 * dtype and c = 2^13 for f32 and f64, 2^6 for f16, 2^5 for bf16: room for the roundings
 * of a hundred layers that cancel to some digits, and far below what a wrong rewriting
 * gives. Integers and bools may differ in one of 100 elements, as ties of a rounding or
 * an argmax can turn. */
#include "compiler/pass/meaning.h"
#include "compiler/reference/reference.h"

#include <inttypes.h>
#include <math.h>

void kiln_meaning_of(const kiln_graph *g, uint64_t seed, kiln_meaning *out) {
    *out = (kiln_meaning){.n_out = g->outputs.n};
    kiln_arena inputs = {0};
    kiln_tensor *in = kiln_array(&inputs, kiln_tensor, g->inputs.n);
    for (size_t i = 0; i < g->inputs.n; i++)
        in[i] = kiln_ref_random(&inputs, &g->inputs.v[i]->type, seed + i);
    out->out = kiln_array(&out->arena, kiln_tensor, g->outputs.n);
    kiln_err why = {0};
    out->is_known =
        kiln_ref_run(&out->arena, g, in, g->inputs.n, out->out, &why) == KILN_OK;
    if (!out->is_known)
        KILN_LOG(WARN, "check", "graph '%s' cannot be run on random inputs: %s",
                 g->name, why.text);
    kiln_arena_fini(&inputs);
}

/* Relative tolerance of a pass that is not exact; 0: not a float. */
static double tolerance(kiln_dtype dtype) {
    switch (dtype) {
    case KILN_F32:
        return ldexp(1, 13 - 24);
    case KILN_F16:
        return ldexp(1, 6 - 11);
    case KILN_BF16:
        return ldexp(1, 5 - 8);
    case KILN_F64:
        return ldexp(1, 13 - 53);
    case KILN_I8:
    case KILN_U8:
    case KILN_I16:
    case KILN_U16:
    case KILN_I32:
    case KILN_U32:
    case KILN_I64:
    case KILN_U64:
    case KILN_BOOL:
    case KILN_I4:
    case KILN_U4:
    case KILN_I2:
    case KILN_U2:
    case KILN_N_DTYPES:
        break;
    case KILN_F8E4M3FN:
    case KILN_F8E4M3FNUZ:
    case KILN_F8E5M2:
    case KILN_F8E5M2FNUZ:
    case KILN_F8E8M0:
    case KILN_F4E2M1: /* a step to a neighbour */
        return ldexp(1, 1 - kiln_dtype_get(dtype)->mantissa_bits);
    }
    return 0;
}

static kiln_status compare_output(const kiln_pass *p, const char *name,
                                  const kiln_tensor *before, const kiln_tensor *after,
                                  kiln_err *err) {
    kiln_diff d;
    const double rtol = p->is_exact ? 0 : tolerance(before->type.dtype);
    KILN_TRY(kiln_ref_compare(after, before, rtol, 0, &d, err));
    if (rtol > 0 && !d.ok) /* only now is the size of the output known */
        KILN_TRY(kiln_ref_compare(after, before, rtol, rtol * d.rms_want, &d, err));
    const bool is_float = kiln_dtype_is_float(before->type.dtype);
    const int64_t allowed =
        p->is_exact || is_float ? 0 : kiln_type_elems(&before->type) / 100;
    if (d.n_bad <= allowed)
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_ARG,
                     "pass '%s' must keep output '%s', %" PRId64 " of %" PRId64
                     " elements differ; worst at %" PRId64 ": %.9g, was %.9g",
                     p->name, name, d.n_bad, kiln_type_elems(&before->type),
                     d.worst_index, d.worst_got, d.worst_want);
}

kiln_status kiln_meaning_compare(const kiln_pass *p, const kiln_graph *g,
                                 const kiln_meaning *before, const kiln_meaning *after,
                                 kiln_err *err) {
    if (!before->is_known)
        return KILN_OK; /* said so already; a pass may remove what failed */
    if (!after->is_known)
        return kiln_fail(
            err, KILN_ERR_ARG,
            "pass '%s' must keep graph '%s' running, now it fails on inputs "
            "that it ran on",
            p->name, g->name);
    for (size_t i = 0; i < before->n_out; i++)
        KILN_TRY(compare_output(p, g->output_names.v[i], &before->out[i],
                                &after->out[i], err));
    return KILN_OK;
}

void kiln_meaning_fini(kiln_meaning *m) {
    kiln_arena_fini(&m->arena);
    *m = (kiln_meaning){0};
}
