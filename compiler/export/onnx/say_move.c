/* Operators that move elements: what kiln has as attributes ONNX has as operands. */
#include "compiler/export/onnx/say_ops.h"

#include <string.h>

/* A node of x, one list and one more operand where it is given. */
static void say_list(kiln_say *s, const char *op, const int64_t *v, size_t n) {
    const char *const list = kiln_say_list(s, v, n);
    kiln_say_2(s, op, kiln_say_in(s, 0), list, kiln_say_out(s, 0));
}

kiln_status kiln_say_op_expand(kiln_say *s, const kiln_node *n) {
    const kiln_type *t = &n->out[0]->type;
    say_list(s, "Expand", t->dim, (size_t)t->rank);
    return KILN_OK;
}

kiln_status kiln_say_op_pad(kiln_say *s, const kiln_node *n) {
    const kiln_attr *pads = kiln_say_attr(s, "pads");
    const char *const list = kiln_say_list(s, pads->ints, pads->n);
    (void)n;
    kiln_say_begin(s, "Pad", KILN_SAY_BASE_OPSET);
    kiln_say_take(s, kiln_say_in(s, 0));
    kiln_say_take(s, list);
    if (kiln_say_has_in(s, 1))
        kiln_say_take(s, kiln_say_in(s, 1));
    kiln_say_text(s, "mode", kiln_say_word(s, "mode"));
    kiln_say_give(s, kiln_say_out(s, 0));
    kiln_say_end(s);
    return KILN_OK;
}

kiln_status kiln_say_op_reshape(kiln_say *s, const kiln_node *n) {
    const kiln_type *t = &n->out[0]->type;
    kiln_say_reshape(s, kiln_say_in(s, 0), t->rank, t->dim, kiln_say_out(s, 0));
    return KILN_OK;
}

static int axis_of(const kiln_say *s, int64_t axis) {
    const int rank = s->node->in[0]->type.rank;
    return (int)(axis < 0 ? axis + rank : axis);
}

static const char *reversed(kiln_say *s, const char *x, const char *lens, int batch,
                            int time, const char *out) {
    kiln_say_begin(s, "ReverseSequence", KILN_SAY_BASE_OPSET);
    kiln_say_take(s, x);
    kiln_say_take(s, lens);
    kiln_say_int(s, "batch_axis", batch);
    kiln_say_int(s, "time_axis", time);
    kiln_say_give(s, out);
    kiln_say_end(s);
    return out;
}

/* ONNX has axes 0 and 1 for it, in either order. */
kiln_status kiln_say_op_reverse_sequence(kiln_say *s, const kiln_node *n) {
    const int rank = n->in[0]->type.rank;
    const int batch = axis_of(s, kiln_say_attr(s, "batch_axis")->i);
    const int time = axis_of(s, kiln_say_attr(s, "time_axis")->i);
    const char *const x = kiln_say_in(s, 0), *lens = kiln_say_in(s, 1);
    int64_t perm[KILN_MAX_RANK], back[KILN_MAX_RANK];
    if (kiln_say_in_type(s, 1)->dtype != KILN_I64)
        lens = kiln_say_cast(s, lens, KILN_I64, NULL);
    if (batch <= 1 && time <= 1) {
        reversed(s, x, lens, batch, time, kiln_say_out(s, 0));
        return KILN_OK;
    }
    perm[0] = time;
    perm[1] = batch;
    for (int i = 0, at = 2; i < rank; i++)
        if (i != batch && i != time)
            perm[at++] = i;
    for (int i = 0; i < rank; i++)
        back[perm[i]] = i;
    const char *const turned = kiln_say_transpose(s, x, rank, perm, NULL);
    const char *const y = reversed(s, turned, lens, 1, 0, kiln_say_temp(s, "turned"));
    kiln_say_transpose(s, y, rank, back, kiln_say_out(s, 0));
    return KILN_OK;
}

/* Where the slice of one axis ends. Going down it may end before the first element,
 * which ONNX says by a number below all places counted from the end. */
static int64_t end_of(int64_t start, int64_t step, int64_t size, int64_t dim) {
    if (size == 0)
        return start;
    const int64_t last = start + (size - 1) * step;
    if (step > 0)
        return last + 1;
    return last > 0 ? last - 1 : -dim - 1;
}

kiln_status kiln_say_op_slice(kiln_say *s, const kiln_node *n) {
    const kiln_type *x = &n->in[0]->type;
    const int64_t *start = kiln_say_attr(s, "starts")->ints;
    const int64_t *step = kiln_say_attr(s, "steps")->ints;
    const int64_t *size = kiln_say_attr(s, "sizes")->ints;
    int64_t list[4][KILN_MAX_RANK];
    size_t count = 0;
    for (int i = 0; i < x->rank; i++) {
        if (size[i] == x->dim[i] && (step[i] == 1 || size[i] == 0))
            continue;
        list[0][count] = start[i];
        list[1][count] = end_of(start[i], step[i], size[i], x->dim[i]);
        list[2][count] = i;
        list[3][count++] = step[i];
    }
    if (count == 0) {
        kiln_say_1(s, "Identity", kiln_say_in(s, 0), kiln_say_out(s, 0));
        return KILN_OK;
    }
    const char *operand[4];
    for (int k = 0; k < 4; k++)
        operand[k] = kiln_say_list(s, list[k], count);
    kiln_say_begin(s, "Slice", KILN_SAY_BASE_OPSET);
    kiln_say_take(s, kiln_say_in(s, 0));
    for (int k = 0; k < 4; k++)
        kiln_say_take(s, operand[k]);
    kiln_say_give(s, kiln_say_out(s, 0));
    kiln_say_end(s);
    return KILN_OK;
}

kiln_status kiln_say_op_split(kiln_say *s, const kiln_node *n) {
    const kiln_attr *sizes = kiln_say_attr(s, "sizes");
    const char *const list = kiln_say_list(s, sizes->ints, sizes->n);
    kiln_say_begin(s, "Split", KILN_SAY_BASE_OPSET);
    kiln_say_take(s, kiln_say_in(s, 0));
    kiln_say_take(s, list);
    kiln_say_int(s, "axis", kiln_say_attr(s, "axis")->i);
    for (int i = 0; i < n->n_out; i++)
        kiln_say_give(s, kiln_say_out(s, i));
    kiln_say_end(s);
    return KILN_OK;
}

kiln_status kiln_say_op_tile(kiln_say *s, const kiln_node *n) {
    const kiln_attr *repeats = kiln_say_attr(s, "repeats");
    (void)n;
    say_list(s, "Tile", repeats->ints, repeats->n);
    return KILN_OK;
}

kiln_status kiln_say_op_transpose(kiln_say *s, const kiln_node *n) {
    kiln_say_transpose(s, kiln_say_in(s, 0), n->in[0]->type.rank,
                       kiln_say_attr(s, "perm")->ints, kiln_say_out(s, 0));
    return KILN_OK;
}

kiln_status kiln_say_op_trilu(kiln_say *s, const kiln_node *n) {
    const char *const k = kiln_say_i64(s, kiln_say_attr(s, "k")->i);
    (void)n;
    kiln_say_begin(s, "Trilu", KILN_SAY_BASE_OPSET);
    kiln_say_take(s, kiln_say_in(s, 0));
    kiln_say_take(s, k);
    kiln_say_int(s, "upper", kiln_say_attr(s, "upper")->i);
    kiln_say_give(s, kiln_say_out(s, 0));
    kiln_say_end(s);
    return KILN_OK;
}
