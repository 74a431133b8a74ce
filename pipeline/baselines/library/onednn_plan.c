/* oneDNN: an operator's description as a request for one primitive, with what is fused
 * behind it as post-operations (its documentation: primitive attributes). Layouts are
 * "any": the library chooses them, and gets its inputs in them. */
#include "pipeline/baselines/library/onednn_internal.h"

/* A bias is an operand of convolutions and products, and must come first; a sum is made
 * in place, on what lies in the output: there is one. */
static kiln_status read_operands(const kiln_library_op *op, kiln_onednn_plan *p,
                                 kiln_err *err) {
    p->bias_tensor = p->sum_tensor = -1;
    for (int i = 0; i < op->n_tails; i++) {
        const kiln_library_tail *t = &op->tail[i];
        const bool takes_bias =
            op->kind == KILN_LIBRARY_CONV || op->kind == KILN_LIBRARY_MATMUL;
        if (t->kind == KILN_LIBRARY_BIAS && (i != 0 || !takes_bias))
            return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                             "oneDNN adds a bias right behind a convolution or product "
                             "only");
        if (t->kind == KILN_LIBRARY_ADD && p->sum_tensor >= 0)
            return kiln_fail(err, KILN_ERR_UNSUPPORTED, "oneDNN adds in place once");
        if (t->kind == KILN_LIBRARY_BIAS)
            p->bias_tensor = t->tensor;
        if (t->kind == KILN_LIBRARY_ADD)
            p->sum_tensor = t->tensor;
    }
    return KILN_OK;
}

/* ---- operands -------------------------------------------------------------------- */

/* Row-major. */
static kiln_status set(kiln_onednn_operand *out, int rank, const int64_t *dim,
                       kiln_onednn_layout layout, kiln_err *err) {
    if (rank < 1 || rank > KILN_ONEDNN_MAX_RANK)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED, "a tensor of rank %d", rank);
    *out = (kiln_onednn_operand){.plain.rank = rank, .layout = layout};
    int64_t step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        out->plain.dim[i] = dim[i];
        out->plain.stride[i] = step;
        step *= dim[i];
    }
    return KILN_OK;
}

static void swap(int64_t *x, int64_t *y) {
    const int64_t old = *x;
    *x = *y;
    *y = old;
}

/* The last two axes exchanged: the same bytes, other strides. */
static void transpose(kiln_onednn_tensor *t) {
    swap(&t->dim[t->rank - 2], &t->dim[t->rank - 1]);
    swap(&t->stride[t->rank - 2], &t->stride[t->rank - 1]);
}

static kiln_onednn_windows windows_of(const kiln_library_op *op) {
    kiln_onednn_windows w;
    for (int i = 0; i < 2; i++) {
        w.kernel[i] = op->kernel[i];
        w.stride[i] = op->stride[i];
        w.dilation[i] = op->dilation[i] - 1;
        w.begin[i] = op->pad_begin[i];
        w.end[i] = op->pad_end[i];
    }
    return w;
}

/* ---- one function for each kind -------------------------------------------------- */

static kiln_status plan_conv(const kiln_library_op *op, kiln_onednn_plan *p,
                             kiln_err *err) {
    kiln_onednn_operand *to = p->request.operand;
    const int64_t *w = op->in[1].value.type.dim;
    const int64_t g = op->groups;
    const int64_t grouped[] = {g, w[0] / g, w[1], w[2], w[3]};
    KILN_TRY(
        set(&to[KILN_ONEDNN_SRC], 4, op->in[0].value.type.dim, KILN_ONEDNN_ANY, err));
    KILN_TRY(set(&to[KILN_ONEDNN_WEIGHTS], g > 1 ? 5 : 4, g > 1 ? grouped : w,
                 KILN_ONEDNN_ANY, err));
    if (p->bias_tensor >= 0)
        KILN_TRY(set(&to[KILN_ONEDNN_BIAS], 1, w, KILN_ONEDNN_ANY, err));
    p->request.windows = windows_of(op);
    return set(&to[KILN_ONEDNN_DST], 4, op->out.dim, KILN_ONEDNN_ANY, err);
}

/* One matrix for all of a batch: a taller product. */
static void flatten(const kiln_type *t, int rank, int64_t *dim) {
    const int skip = t->rank - rank;
    for (int i = 0; i < rank; i++)
        dim[i] = t->dim[i + skip];
    for (int i = 0; i < skip; i++)
        dim[0] *= t->dim[i];
}

static kiln_status plan_matmul(const kiln_library_op *op, kiln_onednn_plan *p,
                               kiln_err *err) {
    kiln_onednn_operand *to = p->request.operand;
    const kiln_type *b = &op->in[1].value.type;
    const int rank = b->rank;
    int64_t a_dim[KILN_MAX_RANK], out_dim[KILN_MAX_RANK], bias_dim[KILN_MAX_RANK];
    flatten(&op->in[0].value.type, rank, a_dim);
    flatten(&op->out, rank, out_dim);
    for (int i = 0; i < rank; i++)
        bias_dim[i] = i == rank - 1 ? out_dim[i] : 1;
    KILN_TRY(set(&to[KILN_ONEDNN_SRC], rank, a_dim, KILN_ONEDNN_ANY, err));
    /* Activations on both sides come as they are: reordering them would be part of
     * every run. */
    KILN_TRY(set(&to[KILN_ONEDNN_WEIGHTS], rank, b->dim,
                 op->in[1].is_constant ? KILN_ONEDNN_ANY : KILN_ONEDNN_PLAIN, err));
    if (p->bias_tensor >= 0)
        KILN_TRY(set(&to[KILN_ONEDNN_BIAS], rank, bias_dim, KILN_ONEDNN_ANY, err));
    if (op->trans_a)
        transpose(&to[KILN_ONEDNN_SRC].plain);
    if (op->trans_b)
        transpose(&to[KILN_ONEDNN_WEIGHTS].plain);
    return set(&to[KILN_ONEDNN_DST], rank, out_dim, KILN_ONEDNN_ANY, err);
}

static kiln_status plan_pool(const kiln_library_op *op, const kiln_onednn_way *way,
                             kiln_onednn_plan *p, kiln_err *err) {
    kiln_onednn_operand *to = p->request.operand;
    p->request.windows = windows_of(op);
    KILN_TRY(set(&to[KILN_ONEDNN_SRC], 4, op->in[0].value.type.dim, way->layout, err));
    return set(&to[KILN_ONEDNN_DST], 4, op->out.dim, KILN_ONEDNN_ANY, err);
}

static kiln_status plan_softmax(const kiln_library_op *op, kiln_onednn_plan *p,
                                kiln_err *err) {
    kiln_onednn_operand *to = p->request.operand;
    p->request.axis = op->axis;
    KILN_TRY(
        set(&to[KILN_ONEDNN_SRC], op->out.rank, op->out.dim, KILN_ONEDNN_PLAIN, err));
    to[KILN_ONEDNN_DST] = to[KILN_ONEDNN_SRC];
    return KILN_OK;
}

kiln_status kiln_onednn_plan_make(const kiln_library_op *op, const kiln_onednn_way *way,
                                  kiln_onednn_plan *out, kiln_err *err) {
    *out = (kiln_onednn_plan){.request = {.kind = op->kind,
                                          .algorithm = way->algorithm,
                                          .tail = op->tail,
                                          .n_tails = op->n_tails}};
    KILN_TRY(read_operands(op, out, err));
    switch (op->kind) {
    case KILN_LIBRARY_CONV:
        return plan_conv(op, out, err);
    case KILN_LIBRARY_MATMUL:
        return plan_matmul(op, out, err);
    case KILN_LIBRARY_MAX_POOL:
    case KILN_LIBRARY_AVG_POOL:
        return plan_pool(op, way, out, err);
    case KILN_LIBRARY_SOFTMAX:
        return plan_softmax(op, out, err);
    case KILN_N_LIBRARY_KINDS:
        break;
    }
    return kiln_fail(err, KILN_ERR_UNSUPPORTED, "no such operator in oneDNN");
}

/* ---- ways ------------------------------------------------------------------------ */

static int conv_ways(kiln_onednn_way *out) {
    out[0] = (kiln_onednn_way){KILN_ONEDNN_CONV_DIRECT, KILN_ONEDNN_ANY};
    out[1] = (kiln_onednn_way){KILN_ONEDNN_CONV_WINOGRAD, KILN_ONEDNN_ANY};
    return 2;
}

static int pool_ways(const kiln_library_op *op, kiln_onednn_way *out) {
    static const kiln_onednn_layout layout[] = {KILN_ONEDNN_NCHW16C, KILN_ONEDNN_NCHW8C,
                                                KILN_ONEDNN_NHWC, KILN_ONEDNN_PLAIN};
    const kiln_onednn_algorithm algorithm =
        op->kind == KILN_LIBRARY_MAX_POOL ? KILN_ONEDNN_POOL_MAX
        : op->counts_padding              ? KILN_ONEDNN_POOL_MEAN_WITH_PADDING
                                          : KILN_ONEDNN_POOL_MEAN_WITHOUT_PADDING;
    const int n = (int)(sizeof layout / sizeof layout[0]);
    for (int i = 0; i < n; i++)
        out[i] = (kiln_onednn_way){algorithm, layout[i]};
    return n;
}

/* Convolutions: the library's own choice ("auto") is never Winograd's, which is often
 * the faster one, so both are asked for. Pools take the layout that their input has:
 * blocked as the library's convolutions leave it on these machines, channels last, or
 * plain. */
int kiln_onednn_ways(const kiln_library_op *op, kiln_onednn_way *out) {
    if (op->kind == KILN_LIBRARY_CONV)
        return conv_ways(out);
    if (op->kind == KILN_LIBRARY_MAX_POOL || op->kind == KILN_LIBRARY_AVG_POOL)
        return pool_ways(op, out);
    out[0] = (kiln_onednn_way){KILN_ONEDNN_NO_ALGORITHM, KILN_ONEDNN_ANY};
    return 1;
}
