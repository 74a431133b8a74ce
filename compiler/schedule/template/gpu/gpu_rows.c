/* Rows by blocks. A sum over a row is cut across the threads along it, then across fewer
 * of them, and the rest is one thread's: two barriers, whatever the length. */
#include "compiler/schedule/template/gpu/gpu_rows.h"

#include <inttypes.h>

enum { MANY = 16 }; /* partial sums that are worth a second step */

/* ---- which axes are rows --------------------------------------------------------- */

typedef struct matcher {
    const kiln_gpu_row_stage *producer, *reader;
    int *map;
    bool is_first;
} matcher;

static int axis_read(const kiln_gpu_row_stage *reader, const kiln_expr *index) {
    for (int i = 0; i < reader->te->rank && index->kind == KILN_EXPR_VAR; i++)
        if (index->u.var == reader->te->axis[i]->var)
            return reader->map[i];
    return -1;
}

static void match_read(void *user, const kiln_expr *e) {
    matcher *m = user;
    if (e->kind != KILN_EXPR_READ || e->u.read.te != m->producer->stage->origin)
        return;
    for (int i = 0; i < e->n_arg; i++) {
        const int axis = axis_read(m->reader, e->arg[i]);
        m->map[i] = m->is_first || m->map[i] == axis ? axis : -1;
    }
    m->is_first = false;
}

static uint64_t axes_of(const kiln_gpu_row_stage *u) {
    uint64_t axes = 0;
    for (int i = 0; i < u->te->rank; i++)
        if (u->map[i] >= 0)
            axes |= UINT64_C(1) << u->map[i];
    return axes;
}

static void map_stage(kiln_gpu_rows *r, int at) {
    kiln_gpu_row_stage *u = &r->stage[at];
    matcher m = {.producer = u, .map = u->map, .is_first = true};
    for (int i = 0; i < u->te->rank; i++)
        u->map[i] = -1;
    for (int i = at + 1; i < r->n; i++) {
        m.reader = &r->stage[i];
        if (m.reader->te == NULL)
            continue;
        for (int k = 0; k < m.reader->te->n_out; k++)
            kiln_expr_visit(m.reader->te->body[k], match_read, &m);
    }
    r->common &= axes_of(u);
}

static void describe(kiln_gpu_rows *r) {
    kiln_schedule *s = r->schedule;
    const kiln_te **te = kiln_schedule_inlined(s->arena, s);
    r->n = (int)s->stage.n;
    r->stage = kiln_array(s->arena, kiln_gpu_row_stage, s->stage.n);
    r->common = 0;
    for (int i = 0; i < r->n; i++) {
        r->stage[i].stage = s->stage.v[i];
        r->stage[i].te = s->stage.v[i]->attach == KILN_ATTACH_INLINE ? NULL : te[i];
    }
    kiln_gpu_row_stage *y = &r->stage[r->n - 1];
    for (int i = 0; i < y->te->rank; i++) {
        y->map[i] = i;
        if (kiln_te_dim(y->te, i) > 1)
            r->common |= UINT64_C(1) << i;
    }
    for (int i = r->n - 1; i-- > 0;)
        if (r->stage[i].te != NULL)
            map_stage(r, i);
}

static bool is_row_axis(const kiln_gpu_rows *r, const kiln_gpu_row_stage *u, int i) {
    return u->map[i] >= 0 && (r->common >> u->map[i] & 1) != 0;
}

/* One axis of rows at most can be cut: the region of several is more than that. */
static int64_t rows_of(const kiln_gpu_rows *r) {
    const uint64_t one = r->common & (~r->common + 1);
    return r->common != 0 && r->common == one ? r->rows : 1;
}

/* Of what it keeps of a block's rows; a sum's parts beside it. */
static int64_t bytes_of(const kiln_gpu_rows *r, const kiln_gpu_row_stage *u) {
    int64_t n = rows_of(r), bytes = 0;
    for (int i = 0; i < u->te->rank; i++)
        if (!is_row_axis(r, u, i))
            n *= kiln_te_dim(u->te, i);
    for (int k = 0; k < u->te->n_out; k++)
        bytes += (int64_t)kiln_dtype_bytes(u->te->dtype[k]);
    return n * bytes * (u->te->n_reduce > 0 ? 2 * r->threads : 1);
}

kiln_status kiln_gpu_rows_of(kiln_schedule *s, const kiln_profile *p, int64_t threads,
                             int64_t rows, kiln_gpu_rows *out, kiln_err *err) {
    *out =
        (kiln_gpu_rows){.schedule = s, .threads = threads, .rows = rows, .profile = p};
    describe(out);
    for (int i = 0; i + 1 < out->n; i++) {
        kiln_gpu_row_stage *u = &out->stage[i];
        if (u->te == NULL || u->te->n_reduce > 0 ||
            bytes_of(out, u) <= p->gpu.shared_bytes / 2 ||
            !kiln_schedule_fits_inline(s, u->stage))
            continue;
        KILN_TRY(kiln_compute_inline(u->stage, err));
        describe(out);
    }
    return KILN_OK;
}

/* ---- schedule -------------------------------------------------------------------- */

typedef struct build {
    kiln_gpu_rows *r;
    kiln_stage *y;
    kiln_iter *block;
    int64_t rows;
    kiln_err *err;
} build;

/* Orders a stage's loops: rows, other spatial ones, then terms; those of the others are
 * one loop, NULL: there are none. `taken`: an axis that is neither; -1: none. */
static kiln_status order_loops(build *b, kiln_stage *st, const kiln_gpu_row_stage *u,
                               int taken, kiln_iter **row, kiln_iter **column) {
    kiln_iter *order[2 * KILN_MAX_AXES];
    size_t n = 0, n_rows = 0;
    *row = *column = NULL;
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < st->te->rank; i++)
            if (i != taken && is_row_axis(b->r, u, i) == (side == 0))
                order[n++] = kiln_stage_axis(st, i);
        n_rows = side == 0 ? n : n_rows;
    }
    if (taken >= 0)
        order[n] = kiln_stage_axis(st, taken);
    for (int i = 0; i < st->te->n_reduce; i++)
        order[n + (taken >= 0) + (size_t)i] = kiln_stage_reduce(st, i);
    KILN_TRY(
        kiln_reorder(st, order, n + (taken >= 0) + (size_t)st->te->n_reduce, b->err));
    if (n > n_rows)
        KILN_TRY(kiln_gpu_fuse(st, n_rows, n - n_rows, column, b->err));
    if (n_rows > 0)
        KILN_TRY(kiln_gpu_fuse(st, 0, n_rows, row, b->err));
    return KILN_OK;
}

static kiln_status bind_rows(build *b, kiln_stage *st, kiln_iter *row) {
    kiln_iter *outer, *inner;
    if (row == NULL || b->rows == 1)
        return KILN_OK;
    KILN_TRY(kiln_split(st, row, b->rows, &outer, &inner, b->err));
    return kiln_bind(st, inner, "threadIdx.y", b->err);
}

static kiln_status bind_columns(build *b, kiln_stage *st, kiln_iter *column) {
    kiln_iter *outer, *inner;
    if (column == NULL)
        return KILN_OK;
    KILN_TRY(kiln_split(st, column, b->r->threads, &outer, &inner, b->err));
    return kiln_bind(st, inner, "threadIdx.x", b->err);
}

static kiln_status place(build *b, kiln_stage *st) {
    KILN_TRY(kiln_compute_at(st, b->y, b->block, b->err));
    return kiln_set_scope(st, KILN_SCOPE_SHARED, b->err);
}

/* Terms of `st` by threads: a stage of partial sums, one each. Leaves the rest, as many
 * terms as there are threads, to st. */
static kiln_status part_of(build *b, kiln_stage *st, const kiln_gpu_row_stage *u,
                           int64_t threads) {
    kiln_iter *terms = kiln_stage_reduce(st, 0), *outer, *inner, *row, *column;
    kiln_stage *part;
    const int rank = st->te->rank;
    for (int i = 1; i < st->te->n_reduce; i++)
        KILN_TRY(kiln_fuse(st, terms, kiln_stage_reduce(st, i), &terms, b->err));
    KILN_TRY(kiln_split(st, terms, threads, &outer, &inner, b->err));
    KILN_TRY(kiln_rfactor_axis(st, inner, rank, &part, b->err));
    KILN_TRY(place(b, part));
    KILN_TRY(order_loops(b, part, u, rank, &row, &column));
    KILN_TRY(kiln_bind(part, kiln_stage_axis(part, rank), "threadIdx.x", b->err));
    return bind_rows(b, part, row);
}

static int64_t terms_of(kiln_stage *st) {
    int64_t n = 1;
    for (int i = 0; i < st->te->n_reduce; i++)
        n *= kiln_stage_reduce(st, i)->extent;
    return n;
}

static kiln_status schedule_member(build *b, kiln_gpu_row_stage *u) {
    kiln_stage *st = u->stage;
    kiln_iter *row, *column;
    KILN_TRY(place(b, st));
    if (st->te->n_reduce > 0) {
        const int64_t threads = b->r->threads;
        if (threads > 1 && terms_of(st) > 1)
            KILN_TRY(part_of(b, st, u, threads));
        int64_t few = 1;
        while (few * few < threads)
            few *= 2;
        if (threads >= MANY && terms_of(st) >= MANY)
            KILN_TRY(part_of(b, st, u, few));
    }
    KILN_TRY(order_loops(b, st, u, -1, &row, &column));
    KILN_TRY(bind_columns(b, st, column));
    return bind_rows(b, st, row);
}

static kiln_status schedule_output(build *b) {
    kiln_gpu_row_stage *u = &b->r->stage[b->r->n - 1];
    kiln_iter *row, *column, *thread = NULL, *each;
    KILN_TRY(order_loops(b, b->y, u, -1, &row, &column));
    if (row == NULL)
        KILN_TRY(kiln_unit_loop(b->y, &row, b->err));
    if (column != NULL) {
        KILN_TRY(kiln_split(b->y, column, b->r->threads, &each, &thread, b->err));
        KILN_TRY(kiln_reorder(b->y, (kiln_iter *[]){thread, each}, 2, b->err));
        KILN_TRY(kiln_bind(b->y, thread, "threadIdx.x", b->err));
    }
    b->block = row;
    if (b->rows > 1) {
        KILN_TRY(kiln_split(b->y, row, b->rows, &b->block, &row, b->err));
        KILN_TRY(kiln_bind(b->y, row, "threadIdx.y", b->err));
    }
    return kiln_bind(b->y, b->block, "blockIdx.x", b->err);
}

static kiln_status check(const kiln_gpu_rows *r, kiln_err *err) {
    int64_t bytes = 0;
    for (int i = 0; i + 1 < r->n; i++)
        bytes += r->stage[i].te != NULL ? bytes_of(r, &r->stage[i]) : 0;
    if (r->threads * r->rows > r->profile->gpu.block_threads)
        return kiln_fail(
            err, KILN_ERR_ARG,
            "%" PRId64 " threads for each of %" PRId64 " rows, '%s' has %d a block",
            r->threads, r->rows, r->profile->name, r->profile->gpu.block_threads);
    if (bytes > r->profile->gpu.shared_bytes)
        return kiln_fail(err, KILN_ERR_ARG,
                         "a block's rows take %" PRId64 " bytes of shared memory, '%s' "
                         "has %" PRId64,
                         bytes, r->profile->name, r->profile->gpu.shared_bytes);
    return KILN_OK;
}

kiln_status kiln_gpu_rows_apply(kiln_gpu_rows *r, kiln_err *err) {
    build b = {.r = r, .y = r->stage[r->n - 1].stage, .rows = rows_of(r), .err = err};
    KILN_TRY(check(r, err));
    for (int i = 0; i < b.y->te->rank && b.rows > 1; i++)
        if ((r->common >> i & 1) != 0 && kiln_te_dim(b.y->te, i) < b.rows)
            b.rows = kiln_te_dim(b.y->te, i);
    KILN_TRY(schedule_output(&b));
    for (int i = r->n - 1; i-- > 0;)
        if (r->stage[i].te != NULL)
            KILN_TRY(schedule_member(&b, &r->stage[i]));
    return KILN_OK;
}
