/* Tensors of exported programs: raw bytes beside a config (torch 2.8 on), or pickles in
 * archives inside the archive (before). All are views where they lie row-major. */
#include <inttypes.h>
#include <string.h>

#include "compiler/frontend/pytorch/pt2/pt2_internal.h"
#include "compiler/frontend/zip.h"

bool kiln_pt2_dtype(int64_t number, kiln_dtype *out) {
    /* c10's numbers and one more, but for two. */
    if (number == 12 || number == 13)
        return kiln_aten_dtype_from_number(number == 12 ? 11 : 15, out);
    return number >= 1 && number <= 8 && kiln_aten_dtype_from_number(number - 1, out);
}

/* "s77", or "Symbol('s77', positive=True, integer=True)": the name; else NULL. */
static const char *symbol_of(kiln_arena *a, const char *text) {
    static const char begin[] = "Symbol('";
    kiln_str s = kiln_str_from(text);
    if (kiln_str_starts(s, begin)) {
        s = (kiln_str){s.p + sizeof begin - 1, s.n - (sizeof begin - 1)};
        const char *const end = memchr(s.p, '\'', s.n);
        s.n = end != NULL ? (size_t)(end - s.p) : 0;
    }
    for (size_t i = 0; i < s.n; i++) {
        const char c = s.p[i];
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                               (c >= '0' && c <= '9') || c == '_';
        if (!is_letter)
            return NULL;
    }
    return s.n > 0 ? kiln_str_printable(a, s, 60) : NULL;
}

static kiln_status read_size(kiln_arena *a, const kiln_json *v, int64_t *dim,
                             const char **symbol, kiln_err *err) {
    const char *tag;
    const kiln_json *const inner = kiln_pt2_union(v, &tag);
    if (strcmp(tag, "as_int") == 0 && kiln_json_i64(inner, dim) && *dim >= 0)
        return KILN_OK;
    *dim = -1;
    if (strcmp(tag, "as_expr") != 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "a size must be 'as_int', 0 or more, or 'as_expr'");
    if (symbol != NULL)
        *symbol = symbol_of(a, kiln_json_string(kiln_json_get(inner, "expr_str"), ""));
    return KILN_OK;
}

kiln_status kiln_pt2_tensor_meta(kiln_arena *a, const kiln_json *meta,
                                 kiln_dtype *dtype, int *rank, int64_t *dim,
                                 const char **symbol, kiln_err *err) {
    int64_t number = 0;
    const kiln_json *const sizes = kiln_json_get(meta, "sizes");
    if (!kiln_json_i64(kiln_json_get(meta, "dtype"), &number) ||
        !kiln_json_is_array(sizes))
        return kiln_fail(err, KILN_ERR_PARSE, "a tensor must have 'dtype' and 'sizes'");
    if (!kiln_pt2_dtype(number, dtype))
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "kiln has no dtype that is the file's number %" PRId64,
                         number);
    if (kiln_json_size(sizes) > KILN_MAX_RANK)
        return kiln_fail(err, KILN_ERR_LIMIT, "rank must be at most %d, is %zu",
                         KILN_MAX_RANK, kiln_json_size(sizes));
    *rank = 0;
    for (const kiln_json *j = kiln_json_first(sizes); j != NULL;
         j = kiln_json_next(j)) {
        KILN_TRY(
            read_size(a, j, &dim[*rank], symbol != NULL ? &symbol[*rank] : NULL, err));
        ++*rank;
    }
    return KILN_OK;
}

/* ---- raw bytes -------------------------------------------------------------------- */

static kiln_status read_strides(const kiln_json *meta, kiln_pickle_tensor *t,
                                kiln_err *err) {
    const kiln_json *const list = kiln_json_get(meta, "strides");
    const kiln_json *j = kiln_json_first(list);
    int64_t plain[KILN_MAX_RANK];
    const char *tag;
    for (int i = 0; i < t->type.rank; i++, j = kiln_json_next(j))
        if (!kiln_json_i64(kiln_pt2_union(j, &tag), &t->stride[i]) ||
            t->stride[i] < 0 || t->stride[i] > KILN_MAX_ELEMS)
            return kiln_fail(err, KILN_ERR_PARSE, "'strides' must be %d numbers",
                             t->type.rank);
    const kiln_json *const offset =
        kiln_pt2_union(kiln_json_get(meta, "storage_offset"), &tag);
    if (offset != NULL && (!kiln_json_i64(offset, &t->offset) || t->offset < 0 ||
                           t->offset > KILN_MAX_ELEMS))
        return kiln_fail(err, KILN_ERR_PARSE, "'storage_offset' must be 0 or more");
    kiln_strides(t->type.rank, t->type.dim, plain);
    t->is_contiguous = true;
    for (int i = 0; i < t->type.rank; i++)
        if (t->type.dim[i] > 1 && t->stride[i] != plain[i])
            t->is_contiguous = false;
    return KILN_OK;
}

static kiln_status add_const(kiln_pt2_cx *cx, const kiln_pt2_input *in,
                             const kiln_pickle_tensor *t, kiln_str storage,
                             kiln_value **out) {
    const void *data;
    if (!t->is_contiguous)
        KILN_TRY(kiln_import_spend(&cx->common, kiln_type_bytes(&t->type)));
    KILN_TRY(
        kiln_pickle_tensor_data(cx->common.arena, t, storage, &data, cx->common.err));
    *out = kiln_graph_add_const(
        cx->common.graph, kiln_str_dup(cx->common.arena, in->stored), &t->type, data);
    return KILN_OK;
}

static kiln_status from_config(kiln_pt2_cx *cx, const kiln_pt2_input *in,
                               const kiln_json *meta, const char *folder,
                               kiln_str *bytes, kiln_pickle_tensor *t) {
    int rank;
    int64_t dim[KILN_MAX_RANK];
    kiln_dtype d;
    const kiln_json *const of = kiln_json_get(meta, "tensor_meta");
    KILN_TRY(kiln_pt2_tensor_meta(cx->common.arena, of, &d, &rank, dim, NULL,
                                  cx->common.err));
    *t = (kiln_pickle_tensor){.type = kiln_type_make(d, rank, dim)};
    KILN_TRY(kiln_type_check(&t->type, cx->common.err));
    KILN_TRY(read_strides(of, t, cx->common.err));
    const char *const path = kiln_json_string(kiln_json_get(meta, "path_name"), "");
    const char *const name =
        kiln_format(&cx->common.scratch, "data/%s/%s", folder, path);
    if (!kiln_pt2_entry(cx->file, name, bytes))
        return kiln_pt2_fail(
            cx, KILN_ERR_PARSE,
            "the archive has no '%s', which holds '%s'; is it damaged?",
            kiln_import_show(&cx->common, kiln_str_from(name)),
            kiln_import_show(&cx->common, kiln_str_from(in->stored)));
    t->n_stored = (int64_t)(bytes->n / kiln_dtype_bytes(d));
    return KILN_OK;
}

/* ---- pickles ---------------------------------------------------------------------- */

/* The root folder of an archive inside the archive: that of its data.pkl. */
static kiln_status open_pickle(kiln_pt2_cx *cx, kiln_str zip, const char *where,
                               kiln_str *folder, const kiln_pickle_value **out) {
    kiln_zip_entry e;
    uint64_t at = 0;
    while (kiln_zip_next(zip, &at, &e))
        if (kiln_str_ends(e.name, "/data.pkl") && e.is_stored && e.bytes.p != NULL) {
            *folder = (kiln_str){e.name.p, e.name.n - (sizeof "data.pkl" - 1)};
            return kiln_pickle_read(&cx->common.scratch, e.bytes, where, out,
                                    cx->common.err);
        }
    return kiln_pt2_fail(cx, KILN_ERR_PARSE, "'%s' is no archive with a 'data.pkl'",
                         where);
}

static kiln_status from_pickle(kiln_pt2_cx *cx, const kiln_pt2_input *in, kiln_str zip,
                               kiln_str folder, const kiln_pickle_value *v,
                               kiln_value **out) {
    kiln_pickle_tensor t;
    kiln_str storage;
    if (v == NULL || !kiln_pickle_is_tensor(v))
        return kiln_pt2_fail(cx, KILN_ERR_PARSE, "the file has no tensor '%s'",
                             kiln_import_show(&cx->common, kiln_str_from(in->stored)));
    KILN_TRY(kiln_pickle_tensor_of(v, &t, cx->common.err));
    const char *const name = kiln_format(&cx->common.scratch, "%.*sdata/%.*s",
                                         KILN_STR_ARG(folder), KILN_STR_ARG(t.key));
    KILN_TRY(kiln_zip_find(zip, name, "torch", &storage, cx->common.err));
    if (storage.p == NULL)
        return kiln_pt2_fail(cx, KILN_ERR_PARSE, "the archive has no '%s'",
                             kiln_import_show(&cx->common, kiln_str_from(name)));
    return add_const(cx, in, &t, storage, out);
}

/* A state dict of a file before 2.8, read once. */
static kiln_status from_state_dict(kiln_pt2_cx *cx, const kiln_pt2_input *in,
                                   bool is_weight, kiln_value **out) {
    kiln_pt2_dict *const dict = is_weight ? &cx->weights : &cx->constants;
    const char *const name =
        is_weight ? "serialized_state_dict.pt" : "serialized_constants.pt";
    if (dict->all == NULL) {
        const char *const old =
            is_weight ? "serialized_state_dict.json" : "serialized_constants.json";
        if (!kiln_pt2_entry(cx->file, name, &dict->zip) &&
            !kiln_pt2_entry(cx->file, old, &dict->zip))
            return kiln_pt2_fail(cx, KILN_ERR_PARSE, "the archive has no '%s'", name);
        KILN_TRY(open_pickle(cx, dict->zip, name, &dict->folder, &dict->all));
    }
    return from_pickle(cx, in, dict->zip, dict->folder,
                       kiln_pickle_get(dict->all, kiln_str_from(in->stored)), out);
}

kiln_status kiln_pt2_tensor(kiln_pt2_cx *cx, const kiln_pt2_input *in,
                            kiln_value **out) {
    const bool is_weight = in->role == KILN_PT2_WEIGHT && in->is_persistent;
    const kiln_json *const config = is_weight ? cx->file->weights : cx->file->constants;
    kiln_pickle_tensor t;
    kiln_str bytes, folder = {NULL, 0};
    if (config == NULL)
        return from_state_dict(cx, in, is_weight, out);
    const kiln_json *const meta =
        kiln_json_get(kiln_json_get(config, "config"), in->stored);
    if (meta == NULL)
        return kiln_pt2_fail(cx, KILN_ERR_PARSE, "the file has no tensor '%s'",
                             kiln_import_show(&cx->common, kiln_str_from(in->stored)));
    KILN_TRY(
        from_config(cx, in, meta, is_weight ? "weights" : "constants", &bytes, &t));
    if (!kiln_json_bool(kiln_json_get(meta, "use_pickle"), false)) {
        KILN_TRY(kiln_pickle_tensor_check(&t, cx->common.err));
        return add_const(cx, in, &t, bytes, out);
    }
    const kiln_pickle_value *v = NULL;
    KILN_TRY(open_pickle(cx, bytes, in->stored, &folder, &v));
    return from_pickle(cx, in, bytes, folder, v, out);
}
