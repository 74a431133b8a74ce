/* What quantised operators are composed of: bytes, widened, less a zero point. */
#include "compiler/pass/byte_source.h"

/* As few channels as sums of bytes go over, and columns as templates of convolutions go
 * over. */
enum { LEAST_TERMS = 3, LEAST_COLUMNS = 2 };

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

/* ---- what is taken ---------------------------------------------------------------- */

/* Are channels summed up, or four taps in a row of one channel; or is each channel by
 * itself? Any other convolution would read bytes one by one. */
bool kiln_byte_conv_pays(const kiln_node *conv, bool *is_dot) {
    const kiln_type *w = &conv->in[1]->type;
    const int64_t groups = kiln_node_attr(conv, "groups")->i;
    const kiln_attr *dilations = kiln_node_attr(conv, "dilations");
    const bool is_row = w->dim[1] == 1 && w->dim[w->rank - 1] % 4 == 0 &&
                        (dilations->n == 0 || dilations->ints[dilations->n - 1] == 1);
    *is_dot = groups == 1 && (w->dim[1] >= LEAST_TERMS || is_row);
    return kiln_type_elems(&conv->out[0]->type) > 0 &&
           (*is_dot || (groups > 1 && w->dim[1] == 1 && w->dim[0] == groups));
}

/* A gemm is a product where it has no factor. */
static bool is_product(const kiln_node *n) {
    if (n->n_in < 2 || n->in[0]->type.rank < 2 || n->in[1]->type.rank != 2)
        return false;
    return n->op == &kiln_op_matmul ||
           (n->op == &kiln_op_gemm && kiln_node_attr(n, "alpha")->f == 1 &&
            kiln_node_attr(n, "trans_a")->i == 0);
}

bool kiln_byte_product_pays(const kiln_node *n, kiln_byte_matrix *out) {
    if (!is_product(n))
        return false;
    const int64_t *dim = n->in[1]->type.dim;
    const bool turned = kiln_node_attr(n, "trans_b")->i != 0;
    *out = (kiln_byte_matrix){.terms = dim[turned ? 1 : 0],
                              .columns = dim[turned ? 0 : 1],
                              .row = turned ? 1 : dim[1],
                              .col = turned ? dim[1] : 1};
    return kiln_type_elems(&n->out[0]->type) > 0 && out->terms >= LEAST_TERMS &&
           out->columns >= LEAST_COLUMNS;
}

bool kiln_byte_weights_of(const kiln_wide *w, bool is_dot, kiln_byte_weights *out) {
    const int64_t n = kiln_type_elems(&w->type);
    int64_t lo = 0, hi = 0;
    for (int64_t i = 0; i < n; i++) {
        lo = w->i[i] < lo ? w->i[i] : lo;
        hi = w->i[i] > hi ? w->i[i] : hi;
    }
    *out = (kiln_byte_weights){.dtype = KILN_I8};
    if (lo >= INT8_MIN && hi <= INT8_MAX)
        return true;
    if (is_dot)
        out->zero = INT8_MIN - lo;
    else
        out->dtype = KILN_I16;
    return lo >= INT16_MIN && hi <= INT16_MAX && (!is_dot || hi - lo <= UINT8_MAX);
}

kiln_value *kiln_byte_const(kiln_sweep *s, const char *name, const kiln_wide *v) {
    void *made = kiln_tensor_new(s->g->arena, &v->type).data;
    kiln_narrow(v, made);
    return kiln_graph_add_const(s->g, name, &v->type, made);
}
