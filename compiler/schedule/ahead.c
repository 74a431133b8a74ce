/* Double buffered stages: is there an iteration to be ahead of, and can what they read be
 * had so early? The loop pass double_buffer would refuse them later, without the names of
 * stages and loops that a schedule has. */
#include "compiler/schedule/schedule_internal.h"

static const kiln_lowered_stage *lowered(const kiln_lowering *lo,
                                         const kiln_stage *st) {
    return &lo->stage[kiln_stage_position(st)];
}

/* The loop that the stage is computed in each iteration of. Loops of one iteration are
 * none; virtual threads take turns in the loop around them. NULL: in none. */
static const kiln_iter *loop_of(const kiln_lowering *lo, const kiln_stage *st) {
    for (; st->attach == KILN_ATTACH_AT; st = st->at_stage) {
        const kiln_lowered_stage *l = lowered(lo, st->at_stage);
        size_t i = 0;
        while (st->at_stage->leaf.v[i] != st->at_iter)
            i++;
        for (i++; i-- > 0;) {
            const kiln_iter *x = l->leaf[i].iter;
            if (x->loop != KILN_LOOP_VTHREAD &&
                (l->leaf[i].extent != 1 || x->loop == KILN_LOOP_THREAD))
                return x;
        }
    }
    return NULL;
}

static const kiln_stage *stage_with(const kiln_lowering *lo, const kiln_iter *x) {
    for (size_t i = 0; i < lo->schedule->stage.n; i++)
        for (size_t k = 0; k < lo->schedule->stage.v[i]->leaf.n; k++)
            if (lo->schedule->stage.v[i]->leaf.v[k] == x)
                return lo->schedule->stage.v[i];
    return NULL;
}

static bool is_at_or_inside(const kiln_stage *st, const kiln_iter *at,
                            const kiln_iter *x) {
    bool is_in = false;
    for (size_t i = 0; i < st->leaf.n; i++) {
        is_in = is_in || st->leaf.v[i] == x;
        if (st->leaf.v[i] == at)
            return is_in;
    }
    return false;
}

/* Is st computed inside loop x of stage `of`? */
static bool is_inside(const kiln_stage *st, const kiln_stage *of, const kiln_iter *x) {
    for (; st->attach == KILN_ATTACH_AT; st = st->at_stage)
        if (st->at_stage == of && is_at_or_inside(of, st->at_iter, x))
            return true;
    return false;
}

/* Is st `whole`, or computed inside it? */
static bool is_part_of(const kiln_stage *st, const kiln_stage *whole) {
    while (st != whole && st->attach == KILN_ATTACH_AT)
        st = st->at_stage;
    return st == whole;
}

static kiln_status check_reads(const kiln_lowering *lo, const kiln_stage *st,
                               const kiln_iter *x, kiln_err *err) {
    const kiln_stage *of = stage_with(lo, x);
    for (size_t i = 0; i < lo->schedule->stage.n; i++) {
        const kiln_stage *read = lo->stage[i].stage;
        if (lo->stage[i].te == NULL || is_part_of(read, st) ||
            !is_inside(read, of, x) || (read->double_buffer && loop_of(lo, read) == x))
            continue;
        for (size_t k = 0; k < lo->schedule->stage.n; k++) {
            const kiln_lowered_stage *by = &lo->stage[k];
            if (by->te != NULL && is_part_of(by->stage, st) &&
                kiln_te_reads(by->te, read->origin))
                return kiln_fail(err, KILN_ERR_ARG,
                                 "lower: stage '%s' is double buffered in loop '%s', "
                                 "and reads '%s', which is computed in each iteration "
                                 "of it; double buffer that as well, or compute it "
                                 "elsewhere",
                                 st->te->name, x->name, read->te->name);
        }
    }
    return KILN_OK;
}

kiln_status kiln_check_ahead(const kiln_lowering *lo, kiln_err *err) {
    for (size_t i = 0; i < lo->schedule->stage.n; i++) {
        const kiln_stage *st = lo->stage[i].stage;
        if (lo->stage[i].te == NULL || !st->double_buffer)
            continue;
        const kiln_iter *x = loop_of(lo, st);
        if (x == NULL || (x->loop != KILN_LOOP_SERIAL && x->loop != KILN_LOOP_UNROLLED))
            return kiln_fail(err, KILN_ERR_ARG,
                             "lower: stage '%s' is double buffered, and computed in no "
                             "loop whose iterations follow each other%s%s; compute it "
                             "inside a serial loop",
                             st->te->name, x != NULL ? ", but once in each of " : "",
                             x != NULL ? x->name : "");
        KILN_TRY(check_reads(lo, st, x, err));
    }
    return KILN_OK;
}
