/* Matrix products in cuBLASLt: every algorithm that its heuristics propose, with the bias,
 * the sum and the activation that it fuses behind them; and cuBLAS's own choice where
 * nothing is behind. f32 is computed as f32: TF32 is off. f16 has f32's sums.
 *
 * Its matrices are column-major: what is row-major here is transposed there, so that
 * y' = b' a' is asked for. */
#include "pipeline/baselines/library/cudnn_api.h"

#include <limits.h>

enum { TYPE_R_32F = 0, TYPE_R_16F = 2 };
enum { COMPUTE_32F = 68, COMPUTE_32F_PEDANTIC = 69, OP_N = 0, OP_T = 1 };
enum { DESC_TRANS_A = 3, DESC_TRANS_B = 4, DESC_EPILOGUE = 7, DESC_BIAS = 8 };
enum { LAYOUT_BATCH = 5, LAYOUT_BATCH_STRIDE = 6, PREFER_WORKSPACE = 1 };
enum { EPILOGUE_NONE = 1, EPILOGUE_RELU = 2, EPILOGUE_BIAS = 4, EPILOGUE_GELU = 32 };
enum { CUBLAS_CHOOSES = -1, MOST_PROPOSED = 24 };

static const float one = 1, zero = 0;

typedef struct product {
    kiln_nv *nv;
    const kiln_library_op *op;
    int64_t m, n, k, batch;
    bool is_half;
    int bias, sum; /* of the operator's tensors; -1: none */
    int epilogue;
    void *a_d, *b_d, *y_d;
    kiln_nv_address a, b, y, bias_at, sum_at;
} product;

typedef struct proposal {
    const product *p;
    void *d; /* what is computed */
    int compute;
    kiln_nv_heuristic h;
} proposal;

/* ---- shapes ---------------------------------------------------------------------- */

static bool is_plain(const kiln_library_op *op, const kiln_type *a,
                     const kiln_type *b) {
    if (b->rank == 2)
        return a->rank == 2 || !op->trans_a;
    for (int i = 0; i < a->rank - 2; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return a->rank == b->rank;
}

/* One matrix for all of a batch is a taller product. */
static kiln_status measure(product *p, kiln_err *err) {
    const kiln_library_op *op = p->op;
    const kiln_type *a = &op->in[0].value.type, *b = &op->in[1].value.type;
    const int ra = a->rank, rb = b->rank;
    if (!is_plain(op, a, b))
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "cuBLAS is asked for batches of equal length alone");
    p->m = a->dim[op->trans_a ? ra - 1 : ra - 2];
    p->k = a->dim[op->trans_a ? ra - 2 : ra - 1];
    p->n = b->dim[op->trans_b ? rb - 2 : rb - 1];
    p->batch = 1;
    for (int i = 0; i < ra - 2; i++)
        *(rb == 2 ? &p->m : &p->batch) *= a->dim[i];
    if (p->m > INT_MAX || p->n > INT_MAX || p->k > INT_MAX || p->batch > INT_MAX)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED, "a matrix is too large for cuBLAS");
    return KILN_OK;
}

static kiln_status read_behind(product *p, kiln_err *err) {
    bool is_over = false;
    p->bias = p->sum = -1;
    p->epilogue = EPILOGUE_NONE;
    for (int i = 0; i < p->op->n_tails; i++) {
        const kiln_library_tail *t = &p->op->tail[i];
        bool fits = !is_over;
        if (t->kind == KILN_LIBRARY_BIAS && p->bias < 0) {
            p->bias = t->tensor;
        } else if (t->kind == KILN_LIBRARY_ADD && p->sum < 0) {
            p->sum = t->tensor;
        } else {
            fits = fits &&
                   (t->kind == KILN_LIBRARY_RELU || t->kind == KILN_LIBRARY_GELU_TANH);
            p->epilogue = t->kind == KILN_LIBRARY_RELU ? EPILOGUE_RELU : EPILOGUE_GELU;
            is_over = true;
        }
        if (!fits)
            return kiln_fail(
                err, KILN_ERR_UNSUPPORTED,
                "cuBLAS is asked for a bias, a sum and relu or gelu's tanh "
                "form behind a product, in this order; '%s' is none of "
                "them here",
                kiln_library_tail_name(t->kind));
    }
    if (p->bias >= 0)
        p->epilogue =
            p->epilogue == EPILOGUE_NONE ? EPILOGUE_BIAS : p->epilogue | EPILOGUE_BIAS;
    return KILN_OK;
}

/* ---- operands -------------------------------------------------------------------- */

static int type_of(const product *p) { return p->is_half ? TYPE_R_16F : TYPE_R_32F; }

static kiln_status put(const product *p, int tensor, kiln_nv_address *out,
                       kiln_err *err) {
    const kiln_tensor *t = &p->op->in[tensor].value;
    return kiln_nv_memory(p->nv, t->data,
                          (size_t)kiln_type_elems(&t->type) * (p->is_half ? 2 : 4), out,
                          err);
}

/* Column-major. */
static kiln_status describe(const product *p, int64_t rows, int64_t columns, void **out,
                            kiln_err *err) {
    const kiln_nv_api *api = &p->nv->api;
    const int32_t batch = (int32_t)p->batch;
    const int64_t stride = rows * columns;
    int st = api->cublasLtMatrixLayoutCreate(out, type_of(p), (uint64_t)rows,
                                             (uint64_t)columns, rows);
    if (st == 0 && batch > 1)
        st = api->cublasLtMatrixLayoutSetAttribute(*out, LAYOUT_BATCH, &batch,
                                                   sizeof batch);
    if (st == 0 && batch > 1)
        st = api->cublasLtMatrixLayoutSetAttribute(*out, LAYOUT_BATCH_STRIDE, &stride,
                                                   sizeof stride);
    return kiln_nv_blas_says(st, "describing a matrix", err);
}

static kiln_status put_operands(product *p, kiln_err *err) {
    const kiln_library_op *op = p->op;
    const bool ta = op->trans_a, tb = op->trans_b;
    KILN_TRY(describe(p, ta ? p->m : p->k, ta ? p->k : p->m, &p->a_d, err));
    KILN_TRY(describe(p, tb ? p->k : p->n, tb ? p->n : p->k, &p->b_d, err));
    KILN_TRY(describe(p, p->n, p->m, &p->y_d, err));
    KILN_TRY(put(p, 0, &p->a, err));
    KILN_TRY(put(p, 1, &p->b, err));
    if (p->bias >= 0)
        KILN_TRY(put(p, p->bias, &p->bias_at, err));
    if (p->sum >= 0)
        KILN_TRY(put(p, p->sum, &p->sum_at, err));
    return kiln_nv_memory(p->nv, NULL,
                          (size_t)kiln_type_elems(&op->out) * (p->is_half ? 2 : 4),
                          &p->y, err);
}

/* ---- runs ------------------------------------------------------------------------ */

static kiln_status tell_lt(const kiln_nv_way *w, kiln_err *err) {
    const proposal *r = w->own;
    const product *p = r->p;
    kiln_nv *nv = p->nv;
    const bool has_sum = p->sum >= 0;
    return kiln_nv_blas_says(
        nv->api.cublasLtMatmul(
            nv->lt, r->d, &one, kiln_nv_pointer(p->b), p->b_d, kiln_nv_pointer(p->a),
            p->a_d, has_sum ? &one : &zero, kiln_nv_pointer(has_sum ? p->sum_at : p->y),
            p->y_d, kiln_nv_pointer(p->y), p->y_d, &r->h.algorithm,
            kiln_nv_pointer(nv->workspace), nv->workspace_bytes, nv->stream),
        "multiplying by cuBLASLt", err);
}

static kiln_status tell_blas(const kiln_nv_way *w, kiln_err *err) {
    const proposal *r = w->own;
    const product *p = r->p;
    const bool ta = p->op->trans_a, tb = p->op->trans_b;
    kiln_nv *nv = p->nv;
    const int type = type_of(p);
    return kiln_nv_blas_says(
        nv->api.cublasGemmStridedBatchedEx(
            nv->blas, tb ? OP_T : OP_N, ta ? OP_T : OP_N, (int)p->n, (int)p->m,
            (int)p->k, &one, kiln_nv_pointer(p->b), type, (int)(tb ? p->k : p->n),
            p->n * p->k, kiln_nv_pointer(p->a), type, (int)(ta ? p->m : p->k),
            p->m * p->k, &zero, kiln_nv_pointer(p->y), type, (int)p->n, p->n * p->m,
            (int)p->batch, r->compute, CUBLAS_CHOOSES),
        "multiplying by cuBLAS", err);
}

/* ---- ways ------------------------------------------------------------------------ */

static const char *arithmetic(const product *p, int compute) {
    return p->is_half                        ? ", f32's sums"
           : compute == COMPUTE_32F_PEDANTIC ? ", no TF32, pedantic"
                                             : ", no TF32";
}

static void add_way(kiln_arena *a, proposal *r, bool is_lt, int rank,
                    kiln_nv_ways *out) {
    const product *p = r->p;
    const char *name = is_lt ? kiln_format(a, "cuBLASLt, proposal %d%s", rank + 1,
                                           arithmetic(p, r->compute))
                             : kiln_format(a, "cuBLAS%s", arithmetic(p, r->compute));
    const kiln_nv_way way = {.nv = p->nv,
                             .op = p->op,
                             .tell = is_lt ? tell_lt : tell_blas,
                             .own = r,
                             .y = p->y,
                             .name = name};
    kiln_vec_push(a, out, way);
}

static kiln_status describe_product(const product *p, int compute, void **out,
                                    kiln_err *err) {
    const kiln_nv_api *api = &p->nv->api;
    const int32_t first = p->op->trans_b ? OP_T : OP_N,
                  second = p->op->trans_a ? OP_T : OP_N;
    const uint32_t epilogue = (uint32_t)p->epilogue;
    const void *bias = kiln_nv_pointer(p->bias_at);
    int st = api->cublasLtMatmulDescCreate(out, compute, TYPE_R_32F);
    if (st == 0)
        st = api->cublasLtMatmulDescSetAttribute(*out, DESC_TRANS_A, &first,
                                                 sizeof first);
    if (st == 0)
        st = api->cublasLtMatmulDescSetAttribute(*out, DESC_TRANS_B, &second,
                                                 sizeof second);
    if (st == 0)
        st = api->cublasLtMatmulDescSetAttribute(*out, DESC_EPILOGUE, &epilogue,
                                                 sizeof epilogue);
    if (st == 0 && p->bias >= 0)
        st = api->cublasLtMatmulDescSetAttribute(*out, DESC_BIAS, &bias, sizeof bias);
    return kiln_nv_blas_says(st, "describing a product", err);
}

static kiln_status propose(kiln_arena *a, const product *p, int compute,
                           kiln_nv_ways *out, kiln_err *err) {
    kiln_nv *nv = p->nv;
    const uint64_t most = nv->workspace_bytes;
    kiln_nv_heuristic found[MOST_PROPOSED];
    void *d = NULL, *preference = NULL;
    int n = 0;
    KILN_TRY(describe_product(p, compute, &d, err));
    int st = nv->api.cublasLtMatmulPreferenceCreate(&preference);
    if (st == 0)
        st = nv->api.cublasLtMatmulPreferenceSetAttribute(preference, PREFER_WORKSPACE,
                                                          &most, sizeof most);
    if (st == 0)
        st = nv->api.cublasLtMatmulAlgoGetHeuristic(nv->lt, d, p->b_d, p->a_d, p->y_d,
                                                    p->y_d, preference, MOST_PROPOSED,
                                                    found, &n);
    KILN_TRY(kiln_nv_blas_says(st, "asking for algorithms", err));
    for (int i = 0; i < n && i < MOST_PROPOSED; i++) {
        if (found[i].status != 0)
            continue;
        proposal *r = kiln_new(a, proposal);
        *r = (proposal){.p = p, .d = d, .compute = compute, .h = found[i]};
        add_way(a, r, true, i, out);
    }
    return KILN_OK;
}

static kiln_status check(const kiln_nv *nv, const kiln_library_op *op, kiln_err *err) {
    const kiln_dtype t = op->out.dtype;
    bool fits = t == KILN_F32 || t == KILN_F16;
    for (int i = 0; i < op->n_in; i++)
        fits = fits && op->in[i].value.type.dtype == t;
    if (!fits)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "cuBLAS is asked for products of f32 and f16 alone");
    if (!nv->has_blas)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "libcublas and libcublasLt are not beside libcudnn: products "
                         "need them (the wheel 'nvidia-cublas')");
    return KILN_OK;
}

static kiln_status open_handles(kiln_nv *nv, kiln_err *err) {
    int st = nv->blas == NULL ? nv->api.cublasCreate_v2(&nv->blas) : 0;
    if (st == 0)
        st = nv->api.cublasSetStream_v2(nv->blas, nv->stream);
    if (st == 0)
        st = nv->api.cublasSetMathMode(nv->blas, 0); /* TF32 is a mode of its own */
    if (st == 0 && nv->lt == NULL)
        st = nv->api.cublasLtCreate(&nv->lt);
    return kiln_nv_blas_says(st, "opening it", err);
}

kiln_status kiln_nv_matmul(kiln_arena *a, kiln_nv *nv, const kiln_library_op *op,
                           kiln_nv_ways *out, kiln_err *err) {
    static const int computes[] = {COMPUTE_32F, COMPUTE_32F_PEDANTIC};
    product *p = kiln_new(a, product);
    kiln_err why = {.status = KILN_OK};
    *p = (product){.nv = nv, .op = op, .is_half = op->out.dtype == KILN_F16};
    KILN_TRY(check(nv, op, err));
    KILN_TRY(measure(p, err));
    KILN_TRY(read_behind(p, err));
    KILN_TRY(open_handles(nv, err));
    KILN_TRY(kiln_nv_workspace(nv, err));
    KILN_TRY(put_operands(p, err));
    for (int i = 0; i < (p->is_half ? 1 : 2); i++) {
        kiln_err_clear(&why);
        (void)propose(a, p, computes[i], out, &why);
        if (op->n_tails > 0)
            continue;
        proposal *r = kiln_new(a, proposal);
        *r = (proposal){.p = p, .compute = computes[i]};
        add_way(a, r, false, 0, out);
    }
    if (out->n > 0)
        return KILN_OK;
    *err = why;
    return why.status;
}
