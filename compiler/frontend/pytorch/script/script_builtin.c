/* Calls of torch on Python's own values: the table, and what is asked of tensors. */
#include "compiler/frontend/pytorch/script/script_builtin.h"

#include <math.h>
#include <string.h>

static const struct row {
    const char *name;
    kiln_script_builtin_fn *run;
    size_t min, max;
} rows[] = {
#define KILN_SCRIPT_BUILTIN(name, function, min, max)                                  \
    {name, kiln_script_builtin_##function, min, max},
#include "compiler/frontend/pytorch/script/script_builtins.def"
#undef KILN_SCRIPT_BUILTIN
};

static const struct row *find(kiln_str name) {
    static const char *const before[] = {"torch.", "ops.prim."};
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++)
        if (kiln_str_starts(name, before[i])) {
            const kiln_str bare = {name.p + strlen(before[i]),
                                   name.n - strlen(before[i])};
            for (size_t j = 0; j < sizeof rows / sizeof rows[0]; j++)
                if (kiln_str_is(bare, rows[j].name))
                    return &rows[j];
        }
    return NULL;
}

bool kiln_script_is_builtin(kiln_str name) { return find(name) != NULL; }

kiln_status kiln_script_builtin(kiln_script_cx *cx, kiln_str name,
                                const kiln_script_args *args, kiln_script_value *out,
                                bool *is_done) {
    const struct row *const row = find(name);
    kiln_script_value made = kiln_script_none();
    kiln_script_call k = {.cx = cx, .v = args->v, .n = args->n, .out = &made};
    *is_done = false;
    if (row == NULL || args->n < row->min || args->n > row->max)
        return KILN_OK;
    for (size_t i = 0; i < k.n; i++) /* many look at every item */
        if (k.v[i].list != NULL)
            KILN_TRY(kiln_script_spend(cx, k.v[i].list->item.n / 8));
    KILN_TRY(row->run(&k));
    *is_done = !k.is_other;
    if (*is_done)
        *out = made;
    return KILN_OK;
}

/* ---- for all of them ---------------------------------------------------------------- */

kiln_status kiln_script_give(kiln_script_call *k, kiln_script_value v) {
    *k->out = v;
    return KILN_OK;
}

kiln_status kiln_script_leave(kiln_script_call *k) {
    k->is_other = true;
    return KILN_OK;
}

bool kiln_script_is_number(const kiln_script_value *v) {
    return v->kind == KILN_SCRIPT_V_BOOL || v->kind == KILN_SCRIPT_V_INT ||
           v->kind == KILN_SCRIPT_V_FLOAT;
}

double kiln_script_as_float(const kiln_script_value *v) {
    return v->kind == KILN_SCRIPT_V_FLOAT ? v->f : (double)v->i;
}

bool kiln_script_is_list(const kiln_script_value *v) {
    return v->kind == KILN_SCRIPT_V_LIST || v->kind == KILN_SCRIPT_V_TUPLE;
}

kiln_status kiln_script_wrong(kiln_script_call *k, size_t i, const char *what) {
    kiln_buf b;
    kiln_buf_init(&b, &k->cx->common.scratch);
    kiln_buf_puts(&b, "");
    kiln_script_show(&b, &k->v[i], 0);
    return kiln_script_fail(k->cx, KILN_ERR_PARSE, "argument %zu must be %s, is %s",
                            i + 1, what, kiln_buf_str(&b).p);
}

static bool is_tensor(const kiln_script_call *k) {
    return k->v[0].kind == KILN_SCRIPT_V_TENSOR;
}

/* Of a tensor's type only; its elements may be stale. */
static const kiln_type *type_of(const kiln_script_call *k) {
    return &k->v[0].tensor->v->type;
}

/* ---- tensors ------------------------------------------------------------------------ */

kiln_status kiln_script_need_length(const kiln_script_call *k, int axis) {
    const kiln_value *const v = k->v[0].tensor->v;
    if (v->count == NULL || (axis >= 0 && axis != v->bounded_axis))
        return KILN_OK;
    return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                     "'%s' is as long as data has it, and the code asks how long; "
                     "export the model up to there",
                     v->name);
}

kiln_status kiln_script_builtin_size(kiln_script_call *k) {
    if (!is_tensor(k))
        return kiln_script_wrong(k, 0, "a tensor");
    const kiln_type *const t = type_of(k);
    if (k->n == 2) {
        int axis;
        if (k->v[1].kind != KILN_SCRIPT_V_INT)
            return kiln_script_wrong(k, 1, "an axis");
        KILN_TRY(kiln_axis_normalize(k->v[1].i, t->rank, &axis, k->cx->common.err));
        KILN_TRY(kiln_script_need_length(k, axis));
        return kiln_script_give(k, kiln_script_of_int(t->dim[axis]));
    }
    KILN_TRY(kiln_script_need_length(k, -1));
    kiln_script_value list = kiln_script_new_list(k->cx, KILN_SCRIPT_V_LIST);
    for (int i = 0; i < t->rank; i++)
        kiln_script_push(k->cx, &list, kiln_script_of_int(t->dim[i]));
    return kiln_script_give(k, list);
}

kiln_status kiln_script_builtin_dim(kiln_script_call *k) {
    if (!is_tensor(k))
        return kiln_script_wrong(k, 0, "a tensor");
    return kiln_script_give(k, kiln_script_of_int(type_of(k)->rank));
}

kiln_status kiln_script_builtin_numel(kiln_script_call *k) {
    if (!is_tensor(k))
        return kiln_script_wrong(k, 0, "a tensor");
    KILN_TRY(kiln_script_need_length(k, -1));
    return kiln_script_give(k, kiln_script_of_int(kiln_type_elems(type_of(k))));
}

/* PyTorch's own number: the one that it has for kiln's. */
kiln_status kiln_script_builtin_dtype(kiln_script_call *k) {
    enum { MAX_NUMBER = 64 };
    kiln_dtype dtype;
    if (!is_tensor(k))
        return kiln_script_wrong(k, 0, "a tensor");
    for (int64_t i = 0; i < MAX_NUMBER; i++)
        if (kiln_aten_dtype_from_number(i, &dtype) && dtype == type_of(k)->dtype)
            return kiln_script_give(k, kiln_script_of_int(i));
    return kiln_script_wrong(k, 0, "a tensor of a type that PyTorch has");
}

kiln_status kiln_script_builtin_is_floating_point(kiln_script_call *k) {
    if (!is_tensor(k))
        return kiln_script_wrong(k, 0, "a tensor");
    return kiln_script_give(
        k, kiln_script_of_bool(kiln_dtype_is_float(type_of(k)->dtype)));
}

kiln_status kiln_script_builtin_device(kiln_script_call *k) {
    return kiln_script_give(k, (kiln_script_value){.kind = KILN_SCRIPT_V_DEVICE});
}

kiln_status kiln_script_builtin_type(kiln_script_call *k) {
    if (k->v[0].kind != KILN_SCRIPT_V_DEVICE)
        return kiln_script_leave(k);
    return kiln_script_give(
        k, (kiln_script_value){.kind = KILN_SCRIPT_V_TEXT, .s = KILN_STR_LIT("cpu")});
}

kiln_status kiln_script_builtin_zero(kiln_script_call *k) {
    return kiln_script_give(k, kiln_script_of_int(0));
}
kiln_status kiln_script_builtin_no(kiln_script_call *k) {
    return kiln_script_give(k, kiln_script_of_bool(false));
}
kiln_status kiln_script_builtin_yes(kiln_script_call *k) {
    return kiln_script_give(k, kiln_script_of_bool(true));
}
kiln_status kiln_script_builtin_nothing(kiln_script_call *k) {
    return kiln_script_give(k, kiln_script_none());
}
kiln_status kiln_script_builtin_itself(kiln_script_call *k) {
    return kiln_script_give(k, k->v[0]);
}

/* ---- numbers of tensors -------------------------------------------------------------- */

static kiln_status number(kiln_script_call *k, kiln_script_value *out) {
    *out = k->v[0];
    return is_tensor(k) ? kiln_script_number(k->cx, k->v[0].tensor, "a number", out)
                        : KILN_OK;
}

kiln_status kiln_script_builtin_item(kiln_script_call *k) {
    kiln_script_value v;
    KILN_TRY(number(k, &v));
    return kiln_script_give(k, v);
}

/* Nested lists of a constant's elements. */
static kiln_script_value nest(kiln_script_call *k, const kiln_wide *w, int axis,
                              int64_t *at) {
    if (axis == w->type.rank) {
        const int64_t i = (*at)++;
        return w->f != NULL                 ? kiln_script_of_float(w->f[i])
               : w->type.dtype == KILN_BOOL ? kiln_script_of_bool(w->i[i] != 0)
                                            : kiln_script_of_int(w->i[i]);
    }
    kiln_script_value list = kiln_script_new_list(k->cx, KILN_SCRIPT_V_LIST);
    for (int64_t i = 0; i < w->type.dim[axis]; i++)
        kiln_script_push(k->cx, &list, nest(k, w, axis + 1, at));
    return list;
}

kiln_status kiln_script_builtin_tolist(kiln_script_call *k) {
    kiln_tensor c;
    kiln_value *v;
    int64_t at = 0;
    if (!is_tensor(k))
        return kiln_script_wrong(k, 0, "a tensor");
    KILN_TRY(kiln_script_read_tensor(k->cx, k->v[0].tensor, &v));
    if (kiln_type_elems(&v->type) > KILN_SCRIPT_MAX_LIST)
        return kiln_script_wrong(k, 0, "a tensor of fewer elements");
    KILN_TRY(kiln_script_spend(k->cx, (size_t)kiln_type_elems(&v->type)));
    KILN_TRY(kiln_import_const(&k->cx->common, v, "tolist", &c));
    kiln_wide w = kiln_wide_new(&k->cx->common.scratch, &c.type);
    kiln_widen(&c.type, c.data, &w);
    return kiln_script_give(k, nest(k, &w, 0, &at));
}

/* A number that was traced: a scalar, which arithmetic folds. */
kiln_status kiln_script_builtin_num_to_tensor(kiln_script_call *k) {
    const kiln_script_value *const v = &k->v[0];
    kiln_import_cx *const c = &k->cx->common;
    if (!kiln_script_is_number(v))
        return kiln_script_leave(k);
    if (v->kind == KILN_SCRIPT_V_FLOAT)
        return kiln_script_give(
            k, kiln_script_of_tensor(k->cx, kiln_import_scalar(c, KILN_F64, v->f)));
    return kiln_script_give(
        k,
        kiln_script_of_tensor(k->cx, kiln_graph_const_i64(c->graph, "number", v->i)));
}

kiln_status kiln_script_builtin_to_int(kiln_script_call *k) {
    kiln_script_value v;
    int64_t i = 0;
    KILN_TRY(number(k, &v));
    if (v.kind == KILN_SCRIPT_V_TEXT && !kiln_parse_i64(v.s, &i))
        return kiln_script_wrong(k, 0, "an integer's text");
    if (v.kind != KILN_SCRIPT_V_TEXT && !kiln_script_is_number(&v))
        return kiln_script_wrong(k, 0, "a number");
    if (v.kind == KILN_SCRIPT_V_FLOAT && !(fabs(v.f) < 9e18))
        return kiln_script_wrong(k, 0, "a number that fits an integer");
    if (v.kind != KILN_SCRIPT_V_TEXT)
        i = v.kind == KILN_SCRIPT_V_FLOAT ? (int64_t)v.f : v.i;
    return kiln_script_give(k, kiln_script_of_int(i));
}

kiln_status kiln_script_builtin_to_float(kiln_script_call *k) {
    kiln_script_value v;
    double f = 0;
    KILN_TRY(number(k, &v));
    if (v.kind == KILN_SCRIPT_V_TEXT && !kiln_parse_f64(v.s, &f))
        return kiln_script_wrong(k, 0, "a number's text");
    if (v.kind != KILN_SCRIPT_V_TEXT && !kiln_script_is_number(&v))
        return kiln_script_wrong(k, 0, "a number");
    return kiln_script_give(k, kiln_script_of_float(v.kind == KILN_SCRIPT_V_TEXT
                                                        ? f
                                                        : kiln_script_as_float(&v)));
}

kiln_status kiln_script_builtin_to_bool(kiln_script_call *k) {
    bool is_true;
    KILN_TRY(kiln_script_truth(k->cx, &k->v[0], &is_true));
    return kiln_script_give(k, kiln_script_of_bool(is_true));
}

/* ---- what tells values apart ---------------------------------------------------------- */

kiln_status kiln_script_builtin_is(kiln_script_call *k) {
    return kiln_script_give(k,
                            kiln_script_of_bool(kiln_script_equal(&k->v[0], &k->v[1])));
}

kiln_status kiln_script_builtin_is_not(kiln_script_call *k) {
    return kiln_script_give(
        k, kiln_script_of_bool(!kiln_script_equal(&k->v[0], &k->v[1])));
}

kiln_status kiln_script_builtin_raise(kiln_script_call *k) {
    kiln_buf b;
    kiln_buf_init(&b, &k->cx->common.scratch);
    kiln_buf_puts(&b, "");
    if (k->n > 0)
        kiln_script_show(&b, &k->v[0], 0);
    return kiln_script_fail(k->cx, KILN_ERR_SHAPE,
                            "the model refuses these inputs: '%s'", kiln_buf_str(&b).p);
}
