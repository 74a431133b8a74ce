/* The tuner as a whole, on small kernels: trials on record, runs that go on, records
 * that builds use. */
#include "compiler/frontend/frontend.h"
#include "pipeline/network/network.h"
#include "pipeline/pipeline.h"
#include "pipeline/tune/tune_internal.h"
#include "tests/support/kiln_test.h"
#include "tests/support/database/db_make.h"
#include "tests/support/measuring/measure_run.h"
#include "tests/support/measuring/tune_run.h"
#include "zoo/zoo.h"
#include "compiler/pass/pass.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const conv = "conv one h=7 ic=16 oc=32 k=3 act=relu";
static const char *const conv_add = "conv two h=7 ic=16 oc=32 k=3";
static const char *const product = "matmul three m=24 n=32 k=40";

/* ---- runs ------------------------------------------------------------------------ */

/* A second run goes on where the first stopped; a third has nothing to do, and starts
 * no workers: their paths lead nowhere. */
static void runs_go_on(void **state) {
    (void)state;
    const char *const lines[] = {conv, product};
    static const char *const nowhere[] = {"/nonexistent/worker", NULL};
    kiln_db *db = kiln_test_db_open(":memory:");
    const kiln_tune_works works = kiln_test_tune_works(lines, 2);
    kiln_tune_options o = kiln_test_tune_options(db, 6);
    o.search = kiln_search_find(kiln_str_from("random"));
    kiln_tune_result r = kiln_test_tune(&works, &o);
    assert_int_equal(r.n_new, 12);
    assert_int_equal(r.end, KILN_TASKS_TRIALS);
    for (size_t i = 0; i < 2; i++) {
        assert_true(r.row.v[i].n_new >= 1);
        assert_int_equal(r.row.v[i].n_known, 0);
        assert_true(r.row.v[i].start_ns > 0);
        assert_true(r.row.v[i].best_ns <= r.row.v[i].start_ns);
        assert_true(r.row.v[i].best[0] == '{');
    }
    o.trials = 8;
    r = kiln_test_tune(&works, &o);
    assert_int_equal(r.n_new, 4);
    assert_int_equal(r.row.v[0].n_known + r.row.v[1].n_known, 12);
    o.builder_argv = o.runner_argv = nowhere;
    r = kiln_test_tune(&works, &o);
    assert_int_equal(r.n_new, 0);
    assert_true(r.best_ns > 0);
    kiln_test_db_is_sound(db);
    kiln_db_close(db);
}

/* Those that are not another look at an earlier one. */
static size_t n_first_rounds(const kiln_db_trials *t) {
    size_t n = 0;
    for (size_t i = 0; i < t->list.n; i++)
        n += t->list.v[i].round == 0;
    return n;
}

/* What is good has samples and was proved; the configurations differ. */
static void trials_are_on_record(void **state) {
    (void)state;
    kiln_db *db = kiln_test_db_open(":memory:");
    const kiln_tune_works works = kiln_test_tune_works(&conv, 1);
    const kiln_tune_options o = kiln_test_tune_options(db, 20);
    const kiln_tune_result r = kiln_test_tune(&works, &o);
    const kiln_db_trials t =
        kiln_test_tune_trials(db, &works.list.v[0].op, KILN_TUNE_CACHE);
    int64_t n_good = 0;
    assert_int_equal(r.n_new, 20);
    assert_int_equal(n_first_rounds(&t), 20);
    assert_int_equal(t.list.n, 20 + r.n_again);
    for (size_t i = 0; i < t.list.n; i++) {
        const kiln_db_trial *x = &t.list.v[i];
        for (size_t k = 0; k < i && x->round == 0; k++)
            assert_string_not_equal(x->candidate.config, t.list.v[k].candidate.config);
        if (x->error[0] != '\0' || x->round > 0)
            continue;
        n_good++;
        assert_true(x->n_samples >= 3);
        assert_non_null(strstr(x->proof, "\"seeds\": 3"));
        assert_non_null(strstr(x->layouts, "f32["));
        assert_true(x->peak_gflops > 0);
    }
    assert_int_equal(n_good, r.by_error[KILN_TRIAL_GOOD]);
    assert_true(n_good > 0);
    /* The first trial is what a build without records takes. */
    double sum = 0;
    int rounds = 0;
    for (size_t i = 0; i < t.list.n; i++)
        if (strcmp(t.list.v[i].candidate.config, t.list.v[0].candidate.config) == 0) {
            sum += t.list.v[i].median_ns;
            rounds++;
        }
    assert_true(sum / rounds == r.row.v[0].start_ns);
    kiln_test_db_is_sound(db);
    kiln_db_close(db);
}

/* On a slow machine two seconds may be too few for a first trial. */
static void stops_in_time(void **state) {
    (void)state;
    kiln_db *db = kiln_test_db_open(":memory:");
    const kiln_tune_works works = kiln_test_tune_works(&conv, 1);
    kiln_tune_options o = kiln_test_tune_options(db, 100000);
    kiln_tune_result r = {.n_new = 0};
    for (int limit_s = 2; r.n_new == 0 && limit_s < KILN_TEST_PATIENCE_S;
         limit_s *= 4) {
        o.seconds = limit_s;
        r = kiln_test_tune(&works, &o);
        assert_int_equal(r.end, KILN_TASKS_TIME);
    }
    assert_true(r.n_new > 0 && r.n_new < 1000);
    const kiln_db_trials t =
        kiln_test_tune_trials(db, &works.list.v[0].op, KILN_TUNE_CACHE);
    assert_int_equal(n_first_rounds(&t), r.n_new);
    kiln_db_close(db);
}

/* Another tuner of the same mind: while ours measures its first candidate, all that it
 * would try next is done. */
typedef struct faster_tuner {
    kiln_db *db;
    kiln_str records;
    bool has_come;
} faster_tuner;

static void bring_records(void *user, const kiln_tune_state *s) {
    faster_tuner *f = user;
    kiln_err err = {0};
    kiln_db_import_counts n;
    (void)s;
    if (!f->has_come)
        kiln_assert_status_ok(kiln_db_import(f->db, f->records, "records", &n, &err),
                              &err);
    f->has_come = true;
}

/* Each proposal that turns out to be done has the records read again: they are learnt
 * from once. */
static void anothers_records_count_once(void **state) {
    (void)state;
    kiln_err err = {0};
    const kiln_tune_works works = kiln_test_tune_works(&conv, 1);
    kiln_db *other = kiln_test_db_open(":memory:"), *db = kiln_test_db_open(":memory:");
    kiln_tune_options o = kiln_test_tune_options(other, 24);
    kiln_buf text;
    o.search = kiln_search_find(kiln_str_from("random"));
    o.owner = "elsewhere.1";
    kiln_test_tune(&works, &o);
    kiln_buf_init(&text, kiln_test_arena());
    kiln_assert_status_ok(kiln_db_export(other, &text, &err), &err);
    kiln_db_close(other);
    faster_tuner faster = {.db = db, .records = kiln_buf_str(&text)};
    o = kiln_test_tune_options(db, 40);
    o.search = kiln_search_find(kiln_str_from("random"));
    o.progress = bring_records;
    o.user = &faster;
    const kiln_tune_result r = kiln_test_tune(&works, &o);
    assert_true(r.row.v[0].n_known >= 20);
    const kiln_db_trials t =
        kiln_test_tune_trials(db, &works.list.v[0].op, KILN_TUNE_CACHE);
    kiln_db_model m;
    bool found = false;
    const kiln_cost_model_kind *kind = kiln_tune_teacher_of(&kiln_cost_model_xgboost);
    kiln_assert_status_ok(kiln_db_get_model(db, kiln_test_arena(), kind->name,
                                            kiln_format(kiln_test_arena(), "%s/1",
                                                        kiln_test_native()->name),
                                            kind->version, &found, &m, &err),
                          &err);
    assert_true(found);
    assert_true(m.n_trials <= (int64_t)t.list.n);
    kiln_test_db_is_sound(db);
    kiln_db_close(db);
}

/* Workloads that do not fit together are prepared in turns. */
static void workloads_take_turns(void **state) {
    (void)state;
    const char *const lines[] = {conv, conv_add};
    kiln_db *db = kiln_test_db_open(":memory:");
    const kiln_tune_works works = kiln_test_tune_works(lines, 2);
    kiln_tune_options o = kiln_test_tune_options(db, 8);
    o.shared_bytes = 1;
    const kiln_tune_result r = kiln_test_tune(&works, &o);
    assert_int_equal(r.n_new, 16);
    assert_int_equal(r.row.v[0].n_new + r.row.v[1].n_new, 16);
    assert_true(r.row.v[0].best_ns > 0 && r.row.v[1].best_ns > 0);
    kiln_test_db_is_sound(db);
    kiln_db_close(db);
}

/* What a process calls itself that has ended, and that nobody has collected. */
static const char *name_of_a_zombie(void) {
    int end[2];
    char text[512] = "";
    siginfo_t info;
    assert_int_equal(pipe(end), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        kiln_arena a = {0};
        const char *name = kiln_tune_owner(&a);
        _exit(write(end[1], name, strlen(name)) < 0 ? 1 : 0);
    }
    assert_true(read(end[0], text, sizeof text - 1) > 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    close(end[0]);
    close(end[1]);
    return kiln_str_dup(kiln_test_arena(), text);
}

/* Claims of the dead are free at once, and of those that had our name before us; those
 * of the living, and of other machines, are not. A process of the same number that started later is another one. */
static void the_dead_claim_nothing(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    const char *own = kiln_tune_owner(a);
    const char *dash = strrchr(own, '-');
    const char *const owner[] = {
        name_of_a_zombie(),
        kiln_format(a, "%.*s-1", (int)(dash - own), own),
        kiln_format(a, "fleet-2.1 %.*s-1", (int)(dash - own), own),
        "fleet-1 elsewhere/1.1-1",
        "fleet-1.3 elsewhere/1.1-1",
        "fleet-12 elsewhere/1.1-1",
        kiln_format(a, "%.*s", (int)(dash - own), own), /* of an older kiln */
        own,
        "elsewhere.1-1",
        /* Of a container with our host's name: its process 1 is not ours. */
        kiln_format(a, "%.*s/1.1-1", (int)strcspn(own, "/"), own),
    };
    enum { N = sizeof owner / sizeof owner[0], N_DEAD = 5, ITS_OWN = 2 };
    kiln_db *db = kiln_test_db_open(":memory:");
    kiln_db_owners left;
    const kiln_tune_works works = kiln_test_tune_works(&product, 1);
    const kiln_db_task task = kiln_tune_task_of(a, &works.list.v[0].op,
                                                kiln_test_native(), 1, KILN_TUNE_CACHE);
    int64_t id = 0;
    kiln_assert_status_ok(kiln_db_task_id(db, &task, &id, &err), &err);
    for (int i = 0; i < N; i++) {
        kiln_db_claim_state claimed;
        const kiln_db_candidate c = {"none", kiln_format(a, "{\"n\": %d}", i)};
        kiln_assert_status_ok(kiln_db_claim(db, id, &c, owner[i], 600, &claimed, &err),
                              &err);
        assert_int_equal(claimed, KILN_DB_CLAIMED);
    }
    /* Claims of the living are spent: with no more than those it would wait for them. */
    kiln_tune_options o = kiln_test_tune_options(db, N - N_DEAD + ITS_OWN);
    o.owner = "a tuner";
    o.name = "fleet-1";
    kiln_test_tune(&works, &o);
    kiln_assert_status_ok(kiln_db_owners_of(db, a, &left, &err), &err);
    assert_int_equal(left.list.n, N - N_DEAD);
    for (size_t i = 0; i < left.list.n; i++)
        for (int k = 0; k < N_DEAD; k++)
            assert_string_not_equal(left.list.v[i], owner[k]);
    kiln_db_close(db);
}

static void workers_must_be_there(void **state) {
    (void)state;
    static const char *const nowhere[] = {"/nonexistent/worker", NULL};
    kiln_err err = {0};
    kiln_tune_result r;
    kiln_db *db = kiln_test_db_open(":memory:");
    const kiln_tune_works works = kiln_test_tune_works(&conv, 1);
    kiln_tune_options o = kiln_test_tune_options(db, 4);
    o.builder_argv = nowhere;
    kiln_assert_fails(kiln_tune_run(kiln_test_arena(), &works, &o, &r, &err),
                      KILN_ERR_IO, &err, "/nonexistent/worker");
    kiln_db_close(db);
}

/* ---- records as configurations --------------------------------------------------- */

static void builds_take_the_best(void **state) {
    (void)state;
    const char *const lines[] = {conv, conv_add, product};
    kiln_db *db = kiln_test_db_open(":memory:");
    const kiln_tune_works all = kiln_test_tune_works(lines, 3);
    const kiln_tune_works one = kiln_test_tune_works(lines, 1);
    const kiln_tune_options o = kiln_test_tune_options(db, 12);
    assert_int_equal(kiln_test_tune_choose(db, &all.list.v[0].op, 1).origin,
                     KILN_ORIGIN_GUESS);
    const kiln_tune_result r = kiln_test_tune(&one, &o);
    const kiln_choice c = kiln_test_tune_choose(db, &all.list.v[0].op, 1);
    assert_int_equal(c.origin, KILN_ORIGIN_TUNED);
    assert_in_range(c.n_tried, 2, 12);
    assert_string_equal(kiln_test_config_text(&c), r.row.v[0].best);
    /* Another epilogue, another number of threads: like it, not it. */
    assert_int_equal(kiln_test_tune_choose(db, &all.list.v[1].op, 1).origin,
                     KILN_ORIGIN_TRANSFERRED);
    assert_int_equal(kiln_test_tune_choose(db, &all.list.v[0].op, 2).origin,
                     KILN_ORIGIN_TRANSFERRED);
    assert_int_equal(kiln_test_tune_choose(db, &all.list.v[2].op, 1).origin,
                     KILN_ORIGIN_GUESS);
    kiln_db_close(db);
}

/* A record of a kiln that had other knobs is no advice, and no error. */
static void strange_records_are_left_alone(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_db *db = kiln_test_db_open(":memory:");
    const kiln_tune_works works = kiln_test_tune_works(&conv, 1);
    const kiln_op_work *w = &works.list.v[0].op;
    const kiln_db_task task =
        kiln_tune_task_of(kiln_test_arena(), w, kiln_test_native(), 1, KILN_TUNE_CACHE);
    static const char *const config[] = {"{\"knob\": 3}", "{}"};
    const double ns = 1;
    int64_t id = 0;
    kiln_assert_status_ok(kiln_db_task_id(db, &task, &id, &err), &err);
    for (int i = 0; i < 2; i++) {
        const kiln_db_trial t = {
            .candidate = {i == 0 ? "conv_direct" : "no_such_template", config[i]},
            .sample_ns = &ns,
            .n_samples = 1,
            .proof = "{}",
            .owner = "an older one",
            .kiln = "0.0"};
        kiln_assert_status_ok(kiln_db_record(db, id, &t, NULL, &err), &err);
    }
    assert_int_equal(kiln_test_tune_choose(db, w, 1).origin, KILN_ORIGIN_GUESS);
    const kiln_tune_options o = kiln_test_tune_options(db, 6);
    const kiln_tune_result r = kiln_test_tune(&works, &o);
    assert_int_equal(r.row.v[0].n_known, 2);
    assert_int_equal(r.n_new, 4);
    assert_true(r.row.v[0].best_ns > 1);
    kiln_db_close(db);
}

/* What a record says of its kernel and machine; whether it may be true. */
typedef struct claim_row {
    const char *name, *facts;
    double ns, peak_gflops;
    bool is_believed;
} claim_row;

static claim_row claim_rows[] = {
    {"what_the_machine_allows_is_believed",
     "{\"least_flops\": 1000, \"limit_gflops\": 10}", 100, 10, true},
    {"a_wonder_is_not", "{\"least_flops\": 1000, \"limit_gflops\": 9}", 100, 10, false},
    {"fewer_operations_take_less_time", /* than the operator's sum says: Winograd */
     "{\"least_flops\": 400, \"limit_gflops\": 10}", 40, 10, true},
    {"older_records_did_all_operations", "{}", 100, 10, false},
    {"without_a_peak_nobody_can_say", "{}", 100, 0, true},
};

/* No best of a run, no configuration of a build; the summary counts it. */
static void wonders_are_not_believed(void **state) {
    const claim_row *row = *state;
    kiln_err err = {0};
    kiln_db *db = kiln_test_db_open(":memory:");
    const kiln_tune_works works = kiln_test_tune_works(&conv, 1);
    const kiln_op_work *w = &works.list.v[0].op;
    const kiln_db_task task =
        kiln_tune_task_of(kiln_test_arena(), w, kiln_test_native(), 1, KILN_TUNE_CACHE);
    kiln_tune_task t;
    int64_t id = 0;
    kiln_assert_status_ok(kiln_db_task_id(db, &task, &id, &err), &err);
    kiln_assert_status_ok(kiln_tune_task_make(kiln_test_arena(), &w->workload,
                                              kiln_test_native(), NULL, &t, &err),
                          &err);
    const kiln_config c = t.tmpl->guess(t.work, t.profile, &t.space);
    const kiln_db_trial trial = {
        .candidate = {t.tmpl->name,
                      kiln_tune_config_text(kiln_test_arena(), t.tmpl, &t.space, &c)},
        .sample_ns = &row->ns,
        .n_samples = 1,
        .peak_gflops = row->peak_gflops,
        .proof = "{\"seeds\": 3}",
        .facts = row->facts,
        .owner = "elsewhere.1",
        .kiln = "0.0"};
    kiln_assert_status_ok(kiln_db_record(db, id, &trial, NULL, &err), &err);
    /* Nothing but this was measured: no search. */
    const kiln_origin origin = kiln_test_tune_choose(db, w, 1).origin;
    assert_int_equal(origin == KILN_ORIGIN_TIMED, row->is_believed);
    const kiln_tune_options o = kiln_test_tune_options(db, 3);
    const kiln_tune_result r = kiln_test_tune(&works, &o);
    assert_int_equal(r.row.v[0].best_ns == row->ns, row->is_believed);
    assert_int_equal(r.n_unbelieved, row->is_believed ? 0 : 1);
    kiln_buf text;
    kiln_buf_init(&text, kiln_test_arena());
    kiln_tune_text(&text, &(kiln_tune_report){.result = &r});
    assert_int_equal(strstr(text.p, "records were not used") == NULL, row->is_believed);
    kiln_db_problems own, both;
    kiln_assert_status_ok(kiln_db_check(db, kiln_test_arena(), &own, &err), &err);
    both = own;
    kiln_assert_status_ok(kiln_tune_check(db, kiln_test_arena(), &both, &err), &err);
    assert_int_equal(both.line.n, row->is_believed ? 0 : 1);
    assert_int_equal(both.line.n - own.line.n,
                     !row->is_believed && strcmp(row->facts, "{}") == 0);
    kiln_db_close(db);
}

/* ---- the curve ------------------------------------------------------------------- */

static const kiln_json *curve_json(const kiln_tune_result *r) {
    kiln_err err = {0};
    kiln_buf text;
    const kiln_json *root = NULL;
    kiln_buf_init(&text, kiln_test_arena());
    kiln_tune_json(&text, &(kiln_tune_report){.result = r});
    kiln_assert_status_ok(
        kiln_json_parse(kiln_test_arena(), kiln_buf_str(&text), "tune", &root, &err),
        &err);
    return kiln_json_get(root, "curve");
}

/* It falls from point to point and ends at the run's sum; in JSON too. */
static void check_curve(const kiln_tune_result *r) {
    const kiln_json *json = curve_json(r);
    int64_t trial = -1;
    assert_true(r->curve.n > 0);
    assert_int_equal(kiln_json_size(json), r->curve.n);
    for (size_t i = 0; i < r->curve.n; i++) {
        const kiln_tune_point *p = &r->curve.v[i];
        const kiln_json *row = kiln_json_at(json, i);
        assert_true(p->trial > trial && p->trial <= r->n_new);
        assert_true(i == 0 || p->ns < r->curve.v[i - 1].ns);
        assert_true(kiln_json_i64(kiln_json_get(row, "trial"), &trial) &&
                    trial == p->trial);
        kiln_assert_close_f64(&(double){kiln_json_number(kiln_json_get(row, "ns"), 0)},
                              &p->ns, 1, 4, 0);
    }
    kiln_assert_close_f64(&r->curve.v[r->curve.n - 1].ns, &r->best_ns, 1, 4, 0);
}

/* ---- noise ----------------------------------------------------------------------- */

typedef struct noise_row {
    const char *name;
    bool calm_is_there, is_repeated; /* another candidate; a second round on record */
    int64_t n_again;                 /* candidates that a run measures once more */
    bool takes_it;                   /* a build does, before that run */
} noise_row;

static noise_row noise_rows[] = {
    {"a_noisy_best_is_measured_again", true, false, 1, false},
    {"but_once", true, true, 0, true},
    {"better_a_noisy_one_than_none", false, false, 1, true},
};

/* Of the template's own rule, or one beside it that has the same layouts. */
static void put_round(kiln_db *db, const kiln_op_work *w, bool is_guess, double ns,
                      bool is_noisy, bool is_repeat) {
    kiln_err err = {0};
    int64_t id = 0;
    const kiln_db_task task =
        kiln_tune_task_of(kiln_test_arena(), w, kiln_test_native(), 1, KILN_TUNE_CACHE);
    kiln_assert_status_ok(kiln_db_task_id(db, &task, &id, &err), &err);
    const kiln_db_trial trial = {
        .candidate = kiln_test_tune_turned(w, "unroll", is_guess ? 0 : 1),
        .sample_ns = &ns,
        .n_samples = 1,
        .proof = "{\"seeds\": 3}",
        .facts = is_noisy ? "{\"noisy\": true}" : NULL,
        .owner = "elsewhere.1",
        .kiln = KILN_VERSION,
        .is_repeat = is_repeat};
    kiln_assert_status_ok(kiln_db_record(db, id, &trial, NULL, &err), &err);
}

/* No kernel takes 900 ns or less: measured again, the noisy one is the slower. */
static void noise_is_measured_again(void **state) {
    const noise_row *row = *state;
    kiln_db *db = kiln_test_db_open(":memory:");
    const kiln_tune_works works = kiln_test_tune_works(&conv, 1);
    const kiln_op_work *w = &works.list.v[0].op;
    if (row->calm_is_there)
        put_round(db, w, false, 900, false, false);
    put_round(db, w, true, 890, true, false);
    if (row->is_repeated)
        put_round(db, w, true, 880, true, true);
    const kiln_db_trials before = kiln_test_tune_trials(db, w, KILN_TUNE_CACHE);
    const char *calm = before.list.v[0].candidate.config;
    const char *noisy = before.list.v[before.list.n - 1].candidate.config;
    const kiln_choice c = kiln_test_tune_choose(db, w, 1);
    assert_string_equal(kiln_test_config_text(&c), row->takes_it ? noisy : calm);

    const kiln_tune_options o = kiln_test_tune_options(db, row->calm_is_there ? 2 : 1);
    kiln_tune_result r = kiln_test_tune(&works, &o);
    assert_int_equal(r.n_new, 0);
    assert_int_equal(r.n_again, row->n_again);
    check_curve(&r); /* what was noise is taken back */
    const kiln_db_trials after = kiln_test_tune_trials(db, w, KILN_TUNE_CACHE);
    assert_int_equal(after.list.n, before.list.n + (size_t)row->n_again);
    if (row->n_again > 0) {
        const kiln_db_trial *x = &after.list.v[before.list.n];
        assert_string_equal(x->candidate.config, noisy);
        assert_int_equal(x->round, 1);
        assert_string_equal(x->error, "");
        assert_string_equal(r.row.v[0].best, calm);
        assert_true(!row->calm_is_there || r.row.v[0].best_ns == 900);
    }
    r = kiln_test_tune(&works, &o);
    assert_int_equal(r.n_again, 0);
    kiln_test_db_is_sound(db);
    kiln_db_close(db);
}

/* ---- where the curve begins -------------------------------------------------------- */

/* Without records: when both works have a kernel. */
static void curves_begin_when_all_have_a_kernel(void **state) {
    (void)state;
    const char *const line[] = {conv, product};
    kiln_db *db = kiln_test_db_open(":memory:");
    const kiln_tune_works works = kiln_test_tune_works(line, 2);
    const kiln_tune_options o = kiln_test_tune_options(db, 4);
    const kiln_tune_result r = kiln_test_tune(&works, &o);
    check_curve(&r);
    assert_true(r.curve.v[0].trial >= 2);
    kiln_db_close(db);
}

/* With them: before the first trial, at what is on record. The records are calm, and
 * better than any kernel: what this run measures takes back no point. */
static void curves_go_on(void **state) {
    (void)state;
    enum { NS = 10 };
    const char *const line[] = {conv, product};
    kiln_db *db = kiln_test_db_open(":memory:");
    const kiln_tune_works works = kiln_test_tune_works(line, 2);
    double sum = 0;
    for (size_t i = 0; i < works.list.n; i++) {
        put_round(db, &works.list.v[i].op, true, NS, false, false);
        sum += works.list.v[i].calls * NS;
    }
    const kiln_tune_options o = kiln_test_tune_options(db, 6);
    const kiln_tune_result r = kiln_test_tune(&works, &o);
    check_curve(&r);
    assert_true(r.n_new > 0);
    assert_int_equal(r.curve.v[0].trial, 0);
    kiln_assert_close_f64(&r.curve.v[0].ns, &sum, 1, 4, 0);
    kiln_db_close(db);
}

/* ---- in the network -------------------------------------------------------------- */

static void equal_kernels_are_one_work(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_tune_works works;
    kiln_assert_status_ok(kiln_tune_works_of_graph(kiln_test_arena(),
                                                   kiln_test_tune_network(),
                                                   kiln_test_native(), &works, &err),
                          &err);
    assert_int_equal(works.list.n, 2);
    assert_true(works.list.v[0].calls == 2);
    assert_true(works.list.v[1].calls == 1);
}

/* What a compile asks an oracle for. */
typedef struct asked {
    kiln_map calls; /* key -> how often */
    size_t n;
} asked;

static kiln_status count_asked(void *user, kiln_arena *scratch, const kiln_op_work *w,
                               const kiln_profile *p, kiln_answers *out,
                               kiln_err *err) {
    asked *x = user;
    kiln_tune_task t;
    kiln_cost cost;
    (void)out;
    kiln_node_cost(w->workload.anchor, &cost);
    if (w->workload.anchor->op->fuse != KILN_FUSE_OUT_FUSABLE && cost.muladds == 0)
        return KILN_OK;
    KILN_TRY(kiln_tune_task_make(scratch, &w->workload, p, NULL, &t, err));
    if (t.space.size <= 1)
        return KILN_OK;
    const uintptr_t n = (uintptr_t)kiln_map_get(&x->calls, w->key);
    x->n += n == 0;
    kiln_map_set(kiln_test_arena(), &x->calls,
                 kiln_str_from(kiln_str_dupv(kiln_test_arena(), w->key)),
                 (void *)(n + 1));
    return KILN_OK;
}

typedef struct listed_row {
    const char *name, *zoo, *text; /* a network of the zoo, or a graph's text */
    int times;                     /* that the compile's kernels run */
} listed_row;

static listed_row listed_rows[] = {
    {"lists_dqn", "dqn", NULL, 1},
    {"lists_dcgan", "dcgan", NULL, 1},
    {"lists_attention", NULL,
     "graph \"g\" { input %q : f32[2,24,16] input %k : f32[2,40,16] "
     "input %v : f32[2,40,16] %y = attention(%q, %k, %v) {scale=0.25} output %y }",
     1},
    {"lists_branches", NULL,
     "graph \"g\" { input %c : bool[] input %x : f32[1,16,9,9] "
     "input %w : f32[16,16,3,3] %h = conv(%x, %w) {pads=[1,1,1,1]} "
     "%y = if(%c, %h, %w, %h, %w) {then_branch=graph \"then\" { input %x : "
     "f32[1,16,9,9] "
     "input %w : f32[16,16,3,3] %y = conv(%x, %w) {pads=[1,1,1,1]} output %y }, "
     "else_branch=graph \"else\" { input %x : f32[1,16,9,9] "
     "input %w : f32[16,16,3,3] %a = conv(%x, %w) {pads=[1,1,1,1]} %y = relu(%a) "
     "output %y }} output %y }",
     1},
    {"lists_steps", NULL,
     "graph \"g\" { input %s : f32[8,32] input %x : f32[3,8,32] "
     "input %w : f32[32,32] %last, %y = scan(%s, %x, %w) {n_state=1, n_scan=1, "
     "body=graph \"step\" { input %s : f32[8,32] input %e : f32[8,32] "
     "input %w : f32[32,32] %a = matmul(%s, %w) %n = add(%a, %e) output %n output %n "
     "}} output %y }",
     3},
};

static kiln_graph *listed_graph(const listed_row *row) {
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_arena *a = kiln_test_arena();
    if (row->zoo != NULL) {
        const kiln_zoo_network *z = NULL;
        kiln_assert_status_ok(kiln_zoo_find(row->zoo, &z, &err), &err);
        kiln_assert_status_ok(kiln_zoo_import(a, z, 1, KILN_ZOO_FILLED, &g, &err),
                              &err);
    } else {
        kiln_assert_status_ok(
            kiln_graph_parse(a, kiln_str_from(row->text), row->name, &g, &err), &err);
    }
    kiln_assert_status_ok(kiln_graph_optimize(g, NULL, &err), &err);
    return g;
}

/* The same works, as often, though nothing is compiled. */
static void lists_what_a_compile_asks_for(void **state) {
    const listed_row *row = *state;
    kiln_err err = {0};
    asked x = {.n = 0};
    kiln_network n;
    kiln_tune_works works;
    kiln_graph *g = listed_graph(row);
    const kiln_oracle oracle = {count_asked, &x};
    const kiln_choose_options choose = {.oracle = &oracle};
    /* The one that asks once for each. */
    const kiln_network_options o = {.choose = &choose,
                                    .chooser = &kiln_net_chooser_greedy};
    kiln_assert_status_ok(
        kiln_network_compile(kiln_test_arena(), g, kiln_test_native(), &o, &n, &err),
        &err);
    kiln_assert_status_ok(kiln_tune_works_of_graph(kiln_test_arena(), g,
                                                   kiln_test_native(), &works, &err),
                          &err);
    assert_int_equal(works.list.n, x.n);
    assert_true(x.n > 0);
    for (size_t i = 0; i < works.list.n; i++) {
        const uintptr_t calls =
            (uintptr_t)kiln_map_get(&x.calls, works.list.v[i].op.key);
        if (calls == 0)
            fail_msg("a compile makes no '%.*s'", KILN_STR_ARG(works.list.v[i].op.key));
        assert_true(works.list.v[i].calls == row->times * (double)calls);
    }
}

int main(void) {
    kiln_test_add("runs_go_on", runs_go_on, NULL);
    kiln_test_add("trials_are_on_record", trials_are_on_record, NULL);
    kiln_test_add("stops_in_time", stops_in_time, NULL);
    kiln_test_add("anothers_records_count_once", anothers_records_count_once, NULL);
    kiln_test_add("workloads_take_turns", workloads_take_turns, NULL);
    kiln_test_add("the_dead_claim_nothing", the_dead_claim_nothing, NULL);
    kiln_test_add("workers_must_be_there", workers_must_be_there, NULL);
    kiln_test_add("builds_take_the_best", builds_take_the_best, NULL);
    kiln_test_add("strange_records_are_left_alone", strange_records_are_left_alone,
                  NULL);
    kiln_test_add_rows(noise_is_measured_again, noise_rows);
    kiln_test_add_rows(wonders_are_not_believed, claim_rows);
    kiln_test_add("curves_begin_when_all_have_a_kernel",
                  curves_begin_when_all_have_a_kernel, NULL);
    kiln_test_add("curves_go_on", curves_go_on, NULL);
    kiln_test_add("equal_kernels_are_one_work", equal_kernels_are_one_work, NULL);
    kiln_test_add_rows(lists_what_a_compile_asks_for, listed_rows);
    return kiln_test_run("tune");
}
