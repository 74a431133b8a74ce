/* Functions of TensorFlow in a model's code, such as tf.concat([x, y], -1): of Keras 2,
 * whose layers TFOpLambda and SlicingOpLambda name one. What it is called with is in the
 * call: first a value, or a list of them, then all else by name, where an argument that was
 * not given is missing. Source: keras.src.layers.core.tf_op_layer and engine.node of Keras
 * 2.15; TensorFlow, module tf. */
#include "compiler/frontend/keras/keras_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static kiln_status set(kiln_keras_call *k, kiln_value *y) {
    k->out = y;
    return k->c.status;
}

/* ---- what a call is given ------------------------------------------------------------ */

static bool is_ref(const kiln_json *j) {
    return kiln_json_is_array(j) && kiln_json_is_string(kiln_json_first(j));
}

/* A value, a number or numbers in lists; false: nothing that is an operand. */
static bool add_operand(kiln_arena *a, const kiln_json *j, kiln_keras_refs *out) {
    const kiln_json *const name = kiln_json_first(j);
    if (is_ref(j) && strcmp(kiln_json_string(name, ""), "_CONSTANT_VALUE") == 0)
        j = kiln_json_next(kiln_json_next(name));
    if (is_ref(j)) {
        const size_t n = out->n;
        kiln_keras_collect(a, j, out);
        out->n = n < out->n ? n + 1 : n; /* without what its keywords refer to */
        return n < out->n;
    }
    if (!kiln_json_is_number(j) && !kiln_json_is_array(j))
        return false;
    const kiln_keras_ref r = {.list = j};
    kiln_vec_push(a, out, r);
    return true;
}

kiln_status kiln_keras_collect_lambda(kiln_keras_cx *cx, const kiln_json *node,
                                      kiln_keras_refs *out) {
    static const char *const values[] = {"x",
                                         "y",
                                         "b",
                                         "bias",
                                         "indices",
                                         "filters",
                                         "filter",
                                         "depthwise_filter",
                                         "pointwise_filter"};
    static const char *const sizes[] = {"shape", "size", "multiples", "output_shape"};
    kiln_arena *const a = &cx->common.scratch;
    const kiln_json *const keywords = kiln_keras_keywords(node);
    kiln_keras_refs named = {0};
    size_t n_named = 0;
    bool is_good = is_ref(node) && add_operand(a, node, out);
    for (const kiln_json *i = kiln_json_first(node); !is_ref(node) && i != NULL;
         i = kiln_json_next(i))
        is_good = add_operand(a, i, out);
    const size_t n = out->n;
    for (size_t i = 0; is_good && i < sizeof values / sizeof values[0]; i++) {
        const kiln_json *const v = kiln_json_get(keywords, values[i]);
        if (v == NULL || kiln_json_is_null(v))
            continue;
        is_good = add_operand(a, v, out);
        if (is_good)
            out->v[out->n - 1].is_index = strcmp(values[i], "indices") == 0;
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        kiln_keras_collect(a, kiln_json_get(keywords, sizes[i]), out);
    for (size_t i = n; i < out->n; i++)
        n_named += out->v[i].layer != NULL;
    kiln_keras_collect(a, keywords, &named);
    return is_good && named.n == n_named
               ? KILN_OK
               : kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                           "a function of TensorFlow must be called with values of "
                           "the model and numbers, and its other arguments be known");
}

/* The shape of numbers in lists, each as long as its neighbours; false: it is none. */
static bool find_shape(const kiln_json *j, kiln_type *t) {
    kiln_err ignored = {0};
    for (t->rank = 0; kiln_json_is_array(j); j = kiln_json_first(j)) {
        if (t->rank == KILN_MAX_RANK)
            return false;
        t->dim[t->rank++] = (int64_t)kiln_json_size(j);
    }
    return kiln_type_check(t, &ignored) == KILN_OK;
}

/* Writes them from *at on; `depth` lists lie around them. */
static bool read_numbers(const kiln_json *j, const kiln_type *t, int depth, double *v,
                         size_t *at) {
    if (depth == t->rank) {
        v[(*at)++] = kiln_json_number(j, kiln_json_bool(j, false));
        return kiln_json_is_number(j) || kiln_json_is_bool(j);
    }
    if (!kiln_json_is_array(j) || (int64_t)kiln_json_size(j) != t->dim[depth])
        return false;
    for (const kiln_json *i = kiln_json_first(j); i != NULL; i = kiln_json_next(i))
        if (!read_numbers(i, t, depth + 1, v, at))
            return false;
    return true;
}

static bool has_fraction(const kiln_json *j) {
    bool is_real = kiln_json_is_number(j) && kiln_json_is_real(j);
    for (const kiln_json *i = kiln_json_is_array(j) ? kiln_json_first(j) : NULL;
         i != NULL && !is_real; i = kiln_json_next(i))
        is_real = has_fraction(i);
    return is_real;
}

/* Numbers in lists as a constant of f64. */
static kiln_status make_numbers(kiln_compose *c, const kiln_json *list,
                                kiln_value **out) {
    kiln_type t = {.dtype = KILN_F64};
    size_t at = 0;
    const bool is_good = find_shape(list, &t);
    const int64_t n = is_good ? kiln_type_elems(&t) : 0;
    KILN_TRY(kiln_import_spend(c->cx, n * (int64_t)sizeof(double)));
    double *const v = kiln_array(&c->cx->scratch, double, n);
    if (!is_good || !read_numbers(list, &t, 0, v, &at))
        return kiln_fail(c->cx->err, KILN_ERR_UNSUPPORTED,
                         "its numbers must be in lists of one length");
    *out = kiln_compose_floats(c, KILN_F64, t.rank, t.dim, v);
    return c->status;
}

kiln_status kiln_keras_array_of(kiln_keras_cx *cx, const kiln_keras_layer *l,
                                const kiln_keras_ref *from, kiln_value **out) {
    kiln_compose c = {.cx = &cx->common, .site = l};
    kiln_dtype dtype;
    if (!kiln_keras_dtype_of(from->dtype, &dtype))
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "an array beside the model's values may be of float32, "
                         "float64, bool and integers of 8, 32 or 64 bits, not of '%s'",
                         kiln_import_show(&cx->common, kiln_str_from(from->dtype)));
    KILN_TRY(make_numbers(&c, from->list, out));
    *out = kiln_compose_cast(&c, *out, dtype);
    return c.status;
}

/* Numbers become what the values beside them are: TensorFlow changes no value's type. */
kiln_status kiln_keras_lambda_numbers(kiln_keras_cx *cx, const kiln_keras_layer *l,
                                      const kiln_keras_refs *from, kiln_value **in) {
    kiln_compose c = {.cx = &cx->common, .site = l};
    kiln_dtype dtype = KILN_BOOL;
    for (size_t i = 0; i < from->n; i++)
        if (in[i] != NULL && dtype == KILN_BOOL)
            dtype = in[i]->type.dtype;
    for (size_t i = 0; i < from->n; i++) {
        if (in[i] != NULL)
            continue;
        KILN_TRY(make_numbers(&c, from->v[i].list, &in[i]));
        const kiln_dtype own = has_fraction(from->v[i].list) ? KILN_F32 : KILN_I32;
        in[i] = kiln_compose_cast(
            &c, in[i], dtype == KILN_BOOL || from->v[i].is_index ? own : dtype);
    }
    return c.status;
}

kiln_status kiln_keras_sizes(kiln_keras_call *k, const char *name, int at, int64_t *out,
                             int *n) {
    const kiln_json *const v = kiln_keras_get(k, name, NULL);
    const bool is_list = kiln_json_is_array(v) && !is_ref(v);
    *n = 0;
    for (const kiln_json *i = is_list ? kiln_json_first(v) : v; i != NULL;
         i = is_list ? kiln_json_next(i) : NULL) {
        int64_t one;
        const int64_t *given = &one;
        size_t count = 1;
        if (is_ref(i) && at < k->n_in)
            KILN_TRY(kiln_import_const_ints(&k->cx->common, k->in[at++], name, &given,
                                            &count));
        else if (!kiln_json_i64(i, &one))
            count = KILN_MAX_RANK + 1;
        if (count > (size_t)(KILN_MAX_RANK - *n))
            return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                             "'%s' must be at most %d integers", name, KILN_MAX_RANK);
        for (size_t d = 0; d < count; d++)
            out[(*n)++] = given[d];
    }
    return KILN_OK;
}

/* ---- functions ----------------------------------------------------------------------- */

kiln_status kiln_keras_unread(kiln_keras_call *k, const char *argument) {
    return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED, "'%s' is not read",
                     argument);
}

kiln_status kiln_keras_read_axis(kiln_keras_call *k, int64_t otherwise, int *axis) {
    int64_t v = otherwise;
    KILN_TRY(kiln_keras_int(k, "axis", NULL, otherwise, &v));
    return kiln_axis_normalize(v, k->in[0]->type.rank, axis, k->cx->common.err);
}

kiln_status kiln_keras_axis_or_all(kiln_keras_call *k, int64_t otherwise, int *axis) {
    if (k->layer->is_lambda || kiln_keras_get(k, "axis", NULL) != NULL)
        return kiln_keras_read_axis(k, otherwise, axis);
    const int64_t n = kiln_type_elems(&k->in[0]->type);
    k->in[0] = kiln_compose_reshape(&k->c, k->in[0], 1, &n);
    *axis = 0;
    return k->c.status;
}

kiln_status kiln_keras_import_along_axis(kiln_keras_call *k) {
    int axis;
    KILN_TRY(kiln_keras_read_axis(k, -1, &axis));
    return set(k, kiln_compose_axis(&k->c, k->op, k->in[0], NULL, axis));
}

kiln_status kiln_keras_import_relu6(kiln_keras_call *k) {
    const kiln_attr_arg args[] = {kiln_arg_float("min", 0), kiln_arg_float("max", 6)};
    return set(k, kiln_compose_op(&k->c, &kiln_op_clip, k->in, 1, args, 2));
}

kiln_status kiln_keras_import_tf_leaky_relu(kiln_keras_call *k) {
    const double slope = 0.2;
    const kiln_attr_arg arg =
        kiln_arg_float("alpha", kiln_keras_number(k, "alpha", slope));
    return set(k, kiln_compose_op(&k->c, &kiln_op_leaky_relu, k->in, 1, &arg, 1));
}

kiln_status kiln_keras_import_squared_difference(kiln_keras_call *k) {
    kiln_value *const d = kiln_compose_2(&k->c, &kiln_op_sub, k->in[0], k->in[1]);
    return set(k, kiln_compose_2(&k->c, &kiln_op_mul, d, d));
}

kiln_status kiln_keras_import_bias(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_check_format(k));
    if (strcmp(kiln_keras_text(k, "data_format", NULL, "NHWC"), "NHWC") != 0)
        return kiln_keras_unread(k, "data_format");
    return set(k, kiln_compose_2(&k->c, &kiln_op_add, k->in[0], k->in[1]));
}

/* The last two axes change places. */
static kiln_value *turned(kiln_keras_call *k, kiln_value *x, const char *argument) {
    int64_t perm[KILN_MAX_RANK];
    const int rank = x->type.rank;
    if (!kiln_keras_bool(k, argument, false) || rank < 2)
        return x;
    for (int i = 0; i < rank; i++)
        perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return kiln_compose_transpose(&k->c, x, perm);
}

kiln_status kiln_keras_import_tf_product(kiln_keras_call *k) {
    static const char *const others[] = {"adjoint_a", "adjoint_b", "a_is_sparse",
                                         "b_is_sparse", "output_type"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (kiln_keras_bool(k, others[i], false))
            return kiln_keras_unread(k, others[i]);
    return set(k, kiln_compose_2(&k->c, &kiln_op_matmul,
                                 turned(k, k->in[0], "transpose_a"),
                                 turned(k, k->in[1], "transpose_b")));
}

kiln_status kiln_keras_import_of_length_1(kiln_keras_call *k) {
    int axis;
    if (kiln_keras_get(k, "epsilon", NULL) != NULL)
        return kiln_keras_unread(k, "epsilon");
    if (kiln_keras_get(k, "axis", NULL) == NULL)
        return kiln_keras_unread(k, "axis=None");
    KILN_TRY(kiln_keras_read_axis(k, -1, &axis));
    return set(k, kiln_keras_of_length_1(k, k->in[0], axis));
}

/* Place of the largest. */
kiln_status kiln_keras_import_place(kiln_keras_call *k) {
    int axis;
    const bool is_tf = k->layer->is_lambda;
    const bool is_short =
        strcmp(kiln_keras_text(k, "output_type", NULL, is_tf ? "int64" : "int32"),
               "int32") == 0;
    const bool keeps = !is_tf && kiln_keras_bool(k, "keepdims", false);
    if (keeps && kiln_keras_get(k, "axis", NULL) == NULL)
        return kiln_keras_unread(k, "keepdims");
    KILN_TRY(kiln_keras_meet(k, 0, KILN_I32));
    KILN_TRY(kiln_keras_axis_or_all(k, 0, &axis));
    const kiln_attr_arg args[] = {kiln_arg_int("axis", axis),
                                  kiln_arg_bool("keepdims", keeps)};
    kiln_value *const y = kiln_compose_op(&k->c, k->op, k->in, 1, args, 2);
    return set(k, kiln_compose_cast(&k->c, y, is_short ? KILN_I32 : KILN_I64));
}

kiln_status kiln_keras_import_pick(kiln_keras_call *k) {
    int axis;
    int64_t batch = 0;
    KILN_TRY(kiln_keras_int(k, "batch_dims", NULL, 0, &batch));
    if (batch != 0)
        return kiln_keras_unread(k, "batch_dims");
    KILN_TRY(kiln_keras_axis_or_all(k, 0, &axis));
    kiln_value *const at = kiln_compose_cast(&k->c, k->in[1], KILN_I64);
    return set(k, kiln_compose_axis(&k->c, &kiln_op_gather, k->in[0], at, axis));
}

/* ---- reductions ---------------------------------------------------------------------- */

/* The variance, or its root. */
kiln_status kiln_keras_import_spread(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_meet(k, 0, KILN_F32));
    kiln_value *const x = k->in[0];
    const kiln_op_def *const root = k->op;
    const int rank = x->type.rank;
    int64_t dim[KILN_MAX_RANK];
    k->op = &kiln_op_reduce_mean;
    KILN_TRY(kiln_keras_import_reduction(k));
    const kiln_type t = k->out->type;
    /* The mean stretches to x: with an axis of 1 for each that is gone. */
    for (int i = 0; i < rank; i++)
        dim[i] = x->type.dim[i];
    const kiln_json *const axes = kiln_keras_get(k, "axis", NULL);
    for (const kiln_json *i = kiln_json_is_array(axes) ? kiln_json_first(axes) : axes;
         i != NULL; i = kiln_json_is_array(axes) ? kiln_json_next(i) : NULL) {
        int axis;
        int64_t v = 0;
        (void)kiln_json_i64(i, &v); /* the reduction has read it */
        KILN_TRY(kiln_axis_normalize(v, rank, &axis, k->cx->common.err));
        dim[axis] = 1;
    }
    for (int i = 0; i < rank && axes == NULL; i++)
        dim[i] = 1;
    kiln_value *const d = kiln_compose_2(
        &k->c, &kiln_op_sub, x, kiln_compose_reshape(&k->c, k->out, rank, dim));
    k->in[0] = kiln_compose_2(&k->c, &kiln_op_mul, d, d);
    KILN_TRY(k->c.status);
    KILN_TRY(kiln_keras_import_reduction(k));
    KILN_ASSERT(kiln_type_eq(&k->out->type, &t), "two reductions over the same axes");
    return root == NULL ? k->c.status : set(k, kiln_compose_1(&k->c, root, k->out));
}

/* ---- shapes -------------------------------------------------------------------------- */

kiln_status kiln_keras_import_shape(kiln_keras_call *k) {
    const kiln_type *const t = &k->in[0]->type;
    const int64_t rank = t->rank;
    const bool is_long =
        strcmp(kiln_keras_text(k, "out_type", NULL, "int32"), "int64") == 0;
    kiln_value *const dims = kiln_compose_ints(&k->c, 1, &rank, t->dim);
    return set(k, kiln_compose_cast(&k->c, dims, is_long ? KILN_I64 : KILN_I32));
}

kiln_status kiln_keras_import_broadcast(kiln_keras_call *k) {
    int64_t dim[KILN_MAX_RANK];
    int rank;
    KILN_TRY(kiln_keras_sizes(k, "shape", 1, dim, &rank));
    return set(k, kiln_compose_expand(&k->c, k->in[0], rank, dim));
}

/* Of keras.ops there may be fewer numbers than axes, or more: those in front are 1. */
kiln_status kiln_keras_import_tile(kiln_keras_call *k) {
    const char *const name = k->layer->is_lambda ? "multiples" : "repeats";
    const kiln_type t = k->in[0]->type;
    int64_t given[KILN_MAX_RANK], times[KILN_MAX_RANK], dim[KILN_MAX_RANK];
    int n;
    KILN_TRY(kiln_keras_sizes(k, name, 1, given, &n));
    const int rank = n > t.rank ? n : t.rank;
    for (int i = 0; i < rank; i++) {
        times[i] = i < rank - n ? 1 : given[i - (rank - n)];
        dim[i] = i < rank - t.rank ? 1 : t.dim[i - (rank - t.rank)];
    }
    const kiln_attr_arg arg = kiln_arg_ints("repeats", times, (size_t)rank);
    kiln_value *const x = kiln_compose_reshape(&k->c, k->in[0], rank, dim);
    return set(k, kiln_compose_op(&k->c, &kiln_op_tile, &x, 1, &arg, 1));
}

/* Of what lies inside, without its edge; longer ones than that has are refused. */
static kiln_status reflect(kiln_keras_call *k, const int64_t *pads) {
    const kiln_type *const t = &k->in[0]->type;
    for (int i = 0; i < 2 * t->rank; i++)
        if (pads[i] < 0 || (pads[i] > 0 && pads[i] >= t->dim[i % t->rank]))
            return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                             "reflected margins of axis %d must be shorter than its "
                             "%" PRId64 " elements, one is %" PRId64,
                             i % t->rank, t->dim[i % t->rank], pads[i]);
    const kiln_attr_arg args[] = {kiln_arg_word("mode", "reflect"),
                                  kiln_arg_ints("pads", pads, 2 * (size_t)t->rank)};
    return set(k, kiln_compose_op(&k->c, &kiln_op_pad, k->in, 1, args, 2));
}

/* Margins of an axis: a beginning and an end, of keras.ops one number for both, too. */
static bool read_pair(const kiln_json *v, bool is_tf, int64_t *begin, int64_t *end) {
    if (!is_tf && kiln_json_is_number(v))
        return kiln_json_i64(v, begin) && kiln_json_i64(v, end);
    const size_t n = kiln_json_is_array(v) ? kiln_json_size(v) : 0;
    return (n == 2 || (n == 1 && !is_tf)) && kiln_json_i64(kiln_json_at(v, 0), begin) &&
           kiln_json_i64(kiln_json_at(v, n - 1), end);
}

/* Those of each axis; of keras.ops some may be for all. */
static kiln_status read_margins(kiln_keras_call *k, const char *name, int64_t *pads) {
    const int rank = k->in[0]->type.rank;
    const kiln_json *const v = kiln_keras_get(k, name, NULL);
    const bool is_tf = k->layer->is_lambda, is_list = kiln_json_is_array(v);
    const bool is_pair =
        !is_tf && (!is_list || kiln_json_is_number(kiln_json_first(v)));
    const bool is_one = !is_tf && is_list && kiln_json_size(v) == 1;
    if (!is_pair && !is_one && (!is_list || kiln_json_size(v) != (size_t)rank))
        return kiln_keras_unread(k, name);
    for (int i = 0; i < rank; i++)
        if (!read_pair(is_pair ? v : kiln_json_at(v, is_one ? 0 : (size_t)i), is_tf,
                       &pads[i], &pads[rank + i]))
            return kiln_keras_unread(k, name);
    return KILN_OK;
}

kiln_status kiln_keras_import_margins(kiln_keras_call *k) {
    const bool is_tf = k->layer->is_lambda;
    const char *const constant = is_tf ? "CONSTANT" : "constant";
    const char *const mode = kiln_keras_text(k, "mode", NULL, constant);
    int64_t pads[2 * KILN_MAX_RANK] = {0};
    const bool is_reflected = strcmp(mode, is_tf ? "REFLECT" : "reflect") == 0;
    if (!is_reflected && strcmp(mode, constant) != 0)
        return kiln_keras_unread(k, "mode");
    KILN_TRY(read_margins(k, is_tf ? "paddings" : "pad_width", pads));
    if (is_reflected)
        return reflect(k, pads);
    const kiln_json *const value = is_tf ? kiln_keras_get(k, "constant_values", NULL)
                                         : kiln_keras_keyword(k, "constant_values");
    return set(k, kiln_compose_pad(&k->c, k->in[0], pads, kiln_json_number(value, 0)));
}

/* Squares of b x b pixels become channels; back, where there is an operator. */
kiln_status kiln_keras_import_blocks(kiln_keras_call *k) {
    static const int64_t perm[] = {0, 1, 3, 2, 4, 5};
    const kiln_type *const t = &k->in[0]->type;
    const bool is_back = k->op != NULL;
    int64_t b = 0;
    KILN_TRY(kiln_keras_int(k, "block_size", NULL, 0, &b));
    KILN_TRY(kiln_keras_check_format(k));
    if (k->layer->is_lambda &&
        strcmp(kiln_keras_text(k, "data_format", NULL, "NHWC"), "NHWC") != 0)
        return kiln_keras_unread(k, "data_format");
    const int64_t *const d = t->dim;
    if (t->rank != 4 || b < 1 || b > INT16_MAX ||
        (is_back ? d[3] % (b * b) != 0 : d[1] % b != 0 || d[2] % b != 0))
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "blocks of %" PRId64 " do not fit into %s", b,
                         kiln_type_text(&k->cx->common.scratch, t));
    const int64_t c = is_back ? d[3] / (b * b) : d[3];
    const int64_t parts[] = {
        d[0], is_back ? d[1] : d[1] / b, b, is_back ? d[2] : d[2] / b, b, c};
    const int64_t apart[] = {d[0], d[1], d[2], b, b, c};
    const int64_t whole[] = {d[0], parts[1] * (is_back ? b : 1),
                             parts[3] * (is_back ? b : 1), is_back ? c : b * b * c};
    kiln_value *const x =
        kiln_compose_reshape(&k->c, k->in[0], 6, is_back ? apart : parts);
    return set(k, kiln_compose_reshape(&k->c, kiln_compose_transpose(&k->c, x, perm), 4,
                                       whole));
}
