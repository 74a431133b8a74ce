/* What quantised operators are composed of: bytes, widened, less a zero point. */
#include "compiler/pass/byte_source.h"

static bool int_of(const kiln_value *v, int64_t *out) {
    if (!kiln_value_is_const(v) || kiln_type_elems(&v->type) != 1 ||
        v->type.dtype != KILN_I32)
        return false;
    const kiln_type t = kiln_type_scalar(KILN_I32);
    kiln_widen(&t, v->data, &(kiln_wide){.type = t, .i = out});
    return true;
}

static bool is_move(const kiln_node *n) {
    return n->op == &kiln_op_transpose || n->op == &kiln_op_reshape;
}

static bool is_byte(const kiln_value *v) {
    return v->type.dtype == KILN_I8 || v->type.dtype == KILN_U8;
}

static bool takes_off_one(const kiln_node *sub, kiln_byte_source *s) {
    kiln_value *z = sub->in[1];
    if (!kiln_type_same_shape(&sub->in[0]->type, &sub->out[0]->type) ||
        z->count != NULL || z->type.dtype != KILN_I32 || kiln_type_elems(&z->type) != 1)
        return false;
    if (!int_of(z, &s->zero))
        s->by = z;
    return true;
}

bool kiln_byte_source_of(kiln_value *v, kiln_byte_source *s) {
    bool is_centered = false;
    *s = (kiln_byte_source){.x = NULL};
    for (const kiln_node *n = v->def; n != NULL && v->count == NULL; n = v->def) {
        if (n->op == &kiln_op_cast && is_byte(n->in[0]) && n->in[0]->count == NULL) {
            s->x = n->in[0];
            const kiln_dtype_info *range = kiln_dtype_get(s->x->type.dtype);
            return s->zero >= range->min_i && s->zero <= range->max_i;
        }
        if (is_move(n) && s->n_moves < KILN_BYTE_SOURCE_MOVES)
            s->move[s->n_moves++] = n;
        else if (n->op == &kiln_op_sub && !is_centered && takes_off_one(n, s))
            is_centered = true;
        else
            return false;
        v = n->in[0];
    }
    return false;
}

kiln_status kiln_byte_source_move(kiln_sweep *s, const kiln_byte_source *x,
                                  kiln_value **v) {
    for (int i = x->n_moves; i-- > 0;) {
        const kiln_node *n = x->move[i];
        const char *name = n->op == &kiln_op_transpose ? "perm" : "shape";
        const kiln_attr *list = kiln_node_attr(n, name);
        const kiln_attr_arg arg = kiln_arg_ints(name, list->ints, list->n);
        KILN_TRY(kiln_sweep_add(s, n->op, n, v, 1, &arg, 1, v));
    }
    return KILN_OK;
}
