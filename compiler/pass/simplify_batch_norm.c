/* Batch norm with constant moments is y = x * s[c] + t[c] per channel, s = scale /
 * sqrt(var + epsilon) and t = bias - mean * s, computed in double.
 *
 *   behind conv, conv_transpose, gemm (b constant, c constant or absent)
 *       w'[c] = w[c] * s[c], bias'[c] = bias[c] * s[c] + t[c]; no operation is left
 *   behind matmul by a constant
 *       into the weights likewise, and an add of t
 *   else, in f32 and f64
 *       a multiply and an add
 *   else
 *       it stays: in f16 and bf16 the product would be rounded to a few digits before
 *       t cancels it
 *
 * Weights are changed only where nothing else uses the result.
 *
 * Not exact: each parameter is rounded once more, and sums that overflow on their way
 * to the batch norm may no longer do so. Parameters that are not finite, before or
 * after, keep the batch norm as it is, so that NaN and infinity come out where they
 * did. Source: Jacob et al., arXiv:1712.05877, section 3.2 (folding). */
#include "compiler/pass/simplify.h"

#include <math.h>

enum { X, SCALE, BIAS, MEAN, VAR };

/* s and t of n_channels channels. */
typedef struct affine {
    int64_t n_channels;
    double *s, *t;
} affine;

static double *read_f64(kiln_arena *a, const kiln_value *v) {
    kiln_wide w = kiln_wide_new(a, &v->type);
    kiln_widen(&v->type, v->data, &w);
    return w.f;
}

static bool all_finite(const double *v, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(v[i]))
            return false;
    return true;
}

/* False when a parameter is not a constant or not finite. */
static bool read_affine(kiln_arena *a, const kiln_node *n, affine *out) {
    for (int k = SCALE; k <= VAR; k++)
        if (!kiln_value_is_const(n->in[k]) ||
            !kiln_layout_is_plain(&n->in[k]->type.layout))
            return false;
    const double *scale = read_f64(a, n->in[SCALE]), *bias = read_f64(a, n->in[BIAS]);
    const double *mean = read_f64(a, n->in[MEAN]), *var = read_f64(a, n->in[VAR]);
    const double epsilon = kiln_node_attr(n, "epsilon")->f;
    const int64_t c = n->in[SCALE]->type.dim[0];
    *out = (affine){c, kiln_array(a, double, c), kiln_array(a, double, c)};
    for (int64_t i = 0; i < c; i++) {
        out->s[i] = scale[i] / sqrt(var[i] + epsilon);
        out->t[i] = bias[i] - mean[i] * out->s[i];
    }
    return all_finite(out->s, c) && all_finite(out->t, c);
}

/* A constant of the graph, rounded from double; NULL (and nothing made) where an
 * element overflows. */
static kiln_value *make_const(kiln_sweep *s, const char *name, const kiln_type *t,
                              double *v) {
    kiln_wide w = {.type = *t, .f = v};
    kiln_wide_round(&w);
    if (!all_finite(v, kiln_type_elems(t)))
        return NULL;
    const kiln_tensor data = kiln_tensor_new(s->g->arena, t);
    kiln_narrow(&w, data.data);
    return kiln_graph_add_const(s->g, name, t, data.data);
}

/* ---- into the weights of what is before ---- */

/* How a producer's weights lie around the output channels: element (b, i) of [n_blocks,
 * inner] belongs to output channel (b / per_group) * n_channels_of_group + b %
 * n_channels_of_group. */
typedef struct weights {
    int64_t n_blocks, inner;
    int64_t per_group, n_of_group;
    bool has_bias; /* the operator takes a bias as input 2 */
} weights;

static bool is_matrix_product(const kiln_node *p) {
    return p->op == &kiln_op_matmul && p->in[1]->type.rank == 2 &&
           p->out[0]->type.rank == 2 && kiln_node_attr(p, "trans_b")->i == 0;
}

static bool describe(const kiln_node *p, int64_t n_channels, weights *w) {
    const kiln_type *t = &p->in[1]->type;
    const int64_t n = kiln_type_elems(t);
    *w = (weights){.n_of_group = n_channels, .has_bias = p->op != &kiln_op_matmul};
    const bool is_gemm = p->op == &kiln_op_gemm;
    const bool is_gemm_by_rows = is_gemm && kiln_node_attr(p, "trans_b")->i != 0;
    if (p->op == &kiln_op_conv || is_gemm_by_rows) {
        w->n_blocks = t->dim[0]; /* [O, I/G, taps], [n, k] */
    } else if (p->op == &kiln_op_conv_transpose) {
        const int64_t groups = kiln_node_attr(p, "groups")->i;
        w->n_of_group = t->dim[1]; /* [I, O/G, taps] */
        w->n_blocks = t->dim[0] * t->dim[1];
        w->per_group = t->dim[0] / groups * t->dim[1];
    } else if (is_gemm || is_matrix_product(p)) {
        w->n_blocks = n; /* [k, n] */
    } else {
        return false;
    }
    if (n == 0 || n_channels == 0)
        return false;
    if (w->per_group == 0)
        w->per_group = w->n_blocks;
    w->inner = n / w->n_blocks;
    return true;
}

static void scale_weights(const weights *w, const affine *f, double *v) {
    for (int64_t b = 0; b < w->n_blocks; b++) {
        const int64_t c = b / w->per_group * w->n_of_group + b % w->n_of_group;
        for (int64_t i = 0; i < w->inner; i++)
            v[b * w->inner + i] *= f->s[c];
    }
}

static bool is_plain_const(const kiln_value *v) {
    return kiln_value_is_const(v) && kiln_layout_is_plain(&v->type.layout);
}

/* bias * s + t as one value per channel; false where the present bias is not a constant
 * of one row. gemm multiplies its bias by beta, which becomes 1. */
static bool new_bias(kiln_arena *a, const kiln_node *p, const affine *f, double *out) {
    const double beta = p->op == &kiln_op_gemm ? kiln_node_attr(p, "beta")->f : 1;
    for (int64_t i = 0; i < f->n_channels; i++)
        out[i] = f->t[i];
    if (p->n_in < 3 || p->in[2] == NULL)
        return true;
    const kiln_type *t = &p->in[2]->type;
    const int64_t n = kiln_type_elems(t);
    const bool is_row =
        n == 1 || (n == f->n_channels && t->dim[t->rank - 1] == f->n_channels);
    if (!is_row || !is_plain_const(p->in[2]))
        return false;
    const double *old = read_f64(a, p->in[2]);
    for (int64_t i = 0; i < f->n_channels; i++)
        out[i] += beta * old[n == 1 ? 0 : i] * f->s[i];
    return true;
}

static kiln_value *channel_const(kiln_sweep *s, const kiln_node *like, const char *what,
                                 kiln_dtype dtype, int n_behind, int64_t n_channels,
                                 double *v) {
    int64_t dim[KILN_MAX_RANK] = {n_channels, 1, 1, 1, 1, 1, 1, 1};
    const kiln_type t = kiln_type_make(dtype, 1 + n_behind, dim);
    return make_const(s, kiln_format(s->cx->scratch, "%s.%s", like->name, what), &t, v);
}

/* *same is what the batch norm's users read afterwards; unchanged where this producer
 * does not take it. */
static kiln_status into_producer(kiln_sweep *s, kiln_arena *a, const kiln_node *n,
                                 affine *f, kiln_value **same) {
    kiln_node *p = n->in[X]->def;
    weights w;
    if (p == NULL || kiln_sweep_uses(s, n->in[X]) != 1 || p->n_in < 2 ||
        !is_plain_const(p->in[1]) || !describe(p, f->n_channels, &w))
        return KILN_OK;
    double *bias = kiln_array(a, double, f->n_channels);
    if (!new_bias(a, p, f, bias))
        return KILN_OK;
    double *v = read_f64(a, p->in[1]);
    scale_weights(&w, f, v);
    kiln_value *b =
        channel_const(s, n, "bias", p->out[0]->type.dtype, 0, f->n_channels, bias);
    if (b == NULL)
        return KILN_OK;
    kiln_value *scaled = make_const(s, p->in[1]->name, &p->in[1]->type, v);
    if (scaled == NULL)
        return KILN_OK;
    kiln_sweep_set_in(s, p, 1, scaled);
    if (!w.has_bias) {
        kiln_value *const in[] = {p->out[0], b};
        return kiln_sweep_add(s, &kiln_op_add, n, in, 2, NULL, 0, same);
    }
    kiln_sweep_set_in(s, p, 2, b);
    if (p->op == &kiln_op_gemm)
        kiln_node_own_attr(p, "beta")->f = 1;
    *same = p->out[0];
    return KILN_OK;
}

/* ---- alone ---- */

static kiln_status as_multiply_add(kiln_sweep *s, const kiln_node *n, affine *f,
                                   kiln_value **same) {
    const kiln_type *t = &n->in[X]->type;
    if (t->dtype != KILN_F32 && t->dtype != KILN_F64)
        return KILN_OK;
    const int n_behind = t->rank - 2;
    kiln_value *scale =
        channel_const(s, n, "scale", t->dtype, n_behind, f->n_channels, f->s);
    kiln_value *shift =
        channel_const(s, n, "shift", t->dtype, n_behind, f->n_channels, f->t);
    if (scale == NULL || shift == NULL)
        return KILN_OK;
    kiln_value *product = NULL;
    KILN_TRY(kiln_sweep_add(s, &kiln_op_mul, n,
                            ((kiln_value *const[]){n->in[X], scale}), 2, NULL, 0,
                            &product));
    kiln_value *const in[] = {product, shift};
    return kiln_sweep_add(s, &kiln_op_add, n, in, 2, NULL, 0, same);
}

kiln_status kiln_simplify_batch_norm(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    kiln_arena a = {0}; /* weights in double: given back after each batch norm */
    affine f;
    kiln_status st = KILN_OK;
    if (read_affine(&a, n, &f)) {
        st = into_producer(s, &a, n, &f, same);
        if (st == KILN_OK && *same == NULL)
            st = as_multiply_add(s, n, &f, same);
    }
    kiln_arena_fini(&a);
    return st;
}
