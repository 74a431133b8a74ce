/* The gate: of each candidate its validity, its structure, and where that differs the
 * pairs; of many, which failures stand. */
#include "pipeline/gate/gate_internal.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "tuning_db/tuning_db.h"

static const double default_seconds = 0.1;
static const double moved_from = 0.01;  /* slowdown, either way */
static const double false_share = 0.05; /* Benjamini and Hochberg */
enum {
    GEOMEAN_ROUNDS = 2000,
    GEOMEAN_SEED = 1,
    FROZEN_PAIRS = 16, /* some 0.2 to 0.3% of a ratio, in half a minute */
    FROZEN_SEED = 7
};

const char *kiln_gate_outcome_name(kiln_gate_outcome o) {
    KILN_ASSERT((int)o >= 0 && o < KILN_N_GATED, "no outcome %d of the gate", (int)o);
    static const char *const name[KILN_N_GATED] = {
        [KILN_GATED_EQUAL] = "equal", [KILN_GATED_PASS] = "pass",
        [KILN_GATED_NEW] = "new",     [KILN_GATED_INCONCLUSIVE] = "inconclusive",
        [KILN_GATED_FAIL] = "fail",   [KILN_GATED_INVALID] = "invalid",
        [KILN_GATED_WRONG] = "wrong"};
    return name[o];
}

bool kiln_gate_is_failure(kiln_gate_outcome o) {
    return o == KILN_GATED_FAIL || o == KILN_GATED_INVALID || o == KILN_GATED_WRONG;
}

/* One candidate on its way. `out` outlives it. */
typedef struct candidate {
    kiln_arena *arena; /* of the report */
    kiln_arena *own;   /* of what is opened for it */
    const kiln_gate_options *o;
    kiln_gate_result *out;
    size_t variant; /* of the archive, where it has several */
    kiln_opened candidate, control;
    bool is_wrong; /* the candidate's outputs */
} candidate;

/* What an archive is accepted as: of several packages, as its first. */
static const kiln_package_facts *known_as(const kiln_opened *p) {
    return p->n_variants > 0 ? p->variant[0].facts : &p->facts;
}

static kiln_status open_side(const candidate *c, const char *path, kiln_opened *out,
                             kiln_err *err) {
    return kiln_package_open_on(c->own, path, c->o->keys, c->o->where, out, err);
}

static kiln_status decide(kiln_gate_result *out, kiln_gate_outcome outcome,
                          const char *reason) {
    out->outcome = outcome;
    out->reason = reason;
    return KILN_OK;
}

/* The control as what it is compared with: of several packages, the one for the same.
 * Packages by themselves are compared whatever they are for, which says how they
 * differ. */
static kiln_status find_control(candidate *c, bool *found, kiln_err *err) {
    *found = true;
    return c->candidate.n_variants > 0 || c->control.n_variants > 0
               ? kiln_opened_choose_like(c->own, &c->control, &c->candidate.facts,
                                         found, err)
               : KILN_OK;
}

/* ---- validity -------------------------------------------------------------------- */

/* A device that this kiln has not is no mistake of whoever asks, but the archive's. */
static kiln_status check_device(const candidate *c, const kiln_opened *p,
                                kiln_err *err) {
    const kiln_device *d = NULL;
    if (c->o->where != NULL)
        return KILN_OK;
    kiln_status st = kiln_device_judge_for(c->own, &p->facts.profile, &d, err);
    if (st == KILN_ERR_ARG)
        st = err->status = KILN_ERR_UNSUPPORTED;
    return st;
}

/* Of an unpacked folder: its integrity was or is verified with it. */
static kiln_status check_outputs(candidate *c, const kiln_opened *p, const char *what,
                                 kiln_err *err) {
    const kiln_verify_options o = {
        .threads = &c->out->threads, .n_threads = 1, .where = c->o->where};
    kiln_checks checks = {.n_failed = 0};
    KILN_TRY(check_device(c, p, err));
    KILN_TRY(kiln_verify_package(c->own, p->folder, &o, &checks, err));
    for (size_t i = 0; i < checks.list.n; i++) {
        const kiln_check *k = &checks.list.v[i];
        if (k->outcome == KILN_PASSED)
            continue;
        c->is_wrong = p == &c->candidate && k->outcome == KILN_FAILED;
        return kiln_fail(err, KILN_ERR_SHAPE, "the %s is wrong here: %s: %s", what,
                         k->name, k->reason);
    }
    return KILN_OK;
}

static const char *profile_text(kiln_arena *a, const kiln_profile *p) {
    kiln_buf out;
    kiln_buf_init(&out, a);
    kiln_profile_json(&out, p);
    return out.p;
}

static kiln_str one_member(kiln_str line) {
    line = kiln_str_trim(line);
    if (kiln_str_ends(line, ","))
        line.n--;
    return line;
}

/* Does a member of a profile's JSON say what work is done? Those that records of tuning
 * go by do, and numerics; what is guessed of a core, or caches that
 * others share, do not. */
static bool is_of_the_work(kiln_str member) {
    kiln_str name;
    (void)kiln_str_cut(&member, '"', &name);
    return kiln_str_cut(&member, '"', &name) &&
           (kiln_str_is(name, "numerics") || kiln_db_profile_key_has(name));
}

/* The first of these that differs. Both texts were written just now: the same members
 * in the same order. */
static kiln_status check_profiles(candidate *c, kiln_err *err) {
    const char *x = profile_text(c->own, &c->candidate.facts.profile);
    const char *y = profile_text(c->own, &c->control.facts.profile);
    kiln_str new_rest = kiln_str_from(x), old_rest = kiln_str_from(y), is, was;
    while (kiln_str_cut(&new_rest, '\n', &is) && kiln_str_cut(&old_rest, '\n', &was)) {
        is = one_member(is);
        was = one_member(was);
        if (is_of_the_work(is) && !kiln_str_eq(is, was))
            return kiln_fail(
                err, KILN_ERR_SHAPE,
                "the profile '%s' is not the one that the accepted archive "
                "was made for: %.*s was %.*s; accept the new one to go on",
                c->candidate.facts.profile.name, KILN_STR_ARG(is), KILN_STR_ARG(was));
    }
    return KILN_OK;
}

/* Archives have the shapes that they were built for: a model with dynamic dimensions
 * may have been built for others. */
static kiln_status check_ports(candidate *c, const char *what, const char *many,
                               const kiln_device_port *is, size_t n_is,
                               const kiln_device_port *was, size_t n_was,
                               kiln_err *err) {
    if (n_is != n_was)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "the candidate has %zu %s, the accepted archive %zu: they do "
                         "not do the same work; accept the new one to go on",
                         n_is, many, n_was);
    for (size_t i = 0; i < n_is; i++) {
        const kiln_type *t = &is[i].type, *u = &was[i].type;
        if (t->dtype != u->dtype || !kiln_type_same_shape(t, u))
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "%s '%s' is %s in the candidate, %s in the accepted "
                             "archive: they do not do the same work; accept the new "
                             "one to go on",
                             what,
                             kiln_str_printable(c->own, kiln_str_from(is[i].name), 64),
                             kiln_type_text(c->own, t), kiln_type_text(c->own, u));
    }
    return KILN_OK;
}

static kiln_status check_same_work(candidate *c, kiln_err *err) {
    const kiln_package_facts *x = &c->candidate.facts, *y = &c->control.facts;
    if (strcmp(x->model, y->model) != 0)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "the candidate is '%s', the accepted archive '%s'", x->model,
                         y->model);
    KILN_TRY(check_ports(c, "input", "inputs", c->candidate.package.input,
                         c->candidate.package.n_inputs, c->control.package.input,
                         c->control.package.n_inputs, err));
    KILN_TRY(check_ports(c, "output", "outputs", c->candidate.package.output,
                         c->candidate.package.n_outputs, c->control.package.output,
                         c->control.package.n_outputs, err));
    return check_profiles(c, err);
}

static kiln_status compare_structure(const candidate *c, kiln_arena *a,
                                     kiln_gate_structure *out, kiln_err *err) {
    kiln_package_reads reads;
    KILN_TRY(kiln_package_compare_reads(c->candidate.folder, c->control.folder, &reads,
                                        err));
    kiln_gate_compare(a, &c->candidate.facts, &c->control.facts, &reads, out);
    return KILN_OK;
}

/* Is it right, whatever it says of itself? */
static kiln_status check_right(candidate *c, kiln_err *err) {
    kiln_status st = KILN_OK;
    const char *model = NULL;
    if (kiln_opened_is_comparable(&c->candidate, &c->control)) {
        st = kiln_gate_ask_accepted(&c->candidate, &c->control, c->out->threads,
                                    c->o->seed, &c->is_wrong, err);
        if (st == KILN_ERR_SHAPE)
            kiln_note(err, "comparing its outputs with the accepted archive's");
        return st;
    }
    KILN_TRY(
        kiln_gate_find_model(c->own, &c->o->models, &c->candidate.facts, &model, err));
    if (model == NULL)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "the candidate was built from another file than the accepted "
                         "archive, whose outputs say nothing of it: give its model by "
                         "--model, or accept it");
    st = kiln_gate_ask_model(c->candidate.folder, NULL, c->o->where, model,
                             c->out->threads, &c->is_wrong, err);
    if (st == KILN_ERR_SHAPE)
        kiln_note(err, "asking the reference about '%s'", model);
    return st;
}

/* Nothing is accepted for it: its model is asked, where that was given. */
static kiln_status check_new(candidate *c, kiln_err *err) {
    const char *model = NULL;
    KILN_TRY(
        kiln_gate_find_model(c->own, &c->o->models, &c->candidate.facts, &model, err));
    return model == NULL
               ? KILN_OK
               : kiln_gate_ask_model(c->candidate.folder, NULL, c->o->where, model,
                                     c->out->threads, &c->is_wrong, err);
}

/* ---- time ------------------------------------------------------------------------ */

typedef struct watcher {
    const char *what; /* "gating resnet18": for whoever waits */
    const kiln_busy *before;
} watcher;

static void show(void *user, int pair, int pairs) {
    const watcher *w = user;
    kiln_progress_step(w->what, "pairs", pair, pairs, NULL);
}

static void ask_others(void *user, kiln_arena *a, kiln_busy_report *out) {
    watcher *w = user;
    if (out == NULL)
        w->before = kiln_busy_now(a, NULL);
    else
        kiln_busy_between(a, w->before, kiln_busy_now(a, NULL), getpid(), out);
}

/* Of a machine elsewhere nobody here can say. */
static kiln_gate_bench bench_of(const candidate *c, kiln_gate_pair *pair, watcher *w,
                                kiln_gate_limits limits) {
    kiln_gate_bench b = {.run = kiln_gate_pair_run,
                         .user = pair,
                         .progress = show,
                         .progress_user = w,
                         .limits = limits};
    if (c->o->where == NULL) {
        b.others = ask_others;
        b.others_user = w;
    }
    return b;
}

static watcher watcher_of(const candidate *c, const char *doing) {
    return (watcher){kiln_format(c->own, "%s %s", doing, c->out->model), NULL};
}

/* Of the archives' contents: the same command has the same order. */
static uint64_t seed_of(const candidate *c) {
    const char *text =
        kiln_format(c->own, "%s %s %d", c->out->sha256 != NULL ? c->out->sha256 : "",
                    c->out->accepted.sha256 != NULL ? c->out->accepted.sha256 : "",
                    c->out->threads);
    /* As a JSON number holds it, and never 0. */
    return kiln_hash64(text, strlen(text), 1) % 1000000000 + 1;
}

static bool wants_steps(const kiln_gate_timing *t) {
    return t->first.problem == NULL &&
           (t->outcome != KILN_GATED_PASS ||
            fabs(t->first.look.slowdown.estimate) >= moved_from);
}

static kiln_status time_pairs(candidate *c, kiln_err *err) {
    kiln_gate_result *out = c->out;
    kiln_gate_pair pair;
    watcher w = watcher_of(c, "timing");
    const char *machine = NULL;
    const double seconds = c->o->seconds > 0 ? c->o->seconds : default_seconds;
    KILN_TRY(kiln_gate_pair_init(c->own, &c->candidate, &c->control, out->threads,
                                 seconds, &pair, err));
    const kiln_gate_bench b = bench_of(c, &pair, &w, out->limits);
    out->runs = pair.runs;
    pair.injected_ppm = (int)lround(1e6 * out->injected);
    KILN_TRY(kiln_gate_time(c->arena, &b, c->o->seed > 0 ? c->o->seed : seed_of(c),
                            &out->timing, err));
    out->is_timed = true;
    if (out->injected > 0)
        out->moved_says = "the slowdown was injected behind each run: no step has it";
    else if (wants_steps(&out->timing))
        KILN_TRY(kiln_gate_moved(c->arena, &pair, out, err));
    KILN_TRY(kiln_gate_machine(c->own, c->o->where, &machine, err));
    if (strcmp(machine, out->machine) != 0)
        return kiln_fail(err, KILN_ERR_LIB,
                         "the machine was '%s' before the pairs and is '%s' after them",
                         out->machine, machine);
    return decide(out, out->timing.outcome,
                  out->injected > 0
                      ? kiln_format(c->arena, "INJECTED %+g%%: %s", 100 * out->injected,
                                    out->timing.reason)
                      : out->timing.reason);
}

/* ---- the frozen archive ------------------------------------------------------------
 *
 * Its ratio is for the history of nights, and no part of the verdict: what is wrong
 * with it is said, and fails nothing. */

static const kiln_stats_interval same_code = {1, 1, 1};

static kiln_status no_ratio(candidate *c, const char *why) {
    c->out->frozen.problem = why;
    return KILN_OK;
}

/* It is the accepted one: what was found of that is found of this. */
static kiln_status take_accepted(candidate *c) {
    kiln_gate_result *out = c->out;
    kiln_gate_frozen *f = &out->frozen;
    if (!out->is_timed && out->outcome == KILN_GATED_EQUAL)
        f->ratio = same_code;
    else if (!out->is_timed || out->timing.first.problem != NULL)
        return no_ratio(c, out->reason);
    else
        f->ratio = out->timing.first.ratio;
    f->pairs = out->is_timed ? out->timing.first.pairs : 0;
    return KILN_OK;
}

static kiln_status time_frozen(candidate *c, kiln_err *err) {
    kiln_gate_frozen *f = &c->out->frozen;
    kiln_gate_pair pair;
    kiln_gate_series s;
    watcher w = watcher_of(c, "timing beside the frozen archive");
    const double seconds = c->o->seconds > 0 ? c->o->seconds : default_seconds;
    if (c->o->where == NULL)
        KILN_TRY(kiln_device_measures_here(&c->candidate.facts.profile, err));
    if (c->candidate.device->is_emulated)
        return no_ratio(c, "an emulator's time says nothing");
    KILN_TRY(check_outputs(c, &c->control, "frozen archive", err));
    KILN_TRY(kiln_gate_pair_init(c->own, &c->candidate, &c->control, c->out->threads,
                                 seconds, &pair, err));
    const kiln_gate_bench b = bench_of(c, &pair, &w, (kiln_gate_limits){0, 0});
    const uint64_t seed = (c->o->seed > 0 ? c->o->seed : seed_of(c)) + FROZEN_SEED;
    KILN_TRY(kiln_gate_ratio_run(c->arena, &b, seed, FROZEN_PAIRS, &s, err));
    if (s.problem != NULL)
        return no_ratio(c, s.problem);
    f->ratio = s.ratio;
    f->pairs = s.pairs;
    return KILN_OK;
}

static kiln_status compare_frozen(candidate *c, kiln_err *err) {
    kiln_gate_frozen *f = &c->out->frozen;
    kiln_gate_structure structure = {.is_equal = false};
    const char *sha256 = NULL;
    int64_t bytes = 0;
    bool found = false;
    if (!kiln_file_exists(f->archive.file))
        return no_ratio(c, kiln_format(c->arena,
                                       "the frozen archive '%s' is gone: 'kiln history "
                                       "freeze' takes the accepted one from now on",
                                       f->archive.file));
    KILN_TRY(kiln_gate_hash(c->own, f->archive.file, &sha256, &bytes, err));
    if (strcmp(sha256, f->archive.sha256) != 0)
        return no_ratio(c, kiln_format(c->arena,
                                       "'%s' is not the archive that was frozen: its "
                                       "SHA-256 is %s",
                                       f->archive.file, sha256));
    KILN_TRY(open_side(c, f->archive.file, &c->control, err));
    KILN_TRY(find_control(c, &found, err));
    if (!found)
        return no_ratio(c,
                        "the frozen archive has no variant for these shapes and this "
                        "profile");
    KILN_TRY(check_same_work(c, err));
    KILN_TRY(compare_structure(c, c->own, &structure, err));
    if (structure.is_equal && !c->o->times_equal) {
        f->ratio = same_code;
        return KILN_OK;
    }
    return time_frozen(c, err);
}

/* After the verdict: opens the frozen archive in the place of the accepted one. */
static kiln_status hold_frozen(candidate *c, kiln_err *err) {
    kiln_gate_frozen *f = &c->out->frozen;
    kiln_accepted_list list;
    if (!c->o->wants_frozen || c->o->injected > 0 || !kiln_dir_exists(c->o->against) ||
        kiln_package_is_folder(c->o->against))
        return KILN_OK;
    KILN_TRY(kiln_accepted_read(c->arena, c->o->against, &list, err));
    const kiln_accepted *e = kiln_frozen_find(&list, known_as(&c->candidate));
    if (e == NULL)
        return KILN_OK;
    f->is_there = true;
    f->archive = *e;
    f->archive.file = kiln_path_join(c->arena, c->o->against, e->file);
    f->ratio = (kiln_stats_interval){(double)NAN, (double)NAN, (double)NAN};
    if (c->out->has_accepted && strcmp(c->out->accepted.sha256, e->sha256) == 0)
        return take_accepted(c);
    return compare_frozen(c, err);
}

/* ---- one candidate --------------------------------------------------------------- */

/* What is accepted for it: `path` of an archive, or NULL. */
static kiln_status find_accepted(candidate *c, const char **path, kiln_err *err) {
    kiln_gate_result *out = c->out;
    const char *against = c->o->against;
    kiln_accepted_list list;
    *path = NULL;
    if (!kiln_dir_exists(against) || kiln_package_is_folder(against)) {
        if (!kiln_file_exists(against) && !kiln_dir_exists(against))
            return KILN_OK;
        *path = against;
        out->has_accepted = true;
        out->accepted = (kiln_accepted){.file = against};
        return kiln_package_is_folder(against)
                   ? KILN_OK
                   : kiln_gate_hash(c->arena, against, &out->accepted.sha256,
                                    &out->accepted.bytes, err);
    }
    KILN_TRY(kiln_accepted_read(c->arena, against, &list, err));
    const kiln_accepted *e = kiln_accepted_find(&list, known_as(&c->candidate));
    if (e == NULL)
        return KILN_OK;
    const char *sha256 = NULL;
    int64_t bytes = 0;
    out->accepted = *e;
    out->accepted.file = *path = kiln_path_join(c->arena, against, e->file);
    out->has_accepted = true;
    KILN_TRY(kiln_gate_hash(c->own, *path, &sha256, &bytes, err));
    return strcmp(sha256, e->sha256) == 0
               ? KILN_OK
               : kiln_fail(err, KILN_ERR_PARSE,
                           "'%s' is not the archive that was accepted: its SHA-256 is "
                           "%s, " KILN_ACCEPTED_FILE " has %s",
                           *path, sha256, e->sha256);
}

static kiln_status compare(candidate *c, const char *control, kiln_err *err) {
    kiln_gate_result *out = c->out;
    bool found = false;
    KILN_TRY(open_side(c, control, &c->control, err));
    KILN_TRY(find_control(c, &found, err));
    if (!found) {
        KILN_TRY(check_new(c, err));
        return decide(out, KILN_GATED_NEW,
                      "the accepted archive has no variant for these shapes and this "
                      "profile");
    }
    KILN_TRY(check_same_work(c, err));
    KILN_TRY(compare_structure(c, c->arena, &out->structure, err));
    if (out->accepted.machine != NULL &&
        strcmp(out->accepted.machine, out->machine) != 0)
        kiln_vec_push(c->arena, &out->structure.change,
                      kiln_format(c->arena, "accepted on %s; both are run on %s",
                                  out->accepted.machine, out->machine));
    if (out->structure.is_equal && !c->o->times_equal && !(out->injected > 0))
        return decide(out, KILN_GATED_EQUAL,
                      "same code, plan and parameters: nothing to time");
    if (c->o->where == NULL)
        KILN_TRY(kiln_device_measures_here(&c->candidate.facts.profile, err));
    if (c->candidate.device->is_emulated)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "profile '%s' runs here in an emulator only: its time says "
                         "nothing; time it on such a machine by --runner",
                         out->profile);
    KILN_TRY(check_outputs(c, &c->control, "accepted archive", err));
    KILN_TRY(check_right(c, err));
    return time_pairs(c, err);
}

static kiln_status gate(candidate *c, kiln_err *err) {
    kiln_gate_result *out = c->out;
    const char *control = NULL;
    KILN_TRY(open_side(c, out->path, &c->candidate, err));
    if (c->candidate.n_variants > 0)
        KILN_TRY(kiln_opened_choose(c->own, &c->candidate, c->variant, err));
    const kiln_package_facts *f = &c->candidate.facts;
    if (f->is_unproved)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "it was packed by --no-verify: build it without, where it can "
                         "run");
    out->model = kiln_str_dup(c->arena, f->model);
    out->profile = kiln_str_dup(c->arena, f->profile.name);
    out->threads = c->o->threads > 0 ? c->o->threads : f->threads;
    KILN_TRY(kiln_gate_machine(c->arena, c->o->where, &out->machine, err));
    KILN_TRY(check_outputs(c, &c->candidate, "candidate", err));
    KILN_TRY(find_accepted(c, &control, err));
    if (control == NULL)
        KILN_TRY(check_new(c, err));
    if (control == NULL)
        return decide(out, KILN_GATED_NEW,
                      kiln_format(c->arena,
                                  "nothing is accepted for it in '%s': 'kiln accept %s "
                                  "--to %s --model MODEL' makes it the first",
                                  c->o->against, out->path, c->o->against));
    return compare(c, control, err);
}

/* Says nothing about the archive: nobody could go on. */
static bool is_environment(kiln_status st) {
    return kiln_status_is_environment(st) || st == KILN_ERR_ARG;
}

/* What is wrong with the frozen archive is its problem alone. */
static kiln_status gate_frozen(candidate *c, kiln_err *err) {
    const kiln_status st = hold_frozen(c, err);
    if (st == KILN_OK || is_environment(st))
        return st;
    const char *why = kiln_gate_sentence(c->arena, err);
    kiln_err_clear(err);
    return no_ratio(c, why);
}

static kiln_status gate_one(kiln_arena *a, const char *path, size_t variant,
                            const kiln_gate_options *o, kiln_gate_result *out,
                            kiln_err *err) {
    kiln_arena own = {0};
    *out = (kiln_gate_result){.path = path,
                              .limits = kiln_gate_limits_of(o->limits),
                              .injected = o->injected};
    candidate c = {.arena = a, .own = &own, .o = o, .out = out, .variant = variant};
    kiln_status st = KILN_OK;
    if (!kiln_package_is_folder(path))
        st = kiln_gate_hash(a, path, &out->sha256, &out->bytes, err);
    if (st == KILN_OK)
        st = gate(&c, err);
    if (st == KILN_OK)
        st = gate_frozen(&c, err);
    kiln_arena_fini(&own);
    if (st == KILN_OK || is_environment(st)) {
        if (st != KILN_OK)
            kiln_note(err, "gating '%s'", path);
        return st;
    }
    const char *reason = kiln_gate_sentence(a, err);
    kiln_err_clear(err);
    return decide(out, c.is_wrong ? KILN_GATED_WRONG : KILN_GATED_INVALID, reason);
}

/* ---- many ------------------------------------------------------------------------ */

static bool is_judged(const kiln_gate_result *x) {
    return x->is_timed && x->outcome != KILN_GATED_INVALID;
}

/* The more series, the more often one of them is slow by chance: failures whose p is
 * not small enough among all are doubtful. */
static void weigh_failures(kiln_arena *a, kiln_gate_report *r) {
    double *p = kiln_array(a, double, r->result.n);
    bool *rejected = kiln_array(a, bool, r->result.n);
    size_t n = 0;
    for (size_t i = 0; i < r->result.n; i++)
        if (is_judged(&r->result.v[i]))
            p[n++] = r->result.v[i].timing.first.look.p;
    (void)kiln_stats_rejected(a, p, n, false_share, rejected);
    const size_t n_judged = n;
    n = 0;
    for (size_t i = 0; i < r->result.n; i++) {
        kiln_gate_result *x = &r->result.v[i];
        if (!is_judged(x))
            continue;
        if (x->outcome == KILN_GATED_FAIL && !rejected[n])
            (void)decide(x, KILN_GATED_INCONCLUSIVE,
                         kiln_format(a,
                                     "%s; but among %zu series that may be chance (p "
                                     "%.3g)",
                                     x->reason, n_judged, p[n]));
        n++;
    }
}

void kiln_gate_add_up(kiln_arena *a, kiln_gate_report *r) {
    weigh_failures(a, r);
    double *ratio = kiln_array(a, double, r->result.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < r->result.n; i++) {
        const kiln_gate_result *x = &r->result.v[i];
        KILN_ASSERT((int)x->outcome >= 0 && x->outcome < KILN_N_GATED,
                    "no outcome %d of the gate", (int)x->outcome);
        r->n[x->outcome]++;
        r->outcome = x->outcome > r->outcome ? x->outcome : r->outcome;
        if (is_judged(x))
            ratio[n++] = 1 + x->timing.first.look.slowdown.estimate;
    }
    r->geomean = (kiln_stats_interval){(double)NAN, (double)NAN, (double)NAN};
    if (n == 0)
        return;
    r->geomean = kiln_stats_geomean(a, ratio, n, 0.95, GEOMEAN_ROUNDS, GEOMEAN_SEED);
    r->geomean.estimate -= 1;
    r->geomean.low -= 1;
    r->geomean.high -= 1;
}

static const char *command_of(kiln_arena *a, const kiln_gate_result *r,
                              const kiln_gate_options *o) {
    kiln_buf out;
    kiln_buf_init(&out, a);
    kiln_buf_puts(&out, "kiln gate");
    kiln_buf_put_word(&out, r->path);
    kiln_buf_puts(&out, " --against");
    kiln_buf_put_word(&out, o->against);
    if (r->threads > 0)
        kiln_buf_printf(&out, " --threads %d", r->threads);
    if (r->is_timed)
        kiln_buf_printf(&out, " --seed %llu", (unsigned long long)r->timing.seed);
    if (o->seconds > 0)
        kiln_buf_printf(&out, " --seconds %g", o->seconds);
    const kiln_gate_limits l = kiln_gate_limits_of(o->limits);
    const kiln_gate_limits usual = kiln_gate_limits_of((kiln_gate_limits){0});
    if (l.fail_above != usual.fail_above || l.pass_below != usual.pass_below)
        kiln_buf_printf(&out, " --fail-above %g%% --pass-below %g%%",
                        100 * l.fail_above, 100 * l.pass_below);
    if (o->injected > 0)
        kiln_buf_printf(&out, " --inject %g%%", 100 * o->injected);
    if (o->times_equal)
        kiln_buf_puts(&out, " --time-equal");
    if (o->keys != NULL) {
        kiln_buf_puts(&out, " --keyring");
        kiln_buf_put_word(&out, o->keys->path);
    }
    for (size_t i = 0; i < o->models.n; i++) {
        kiln_buf_puts(&out, " --model");
        kiln_buf_put_word(&out, o->models.path[i]);
    }
    if (o->wants_frozen)
        kiln_buf_puts(&out, " --frozen");
    if (o->runner != NULL) {
        kiln_buf_puts(&out, " --runner");
        kiln_buf_put_word(&out, o->runner);
    }
    return out.p;
}

/* Variants of the archive; 0: it is one package, or cannot be read, which whoever gates
 * it says. */
static size_t count_variants(const char *path) {
    kiln_arena scratch = {0};
    kiln_package_facts f = {.n_variants = 0};
    kiln_err err = {.status = KILN_OK};
    const kiln_status st = kiln_package_is_folder(path)
                               ? kiln_package_inspect_folder(&scratch, path, &f, &err)
                               : kiln_package_inspect(&scratch, path, &f, &err);
    const size_t n = st == KILN_OK ? f.n_variants : 0;
    kiln_arena_fini(&scratch);
    return n;
}

/* Each variant is a candidate by itself. */
static kiln_status gate_all(kiln_arena *a, const char *path, const kiln_gate_options *o,
                            kiln_gate_report *r, kiln_err *err) {
    const size_t n = count_variants(path);
    for (size_t i = 0; i < (n > 0 ? n : 1); i++) {
        kiln_gate_result x;
        KILN_TRY(kiln_interrupt_check(err));
        KILN_TRY(gate_one(a, path, i, o, &x, err));
        x.command = command_of(a, &x, o);
        if (n > 0)
            x.path = kiln_format(a, "%s, variant v%zu", path, i);
        kiln_vec_push(a, &r->result, x);
    }
    return KILN_OK;
}

kiln_status kiln_gate_run(kiln_arena *a, const char *const *path, size_t n,
                          const kiln_gate_options *o, kiln_gate_report *out,
                          kiln_err *err) {
    kiln_gate_paths paths;
    kiln_gate_report r = {.outcome = KILN_GATED_EQUAL, .injected = o->injected};
    KILN_TRY(kiln_gate_limits_check(kiln_gate_limits_of(o->limits), err));
    if (!(o->injected >= 0 && o->injected <= KILN_GATE_MAX_INJECTED))
        return kiln_fail(err, KILN_ERR_ARG,
                         "an injected slowdown must be at most %d%%, is %g%%",
                         100 * KILN_GATE_MAX_INJECTED, 100 * o->injected);
    KILN_TRY(kiln_gate_find_archives(a, path, n, &paths, err));
    for (size_t i = 0; i < paths.n; i++)
        KILN_TRY(gate_all(a, paths.v[i], o, &r, err));
    kiln_gate_add_up(a, &r);
    *out = r;
    return KILN_OK;
}
