/* What an MXNet model says of itself before it is imported. Its inputs are the variables
 * that the parameters do not give, but for labels: those only training reads. */
#include "compiler/frontend/mxnet/mxnet_internal.h"

#include <string.h>

enum { MAX_SHOWN = 120 };

static const char *text_of(const kiln_mx_node *n, const char *name) {
    for (size_t i = 0; i < 3; i++) {
        const char *const text =
            kiln_json_string(kiln_json_get(n->attrs[i], name), NULL);
        if (text != NULL)
            return text;
    }
    return NULL;
}

/* "__shape__": "(0, 3, 224, 224)", 0 or -1 being open; "__dtype__": "0" */
static kiln_status declare_one(kiln_arena *a, const kiln_mx_node *n,
                               kiln_declared_input *out, kiln_err *err) {
    const char *const shape = text_of(n, "__shape__"), *const dtype =
                                                           text_of(n, "__dtype__");
    int64_t dim[KILN_MX_MAX_TUPLE], flag = 0;
    size_t rank = 0;
    *out = (kiln_declared_input){.name = kiln_str_dup(a, n->name),
                                 .rank = -1,
                                 .dtype = KILN_F32,
                                 .has_type = true};
    /* -1: MXNet has not inferred it */
    if (dtype != NULL && kiln_parse_i64(kiln_str_from(dtype), &flag) && flag != -1 &&
        !kiln_mx_dtype(flag, &out->dtype)) {
        out->has_type = false;
        out->what = "a tensor of a type that kiln does not have";
    }
    if (shape == NULL || strcmp(shape, "None") == 0)
        return KILN_OK;
    if (!kiln_mx_parse_tuple(shape, dim, &rank) || rank > KILN_MAX_RANK)
        return kiln_fail(
            err, KILN_ERR_PARSE,
            "'__shape__' of variable '%s' must be at most %d whole numbers, "
            "as '(1, 3)', is '%s'",
            kiln_str_printable(a, kiln_str_from(n->name), MAX_SHOWN), KILN_MAX_RANK,
            kiln_str_printable(a, kiln_str_from(shape), MAX_SHOWN));
    out->rank = rank == 0 ? -1 : (int)rank;
    for (size_t i = 0; i < rank; i++)
        out->dim[i] = dim[i] > 0 ? dim[i] : -1;
    return KILN_OK;
}

/* By node: 1 where something reads it, 2 where that takes it for a parameter. */
static void mark_uses(const kiln_mx_symbol *s, size_t *place) {
    for (size_t i = 0; i < s->n_head; i++)
        place[s->head[i].node] = 1;
    for (size_t i = 0; i < s->n_node; i++) {
        const kiln_mx_row *const row = kiln_mx_find(s->node[i].op);
        for (size_t k = 0; k < s->node[i].n_in; k++) {
            size_t *const use = &place[s->node[i].in[k].node];
            const bool is_data = row == NULL || k < row->n_data;
            if (is_data)
                *use = 1;
            else if (!row->has_labels && *use == 0)
                *use = 2;
        }
    }
}

kiln_status kiln_mx_declare(kiln_arena *a, const kiln_mx_symbol *s,
                            const kiln_map *params, kiln_declared_input **out,
                            size_t *n, size_t *place, kiln_err *err) {
    kiln_map seen = {0};
    size_t count = 0;
    kiln_declared_input *const list = kiln_array(a, kiln_declared_input, s->n_node);
    memset(place, 0, s->n_node * sizeof *place);
    mark_uses(s, place);
    for (size_t i = 0; i < s->n_node; i++) {
        const kiln_mx_node *const v = &s->node[i];
        const size_t use = place[i];
        const kiln_str name = kiln_str_from(v->name);
        place[i] = 0;
        if (!kiln_mx_is_variable(v) || use == 0 || kiln_map_has(params, name))
            continue;
        if (use == 2)
            return kiln_fail(err, KILN_ERR_PARSE,
                             "parameter '%s' is not in the file of parameters; are the "
                             "two files of one model?",
                             kiln_str_printable(a, name, MAX_SHOWN));
        if (!kiln_map_set(a, &seen, name, NULL))
            return kiln_fail(
                err, KILN_ERR_PARSE,
                "variable '%s' is there twice; give one of them another name",
                kiln_str_printable(a, name, MAX_SHOWN));
        KILN_TRY(declare_one(a, v, &list[count], err));
        place[i] = ++count;
    }
    *out = list;
    *n = count;
    return KILN_OK;
}

static kiln_status read_files(kiln_arena *a, kiln_str bytes, const char *path,
                              kiln_mx_symbol *s, kiln_map *params, kiln_err *err) {
    kiln_mx_files f;
    KILN_TRY(kiln_mx_open(a, bytes, path, &f, err));
    KILN_TRY(kiln_mx_read_symbol(a, f.symbol, f.symbol_name, s, err));
    return kiln_mx_read_params(a, f.params, params, err);
}

kiln_status kiln_mx_list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                                kiln_declared_input **out, size_t *n, kiln_err *err) {
    kiln_mx_symbol s;
    kiln_map params = {0};
    KILN_TRY(read_files(a, bytes, path, &s, &params, err));
    return kiln_mx_declare(a, &s, &params, out, n, kiln_array(a, size_t, s.n_node),
                           err);
}

static void survey_nodes(kiln_arena *a, const kiln_mx_symbol *s,
                         kiln_model_survey *out) {
    enum { MAX_STRIDE = 1 << 16 };
    for (size_t i = 0; i < s->n_node; i++) {
        const kiln_mx_node *const n = &s->node[i];
        int64_t stride[KILN_MX_MAX_TUPLE];
        size_t n_stride = 0;
        if (kiln_mx_is_variable(n))
            continue;
        kiln_survey_add_op(a, out,
                           kiln_str_printable(a, kiln_str_from(n->op), MAX_SHOWN),
                           kiln_mx_find(n->op) != NULL);
        const char *const text = text_of(n, "stride");
        if (text != NULL && kiln_mx_parse_tuple(text, stride, &n_stride) &&
            n_stride > 0 && stride[0] > 1 && stride[0] <= MAX_STRIDE &&
            out->stride * stride[0] <= MAX_STRIDE)
            out->stride *= stride[0];
    }
    kiln_survey_sort_ops(out);
}

kiln_status kiln_mx_survey(kiln_arena *a, kiln_str bytes, const char *path,
                           kiln_model_survey *out, kiln_err *err) {
    kiln_mx_symbol s;
    kiln_map params = {0};
    *out = (kiln_model_survey){.format = "mxnet", .producer = "", .stride = 1};
    KILN_TRY(read_files(a, bytes, path, &s, &params, err));
    survey_nodes(a, &s, out);
    for (size_t i = 0; i < params.entries.n; i++) {
        const kiln_tensor *const t = params.entries.v[i].value;
        out->const_bytes += kiln_type_bytes(&t->type);
        if (kiln_dtype_is_float(t->type.dtype))
            out->n_params += kiln_type_elems(&t->type);
        for (int d = 0; t->type.rank > 1 && d < t->type.rank; d++)
            kiln_survey_add_size(a, out, t->type.dim[d]);
    }
    return kiln_mx_declare(a, &s, &params, &out->input, &out->n_inputs,
                           kiln_array(a, size_t, s.n_node), err);
}
