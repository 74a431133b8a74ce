/* Importers of RotaryEmbedding (23; com.microsoft), composed of canonical operators.
 *
 * The first `rotary_embedding_dim` elements of every head are pairs (a, b), turned by
 * an angle that the position decides: (a cos - b sin, a sin + b cos) (Su et al. 2021,
 * section 3.4). A pair is two neighbours where `interleaved`, else element i of both
 * halves. */
#include "compiler/frontend/onnx/onnx_internal.h"

#include <inttypes.h>

typedef struct rotary {
    kiln_value *x;         /* [B, heads, length, size] */
    kiln_value *cos, *sin; /* [B, 1, length, half] */
    kiln_value *ids;       /* positions, [B, length], or NULL */
    int64_t half;          /* pairs in a head */
    bool is_interleaved;
} rotary;

/* A cache as [B, 1, length, half]. */
static kiln_status read_cache(kiln_compose *c, const rotary *r, int i, const char *name,
                              kiln_value **out) {
    const int64_t *d = r->x->type.dim;
    kiln_value *cache;
    KILN_TRY(kiln_onnx_need(kiln_onnx_of(c->cx), c->site, i, name, &cache));
    if (r->ids != NULL && cache->type.rank == 2)
        cache = kiln_compose_axis(c, &kiln_op_gather, cache, r->ids, 0);
    KILN_TRY(c->status);
    const kiln_type *t = &cache->type;
    if (t->rank != 3 || t->dim[0] != d[0] || t->dim[1] != d[2] || t->dim[2] != r->half)
        return kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                         "input '%s' must hold %" PRId64 " numbers for each of "
                         "%" PRId64 " x %" PRId64 " positions",
                         name, r->half, d[0], d[2]);
    *out = kiln_compose_reshape(c, cache, 4, (int64_t[]){d[0], 1, d[2], r->half});
    return c->status;
}

/* The first (which 0) or second element of all pairs. */
static kiln_value *part(kiln_compose *c, const rotary *r, int64_t which) {
    const int64_t start = r->is_interleaved ? which : which * r->half;
    return kiln_compose_slice(c, r->x, 3, start, r->is_interleaved ? 2 : 1, r->half);
}

static kiln_value *join_pairs(kiln_compose *c, const rotary *r, kiln_value *a,
                              kiln_value *b) {
    const int64_t *d = r->x->type.dim;
    const int64_t column[] = {d[0], d[1], d[2], r->half, 1};
    const int64_t row[] = {d[0], d[1], d[2], 2 * r->half};
    if (!r->is_interleaved)
        return kiln_compose_axis(c, &kiln_op_concat, a, b, 3);
    a = kiln_compose_reshape(c, a, 5, column);
    b = kiln_compose_reshape(c, b, 5, column);
    return kiln_compose_reshape(c, kiln_compose_axis(c, &kiln_op_concat, a, b, 4), 4,
                                row);
}

static kiln_value *turn(kiln_compose *c, const rotary *r) {
    const int64_t size = r->x->type.dim[3], rest = size - 2 * r->half;
    kiln_value *const a = part(c, r, 0), *const b = part(c, r, 1);
    kiln_value *const real =
        kiln_compose_2(c, &kiln_op_sub, kiln_compose_2(c, &kiln_op_mul, r->cos, a),
                       kiln_compose_2(c, &kiln_op_mul, r->sin, b));
    kiln_value *const imag =
        kiln_compose_2(c, &kiln_op_add, kiln_compose_2(c, &kiln_op_mul, r->sin, a),
                       kiln_compose_2(c, &kiln_op_mul, r->cos, b));
    kiln_value *y = join_pairs(c, r, real, imag);
    if (rest > 0)
        y = kiln_compose_axis(c, &kiln_op_concat, y,
                              kiln_compose_slice(c, r->x, 3, 2 * r->half, 1, rest), 3);
    return y;
}

/* x in heads; `heads` where it has rank 3. */
static kiln_status read_heads(kiln_compose *c, rotary *r, int64_t heads) {
    KILN_TRY(kiln_onnx_need(kiln_onnx_of(c->cx), c->site, 0, "X", &r->x));
    const int rank = r->x->type.rank;
    if (rank != 3 && rank != 4)
        return kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                         "input 'X' must have rank 3 or 4, has %d", rank);
    if (rank == 3 && (heads < 1 || r->x->type.dim[2] % heads != 0))
        return kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                         "attribute 'num_heads' must be >= 1 and divide the "
                         "%" PRId64 " features of 'X', is %" PRId64,
                         r->x->type.dim[2], heads);
    if (rank == 3)
        r->x = kiln_compose_split_heads(c, r->x, heads);
    return c->status;
}

/* cos, sin: inputs. */
static kiln_status rotate(kiln_compose *c, rotary *r, int cos, int sin, bool joins) {
    kiln_onnx_cx *const cx = kiln_onnx_of(c->cx);
    r->is_interleaved = kiln_onnx_attr_i(cx, c->site, "interleaved", 0) != 0;
    const int64_t size = r->x->type.dim[3];
    int64_t dim = kiln_onnx_attr_i(cx, c->site, "rotary_embedding_dim", 0);
    dim = dim == 0 ? size : dim;
    if (dim < 0 || dim > size || dim % 2 != 0)
        return kiln_onnx_fail(
            cx, KILN_ERR_SHAPE,
            "attribute 'rotary_embedding_dim' must be even and at most "
            "the size of a head %" PRId64 ", is %" PRId64,
            size, dim);
    r->half = dim / 2;
    KILN_TRY(read_cache(c, r, cos, "cos_cache", &r->cos));
    KILN_TRY(read_cache(c, r, sin, "sin_cache", &r->sin));
    kiln_value *const y = turn(c, r);
    kiln_onnx_set(cx, c->site, 0, joins ? kiln_compose_join_heads(c, y) : y);
    return c->status;
}

kiln_status kiln_onnx_import_rotary_embedding(kiln_onnx_cx *cx,
                                              const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x;
    rotary r = {.ids = kiln_onnx_in(cx, n, 3)};
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    KILN_TRY(read_heads(&c, &r, kiln_onnx_attr_i(cx, n, "num_heads", 0)));
    return rotate(&c, &r, 1, 2, x->type.rank == 3);
}

/* ---- com.microsoft ---- */

/* [B, length] out of input 1, which may be one number: the first position. */
static kiln_status read_positions(kiln_compose *c, rotary *r) {
    kiln_value *ids;
    const int64_t batch = r->x->type.dim[0], length = r->x->type.dim[2];
    KILN_TRY(kiln_onnx_need(kiln_onnx_of(c->cx), c->site, 1, "position_ids", &ids));
    if (ids->type.rank == 1 && ids->type.dim[0] == 1) {
        kiln_value *const i = kiln_compose_iota(c, length);
        ids = kiln_compose_2(c, &kiln_op_add, i, kiln_compose_cast(c, ids, KILN_I64));
        ids = kiln_compose_expand(c, ids, 2, (int64_t[]){batch, length});
    }
    r->ids = ids;
    return c->status;
}

/* Inputs: x, positions, caches. Without num_heads the caches say how large a head is.
 */
kiln_status kiln_onnx_import_ms_rotary_embedding(kiln_onnx_cx *cx,
                                                 const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x, *cos;
    rotary r = {0};
    int64_t heads = kiln_onnx_attr_i(cx, n, "num_heads", 0);
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &x));
    KILN_TRY(kiln_onnx_need(cx, n, 2, "cos_cache", &cos));
    if (cos->type.rank != 2 || cos->type.dim[1] < 1)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "input 'cos_cache' must be [positions, numbers], is %s",
                              kiln_type_text(kiln_onnx_arena(cx), &cos->type));
    const double scale = kiln_onnx_attr_f(cx, n, "scale", 1);
    if (kiln_onnx_attr_i(cx, n, "is_packed_batching", 0) != 0 || scale < 1 || scale > 1)
        return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                              "attributes 'is_packed_batching' and 'scale' must be 0 "
                              "and 1; export without them");
    if (heads == 0 && x->type.rank == 3)
        heads = x->type.dim[2] / (2 * cos->type.dim[1]);
    KILN_TRY(read_heads(&c, &r, heads));
    KILN_TRY(read_positions(&c, &r));
    return rotate(&c, &r, 2, 3, x->type.rank == 3);
}
