/* Importers of sequences and optionals: SequenceConstruct, SequenceEmpty,
 * SequenceInsert, SequenceErase, SequenceAt, SequenceLength, ConcatFromSequence (11),
 * SplitToSequence (11, 24), SequenceMap (17), Optional (15), OptionalGetElement and
 * OptionalHasElement (15, 18). How long a sequence is, is known at import, so positions
 * must be constants. */
#include "compiler/frontend/onnx/onnx_internal.h"
#include "compiler/frontend/onnx/import_core.h"
#include "compiler/frontend/onnx/list.h"

#include <inttypes.h>
#include <string.h>

/* ---- lists ---- */

static const char list_name[] = "a sequence"; /* known by its address */

kiln_onnx_list *kiln_onnx_as_list(kiln_value *v) {
    return v != NULL && v->name == list_name ? (kiln_onnx_list *)(void *)v : NULL;
}

kiln_status kiln_onnx_list_new(kiln_onnx_cx *cx, size_t n, kiln_onnx_list **out) {
    if (n > KILN_ONNX_MAX_LIST)
        return kiln_onnx_fail(cx, KILN_ERR_LIMIT,
                              "a sequence may have at most %d elements, has %zu",
                              (int)KILN_ONNX_MAX_LIST, n);
    KILN_TRY(kiln_onnx_spend(cx, (int64_t)(n * sizeof(kiln_value *))));
    *out = kiln_new(&cx->common.scratch, kiln_onnx_list);
    (*out)->head.name = list_name;
    (*out)->head.id = -1;
    (*out)->n = n;
    (*out)->v = kiln_array(&cx->common.scratch, kiln_value *, n);
    return KILN_OK;
}

bool kiln_onnx_takes_lists(const kiln_onnx_op *row) {
    static const char *const names[] = {
        "ConcatFromSequence", "Identity",   "Optional",      "OptionalGetElement",
        "OptionalHasElement", "SequenceAt", "SequenceErase", "SequenceInsert",
        "SequenceLength",     "SequenceMap"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (row->domain[0] == '\0' && strcmp(row->name, names[i]) == 0)
            return true;
    return false;
}

/* Input i, which must be a sequence. */
static kiln_status need_list(kiln_onnx_cx *cx, const kiln_onnx_node *n, int i,
                             kiln_onnx_list **out) {
    kiln_value *v;
    KILN_TRY(kiln_onnx_need(cx, n, i, "input_sequence", &v));
    *out = kiln_onnx_as_list(v);
    if (*out == NULL || (*out)->is_none)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE, "input %d must be a sequence, is %s",
                              i, *out == NULL ? "a tensor" : "an empty optional");
    return KILN_OK;
}

/* Input i, which must be a tensor. */
static kiln_status need_tensor(kiln_onnx_cx *cx, const kiln_onnx_node *n, int i,
                               const char *name, kiln_value **out) {
    KILN_TRY(kiln_onnx_need(cx, n, i, name, out));
    if (kiln_onnx_as_list(*out) != NULL)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "input %d ('%s') must be a tensor, is a sequence", i,
                              name);
    return KILN_OK;
}

/* Input i, which is given, as one whole number. */
static kiln_status read_one(kiln_onnx_cx *cx, const kiln_onnx_node *n, int i,
                            int64_t *out) {
    kiln_value *v;
    const int64_t *list;
    size_t count;
    KILN_TRY(need_tensor(cx, n, i, "position", &v));
    KILN_TRY(kiln_onnx_const_ints(cx, v, "position", &list, &count));
    if (count != 1)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'position' must be one number, has %zu", count);
    *out = list[0];
    return KILN_OK;
}

/* Input i as a position in [-n, n); `otherwise` where it is not given. */
static kiln_status read_position(kiln_onnx_cx *cx, const kiln_onnx_node *n, int i,
                                 int64_t length, int64_t otherwise, size_t *out) {
    int64_t at = otherwise;
    if (kiln_onnx_in(cx, n, i) != NULL)
        KILN_TRY(read_one(cx, n, i, &at));
    if (at < -length || at >= length)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'position' must be in [-%" PRId64 ", %" PRId64
                              "), is %" PRId64,
                              length, length, at);
    *out = (size_t)(at < 0 ? at + length : at);
    return KILN_OK;
}

static void set_list(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_onnx_list *l) {
    kiln_onnx_set(cx, n, 0, &l->head);
}

/* Elements of one sequence have one dtype. */
static kiln_status check_dtype(kiln_onnx_cx *cx, const kiln_onnx_list *l) {
    for (size_t i = 1; i < l->n; i++)
        if (l->v[i]->type.dtype != l->v[0]->type.dtype)
            return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                                  "a sequence must have elements of one type, has %s "
                                  "and %s",
                                  kiln_dtype_name(l->v[0]->type.dtype),
                                  kiln_dtype_name(l->v[i]->type.dtype));
    return KILN_OK;
}

/* ---- building and reading ---- */

kiln_status kiln_onnx_import_sequence_construct(kiln_onnx_cx *cx,
                                                const kiln_onnx_node *n) {
    kiln_onnx_list *l;
    KILN_TRY(kiln_onnx_list_new(cx, n->n_input, &l));
    for (size_t i = 0; i < l->n; i++)
        KILN_TRY(need_tensor(cx, n, (int)i, "inputs", &l->v[i]));
    KILN_TRY(check_dtype(cx, l));
    set_list(cx, n, l);
    return KILN_OK;
}

kiln_status kiln_onnx_import_sequence_empty(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_onnx_list *l;
    kiln_dtype dtype;
    KILN_TRY(kiln_onnx_dtype(kiln_onnx_attr_i(cx, n, "dtype", 1), &dtype,
                             kiln_onnx_err(cx)));
    KILN_TRY(kiln_onnx_list_new(cx, 0, &l));
    set_list(cx, n, l);
    return KILN_OK;
}

kiln_status kiln_onnx_import_sequence_insert(kiln_onnx_cx *cx,
                                             const kiln_onnx_node *n) {
    kiln_onnx_list *from, *l;
    kiln_value *x;
    KILN_TRY(need_list(cx, n, 0, &from));
    KILN_TRY(need_tensor(cx, n, 1, "tensor", &x));
    const int64_t length = (int64_t)from->n;
    KILN_TRY(kiln_onnx_list_new(cx, from->n + 1, &l));
    /* One place more than elements; a negative one counts from the old end. */
    int64_t given = length;
    if (kiln_onnx_in(cx, n, 2) != NULL)
        KILN_TRY(read_one(cx, n, 2, &given));
    if (given < -length || given > length)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'position' must be in [-%" PRId64 ", %" PRId64
                              "], is %" PRId64,
                              length, length, given);
    const size_t at = (size_t)(given < 0 ? given + length : given);
    for (size_t i = 0; i < l->n; i++)
        l->v[i] = i == at ? x : from->v[i < at ? i : i - 1];
    KILN_TRY(check_dtype(cx, l));
    set_list(cx, n, l);
    return KILN_OK;
}

kiln_status kiln_onnx_import_sequence_erase(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_onnx_list *from, *l;
    size_t at;
    KILN_TRY(need_list(cx, n, 0, &from));
    KILN_TRY(read_position(cx, n, 1, (int64_t)from->n, -1, &at));
    KILN_TRY(kiln_onnx_list_new(cx, from->n - 1, &l));
    for (size_t i = 0; i < l->n; i++)
        l->v[i] = from->v[i < at ? i : i + 1];
    set_list(cx, n, l);
    return KILN_OK;
}

kiln_status kiln_onnx_import_sequence_at(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_onnx_list *from;
    size_t at;
    KILN_TRY(need_list(cx, n, 0, &from));
    if (kiln_onnx_in(cx, n, 1) == NULL)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE, "input 1 ('position') is missing");
    KILN_TRY(read_position(cx, n, 1, (int64_t)from->n, 0, &at));
    kiln_onnx_set(cx, n, 0, from->v[at]);
    return KILN_OK;
}

kiln_status kiln_onnx_import_sequence_length(kiln_onnx_cx *cx,
                                             const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_onnx_list *from;
    KILN_TRY(need_list(cx, n, 0, &from));
    const int64_t length = (int64_t)from->n;
    kiln_onnx_set(cx, n, 0, kiln_compose_ints(&c, 0, NULL, &length));
    return c.status;
}

/* ---- cutting and joining ---- */

/* Sizes of the parts, of which there are n: `split` is a list of them, or the size of
 * all but the last. */
static kiln_status read_parts(kiln_onnx_cx *cx, kiln_value *split, int64_t dim,
                              const int64_t **sizes, size_t *n) {
    const int64_t *given = &(const int64_t){1};
    size_t count = 1;
    if (split != NULL)
        KILN_TRY(kiln_onnx_const_ints(cx, split, "split", &given, &count));
    if (split != NULL && split->type.rank > 0) {
        *sizes = given;
        *n = count;
        return KILN_OK;
    }
    const int64_t part = given[0];
    if (part < 1 || (dim + part - 1) / part > KILN_ONNX_MAX_LIST)
        return kiln_onnx_fail(cx, KILN_ERR_LIMIT,
                              "'split' must be >= 1 and make at most %d parts, is "
                              "%" PRId64 " for %" PRId64 " elements",
                              (int)KILN_ONNX_MAX_LIST, part, dim);
    *n = (size_t)((dim + part - 1) / part);
    int64_t *const made = kiln_array(&cx->common.scratch, int64_t, *n);
    for (size_t i = 0; i < *n; i++)
        made[i] = i + 1 < *n ? part : dim - part * (int64_t)i;
    *sizes = made;
    return KILN_OK;
}

/* x without axis, which has one element, or with such an axis. */
static kiln_value *with_axis(kiln_compose *c, kiln_value *x, int axis, bool is_more) {
    const kiln_type t = x->type;
    int64_t dim[KILN_MAX_RANK + 1];
    int rank = 0;
    for (int i = 0; i < t.rank + 1; i++) {
        if (i == axis && is_more)
            dim[rank++] = 1;
        if (i < t.rank && (i != axis || is_more))
            dim[rank++] = t.dim[i];
    }
    if (rank <= KILN_MAX_RANK)
        return kiln_compose_reshape(c, x, rank, dim);
    kiln_compose_fail(c, kiln_fail(c->cx->err, KILN_ERR_LIMIT,
                                   "a value may have at most %d axes",
                                   (int)KILN_MAX_RANK));
    return x;
}

kiln_status kiln_onnx_import_split_to_sequence(kiln_onnx_cx *cx,
                                               const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x, *split = kiln_onnx_in(cx, n, 1);
    kiln_onnx_list *l;
    const int64_t *sizes;
    size_t count;
    int axis;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &x));
    KILN_TRY(kiln_axis_normalize(kiln_onnx_attr_i(cx, n, "axis", 0), x->type.rank,
                                 &axis, kiln_onnx_err(cx)));
    /* Only parts of one element lose their axis. */
    const bool keeps = kiln_onnx_attr_i(cx, n, "keepdims", 1) != 0 || split != NULL;
    KILN_TRY(read_parts(cx, split, x->type.dim[axis], &sizes, &count));
    KILN_TRY(kiln_onnx_list_new(cx, count, &l));
    if (count == 1)
        l->v[0] = x;
    if (count > 1) {
        const kiln_attr_arg args[] = {kiln_arg_int("axis", axis),
                                      kiln_arg_ints("sizes", sizes, count)};
        KILN_TRY(
            kiln_onnx_emit(cx, n, &kiln_op_split, &x, 1, args, 2, (int)count, l->v));
    }
    if (count == 1 && sizes[0] != x->type.dim[axis])
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'split' must add up to the %" PRId64
                              " elements of the axis, is %" PRId64,
                              x->type.dim[axis], sizes[0]);
    for (size_t i = 0; i < count && !keeps; i++)
        l->v[i] = with_axis(&c, l->v[i], axis, false);
    set_list(cx, n, l);
    return c.status;
}

kiln_status kiln_onnx_import_concat_from_sequence(kiln_onnx_cx *cx,
                                                  const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_onnx_list *from;
    int axis;
    KILN_TRY(need_list(cx, n, 0, &from));
    const bool is_new = kiln_onnx_attr_i(cx, n, "new_axis", 0) != 0;
    const int64_t given = kiln_onnx_attr_i(cx, n, "axis", 0);
    if (from->n == 0)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "the sequence must have elements, is empty");
    if (!kiln_onnx_has_attr(n, "axis"))
        return kiln_onnx_fail(cx, KILN_ERR_PARSE, "attribute 'axis' is missing");
    KILN_TRY(kiln_axis_normalize(given, from->v[0]->type.rank + is_new, &axis,
                                 kiln_onnx_err(cx)));
    kiln_value **const in = kiln_array(&cx->common.scratch, kiln_value *, from->n);
    for (size_t i = 0; i < from->n; i++)
        in[i] = is_new ? with_axis(&c, from->v[i], axis, true) : from->v[i];
    KILN_TRY(c.status);
    const kiln_attr_arg arg = kiln_arg_int("axis", axis);
    kiln_onnx_set(
        cx, n, 0,
        from->n == 1 ? in[0]
                     : kiln_compose_op(&c, &kiln_op_concat, in, (int)from->n, &arg, 1));
    return c.status;
}

/* ---- SequenceMap ---- */

/* The body once for each element, in place. Further inputs are sequences of the same
 * length, or tensors that each element sees. */
kiln_status kiln_onnx_import_sequence_map(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    const kiln_onnx_graph *const body = kiln_onnx_attr_graph(cx, n, "body");
    kiln_onnx_list *first;
    KILN_TRY(need_list(cx, n, 0, &first));
    if (body == NULL || body->n_input != n->n_input || body->n_output < n->n_output)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "'body' must have the %zu inputs and %zu outputs of the "
                              "node",
                              n->n_input, n->n_output);
    kiln_onnx_list **const out =
        kiln_array(&cx->common.scratch, kiln_onnx_list *, body->n_output);
    kiln_value **const actual =
        kiln_array(&cx->common.scratch, kiln_value *, n->n_input);
    kiln_value **const outs =
        kiln_array(&cx->common.scratch, kiln_value *, body->n_output);
    for (size_t k = 0; k < body->n_output; k++)
        KILN_TRY(kiln_onnx_list_new(cx, first->n, &out[k]));
    const char *const prefix = kiln_onnx_node_prefix(cx, n);
    for (size_t i = 0; i < first->n; i++) {
        for (size_t k = 0; k < n->n_input; k++) {
            KILN_TRY(kiln_onnx_need(cx, n, (int)k, "inputs", &actual[k]));
            const kiln_onnx_list *const l = kiln_onnx_as_list(actual[k]);
            if (l != NULL && l->n != first->n)
                return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                                      "sequences must be equally long, have %zu and "
                                      "%zu elements",
                                      first->n, l->n);
            if (l != NULL)
                actual[k] = l->v[i];
        }
        KILN_TRY(kiln_onnx_inline_with(
            cx, kiln_format(&cx->common.scratch, "%s%zu/", prefix, i), body, actual,
            n->n_input, outs));
        for (size_t k = 0; k < body->n_output; k++)
            out[k]->v[i] = outs[k];
    }
    for (size_t k = 0; k < n->n_output; k++)
        kiln_onnx_set(cx, n, (int)k, &out[k]->head);
    return KILN_OK;
}

/* ---- optionals: a value, or a list that is none ---- */

kiln_status kiln_onnx_import_optional(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *const x = kiln_onnx_in(cx, n, 0);
    kiln_onnx_list *none;
    if (x != NULL) {
        kiln_onnx_set(cx, n, 0, x);
        return KILN_OK;
    }
    KILN_TRY(kiln_onnx_list_new(cx, 0, &none));
    none->is_none = true;
    set_list(cx, n, none);
    return KILN_OK;
}

kiln_status kiln_onnx_import_optional_get_element(kiln_onnx_cx *cx,
                                                  const kiln_onnx_node *n) {
    kiln_value *x;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &x));
    const kiln_onnx_list *const l = kiln_onnx_as_list(x);
    if (l != NULL && l->is_none)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "the optional must have an element, is empty");
    kiln_onnx_set(cx, n, 0, x);
    return KILN_OK;
}

kiln_status kiln_onnx_import_optional_has_element(kiln_onnx_cx *cx,
                                                  const kiln_onnx_node *n) {
    kiln_value *const x = kiln_onnx_in(cx, n, 0);
    const kiln_onnx_list *const l = kiln_onnx_as_list(x);
    const bool has = x != NULL && (l == NULL || !l->is_none);
    kiln_onnx_set(cx, n, 0, kiln_onnx_scalar(cx, KILN_BOOL, has));
    return KILN_OK;
}
