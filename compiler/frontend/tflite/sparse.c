/* Sparse constants: the elements that a file has, put where they belong among zeros.
 *
 * Dimensions, and below them those of blocks, are walked in the file's order. A dense
 * one has all its indexes, a compressed one those of a segment. Source: TensorFlow Lite,
 * schema.fbs, SparsityParameters; "Sparse tensor format" after TACO (Kjolstad et al.,
 * 2017). */
#include "compiler/frontend/tflite/tflite_internal.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_LEVELS = 2 * KILN_MAX_RANK };

/* Int32Vector, Uint16Vector, Uint8Vector */
enum { INT32_VECTOR = 1, UINT16_VECTOR, UINT8_VECTOR };

typedef struct numbers {
    const int32_t *i32;
    size_t n_i32;
    const uint16_t *u16;
    size_t n_u16;
    kiln_str u8;
} numbers;

static const kiln_fb_field i32_field[] = {{0, KILN_FB_I32S, "values",
                                           offsetof(numbers, i32),
                                           offsetof(numbers, n_i32), 0, NULL}};
static const kiln_fb_field u16_field[] = {{0, KILN_FB_U16S, "values",
                                           offsetof(numbers, u16),
                                           offsetof(numbers, n_u16), 0, NULL}};
static const kiln_fb_field u8_field[] = {
    {0, KILN_FB_BYTES, "values", offsetof(numbers, u8), 0, 0, NULL}};
static const kiln_fb_table vectors[] = {
    [INT32_VECTOR] = {"Int32Vector", sizeof(numbers), i32_field, 1},
    [UINT16_VECTOR] = {"Uint16Vector", sizeof(numbers), u16_field, 1},
    [UINT8_VECTOR] = {"Uint8Vector", sizeof(numbers), u8_field, 1},
};

/* One dimension that is walked. */
typedef struct level {
    int axis;     /* of the tensor */
    int64_t size; /* indexes there are */
    bool is_compressed;
    numbers segments, indices; /* of compressed ones */
} level;

typedef struct walk {
    kiln_tflite_cx *cx;
    level level[MAX_LEVELS];
    int n_levels, rank;
    int64_t at[MAX_LEVELS];                              /* indexes chosen so far */
    int64_t stride[KILN_MAX_RANK], block[KILN_MAX_RANK]; /* block: 1 without one */
    size_t bytes;                                        /* of an element */
    kiln_str from;
    char *to;
} walk;

static size_t count_of(const numbers *n) { return n->n_i32 + n->n_u16 + n->u8.n; }

static int64_t number_at(const numbers *n, size_t i) {
    KILN_ASSERT(i < count_of(n), "number %zu of %zu", i, count_of(n));
    return n->n_i32 > 0   ? n->i32[i]
           : n->n_u16 > 0 ? n->u16[i]
                          : (int64_t)(unsigned char)n->u8.p[i];
}

static kiln_status damaged(walk *w, const char *what) {
    return kiln_tflite_fail(w->cx, KILN_ERR_PARSE,
                            "a sparse constant %s; is the file damaged?", what);
}

static kiln_status read_numbers(walk *w, int64_t type, kiln_fb_ref ref, numbers *out) {
    if (type < INT32_VECTOR || type > UINT8_VECTOR || ref == 0)
        return damaged(w, "has a compressed dimension without its indexes");
    return kiln_fb_at(&w->cx->fb, ref, &vectors[type], out);
}

/* ---- what is walked ----------------------------------------------------------------- */

/* Dimension d of the tensor, or behind those of its blocks. */
static kiln_status read_axis(walk *w, const kiln_tflite_sparsity *s, int64_t d,
                             level *l) {
    if (d < 0 || d >= w->n_levels)
        return damaged(w, "walks a dimension that it has not");
    l->axis = (int)d;
    if (d < w->rank)
        return KILN_OK;
    const int64_t axis = s->block_map[d - w->rank];
    if (axis < 0 || axis >= w->rank)
        return damaged(w, "has blocks along a dimension that it has not");
    l->axis = (int)axis;
    return KILN_OK;
}

static kiln_status read_levels(walk *w, const kiln_tflite_tensor *t) {
    const kiln_tflite_sparsity *const s = t->sparsity;
    bool is_taken[MAX_LEVELS] = {false};
    w->n_levels = (int)(t->n_shape + s->n_block_map);
    KILN_ASSERT(w->n_levels <= MAX_LEVELS, "%d dimensions are walked", w->n_levels);
    for (int i = 0; i < w->n_levels; i++) {
        const kiln_tflite_dim *const d = &s->dim[i];
        level *const l = &w->level[i];
        const int64_t walked = s->traversal_order[i];
        KILN_TRY(read_axis(w, s, walked, l));
        if (is_taken[walked] || (i < w->rank) != (walked < w->rank))
            return damaged(w, "walks a dimension twice, or a block before its tensor");
        is_taken[walked] = true;
        l->is_compressed = d->format != 0;
        if (i >= w->rank) {
            if (d->format != 0 || d->dense_size < 1 || w->block[l->axis] != 1 ||
                t->shape[l->axis] % d->dense_size != 0)
                return damaged(w, "has blocks that do not divide it");
            w->block[l->axis] = l->size = d->dense_size;
        }
    }
    for (int i = 0; i < w->rank; i++) {
        const kiln_tflite_dim *const d = &s->dim[i];
        level *const l = &w->level[i];
        l->size = t->shape[l->axis] / w->block[l->axis];
        if (!l->is_compressed && d->dense_size != l->size)
            return damaged(w, "has a dense dimension of another size");
        if (!l->is_compressed)
            continue;
        KILN_TRY(read_numbers(w, d->segments_type, d->segments, &l->segments));
        KILN_TRY(read_numbers(w, d->indices_type, d->indices, &l->indices));
    }
    return KILN_OK;
}

/* ---- walking ------------------------------------------------------------------------ */

static kiln_status put(walk *w) {
    int64_t to = 0;
    if (w->from.n < w->bytes)
        return damaged(w, "has fewer elements than indexes");
    for (int i = 0; i < w->n_levels; i++) {
        const level *const l = &w->level[i];
        to += w->at[i] * w->stride[l->axis] * (i < w->rank ? w->block[l->axis] : 1);
    }
    KILN_ASSERT(to >= 0, "an element lies before its constant");
    memcpy(w->to + (size_t)to * w->bytes, w->from.p, w->bytes);
    w->from.p += w->bytes;
    w->from.n -= w->bytes;
    return KILN_OK;
}

/* `at`: which part of the level, by the indexes above it. */
static kiln_status walk_level(walk *w, int depth, int64_t at) {
    if (depth == w->n_levels)
        return put(w);
    const level *const l = &w->level[depth];
    if (!l->is_compressed) {
        for (int64_t i = 0; i < l->size; i++) {
            w->at[depth] = i;
            KILN_TRY(walk_level(w, depth + 1, at * l->size + i));
        }
        return KILN_OK;
    }
    if (at < 0 || (uint64_t)at + 1 >= count_of(&l->segments))
        return damaged(w, "has fewer segments than parts");
    const int64_t begin = number_at(&l->segments, (size_t)at);
    const int64_t end = number_at(&l->segments, (size_t)at + 1);
    if (begin < 0 || end < begin || (uint64_t)end > count_of(&l->indices))
        return damaged(w, "has a segment that lies outside of its indexes");
    for (int64_t i = begin; i < end; i++) {
        w->at[depth] = number_at(&l->indices, (size_t)i);
        if (w->at[depth] < 0 || w->at[depth] >= l->size)
            return damaged(w, "has an index that lies outside of it");
        KILN_TRY(walk_level(w, depth + 1, i));
    }
    return KILN_OK;
}

kiln_status kiln_tflite_densify(kiln_tflite_cx *cx, const kiln_tflite_tensor *t,
                                const kiln_type *type, kiln_str *data) {
    const kiln_tflite_sparsity *const s = t->sparsity;
    walk w = {.cx = cx,
              .rank = type->rank,
              .bytes = kiln_dtype_bytes(type->dtype),
              .from = *data};
    const size_t n = (size_t)type->rank + s->n_block_map;
    if (type->rank < 1 || s->n_block_map > KILN_MAX_RANK || s->n_traversal_order != n ||
        s->n_dim != n)
        return damaged(&w, "must say of each dimension how it is stored");
    for (int i = 0; i < type->rank; i++)
        w.block[i] = 1;
    kiln_strides(type->rank, type->dim, w.stride);
    KILN_TRY(read_levels(&w, t));
    KILN_TRY(kiln_import_spend(&cx->common, kiln_type_bytes(type)));
    w.to = kiln_tensor_new(cx->common.arena, type).data;
    KILN_TRY(walk_level(&w, 0, 0));
    *data = (kiln_str){w.to, (size_t)kiln_type_bytes(type)};
    return KILN_OK;
}
