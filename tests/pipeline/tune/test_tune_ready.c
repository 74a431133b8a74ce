/* Ready records: which of a database ship, which of them hold, and who asks them.
 * Nothing is measured here but where a search begins: times are made up. */
#include "pipeline/tune/tune_internal.h"
#include "tests/support/kiln_test.h"
#include "tests/support/measuring/measure_run.h"
#include "compiler/network/network_choose.h"

#include <string.h>

static kiln_profile native;

static const char *const conv = "conv one h=7 ic=16 oc=32 k=3 act=relu";
static const char *const conv_add = "conv two h=7 ic=16 oc=32 k=3";

static kiln_db *open_db(void) {
    kiln_err err = {0};
    kiln_db *db = NULL;
    kiln_assert_status_ok(kiln_db_open(kiln_test_arena(), ":memory:", NULL, &db, &err),
                          &err);
    return db;
}

static kiln_op_work work(const char *text) {
    kiln_err err = {0};
    kiln_op_line line;
    kiln_op_work w;
    kiln_assert_status_ok(kiln_op_line_of(kiln_test_arena(), text, &line, &err), &err);
    kiln_assert_status_ok(kiln_op_work_make(kiln_test_arena(), &line, &w, &err), &err);
    return w;
}

/* The configurations that a search of it would measure: 0 is what the rule says, the
 * others follow it. */
static const char *config(const kiln_op_work *w, int n) {
    kiln_err err = {0};
    kiln_tune_task t;
    kiln_assert_status_ok(
        kiln_tune_space(kiln_test_arena(), w, &native, NULL, &t, &err), &err);
    const kiln_config guess = t.tmpl->guess(t.work, t.profile, &t.space);
    const char *want = kiln_tune_activations(kiln_test_arena(), &t, &t.space, &guess);
    uint64_t index = kiln_config_index(&t.space, &guess);
    for (int found = 0; found < n;) {
        index = (index + 1) % t.space.size;
        const kiln_config c = kiln_config_at(&t.space, index);
        const char *got = kiln_tune_activations(kiln_test_arena(), &t, &t.space, &c);
        found += got != NULL && strcmp(got, want) == 0;
    }
    return kiln_tune_index_text(kiln_test_arena(), &t, index);
}

typedef struct fact {
    const char *cache;
    int threads, config;
    double ns;
    const char *facts;
} fact;

#define ALONE KILN_TUNE_CACHE
#define NETWORK KILN_TUNE_CACHE_NETWORK

static void put(kiln_db *db, const kiln_op_work *w, const kiln_profile *p,
                const fact *f, size_t n) {
    kiln_err err = {0};
    for (size_t i = 0; i < n; i++) {
        int64_t id = 0;
        const kiln_db_task task =
            kiln_tune_task_of(kiln_test_arena(), w, p, f[i].threads, f[i].cache);
        const kiln_db_trial t = {.candidate = {kiln_template_for(&w->workload, p)->name,
                                               config(w, f[i].config)},
                                 .layouts = "some",
                                 .sample_ns = &f[i].ns,
                                 .n_samples = 1,
                                 .facts = f[i].facts,
                                 .proof = "{\"seeds\": 3, \"worst\": 0.25}",
                                 .owner = "test",
                                 .kiln = "0.0",
                                 .time_ms = 1000};
        kiln_assert_status_ok(kiln_db_task_id(db, &task, &id, &err), &err);
        kiln_assert_status_ok(kiln_db_record(db, id, &t, NULL, &err), &err);
    }
}

static kiln_db_readies made(kiln_db *db, kiln_db_problems *left) {
    kiln_err err = {0};
    kiln_db_readies r;
    kiln_assert_status_ok(kiln_tune_ready_make(kiln_test_arena(), db, &r, left, &err),
                          &err);
    return r;
}

static void assert_counts(const kiln_db_readies *r, size_t n_wrong, size_t n_stale,
                          const char *text) {
    kiln_err err = {0};
    kiln_db_problems wrong, stale;
    kiln_assert_status_ok(
        kiln_tune_ready_check(kiln_test_arena(), r, &wrong, &stale, &err), &err);
    for (size_t i = 0; i < wrong.line.n + stale.line.n; i++) {
        const char *line =
            i < wrong.line.n ? wrong.line.v[i] : stale.line.v[i - wrong.line.n];
        if (text == NULL || strstr(line, text) == NULL)
            fail_msg("'%s' is not in '%s'", text, line);
    }
    assert_int_equal(wrong.line.n, n_wrong);
    assert_int_equal(stale.line.n, n_stale);
}

/* ---- making ---------------------------------------------------------------------- */

typedef struct make_row {
    const char *name;
    fact fact[5];
    int want; /* configuration; -1: none ships */
    double want_ns;
    const char *left; /* why none does */
} make_row;

static make_row make_rows[] = {
    {"the_fastest_ships",
     {{ALONE, 1, 0, 300, 0}, {ALONE, 1, 1, 200, 0}, {ALONE, 1, 2, 100, 0}},
     2,
     100,
     NULL},
    {"the_rule_itself_may_be_the_best",
     {{ALONE, 1, 0, 100, 0}, {ALONE, 1, 1, 200, 0}},
     0,
     100,
     NULL},
    {"the_network_decides",
     {{ALONE, 1, 0, 300, 0},
      {ALONE, 1, 1, 100, 0},
      {ALONE, 1, 2, 110, 0},
      {NETWORK, 1, 1, 500, 0},
      {NETWORK, 1, 2, 400, 0}},
     2,
     110,
     NULL},
    {"but_not_for_one_that_is_slower_than_the_rule",
     {{ALONE, 1, 0, 300, 0},
      {ALONE, 1, 1, 100, 0},
      {ALONE, 1, 2, 310, 0},
      {NETWORK, 1, 2, 1, 0}},
     1,
     100,
     NULL},
    {"noise_does_not_ship",
     {{ALONE, 1, 0, 300, 0}, {ALONE, 1, 1, 100, "{\"noisy\": true}"}},
     0,
     300,
     NULL},
    {"all_is_noise",
     {{ALONE, 1, 0, 300, "{\"noisy\": true}"}},
     -1,
     0,
     "nothing that was measured is sure enough"},
    {"the_rule_must_be_known",
     {{ALONE, 1, 1, 100, 0}},
     -1,
     0,
     "what the template's rule says today was not measured"},
};

static void check_make(void **state) {
    const make_row *row = *state;
    const kiln_op_work w = work(conv);
    kiln_db *db = open_db();
    kiln_db_problems left;
    size_t n = 0;
    while (n < 5 && row->fact[n].cache != NULL)
        n++;
    put(db, &w, &native, row->fact, n);
    const kiln_db_readies r = made(db, &left);
    assert_int_equal(r.list.n, row->want >= 0);
    assert_int_equal(left.line.n, row->want < 0);
    if (row->want < 0) {
        assert_non_null(strstr(left.line.v[0], row->left));
    } else {
        assert_string_equal(r.list.v[0].candidate.config, config(&w, row->want));
        assert_true(r.list.v[0].ns == row->want_ns);
        assert_string_equal(r.list.v[0].rule, config(&w, 0));
        assert_counts(&r, 0, 0, NULL);
    }
    kiln_db_close(db);
}

/* What no operator of today does is named, and the rest ships. */
static void unknown_work_is_left_out_by_name(void **state) {
    (void)state;
    kiln_err err = {0};
    const kiln_op_work w = work(conv);
    static const fact facts[] = {{ALONE, 1, 0, 300, 0}, {ALONE, 2, 0, 200, 0}};
    static const double ns = 5;
    kiln_db *db = open_db();
    kiln_db_problems left;
    int64_t id = 0;
    put(db, &w, &native, facts, 2);
    kiln_db_task task = kiln_tune_task_of(kiln_test_arena(), &w, &native, 1, ALONE);
    task.workload = "old_op(%0: f32[4]) -> %1";
    task.anchor = "old_op(%0: f32[4])";
    const kiln_db_trial t = {.candidate = {"old", "{}"},
                             .sample_ns = &ns,
                             .n_samples = 1,
                             .proof = "{}",
                             .owner = "test",
                             .kiln = "0.0"};
    kiln_assert_status_ok(kiln_db_task_id(db, &task, &id, &err), &err);
    kiln_assert_status_ok(kiln_db_record(db, id, &t, NULL, &err), &err);
    const kiln_db_readies r = made(db, &left);
    assert_int_equal(r.list.n, 2);
    assert_int_equal(left.line.n, 1);
    assert_non_null(
        strstr(left.line.v[0], "old_op(%0: f32[4]) -> %1 (native, 1 thread"));
    assert_non_null(strstr(left.line.v[0], "there is no operator 'old_op'"));
    kiln_db_close(db);
}

/* ---- do they hold? --------------------------------------------------------------- */

/* One record of `conv`: configuration 1 at 100 ns against the rule's 300. */
static kiln_db_ready good(const kiln_op_work *w) {
    static const fact facts[] = {{ALONE, 1, 0, 300, 0}, {ALONE, 1, 1, 100, 0}};
    kiln_db *db = open_db();
    kiln_db_problems left;
    put(db, w, &native, facts, 2);
    const kiln_db_readies r = made(db, &left);
    kiln_db_close(db);
    assert_int_equal(r.list.n, 1);
    return r.list.v[0];
}

static kiln_db_readies list_of(kiln_db_ready r) {
    kiln_db_readies out = {.list = {.n = 0}};
    kiln_vec_push(kiln_test_arena(), &out.list, r);
    return out;
}

static void what_does_not_hold_is_listed(void **state) {
    (void)state;
    const kiln_op_work w = work(conv);
    kiln_db_ready slow = good(&w), unproved = slow, elsewhere = slow, other = slow,
                  knobs = slow, unfair = slow, lost = slow;
    slow.ns = 301;
    unproved.proof = "{\"seeds\": 3, \"worst\": 1.5}";
    elsewhere.task.profile_json = "{\"name\": \"x\"}";
    other.candidate.tmpl = "generic";
    knobs.candidate.config = "{\"knob\": 3}";
    unfair.rule = config(&w, 2);
    lost.task.workload = "old_op(%0: f32[4]) -> %1";
    const struct {
        kiln_db_ready r;
        bool is_stale;
        const char *text;
    } row[] = {
        {slow, false, "slower than the template's rule"},
        {unproved, false, "does not prove that its results are right"},
        {elsewhere, false, "its profile is none"},
        {other, true, "takes the work today, not 'generic'"},
        {knobs, true, "refuses the configuration today"},
        {unfair, true, "says something else today, which it was not compared with"},
        {lost, true, "the work is none of today's: there is no operator 'old_op'"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        const kiln_db_readies r = list_of(row[i].r);
        assert_counts(&r, !row[i].is_stale, row[i].is_stale, row[i].text);
    }
}

/* ---- who asks them --------------------------------------------------------------- */

static kiln_db *ready_of(kiln_db_ready r) {
    kiln_err err = {0};
    kiln_db *db = NULL;
    const kiln_db_readies list = list_of(r);
    kiln_assert_status_ok(kiln_db_ready_open(kiln_test_arena(), &list, &db, &err),
                          &err);
    return db;
}

static kiln_choice chosen(const kiln_tune_advice *of, const kiln_op_work *w,
                          const kiln_profile *p) {
    kiln_err err = {0};
    kiln_choice c;
    kiln_tune_advice advice = *of;
    advice.arena = kiln_test_arena();
    const kiln_oracle oracle = kiln_tune_oracle(&advice);
    const kiln_choose_options o = {.oracle = &oracle};
    kiln_assert_status_ok(kiln_choose(kiln_test_arena(), w, p, &o, &c, &err), &err);
    return c;
}

static const char *text_of(const kiln_choice *c) {
    return kiln_tune_config_text(kiln_test_arena(), c->tmpl, &c->space, &c->config);
}

static bool is_record(kiln_origin o) {
    return o == KILN_ORIGIN_TUNED || o == KILN_ORIGIN_TRANSFERRED;
}

static void builds_take_ready_records(void **state) {
    (void)state;
    const kiln_op_work w = work(conv), other = work(conv_add);
    kiln_db *ready = ready_of(good(&w));
    const kiln_tune_advice ask = {.ready = ready, .threads = 1};
    const kiln_tune_advice team = {.ready = ready, .threads = 2};
    kiln_choice c = chosen(&ask, &w, &native);
    assert_int_equal(c.origin, KILN_ORIGIN_TUNED);
    assert_string_equal(text_of(&c), config(&w, 1));
    assert_int_equal(chosen(&ask, &other, &native).origin, KILN_ORIGIN_TRANSFERRED);
    assert_false(is_record(chosen(&team, &w, &native).origin));
    /* A machine of the same class, whatever its name; and one of another class. */
    kiln_profile server = native, narrow = native;
    server.name = "a server";
    server.cores = native.cores + 60;
    narrow.vector_bytes = native.vector_bytes / 2;
    c = chosen(&ask, &w, &server);
    assert_int_equal(c.origin, KILN_ORIGIN_TRANSFERRED);
    assert_string_equal(text_of(&c), config(&w, 1));
    assert_false(is_record(chosen(&ask, &w, &narrow).origin));
    kiln_db_close(ready);
}

/* A lead that the next machine may turn around counts where it was measured alone. */
static void small_leads_stay_at_home(void **state) {
    (void)state;
    const kiln_op_work w = work(conv);
    static const struct {
        double ns;
        bool counts_elsewhere;
    } row[] = {{300, false}, {297, false}, {290, true}};
    kiln_profile server = native;
    server.cores = native.cores + 60;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        kiln_db_ready r = good(&w);
        r.ns = row[i].ns;
        kiln_db *ready = ready_of(r);
        const kiln_tune_advice ask = {.ready = ready, .threads = 1};
        const kiln_tune_advice hint = {.ready = ready, .threads = 1, .is_hint = true};
        assert_int_equal(chosen(&ask, &w, &native).origin, KILN_ORIGIN_TUNED);
        assert_int_equal(is_record(chosen(&ask, &w, &server).origin),
                         row[i].counts_elsewhere);
        assert_true(is_record(chosen(&hint, &w, &server).origin));
        kiln_db_close(ready);
    }
}

/* Vectors alone are no kinship: caches and what a core does count, names do not. */
static void far_machines_only_hint(void **state) {
    (void)state;
    const kiln_op_work w = work(conv);
    kiln_profile cache = native, core = native, rate = native;
    cache.l2_bytes = 2 * native.l2_bytes;
    core.core.load_ports = 4 * native.core.load_ports;
    core.cores = native.cores + 60;
    rate.core.l2_rate = native.core.l2_rate + 1; /* as measured another time */
    rate.cores = native.cores + 60;
    const struct {
        const kiln_profile *profile;
        bool counts;
    } row[] = {{&cache, false}, {&core, false}, {&rate, true}};
    kiln_db *ready = ready_of(good(&w));
    const kiln_tune_advice ask = {.ready = ready, .threads = 1};
    const kiln_tune_advice hint = {.ready = ready, .threads = 1, .is_hint = true};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        assert_int_equal(is_record(chosen(&ask, &w, row[i].profile).origin),
                         row[i].counts);
        assert_true(is_record(chosen(&hint, &w, row[i].profile).origin));
    }
    kiln_db_close(ready);
}

/* Of two other machines, both named as this one: whose caches are nearer, though the
 * other is faster. */
static void the_nearest_machine_counts_not_the_fastest(void **state) {
    (void)state;
    kiln_err err = {0};
    const kiln_op_work w = work(conv);
    kiln_profile near = native, far = native;
    near.l2_bytes = native.l2_bytes + native.l2_bytes / 8;
    far.l2_bytes = native.l2_bytes + native.l2_bytes / 2;
    const kiln_profile *const machine[] = {&near, &far};
    kiln_db_readies list = {.list = {.n = 0}};
    for (int i = 0; i < 2; i++) {
        kiln_db_ready r = good(&w);
        kiln_buf text;
        kiln_buf_init(&text, kiln_test_arena());
        kiln_profile_json(&text, machine[i]);
        r.task.profile_json = text.p;
        r.candidate.config = config(&w, 1 + i);
        r.ns = 100 - 50 * i;
        r.rule_ns = 300 - 150 * i;
        kiln_vec_push(kiln_test_arena(), &list.list, r);
    }
    for (int i = 0; i < 2; i++) { /* whatever the order */
        kiln_db *ready = NULL;
        kiln_assert_status_ok(
            kiln_db_ready_open(kiln_test_arena(), &list, &ready, &err), &err);
        const kiln_tune_advice ask = {.ready = ready, .threads = 1};
        const kiln_choice c = chosen(&ask, &w, &native);
        assert_int_equal(c.origin, KILN_ORIGIN_TRANSFERRED);
        assert_string_equal(text_of(&c), config(&w, 1));
        kiln_db_close(ready);
        const kiln_db_ready first = list.list.v[0];
        list.list.v[0] = list.list.v[1];
        list.list.v[1] = first;
    }
}

/* Today's rule may be better than what a record was compared with: it is not used, but
 * a search may try it. */
static void stale_records_are_hints_only(void **state) {
    (void)state;
    const kiln_op_work w = work(conv);
    kiln_db_ready r = good(&w);
    r.rule = config(&w, 2);
    kiln_db *ready = ready_of(r);
    const kiln_tune_advice ask = {.ready = ready, .threads = 1};
    const kiln_tune_advice hint = {.ready = ready, .threads = 1, .is_hint = true};
    assert_false(is_record(chosen(&ask, &w, &native).origin));
    const kiln_choice c = chosen(&hint, &w, &native);
    assert_string_equal(text_of(&c), config(&w, 1));
    kiln_db_close(ready);
}

static void the_nearest_record_counts_and_then_ones_own(void **state) {
    (void)state;
    const kiln_op_work w = work(conv), other = work(conv_add);
    kiln_db *ready = ready_of(good(&w)), *own = open_db();
    static const fact two = {ALONE, 1, 2, 900, 0};
    const kiln_tune_advice ask = {.db = own, .ready = ready, .threads = 1};
    put(own, &other, &native, &two, 1); /* of the user's: another epilogue */
    kiln_choice c = chosen(&ask, &w, &native);
    assert_string_equal(text_of(&c), config(&w, 1));
    put(own, &w, &native, &two, 1); /* slower, but this very machine's */
    c = chosen(&ask, &w, &native);
    assert_string_equal(text_of(&c), config(&w, 2));
    kiln_db_close(ready);
    kiln_db_close(own);
}

/* ---- the tuner ------------------------------------------------------------------- */

static kiln_tune_result tune(kiln_db *db, kiln_db *ready, int64_t trials) {
    kiln_err err = {0};
    kiln_tune_result r;
    kiln_tune_works works = {.list = {.n = 0}};
    const kiln_tune_work one = {.op = work(conv), .calls = 1};
    const kiln_tune_options o = {
        .profile = &native,
        .db = db,
        .ready = ready,
        .trials = trials,
        .builder_argv = kiln_test_worker(kiln_test_arena(), "kiln-builder"),
        .runner_argv = kiln_test_worker(kiln_test_arena(), "kiln-runner")};
    kiln_vec_push(kiln_test_arena(), &works.list, one);
    kiln_assert_status_ok(kiln_tune_run(kiln_test_arena(), &works, &o, &r, &err), &err);
    return r;
}

static const char *first_trial(kiln_db *db, const kiln_op_work *w) {
    kiln_err err = {0};
    int64_t id = 0;
    kiln_db_trials t;
    const kiln_db_task task =
        kiln_tune_task_of(kiln_test_arena(), w, &native, 1, KILN_TUNE_CACHE);
    kiln_assert_status_ok(kiln_db_task_id(db, &task, &id, &err), &err);
    kiln_assert_status_ok(kiln_db_trials_of(db, kiln_test_arena(), id, &t, &err), &err);
    assert_true(t.list.n > 0);
    return t.list.v[0].candidate.config;
}

static void searches_begin_with_them(void **state) {
    (void)state;
    const kiln_op_work w = work(conv);
    kiln_db_ready r = good(&w);
    kiln_buf text;
    for (int is_stale = 0; is_stale < 2; is_stale++) {
        r.rule = config(&w, is_stale ? 2 : 0);
        kiln_db *db = open_db(), *ready = ready_of(r);
        const kiln_tune_result t = tune(db, ready, 3);
        assert_int_equal(t.row.v[0].is_from_ready, !is_stale);
        assert_string_equal(first_trial(db, &w), config(&w, is_stale ? 0 : 1));
        assert_true(t.row.v[0].start_ns > 0);
        kiln_buf_init(&text, kiln_test_arena());
        kiln_tune_text(&text, &(kiln_tune_report){.result = &t});
        assert_int_equal(strstr(text.p, "1 of 1 kernel began with a ready record") !=
                             NULL,
                         !is_stale);
        kiln_db_close(db);
        kiln_db_close(ready);
    }
}

/* ---- the file -------------------------------------------------------------------- */

static const char *write(const char *name, const char *text) {
    kiln_err err = {0};
    const char *path = kiln_path_join(kiln_test_arena(), kiln_test_dir(), name);
    kiln_assert_status_ok(kiln_file_write(path, text, strlen(text), &err), &err);
    return path;
}

static void a_bad_file_is_named_with_a_remedy(void **state) {
    (void)state;
    static const struct {
        const char *name, *text, *why;
    } row[] = {{"empty.jsonl", "", "are empty"},
               {"other.jsonl", "{\"x\": 1}\n", "no file of ready records"},
               {"newer.jsonl", "{\"kiln_ready_records\": 9}\n", "of version 9"},
               {"torn.jsonl", "{\"kiln_ready_records\": 1}\n{\"wor", "torn.jsonl"},
               {NULL, NULL, "none.jsonl"}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        kiln_err err = {0};
        kiln_tune_ready ready;
        const char *path =
            row[i].name == NULL
                ? kiln_path_join(kiln_test_arena(), kiln_test_dir(), "none.jsonl")
                : write(row[i].name, row[i].text);
        assert_int_not_equal(
            kiln_tune_ready_open(kiln_test_arena(), path, &ready, &err), KILN_OK);
        assert_non_null(strstr(err.text, row[i].why));
        assert_non_null(strstr(err.text, "leave them out by --no-ready"));
    }
}

/* What is committed. A stale record does no harm, as builds leave it alone: it is
 * listed here. Where most are, nothing ships, and the file is to be made anew. */
static void the_file_that_ships_holds(void **state) {
    (void)state;
    static const char path[] = "tuning_db/ready/ready.jsonl";
    enum { MOST_BYTES = 1 << 20 };
    kiln_err err = {0};
    kiln_tune_ready ready;
    kiln_db_problems wrong, stale;
    kiln_str text;
    kiln_buf again;
    kiln_assert_status_ok(kiln_tune_ready_open(kiln_test_arena(), path, &ready, &err),
                          &err);
    kiln_assert_status_ok(
        kiln_tune_ready_check(kiln_test_arena(), &ready.records, &wrong, &stale, &err),
        &err);
    for (size_t i = 0; i < wrong.line.n; i++)
        print_error("wrong: %s\n", wrong.line.v[i]);
    for (size_t i = 0; i < stale.line.n; i++)
        print_message("stale: %s\n", stale.line.v[i]);
    assert_int_equal(wrong.line.n, 0);
    if (2 * stale.line.n > ready.records.list.n)
        fail_msg(
            "%zu of %zu ready records are stale: tune again and make the file anew "
            "(tuning_db/ready/README.md)",
            stale.line.n, ready.records.list.n);
    /* As its maker writes it. */
    kiln_assert_status_ok(
        kiln_file_map(kiln_test_arena(), path, MOST_BYTES, &text, &err), &err);
    kiln_buf_init(&again, kiln_test_arena());
    kiln_assert_status_ok(kiln_db_ready_write(&again, &ready.records, &err), &err);
    kiln_assert_text_equal(kiln_buf_str(&again), text);
}

int main(void) {
    kiln_err err = {0};
    if (kiln_profile_detect(kiln_test_arena(), &native, &err) != KILN_OK)
        return 1;
    kiln_test_add_rows(check_make, make_rows);
    kiln_test_add("unknown_work_is_left_out_by_name", unknown_work_is_left_out_by_name,
                  NULL);
    kiln_test_add("what_does_not_hold_is_listed", what_does_not_hold_is_listed, NULL);
    kiln_test_add("builds_take_ready_records", builds_take_ready_records, NULL);
    kiln_test_add("small_leads_stay_at_home", small_leads_stay_at_home, NULL);
    kiln_test_add("far_machines_only_hint", far_machines_only_hint, NULL);
    kiln_test_add("the_nearest_machine_counts_not_the_fastest",
                  the_nearest_machine_counts_not_the_fastest, NULL);
    kiln_test_add("stale_records_are_hints_only", stale_records_are_hints_only, NULL);
    kiln_test_add("the_nearest_record_counts_and_then_ones_own",
                  the_nearest_record_counts_and_then_ones_own, NULL);
    kiln_test_add("searches_begin_with_them", searches_begin_with_them, NULL);
    kiln_test_add("a_bad_file_is_named_with_a_remedy",
                  a_bad_file_is_named_with_a_remedy, NULL);
    kiln_test_add("the_file_that_ships_holds", the_file_that_ships_holds, NULL);
    return kiln_test_run("tune ready");
}
