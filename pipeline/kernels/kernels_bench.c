/* `kiln bench --ops`: every operator made, checked, measured. */
#include "pipeline/kernels/kernels_internal.h"

#include <math.h>
#include <string.h>

void kiln_bench_row_fill(kiln_bench_row *row, const kiln_kernel *k,
                         const kiln_hot_loops *h, const kiln_profile *p) {
    KILN_ASSERT(k->program != NULL && k->object.bytes.n > 0,
                "the kernel of '%s' has no code", k->work->name);
    row->lower_ms = (double)k->lower_ns * 1e-6;
    row->codegen_ms = (double)k->codegen_ns * 1e-6;
    row->code_bytes = k->object.bytes.n;
    row->workspace_bytes = k->object.workspace_bytes;
    row->scratch_bytes = k->object.scratch_bytes;
    row->spread =
        kiln_program_spread(k->program->arena, k->program, 2, p->vector_bytes);
    row->n_loops = (int)h->n;
    row->spills = h->spills;
    row->vector_registers = h->vector_registers;
    if (h->hot != NULL) {
        row->hot_instructions = h->hot->instructions;
        row->hot_fma = h->hot->vector_fma;
    }
}

typedef struct asked {
    kiln_arena *arena, *scratch;
    const kiln_op_work *work;
    const kiln_bench_options *o;
    kiln_bench_row *row;
} asked;

static kiln_rivals *open_rivals(void *user) {
    const asked *x = user;
    return kiln_op_rivals_open(x->arena, x->scratch, x->work, x->o, x->row);
}

/* `scratch` lives as long as this operator, `a` as the report. */
static kiln_status measure(kiln_arena *a, kiln_arena *scratch, const kiln_op_line *line,
                           const kiln_bench_options *o, kiln_op_trials *t,
                           kiln_bench_row *row, kiln_err *err) {
    kiln_op_work work;
    KILN_TRY(kiln_op_work_make(scratch, line, &work, err));
    row->key = kiln_str_dupv(a, work.key);
    row->cost = work.cost;
    KILN_TRY(kiln_choose(a, &work, t->profile, &o->choose, &row->choice, err));
    asked x = {a, scratch, &work, o, row};
    const kiln_op_others others = {open_rivals, &x};
    return kiln_op_trial(a, t, &work, o->seconds, o->baseline != NULL ? &others : NULL,
                         row, err);
}

static bool is_wanted(const kiln_bench_options *o, const kiln_op_line *line) {
    return o->filter == NULL || strstr(line->name, o->filter) != NULL;
}

static void count(kiln_bench *b) {
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < b->row.n; i++) {
        const kiln_bench_row *r = &b->row.v[i];
        b->n_failed += r->refusal != NULL && r->failure != NULL;
        b->n_refused += r->refusal != NULL && r->failure == NULL;
        b->n_wrong += r->refusal == NULL && !r->verdict.ok;
        if (r->refusal == NULL && r->timing.peak_share > 0) {
            sum += log(r->timing.peak_share);
            n++;
        }
    }
    b->mean_share = n > 0 ? exp(sum / (double)n) : 0;
}

kiln_status kiln_bench_run(kiln_arena *a, const kiln_op_lines *lines,
                           const kiln_profile *p, const kiln_bench_options *o,
                           kiln_bench *out, kiln_err *err) {
    kiln_bench b = {.profile = p, .threads = o->threads > 1 ? o->threads : 1};
    const kiln_op_trials_options to = {.threads = b.threads,
                                       .seconds = o->seconds,
                                       .seed = o->seed,
                                       .workers = &o->workers};
    kiln_op_trials trials;
    size_t total = 0;
    for (size_t i = 0; i < lines->list.n; i++)
        total += is_wanted(o, &lines->list.v[i]);
    if (total == 0)
        return kiln_fail(err, KILN_ERR_ARG, "no operator's name contains '%s'",
                         o->filter != NULL ? o->filter : "");
    KILN_TRY(kiln_op_trials_open(a, p, &to, &trials, err));
    b.peak = trials.peak;
    for (size_t i = 0; i < lines->list.n; i++) {
        const kiln_op_line *line = &lines->list.v[i];
        if (!is_wanted(o, line))
            continue;
        if (kiln_interrupted())
            break;
        if (o->progress != NULL)
            o->progress(o->user, line->name, b.row.n, total);
        kiln_arena scratch = {0};
        kiln_bench_row row = {.name = line->name, .line = line->text};
        const kiln_status st = measure(a, &scratch, line, o, &trials, &row, err);
        kiln_arena_fini(&scratch);
        if (st == KILN_ERR_INTERRUPTED) { /* what was measured stays */
            kiln_err_clear(err);
            break;
        }
        if (st == KILN_ERR_ARG || st == KILN_ERR_PARSE || st == KILN_ERR_MISSING ||
            st == KILN_ERR_IO)
            return st;
        if (st != KILN_OK) {
            row.refusal = kiln_str_dup(a, err->text);
            kiln_err_clear(err);
        }
        kiln_vec_push(a, &b.row, row);
    }
    memcpy(b.level_gbs, trials.level_gbs, sizeof b.level_gbs);
    b.is_interrupted = kiln_interrupted();
    count(&b);
    kiln_op_standings(a, &b, o->baseline);
    *out = b;
    return KILN_OK;
}
