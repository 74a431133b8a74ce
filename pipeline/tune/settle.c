/* The best few of every work, measured between the network's own steps: what is fastest
 * alone, with caches all to itself, is not always so there. Each network runs in a
 * process of its own (pipeline/remote), where the candidates ran. */
#include <math.h>
#include <string.h>

#include "pipeline/network/network.h"
#include "pipeline/remote/remote.h"
#include "pipeline/tune/tune_internal.h"
#include "compiler/reference/reference.h"
#include "base/numbers.h"

enum { N_RANKS = 3, ROUNDS = 15, LEAST_ROUNDS = 5, RUNS_AHEAD = 2 };

/* A work of the network: its time with the configuration of each rank. */
typedef struct settling {
    const kiln_op_work *op;
    int64_t id; /* the database's task, in the network */
    const char *tmpl[N_RANKS], *config[N_RANKS]; /* tmpl NULL: no such record */
    double sample_ns[N_RANKS][ROUNDS];           /* sum of its steps in a run */
    int steps;
    bool is_new; /* a candidate of it was never measured in the network */
} settling;

/* The network with the configurations of one rank. */
typedef struct variant {
    kiln_network network;
    kiln_remote *remote;
    int session;
    bool has_failed; /* it crashed, or hung: its times do not count */
    int *work_of;    /* by step: index of the work; -1: none that is tuned */
    double total_ns[ROUNDS];
} variant;

typedef struct settle {
    kiln_arena *arena;
    const kiln_graph *g;
    const kiln_tune_options *o;
    kiln_tune_works works;
    settling *work;
    kiln_numbers index_of; /* key -> index + 1 */
    variant v[N_RANKS];
    const kiln_tensor *in;
    int64_t begin_ns;
    int rounds;         /* that were measured */
    const char *runner; /* by whom, in records */
} settle;

static bool is_out_of_time(const settle *s) {
    return s->o->seconds > 0 &&
           (double)(kiln_now_ns() - s->begin_ns) * 1e-9 > s->o->seconds;
}

static bool is_over(const settle *s) { return kiln_interrupted() || is_out_of_time(s); }

/* ---- which ones ------------------------------------------------------------------ */

static kiln_status ask(settle *s, const kiln_oracle *oracle, int rank, size_t i,
                       kiln_err *err) {
    kiln_answers known = {.n = 0};
    KILN_ASSERT(rank >= 0 && rank < N_RANKS && i < s->works.list.n,
                "rank %d of work %zu", rank, i);
    settling *w = &s->work[i];
    KILN_TRY(oracle->ask(oracle->user, s->arena, w->op, s->o->profile, &known, err));
    if (known.n == 0)
        return KILN_OK;
    const kiln_answer a = known.v[0]; /* there is but one of a rank */
    if (a.origin != KILN_ORIGIN_TUNED && a.origin != KILN_ORIGIN_TIMED)
        return KILN_OK;
    const kiln_template *t = kiln_template_find(kiln_str_from(a.tmpl));
    kiln_space space;
    kiln_config c;
    kiln_space_init(&space, s->arena);
    KILN_TRY(t->space(&w->op->workload, s->o->profile, &space, err));
    KILN_TRY(kiln_config_parse(a.config, t, &space, &c, err));
    const char *text = kiln_tune_config_text(s->arena, t, &space, &c);
    for (int k = 0; k < rank; k++)
        if (w->tmpl[k] != NULL && strcmp(w->config[k], text) == 0)
            return KILN_OK; /* there are fewer than so many */
    w->tmpl[rank] = t->name;
    w->config[rank] = text;
    return KILN_OK;
}

/* *n: works of which some candidate was never measured in the network. */
static kiln_status look(settle *s, int *n, kiln_err *err) {
    for (int rank = 0; rank < N_RANKS; rank++) {
        kiln_tune_advice advice = {.db = s->o->db,
                                   .threads = s->o->threads,
                                   .rank = rank > 0 ? rank : -1,
                                   .arena = s->arena};
        const kiln_oracle oracle = kiln_tune_oracle(&advice);
        for (size_t i = 0; i < s->works.list.n; i++)
            KILN_TRY(ask(s, &oracle, rank, i, err));
    }
    for (size_t i = 0; i < s->works.list.n; i++) {
        kiln_db_trials known;
        bool is_new = false;
        const kiln_db_task task =
            kiln_tune_task_of(s->arena, s->work[i].op, s->o->profile, s->o->threads,
                              KILN_TUNE_CACHE_NETWORK);
        KILN_TRY(kiln_db_task_id(s->o->db, &task, &s->work[i].id, err));
        KILN_TRY(kiln_db_trials_of(s->o->db, s->arena, s->work[i].id, &known, err));
        for (int k = 0; k < N_RANKS; k++) {
            bool is_known = s->work[i].tmpl[k] == NULL;
            for (size_t j = 0; j < known.list.n; j++)
                is_known |=
                    strcmp(known.list.v[j].candidate.config,
                           s->work[i].tmpl[k] != NULL ? s->work[i].config[k] : "") == 0;
            is_new |= !is_known;
        }
        s->work[i].is_new = is_new;
        *n += is_new;
    }
    return KILN_OK;
}

/* ---- measuring ------------------------------------------------------------------- */

/* Compiling a network takes seconds: it ends between two kernels where time has. */
typedef struct hurried {
    const settle *s;
    kiln_oracle oracle;
} hurried;

static kiln_status ask_in_time(void *user, kiln_arena *scratch, const kiln_op_work *w,
                               const kiln_profile *p, kiln_answers *out,
                               kiln_err *err) {
    const hurried *h = user;
    if (is_over(h->s))
        return kiln_fail(err, KILN_ERR_IO, "no time is left");
    return h->oracle.ask(h->oracle.user, scratch, w, p, out, err);
}

static kiln_status compile_variant(settle *s, int rank, kiln_err *err) {
    variant *v = &s->v[rank];
    kiln_tune_advice advice = {.db = s->o->db,
                               .threads = s->o->threads,
                               .rank = rank > 0 ? rank : -1,
                               .arena = s->arena};
    hurried h = {s, kiln_tune_oracle(&advice)};
    const kiln_oracle oracle = {ask_in_time, &h};
    const kiln_choose_options choose = {.oracle = &oracle};
    const kiln_network_options o = {.choose = &choose,
                                    .chooser = &kiln_net_chooser_greedy};
    const kiln_profile *p = s->o->network != NULL ? s->o->network : s->o->profile;
    KILN_TRY(kiln_network_compile(s->arena, s->g, p, &o, &v->network, err));
    v->work_of = kiln_array(s->arena, int, v->network.step.n);
    for (size_t i = 0; i < v->network.step.n; i++) {
        const int kernel = v->network.step.v[i].kernel;
        const size_t at =
            kernel < 0
                ? 0
                : kiln_numbers_get(&s->index_of,
                                   kiln_str_from(v->network.kernel.v[kernel].workload));
        KILN_ASSERT(at <= s->works.list.n, "work %zu of %zu", at, s->works.list.n);
        v->work_of[i] = (int)at - 1;
    }
    return KILN_OK;
}

static kiln_status open_variant(settle *s, kiln_arena *a, kiln_far *far, int rank,
                                kiln_err *err) {
    variant *v = &s->v[rank];
    const kiln_remote_options o = {.apart = kiln_tune_apart(a, far)};
    const int threads = s->o->threads > 0 ? s->o->threads : 1;
    size_t bytes;
    KILN_TRY(kiln_remote_of_network(a, &v->network, s->in, s->g->inputs.n, &o,
                                    &v->remote, err));
    return kiln_remote_session(v->remote, threads, &v->session, &bytes, err);
}

static kiln_status run_once(settle *s, int rank, int round, kiln_err *err) {
    const kiln_remote_order once = {.runs = 1, .has_steps = true};
    kiln_remote_turn turn;
    variant *v = &s->v[rank];
    KILN_TRY(kiln_remote_take_turn(v->remote, v->session, &once, &turn, err));
    if (round < 0)
        return KILN_OK;
    KILN_ASSERT(round < ROUNDS, "round %d of %d", round, ROUNDS);
    for (size_t i = 0; i < v->network.step.n && i < turn.n_steps; i++) {
        const double ns = (double)turn.step_ns[i];
        v->total_ns[round] += ns;
        if (v->work_of[i] >= 0)
            s->work[v->work_of[i]].sample_ns[rank][round] += ns;
        if (v->work_of[i] >= 0 && rank == 0 && round == 0)
            s->work[v->work_of[i]].steps++;
    }
    return KILN_OK;
}

/* One that fails is out, and the rest goes on; but not without what builds would take
 * now. */
static kiln_status take_round(settle *s, const kiln_far *far, int round,
                              kiln_err *err) {
    for (int rank = 0; rank < N_RANKS; rank++) {
        variant *v = &s->v[rank];
        kiln_err why = {.len = 0};
        const kiln_status st = v->has_failed ? KILN_OK : run_once(s, rank, round, &why);
        if (st == KILN_OK)
            continue;
        if (rank == 0 || (far != NULL && kiln_far_is_lost(far))) {
            kiln_fail_text(err, st, "%s", why.text);
            kiln_note(err, "running the network that was tuned");
            return st;
        }
        KILN_LOG(WARN, "tuner", "the network with the records of rank %d failed: %s",
                 rank, why.text);
        v->has_failed = true;
    }
    return KILN_OK;
}

/* What another runner told does not count. */
static void begin_again(settle *s, const kiln_far *far) {
    s->rounds = 0;
    s->runner = far != NULL ? kiln_str_dup(s->arena, kiln_far_address(far)) : "local";
    for (int rank = 0; rank < N_RANKS; rank++) {
        s->v[rank].has_failed = false;
        memset(s->v[rank].total_ns, 0, sizeof s->v[rank].total_ns);
    }
    for (size_t i = 0; i < s->works.list.n; i++) {
        memset(s->work[i].sample_ns, 0, sizeof s->work[i].sample_ns);
        s->work[i].steps = 0;
    }
}

/* Where time ends early, a few rounds are enough; fewer are none: s->rounds is 0. */
static kiln_status measure_at(void *user, kiln_arena *a, kiln_far *far, kiln_err *err) {
    settle *s = user;
    begin_again(s, far);
    for (int rank = 0; rank < N_RANKS; rank++) {
        const kiln_status st = open_variant(s, a, far, rank, err);
        if (st != KILN_OK && is_over(s))
            return KILN_OK;
        KILN_TRY(st);
    }
    int done = 0;
    for (int round = -RUNS_AHEAD; round < ROUNDS && !is_over(s); round++) {
        kiln_progress_step("comparing in the network", "rounds", round + RUNS_AHEAD,
                           ROUNDS + RUNS_AHEAD, NULL);
        const kiln_status st = take_round(s, far, round, err);
        if (st != KILN_OK && is_over(s)) /* it was ended, too */
            break;
        KILN_TRY(st);
        done = round + 1;
    }
    s->rounds = done >= LEAST_ROUNDS ? done : 0;
    return KILN_OK;
}

/* All are compiled before a runner is lent: that takes longer than a lease may. */
static kiln_status measure(settle *s, kiln_err *err) {
    for (int rank = 0; rank < N_RANKS; rank++) {
        const kiln_status st = compile_variant(s, rank, err);
        if (st != KILN_OK && is_over(s))
            return KILN_OK;
        KILN_TRY(st);
    }
    return kiln_tune_there(s->o, measure_at, s, err);
}

/* ---- records --------------------------------------------------------------------- */

/* The proof is that of the trial alone: the same code. */
static const char *proof_of(settle *s, const settling *w, int rank, kiln_err *err) {
    kiln_db_trials all;
    int64_t id = 0;
    const kiln_db_task task = kiln_tune_task_of(s->arena, w->op, s->o->profile,
                                                s->o->threads, KILN_TUNE_CACHE);
    if (kiln_db_task_id(s->o->db, &task, &id, err) != KILN_OK ||
        kiln_db_trials_of(s->o->db, s->arena, id, &all, err) != KILN_OK)
        return NULL;
    for (size_t i = 0; i < all.list.n; i++)
        if (all.list.v[i].error[0] == '\0' &&
            strcmp(all.list.v[i].candidate.config, w->config[rank]) == 0)
            return all.list.v[i].proof;
    return NULL;
}

static kiln_status record(settle *s, settling *w, int rank, kiln_err *err) {
    double ns[ROUNDS];
    const char *proof = proof_of(s, w, rank, err);
    if (proof == NULL)
        return kiln_fail(err, KILN_ERR_LIB, "the record of '%s' has gone", w->op->name);
    KILN_ASSERT(w->steps > 0 && s->rounds <= ROUNDS, "'%s' took no step in %d rounds",
                w->op->name, s->rounds);
    for (int i = 0; i < s->rounds; i++)
        ns[i] = fmax(w->sample_ns[rank][i] / w->steps, 1);
    const kiln_db_trial t = {.candidate = {w->tmpl[rank], w->config[rank]},
                             .sample_ns = ns,
                             .n_samples = (size_t)s->rounds,
                             .proof = proof,
                             .owner = kiln_tune_owner(s->arena),
                             .kiln = KILN_VERSION,
                             .time_ms = kiln_db_now_ms(),
                             .is_repeat = true,
                             .runner = s->runner};
    return kiln_db_record(s->o->db, w->id, &t, NULL, err);
}

static double median(const double *v, int n) {
    double x[ROUNDS];
    KILN_ASSERT(n >= LEAST_ROUNDS && n <= ROUNDS, "a median of %d rounds", n);
    memcpy(x, v, sizeof x);
    return kiln_median(x, (size_t)n);
}

/* Works that were settled before keep their records: they count as chosen then. */
static kiln_status conclude(settle *s, kiln_tune_settled *out, kiln_err *err) {
    const int n = s->rounds;
    out->alone_ns = out->chosen_ns = median(s->v[0].total_ns, n);
    for (size_t i = 0; i < s->works.list.n; i++) {
        settling *w = &s->work[i];
        const double alone = median(w->sample_ns[0], n);
        double best = alone;
        for (int rank = 0; rank < N_RANKS && w->is_new && w->steps > 0; rank++)
            if (w->tmpl[rank] != NULL && !s->v[rank].has_failed) {
                best = fmin(best, median(w->sample_ns[rank], n));
                KILN_TRY(record(s, w, rank, err));
            }
        out->n_changed += best < alone;
        out->chosen_ns -= alone - best;
    }
    return KILN_OK;
}

static kiln_status settle_all(settle *s, kiln_tune_settled *out, kiln_err *err) {
    const kiln_status listed =
        kiln_tune_works_of_graph(s->arena, s->g, s->o->profile, &s->works, err);
    if (listed != KILN_OK && kiln_interrupted()) {
        out->is_cut = true;
        return KILN_OK;
    }
    KILN_TRY(listed);
    s->work = kiln_array(s->arena, settling, s->works.list.n);
    for (size_t i = 0; i < s->works.list.n; i++) {
        s->work[i].op = &s->works.list.v[i].op;
        kiln_numbers_set(s->arena, &s->index_of, s->work[i].op->key, i + 1);
    }
    KILN_TRY(look(s, &out->n_works, err));
    if (out->n_works == 0)
        return KILN_OK;
    kiln_tensor *in = kiln_array(s->arena, kiln_tensor, s->g->inputs.n);
    for (size_t i = 0; i < s->g->inputs.n; i++)
        in[i] = kiln_ref_random(s->arena, &s->g->inputs.v[i]->type, i + 1);
    s->in = in;
    kiln_status st = measure(s, err);
    out->is_cut = s->rounds == 0;
    if (st == KILN_OK && !out->is_cut)
        st = conclude(s, out, err);
    return st;
}

kiln_status kiln_tune_settle(const kiln_graph *g, const kiln_tune_options *o,
                             kiln_tune_settled *out, kiln_err *err) {
    kiln_arena arena;
    kiln_tune_settled found = {0};
    settle s = {.arena = &arena, .g = g, .o = o, .begin_ns = kiln_now_ns()};
    kiln_arena_init(&arena);
    const kiln_status st = settle_all(&s, &found, err);
    kiln_arena_fini(&arena);
    if (st == KILN_OK)
        *out = found;
    return st;
}
