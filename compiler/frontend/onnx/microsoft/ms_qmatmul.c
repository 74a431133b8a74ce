/* Importers of com.microsoft's products of quantised matrices: QGemm,
 * MatMulIntegerToFloat, DynamicQuantizeMatMul, MatMulNBits. Sums of 8-bit products are
 * exact in i32 (past it they wrap); factors come after, multiplied first, as ONNX
 * Runtime does. */
#include <inttypes.h>
#include <string.h>

#include "compiler/frontend/onnx/ms.h"

static kiln_value *product(kiln_compose *c, const kiln_ms_quant *a,
                           const kiln_ms_quant *b) {
    return kiln_compose_2(c, &kiln_op_matmul, kiln_ms_center(c, a),
                          kiln_ms_center(c, b));
}

/* sums * (sa sb) + bias. */
static kiln_value *scaled(kiln_compose *c, kiln_value *sums, const kiln_ms_quant *a,
                          const kiln_ms_quant *b, kiln_value *bias) {
    kiln_value *const by = kiln_compose_2(c, &kiln_op_mul, a->scale, b->scale);
    sums = kiln_compose_cast(c, sums, KILN_F32);
    return kiln_ms_add(c, kiln_compose_2(c, &kiln_op_mul, sums, by), bias);
}

/* ---- QGemm ---- */

static kiln_value *turned(kiln_compose *c, kiln_value *x, const char *attr) {
    static const int64_t perm[] = {1, 0};
    return kiln_onnx_attr_i(kiln_onnx_of(c->cx), c->site, attr, 0) != 0
               ? kiln_compose_transpose(c, x, perm)
               : x;
}

/* Inputs: A, B and their parameters, C in i32, scale and zero point of Y; without these
 * two the result is f32. */
kiln_status kiln_onnx_import_ms_qgemm(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_ms_quant a, b, y = {0};
    const bool is_float = kiln_onnx_in(cx, n, 7) == NULL;
    KILN_TRY(kiln_ms_read_quant(&c, 0, "A", &a));
    KILN_TRY(kiln_ms_read_quant(&c, 3, "B", &b));
    if (!is_float)
        KILN_TRY(kiln_ms_read_scale(&c, 7, "Y", &y));
    if (is_float == (kiln_onnx_in(cx, n, 8) != NULL))
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "'y_scale' and 'y_zero_point' must be given together");
    KILN_TRY(kiln_ms_check_single(&c, "A", &a));
    if (a.x->type.rank != 2 || b.x->type.rank != 2)
        return kiln_onnx_fail(
            cx, KILN_ERR_SHAPE,
            "inputs 'A' and 'B' must be matrices, have rank %d and %d", a.x->type.rank,
            b.x->type.rank);
    a.x = turned(&c, a.x, "transA");
    b.x = turned(&c, b.x, "transB");
    kiln_value *sums = product(&c, &a, &b);
    sums = kiln_ms_add(&c, sums, kiln_onnx_in(cx, n, 6));
    a.scale = kiln_compose_scalar(&c, &kiln_op_mul, a.scale,
                                  kiln_onnx_attr_f(cx, n, "alpha", 1));
    if (is_float) {
        kiln_onnx_set(cx, n, 0, scaled(&c, sums, &a, &b, NULL));
        return c.status;
    }
    kiln_value *by = kiln_compose_2(&c, &kiln_op_mul, a.scale, b.scale);
    by = kiln_compose_2(&c, &kiln_op_div, by, y.scale);
    sums = kiln_compose_cast(&c, sums, KILN_F32);
    sums = kiln_compose_2(&c, &kiln_op_mul, sums, by);
    kiln_onnx_set(cx, n, 0, kiln_ms_steps(&c, sums, &y, a.x->type.dtype));
    return c.status;
}

/* ---- with a float result ---- */

static kiln_status finish(kiln_compose *c, const kiln_ms_quant *a,
                          const kiln_ms_quant *b, kiln_value *bias) {
    KILN_TRY(c->status);
    kiln_onnx_set(kiln_onnx_of(c->cx), c->site, 0,
                  scaled(c, product(c, a, b), a, b, bias));
    return c->status;
}

/* Inputs: A, B, their scales, their zero points, bias. */
kiln_status kiln_onnx_import_ms_matmul_integer_to_float(kiln_onnx_cx *cx,
                                                        const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_ms_quant q[2];
    static const char *const names[] = {"A", "B", "a_scale", "b_scale"};
    for (int i = 0; i < 2; i++) {
        KILN_TRY(kiln_onnx_need(cx, n, i, names[i], &q[i].x));
        KILN_TRY(kiln_onnx_need(cx, n, 2 + i, names[2 + i], &q[i].scale));
        q[i].scale = kiln_ms_single(&c, q[i].scale);
        q[i].zero = kiln_ms_single(&c, kiln_onnx_in(cx, n, 4 + i));
    }
    KILN_TRY(kiln_ms_check_single(&c, "A", &q[0]));
    return finish(&c, &q[0], &q[1], kiln_onnx_in(cx, n, 6));
}

/* Inputs: A in f32, B, its scale and zero point, bias. */
kiln_status kiln_onnx_import_ms_dynamic_quantize_matmul(kiln_onnx_cx *cx,
                                                        const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_ms_quant b;
    kiln_value *a;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "A", &a));
    KILN_TRY(kiln_ms_read_quant(&c, 1, "B", &b));
    if (a->type.dtype != KILN_F32)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE, "input 'A' must be f32, is %s",
                              kiln_dtype_name(a->type.dtype));
    const kiln_ms_quant q = kiln_ms_dynamic_quant(&c, a);
    return finish(&c, &q, &b, kiln_onnx_in(cx, n, 4));
}

/* ---- MatMulNBits ---- */

typedef struct nbits {
    int64_t k, n, block, bits, blocks; /* blocks: of one column */
    const uint8_t *packed;             /* [n, blocks, block * bits / 8] */
    const double *scales;              /* [n, blocks] */
    const uint8_t *zeros;      /* packed [n, ceil(blocks * bits / 8)], or NULL */
    const double *float_zeros; /* [n, blocks], or NULL */
} nbits;

static kiln_status read_sizes(kiln_compose *c, nbits *m) {
    kiln_onnx_cx *const cx = kiln_onnx_of(c->cx);
    const kiln_onnx_node *const n = c->site;
    m->k = kiln_onnx_attr_i(cx, n, "K", 0);
    m->n = kiln_onnx_attr_i(cx, n, "N", 0);
    m->bits = kiln_onnx_attr_i(cx, n, "bits", 4);
    m->block = kiln_onnx_attr_i(cx, n, "block_size", 0);
    kiln_onnx_attr_i(cx, n, "accuracy_level", 0); /* a floor: kiln keeps a's dtype */
    if (m->bits != 2 && m->bits != 4 && m->bits != 8)
        return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                              "attribute 'bits' must be 2, 4 or 8, is %" PRId64
                              "; quantise the weights to one of these",
                              m->bits);
    if (m->block < 16 || m->block > 1 << 20 || (m->block & (m->block - 1)) != 0)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "attribute 'block_size' must be a power of 2 in "
                              "[16, 2^20], is %" PRId64,
                              m->block);
    if (m->k < 1 || m->n < 1 || m->k > KILN_MAX_ELEMS / m->n)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "attributes 'K' and 'N' must be >= 1 and the shape of a "
                              "tensor, are %" PRId64 " and %" PRId64,
                              m->k, m->n);
    if (kiln_onnx_attr_i(cx, n, "weight_prepacked", 0) != 0)
        return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                              "weights packed for one execution provider are not read; "
                              "save the model with weight_prepacked = 0");
    if (kiln_onnx_in(cx, n, 4) != NULL)
        return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                              "'g_idx' is not read; quantise with blocks in order");
    m->blocks = (m->k + m->block - 1) / m->block;
    return KILN_OK;
}

static kiln_status check_count(kiln_compose *c, const char *name, int64_t have,
                               int64_t want) {
    if (have == want)
        return KILN_OK;
    return kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                     "input '%s' must have %" PRId64 " elements, has %" PRId64, name,
                     want, have);
}

static kiln_status read_bytes(kiln_compose *c, kiln_value *v, const char *name,
                              int64_t want, const uint8_t **out) {
    kiln_tensor t;
    KILN_TRY(kiln_import_const(c->cx, v, name, &t));
    if (t.type.dtype != KILN_U8)
        return kiln_fail(c->cx->err, KILN_ERR_SHAPE, "input '%s' must be u8, is %s",
                         name, kiln_dtype_name(t.type.dtype));
    *out = t.data;
    return check_count(c, name, kiln_type_elems(&t.type), want);
}

static kiln_status read_floats(kiln_compose *c, kiln_value *v, const char *name,
                               int64_t want, const double **out) {
    size_t n;
    KILN_TRY(kiln_import_const_floats(c->cx, v, name, out, &n));
    return check_count(c, name, (int64_t)n, want);
}

static kiln_status read_packed(kiln_compose *c, nbits *m) {
    kiln_value *b,
        *scales, *const zeros = kiln_onnx_in(kiln_onnx_of(c->cx), c->site, 3);
    const int64_t bytes = m->block * m->bits / 8;
    KILN_TRY(kiln_onnx_need(kiln_onnx_of(c->cx), c->site, 1, "B", &b));
    KILN_TRY(kiln_onnx_need(kiln_onnx_of(c->cx), c->site, 2, "scales", &scales));
    KILN_TRY(read_bytes(c, b, "B", m->n * m->blocks * bytes, &m->packed));
    KILN_TRY(read_floats(c, scales, "scales", m->n * m->blocks, &m->scales));
    if (zeros == NULL)
        return KILN_OK;
    if (zeros->type.dtype != KILN_U8)
        return read_floats(c, zeros, "zero_points", m->n * m->blocks, &m->float_zeros);
    return read_bytes(c, zeros, "zero_points", m->n * ((m->blocks * m->bits + 7) / 8),
                      &m->zeros);
}

/* Number i of those that lie in bytes from the lowest bits on. */
static unsigned unpack(const uint8_t *bytes, int64_t i, int64_t bits) {
    const int64_t bit = i * bits;
    return bytes[bit / 8] >> (bit % 8) & ((1U << bits) - 1);
}

/* (b - zero) * scale as [K, N]. */
static void fill_weights(const nbits *m, float *w) {
    const int64_t row = (m->blocks * m->bits + 7) / 8;
    for (int64_t j = 0; j < m->n; j++) {
        const uint8_t *const column =
            m->packed + j * m->blocks * (m->block * m->bits / 8);
        for (int64_t i = 0; i < m->k; i++) {
            const int64_t block = i / m->block, at = j * m->blocks + block;
            double zero = (double)(1U << (m->bits - 1));
            if (m->zeros != NULL)
                zero = unpack(m->zeros + j * row, block, m->bits);
            if (m->float_zeros != NULL)
                zero = m->float_zeros[at];
            w[i * m->n + j] =
                (float)(((double)unpack(column, i, m->bits) - zero) * m->scales[at]);
        }
    }
}

/* The weights become floats at import: a constant of 32 / bits times the size. */
kiln_status kiln_onnx_import_ms_matmul_nbits(kiln_onnx_cx *cx,
                                             const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    nbits m = {0};
    kiln_value *a;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "A", &a));
    KILN_TRY(read_sizes(&c, &m));
    KILN_TRY(read_packed(&c, &m));
    const int64_t dim[] = {m.k, m.n};
    const kiln_type type = kiln_type_make(KILN_F32, 2, dim);
    KILN_TRY(kiln_onnx_spend(cx, kiln_type_bytes(&type)));
    const kiln_tensor t = kiln_tensor_new(kiln_onnx_arena(cx), &type);
    fill_weights(&m, t.data);
    kiln_value *w = kiln_graph_add_const(kiln_onnx_target(cx), "w", &type, t.data);
    w = kiln_compose_cast(&c, w, a->type.dtype);
    kiln_value *const y = kiln_compose_2(&c, &kiln_op_matmul, a, w);
    kiln_onnx_set(cx, n, 0, kiln_ms_add(&c, y, kiln_onnx_in(cx, n, 5)));
    return c.status;
}
