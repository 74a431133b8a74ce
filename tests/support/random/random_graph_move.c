/* Families of random graphs: moving elements, by fixed rules. */
#include "tests/support/random/random_graph_internal.h"

static void draw_perm(maker *m, int rank, int64_t *perm) {
    static const int64_t last[] = {0, 2, 3, 1}, first[] = {0, 3, 1, 2};
    const bool is_known = rank == 4 && one_in(m, 2), is_last = one_in(m, 2);
    for (int i = 0; i < rank; i++)
        perm[i] = !is_known ? i : is_last ? last[i] : first[i];
    if (!is_known && one_in(m, 3) && rank > 1) { /* the two last */
        perm[rank - 1] = rank - 2;
        perm[rank - 2] = rank - 1;
        return;
    }
    for (int i = rank - 1; i > 0 && !is_known; i--) {
        const int64_t j = draw(m, 0, i), t = perm[i];
        perm[i] = perm[j];
        perm[j] = t;
    }
}

bool random_graph_transposition(maker *m) {
    kiln_value *x = draw_value(m, KILN_DT_STORED, 1, 6);
    int64_t perm[KILN_MAX_RANK], back[KILN_MAX_RANK];
    draw_perm(m, x->type.rank, perm);
    kiln_value *y = add_transpose(m, x, perm);
    if (y == NULL || !one_in(m, 6))
        return y != NULL;
    for (int i = 0; i < x->type.rank; i++)
        back[perm[i]] = i;
    return add_transpose(m, y, back) != NULL;
}

/* Neighbours put together, one axis cut in two, ones in between, or all in one row. */
bool random_graph_reshaping(maker *m) {
    kiln_value *x = draw_value(m, KILN_DT_STORED, 0, 5);
    const kiln_type *t = &x->type;
    const int64_t kind = draw(m, 0, 3);
    const int at = t->rank > 0 ? (int)draw(m, 0, t->rank - 1) : 0;
    int64_t dim[KILN_MAX_RANK + 1];
    int rank = 0;
    for (int i = 0; i < t->rank; i++) {
        const bool joins = kind == 0 || (kind == 1 && i > at);
        if (joins && rank > 0) {
            dim[rank - 1] *= t->dim[i];
            continue;
        }
        int64_t part = t->dim[i] > 0 ? draw(m, 1, t->dim[i]) : 1;
        if (t->dim[i] % part != 0)
            part = t->dim[i] % 2 == 0 ? 2 : 1;
        if (i == at && kind >= 2 && t->rank < 6)
            dim[rank++] = kind == 2 ? part : 1;
        dim[rank++] =
            i == at && kind == 2 && t->rank < 6 ? t->dim[i] / part : t->dim[i];
    }
    return add_reshape(m, x, rank, dim) != NULL;
}

static bool slice(maker *m, kiln_value *x) {
    int64_t starts[KILN_MAX_RANK], steps[KILN_MAX_RANK], sizes[KILN_MAX_RANK];
    const bool is_simple = one_in(m, 2);
    const int only = (int)draw(m, 0, x->type.rank - 1);
    for (int i = 0; i < x->type.rank; i++) {
        const int64_t n = x->type.dim[i];
        const bool is_cut = is_simple ? i == only : one_in(m, 2);
        steps[i] = is_cut && !is_simple && one_in(m, 3) ? draw(m, 1, 3) : 1;
        starts[i] = is_cut && !one_in(m, 3) ? draw(m, 0, n - 1) : 0;
        const int64_t room = (n - starts[i] + steps[i] - 1) / steps[i];
        sizes[i] = is_cut ? draw(m, 1, room) : n;
        if (is_cut && one_in(m, 5)) { /* backwards */
            starts[i] = starts[i] + (sizes[i] - 1) * steps[i];
            steps[i] = -steps[i];
        }
    }
    const size_t rank = (size_t)x->type.rank;
    const kiln_attr_arg args[] = {kiln_arg_ints("starts", starts, rank),
                                  kiln_arg_ints("steps", steps, rank),
                                  kiln_arg_ints("sizes", sizes, rank)};
    return add_op(m, &kiln_op_slice, &x, 1, args, 3) != NULL;
}

bool random_graph_part(maker *m) {
    kiln_value *x = draw_value(m, KILN_DT_STORED, 1, 5);
    if (one_in(m, 2))
        return slice(m, x);
    const int axis = (int)draw(m, 0, x->type.rank - 1);
    int64_t sizes[5], left = x->type.dim[axis];
    size_t n = 0;
    if (one_in(m, 15))
        sizes[n++] = 0; /* nothing is a part, too */
    while (left > 0 && n < 4 && !one_in(m, 3)) {
        sizes[n] = one_in(m, 2) && left > 16 ? 16 : draw(m, 1, left);
        left -= sizes[n++];
    }
    if (left > 0 || n == 0)
        sizes[n++] = left;
    const kiln_attr_arg args[] = {kiln_arg_int("axis", axis),
                                  kiln_arg_ints("sizes", sizes, n)};
    return add_node(m, &kiln_op_split, &x, 1, (int)n, args, 2) != NULL;
}

typedef struct alike {
    const kiln_type *type;
    int axis;
} alike;

static bool fits_beside(const kiln_value *v, const void *user) {
    const alike *x = user;
    if (v->type.dtype != x->type->dtype || v->type.rank != x->type->rank)
        return false;
    for (int i = 0; i < v->type.rank; i++)
        if (i != x->axis && v->type.dim[i] != x->type->dim[i])
            return false;
    return true;
}

bool random_graph_together(maker *m) {
    enum { MAX_PARTS = 4 };
    kiln_value *in[MAX_PARTS] = {draw_value(m, KILN_DT_STORED, 1, 5)};
    const kiln_type *t = &in[0]->type;
    const int axis = t->rank >= 3 && one_in(m, 2) ? 1 : (int)draw(m, 0, t->rank - 1);
    const alike beside = {t, axis};
    int n = 1;
    while (n < MAX_PARTS && (n == 1 || one_in(m, 2))) {
        kiln_value *v = one_in(m, 4) ? NULL : find_value(m, fits_beside, &beside);
        if (v == NULL) {
            int64_t dim[KILN_MAX_RANK];
            for (int i = 0; i < t->rank; i++)
                dim[i] = i == axis ? draw(m, 1, 17) : t->dim[i];
            v = draw_operand(m, t->dtype, t->rank, dim, 1);
        }
        in[n++] = v;
    }
    if (one_in(m, 2)) {
        kiln_value *first = in[0];
        in[0] = in[n - 1];
        in[n - 1] = first;
    }
    const kiln_attr_arg arg = kiln_arg_int("axis", axis);
    return add_op(m, &kiln_op_concat, in, n, &arg, 1) != NULL;
}

bool random_graph_padding(maker *m) {
    static const char *const modes[] = {"constant", "constant", "constant",
                                        "reflect",  "edge",     "wrap"};
    kiln_value *x = draw_value(m, KILN_DT_ANY, 1, 5), *in[2] = {x};
    const char *mode = modes[draw(m, 0, 5)];
    int64_t pads[2 * KILN_MAX_RANK];
    const int rank = x->type.rank;
    const bool is_behind = one_in(m, 3);
    for (int i = 0; i < 2 * rank; i++) {
        const int64_t room = x->type.dim[i % rank];
        pads[i] = one_in(m, 2) || (is_behind && i < rank) ? 0
                  : one_in(m, 8) && room > 2              ? -1
                                             : draw(m, 0, room > 3 ? 3 : room - 1);
    }
    const bool has_fill = mode == modes[0] && one_in(m, 3);
    if (has_fill)
        in[1] = draw_const(m, x->type.dtype, 0, NULL, 1);
    const kiln_attr_arg args[] = {kiln_arg_word("mode", mode),
                                  kiln_arg_ints("pads", pads, 2 * (size_t)rank)};
    return add_op(m, &kiln_op_pad, in, has_fill ? 2 : 1, args, 2) != NULL;
}

bool random_graph_repeated(maker *m) {
    kiln_value *x = draw_value(m, KILN_DT_STORED, 0, 4);
    int64_t v[KILN_MAX_RANK];
    const int rank = x->type.rank, more = one_in(m, 3) ? 1 : 0;
    if (one_in(m, 2)) {
        for (int i = 0; i < rank; i++)
            v[i] = one_in(m, 2) ? 1 : draw(m, 1, 3);
        const kiln_attr_arg arg = kiln_arg_ints("repeats", v, (size_t)rank);
        return add_op(m, &kiln_op_tile, &x, 1, &arg, 1) != NULL;
    }
    for (int i = 0; i < rank + more; i++)
        v[i] = i < more                     ? draw(m, 1, 3)
               : x->type.dim[i - more] == 1 ? draw(m, 1, 9)
                                            : x->type.dim[i - more];
    const kiln_attr_arg arg = kiln_arg_ints("shape", v, (size_t)rank + (size_t)more);
    return add_op(m, &kiln_op_expand, &x, 1, &arg, 1) != NULL;
}

bool random_graph_triangle(maker *m) {
    kiln_value *x = draw_value(m, KILN_DT_ANY, 2, 4);
    const kiln_attr_arg args[] = {kiln_arg_bool("upper", one_in(m, 2)),
                                  kiln_arg_int("k", draw(m, -2, 2))};
    return add_op(m, &kiln_op_trilu, &x, 1, args, 2) != NULL;
}

bool random_graph_shape_of(maker *m) {
    kiln_value *x = draw_value(m, KILN_DT_STORED, 1, 5);
    if (one_in(m, 3))
        return add_unary(m, &kiln_op_identity, x) != NULL;
    return add_unary(m, one_in(m, 2) ? &kiln_op_shape : &kiln_op_size, x) != NULL;
}
