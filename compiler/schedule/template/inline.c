/* Which injective stages are computed where they are read. */
#include "compiler/schedule/template/template_rules.h"

typedef struct counter {
    const kiln_te *te;
    int n;
} counter;

static void count_read(void *user, const kiln_expr *e) {
    counter *c = user;
    c->n += e->kind == KILN_EXPR_READ && e->u.read.te == c->te;
}

double kiln_te_evaluations(const kiln_te *te) {
    double n = (double)kiln_te_elems(te);
    for (int i = 0; i < te->n_reduce; i++) {
        int64_t extent = 1;
        (void)kiln_x_is_int(te->reduce[i]->extent, &extent);
        n *= (double)extent;
    }
    return n;
}

/* How often an element is computed when the stage is inlined. */
static double repetition(const kiln_schedule *s, const kiln_stage *st) {
    double reads = 0;
    for (size_t i = 0; i < s->stage.n; i++) {
        const kiln_te *reader = s->stage.v[i]->te;
        counter c = {.te = st->origin};
        if (!kiln_te_reads(reader, st->origin))
            continue;
        for (int k = 0; k < reader->n_out && reader->kind == KILN_TE_COMPUTE; k++)
            kiln_expr_visit(reader->body[k], count_read, &c);
        reads += c.n * kiln_te_evaluations(reader);
    }
    const double elems = (double)kiln_te_elems(st->te);
    return elems > 0 ? reads / elems : 1;
}

static bool is_extern_read(const kiln_schedule *s, const kiln_stage *st) {
    for (size_t i = 0; i < s->stage.n; i++)
        if (s->stage.v[i]->te->kind == KILN_TE_EXTERN &&
            kiln_te_reads(s->stage.v[i]->te, st->origin))
            return true;
    return false;
}

static bool wants_inline(kiln_rules_inline inlining, const kiln_schedule *s,
                         const kiln_stage *st) {
    if (st->is_output || !kiln_te_is_injective(st->te) || is_extern_read(s, st) ||
        inlining == KILN_RULES_INLINE_NONE || !kiln_schedule_fits_inline(s, st))
        return false;
    if (inlining == KILN_RULES_INLINE_ALL)
        return true;
    double work = 0;
    for (int k = 0; k < st->te->n_out; k++)
        work += kiln_expr_work(st->te->body[k]);
    return work < 1 || repetition(s, st) <= 1.01;
}

kiln_status kiln_rules_inlined(kiln_schedule *s, kiln_rules_inline inlining,
                               kiln_err *err) {
    for (size_t i = 0; i < s->stage.n; i++)
        if (wants_inline(inlining, s, s->stage.v[i]))
            KILN_TRY(kiln_compute_inline(s->stage.v[i], err));
    return KILN_OK;
}
