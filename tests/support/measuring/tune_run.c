/* Tuning runs for tests. */
#include "tests/support/measuring/tune_run.h"

#include <string.h>

#include "compiler/pass/pass.h"
#include "pipeline/tune/tune_internal.h"
#include "tests/support/measuring/measure_run.h"

const kiln_profile *kiln_test_native(void) {
    static kiln_profile native;
    static kiln_arena arena; /* until the program ends */
    if (native.name == NULL)
        kiln_test_native_of(&arena, &native);
    return &native;
}

kiln_tune_options kiln_test_tune_options(kiln_db *db, int64_t trials) {
    return (kiln_tune_options){
        .profile = kiln_test_native(),
        .db = db,
        .trials = trials,
        .builder_argv = kiln_test_worker(kiln_test_arena(), "kiln-builder"),
        .runner_argv = kiln_test_worker(kiln_test_arena(), "kiln-runner")};
}

kiln_tune_works kiln_test_tune_works(const char *const *line, int n) {
    kiln_op_lines lines = {.list = {.n = 0}};
    kiln_tune_works works;
    kiln_err err = {0};
    for (int i = 0; i < n; i++) {
        kiln_op_line l;
        kiln_assert_status_ok(kiln_op_line_of(kiln_test_arena(), line[i], &l, &err),
                              &err);
        kiln_vec_push(kiln_test_arena(), &lines.list, l);
    }
    kiln_assert_status_ok(
        kiln_tune_works_of_lines(kiln_test_arena(), &lines, &works, &err), &err);
    return works;
}

kiln_tune_result kiln_test_tune(const kiln_tune_works *w, const kiln_tune_options *o) {
    kiln_err err = {0};
    kiln_tune_result r;
    kiln_assert_status_ok(kiln_tune_run(kiln_test_arena(), w, o, &r, &err), &err);
    return r;
}

kiln_graph *kiln_test_tune_graph(const char *text) {
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(
        kiln_graph_parse(kiln_test_arena(), kiln_str_from(text), "g", &g, &err), &err);
    kiln_assert_status_ok(kiln_graph_optimize(g, NULL, &err), &err);
    return g;
}

int64_t kiln_test_tune_task(kiln_db *db, const kiln_op_work *w, const char *cache) {
    kiln_err err = {0};
    int64_t id = 0;
    const kiln_db_task task =
        kiln_tune_task_of(kiln_test_arena(), w, kiln_test_native(), 1, cache);
    kiln_assert_status_ok(kiln_db_task_id(db, &task, &id, &err), &err);
    return id;
}

void kiln_test_tune_record(kiln_db *db, const kiln_op_work *w,
                           const kiln_template *tmpl, const char *config, double ns) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_tune_task t;
    const int64_t id = kiln_test_tune_task(db, w, KILN_TUNE_CACHE);
    kiln_assert_status_ok(
        kiln_tune_task_make(a, &w->workload, kiln_test_native(), tmpl, &t, &err), &err);
    kiln_config c = tmpl->guess(t.work, t.profile, &t.space);
    if (config != NULL)
        assert_true(kiln_tune_config_read(a, tmpl, &t.space, config, &c));
    const kiln_db_trial trial = {
        .candidate = {tmpl->name, kiln_tune_config_text(a, tmpl, &t.space, &c)},
        .layouts = kiln_tune_activations(a, &t, &t.space, &c),
        .sample_ns = &ns,
        .n_samples = 1,
        .proof = "{\"seeds\": 3}",
        .owner = "elsewhere.1",
        .kiln = "0.0"};
    kiln_assert_status_ok(kiln_db_record(db, id, &trial, NULL, &err), &err);
}

kiln_choice kiln_test_tune_choose(kiln_db *db, const kiln_op_work *w, int threads) {
    kiln_err err = {0};
    kiln_choice c;
    kiln_tune_advice advice = {
        .db = db, .threads = threads, .arena = kiln_test_arena()};
    const kiln_oracle oracle = kiln_tune_oracle(&advice);
    const kiln_choose_options o = {.oracle = &oracle};
    kiln_assert_status_ok(
        kiln_choose(kiln_test_arena(), w, kiln_test_native(), &o, &c, &err), &err);
    return c;
}

const char *kiln_test_config_text(const kiln_choice *c) {
    kiln_buf text;
    kiln_json_writer w;
    kiln_buf_init(&text, kiln_test_arena());
    kiln_json_writer_init(&w, &text);
    w.compact_from = 1;
    kiln_config_put(&w, c->tmpl, &c->space, &c->config);
    return text.p;
}

kiln_db_trials kiln_test_tune_trials(kiln_db *db, const kiln_op_work *w,
                                     const char *cache) {
    kiln_err err = {0};
    int64_t id = 0;
    kiln_db_trials t;
    const kiln_db_task task =
        kiln_tune_task_of(kiln_test_arena(), w, kiln_test_native(), 1, cache);
    kiln_assert_status_ok(kiln_db_task_id(db, &task, &id, &err), &err);
    kiln_assert_status_ok(kiln_db_trials_of(db, kiln_test_arena(), id, &t, &err), &err);
    return t;
}

/* What the template's own rule chooses, with one knob turned on by so many options. */
kiln_db_candidate kiln_test_tune_turned(const kiln_op_work *w, const char *knob,
                                        int by) {
    kiln_err err = {0};
    kiln_tune_task t;
    kiln_buf text;
    kiln_json_writer json;
    kiln_arena *a = kiln_test_arena();
    kiln_assert_status_ok(
        kiln_tune_task_make(a, &w->workload, kiln_test_native(), NULL, &t, &err), &err);
    kiln_config c = t.tmpl->guess(t.work, t.profile, &t.space);
    for (int k = 0; k < t.space.n; k++)
        if (strcmp(t.space.knob[k].name, knob) == 0)
            c.option[k] = (int16_t)((c.option[k] + by) % t.space.knob[k].n);
    kiln_buf_init(&text, a);
    kiln_json_writer_init(&json, &text);
    json.compact_from = 1;
    kiln_config_put(&json, t.tmpl, &t.space, &c);
    return (kiln_db_candidate){t.tmpl->name, text.p};
}

/* Two equal convolutions, another one behind, and what is not tuned. */
kiln_graph *kiln_test_tune_network(void) {
    const char text[] =
        "graph \"g\" { input %x : f32[1,16,9,9] input %w : f32[16,16,3,3] "
        "input %v : f32[32,16,1,1] %a = conv(%x, %w) {pads=[1,1,1,1]} %b = relu(%a) "
        "%c = conv(%b, %w) {pads=[1,1,1,1]} %d = relu(%c) %e = conv(%d, %v) "
        "%f = max_pool(%e) {kernel=[3,3]} output %f }";
    return kiln_test_tune_graph(text);
}
