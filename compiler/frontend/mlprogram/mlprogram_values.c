/* Values of an ML program: constants in the file and beside it, operands by name.
 * Source: MIL.proto; coremltools, MILBlob, StorageFormat.hpp (version 2). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "compiler/frontend/frontend_beside.h"
#include "compiler/frontend/mlprogram/mil.h"

/* ---- constants -------------------------------------------------------------------- */

static kiln_status type_of(kiln_mil_cx *cx, const kiln_mil_type *t, kiln_type *out) {
    int64_t dim[KILN_MAX_RANK];
    kiln_dtype dtype;
    if (t == NULL || t->tensor == NULL)
        return kiln_fail(
            cx->common.err, KILN_ERR_UNSUPPORTED,
            "a constant must be a tensor: lists, tuples and states are not "
            "read");
    KILN_TRY(kiln_mil_dtype(t->tensor->dtype, &dtype, cx->common.err));
    if (t->tensor->n_dim > KILN_MAX_RANK)
        return kiln_fail(cx->common.err, KILN_ERR_LIMIT,
                         "rank must be at most %d, is %zu", KILN_MAX_RANK,
                         t->tensor->n_dim);
    for (size_t i = 0; i < t->tensor->n_dim; i++) {
        const kiln_mil_size *const s = t->tensor->dim[i].constant;
        if (s == NULL || s->size > (uint64_t)KILN_MAX_ELEMS)
            return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                             "a constant has a dimension of no size, or too large");
        dim[i] = (int64_t)s->size;
    }
    *out = kiln_type_make(dtype, (int)t->tensor->n_dim, dim);
    return kiln_type_check(out, cx->common.err);
}

/* "@model_path/weights/weight.bin", mapped once. */
static kiln_status map_weights(kiln_mil_cx *cx, kiln_str file) {
    static const char prefix[] = "@model_path/";
    kiln_arena *const a = cx->common.arena;
    kiln_str name = file;
    if (kiln_str_starts(name, prefix)) {
        name.p += sizeof prefix - 1;
        name.n -= sizeof prefix - 1;
    }
    if (cx->weights_name != NULL && kiln_str_is(name, cx->weights_name))
        return KILN_OK;
    if (cx->weights_name != NULL || cx->dir == NULL || !kiln_path_is_contained(name))
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "weights must be in one file beside the model, are in '%s'",
                         kiln_import_show(&cx->common, file));
    const char *const own = kiln_str_dupv(a, name);
    const char *const path = kiln_path_join(a, cx->dir, own);
    KILN_TRY(kiln_import_check_link(&cx->common.scratch, path, cx->dir, cx->model,
                                    cx->common.err));
    KILN_TRY(kiln_file_map(a, path, 0, &cx->weights, cx->common.err));
    cx->weights_name = own;
    const kiln_import_data data = {own, cx->weights};
    kiln_vec_push(a, &cx->report->data, data);
    return KILN_OK;
}

/* Each blob has a head of 64 bytes: a mark, its type, size and place. */
static kiln_status read_blob(kiln_mil_cx *cx, const kiln_mil_blob *b, size_t bytes,
                             const void **out) {
    enum { HEAD = 64 };
    uint32_t mark = 0;
    uint64_t size = 0, at = 0;
    KILN_TRY(map_weights(cx, b->file));
    const kiln_str w = cx->weights;
    if (b->offset > w.n || HEAD > w.n - b->offset)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "a blob at byte %" PRIu64 " lies past the end of '%s'; is it "
                         "complete?",
                         b->offset, cx->weights_name);
    memcpy(&mark, w.p + b->offset, sizeof mark);
    memcpy(&size, w.p + b->offset + 8, sizeof size);
    memcpy(&at, w.p + b->offset + 16, sizeof at);
    if (mark != UINT32_C(0xdeadbeef) || at > w.n || size > w.n - at)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "there is no blob at byte %" PRIu64
                         " of '%s'; is it complete?",
                         b->offset, cx->weights_name);
    if (size != bytes)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "the blob at byte %" PRIu64
                         " must have %zu bytes, has %" PRIu64,
                         b->offset, bytes, size);
    *out = w.p + at;
    return KILN_OK;
}

static kiln_status wrong_count(kiln_mil_cx *cx, int64_t want, size_t n) {
    return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                     "a constant must have %" PRId64 " elements, has %zu", want, n);
}

static kiln_status read_immediate(kiln_mil_cx *cx, const kiln_mil_tensor *t,
                                  const kiln_type *type, const void **out) {
    const int64_t n = kiln_type_elems(type);
    const size_t bytes = (size_t)kiln_type_bytes(type);
    kiln_arena *const a = cx->common.arena;
    if (t->bytes != NULL) {
        *out = t->bytes->v.p;
        return t->bytes->v.n == bytes ? KILN_OK
                                      : wrong_count(cx, (int64_t)bytes, t->bytes->v.n);
    }
    KILN_TRY(kiln_import_spend(&cx->common, (int64_t)bytes));
    kiln_wide w = kiln_wide_new(&cx->common.scratch, type);
    const kiln_mil_longs *const ints = t->ints != NULL    ? t->ints
                                       : t->longs != NULL ? t->longs
                                                          : t->bools;
    const size_t count = t->floats != NULL ? t->floats->n_v
                         : ints != NULL    ? ints->n_v
                                           : 0;
    if (count != (size_t)n)
        return wrong_count(cx, n, count);
    const double limit = 0x1p63;
    for (int64_t i = 0; i < n; i++) {
        const double f =
            t->floats != NULL ? (double)t->floats->v[i] : (double)ints->v[i];
        if (w.f != NULL)
            w.f[i] = f;
        else if (t->floats == NULL)
            w.i[i] = ints->v[i];
        else if (f >= -limit && f < limit) /* NaN is not */
            w.i[i] = (int64_t)f;
        else
            return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                             "element %lld of a tensor of integers is %g", (long long)i,
                             f);
    }
    void *const data = kiln_arena_alloc(a, bytes);
    kiln_narrow(&w, data);
    *out = data;
    return KILN_OK;
}

kiln_status kiln_mil_const(kiln_mil_cx *cx, const kiln_mil_value *v, const char *name,
                           kiln_mil_known *out) {
    enum { STRING = 2 };
    const void *data = NULL;
    kiln_type type;
    *out = (kiln_mil_known){.value = NULL};
    if (v == NULL)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE, "a constant without a value");
    const kiln_mil_tensor *const t = v->immediate != NULL ? v->immediate->tensor : NULL;
    if (v->type != NULL && v->type->tensor != NULL &&
        v->type->tensor->dtype == STRING) {
        if (t == NULL || t->strings == NULL || t->strings->n_v != 1)
            return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                             "words must be one each");
        out->word = t->strings->v[0];
        return KILN_OK;
    }
    KILN_TRY(type_of(cx, v->type, &type));
    if (v->blob != NULL)
        KILN_TRY(read_blob(cx, v->blob, (size_t)kiln_type_bytes(&type), &data));
    else if (t != NULL)
        KILN_TRY(read_immediate(cx, t, &type, &data));
    else if (kiln_type_elems(&type) > 0)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE, "a constant has no data");
    out->value =
        kiln_graph_add_const(cx->common.graph, kiln_str_dup(cx->common.arena, name),
                             &type, data != NULL ? data : "");
    KILN_ASSERT(out->value != NULL, "'%s' became no constant", name);
    return KILN_OK;
}

/* ---- operands --------------------------------------------------------------------- */

static const kiln_mil_argument *find(const kiln_mil_call *k, const char *name) {
    for (size_t i = 0; i < k->op->n_input; i++)
        if (kiln_str_is(k->op->input[i].key, name))
            return &k->op->input[i];
    return NULL;
}

static kiln_status resolve(kiln_mil_call *k, const kiln_mil_binding *b,
                           const char *name, kiln_mil_known *out) {
    if (b->value != NULL)
        return kiln_mil_const(k->cx, b->value, name, out);
    const kiln_mil_known *const known = kiln_map_get(&k->cx->values, b->name);
    if (known == NULL)
        return kiln_mil_fail(k, KILN_ERR_PARSE,
                             "operand '%s' is '%s', which nothing before makes", name,
                             kiln_import_show(&k->cx->common, b->name));
    *out = *known;
    return KILN_OK;
}

static kiln_status get(kiln_mil_call *k, const char *name, bool *is_there,
                       kiln_mil_known *out) {
    const kiln_mil_argument *const arg = find(k, name);
    *is_there = arg != NULL && arg->n_binding > 0;
    if (!*is_there)
        return KILN_OK;
    if (arg->n_binding != 1)
        return kiln_mil_fail(k, KILN_ERR_PARSE, "operand '%s' must be one value", name);
    return resolve(k, &arg->binding[0], name, out);
}

kiln_status kiln_mil_get(kiln_mil_call *k, const char *name, kiln_value **out) {
    kiln_mil_known known = {.value = NULL};
    bool is_there;
    *out = NULL;
    KILN_TRY(get(k, name, &is_there, &known));
    if (is_there && known.value == NULL)
        return kiln_mil_fail(k, KILN_ERR_PARSE, "operand '%s' must be a tensor", name);
    *out = known.value;
    return KILN_OK;
}

kiln_status kiln_mil_need(kiln_mil_call *k, const char *name, kiln_value **out) {
    KILN_TRY(kiln_mil_get(k, name, out));
    return *out != NULL
               ? KILN_OK
               : kiln_mil_fail(k, KILN_ERR_PARSE, "operand '%s' is missing", name);
}

kiln_status kiln_mil_list(kiln_mil_call *k, const char *name, kiln_value ***out,
                          size_t *n) {
    const kiln_mil_argument *const arg = find(k, name);
    if (arg == NULL || arg->n_binding == 0)
        return kiln_mil_fail(k, KILN_ERR_PARSE, "operand '%s' is missing", name);
    *n = arg->n_binding;
    *out = kiln_array(&k->cx->common.scratch, kiln_value *, *n);
    for (size_t i = 0; i < *n; i++) {
        kiln_mil_known known;
        KILN_TRY(resolve(k, &arg->binding[i], name, &known));
        if (known.value == NULL)
            return kiln_mil_fail(k, KILN_ERR_PARSE, "operand '%s' must be tensors",
                                 name);
        (*out)[i] = known.value;
    }
    return KILN_OK;
}

kiln_status kiln_mil_ints(kiln_mil_call *k, const char *name, const int64_t **out,
                          size_t *n) {
    kiln_value *v;
    *n = 0;
    *out = NULL;
    KILN_TRY(kiln_mil_get(k, name, &v));
    return v == NULL ? KILN_OK
                     : kiln_import_const_ints(&k->cx->common, v, name, out, n);
}

kiln_status kiln_mil_float(kiln_mil_call *k, const char *name, double *out) {
    kiln_value *v;
    const double *given;
    size_t n;
    KILN_TRY(kiln_mil_get(k, name, &v));
    if (v == NULL)
        return KILN_OK;
    if (kiln_dtype_is_float(v->type.dtype)) {
        KILN_TRY(kiln_import_const_floats(&k->cx->common, v, name, &given, &n));
        if (n == 1)
            *out = given[0];
    } else {
        const int64_t *ints;
        KILN_TRY(kiln_import_const_ints(&k->cx->common, v, name, &ints, &n));
        if (n == 1)
            *out = (double)ints[0];
    }
    return n == 1 ? KILN_OK
                  : kiln_mil_fail(k, KILN_ERR_PARSE, "operand '%s' must be one number",
                                  name);
}

kiln_status kiln_mil_int(kiln_mil_call *k, const char *name, int64_t *out) {
    const double most = 9007199254740992.0; /* 2^53 */
    double v = (double)*out;
    KILN_TRY(kiln_mil_float(k, name, &v));
    if (!(fabs(v) <= most))
        return kiln_mil_fail(k, KILN_ERR_PARSE, "operand '%s' must be an integer",
                             name);
    *out = (int64_t)v;
    return KILN_OK;
}

kiln_status kiln_mil_bool(kiln_mil_call *k, const char *name, bool *out) {
    int64_t v = *out;
    KILN_TRY(kiln_mil_int(k, name, &v));
    *out = v != 0;
    return KILN_OK;
}

kiln_status kiln_mil_word(kiln_mil_call *k, const char *name, kiln_str *out) {
    kiln_mil_known known = {.value = NULL};
    bool is_there;
    KILN_TRY(get(k, name, &is_there, &known));
    if (is_there && known.value != NULL)
        return kiln_mil_fail(k, KILN_ERR_PARSE, "operand '%s' must be a word", name);
    if (is_there)
        *out = known.word;
    return KILN_OK;
}

/* ---- results ---------------------------------------------------------------------- */

kiln_status kiln_mil_set(kiln_mil_call *k, size_t i, kiln_value *v) {
    if (i >= k->op->n_output)
        return kiln_mil_fail(k, KILN_ERR_PARSE, "output %zu is missing", i);
    KILN_ASSERT(v != NULL, "output %zu is nothing", i);
    kiln_mil_known *const known = kiln_new(&k->cx->common.scratch, kiln_mil_known);
    known->value = v;
    kiln_map_set(&k->cx->common.scratch, &k->cx->values, k->op->output[i].name, known);
    return KILN_OK;
}

kiln_status kiln_mil_end(kiln_mil_call *k, kiln_value *v) {
    KILN_TRY(k->c.status);
    return kiln_mil_set(k, 0, v);
}
