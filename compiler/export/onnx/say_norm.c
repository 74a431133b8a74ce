/* Normalisations, reductions, running sums. */
#include "compiler/export/onnx/say_ops.h"

#include <string.h>

/* ---- normalisations -------------------------------------------------------------- */

static void say_epsilon(kiln_say *s) {
    const double epsilon = kiln_say_attr(s, "epsilon")->f;
    if (epsilon != 1e-5)
        kiln_say_float(s, "epsilon", epsilon);
}

/* ONNX computes moments in f32 unless told otherwise. */
static void say_stash(kiln_say *s) {
    if (kiln_say_in_type(s, 0)->dtype == KILN_F64)
        kiln_say_int(s, "stash_type", kiln_say_dtype(KILN_F64));
}

/* A channel by itself is an instance's, which more readers have. */
kiln_status kiln_say_op_group_norm(kiln_say *s, const kiln_node *n) {
    const kiln_type *x = &n->in[0]->type;
    const int64_t groups = kiln_say_attr(s, "groups")->i;
    const bool is_instance =
        x->rank > 2 && groups == x->dim[1] && x->dtype != KILN_BF16;
    kiln_say_begin(s, is_instance ? "InstanceNormalization" : "GroupNormalization",
                   KILN_SAY_BASE_OPSET);
    for (int i = 0; i < 3; i++)
        kiln_say_take(s, kiln_say_in(s, i));
    if (!is_instance) {
        kiln_say_int(s, "num_groups", groups);
        say_stash(s);
    }
    say_epsilon(s);
    kiln_say_give(s, kiln_say_out(s, 0));
    kiln_say_end(s);
    return KILN_OK;
}

/* ONNX needs factors: ones, where kiln has none. */
static kiln_status scale_of(kiln_say *s, const kiln_node *n, const char **out) {
    const kiln_type *x = &n->in[0]->type;
    const int64_t given = kiln_say_attr(s, "axis")->i;
    const int axis = (int)(given < 0 ? given + x->rank : given);
    *out = kiln_say_in(s, 1);
    if (kiln_say_has_in(s, 1))
        return KILN_OK;
    const kiln_type t = kiln_type_make(x->dtype, x->rank - axis, x->dim + axis);
    KILN_TRY(kiln_say_may_make(s, &t));
    kiln_wide w = kiln_wide_new(s->arena, &t);
    const kiln_tensor ones = kiln_tensor_new(s->arena, &t);
    for (int64_t i = 0; i < kiln_type_elems(&t); i++)
        w.f[i] = 1;
    kiln_narrow(&w, ones.data);
    *out = kiln_say_constant_of(s, kiln_format(s->arena, "%s/ones", n->name), &t,
                                ones.data);
    return KILN_OK;
}

kiln_status kiln_say_op_layer_norm(kiln_say *s, const kiln_node *n) {
    const char *scale;
    KILN_TRY(scale_of(s, n, &scale));
    kiln_say_begin(s, "LayerNormalization", KILN_SAY_BASE_OPSET);
    kiln_say_take(s, kiln_say_in(s, 0));
    kiln_say_take(s, scale);
    if (kiln_say_has_in(s, 2))
        kiln_say_take(s, kiln_say_in(s, 2));
    kiln_say_int(s, "axis", kiln_say_attr(s, "axis")->i);
    say_epsilon(s);
    kiln_say_int(s, "stash_type",
                 kiln_say_dtype((kiln_dtype)kiln_say_attr(s, "stash")->i));
    for (int i = 0; i < n->n_out; i++)
        kiln_say_give(s, kiln_say_out(s, i));
    kiln_say_end(s);
    return KILN_OK;
}

kiln_status kiln_say_op_rms_norm(kiln_say *s, const kiln_node *n) {
    const char *scale;
    KILN_TRY(scale_of(s, n, &scale));
    kiln_say_begin(s, "RMSNormalization", KILN_SAY_BASE_OPSET);
    kiln_say_take(s, kiln_say_in(s, 0));
    kiln_say_take(s, scale);
    kiln_say_int(s, "axis", kiln_say_attr(s, "axis")->i);
    say_epsilon(s);
    say_stash(s);
    kiln_say_give(s, kiln_say_out(s, 0));
    kiln_say_end(s);
    return KILN_OK;
}

/* ---- reductions ------------------------------------------------------------------ */

/* Of i8, u8 and bool ONNX has extremes only; sums of small integers wrap in i32 as they
 * do by themselves. */
static bool is_extreme(const kiln_node *n) {
    return n->op == &kiln_op_reduce_max || n->op == &kiln_op_reduce_min;
}

static kiln_dtype reduced_in(const kiln_node *n) {
    const kiln_dtype dtype = n->in[0]->type.dtype;
    if (is_extreme(n) && (dtype == KILN_I8 || dtype == KILN_U8 || dtype == KILN_BOOL))
        return dtype;
    return kiln_dtype_is_in(dtype, KILN_SAY_SMALL_INT) ? KILN_I32 : dtype;
}

static bool wraps_alike(const kiln_node *n) {
    static const kiln_op_def *const ops[] = {
        &kiln_op_reduce_sum, &kiln_op_reduce_sum_square, &kiln_op_reduce_prod,
        &kiln_op_reduce_l1,  &kiln_op_reduce_max,        &kiln_op_reduce_min,
    };
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (n->op == ops[i])
            return true;
    return false;
}

kiln_status kiln_say_op_reduce(kiln_say *s, const kiln_node *n) {
    const kiln_dtype own = n->in[0]->type.dtype, dtype = reduced_in(n);
    const kiln_attr *axes = kiln_say_attr(s, "axes");
    if (dtype != own && !wraps_alike(n))
        return kiln_say_refuse(s, "ONNX's %s does not take %s; cast to i32 before",
                               kiln_say_row_of(n->op)->onnx, kiln_dtype_name(own));
    const char *const x = dtype == own
                              ? kiln_say_in(s, 0)
                              : kiln_say_cast(s, kiln_say_in(s, 0), dtype, NULL);
    const char *const y =
        dtype == own ? kiln_say_out(s, 0) : kiln_say_temp(s, "reduced");
    const char *const list =
        axes->n == 0 ? NULL : kiln_say_list(s, axes->ints, axes->n);
    kiln_say_begin(s, kiln_say_row_of(n->op)->onnx, KILN_SAY_BASE_OPSET);
    kiln_say_take(s, x);
    if (list != NULL)
        kiln_say_take(s, list);
    kiln_say_int(s, "keepdims", kiln_say_attr(s, "keepdims")->i);
    kiln_say_give(s, y);
    kiln_say_end(s);
    if (dtype != own)
        kiln_say_cast(s, y, own, kiln_say_out(s, 0));
    return KILN_OK;
}

/* CumSum and CumProd. */
kiln_status kiln_say_op_cumulative(kiln_say *s, const kiln_node *n) {
    const kiln_dtype dtype = n->in[0]->type.dtype;
    const bool is_small = kiln_dtype_is_in(dtype, KILN_SAY_SMALL_INT);
    const char *const axis = kiln_say_i64(s, kiln_say_attr(s, "axis")->i);
    const char *const x = is_small ? kiln_say_cast(s, kiln_say_in(s, 0), KILN_I32, NULL)
                                   : kiln_say_in(s, 0);
    const char *const y = is_small ? kiln_say_temp(s, "i32") : kiln_say_out(s, 0);
    kiln_say_begin(s, kiln_say_row_of(n->op)->onnx, KILN_SAY_BASE_OPSET);
    kiln_say_take(s, x);
    kiln_say_take(s, axis);
    kiln_say_int(s, "exclusive", kiln_say_attr(s, "exclusive")->i);
    kiln_say_int(s, "reverse", kiln_say_attr(s, "reverse")->i);
    kiln_say_give(s, y);
    kiln_say_end(s);
    if (is_small)
        kiln_say_cast(s, y, dtype, kiln_say_out(s, 0));
    return KILN_OK;
}
