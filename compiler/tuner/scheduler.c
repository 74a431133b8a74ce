/* Which task gets the next trials (Zheng et al., Ansor, OSDI'20, section 6.2).
 *
 * What a trial of task i is expected to save, of the latency sum w_i g_i:
 *
 *     w_i * max(slope of its last trials, (g_i - floor_i) / trials_i)
 *
 * The first term is what it did lately; the second is optimistic of young tasks: as
 * much again in twice the trials, down to what the machine allows. Both fall as trials
 * bring nothing, so every task gets its share and none is fed for ever.
 *
 * What is expected of one turn says who is next, never who is given up: a search comes
 * down in steps with long flats between, and a step cannot be told from a flat. A task
 * is given up where little is left to gain (its best is near the floor, or even the
 * floor would save next to nothing of the whole), or where a flat became as long as all
 * the way to its best: the optimism above has then been refuted.
 *
 * Ways to do one work are arms of a bandit (UCB1: Auer, Cesa-Bianchi, Fischer, Machine
 * Learning 47, 2002), turned around, as the least cost counts. In logarithms: a way that
 * had n of its work's N trials may come to
 *
 *     best * exp(-spread * sqrt(2 ln(N + 1) / n)), and no lower than its floor.
 *
 * Of the work's turn the way with the lowest bound is next. One whose bound is not below
 * the work's best has lost, until N has grown enough for another look. */
#include "compiler/tuner/tuner.h"

#include <math.h>

/* Of what lies between a task's best and its floor, the part that is hoped for in as
 * many trials again: most kernels stay above what the roofline allows. */
static const double hope = 0.5;
/* Without a floor: so much below the best may still be reached. */
static const double unknown_floor = 0.5;
/* Trials after which half of the slope is of later ones: a lucky one does not decide
 * for long. */
static const double slope_trials = 16;
/* At the floor, but for this part: what is left is not worth a search. */
static const double near_floor = 0.05;
/* A best that falls by less than this, in all since it last counted, is what noise
 * and the luck of many draws do. */
static const double least_step = 0.005;

/* Trials that a way of several gets while none of them works. */
enum { LEAST_OF_WAY = 12 };
/* What a search of a template takes off its first trials, as a logarithm: its rule is
 * a quarter slower than its best at the worst, most of the time. */
static const double spread = 0.2;

typedef struct task {
    kiln_task_weight is;
    int64_t trials;
    double best_ns;  /* <= 0: none */
    double least_ns; /* that any trial took, or was stopped at; <= 0: not known */
    int64_t coming;  /* trials that were begun, and not reported yet */
    double slope_ns; /* saved by one trial, of one call, lately */
    double step_ns;  /* the best when it last fell by a step, */
    int64_t step_at; /* and how many trials there were then */
    bool is_exhausted;
} task;

struct kiln_task_scheduler {
    task *task;
    int n;
    kiln_task_scheduler_options options;
    int64_t trials, begin_ns;
    bool has_begun;
    kiln_task_end end;
};

kiln_task_scheduler *kiln_task_scheduler_new(kiln_arena *a, const kiln_task_weight *t,
                                             int n,
                                             const kiln_task_scheduler_options *o) {
    kiln_task_scheduler *s = kiln_new(a, kiln_task_scheduler);
    s->task = kiln_array(a, task, n);
    s->n = n;
    if (o != NULL)
        s->options = *o;
    s->options.batch = s->options.batch > 0 ? s->options.batch : 32;
    s->options.min_gain = s->options.min_gain > 0 ? s->options.min_gain : 1e-3;
    s->options.patience_trials =
        s->options.patience_trials > 0 ? s->options.patience_trials : 64;
    for (int i = 0; i < n; i++)
        s->task[i] = (task){.is = t[i]};
    return s;
}

const char *kiln_task_end_name(kiln_task_end e) {
    KILN_ASSERT((int)e >= 0 && e <= KILN_TASKS_EXHAUSTED, "no end %d of tasks", (int)e);
    static const char *const name[] = {"running", "trials spent", "time is over",
                                       "no gain expected", "spaces exhausted"};
    return name[e];
}

static double now_ns(const task *t) {
    if (t->best_ns > 0)
        return t->best_ns;
    return t->is.start_ns > 0 ? t->is.start_ns : 0;
}

static bool is_same_work(const task *x, const task *y) {
    return x == y || (x->is.work > 0 && x->is.work == y->is.work);
}

/* The best of all ways to do the task's work; 0: none has one. */
static double work_best_ns(const kiln_task_scheduler *s, const task *t) {
    double best = 0;
    for (int i = 0; i < s->n; i++) {
        const task *x = &s->task[i];
        if (is_same_work(x, t) && x->best_ns > 0 && (best <= 0 || x->best_ns < best))
            best = x->best_ns;
    }
    return best;
}

/* Without any, what it costs untuned. */
static double work_ns(const kiln_task_scheduler *s, const task *t) {
    const double best = work_best_ns(s, t);
    double start = 0;
    for (int i = 0; i < s->n && start <= 0; i++)
        start = is_same_work(&s->task[i], t) ? now_ns(&s->task[i]) : 0;
    return best > 0 ? best : start;
}

double kiln_task_scheduler_latency_ns(const kiln_task_scheduler *s) {
    double sum = 0;
    for (int i = 0; i < s->n; i++) {
        bool is_first = true;
        for (int k = 0; k < i; k++)
            is_first = is_first && !is_same_work(&s->task[k], &s->task[i]);
        sum += is_first ? s->task[i].is.weight * work_ns(s, &s->task[i]) : 0;
    }
    return sum;
}

/* How much slower than the best way it is. */
static double behind_ns(const kiln_task_scheduler *s, const task *t) {
    return t->is.work > 0 ? fmax(0, now_ns(t) - work_ns(s, t)) : 0;
}

/* What a call could save at most. */
static double left_ns(const task *t) {
    const double best = now_ns(t);
    const double floor_ns = t->is.floor_ns > 0 ? t->is.floor_ns : unknown_floor * best;
    return fmax(0, best - floor_ns);
}

/* What a way may still come to. */
static double bound_ns(const kiln_task_scheduler *s, const task *t) {
    const double seen = t->best_ns > 0 ? t->best_ns : t->least_ns;
    const double n = fmax(1, (double)(t->trials + t->coming));
    double all = 0;
    if (seen <= 0)
        return n < LEAST_OF_WAY ? fmax(0, t->is.floor_ns) : HUGE_VAL;
    for (int i = 0; i < s->n; i++)
        if (is_same_work(&s->task[i], t))
            all += (double)(s->task[i].trials + s->task[i].coming);
    return fmax(t->is.floor_ns, seen * exp(-spread * sqrt(2 * log(all + 1) / n)));
}

/* A way that is not expected to overtake. */
static bool has_lost(const kiln_task_scheduler *s, const task *t) {
    const double best = t->is.work > 0 ? work_best_ns(s, t) : 0;
    return best > 0 && (t->best_ns <= 0 || t->best_ns > best) && bound_ns(s, t) >= best;
}

static int64_t flat_trials(const task *t) { return t->trials - t->step_at; }

/* By how much it is hoped to fall in as many trials again. */
static double hoped_ns(const kiln_task_scheduler *s, const task *t) {
    const double flat = (double)flat_trials(t) / (double)s->options.patience_trials;
    return hope * left_ns(t) * exp2(-flat);
}

static double gain_of(const kiln_task_scheduler *s, const task *t) {
    const double trials = (double)(t->trials > 0 ? t->trials : 1);
    const double behind = behind_ns(s, t);
    const double hoped = fmax(0, hoped_ns(s, t) - behind) / trials;
    const double slope = fmax(0, t->slope_ns - behind / trials);
    return t->is.weight * fmin(fmax(slope, hoped), left_ns(t));
}

double kiln_task_scheduler_gain(const kiln_task_scheduler *s, int i) {
    KILN_ASSERT(i >= 0 && i < s->n, "task %d of %d", i, s->n);
    return gain_of(s, &s->task[i]);
}

/* Nothing more is to be expected of it. At the floor that is plain from the first
 * trial; the rest takes patience. A way that has lost its work to another is given up
 * even where no work is: the work goes on by the other. */
static bool is_given_up(const kiln_task_scheduler *s, const task *t) {
    const int64_t patience = s->options.patience_trials;
    const double left = left_ns(t), of_work = work_best_ns(s, t);
    if (has_lost(s, t))
        return true;
    if (s->options.never_gives_up)
        return false;
    if (of_work > 0 && t->is.floor_ns > 0 &&
        of_work - t->is.floor_ns <= near_floor * t->is.floor_ns)
        return true;
    const double least = s->options.min_gain * kiln_task_scheduler_latency_ns(s);
    return t->trials >= patience &&
           (t->is.weight * left < least ||
            flat_trials(t) >= (patience > t->step_at ? patience : t->step_at));
}

static bool is_open(const task *t) { return t->is.weight > 0 && !t->is_exhausted; }

/* Tasks never tried, the heaviest first; and those that no trial worked for and whose
 * cost nobody knows: what they weigh cannot be told, so they get what patience allows.
 */
static int untried(const kiln_task_scheduler *s) {
    int best = -1;
    for (int i = 0; i < s->n; i++) {
        const task *t = &s->task[i];
        const bool is_known = t->is.work > 0 && work_ns(s, t) > 0; /* another way is */
        const bool is_unknown =
            now_ns(t) <= 0 &&
            t->trials < (is_known ? LEAST_OF_WAY : s->options.patience_trials);
        if (!is_open(t) || (t->trials > 0 && !is_unknown) || is_given_up(s, t))
            continue;
        if (best < 0 ||
            t->is.weight * now_ns(t) > s->task[best].is.weight * now_ns(&s->task[best]))
            best = i;
    }
    return best;
}

/* Of those that are not given up, where a trial is expected to save most; *any_open:
 * some space has not been searched whole. */
static int most_gain(const kiln_task_scheduler *s, bool *any_open) {
    int best = -1;
    *any_open = false;
    for (int i = 0; i < s->n; i++) {
        if (!is_open(&s->task[i]))
            continue;
        *any_open = true;
        const double more =
            best < 0 ? 1 : gain_of(s, &s->task[i]) - gain_of(s, &s->task[best]);
        /* Where nothing is expected of any, they take turns. */
        if (!is_given_up(s, &s->task[i]) &&
            (more > 0 || (more >= 0 && s->task[i].trials < s->task[best].trials)))
            best = i;
    }
    return best;
}

/* Of the ways to do the task's work, the one whose bound is lowest. */
static int lowest_bound(const kiln_task_scheduler *s, int of) {
    int best = of;
    for (int i = 0; i < s->n; i++) {
        const task *t = &s->task[i];
        if (is_same_work(t, &s->task[of]) && is_open(t) && !is_given_up(s, t) &&
            bound_ns(s, t) < bound_ns(s, &s->task[best]))
            best = i;
    }
    return best;
}

static int stop(kiln_task_scheduler *s, kiln_task_end why) {
    s->end = why;
    return -1;
}

int kiln_task_scheduler_next(kiln_task_scheduler *s, int64_t time_ns, int *n_trials) {
    const kiln_task_scheduler_options *o = &s->options;
    if (!s->has_begun) {
        s->has_begun = true;
        s->begin_ns = time_ns;
    }
    if (o->time_ns > 0 && time_ns - s->begin_ns >= o->time_ns)
        return stop(s, KILN_TASKS_TIME);
    if (o->max_trials > 0 && s->trials >= o->max_trials)
        return stop(s, KILN_TASKS_TRIALS);
    int next = untried(s);
    if (next < 0) {
        bool any_open;
        next = most_gain(s, &any_open);
        if (next < 0)
            return stop(s, any_open ? KILN_TASKS_NO_GAIN : KILN_TASKS_EXHAUSTED);
        next = lowest_bound(s, next);
    }
    const int64_t left = o->max_trials > 0 ? o->max_trials - s->trials : o->batch;
    *n_trials = left < o->batch ? (int)left : o->batch;
    s->end = KILN_TASKS_RUNNING;
    KILN_ASSERT(next<s->n && * n_trials> 0, "task %d of %d gets %d trials", next, s->n,
                *n_trials);
    return next;
}

void kiln_task_scheduler_saw(kiln_task_scheduler *s, int i, double least_ns,
                             int64_t coming) {
    KILN_ASSERT(i >= 0 && i < s->n && coming >= 0, "%lld trials of task %d of %d",
                (long long)coming, i, s->n);
    s->task[i].least_ns = least_ns;
    s->task[i].coming = coming;
}

void kiln_task_scheduler_report(kiln_task_scheduler *s, int i, int64_t n_trials,
                                double best_ns, bool is_exhausted) {
    KILN_ASSERT(i >= 0 && i < s->n && n_trials >= 0, "%lld trials of task %d of %d",
                (long long)n_trials, i, s->n);
    task *t = &s->task[i];
    const double before = now_ns(t);
    t->trials += n_trials;
    if (s->has_begun)
        s->trials += n_trials; /* what a database knew ahead was not spent now */
    t->is_exhausted = is_exhausted;
    if (best_ns > 0)
        t->best_ns = best_ns;
    if (n_trials <= 0)
        return;
    const double saved = before > 0 && best_ns > 0 ? fmax(0, before - best_ns) : 0;
    const double old = exp2(-(double)n_trials / slope_trials);
    t->slope_ns = old * t->slope_ns + (1 - old) * saved / (double)n_trials;
    if (t->best_ns > 0 &&
        (t->step_ns <= 0 || t->best_ns < t->step_ns * (1 - least_step))) {
        t->step_ns = t->best_ns;
        t->step_at = t->trials;
    }
}

kiln_task_end kiln_task_scheduler_end(const kiln_task_scheduler *s) { return s->end; }

/* ---- extrapolated ---------------------------------------------------------------- */

/* Where most is hoped for, by a trial; -1: nowhere anything. */
static int most_hoped(const kiln_task_scheduler *s) {
    int best = -1;
    double most = 0;
    for (int i = 0; i < s->n; i++) {
        const task *t = &s->task[i];
        const double gain = is_open(t) && t->best_ns > 0 ? gain_of(s, t) : 0;
        if (gain > most && !is_given_up(s, t)) {
            most = gain;
            best = i;
        }
    }
    return best;
}

double kiln_task_scheduler_expected_ns(const kiln_task_scheduler *s, int64_t trials) {
    kiln_arena a = {0};
    kiln_task_scheduler then = *s;
    then.task = kiln_arena_dup(&a, s->task, (size_t)s->n * sizeof *s->task);
    then.options.never_gives_up = false; /* what is expected is asked */
    for (int i; trials > 0 && (i = most_hoped(&then)) >= 0;) {
        task *t = &then.task[i];
        const int64_t n = trials < then.options.batch ? trials : then.options.batch;
        const double saved = gain_of(&then, t) / t->is.weight * (double)n;
        t->best_ns -= fmin(saved, left_ns(t));
        t->slope_ns *= exp2(-(double)n / slope_trials);
        t->trials += n;
        trials -= n;
    }
    const double out = kiln_task_scheduler_latency_ns(&then);
    kiln_arena_fini(&a);
    return out;
}
