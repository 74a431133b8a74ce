/* Measuring a corpus: a short search of each work's whole space, then a part of it
 * whole. All trials are records like any others, so that a call that was cut short is
 * gone on with. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/tune/corpus_internal.h"

enum {
    CONFIGURATIONS = 384,
    SEARCHED = 48 /* trials of the search ahead */
};

/* ---- which works ----------------------------------------------------------------- */

kiln_status kiln_corpus_works(kiln_arena *a, kiln_tune_works *out, kiln_err *err) {
    kiln_op_lines lines = {.list = {.n = 0}};
    kiln_op_line product;
    KILN_TRY(kiln_op_lines_read(a, "resnet18", &lines, err));
    KILN_TRY(kiln_op_line_of(a, "mm matmul-1024 1024 1024 1024", &product, err));
    kiln_vec_push(a, &lines.list, product);
    return kiln_tune_works_of_lines(a, &lines, out, err);
}

/* ---- the part -------------------------------------------------------------------- */

/* The search's first trials on record, in order: later ones change nothing. */
typedef struct searched {
    kiln_config config;
    double ns;
} searched;

static int by_time(const void *x, const void *y) {
    const searched *a = x, *b = y;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

static kiln_status read_searched(kiln_arena *a, kiln_db *db, const kiln_db_task *task,
                                 const kiln_tune_task *t, searched *out, size_t *n,
                                 kiln_err *err) {
    kiln_db_trials all;
    int64_t id = 0;
    size_t n_seen = 0;
    *n = 0;
    KILN_TRY(kiln_db_task_id(db, task, &id, err));
    KILN_TRY(kiln_db_trials_of(db, a, id, &all, err));
    for (size_t i = 0; i < all.list.n && n_seen < SEARCHED; i++) {
        const kiln_db_trial *x = &all.list.v[i];
        searched s = {.ns = x->median_ns};
        if (x->round > 0 || strcmp(x->candidate.tmpl, t->tmpl->name) != 0 ||
            !kiln_tune_config_read(a, t->tmpl, &t->space, x->candidate.config,
                                   &s.config))
            continue;
        n_seen++;
        if (x->error[0] == '\0')
            out[(*n)++] = s;
    }
    qsort(out, *n, sizeof *out, by_time);
    return KILN_OK;
}

/* Which options of each knob the part has. */
typedef struct part {
    bool *has[KILN_MAX_KNOBS];
    int n[KILN_MAX_KNOBS];
    uint64_t size, most;
} part;

/* The part's size with one more option of knob k. */
static uint64_t size_with(const part *p, int k) {
    const uint64_t n = (uint64_t)p->n[k];
    return n > 0 ? p->size / n * (n + 1) : p->size;
}

static void add_option(part *p, int k, int option) {
    if (p->has[k][option] || size_with(p, k) > p->most)
        return;
    KILN_ASSERT(k >= 0 && k < KILN_MAX_KNOBS && option >= 0, "option %d of knob %d",
                option, k);
    p->size = size_with(p, k);
    p->has[k][option] = true;
    p->n[k]++;
}

static void lend(const kiln_space *s, const kiln_config *c, part *p) {
    for (int k = 0; k < s->n; k++)
        add_option(p, k, c->option[k]);
}

/* The knob that has the smallest part of its options and room for another; -1: none. */
static int poorest(const kiln_space *s, const part *p) {
    int found = -1;
    for (int k = 0; k < s->n; k++)
        if (p->n[k] < s->knob[k].n && size_with(p, k) <= p->most &&
            (found < 0 ||
             (double)p->n[k] * s->knob[found].n < (double)p->n[found] * s->knob[k].n))
            found = k;
    return found;
}

static void fill(const kiln_space *s, kiln_rng *rng, part *p) {
    for (int k; (k = poorest(s, p)) >= 0;)
        add_option(p, k, (int)kiln_rng_range(rng, 0, s->knob[k].n - 1));
}

static void narrow(kiln_arena *a, const part *p, kiln_space *s) {
    KILN_ASSERT(p->size > 0 && p->size <= p->most, "a part of %llu configurations",
                (unsigned long long)p->size);
    s->size = p->size;
    for (int k = 0; k < s->n; k++) {
        int *kept = kiln_array(a, int, s->knob[k].n), n = 0;
        for (int i = 0; i < s->knob[k].n; i++)
            if (p->has[k][i])
                kept[n++] = i;
        kiln_tune_keep_options(a, &s->knob[k], kept, n);
    }
}

/* The whole space of `t` becomes its part. */
static kiln_status find_part(kiln_arena *a, kiln_db *db, const kiln_db_task *task,
                             const kiln_corpus_options *o, kiln_tune_task *t,
                             kiln_err *err) {
    searched best[SEARCHED];
    size_t n = 0;
    kiln_rng rng;
    part p = {
        .size = 1,
        .most = (uint64_t)(o->configurations > 0 ? o->configurations : CONFIGURATIONS)};
    KILN_TRY(read_searched(a, db, task, t, best, &n, err));
    kiln_rng_init(&rng, o->tune.seed > 0 ? o->tune.seed : 1);
    for (int k = 0; k < t->space.n; k++)
        p.has[k] = kiln_array(a, bool, t->space.knob[k].n);
    const kiln_config rule = t->tmpl->guess(t->work, t->profile, &t->space);
    lend(&t->space, &rule, &p);
    if (n > 0)
        lend(&t->space, &best[0].config, &p);
    fill(&t->space, &rng, &p);
    narrow(a, &p, &t->space);
    return KILN_OK;
}

/* ---- measuring ------------------------------------------------------------------- */

static kiln_status run(kiln_arena *a, const kiln_tune_work *w,
                       const kiln_corpus_options *o, const kiln_space *space,
                       int64_t trials, double seconds, int64_t *n_new, kiln_err *err) {
    kiln_tune_works one = {.list = {.n = 0}};
    kiln_tune_result r;
    kiln_tune_options t = {.profile = o->tune.profile,
                           .threads = o->tune.threads,
                           .db = o->tune.db,
                           .seed = o->tune.seed,
                           .trials = trials,
                           .seconds = seconds,
                           .no_transfer = true,
                           .part = space,
                           .search = space != NULL ? &kiln_search_grid
                                                   : &kiln_search_annealing,
                           .progress = o->tune.progress,
                           .user = o->tune.user,
                           .builder_argv = o->tune.builder_argv,
                           .runner_argv = o->tune.runner_argv};
    kiln_vec_push(a, &one.list, *w);
    const kiln_status st = kiln_tune_run(a, &one, &t, &r, err);
    if (st == KILN_OK)
        *n_new += r.n_new;
    return st;
}

static double left(const kiln_corpus_options *o, int64_t begin_ns, size_t works) {
    const double spent = (double)(kiln_now_ns() - begin_ns) * 1e-9;
    return o->seconds > 0 ? (o->seconds - spent) / (double)works : 0;
}

static kiln_status collect_work(kiln_arena *a, const kiln_tune_work *w,
                                const kiln_corpus_options *o, double seconds,
                                int64_t *n_new, kiln_err *err) {
    const int64_t begin_ns = kiln_now_ns();
    const kiln_db_task task =
        kiln_tune_task_of(a, &w->op, o->tune.profile, o->tune.threads, KILN_TUNE_CACHE);
    kiln_tune_task t;
    KILN_TRY(run(a, w, o, NULL, SEARCHED, seconds, n_new, err));
    KILN_TRY(kiln_tune_space(a, &w->op, o->tune.profile, NULL, &t, err));
    KILN_TRY(find_part(a, o->tune.db, &task, o, &t, err));
    const double spent = (double)(kiln_now_ns() - begin_ns) * 1e-9;
    if (kiln_interrupted() || (seconds > 0 && spent >= seconds))
        return KILN_OK;
    /* No limit but the part's: trials of other parts may be on record, too. */
    return run(a, w, o, &t.space, INT32_MAX, seconds > 0 ? seconds - spent : 0, n_new,
               err);
}

kiln_status kiln_corpus_forget(kiln_arena *a, const kiln_tune_works *works,
                               const kiln_corpus_options *o, kiln_err *err) {
    for (size_t i = 0; i < works->list.n; i++) {
        const kiln_db_task task = kiln_tune_task_of(
            a, &works->list.v[i].op, o->tune.profile, o->tune.threads, KILN_TUNE_CACHE);
        int64_t n_gone = 0;
        KILN_TRY(kiln_db_forget(o->tune.db, &task, &n_gone, err));
    }
    return KILN_OK;
}

kiln_status kiln_corpus_collect(kiln_arena *a, const kiln_tune_works *works,
                                const kiln_corpus_options *o, int64_t *n_new,
                                kiln_err *err) {
    const int64_t begin_ns = kiln_now_ns();
    *n_new = 0;
    for (size_t i = 0; i < works->list.n && !kiln_interrupted(); i++) {
        const double seconds = left(o, begin_ns, works->list.n - i);
        if (o->seconds > 0 && seconds <= 0)
            break;
        const kiln_status st =
            collect_work(a, &works->list.v[i], o, seconds, n_new, err);
        if (st != KILN_OK) {
            kiln_note(err, "collecting '%s'", works->list.v[i].op.name);
            return st;
        }
    }
    return KILN_OK;
}

/* ---- as text --------------------------------------------------------------------- */

/* All rounds of the part's configurations; one that failed in any round has failed. */
static kiln_status read_times(kiln_arena *a, kiln_db *db, const kiln_db_task *task,
                              const kiln_tune_task *t, double **out, size_t *n_known,
                              kiln_err *err) {
    kiln_db_trials all;
    int64_t id = 0;
    const size_t size = (size_t)t->space.size;
    double *sum = kiln_array(a, double, size);
    int *n = kiln_array(a, int, size);
    bool *is_slow = kiln_array(a, bool, size), *is_bad = kiln_array(a, bool, size);
    KILN_TRY(kiln_db_task_id(db, task, &id, err));
    KILN_TRY(kiln_db_trials_of(db, a, id, &all, err));
    for (size_t i = 0; i < all.list.n; i++) {
        const kiln_db_trial *x = &all.list.v[i];
        kiln_trial_error error = KILN_TRIAL_GOOD;
        kiln_config c;
        if (strcmp(x->candidate.tmpl, t->tmpl->name) != 0 ||
            !kiln_tune_config_read(a, t->tmpl, &t->space, x->candidate.config, &c) ||
            (x->error[0] != '\0' &&
             !kiln_trial_error_parse(kiln_str_from(x->error), &error)))
            continue;
        const uint64_t at = kiln_config_index(&t->space, &c);
        const kiln_outcome outcome = kiln_tune_outcome(error);
        is_slow[at] |= outcome == KILN_OUTCOME_SLOW;
        is_bad[at] |= outcome != KILN_OUTCOME_SLOW && outcome != KILN_OUTCOME_MEASURED;
        sum[at] += x->median_ns;
        n[at]++;
    }
    *n_known = 0;
    for (size_t i = 0; i < size; i++) {
        const bool is_known = n[i] > 0 && !is_bad[i] && sum[i] > 0;
        *n_known += is_known;
        sum[i] = is_known ? (is_slow[i] ? -1 : 1) * sum[i] / n[i] : 0;
    }
    *out = sum;
    return KILN_OK;
}

kiln_status kiln_corpus_put(kiln_buf *out, kiln_arena *a, const kiln_tune_works *works,
                            const kiln_corpus_options *o, kiln_err *err) {
    kiln_corpus_put_head(out);
    for (size_t i = 0; i < works->list.n; i++) {
        const kiln_tune_work *w = &works->list.v[i];
        const kiln_db_task task = kiln_tune_task_of(a, &w->op, o->tune.profile,
                                                    o->tune.threads, KILN_TUNE_CACHE);
        kiln_tune_task t;
        double *ns = NULL;
        size_t n_known = 0;
        KILN_TRY(kiln_tune_space(a, &w->op, o->tune.profile, NULL, &t, err));
        const kiln_config guess =
            t.tmpl->guess(&w->op.workload, o->tune.profile, &t.space);
        const char *rule = kiln_tune_config_text(a, t.tmpl, &t.space, &guess);
        KILN_TRY(find_part(a, o->tune.db, &task, o, &t, err));
        KILN_TRY(read_times(a, o->tune.db, &task, &t, &ns, &n_known, err));
        if (n_known > 0)
            kiln_corpus_put_work(out, a, w->op.name, &task, &t, rule, ns);
    }
    return KILN_OK;
}
