/* Several ways to make one network, timed in turns: who comes first changes from round to
 * round, and everybody's turn begins after a rest with a run that is not timed. */
#include "pipeline/study/study_internal.h"

typedef struct side {
    kiln_network_options net;
    kiln_subject subject;
    int session;
    int64_t runs; /* of each sample */
    kiln_sample_list sample;
    kiln_doc_study_row row;
    bool is_out;
} side;

typedef struct comparison {
    kiln_arena *arena, *scratch; /* of rows; of networks and samples */
    const kiln_source *source;
    const kiln_expectation *e;
    const kiln_study_options *o;
    side *side;
    int n;
} comparison;

static void leave(const comparison *c, side *s, const char *state,
                  const char *problem) {
    const kiln_doc_study_row had = s->row;
    s->row = kiln_study_failed(c->arena, had.group, had.model, had.way, had.threads,
                               state, problem);
    s->is_out = true;
}

/* A way that fails is out; that somebody interrupts is nobody's failure. */
static kiln_status judge(const comparison *c, side *s, kiln_status st, kiln_err *err) {
    if (st == KILN_OK || st == KILN_ERR_INTERRUPTED)
        return st;
    if (kiln_interrupted())
        return kiln_interrupt_check(err);
    leave(c, s, "failed", err->text);
    kiln_err_clear(err);
    return KILN_OK;
}

/* ---- making ready ---------------------------------------------------------------- */

static kiln_status take_sample(const side *s, int n_ahead, kiln_sample *out,
                               kiln_err *err) {
    const kiln_remote_order order = {.n_ahead = n_ahead, .runs = s->runs};
    kiln_remote_turn turn;
    KILN_TRY(kiln_remote_take_turn(s->subject.remote, s->session, &order, &turn, err));
    *out = (kiln_sample){turn.ms, turn.is_disturbed};
    return KILN_OK;
}

static kiln_status open_side(const comparison *c, side *s, kiln_err *err) {
    kiln_check check = {.name = c->source->name, .group = "", .reason = ""};
    kiln_sample first = {0};
    size_t bytes;
    KILN_TRY(kiln_subject_of_source(c->scratch, c->source, c->e, c->o->profile, &s->net,
                                    &s->subject, err));
    s->row.steps = s->subject.n_steps;
    s->row.conversions = s->subject.n_conversions;
    KILN_TRY(kiln_remote_session(s->subject.remote, c->o->threads, &s->session, &bytes,
                                 err));
    KILN_TRY(kiln_subject_check(c->scratch, &s->subject, s->session, &check, err));
    if (check.outcome != KILN_PASSED) {
        leave(c, s, "wrong", check.reason);
        return KILN_OK;
    }
    s->runs = 1;
    KILN_TRY(take_sample(s, 1, &first, err));
    s->runs = kiln_sample_runs(first.ms);
    return KILN_OK;
}

static kiln_status open_all(comparison *c, kiln_err *err) {
    for (int i = 0; i < c->n; i++) {
        kiln_progress_step("preparing", "ways", i, c->n, c->source->name);
        KILN_TRY(kiln_interrupt_check(err));
        KILN_TRY(judge(c, &c->side[i], open_side(c, &c->side[i], err), err));
    }
    return KILN_OK;
}

/* ---- rounds ---------------------------------------------------------------------- */

static kiln_status one_round(comparison *c, int round, kiln_err *err) {
    for (int i = 0; i < c->n; i++) {
        side *s = &c->side[(i + round) % c->n];
        kiln_sample sample;
        if (s->is_out)
            continue;
        kiln_rest();
        const kiln_status st = take_sample(s, 1, &sample, err);
        if (st == KILN_OK)
            kiln_vec_push(c->scratch, &s->sample, sample);
        KILN_TRY(judge(c, s, st, err));
    }
    return KILN_OK;
}

/* Rows of what has samples, and of what failed; those of ways that were not reached are
 * left out. */
static void keep_rows(comparison *c, kiln_doc_study_part *out) {
    for (int i = 0; i < c->n; i++) {
        side *s = &c->side[i];
        if (!s->is_out && s->sample.n == 0)
            continue;
        if (!s->is_out)
            kiln_study_add_up(&s->row, &s->sample,
                              c->side[0].is_out ? NULL : &c->side[0].sample);
        kiln_vec_push(c->arena, &out->row, s->row);
    }
}

static kiln_status compare(comparison *c, kiln_doc_study_part *out, kiln_err *err) {
    kiln_status st = open_all(c, err);
    for (int i = 0; i < c->o->rounds && st == KILN_OK; i++) {
        kiln_progress_step("measuring", "rounds", i, c->o->rounds, c->source->name);
        st = kiln_interrupt_check(err);
        if (st == KILN_OK)
            st = one_round(c, i, err);
    }
    keep_rows(c, out);
    return st;
}

kiln_status kiln_study_compare(kiln_arena *a, kiln_arena *scratch,
                               const kiln_source *source, const kiln_study_way *way,
                               int n_ways, const kiln_study_options *o,
                               kiln_doc_study_part *out, kiln_err *err) {
    kiln_expectation e;
    KILN_ASSERT(n_ways > 0, "'%s' is made in no way", source->name);
    KILN_TRY(kiln_expectation_of(scratch, source, 1, &e, err));
    if (e.n_held == 0)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "no element of the outputs of '%s' can be held against the "
                         "reference",
                         source->name);
    comparison c = {.arena = a,
                    .scratch = scratch,
                    .source = source,
                    .e = &e,
                    .o = o,
                    .side = kiln_array(scratch, side, n_ways),
                    .n = n_ways};
    for (int i = 0; i < n_ways; i++) {
        side *s = &c.side[i];
        s->net = way[i].net;
        s->net.choose = o->choose;
        s->row = kiln_study_failed(a, source->name, source->name, way[i].name,
                                   o->threads, "measured", "");
        s->row.problem = NULL;
        s->row.published = i > 0 ? way[i].published : 0; /* 1 by itself */
    }
    return compare(&c, out, err);
}
