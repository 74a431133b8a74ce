/* What ships: steps and kernels of a package and of a model, what records and results
 * say of them, code as it lies in the library. Nothing is run. */
#include "pipeline/package/package_shipped.h"
#include "pipeline/kernels/op_line.h"
#include "pipeline/tune/tune.h"
#include "tests/support/kiln_test.h"
#include "tests/support/package/package_build.h"

#include <stdint.h>
#include <string.h>

#define MODEL "demo/samplenet/samplenet.onnx"

static kiln_arena *arena(void) { return kiln_test_arena(); }

static kiln_shipped package(const char *profile) {
    const char *path = kiln_path_join(arena(), kiln_test_dir(), "x.kiln.tar.zst");
    kiln_err err = {0};
    kiln_profile p;
    kiln_shipped s;
    kiln_assert_status_ok(kiln_profile_find(arena(), profile, &p, &err), &err);
    kiln_test_package_file(kiln_test_network_text, &p, path);
    kiln_assert_status_ok(kiln_shipped_of_package(arena(), path, &s, &err), &err);
    return s;
}

static size_t find(const kiln_shipped *s, const char *word) {
    kiln_err err = {0};
    size_t step = 0;
    kiln_assert_status_ok(kiln_shipped_find(s, word, &step, &err), &err);
    return step;
}

static const char *text_of(const kiln_shipped *s, size_t step) {
    kiln_err err = {0};
    kiln_buf out;
    kiln_buf_init(&out, arena());
    if (step == SIZE_MAX)
        kiln_shipped_text(&out, s);
    else
        kiln_assert_status_ok(kiln_shipped_step_text(&out, s, step, &err), &err);
    return out.p;
}

static void a_package_lists_its_steps(void **state) {
    (void)state;
    const kiln_shipped s = package("x86-avx2");
    const char *text = text_of(&s, SIZE_MAX);
    assert_int_equal(s.step.n, s.package.package.n_steps);
    assert_int_equal(s.kernel.n, s.facts.n_kernels);
    for (size_t i = 0; i < s.step.n; i++)
        assert_non_null(strstr(text, s.step.v[i].name));
    assert_non_null(strstr(text, " conv         default     conv_"));
    assert_non_null(strstr(text, "small, x86-avx2, 1 thread: "));
    assert_int_equal(find(&s, "1"), 0);
    assert_int_equal(find(&s, s.step.v[1].name), 1);
}

static void steps_that_are_not_there(void **state) {
    (void)state;
    const kiln_shipped s = package("x86-avx2");
    static const char *const words[] = {"0", "99", "-1", "conv9", ""};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        kiln_err err = {0};
        size_t step = 0;
        kiln_assert_fails(kiln_shipped_find(&s, words[i], &step, &err), KILN_ERR_ARG,
                          &err, "or a step's name, is '");
    }
}

/* Each kernel begins with its own function and ends before the next: no text has
 * another's code in it. */
static void check_code(const char *profile, const char *back) {
    const kiln_shipped s = package(profile);
    for (size_t i = 0; i < s.step.n; i++) {
        kiln_err err = {0};
        kiln_str code;
        if (s.step.v[i].kernel < 0) {
            kiln_assert_fails(kiln_shipped_assembly(arena(), &s, i, &code, &err),
                              KILN_ERR_ARG, &err, "is a copy");
            continue;
        }
        kiln_assert_status_ok(kiln_shipped_assembly(arena(), &s, i, &code, &err), &err);
        assert_true(code.n > 20);
        assert_non_null(strstr(kiln_str_dupv(arena(), code), back));
    }
    assert_non_null(
        strstr(text_of(&s, 0), "--model M makes schedule and loop program"));
}

static void code_is_the_librarys(void **state) {
    (void)state;
    check_code("x86-avx2", "ret");
    check_code("aarch64", "ret");
}

static kiln_shipped model(void) {
    kiln_err err = {0};
    kiln_profile *p = kiln_new(arena(), kiln_profile);
    kiln_source source;
    kiln_shipped s;
    const kiln_import_options o = {.n_shapes = 0};
    const kiln_choose_options choose = {.tmpl = NULL};
    kiln_assert_status_ok(kiln_profile_find(arena(), "x86-avx2", p, &err), &err);
    kiln_assert_status_ok(kiln_source_read(arena(), MODEL, &o, &source, &err), &err);
    kiln_assert_status_ok(
        kiln_shipped_of_model(arena(), &source, p, &choose, 2, &s, &err), &err);
    return s;
}

static size_t first_kernel(const kiln_shipped *s, const char *op) {
    for (size_t i = 0; i < s->step.n; i++)
        if (strcmp(s->step.v[i].op, op) == 0 && s->step.v[i].kernel >= 0)
            return i;
    fail_msg("no step '%s'", op);
    return 0;
}

static void a_model_has_schedules(void **state) {
    (void)state;
    const kiln_shipped s = model();
    const char *text = text_of(&s, first_kernel(&s, "conv"));
    assert_non_null(strstr(text, "\n== schedule ==\nstage "));
    assert_non_null(strstr(text, "\n== program ==\nprogram k"));
    assert_non_null(strstr(text, "\n== assembly ==\n"));
    assert_non_null(strstr(text, "record:   none of this very work"));
    assert_null(strstr(text, "note:"));
}

/* ---- records --------------------------------------------------------------------- */

/* Steps that pack when it is opened come behind those of a run; the model compiled
 * again gives their code too. */
static void open_steps_are_listed(void **state) {
    (void)state;
    static const kiln_fixed_inputs none = {.n = 0};
    kiln_err err = {0};
    kiln_profile p;
    kiln_source source;
    kiln_expectation e;
    kiln_build b;
    kiln_shipped s;
    kiln_buf json;
    kiln_json_writer w;
    const kiln_build_options o = {
        .path = kiln_path_join(arena(), kiln_test_dir(), "open.kiln.tar.zst"),
        .no_verify = true,
        .pack_at_open = true,
        .seed = 1};
    kiln_assert_status_ok(kiln_profile_find(arena(), "x86-avx2", &p, &err), &err);
    kiln_assert_status_ok(kiln_source_read(arena(), MODEL, NULL, &source, &err), &err);
    kiln_assert_status_ok(kiln_expectation_of(arena(), &source, 1, &e, &err), &err);
    kiln_assert_status_ok(kiln_package_build(arena(), &source, &e, &p, &o, &b, &err),
                          &err);
    kiln_assert_status_ok(kiln_shipped_of_package(arena(), b.path, &s, &err), &err);
    assert_int_equal(s.n_open, b.n_open);
    assert_int_equal(s.step.n, b.n_steps + b.n_open);
    assert_true(s.n_open >= 2);
    assert_non_null(strstr(text_of(&s, SIZE_MAX), "once, when it is opened: "));
    const size_t last = s.step.n - 1;
    assert_string_equal(s.step.v[last].op, "pack");
    assert_int_equal(find(&s, s.step.v[last].name), last);
    assert_non_null(strstr(text_of(&s, last), "== assembly =="));
    kiln_assert_status_ok(kiln_shipped_add_model(arena(), &s, MODEL, &none, &err),
                          &err);
    for (size_t i = 0; i < s.kernel.n; i++)
        if (s.kernel.v[i].not_made != NULL)
            fail_msg("%s: %s", s.kernel.v[i].is.symbol, s.kernel.v[i].not_made);
    assert_non_null(strstr(text_of(&s, last), "== schedule =="));
    kiln_buf_init(&json, arena());
    kiln_json_writer_init(&w, &json);
    kiln_assert_status_ok(kiln_shipped_json(&w, &s, last, &err), &err);
    const kiln_json *root = NULL;
    kiln_assert_status_ok(
        kiln_json_parse(arena(), kiln_buf_str(&json), "json", &root, &err), &err);
    assert_int_equal(kiln_json_size(kiln_json_get(root, "steps")), 0);
    assert_int_equal(kiln_json_size(kiln_json_get(root, "open_steps")), 1);
}

/* ---- layouts --------------------------------------------------------------------- */

/* Other layouts than the rules' are told to be much faster, and conversions cheap. */
static kiln_status tell(void *user, kiln_arena *a, const kiln_op_work *w,
                        const kiln_profile *p, kiln_answers *out, kiln_err *err) {
    const kiln_template *t = kiln_template_for(&w->workload, p);
    static const char *const knobs[] = {"oc_block", "ic_block"};
    (void)user;
    if (w->workload.anchor->op != &kiln_op_conv)
        return KILN_OK;
    for (int other = 0; other < 2; other++) {
        kiln_space s;
        kiln_buf text;
        kiln_answer x = {
            .tmpl = t->name, .origin = KILN_ORIGIN_TUNED, .ns = other ? 1000 : 1e6};
        kiln_space_init(&s, a);
        KILN_TRY(t->space(&w->workload, p, &s, err));
        kiln_config c = t->guess(&w->workload, p, &s);
        for (int k = 0; other && k < s.n; k++)
            for (int i = 0; i < 2; i++)
                if (strcmp(s.knob[k].name, knobs[i]) == 0)
                    c.option[k] = (int16_t)(c.option[k] == 0 ? 1 : c.option[k] - 1);
        x.layouts = kiln_work_layouts(a, &w->workload, p, t, &s, &c);
        if (x.layouts == NULL)
            continue;
        kiln_buf_init(&text, a);
        kiln_config_json(&text, t, &s, &c);
        KILN_TRY(kiln_json_parse(a, kiln_buf_str(&text), "test", &x.config, err));
        kiln_vec_push(a, out, x);
    }
    return KILN_OK;
}

static kiln_build searched(const char *name, kiln_shipped *s) {
    kiln_err err = {0};
    kiln_profile p;
    kiln_source source;
    kiln_expectation e;
    kiln_build b;
    const kiln_oracle oracle = {tell, NULL};
    const kiln_choose_options choose = {.oracle = &oracle};
    const kiln_build_options o = {.path =
                                      kiln_path_join(arena(), kiln_test_dir(), name),
                                  .no_verify = true,
                                  .choose = &choose,
                                  .chooser = &kiln_net_chooser_search,
                                  .seed = 1};
    kiln_assert_status_ok(kiln_profile_find(arena(), "x86-avx2", &p, &err), &err);
    kiln_assert_status_ok(kiln_source_read(arena(), MODEL, NULL, &source, &err), &err);
    kiln_assert_status_ok(kiln_expectation_of(arena(), &source, 1, &e, &err), &err);
    kiln_assert_status_ok(kiln_package_build(arena(), &source, &e, &p, &o, &b, &err),
                          &err);
    kiln_assert_status_ok(kiln_shipped_of_package(arena(), b.path, s, &err), &err);
    return b;
}

/* What a search chose by costs that nobody has any more is made again: no kernel is
 * other code. */
static void a_searched_package_is_made_again(void **state) {
    (void)state;
    static const kiln_fixed_inputs none = {.n = 0};
    kiln_err err = {0};
    kiln_shipped s;
    const kiln_build b = searched("searched.kiln.tar.zst", &s);
    assert_non_null(b.forecast);
    assert_true(b.forecast->n_changed > 0);
    assert_true(s.facts.n_searched > 0);
    kiln_assert_status_ok(kiln_shipped_add_model(arena(), &s, MODEL, &none, &err),
                          &err);
    assert_true(s.kernel.n > 0);
    for (size_t i = 0; i < s.kernel.n; i++)
        if (s.kernel.v[i].not_made != NULL)
            fail_msg("%s: %s", s.kernel.v[i].is.symbol, s.kernel.v[i].not_made);
}

/* A manifest is untrusted: what is none of the network's is refused by name. */
static void kept_layouts_that_do_not_fit_are_refused(void **state) {
    static const char *const types[] = {"", "f32[1];", "f32[1,2,3",
                                        "f32[1,1,1,1]{block=1x8};f32[1,1,1,1];"};
    static const kiln_fixed_inputs none = {.n = 0};
    (void)state;
    kiln_shipped s;
    (void)searched("refused.kiln.tar.zst", &s);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        kiln_err err = {0};
        kiln_shipped other = s;
        kiln_package_layouts *kept = kiln_arena_dup(
            arena(), s.facts.searched, s.facts.n_searched * sizeof *s.facts.searched);
        kept[0].types = types[i];
        other.facts.searched = kept;
        kiln_assert_fails(kiln_shipped_add_model(arena(), &other, MODEL, &none, &err),
                          KILN_ERR_PARSE, &err, kept[0].step);
    }
}

static void record(kiln_db *db, const kiln_shipped *s, const kiln_shipped_kernel *k,
                   const char *config, double ns) {
    kiln_err err = {0};
    kiln_buf json;
    int64_t id = 0;
    kiln_buf_init(&json, arena());
    kiln_profile_json(&json, &s->facts.profile);
    const kiln_db_task task = {.workload = k->is.workload,
                               .anchor = "an anchor",
                               .profile = s->facts.profile.name,
                               .profile_json = json.p,
                               .threads = 2,
                               .numerics = "fast",
                               .cache = KILN_TUNE_CACHE};
    const kiln_db_trial t = {.candidate = {k->is.tmpl, config},
                             .layouts = "f32",
                             .sample_ns = &ns,
                             .n_samples = 1,
                             .proof = "{}",
                             .owner = "test",
                             .kiln = "test",
                             .time_ms = 1};
    kiln_assert_status_ok(kiln_db_task_id(db, &task, &id, &err), &err);
    kiln_assert_status_ok(kiln_db_record(db, id, &t, NULL, &err), &err);
}

static void records_of_the_very_work_count(void **state) {
    (void)state;
    kiln_shipped s = model();
    kiln_err err = {0};
    kiln_db *db = NULL;
    const size_t step = first_kernel(&s, "conv");
    const int at = s.step.v[step].kernel;
    kiln_assert_status_ok(kiln_db_open(arena(), ":memory:", NULL, &db, &err), &err);
    record(db, &s, &s.kernel.v[at], "{\"unroll\": 1}", 2e6);
    record(db, &s, &s.kernel.v[at], "{\"unroll\": 2}", 1.5e6);
    kiln_assert_status_ok(kiln_shipped_ask_db(arena(), &s, db, "database", &err), &err);
    assert_int_equal(s.kernel.v[at].n_tried, 2);
    assert_true(s.kernel.v[at].best_ms == 1.5);
    assert_non_null(strstr(text_of(&s, step),
                           "record:   2 configurations, best 1.5000 ms (database)"));
    for (size_t i = 0; i < s.kernel.n; i++)
        assert_true((int)i == at || s.kernel.v[i].record == NULL);
    /* Of another number of threads nothing is known. */
    kiln_shipped alone = model();
    alone.facts.threads = 1;
    kiln_assert_status_ok(kiln_shipped_ask_db(arena(), &alone, db, "database", &err),
                          &err);
    assert_null(alone.kernel.v[at].record);
    kiln_db_close(db);
}

/* ---- results --------------------------------------------------------------------- */

static const char *write_file(const char *name, const char *text) {
    const char *path = kiln_path_join(arena(), kiln_test_dir(), name);
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(path, text, strlen(text), &err), &err);
    return path;
}

/* Members of a job, or of a number of threads: both documents have the same. */
static const char *times(const char *step) {
    return kiln_format(arena(),
                       "\"baselines\": [{\"name\": \"onednn\", \"version\": \"9\", "
                       "\"state\": \"measured\", \"median_ms\": 4.5}], \"steps\": "
                       "[{\"name\": \"%s\", \"median_ms\": 0.25}]",
                       step);
}

static const char *write_results(const char *model, const char *step) {
    return write_file(
        "results.json",
        kiln_format(arena(),
                    "{\"schema\": \"kiln-results-1\", \"run\": \"night\", \"jobs\": "
                    "[{\"model\": \"%s\", \"profile\": \"x86-avx2\", \"threads\": 2, "
                    "\"latency\": {\"median_ms\": 3.5}, %s}]}",
                    model, times(step)));
}

static void results_give_times(void **state) {
    (void)state;
    kiln_shipped s = model();
    kiln_err err = {0};
    const size_t step = first_kernel(&s, "conv");
    const char *path = write_results("samplenet", s.step.v[step].name);
    kiln_assert_status_ok(kiln_shipped_ask_results(arena(), &s, path, &err), &err);
    assert_true(s.step.v[step].result_ms == 0.25 && s.result_ms == 3.5);
    assert_non_null(
        strstr(text_of(&s, SIZE_MAX), ": kiln 3.5000 ms, onednn 9 4.5000 ms"));
    assert_non_null(strstr(text_of(&s, step), "run:      0.2500 ms (run night of "));
}

static void results_of_others_are_refused(void **state) {
    (void)state;
    kiln_shipped s = model();
    kiln_err err = {0};
    const char *path = write_results("another", "conv1");
    kiln_assert_fails(kiln_shipped_ask_results(arena(), &s, path, &err), KILN_ERR_ARG,
                      &err,
                      "has no job 'samplenet' for profile 'x86-avx2' with 2 "
                      "threads, and no operators for it");
}

/* What kiln bench wrote of this network, at one and at two threads. */
static void a_bench_gives_times(void **state) {
    (void)state;
    kiln_shipped s = model();
    kiln_err err = {0};
    const size_t step = first_kernel(&s, "conv");
    const char *path = write_file(
        "bench.json",
        kiln_format(arena(),
                    "{\"format\": \"kiln-bench-1\", \"model\": \"samplenet\", "
                    "\"profile\": \"x86-avx2\", \"threads\": [{\"threads\": 1, "
                    "\"median_ms\": 9.5}, {\"threads\": 2, \"median_ms\": 3.5, %s}]}",
                    times(s.step.v[step].name)));
    kiln_assert_status_ok(kiln_shipped_ask_results(arena(), &s, path, &err), &err);
    assert_true(s.step.v[step].result_ms == 0.25 && s.result_ms == 3.5);
    assert_non_null(
        strstr(text_of(&s, SIZE_MAX), ": kiln 3.5000 ms, onednn 9 4.5000 ms"));
    assert_string_equal(s.results, path);
}

/* The same line as a step's: its vendors' times are the step's. */
static void a_bench_of_operators_gives_rivals(void **state) {
    (void)state;
    kiln_shipped s = model();
    kiln_err err = {0};
    kiln_op_line line;
    kiln_op_work work;
    static const char text[] = "matmul x m=8 k=16 n=32";
    kiln_assert_status_ok(kiln_op_line_of(arena(), text, &line, &err), &err);
    kiln_assert_status_ok(kiln_op_work_make(arena(), &line, &work, &err), &err);
    kiln_shipped_kernel *k = &s.kernel.v[0];
    k->is.workload = kiln_str_dupv(arena(), work.key);
    const char *path = write_file(
        "ops.json",
        kiln_format(arena(),
                    "{\"format\": \"kiln-ops-1\", \"profile\": \"x86-avx2\", "
                    "\"threads\": 2, \"ops\": [{\"name\": \"x\", \"line\": \"%s\", "
                    "\"baselines\": [{\"name\": \"onednn\", \"version\": \"9\", "
                    "\"state\": \"measured\", \"median_ms\": 4.5}]}]}",
                    text));
    kiln_assert_status_ok(kiln_shipped_ask_results(arena(), &s, path, &err), &err);
    assert_int_equal(k->rival.n, 1);
    assert_true(k->rival.v[0].ms == 4.5);
}

static void what_holds_no_times_is_refused(void **state) {
    (void)state;
    static const char *const text[] = {"{}", "[]", "{\"format\": \"kiln-bench-2\"}",
                                       "{\"schema\": \"kiln-bench-1\"}",
                                       "{\"format\": \"kiln-gate-1\"}"};
    kiln_shipped s = model();
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) {
        kiln_err err = {0};
        kiln_assert_fails(kiln_shipped_ask_results(
                              arena(), &s, write_file("other.json", text[i]), &err),
                          KILN_ERR_PARSE, &err, "or what 'kiln bench --json' wrote of");
        assert_null(s.results);
    }
}

static const kiln_json *json_of(const kiln_shipped *s) {
    kiln_err err = {0};
    kiln_buf text;
    kiln_json_writer w;
    const kiln_json *doc = NULL;
    kiln_buf_init(&text, arena());
    kiln_json_writer_init(&w, &text);
    kiln_assert_status_ok(kiln_shipped_json(&w, s, SIZE_MAX, &err), &err);
    kiln_assert_status_ok(
        kiln_json_parse(arena(), kiln_buf_str(&text), "explain", &doc, &err), &err);
    return kiln_json_get(doc, "steps");
}

/* What one step writes in blocks the next one reads in the same blocks. */
static void check_layouts(const kiln_shipped *s) {
    const kiln_json *steps = json_of(s);
    int n_blocked = 0;
    for (const kiln_json *t = kiln_json_first(steps); t != NULL;
         t = kiln_json_next(t)) {
        const kiln_json *out = kiln_json_get(t, "outputs");
        assert_true(kiln_json_size(kiln_json_get(t, "inputs")) > 0);
        assert_int_equal(kiln_json_size(out), 1);
        const char *type = kiln_json_string(kiln_json_at(out, 0), "");
        if (strstr(type, "block=1x") == NULL || kiln_json_next(t) == NULL)
            continue;
        const kiln_json *read = kiln_json_get(kiln_json_next(t), "inputs");
        assert_string_equal(kiln_json_string(kiln_json_at(read, 0), ""), type);
        n_blocked++;
    }
    assert_true(n_blocked > 0);
}

static void json_has_layouts_of_steps(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_build b;
    kiln_profile p;
    kiln_source source;
    kiln_expectation e;
    kiln_shipped made = model(), s;
    const kiln_build_options o = {
        .path = kiln_path_join(arena(), kiln_test_dir(), "laid.kiln.tar.zst"),
        .no_verify = true};
    check_layouts(&made);
    kiln_assert_status_ok(kiln_profile_find(arena(), "x86-avx2", &p, &err), &err);
    kiln_assert_status_ok(kiln_source_read(arena(), MODEL, NULL, &source, &err), &err);
    kiln_assert_status_ok(kiln_expectation_of(arena(), &source, 1, &e, &err), &err);
    kiln_assert_status_ok(kiln_package_build(arena(), &source, &e, &p, &o, &b, &err),
                          &err);
    kiln_assert_status_ok(kiln_shipped_of_package(arena(), b.path, &s, &err), &err);
    check_layouts(&s);
    /* An archive of an older kiln does not say. */
    s.step.v[0].in = NULL;
    assert_true(
        kiln_json_is_null(kiln_json_get(kiln_json_at(json_of(&s), 0), "inputs")));
}

static void json_has_what_the_text_has(void **state) {
    (void)state;
    const kiln_shipped s = model();
    kiln_err err = {0};
    kiln_buf text;
    kiln_json_writer w;
    const kiln_json *doc = NULL;
    const size_t step = first_kernel(&s, "conv");
    kiln_buf_init(&text, arena());
    kiln_json_writer_init(&w, &text);
    kiln_assert_status_ok(kiln_shipped_json(&w, &s, step, &err), &err);
    kiln_assert_status_ok(
        kiln_json_parse(arena(), kiln_buf_str(&text), "explain", &doc, &err), &err);
    const kiln_json *one = kiln_json_at(kiln_json_get(doc, "steps"), 0);
    assert_int_equal(kiln_json_size(kiln_json_get(doc, "steps")), 1);
    assert_string_equal(kiln_json_string(kiln_json_get(one, "name"), ""),
                        s.step.v[step].name);
    assert_true(kiln_json_is_object(kiln_json_get(one, "config")));
    assert_true(kiln_json_is_null(kiln_json_get(one, "best_ms")));
    assert_non_null(
        strstr(kiln_json_string(kiln_json_get(one, "assembly"), ""), "ret"));
}

int main(void) {
    kiln_test_add("a_package_lists_its_steps", a_package_lists_its_steps, NULL);
    kiln_test_add("steps_that_are_not_there", steps_that_are_not_there, NULL);
    kiln_test_add("code_is_the_librarys", code_is_the_librarys, NULL);
    kiln_test_add("a_model_has_schedules", a_model_has_schedules, NULL);
    kiln_test_add("open_steps_are_listed", open_steps_are_listed, NULL);
    kiln_test_add("records_of_the_very_work_count", records_of_the_very_work_count,
                  NULL);
    kiln_test_add("a_searched_package_is_made_again", a_searched_package_is_made_again,
                  NULL);
    kiln_test_add("kept_layouts_that_do_not_fit_are_refused",
                  kept_layouts_that_do_not_fit_are_refused, NULL);
    kiln_test_add("results_give_times", results_give_times, NULL);
    kiln_test_add("results_of_others_are_refused", results_of_others_are_refused, NULL);
    kiln_test_add("a_bench_gives_times", a_bench_gives_times, NULL);
    kiln_test_add("a_bench_of_operators_gives_rivals",
                  a_bench_of_operators_gives_rivals, NULL);
    kiln_test_add("what_holds_no_times_is_refused", what_holds_no_times_is_refused,
                  NULL);
    kiln_test_add("json_has_layouts_of_steps", json_has_layouts_of_steps, NULL);
    kiln_test_add("json_has_what_the_text_has", json_has_what_the_text_has, NULL);
    return kiln_test_run("what ships");
}
