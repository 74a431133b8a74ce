/* Blocks of an image in the batch; see batch_blocks.h. */
#include "compiler/frontend/batch_blocks.h"

#include <inttypes.h>

/* Times what a value may have elements, 2^40, it is no more than 64 bits hold. */
enum { MAX_BLOCK = 1 << 22 };

static bool has_good_blocks(kiln_compose *c, const kiln_value *x,
                            const kiln_blocks *b) {
    const size_t rank = (size_t)x->type.rank, n = b->n_block;
    bool is_good =
        n >= 1 && n < rank && b->n_pair == 2 * n && rank + n <= KILN_MAX_RANK;
    for (size_t i = 0; is_good && i < n; i++)
        is_good = b->block[i] >= 1 && b->block[i] <= MAX_BLOCK && b->pair[2 * i] >= 0 &&
                  b->pair[2 * i + 1] >= 0 && b->pair[2 * i] <= INT32_MAX &&
                  b->pair[2 * i + 1] <= INT32_MAX;
    if (!is_good)
        kiln_compose_fail(
            c,
            kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                      "there must be a block's size for each of 1 to %d spatial axes, "
                      "and two margins; %zu and %zu are given",
                      x->type.rank - 1, n, b->n_pair));
    return is_good && c->status == KILN_OK;
}

/* Axes taken apart, moved and put together. */
typedef struct move {
    int rank;
    int64_t cut[KILN_MAX_RANK], perm[KILN_MAX_RANK], out[KILN_MAX_RANK];
} move;

/* Axes from `first` on stay as they are. */
static kiln_value *regroup(kiln_compose *c, kiln_value *x, move *m, int first) {
    const int rank = x->type.rank;
    for (int i = first; i < rank; i++) {
        m->out[i] = m->cut[m->rank] = x->type.dim[i];
        m->perm[m->rank] = m->rank;
        m->rank++;
    }
    x = kiln_compose_reshape(c, x, m->rank, m->cut);
    x = kiln_compose_transpose(c, x, m->perm);
    return kiln_compose_reshape(c, x, rank, m->out);
}

kiln_value *kiln_compose_space_to_batch(kiln_compose *c, kiln_value *x,
                                        const kiln_blocks *b) {
    const int rank = x->type.rank, n = (int)b->n_block;
    int64_t pads[2 * KILN_MAX_RANK] = {0}, batch = 1;
    move m = {.rank = 1};
    if (!has_good_blocks(c, x, b))
        return x;
    for (int i = 0; i < n; i++) {
        const int64_t *const pair = b->pair + (size_t)i * 2;
        pads[1 + i] = pair[0];
        pads[rank + 1 + i] = pair[1];
    }
    x = kiln_compose_pad(c, x, pads, 0);
    m.cut[0] = x->type.dim[0];
    m.perm[n] = 0;
    for (int i = 0; i < n && c->status == KILN_OK; i++) {
        const int64_t size = x->type.dim[1 + i], block = b->block[i];
        if (size % block != 0 || batch > MAX_BLOCK / block)
            kiln_compose_fail(c, kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                                           "axis %d of %" PRId64
                                           " padded elements is not made of blocks of "
                                           "%" PRId64,
                                           1 + i, size, block));
        batch *= block;
        m.out[1 + i] = m.cut[m.rank] = size / block;
        m.perm[n + 1 + i] = m.rank++;
        m.cut[m.rank] = block;
        m.perm[i] = m.rank++;
    }
    if (c->status != KILN_OK)
        return x;
    m.out[0] = batch * x->type.dim[0];
    return regroup(c, x, &m, 1 + n);
}

static kiln_value *cropped(kiln_compose *c, kiln_value *x, const kiln_blocks *b) {
    for (int i = 0; i < (int)b->n_block && c->status == KILN_OK; i++) {
        const int64_t *const pair = b->pair + (size_t)i * 2;
        const int64_t before = pair[0], all = x->type.dim[1 + i];
        const int64_t size = all - before - pair[1];
        if (size < 0)
            kiln_compose_fail(c, kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                                           "more is cropped than the %" PRId64
                                           " elements of axis %d",
                                           all, 1 + i));
        else if (size != all)
            x = kiln_compose_slice(c, x, 1 + i, before, 1, size);
    }
    return x;
}

kiln_value *kiln_compose_batch_to_space(kiln_compose *c, kiln_value *x,
                                        const kiln_blocks *b) {
    const int n = (int)b->n_block;
    int64_t batch = 1;
    move m = {0};
    if (!has_good_blocks(c, x, b))
        return x;
    for (int i = 0; i < n && batch <= x->type.dim[0]; i++)
        batch *= b->block[i];
    if (x->type.dim[0] % batch != 0) {
        kiln_compose_fail(c, kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                                       "the batch of %" PRId64 " is not made of blocks",
                                       x->type.dim[0]));
        return x;
    }
    for (int i = 0; i < n; i++)
        m.cut[m.rank++] = b->block[i];
    m.out[0] = m.cut[m.rank] = x->type.dim[0] / batch;
    m.perm[0] = m.rank++;
    for (int i = 0; i < n; i++) {
        m.cut[m.rank] = x->type.dim[1 + i];
        m.perm[1 + 2 * i] = m.rank++;
        m.perm[2 + 2 * i] = i;
        m.out[1 + i] = x->type.dim[1 + i] * b->block[i];
    }
    return cropped(c, regroup(c, x, &m, 1 + n), b);
}
