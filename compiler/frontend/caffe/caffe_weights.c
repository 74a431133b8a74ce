/* Weights of a Caffe net: blobs of its .caffemodel, found by the layer's name. They stay
 * views into the file; numbers that are computed with become doubles. */
#include "compiler/frontend/caffe/caffe_internal.h"

#include <inttypes.h>
#include <string.h>

static kiln_str bytes_of(const kiln_caffe_blob *b) {
    return b->data.n > 0 ? b->data : b->double_data;
}

kiln_status kiln_caffe_blob_type(const kiln_caffe_blob *b, kiln_type *out,
                                 kiln_err *err) {
    const int64_t old[] = {b->num, b->channels, b->height, b->width};
    const int64_t *const dim = b->shape != NULL ? b->shape->dim : old;
    const size_t rank = b->shape != NULL ? b->shape->n_dim : 4;
    const kiln_dtype dtype = b->data.n > 0 ? KILN_F32 : KILN_F64;
    if (rank > KILN_MAX_RANK)
        return kiln_fail(err, KILN_ERR_LIMIT, "a blob may have %d axes, has %zu",
                         KILN_MAX_RANK, rank);
    *out = kiln_type_make(dtype, (int)rank, dim);
    KILN_TRY(kiln_type_check(out, err));
    if ((uint64_t)kiln_type_bytes(out) != bytes_of(b).n)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "a blob of %" PRId64 " elements must have %" PRId64
                         " bytes, has %zu; is the file damaged?",
                         kiln_type_elems(out), kiln_type_bytes(out), bytes_of(b).n);
    return KILN_OK;
}

static kiln_status find(kiln_caffe_cx *cx, const kiln_caffe_layer *l, size_t i,
                        const char *what, const kiln_caffe_blob **out,
                        kiln_type *type) {
    const kiln_caffe_layer *const from = kiln_map_get(&cx->weights, l->name);
    if (from == NULL || i >= from->n_blobs)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "its %s must be blob %zu of the layer of this name in '%s', "
                         "which has %s%zu; are the two files of one net?",
                         what, i, cx->weights_name,
                         from == NULL ? "no such layer, so " : "",
                         from == NULL ? (size_t)0 : from->n_blobs);
    *out = &from->blobs[i];
    const kiln_status st = kiln_caffe_blob_type(*out, type, cx->common.err);
    if (st != KILN_OK)
        kiln_note(cx->common.err, "reading its %s in '%s'", what, cx->weights_name);
    return st;
}

/* Equal but for axes of 1: of old every blob has four axes. */
static bool same_but_ones(const kiln_type *t, int rank, const int64_t *dim) {
    int i = 0;
    for (int k = 0; k < t->rank; k++) {
        if (t->dim[k] == 1)
            continue;
        while (i < rank && dim[i] == 1)
            i++;
        if (i == rank || dim[i] != t->dim[k])
            return false;
        i++;
    }
    while (i < rank && dim[i] == 1)
        i++;
    return i == rank;
}

kiln_status kiln_caffe_weight(kiln_caffe_cx *cx, const kiln_caffe_layer *l, size_t i,
                              const char *what, int rank, const int64_t *dim,
                              kiln_value **out) {
    const kiln_caffe_blob *b;
    kiln_type has;
    KILN_ASSERT(rank >= 0 && rank <= KILN_MAX_RANK, "its %s has %d axes", what, rank);
    KILN_TRY(find(cx, l, i, what, &b, &has));
    if (!same_but_ones(&has, rank, dim))
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "its %s must have shape %s, has %s in '%s'; are the two files "
                         "of one net?",
                         what, kiln_shape_text(&cx->common.scratch, rank, dim),
                         kiln_shape_text(&cx->common.scratch, has.rank, has.dim),
                         cx->weights_name);
    const kiln_type type = kiln_type_make(has.dtype, rank, dim);
    const char *const name =
        kiln_format(cx->common.arena, "%.*s.%s", KILN_STR_ARG(l->name), what);
    kiln_value *const v =
        kiln_graph_add_const(cx->common.graph, name, &type, bytes_of(b).p);
    return kiln_import_cast(&cx->common, l, v, KILN_F32, out);
}

kiln_status kiln_caffe_numbers(kiln_caffe_cx *cx, const kiln_caffe_layer *l, size_t i,
                               const char *what, int64_t n, const double **out) {
    const kiln_caffe_blob *b;
    kiln_type has;
    KILN_TRY(find(cx, l, i, what, &b, &has));
    if (kiln_type_elems(&has) != n)
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "its %s must have %" PRId64 " elements, has %" PRId64
                         " in '%s'; are the two files of one net?",
                         what, n, kiln_type_elems(&has), cx->weights_name);
    KILN_TRY(kiln_import_spend(&cx->common, 8 * n));
    double *const v = kiln_array(&cx->common.scratch, double, n);
    const char *const from = bytes_of(b).p;
    KILN_ASSERT(bytes_of(b).n == (size_t)n * kiln_dtype_bytes(has.dtype),
                "its %s has %zu bytes", what, bytes_of(b).n);
    for (int64_t k = 0; k < n; k++) {
        float single = 0;
        if (has.dtype == KILN_F64) {
            memcpy(&v[k], from + 8 * k, 8);
        } else {
            memcpy(&single, from + 4 * k, 4);
            v[k] = (double)single;
        }
    }
    *out = v;
    return KILN_OK;
}
