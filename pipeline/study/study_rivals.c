/* Models of any format beside libraries, on one thread and on several: the times of each,
 * and kiln's over each library's, the worst first. */
#include "pipeline/study/study_internal.h"

#include <math.h>
#include <string.h>

enum { MOST_SIDES = 2 };

/* kiln's time over a library's, of one model. */
typedef struct quotient {
    const char *way, *model;
    double ratio;
} quotient;

typedef struct study {
    kiln_arena *arena;
    const kiln_study_options *o;
    int count[MOST_SIDES], n_sides; /* of threads: one, and as many as were asked for */
    kiln_doc_study_part part[MOST_SIDES];
} study;

/* ---- one model ------------------------------------------------------------------- */

static void put_side(study *s, int i, const char *name, const kiln_net_bench *b) {
    const kiln_net_side *side = &b->side.v[i];
    kiln_doc_study_row row =
        kiln_study_own_row(s->arena, name, name, b, side, &side->sample);
    kiln_vec_push(s->arena, &s->part[i].row, row);
    for (size_t k = 0; k < side->rival.n; k++) {
        row = kiln_study_rival_row(s->arena, name, name, side->threads,
                                   &side->rival.v[k], &side->sample);
        kiln_vec_push(s->arena, &s->part[i].row, row);
    }
}

static void put_wrong(study *s, const char *name, const char *problem) {
    for (int i = 0; i < s->n_sides; i++) {
        const kiln_doc_study_row row = kiln_study_failed(s->arena, name, name, "kiln",
                                                         s->count[i], "wrong", problem);
        kiln_vec_push(s->arena, &s->part[i].row, row);
    }
}

static void show_round(void *user, int done, int total) {
    kiln_progress_step("measuring", "rounds", done, total, user);
}

static kiln_status bench_model(study *s, kiln_arena *scratch, const char *model,
                               const char *name, kiln_err *err) {
    const kiln_network_options net = {.choose = s->o->choose};
    const kiln_net_bench_options o = {.threads = s->count,
                                      .n_threads = s->n_sides,
                                      .rounds = s->o->rounds,
                                      .baseline = s->o->baseline,
                                      .baselines_dir = s->o->baselines_dir,
                                      .baselines_limit_ms = s->o->baselines_limit_ms,
                                      .progress = show_round,
                                      .user = (void *)(uintptr_t)name}; /* read only */
    kiln_source source;
    kiln_expectation e;
    kiln_subject subject;
    kiln_net_bench bench;
    KILN_TRY(kiln_source_read(scratch, model, NULL, &source, err));
    KILN_TRY(kiln_expectation_of(scratch, &source, 1, &e, err));
    KILN_TRY(kiln_subject_of_source(scratch, &source, &e, s->o->profile, &net, &subject,
                                    err));
    KILN_TRY(kiln_net_bench_run(scratch, &subject, &o, &bench, err));
    if (bench.check.outcome != KILN_PASSED) {
        put_wrong(s, name, bench.check.reason);
        return KILN_OK;
    }
    for (int i = 0; i < s->n_sides; i++)
        put_side(s, i, name, &bench);
    return bench.is_interrupted ? kiln_interrupt_check(err) : KILN_OK;
}

static kiln_status do_model(study *s, const char *model, kiln_err *err) {
    const char *name = kiln_study_name(s->arena, model);
    kiln_arena scratch = {0};
    const kiln_status st = bench_model(s, &scratch, model, name, err);
    kiln_arena_fini(&scratch);
    return kiln_study_settle(s->arena, &s->part[0], name, "kiln", s->count[0], st, err);
}

/* ---- quotients ------------------------------------------------------------------- */

/* By library, in the order of the list; of one, the worst first. */
static bool is_before(const kiln_study_options *o, const quotient *x,
                      const quotient *y) {
    if (strcmp(x->way, y->way) == 0)
        return x->ratio > y->ratio;
    for (int i = 0; o->baseline[i] != NULL; i++)
        if (strcmp(o->baseline[i]->name, x->way) == 0)
            return true;
        else if (strcmp(o->baseline[i]->name, y->way) == 0)
            return false;
    return false;
}

static void note_library(kiln_arena *a, const quotient *q, size_t n, int threads,
                         kiln_doc_study_part *part) {
    double logs = 0;
    for (size_t i = 0; i < n; i++)
        logs += log(q[i].ratio);
    const char *line =
        kiln_format(a, "kiln / %s on %d thread%s: geometric mean %.3f of %zu", q->way,
                    threads, kiln_plural(threads), exp(logs / (double)n), n);
    kiln_vec_push(a, &part->note, line);
    for (size_t i = 0; i < n; i++) {
        line = kiln_format(a, "%.3f %s", q[i].ratio, q[i].model);
        kiln_vec_push(a, &part->note, line);
    }
}

static void note_quotients(study *s, int side) {
    kiln_doc_study_part *part = &s->part[side];
    quotient *q = kiln_array(s->arena, quotient, part->row.n);
    size_t n = 0, end;
    for (size_t i = 0; i < part->row.n; i++) {
        const kiln_doc_study_row *r = &part->row.v[i];
        if (r->gain.estimate > 0 && strcmp(r->way, "kiln") != 0)
            q[n++] = (quotient){r->way, r->model, r->gain.estimate};
    }
    for (size_t i = 1; i < n; i++) {
        const quotient at = q[i];
        size_t k = i;
        for (; k > 0 && is_before(s->o, &at, &q[k - 1]); k--)
            q[k] = q[k - 1];
        q[k] = at;
    }
    for (size_t i = 0; i < n; i = end) {
        for (end = i; end < n && strcmp(q[end].way, q[i].way) == 0;)
            end++;
        note_library(s->arena, &q[i], end - i, s->count[side], part);
    }
}

/* ---- all ------------------------------------------------------------------------- */

static void begin(study *s) {
    static const char *const name[] = {"one", "several"};
    s->count[s->n_sides++] = 1;
    if (s->o->threads > 1)
        s->count[s->n_sides++] = s->o->threads;
    for (int i = 0; i < s->n_sides; i++)
        s->part[i] = (kiln_doc_study_part){
            .name = name[i],
            .title = kiln_format(s->arena, "On %d thread%s", s->count[i],
                                 kiln_plural(s->count[i])),
            .source = "no paper's",
            .shape = "Each library is given the file that kiln is given or, where it "
                     "does not read that, the ONNX that kiln exports of it. A "
                     "library's gain over kiln is kiln's time over its own: below 1 "
                     "where kiln is faster."};
}

kiln_status kiln_study_rivals(kiln_arena *a, const kiln_study_options *o,
                              kiln_doc_study *out, kiln_err *err) {
    KILN_ASSERT(o->threads >= 1 && o->rounds >= 1, "%d rounds on %d threads", o->rounds,
                o->threads);
    study s = {.arena = a, .o = o};
    kiln_doc_study doc;
    kiln_status st = KILN_OK;
    if (o->model == NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "name what is measured: --models a/model.tflite,resnet18");
    begin(&s);
    kiln_study_begin(a, "rivals", o, &doc);
    for (int i = 0; o->model[i] != NULL && st == KILN_OK; i++)
        st = do_model(&s, o->model[i], err);
    for (int i = 0; i < s.n_sides; i++) {
        note_quotients(&s, i);
        kiln_vec_push(a, &doc.part, s.part[i]);
    }
    return kiln_study_end(&doc, st, out, err);
}
