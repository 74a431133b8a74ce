/* NeoCPU's experiments (Liu et al., USENIX ATC 2019): Table 3, what each step of layouts
 * gains; Table 2, beside libraries; Figure 4, what threads gain. */
#include "pipeline/study/study_internal.h"

#include <string.h>

enum { N_PARTS = 3, MOST_COUNTS = 64 };
static const char *const part_name[N_PARTS] = {"steps", "beside", "threads"};

kiln_status kiln_study_parts(const char *list, unsigned *out, kiln_err *err) {
    kiln_str rest = kiln_str_from(list), word;
    unsigned parts = 0;
    while (kiln_str_cut(&rest, ',', &word)) {
        unsigned part = 0;
        for (int i = 0; i < N_PARTS; i++)
            part |= kiln_str_is(word, part_name[i]) ? 1u << i : 0;
        if (part == 0)
            return kiln_fail(err, KILN_ERR_ARG,
                             "there is no part '%.*s'; there are: steps, beside, "
                             "threads",
                             word.n > 64 ? 64 : (int)word.n, word.p);
        parts |= part;
    }
    *out = parts;
    return KILN_OK;
}

/* ---- what the paper says --------------------------------------------------------- */

static const kiln_doc_study_part part_text[N_PARTS] = {
    {.name = "steps",
     .title = "What each step of layouts gains",
     .source = "NeoCPU, ATC 2019, Table 3 (Intel Skylake, 18 cores)",
     .shape =
         "Over row-major tensors ('plain') the paper gains 4.1 to 8.3 times by blocks "
         "of "
         "channels for each convolution ('each'), 1.1 to 1.5 times more by leaving out "
         "the conversions between them ('greedy'), and 1.1 to 1.5 times more by a "
         "search "
         "over all of them ('search'). Beyond the paper's steps, kiln's blocks bring "
         "Winograd with them where a rule or a record says so."},
    {.name = "beside",
     .title = "Beside libraries",
     .source = "NeoCPU, ATC 2019, Table 2",
     .shape =
         "NeoCPU is 0.94 to 1.15 times as fast as the best of MXNet, TensorFlow and "
         "OpenVINO on an Intel Skylake of 18 cores, 0.92 to 1.72 times on an AMD "
         "EPYC of 24, 2.05 to 3.45 times on a Cortex A72 of 16. Here a library's "
         "gain over kiln is above 1 where the library is faster; the paper's is "
         "that of the same library over NeoCPU."},
    {.name = "threads",
     .title = "What threads gain",
     .source = "NeoCPU, ATC 2019, Figure 4",
     .shape =
         "The paper draws images a second over threads, for one network on each of "
         "three processors, and prints no numbers: NeoCPU's own pool of threads "
         "goes on gaining up to all cores, OpenMP in NeoCPU and in the libraries "
         "flattens sooner, jitters, or falls.",
     .has_curve = true},
};

static void add_note(kiln_arena *a, kiln_doc_study_part *part, unsigned bit,
                     const kiln_published *p) {
    const char *text = NULL;
    if (p != NULL && bit == KILN_STUDY_BESIDE)
        text = kiln_format(a,
                           "%s on 18 cores of Skylake, ms: NeoCPU %.2f, MXNet %.2f, "
                           "TensorFlow %.2f, OpenVINO %.2f",
                           p->model, p->neocpu, p->mxnet, p->tensorflow, p->openvino);
    if (p != NULL && bit == KILN_STUDY_STEPS && p->gain[0] > 0)
        text = kiln_format(a, "%s: 1, %.2f, %.2f, %.2f times", p->model, p->gain[1],
                           p->gain[2], p->gain[3]);
    if (text != NULL)
        kiln_vec_push(a, &part->note, text);
}

/* ---- one model ------------------------------------------------------------------- */

typedef struct study {
    kiln_arena *arena;
    const kiln_study_options *o;
    unsigned parts;
    kiln_doc_study_part part[N_PARTS]; /* by number of the part */
    int count[MOST_COUNTS], n_counts;  /* of threads */
} study;

/* All up to eight, then their doubles; the last is what was asked for. */
static void count_threads(study *s) {
    enum { ALL = 8 };
    const int most = s->o->threads;
    for (int n = 1; n < most && s->n_counts < MOST_COUNTS - 1;
         n = n < ALL ? n + 1 : 2 * n)
        s->count[s->n_counts++] = n;
    s->count[s->n_counts++] = most;
}

static kiln_status do_steps(study *s, kiln_arena *scratch, const kiln_source *source,
                            const char *name, kiln_err *err) {
    const kiln_published *p = kiln_published_find(name);
    const kiln_net_chooser *const chooser[KILN_STUDY_STEPS_OF_PAPER] = {
        &kiln_net_chooser_plain, &kiln_net_chooser_each, &kiln_net_chooser_greedy,
        &kiln_net_chooser_search};
    kiln_study_way way[KILN_STUDY_STEPS_OF_PAPER];
    for (int i = 0; i < KILN_STUDY_STEPS_OF_PAPER; i++)
        way[i] = (kiln_study_way){.name = chooser[i]->name,
                                  .net = {.chooser = chooser[i]},
                                  .published = p != NULL ? p->gain[i] : 0};
    add_note(s->arena, &s->part[0], KILN_STUDY_STEPS, p);
    return kiln_study_compare(s->arena, scratch, source, way, KILN_STUDY_STEPS_OF_PAPER,
                              s->o, &s->part[0], err);
}

/* ---- a bench's numbers as rows --------------------------------------------------- */

static double published_of(const kiln_published *p, const char *library) {
    return p != NULL && strcmp(library, "openvino") == 0 ? p->neocpu / p->openvino : 0;
}

/* With as many threads as were asked for. */
static void put_beside(study *s, const char *name, const kiln_net_bench *b) {
    const kiln_net_side *side = &b->side.v[b->side.n - 1];
    const kiln_published *p = kiln_published_find(name);
    kiln_doc_study_row row =
        kiln_study_own_row(s->arena, name, name, b, side, &side->sample);
    kiln_vec_push(s->arena, &s->part[1].row, row);
    for (size_t i = 0; i < side->rival.n; i++) {
        row = kiln_study_rival_row(s->arena, name, name, side->threads,
                                   &side->rival.v[i], &side->sample);
        row.published = published_of(p, row.way);
        kiln_vec_push(s->arena, &s->part[1].row, row);
    }
    add_note(s->arena, &s->part[1], KILN_STUDY_BESIDE, p);
}

static void put_threads(study *s, const char *name, const kiln_net_bench *b) {
    const kiln_net_side *one = &b->side.v[0];
    const char *group = kiln_format(s->arena, "%s, kiln", name);
    for (size_t k = 0; k < b->side.n; k++) {
        const kiln_doc_study_row row =
            kiln_study_own_row(s->arena, group, name, b, &b->side.v[k], &one->sample);
        kiln_vec_push(s->arena, &s->part[2].row, row);
    }
    for (size_t i = 0; i < one->rival.n; i++) {
        /* What is absent is said once. */
        if (one->rival.v[i].state == KILN_RIVAL_ABSENT &&
            (s->parts & KILN_STUDY_BESIDE) != 0)
            continue;
        group = kiln_format(s->arena, "%s, %s", name, one->rival.v[i].baseline->name);
        for (size_t k = 0; k < b->side.n; k++) {
            const kiln_doc_study_row row =
                kiln_study_rival_row(s->arena, group, name, b->side.v[k].threads,
                                     &b->side.v[k].rival.v[i], &one->rival.v[i].sample);
            /* What is absent is so with any number of threads. */
            if (k == 0 || b->side.v[k].rival.v[i].state != KILN_RIVAL_ABSENT)
                kiln_vec_push(s->arena, &s->part[2].row, row);
        }
    }
}

static void put_wrong(study *s, const char *name, const char *problem) {
    for (int i = 1; i < N_PARTS; i++)
        if ((s->parts >> i & 1u) != 0) {
            const kiln_doc_study_row row = kiln_study_failed(
                s->arena, name, name, "kiln", s->o->threads, "wrong", problem);
            kiln_vec_push(s->arena, &s->part[i].row, row);
        }
}

static void show_round(void *user, int done, int total) {
    kiln_progress_step("measuring", "rounds", done, total, user);
}

static kiln_status do_bench(study *s, kiln_arena *scratch, const kiln_source *source,
                            const char *name, bool has_curve, kiln_err *err) {
    const int most[1] = {s->o->threads};
    const kiln_network_options net = {.choose = s->o->choose};
    const kiln_net_bench_options o = {.threads = has_curve ? s->count : most,
                                      .n_threads = has_curve ? s->n_counts : 1,
                                      .rounds = s->o->rounds,
                                      .baseline = s->o->baseline,
                                      .baselines_dir = s->o->baselines_dir,
                                      .baselines_limit_ms = s->o->baselines_limit_ms,
                                      .progress = show_round,
                                      .user = (void *)(uintptr_t)name}; /* read only */
    kiln_expectation e;
    kiln_subject subject;
    kiln_net_bench bench;
    KILN_TRY(kiln_expectation_of(scratch, source, 1, &e, err));
    KILN_TRY(kiln_subject_of_source(scratch, source, &e, s->o->profile, &net, &subject,
                                    err));
    KILN_TRY(kiln_net_bench_run(scratch, &subject, &o, &bench, err));
    if (bench.check.outcome != KILN_PASSED) {
        put_wrong(s, name, bench.check.reason);
        return KILN_OK;
    }
    if ((s->parts & KILN_STUDY_BESIDE) != 0)
        put_beside(s, name, &bench);
    if (has_curve)
        put_threads(s, name, &bench);
    return bench.is_interrupted ? kiln_interrupt_check(err) : KILN_OK;
}

/* ---- all ------------------------------------------------------------------------- */

/* By itself the paper's Table 3 has five networks, and so have curves. */
static bool is_wanted(const study *s, const char *name, unsigned part) {
    const kiln_published *p = kiln_published_find(name);
    return (s->parts & part) != 0 &&
           (part == KILN_STUDY_BESIDE || s->o->model != NULL ||
            (p != NULL && p->gain[0] > 0));
}

static kiln_status do_model(study *s, const char *model, kiln_err *err) {
    const char *name = kiln_study_name(s->arena, model);
    const bool has_curve = is_wanted(s, name, KILN_STUDY_THREADS);
    kiln_status st = KILN_OK;
    for (int i = 0; i < 2 && st == KILN_OK; i++) {
        const bool is_asked = i == 0
                                  ? is_wanted(s, name, KILN_STUDY_STEPS)
                                  : is_wanted(s, name, KILN_STUDY_BESIDE) || has_curve;
        kiln_arena scratch = {0};
        kiln_source source;
        if (!is_asked)
            continue;
        st = kiln_source_read(&scratch, model, NULL, &source, err);
        if (st == KILN_OK)
            st = i == 0 ? do_steps(s, &scratch, &source, name, err)
                        : do_bench(s, &scratch, &source, name, has_curve, err);
        kiln_arena_fini(&scratch);
        const int part = i == 0 ? 0 : (s->parts & KILN_STUDY_BESIDE) != 0 ? 1 : 2;
        st = kiln_study_settle(s->arena, &s->part[part], name,
                               i == 0 ? kiln_net_chooser_plain.name : "kiln",
                               s->o->threads, st, err);
    }
    return st;
}

static kiln_status do_models(study *s, kiln_err *err) {
    for (int i = 0; s->o->model != NULL && s->o->model[i] != NULL; i++)
        KILN_TRY(do_model(s, s->o->model[i], err));
    for (int i = 0; s->o->model == NULL && kiln_published_at(i) != NULL; i++)
        KILN_TRY(do_model(
            s, kiln_format(s->arena, "zoo:%s", kiln_published_at(i)->model), err));
    return KILN_OK;
}

kiln_status kiln_study_neocpu(kiln_arena *a, const kiln_study_options *o,
                              kiln_doc_study *out, kiln_err *err) {
    KILN_ASSERT(o->threads >= 1 && o->rounds >= 1, "%d rounds on %d threads", o->rounds,
                o->threads);
    study s = {.arena = a, .o = o, .parts = o->parts != 0 ? o->parts : KILN_STUDY_ALL};
    kiln_doc_study doc;
    memcpy(s.part, part_text, sizeof s.part);
    count_threads(&s);
    kiln_study_begin(a, "neocpu", o, &doc);
    const kiln_status st = do_models(&s, err);
    for (int i = 0; i < N_PARTS; i++)
        if ((s.parts >> i & 1u) != 0)
            kiln_vec_push(a, &doc.part, s.part[i]);
    return kiln_study_end(&doc, st, out, err);
}
