/* Tensors of TorchScript: operators that become nodes. */
#include "compiler/frontend/pytorch/script/script_internal.h"

#include <string.h>

enum { MAX_VIEWS = 100 /* of views */, MAX_OPERATORS = 100000 };

/* What gives its first argument itself, where that does not change. */
static const char *const itself[] = {"alias",           "detach",   "dropout",
                                     "feature_dropout", "to",       "type_as",
                                     "alpha_dropout",   "identity", "lift_fresh"};
/* ---- arguments -------------------------------------------------------------------- */

static kiln_status to_aten(kiln_script_cx *cx, const kiln_script_value *v, int depth,
                           kiln_aten_value *out) {
    kiln_aten_value *items;
    kiln_value *t;
    switch (v->kind) {
    case KILN_SCRIPT_V_NONE:
        *out = kiln_aten_none();
        return KILN_OK;
    case KILN_SCRIPT_V_BOOL:
        *out = kiln_aten_of_bool(v->i != 0);
        return KILN_OK;
    case KILN_SCRIPT_V_INT:
        *out = kiln_aten_of_int(v->i);
        return KILN_OK;
    case KILN_SCRIPT_V_FLOAT:
        *out = kiln_aten_of_float(v->f);
        return KILN_OK;
    case KILN_SCRIPT_V_TEXT:
        *out = kiln_aten_of_string(v->s);
        return KILN_OK;
    case KILN_SCRIPT_V_DEVICE:
        *out = (kiln_aten_value){.kind = KILN_ATEN_OTHER};
        return KILN_OK;
    case KILN_SCRIPT_V_TENSOR:
        KILN_TRY(kiln_script_read_tensor(cx, v->tensor, &t));
        *out = kiln_aten_of_tensor(t);
        return KILN_OK;
    case KILN_SCRIPT_V_LIST:
    case KILN_SCRIPT_V_TUPLE:
        if (depth > 2)
            break;
        KILN_TRY(kiln_script_spend(cx, v->list->item.n));
        items = kiln_array(&cx->common.scratch, kiln_aten_value, v->list->item.n);
        for (size_t i = 0; i < v->list->item.n; i++)
            KILN_TRY(to_aten(cx, &v->list->item.v[i], depth + 1, &items[i]));
        *out = kiln_aten_of_list(items, v->list->item.n);
        return KILN_OK;
    case KILN_SCRIPT_V_UNSET:
    case KILN_SCRIPT_V_DICT:
    case KILN_SCRIPT_V_OBJECT:
    case KILN_SCRIPT_V_NAME:
        break;
    }
    return kiln_script_fail(cx, KILN_ERR_PARSE,
                            "an argument is no tensor, number, text or list of these");
}

static kiln_script_value from_aten(kiln_script_cx *cx, const kiln_aten_value *v) {
    kiln_script_value list;
    switch (v->kind) {
    case KILN_ATEN_NONE:
        break;
    case KILN_ATEN_TENSOR:
        return kiln_script_of_tensor(cx, v->tensor);
    case KILN_ATEN_INT:
    case KILN_ATEN_DTYPE:
        return kiln_script_of_int(v->i);
    case KILN_ATEN_FLOAT:
        return kiln_script_of_float(v->f);
    case KILN_ATEN_BOOL:
        return kiln_script_of_bool(v->i != 0);
    case KILN_ATEN_STRING:
        return (kiln_script_value){.kind = KILN_SCRIPT_V_TEXT, .s = v->s};
    case KILN_ATEN_LIST:
        list = kiln_script_new_list(cx, KILN_SCRIPT_V_LIST);
        for (size_t i = 0; i < v->n; i++)
            kiln_script_push(cx, &list, from_aten(cx, &v->list[i]));
        return list;
    case KILN_ATEN_OTHER:
        return (kiln_script_value){.kind = KILN_SCRIPT_V_DEVICE};
    }
    return kiln_script_none();
}

/* Operators whose argument must be of a type, where an input may not be known to be. */
static kiln_status need_types(kiln_script_cx *cx, kiln_str op,
                              const kiln_aten_value *arg, size_t n) {
    static const struct {
        const char *op;
        size_t at;
        kiln_dtype dtype;
    } needs[] = {
        {"embedding", 1, KILN_I64},     {"embedding_bag", 1, KILN_I64},
        {"index_select", 2, KILN_I64},  {"gather", 2, KILN_I64},
        {"scatter", 2, KILN_I64},       {"one_hot", 0, KILN_I64},
        {"masked_fill", 1, KILN_BOOL},  {"where", 0, KILN_BOOL},
        {"masked_fill_", 1, KILN_BOOL}, {"bitwise_not", 0, KILN_BOOL},
        {"logical_not", 0, KILN_BOOL},  {"__and__", 0, KILN_BOOL},
    };
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
        if (needs[i].at < n && kiln_str_is(op, needs[i].op) &&
            arg[needs[i].at].kind == KILN_ATEN_TENSOR)
            KILN_TRY(
                kiln_script_need_dtype(cx, arg[needs[i].at].tensor, needs[i].dtype));
    if (kiln_str_is(op, "index") && n > 1 && arg[1].kind == KILN_ATEN_LIST)
        for (size_t i = 0; i < arg[1].n; i++)
            if (arg[1].list[i].kind == KILN_ATEN_TENSOR)
                KILN_TRY(kiln_script_need_dtype(cx, arg[1].list[i].tensor, KILN_I64));
    return KILN_OK;
}

/* TorchScript's code has names without overloads: arguments say which. */
static kiln_str overload(kiln_str op, const kiln_script_args *args) {
    const bool has_2 = args->n > 1;
    const bool is_2_tensor =
        has_2 && args->name[1].p == NULL && args->v[1].kind == KILN_SCRIPT_V_TENSOR;
    static const struct {
        const char *op, *with_tensor, *with_number;
    } names[] = {
        {"max", "maximum", "max.dim"},
        {"min", "minimum", "min.dim"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (has_2 && kiln_str_is(op, names[i].op))
            return kiln_str_from(is_2_tensor ? names[i].with_tensor
                                             : names[i].with_number);
    if (kiln_str_is(op, "split") && has_2 && args->v[1].kind == KILN_SCRIPT_V_LIST)
        return KILN_STR_LIT("split_with_sizes");
    return op;
}

/* "torch.relu" -> "relu", "ops.torchvision.nms" -> "torchvision::nms". */
kiln_str kiln_script_bare_name(kiln_script_cx *cx, kiln_str name) {
    static const char *const before[] = {"torch.", "ops.aten."};
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++)
        if (kiln_str_starts(name, before[i]))
            return (kiln_str){name.p + strlen(before[i]), name.n - strlen(before[i])};
    kiln_str rest = {name.p + strlen("ops."), name.n - strlen("ops.")}, space;
    kiln_str_cut(&rest, '.', &space);
    return kiln_str_from(kiln_format(&cx->common.scratch, "%.*s::%.*s",
                                     KILN_STR_ARG(space), KILN_STR_ARG(rest)));
}

/* ---- one operator ------------------------------------------------------------------ */

kiln_status kiln_script_run_op(kiln_script_cx *cx, const kiln_aten_call *call,
                               kiln_aten_value out[KILN_ATEN_MAX_OUT], size_t *n) {
    if (++cx->report->n_imported > MAX_OPERATORS ||
        cx->common.graph->nodes.n > MAX_OPERATORS)
        return kiln_script_fail(cx, KILN_ERR_LIMIT,
                                "the model runs more than %d operators; does it have a "
                                "loop that does not end for these shapes?",
                                MAX_OPERATORS);
    KILN_TRY(kiln_aten_run(&cx->common, call, out, n));
    while (*n > 1 && out[*n - 1].kind == KILN_ATEN_NONE)
        --*n; /* results that only training has */
    return KILN_OK;
}

const void *kiln_script_site_of(kiln_script_cx *cx, kiln_str op) {
    kiln_script_site *const s = kiln_new(&cx->common.scratch, kiln_script_site);
    *s = (kiln_script_site){cx->path, op};
    return s;
}

/* ---- writing ----------------------------------------------------------------------- */

/* A value as the tensor that it is written into: its shape and type. */
static kiln_value *fit(kiln_compose *c, kiln_value *v, const kiln_type *type) {
    v = kiln_compose_cast(c, v, type->dtype);
    return kiln_type_same_shape(&v->type, type)
               ? v
               : kiln_compose_expand(c, v, type->rank, type->dim);
}

static kiln_status write_result(kiln_script_cx *cx, const kiln_script_args *args,
                                kiln_str op, const kiln_aten_value *result,
                                kiln_script_value *out) {
    kiln_compose c = {.cx = &cx->common, .site = kiln_script_site_of(cx, op)};
    if (args->n == 0 || args->v[0].kind != KILN_SCRIPT_V_TENSOR ||
        result->kind != KILN_ATEN_TENSOR)
        return kiln_script_fail(cx, KILN_ERR_PARSE, "%.*s: no tensor to write into",
                                KILN_STR_ARG(op));
    kiln_value *const v = fit(&c, result->tensor, &args->v[0].tensor->v->type);
    KILN_TRY(c.status);
    if (v != args->v[0].tensor->v) /* dropout_ of a model that is not trained */
        KILN_TRY(kiln_script_write_tensor(cx, args->v[0].tensor, v));
    *out = args->v[0];
    return KILN_OK;
}

/* ---- calls ------------------------------------------------------------------------- */

static kiln_status convert_args(kiln_script_cx *cx, const kiln_script_args *args,
                                kiln_aten_call *call) {
    kiln_arena *const a = &cx->common.scratch;
    kiln_aten_value *const arg = kiln_array(a, kiln_aten_value, args->n);
    kiln_aten_keyword *const keyword = kiln_array(a, kiln_aten_keyword, args->n);
    for (size_t i = 0; i < args->n; i++) {
        kiln_aten_value v;
        KILN_TRY(to_aten(cx, &args->v[i], 0, &v));
        if (args->name[i].p == NULL)
            arg[call->n_arg++] = v;
        else
            keyword[call->n_keyword++] = (kiln_aten_keyword){args->name[i], v};
    }
    call->arg = arg;
    call->keyword = keyword;
    return KILN_OK;
}

/* to(x, dtype, non_blocking, copy), with a device before it or in its place. */
static bool is_copying(const kiln_aten_call *call) {
    const size_t at = call->n_arg > 1 && call->arg[1].kind != KILN_ATEN_INT &&
                              call->arg[1].kind != KILN_ATEN_TENSOR
                          ? 4
                          : 3;
    for (size_t i = 0; i < call->n_keyword; i++)
        if (kiln_str_is(call->keyword[i].name, "copy"))
            return call->keyword[i].value.i != 0;
    return kiln_str_is(call->op, "to") && at < call->n_arg &&
           call->arg[at].kind == KILN_ATEN_BOOL && call->arg[at].i != 0;
}

static kiln_status give(kiln_script_cx *cx, const kiln_script_args *args,
                        const kiln_aten_call *call, const kiln_aten_value *result,
                        size_t n, kiln_script_value *out) {
    kiln_script_tensor *const first =
        args->n > 0 && args->v[0].kind == KILN_SCRIPT_V_TENSOR ? args->v[0].tensor
                                                               : NULL;
    if (first != NULL && n == 1 && result[0].kind == KILN_ATEN_TENSOR &&
        result[0].tensor == first->v && !is_copying(call) &&
        kiln_script_is_one_of(call->op, itself, sizeof itself / sizeof itself[0])) {
        *out = args->v[0];
        return KILN_OK;
    }
    kiln_script_value v = n == 1 ? from_aten(cx, &result[0])
                                 : kiln_script_new_list(cx, KILN_SCRIPT_V_TUPLE);
    for (size_t i = 0; n != 1 && i < n; i++)
        kiln_script_push(cx, &v, from_aten(cx, &result[i]));
    if (first != NULL &&
        (kiln_aten_is_view(call->op) || kiln_script_is_unsure(call->op))) {
        if (first->n_views >= MAX_VIEWS)
            return kiln_script_fail(cx, KILN_ERR_LIMIT,
                                    "views of views are nested deeper than %d",
                                    MAX_VIEWS);
        if (v.kind == KILN_SCRIPT_V_LIST || v.kind == KILN_SCRIPT_V_TUPLE)
            for (size_t i = 0; i < v.list->item.n; i++)
                (void)kiln_script_mark_view(first, call, i, v.list->item.v[i]);
        else
            v = kiln_script_mark_view(first, call, 0, v);
    }
    *out = v;
    return KILN_OK;
}

/* torch.tensor(...): a constant of a number or of nested lists. */
static kiln_status count_items(kiln_script_cx *cx, const kiln_script_value *v,
                               int64_t *dim, int *rank) {
    for (*rank = 0; v->kind == KILN_SCRIPT_V_LIST; v = &v->list->item.v[0]) {
        if (*rank == KILN_MAX_RANK)
            return kiln_script_fail(cx, KILN_ERR_LIMIT, "lists of more than %d axes",
                                    KILN_MAX_RANK);
        dim[(*rank)++] = (int64_t)v->list->item.n;
        if (v->list->item.n == 0)
            break;
    }
    return KILN_OK;
}

static kiln_status collect(kiln_script_cx *cx, const kiln_script_value *v,
                           const int64_t *dim, int rank, double *out, int64_t *at) {
    if (rank == 0 && (v->kind == KILN_SCRIPT_V_INT || v->kind == KILN_SCRIPT_V_BOOL ||
                      v->kind == KILN_SCRIPT_V_FLOAT)) {
        out[(*at)++] = v->kind == KILN_SCRIPT_V_FLOAT ? v->f : (double)v->i;
        return KILN_OK;
    }
    if (rank == 0 || v->kind != KILN_SCRIPT_V_LIST ||
        (int64_t)v->list->item.n != dim[0])
        return kiln_script_fail(cx, KILN_ERR_PARSE,
                                "a tensor is made of numbers, in lists of one length");
    for (size_t i = 0; i < v->list->item.n; i++)
        KILN_TRY(collect(cx, &v->list->item.v[i], dim + 1, rank - 1, out, at));
    return KILN_OK;
}

static kiln_status make_tensor(kiln_script_cx *cx, const kiln_script_args *args,
                               kiln_script_value *out) {
    kiln_import_cx *const c = &cx->common;
    int64_t dim[KILN_MAX_RANK], at = 0;
    int rank;
    const kiln_script_value *first = &args->v[0];
    KILN_TRY(count_items(cx, first, dim, &rank));
    for (int i = 0; i < rank && first->list->item.n > 0; i++)
        first = &first->list->item.v[0];
    kiln_dtype dtype = first->kind == KILN_SCRIPT_V_BOOL  ? KILN_BOOL
                       : first->kind == KILN_SCRIPT_V_INT ? KILN_I64
                                                          : KILN_F32;
    for (size_t i = 1; i < args->n; i++)
        if (kiln_str_is(args->name[i], "dtype") &&
            args->v[i].kind == KILN_SCRIPT_V_INT &&
            !kiln_aten_dtype_from_number(args->v[i].i, &dtype))
            return kiln_script_fail(cx, KILN_ERR_UNSUPPORTED,
                                    "tensor: element type %lld is not read",
                                    (long long)args->v[i].i);
    kiln_type type = kiln_type_make(dtype, rank, dim);
    KILN_TRY(kiln_type_check(&type, c->err));
    KILN_TRY(kiln_import_spend(c, kiln_type_bytes(&type)));
    double *const v = kiln_array(&c->scratch, double, kiln_type_elems(&type));
    KILN_TRY(collect(cx, &args->v[0], dim, rank, v, &at));
    KILN_ASSERT(at == kiln_type_elems(&type), "%lld numbers for %s", (long long)at,
                kiln_type_text(&c->scratch, &type));
    kiln_wide w = kiln_wide_new(&c->scratch, &type);
    for (int64_t i = 0; i < at; i++)
        if (w.f != NULL)
            w.f[i] = v[i];
        else
            w.i[i] = (int64_t)v[i];
    void *const data = kiln_arena_alloc(c->arena, (size_t)kiln_type_bytes(&type));
    kiln_narrow(&w, data);
    *out = kiln_script_of_tensor(cx,
                                 kiln_graph_add_const(c->graph, "tensor", &type, data));
    return KILN_OK;
}

kiln_status kiln_script_aten(kiln_script_cx *cx, kiln_str name,
                             const kiln_script_args *args, kiln_script_value *out) {
    kiln_aten_value result[KILN_ATEN_MAX_OUT];
    size_t n = 0;
    kiln_aten_call call = {.op = overload(kiln_script_bare_name(cx, name), args)};
    const bool is_copy = kiln_str_is(call.op, "copy_");
    call.site = kiln_script_site_of(cx, call.op);
    if ((kiln_str_is(call.op, "tensor") || kiln_str_is(call.op, "as_tensor")) &&
        args->n > 0 && args->v[0].kind != KILN_SCRIPT_V_TENSOR)
        return make_tensor(cx, args, out);
    KILN_TRY(convert_args(cx, args, &call));
    if (is_copy && call.n_arg > 1 && call.arg[1].kind == KILN_ATEN_TENSOR)
        return write_result(cx, args, call.op, &call.arg[1], out);
    if (kiln_aten_find(call.op) == NULL)
        return kiln_script_refuse_unread(cx, name);
    KILN_TRY(need_types(cx, call.op, call.arg, call.n_arg));
    KILN_TRY(kiln_script_run_op(cx, &call, result, &n));
    if (kiln_aten_writes(call.op))
        return write_result(cx, args, call.op, &result[0], out);
    return give(cx, args, &call, result, n, out);
}

kiln_status kiln_script_number(kiln_script_cx *cx, kiln_script_tensor *t,
                               const char *what, kiln_script_value *out) {
    kiln_tensor c;
    kiln_value *v;
    KILN_TRY(kiln_script_read_tensor(cx, t, &v));
    if (kiln_type_elems(&v->type) != 1)
        return kiln_script_fail(cx, KILN_ERR_SHAPE, "%s must be one element, is %s",
                                what, kiln_type_text(&cx->common.scratch, &v->type));
    KILN_TRY(kiln_import_const(&cx->common, v, what, &c));
    kiln_wide w = kiln_wide_new(&cx->common.scratch, &c.type);
    kiln_widen(&c.type, c.data, &w);
    *out = c.type.dtype == KILN_BOOL ? kiln_script_of_bool(w.i[0] != 0)
           : w.f != NULL             ? kiln_script_of_float(w.f[0])
                                     : kiln_script_of_int(w.i[0]);
    return KILN_OK;
}
