/* What makers of PyTorch's operators ask of a call's arguments, and how they give its
 * values; see aten_internal.h. */
#include "compiler/frontend/pytorch/aten/aten_internal.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_LIST = 1 << 16 };

static const char *kind_name(kiln_aten_kind kind) {
    switch (kind) {
    case KILN_ATEN_NONE:
        return "None";
    case KILN_ATEN_TENSOR:
        return "a tensor";
    case KILN_ATEN_INT:
        return "an integer";
    case KILN_ATEN_FLOAT:
        return "a number";
    case KILN_ATEN_BOOL:
        return "True or False";
    case KILN_ATEN_STRING:
        return "a text";
    case KILN_ATEN_DTYPE:
        return "a dtype";
    case KILN_ATEN_LIST:
        return "a list";
    case KILN_ATEN_OTHER:
        break;
    }
    return "something that the import does not know";
}

static bool is_name(kiln_str names, const char *name) {
    kiln_str one;
    while (kiln_str_cut(&names, '|', &one))
        if (kiln_str_is(one, name))
            return true;
    return false;
}

int kiln_aten_find_name(const kiln_aten_args *k, const char *name) {
    for (int i = 0; i < k->n; i++)
        if (is_name(k->name[i], name))
            return i;
    return -1;
}

const kiln_aten_value *kiln_aten_get(kiln_aten_args *k, const char *name) {
    const int i = kiln_aten_find_name(k, name);
    KILN_ASSERT(i >= 0, "the row '%s' has no argument '%s'", k->row->name, name);
    k->is_read[i] = true;
    return &k->value[i];
}

static void wrong(kiln_aten_args *k, const char *name, const char *want,
                  const kiln_aten_value *v) {
    if (k->c.status == KILN_OK)
        kiln_aten_fail(k, KILN_ERR_PARSE, "%s: argument '%s' must be %s, is %s",
                       k->row->name, name, want, kind_name(v->kind));
}

bool kiln_aten_is_none(kiln_aten_args *k, const char *name) {
    return kiln_aten_get(k, name)->kind == KILN_ATEN_NONE;
}

bool kiln_aten_is_tensor(kiln_aten_args *k, const char *name) {
    return kiln_aten_get(k, name)->kind == KILN_ATEN_TENSOR;
}

/* ---- tensors ---------------------------------------------------------------------- */

static kiln_value *nothing(kiln_aten_args *k) {
    return kiln_import_scalar(k->c.cx, KILN_F32, 0);
}

static kiln_value *tensor_of(kiln_aten_args *k, const char *name,
                             const kiln_aten_value *v) {
    switch (v->kind) {
    case KILN_ATEN_TENSOR:
        KILN_ASSERT(v->tensor != NULL, "'%s' is a tensor that is none", name);
        return v->tensor;
    case KILN_ATEN_INT:
        return kiln_graph_const_i64(k->c.cx->graph, "c", v->i);
    case KILN_ATEN_FLOAT:
        return kiln_import_scalar(k->c.cx, KILN_F32, v->f);
    case KILN_ATEN_BOOL:
        return kiln_import_scalar(k->c.cx, KILN_BOOL, (double)v->i);
    case KILN_ATEN_NONE:
    case KILN_ATEN_STRING:
    case KILN_ATEN_DTYPE:
    case KILN_ATEN_LIST:
    case KILN_ATEN_OTHER:
        break;
    }
    wrong(k, name, "a tensor", v);
    return nothing(k);
}

kiln_value *kiln_aten_tensor(kiln_aten_args *k, const char *name) {
    return tensor_of(k, name, kiln_aten_get(k, name));
}

kiln_value *kiln_aten_optional(kiln_aten_args *k, const char *name) {
    return kiln_aten_is_none(k, name) ? NULL : kiln_aten_tensor(k, name);
}

size_t kiln_aten_tensors(kiln_aten_args *k, const char *name, kiln_value ***out) {
    const kiln_aten_value *const v = kiln_aten_get(k, name);
    *out = NULL;
    if (v->kind != KILN_ATEN_LIST || v->n > MAX_LIST)
        wrong(k, name, "a list of tensors", v);
    if (k->c.status != KILN_OK)
        return 0;
    *out = kiln_array(&k->c.cx->scratch, kiln_value *, v->n);
    for (size_t i = 0; i < v->n; i++)
        (*out)[i] = tensor_of(k, name, &v->list[i]);
    return k->c.status == KILN_OK ? v->n : 0;
}

/* ---- numbers ---------------------------------------------------------------------- */

/* A tensor of one element stands for the number in it, where it is constant. */
static int64_t int_of(kiln_aten_args *k, const char *name, const kiln_aten_value *v) {
    const int64_t *list;
    size_t n;
    if (v->kind == KILN_ATEN_INT || v->kind == KILN_ATEN_BOOL)
        return v->i;
    if (v->kind == KILN_ATEN_TENSOR && k->c.status == KILN_OK &&
        kiln_type_elems(&v->tensor->type) == 1) {
        kiln_compose_fail(&k->c,
                          kiln_import_const_ints(k->c.cx, v->tensor, name, &list, &n));
        return k->c.status == KILN_OK ? list[0] : 0;
    }
    wrong(k, name, "an integer", v);
    return 0;
}

int64_t kiln_aten_int(kiln_aten_args *k, const char *name) {
    return int_of(k, name, kiln_aten_get(k, name));
}

double kiln_aten_float(kiln_aten_args *k, const char *name) {
    const kiln_aten_value *const v = kiln_aten_get(k, name);
    const double *list;
    size_t n;
    if (v->kind == KILN_ATEN_FLOAT)
        return v->f;
    if (v->kind == KILN_ATEN_INT || v->kind == KILN_ATEN_BOOL)
        return (double)v->i;
    if (v->kind == KILN_ATEN_TENSOR && k->c.status == KILN_OK &&
        kiln_type_elems(&v->tensor->type) == 1) {
        kiln_compose_fail(
            &k->c, kiln_import_const_floats(k->c.cx, v->tensor, name, &list, &n));
        return k->c.status == KILN_OK ? list[0] : 0;
    }
    wrong(k, name, "a number", v);
    return 0;
}

bool kiln_aten_bool(kiln_aten_args *k, const char *name) {
    const kiln_aten_value *const v = kiln_aten_get(k, name);
    if (v->kind == KILN_ATEN_BOOL || v->kind == KILN_ATEN_INT)
        return v->i != 0;
    if (v->kind != KILN_ATEN_NONE)
        wrong(k, name, "True or False", v);
    return false;
}

kiln_str kiln_aten_string(kiln_aten_args *k, const char *name) {
    const kiln_aten_value *const v = kiln_aten_get(k, name);
    if (v->kind == KILN_ATEN_STRING)
        return v->s;
    if (v->kind != KILN_ATEN_NONE)
        wrong(k, name, "a text", v);
    return KILN_STR_LIT("");
}

size_t kiln_aten_ints(kiln_aten_args *k, const char *name, int64_t *out, size_t max) {
    const kiln_aten_value *const v = kiln_aten_get(k, name);
    if (v->kind != KILN_ATEN_LIST) {
        KILN_ASSERT(max > 0, "'%s' has no room", name);
        out[0] = int_of(k, name, v);
        return k->c.status == KILN_OK ? 1 : 0;
    }
    if (v->n > max && k->c.status == KILN_OK)
        kiln_aten_fail(k, KILN_ERR_LIMIT, "%s: '%s' may have %zu entries, has %zu",
                       k->row->name, name, max, v->n);
    for (size_t i = 0; i < v->n && k->c.status == KILN_OK; i++)
        out[i] = int_of(k, name, &v->list[i]);
    return k->c.status == KILN_OK ? v->n : 0;
}

void kiln_aten_window(kiln_aten_args *k, const char *name, int n, int64_t *out) {
    KILN_ASSERT(n >= 0 && n <= KILN_MAX_RANK, "'%s' of %d axes", name, n);
    int64_t v[KILN_MAX_RANK] = {0};
    const size_t count = kiln_aten_ints(k, name, v, KILN_MAX_RANK);
    if (k->c.status == KILN_OK && count != 1 && count != (size_t)n)
        kiln_aten_fail(k, KILN_ERR_SHAPE,
                       "%s: '%s' must have one number or %d, has %zu", k->row->name,
                       name, n, count);
    for (int i = 0; i < n; i++)
        out[i] = count == 1 ? v[0] : v[i];
}

kiln_dtype kiln_aten_dtype(kiln_aten_args *k, const char *name, kiln_dtype otherwise) {
    const kiln_aten_value *const v = kiln_aten_get(k, name);
    kiln_dtype d;
    if (v->kind == KILN_ATEN_DTYPE)
        return (kiln_dtype)v->i;
    if (v->kind == KILN_ATEN_INT && kiln_aten_dtype_from_number(v->i, &d))
        return d;
    if (v->kind == KILN_ATEN_INT)
        kiln_aten_fail(k, KILN_ERR_UNSUPPORTED,
                       "%s: kiln has no dtype that is PyTorch's number %" PRId64,
                       k->row->name, v->i);
    else if (v->kind != KILN_ATEN_NONE)
        wrong(k, name, "a dtype", v);
    return otherwise;
}

/* ---- axes ------------------------------------------------------------------------- */

static int axis_of(kiln_aten_args *k, int64_t v, int rank) {
    int axis = 0;
    if (k->c.status == KILN_OK)
        kiln_compose_fail(
            &k->c, kiln_axis_normalize(v, rank > 0 ? rank : 1, &axis, k->c.cx->err));
    return k->c.status == KILN_OK ? axis : 0;
}

int kiln_aten_axis(kiln_aten_args *k, const char *name, int rank) {
    return axis_of(k, kiln_aten_int(k, name), rank);
}

size_t kiln_aten_axes(kiln_aten_args *k, const char *name, int rank, int64_t *out) {
    KILN_ASSERT(rank >= 0 && rank <= KILN_MAX_RANK, "'%s' of rank %d", name, rank);
    bool is_taken[KILN_MAX_RANK + 1] = {false};
    size_t n = 0;
    if (!kiln_aten_is_none(k, name))
        n = kiln_aten_ints(k, name, out, KILN_MAX_RANK);
    for (size_t i = 0; i < n; i++) {
        const int axis = axis_of(k, out[i], rank);
        if (is_taken[axis] && k->c.status == KILN_OK)
            kiln_aten_fail(k, KILN_ERR_SHAPE, "%s: '%s' names axis %d twice",
                           k->row->name, name, axis);
        is_taken[axis] = true;
        out[i] = axis;
    }
    return rank == 0 ? 0 : n;
}

bool kiln_aten_need_rank(kiln_aten_args *k, const kiln_value *x, int min, int max) {
    KILN_ASSERT(min <= max, "'%s' of rank %d to %d", k->row->name, min, max);
    if (k->c.status == KILN_OK && (x->type.rank < min || x->type.rank > max))
        kiln_aten_fail(k, KILN_ERR_SHAPE, "%s: rank must be %d to %d, is %d",
                       k->row->name, min, max, x->type.rank);
    return k->c.status == KILN_OK;
}

/* ---- results ---------------------------------------------------------------------- */

kiln_status kiln_aten_give_value(kiln_aten_args *k, kiln_aten_value v) {
    KILN_ASSERT(k->n_out < KILN_ATEN_MAX_OUT, "'%s' gives too much", k->row->name);
    k->out[k->n_out++] = v;
    return k->c.status;
}

kiln_status kiln_aten_give(kiln_aten_args *k, kiln_value *y) {
    return kiln_aten_give_value(k, kiln_aten_of_tensor(y));
}

kiln_status kiln_aten_give_list(kiln_aten_args *k, kiln_value *const *y, size_t n) {
    kiln_aten_value *const v = kiln_array(&k->c.cx->scratch, kiln_aten_value, n);
    for (size_t i = 0; i < n; i++)
        v[i] = kiln_aten_of_tensor(y[i]);
    return kiln_aten_give_value(k, kiln_aten_of_list(v, n));
}
