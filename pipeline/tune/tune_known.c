/* What is known of each configuration: the rounds of its measurement, on record or just
 * come in; and which is the best.
 *
 * A candidate counts by the mean of its rounds' medians, as in the database. One whose
 * only round was noisy is suspect: the best of many candidates is easily the one that
 * noise favoured most. It is measured again before it counts as the best. */
#include <math.h>
#include <string.h>

#include "pipeline/tune/run_internal.h"

/* ---- the best -------------------------------------------------------------------- */

static bool is_suspect(const kiln_tuned_rounds *k) {
    return k->is_noisy && k->n < 2 && !k->was_lost;
}

/* The fastest of those that may count; -1: none. */
static ptrdiff_t fastest(const kiln_tuned_work *t, bool takes_suspects) {
    ptrdiff_t best = -1;
    for (size_t i = 0; i < t->trial.n; i++)
        if (t->trial.v[i].outcome == KILN_OUTCOME_MEASURED &&
            (takes_suspects || !is_suspect(&t->rounds.v[i])) &&
            (best < 0 || t->trial.v[i].cost_ns < t->trial.v[best].cost_ns))
            best = (ptrdiff_t)i;
    return best;
}

/* Where all are suspect, better one of them than none. */
static void choose_best(kiln_tuning *r, kiln_tuned_work *t) {
    kiln_tune_row *row = &t->row;
    ptrdiff_t best = fastest(t, false);
    best = best >= 0 ? best : fastest(t, true);
    if (best < 0) {
        row->best_ns = row->best_share = 0;
        row->best = "";
        return;
    }
    const kiln_trial *x = &t->trial.v[best];
    const kiln_tuned_rounds *k = &t->rounds.v[best];
    if (row->best_ns <= 0 || x->index != t->best)
        row->best = kiln_tune_index_text(r->arena, &t->task, x->index);
    t->best = x->index;
    row->best_ns = x->cost_ns;
    row->best_share = k->peak_sum > 0 ? (double)t->work->op.cost.flops / x->cost_ns /
                                            (k->peak_sum / k->n)
                                      : 0;
}

/* Studies ask how soon a search comes near the best, so what is near it has more rounds
 * than one: on a machine with other load one program twice is a tenth apart. */
static ptrdiff_t near_best(const kiln_tuned_work *t, double best_ns) {
    enum { ROUNDS = 3 };
    static const double near = 1.1;
    for (size_t i = 0; i < t->trial.n; i++)
        if (t->trial.v[i].outcome == KILN_OUTCOME_MEASURED &&
            t->trial.v[i].cost_ns <= near * best_ns && t->rounds.v[i].n < ROUNDS &&
            !t->rounds.v[i].was_lost)
            return (ptrdiff_t)i;
    return -1;
}

bool kiln_tune_doubted(const kiln_tuning *r, const kiln_tuned_work *t,
                       uint64_t *index) {
    KILN_ASSERT(t->rounds.n == t->trial.n, "%zu trials have %zu medians", t->trial.n,
                t->rounds.n);
    ptrdiff_t at = fastest(t, true);
    if (at >= 0 && !is_suspect(&t->rounds.v[at]))
        at = r->o->part != NULL ? near_best(t, t->trial.v[at].cost_ns) : -1;
    if (at < 0)
        return false;
    *index = t->trial.v[at].index;
    return true;
}

/* What any trial took, or was stopped at; 0: none ran. */
static double least_ns(const kiln_tuned_work *t) {
    double least = 0;
    for (size_t i = 0; i < t->trial.n; i++) {
        const kiln_trial *x = &t->trial.v[i];
        const bool ran =
            x->outcome == KILN_OUTCOME_MEASURED || x->outcome == KILN_OUTCOME_SLOW;
        if (ran && (least <= 0 || x->cost_ns < least))
            least = x->cost_ns;
    }
    return least;
}

void kiln_tune_begun(kiln_tuning *r, const kiln_tuned_work *t) {
    KILN_ASSERT(t >= r->work && t < r->work + r->n, "a work of another run");
    if (r->scheduler != NULL)
        kiln_task_scheduler_saw(r->scheduler, (int)(t - r->work), least_ns(t),
                                t->n_pending + t->turn);
}

void kiln_tune_tell(kiln_tuning *r, kiln_tuned_work *t, int64_t n_trials,
                    double best_ns) {
    KILN_ASSERT(t >= r->work && t < r->work + r->n, "a work of another run");
    t->turn = 0;
    kiln_tune_begun(r, t);
    kiln_task_scheduler_report(r->scheduler, (int)(t - r->work), n_trials, best_ns,
                               t->is_exhausted);
}

/* ---- rounds ---------------------------------------------------------------------- */

static ptrdiff_t place_of(const kiln_tuned_work *t, uint64_t index) {
    for (size_t i = t->trial.n; i-- > 0;)
        if (t->trial.v[i].index == index)
            return (ptrdiff_t)i;
    return -1;
}

/* One that ever failed has failed. */
static void add_round(kiln_trial *all, kiln_tuned_rounds *k, const kiln_tune_round *x) {
    const bool is_good = x->trial.outcome == KILN_OUTCOME_MEASURED;
    k->n++;
    k->is_noisy = k->is_noisy && x->is_noisy;
    if (all->outcome != KILN_OUTCOME_MEASURED)
        return;
    if (!is_good) {
        *all = x->trial;
        return;
    }
    k->sum_ns += x->trial.cost_ns;
    k->peak_sum += x->peak_gflops;
    all->cost_ns = k->sum_ns / k->n;
}

kiln_status kiln_tune_take(kiln_tuning *r, kiln_tuned_work *t, const kiln_tune_round *x,
                           kiln_err *err) {
    KILN_ASSERT(t->trial.n == t->rounds.n, "%zu trials have rounds, of %zu",
                t->rounds.n, t->trial.n);
    ptrdiff_t at = place_of(t, x->trial.index);
    if (x->trial.outcome == KILN_OUTCOME_LOST) {
        if (at >= 0)
            t->rounds.v[at].was_lost = true; /* nobody asks for ever */
        return kiln_search_report(t->search, &x->trial, err);
    }
    if (at < 0) {
        at = (ptrdiff_t)t->trial.n;
        kiln_vec_push(r->arena, &t->trial, x->trial);
        kiln_vec_push(r->arena, &t->rounds,
                      ((kiln_tuned_rounds){.n = 1,
                                           .sum_ns = x->trial.cost_ns,
                                           .peak_sum = x->peak_gflops,
                                           .is_noisy = x->is_noisy}));
    } else {
        add_round(&t->trial.v[at], &t->rounds.v[at], x);
    }
    KILN_TRY(kiln_search_report(t->search, &t->trial.v[at], err));
    if (t->has_first && x->trial.index == t->first &&
        t->trial.v[at].outcome == KILN_OUTCOME_MEASURED)
        t->row.start_ns = t->trial.v[at].cost_ns;
    const double before_ns = t->row.best_ns;
    choose_best(r, t);
    kiln_tune_note_best(r, t, before_ns);
    return KILN_OK;
}

/* ---- from the database ----------------------------------------------------------- */

static bool as_round(kiln_tuning *r, const kiln_tuned_work *t, const kiln_db_trial *in,
                     kiln_tune_round *out) {
    kiln_config c;
    kiln_trial_error error = KILN_TRIAL_GOOD;
    if (strcmp(in->candidate.tmpl, t->task.tmpl->name) != 0 ||
        !kiln_tune_config_read(&r->scratch, t->task.tmpl, &t->task.space,
                               in->candidate.config, &c))
        return false;
    if (in->error[0] != '\0' &&
        !kiln_trial_error_parse(kiln_str_from(in->error), &error))
        return false;
    const kiln_tune_facts facts = kiln_tune_facts_read(&r->scratch, in->facts);
    *out = (kiln_tune_round){.trial = {kiln_config_index(&t->task.space, &c),
                                       kiln_tune_outcome(error), in->median_ns},
                             .peak_gflops = in->peak_gflops,
                             .is_noisy = facts.is_noisy,
                             .wanted = facts.wanted};
    if (kiln_db_is_implausible(in, kiln_tune_direct_flops(&t->work->op)))
        out->trial.outcome = KILN_OUTCOME_WRONG;
    return out->trial.outcome != KILN_OUTCOME_LOST;
}

/* A round that was taken before, as one's own or when the records were read last. */
static bool is_taken(const kiln_tuned_work *t, const kiln_db_trial *in,
                     uint64_t index) {
    const ptrdiff_t at = place_of(t, index);
    return at >= 0 && in->round < t->rounds.v[at].n;
}

/* Each trial of a work counts for one of its ways: that of its template, else the
 * lead; of other layouts than a rule's, what is in these. */
static bool is_counted(kiln_tuning *r, const kiln_tuned_work *t,
                       const kiln_db_trial *x) {
    const char *tmpl = x->candidate.tmpl;
    kiln_config c;
    if (t->work->like != NULL)
        return strcmp(tmpl, t->task.tmpl->name) == 0 &&
               kiln_tune_config_read(&r->scratch, t->task.tmpl, &t->task.space,
                                     x->candidate.config, &c);
    for (size_t i = 0; i < r->n; i++)
        if (r->work[i].lead == t->lead && strcmp(r->work[i].tmpl->name, tmpl) == 0)
            return &r->work[i] == t;
    return t->lead == t;
}

/* What another run, or tuner, had foreseen, and what came of it. */
static void learn_spills(kiln_tuning *r, const kiln_tuned_work *t,
                         const kiln_tune_round *x) {
    if (x->wanted.vectors >= 0 && x->trial.outcome != KILN_OUTCOME_NOBUILD)
        kiln_spill_log_add(r->spills, &t->task, x->wanted,
                           x->trial.outcome == KILN_OUTCOME_SPILLS);
}

kiln_status kiln_tune_load(kiln_tuning *r, kiln_tuned_work *t, kiln_err *err) {
    kiln_db_trials all;
    kiln_arena a;
    kiln_arena_init(&a);
    kiln_status st = kiln_db_trials_of(r->o->db, &a, t->id, &all, err);
    const int64_t n_ours = t->row.n_new; /* they are on record too */
    const int64_t n_before = t->row.n_known;
    t->row.n_known = 0;
    for (size_t i = 0; st == KILN_OK && i < all.list.n; i++) {
        const kiln_db_trial *x = &all.list.v[i];
        kiln_tune_round round;
        t->row.n_known += x->round == 0 && is_counted(r, t, x);
        r->peak_gflops = fmax(r->peak_gflops, x->peak_gflops);
        r->memory_gbs =
            fmax(r->memory_gbs, kiln_tune_facts_read(&r->scratch, x->facts).memory_gbs);
        if (!as_round(r, t, x, &round) || is_taken(t, x, round.trial.index))
            continue;
        r->n_unbelieved +=
            x->error[0] == '\0' && round.trial.outcome == KILN_OUTCOME_WRONG;
        learn_spills(r, t, &round);
        st = kiln_tune_take(r, t, &round, err);
    }
    t->row.n_known -= n_ours;
    t->n_rows = (int64_t)all.list.n;
    if (r->scheduler != NULL && t->row.n_known > n_before)
        t->turn += (int)(t->row.n_known - n_before); /* spent on it, by whomever */
    kiln_arena_fini(&a);
    return st;
}

kiln_status kiln_tune_hear(kiln_tuning *r, kiln_tuned_work *t, kiln_err *err) {
    int64_t n = 0;
    KILN_TRY(kiln_db_count(r->o->db, t->id, &n, err));
    return n != t->n_rows ? kiln_tune_load(r, t, err) : KILN_OK;
}

kiln_status kiln_tune_give_lethal(kiln_tuning *r, kiln_tuned_work *t, kiln_err *err) {
    kiln_db_trials all;
    KILN_TRY(kiln_db_trials_of(r->o->db, &r->scratch, t->id, &all, err));
    for (size_t i = 0; i < all.list.n; i++) {
        kiln_config c;
        kiln_trial_error e;
        if (all.list.v[i].error[0] == '\0' ||
            !kiln_trial_error_parse(kiln_str_from(all.list.v[i].error), &e) ||
            kiln_tune_outcome(e) != KILN_OUTCOME_LETHAL ||
            !kiln_tune_config_read(&r->scratch, t->task.tmpl, &t->whole,
                                   all.list.v[i].candidate.config, &c))
            continue;
        const kiln_lethal l = {t->lead->measured_as, t->task.tmpl->name,
                               kiln_config_index(&t->whole, &c), e};
        kiln_measure_add_lethal(r->pool, &l);
    }
    return KILN_OK;
}

void kiln_tune_replay(kiln_tuning *r, kiln_tuned_work *t) {
    double best = 0;
    int64_t n = 0;
    for (size_t i = 0; i < t->trial.n; i++) {
        const kiln_trial *x = &t->trial.v[i];
        if (x->outcome == KILN_OUTCOME_MEASURED && (best <= 0 || x->cost_ns < best))
            best = x->cost_ns;
        n++;
        if (n == KILN_TUNE_TURN || i + 1 == t->trial.n) {
            kiln_tune_tell(r, t, n, best);
            n = 0;
        }
    }
    t->turn = 0;
}
