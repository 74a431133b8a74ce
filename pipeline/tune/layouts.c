/* Other layouts than the templates' rules have: what a search over the network wishes
 * for is measured, round by round, until it wishes for nothing; and what it chooses then
 * runs beside the greedy network. */
#include <math.h>
#include <string.h>

#include "compiler/network/network_pack.h"
#include "compiler/network/wishes.h"
#include "compiler/reference/reference.h"
#include "pipeline/remote/remote.h"
#include "pipeline/tune/tune_internal.h"

enum {
    MAX_ROUNDS = 16,
    EACH = 16,        /* trials of a kernel in a round; of a conversion there is one */
    LEAST_TRIALS = 8, /* of a call, however few the works have */
    TURNS = 15,       /* of both networks */
    TURNS_AHEAD = 2
};

typedef struct trying {
    kiln_arena *arena;
    const kiln_graph *g;
    const kiln_tune_works *works;
    const kiln_tune_options *o;
    kiln_tune_layouts *out;
    int64_t begin_ns, left; /* trials */
    kiln_map seen;          /* works and configurations that were wished for */
} trying;

static double seconds_left(const trying *t) {
    return t->o->seconds > 0
               ? t->o->seconds - (double)(kiln_now_ns() - t->begin_ns) * 1e-9
               : HUGE_VAL;
}

static bool is_over(const trying *t) {
    return kiln_interrupted() || seconds_left(t) <= 0;
}

/* As a build would be advised. */
static kiln_tune_advice advice_of(const trying *t, kiln_arena *a) {
    return (kiln_tune_advice){
        .db = t->o->db, .ready = t->o->ready, .threads = t->o->threads, .arena = a};
}

/* ---- works ----------------------------------------------------------------------- */

static const kiln_tune_work *tuned(const trying *t, const char *workload) {
    for (size_t i = 0; i < t->works->list.n; i++)
        if (kiln_str_is(t->works->list.v[i].op.key, workload))
            return &t->works->list.v[i];
    return NULL;
}

/* false: it is no work that is tuned here. */
static kiln_status work_of(trying *t, const kiln_net_wish *w, kiln_tune_work *out,
                           bool *is_there, kiln_err *err) {
    const kiln_tune_work *known = tuned(t, w->workload);
    kiln_err unreadable = {.status = KILN_OK};
    kiln_graph *g = NULL;
    *out = (kiln_tune_work){.calls = w->calls,
                            .tmpl = kiln_template_find(kiln_str_from(w->tmpl)),
                            .like = kiln_str_dup(t->arena, w->config)};
    *is_there = true;
    if (known != NULL) {
        out->op = known->op;
        return KILN_OK;
    }
    if (!w->is_conversion) { /* a pool; that it can be read back is no promise */
        const char *key = kiln_str_dup(t->arena, w->workload);
        *is_there = kiln_workload_read(t->arena, kiln_str_from(key), &g, &unreadable) ==
                    KILN_OK;
        return *is_there ? kiln_op_work_of(t->arena, g->name, g, &out->op, err)
                         : KILN_OK;
    }
    KILN_TRY(kiln_pack_graph(t->arena, &w->type, NULL, &w->type.layout, &g, err));
    return kiln_op_work_of(
        t->arena,
        kiln_format(t->arena, "convert %s", kiln_type_text(t->arena, &w->type)), g,
        &out->op, err);
}

/* What there is to measure now, and at most how many trials that is. */
static kiln_status works_of(trying *t, const kiln_net_wishes *wishes,
                            kiln_tune_works *out, int64_t *most, kiln_err *err) {
    const int64_t each = t->o->trials > 0 && t->o->trials < EACH ? t->o->trials : EACH;
    for (size_t i = 0; i < wishes->list.n; i++) {
        const kiln_net_wish *w = &wishes->list.v[i];
        kiln_tune_work work;
        bool is_there = false;
        const char *name = kiln_format(t->arena, "%s|%s", w->workload, w->config);
        KILN_TRY(work_of(t, w, &work, &is_there, err));
        if (!is_there || kiln_map_has(&t->seen, kiln_str_from(name)))
            continue; /* it failed, or noise favoured it: it stays an estimate */
        kiln_map_set(t->arena, &t->seen, kiln_str_from(name), t);
        kiln_vec_push(t->arena, &out->list, work);
        *most += w->is_conversion ? 1 : each;
        t->out->n_conversions += w->is_conversion;
        t->out->n_kernels += !w->is_conversion;
    }
    return KILN_OK;
}

/* ---- rounds ---------------------------------------------------------------------- */

/* One that fails leaves estimates as they are. */
static kiln_status measure(trying *t, const kiln_tune_works *works, int64_t most,
                           kiln_err *err) {
    kiln_tune_options o = *t->o;
    kiln_tune_result r = {.n_new = 0};
    o.tmpl = NULL;
    o.part = NULL;
    o.no_early_end = false; /* what is not wished for is not searched */
    o.more = most < t->left ? most : t->left;
    o.seconds = t->o->seconds > 0 ? fmax(1e-3, seconds_left(t)) : 0;
    const kiln_status st = kiln_tune_run(t->arena, works, &o, &r, err);
    if (st == KILN_ERR_LIB) {
        KILN_LOG(WARN, "tuner", "in other layouts: %s", err->text);
        kiln_err_clear(err);
        t->left = 0;
        return KILN_OK;
    }
    t->left -= r.n_new;
    t->out->n_trials += r.n_new;
    return st;
}

static kiln_status take_round(trying *t, bool *goes_on, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_tune_advice advice = advice_of(t, &scratch);
    const kiln_oracle oracle = kiln_tune_oracle(&advice);
    const kiln_choose_options choose = {.oracle = &oracle};
    kiln_net_wishes wishes;
    kiln_tune_works works = {.list = {.n = 0}};
    int64_t most = 0;
    kiln_status st =
        kiln_network_wishes(&scratch, t->g, t->o->profile, &choose, &wishes, err);
    if (st == KILN_OK)
        st = works_of(t, &wishes, &works, &most, err);
    *goes_on = st == KILN_OK && works.list.n > 0 && t->left > 0 && !is_over(t);
    if (st == KILN_OK) {
        t->out->greedy_ns = wishes.greedy_ns;
        t->out->search_ns = fmin(wishes.greedy_ns, wishes.search_ns);
    }
    kiln_arena_fini(&scratch);
    if (!*goes_on)
        return st;
    t->out->n_rounds++;
    return measure(t, &works, most, err);
}

/* A quarter of what the works have together, less what is on record above that. */
static kiln_status count_trials(trying *t, kiln_err *err) {
    const size_t n = t->works->list.n;
    int64_t *task = kiln_array(t->arena, int64_t, n), spent = 0;
    for (size_t i = 0; i < n; i++) {
        const kiln_db_task key =
            kiln_tune_task_of(t->arena, &t->works->list.v[i].op, t->o->profile,
                              t->o->threads, KILN_TUNE_CACHE);
        KILN_TRY(kiln_db_task_id(t->o->db, &key, &task[i], err));
    }
    const kiln_db_budget all = {task, n, 0};
    const int64_t of_works = t->o->trials * (int64_t)n;
    const int64_t share = of_works / 4 > LEAST_TRIALS ? of_works / 4 : LEAST_TRIALS;
    if (t->o->trials <= 0) {
        t->left = INT32_MAX;
        return KILN_OK;
    }
    KILN_TRY(kiln_db_spent(t->o->db, &all, &spent, err));
    t->left = spent > of_works ? share - (spent - of_works) : share;
    return KILN_OK;
}

/* ---- both networks --------------------------------------------------------------- */

typedef struct runner {
    kiln_network network;
    kiln_remote *remote;
    int session;
    double ns[TURNS];
} runner;

static kiln_status compile(trying *t, const kiln_net_chooser *chooser, runner *r,
                           kiln_err *err) {
    kiln_tune_advice advice = advice_of(t, t->arena);
    const kiln_oracle oracle = kiln_tune_oracle(&advice);
    const kiln_choose_options choose = {.oracle = &oracle};
    const kiln_network_options o = {.choose = &choose, .chooser = chooser};
    KILN_TRY(kiln_network_compile(t->arena, t->g, t->o->profile, &o, &r->network, err));
    const kiln_net_forecast *f = r->network.net->forecast;
    if (f != NULL) {
        t->out->greedy_ns = f->greedy_ns;
        t->out->search_ns = f->chosen_ns;
        t->out->n_changed = f->n_changed;
    }
    return KILN_OK;
}

static kiln_status open_runner(trying *t, kiln_arena *a, kiln_far *far, runner *r,
                               kiln_err *err) {
    const kiln_remote_options o = {.apart = kiln_tune_apart(a, far)};
    size_t bytes = 0;
    kiln_tensor *in = kiln_array(a, kiln_tensor, t->g->inputs.n);
    for (size_t i = 0; i < t->g->inputs.n; i++)
        in[i] = kiln_ref_random(a, &t->g->inputs.v[i]->type, i + 1);
    KILN_TRY(kiln_remote_of_network(a, &r->network, in, t->g->inputs.n, &o, &r->remote,
                                    err));
    return kiln_remote_session(r->remote, t->o->threads > 0 ? t->o->threads : 1,
                               &r->session, &bytes, err);
}

static kiln_status run_once(runner *r, int turn, kiln_err *err) {
    const kiln_remote_order once = {.runs = 1};
    kiln_remote_turn x;
    KILN_TRY(kiln_remote_take_turn(r->remote, r->session, &once, &x, err));
    if (turn >= 0)
        r->ns[turn] = x.ms * 1e6;
    return KILN_OK;
}

typedef struct pair {
    trying *t;
    runner searched, greedy;
} pair;

static kiln_status run_there(void *user, kiln_arena *a, kiln_far *far, kiln_err *err) {
    pair *p = user;
    trying *t = p->t;
    KILN_TRY(open_runner(t, a, far, &p->searched, err));
    KILN_TRY(open_runner(t, a, far, &p->greedy, err));
    for (int turn = -TURNS_AHEAD; turn < TURNS; turn++) {
        if (is_over(t))
            return KILN_OK;
        KILN_TRY(run_once(turn % 2 == 0 ? &p->searched : &p->greedy, turn, err));
        KILN_TRY(run_once(turn % 2 == 0 ? &p->greedy : &p->searched, turn, err));
    }
    t->out->ran_greedy_ns = kiln_median(p->greedy.ns, TURNS);
    t->out->ran_search_ns = kiln_median(p->searched.ns, TURNS);
    return KILN_OK;
}

/* What the search takes first: where it is greedy's, there is nothing to run. */
static kiln_status run_both(trying *t, kiln_err *err) {
    pair p = {.t = t};
    KILN_TRY(compile(t, &kiln_net_chooser_search, &p.searched, err));
    if (t->out->n_changed == 0 || is_over(t))
        return KILN_OK;
    KILN_TRY(compile(t, &kiln_net_chooser_greedy, &p.greedy, err));
    return kiln_tune_there(t->o, run_there, &p, err);
}

/* ---- all ------------------------------------------------------------------------- */

kiln_status kiln_tune_try_layouts(kiln_arena *a, const kiln_graph *g,
                                  const kiln_tune_works *works,
                                  const kiln_tune_options *o, kiln_tune_layouts *out,
                                  kiln_err *err) {
    bool goes_on = true;
    *out = (kiln_tune_layouts){.n_rounds = 0};
    trying t = {.arena = a,
                .g = g,
                .works = works,
                .o = o,
                .out = out,
                .begin_ns = kiln_now_ns()};
    KILN_TRY(count_trials(&t, err));
    while (goes_on && out->n_rounds < MAX_ROUNDS && !is_over(&t))
        KILN_TRY(take_round(&t, &goes_on, err));
    if (is_over(&t) || out->search_ns >= out->greedy_ns)
        return KILN_OK;
    return run_both(&t, err);
}
