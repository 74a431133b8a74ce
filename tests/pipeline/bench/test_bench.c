/* A network of the zoo as a subject: what is known of its steps adds up to the whole, a
 * right output gives samples, a wrong one a failed check and no number. Times are not
 * looked at. */
#include "pipeline/bench/bench_internal.h"
#include "tests/support/measuring/fake_baseline.h"
#include "tests/support/measuring/support_subject.h"
#include "zoo/onnx_write.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 3 };

static void steps_add_up(void **state) {
    (void)state;
    const kiln_subject s = kiln_test_subject("zoo:dqn");
    kiln_cost sum = {0};
    const kiln_remote_order once = {.runs = 1, .has_steps = true};
    kiln_remote_turn turn;
    kiln_err err = {0};
    size_t bytes;
    int session;
    kiln_assert_status_ok(kiln_remote_session(s.remote, 1, &session, &bytes, &err),
                          &err);
    kiln_assert_status_ok(kiln_remote_take_turn(s.remote, session, &once, &turn, &err),
                          &err);
    assert_string_equal(s.name, "dqn");
    assert_int_equal(s.cost.muladds, 9352192); /* as zoo/networks.def has it */
    assert_int_equal(s.n_steps, turn.n_steps);
    for (int i = 0; i < s.n_steps; i++) {
        assert_true(turn.step_ns[i] > 0);
        assert_true(s.step[i].name[0] != '\0' && s.step[i].op[0] != '\0');
        sum.muladds += s.step[i].cost.muladds;
    }
    assert_int_equal(sum.muladds, s.cost.muladds);
    assert_true(s.arena >= s.lower_bound && s.lower_bound > 0);
}

static kiln_net_bench measured(const kiln_subject *s) {
    static const int threads[] = {1, 2};
    const kiln_net_bench_options o = {
        .threads = threads, .n_threads = 2, .rounds = ROUNDS, .steps = true};
    kiln_net_bench b;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_net_bench_run(kiln_test_arena(), s, &o, &b, &err), &err);
    return b;
}

static const kiln_json *json_of(const kiln_net_bench *b) {
    kiln_err err = {0};
    kiln_buf json;
    const kiln_json *doc = NULL;
    kiln_buf_init(&json, kiln_test_arena());
    kiln_net_bench_json(&json, b);
    kiln_assert_status_ok(
        kiln_json_parse(kiln_test_arena(), kiln_buf_str(&json), "bench", &doc, &err),
        &err);
    return doc;
}

static void keeps_every_sample(void **state) {
    (void)state;
    const kiln_subject s = kiln_test_subject("zoo:dqn");
    const kiln_net_bench b = measured(&s);
    assert_int_equal(b.check.outcome, KILN_PASSED);
    assert_int_equal(b.side.n, 2);
    for (size_t i = 0; i < b.side.n; i++) {
        const kiln_net_side *r = &b.side.v[i];
        assert_int_equal(r->threads, (int)i + 1);
        assert_int_equal(r->sample.n, ROUNDS);
        assert_true(r->min_ms > 0 && r->min_ms <= r->q1_ms);
        assert_true(r->q1_ms <= r->median_ms && r->median_ms <= r->q3_ms);
        assert_true(r->peak_share > 0 && r->gflops > 0);
        assert_non_null(r->step_ms);
    }
    const kiln_json *sides = kiln_json_get(json_of(&b), "threads");
    assert_int_equal(kiln_json_size(sides), 2);
    assert_int_equal(
        kiln_json_size(kiln_json_get(kiln_json_first(sides), "samples_ms")), ROUNDS);
    assert_int_equal(kiln_json_size(kiln_json_get(kiln_json_first(sides), "rounds")),
                     ROUNDS);
    assert_int_equal(kiln_json_size(kiln_json_get(kiln_json_first(sides), "steps")),
                     s.n_steps);
}

static void gives_no_number_for_a_wrong_output(void **state) {
    (void)state;
    kiln_subject s = kiln_test_subject("zoo:dqn");
    ((float *)s.want[0].value.data)[3] += 1;
    const kiln_net_bench b = measured(&s);
    kiln_buf text;
    kiln_buf_init(&text, kiln_test_arena());
    kiln_net_bench_text(&text, &b);
    assert_int_equal(b.check.outcome, KILN_FAILED);
    assert_int_equal(b.side.v[0].sample.n, 0);
    assert_non_null(strstr(text.p, "WRONG: output '"));
    assert_null(strstr(text.p, "median"));
    assert_int_equal(kiln_json_size(kiln_json_get(json_of(&b), "threads")), 0);
}

static void compares_chosen_elements(void **state) {
    (void)state;
    kiln_subject s = kiln_test_subject("zoo:dqn");
    static const int64_t at[] = {0, 4, 7}; /* and one further, where wrong */
    assert_true(kiln_type_elems(&s.want[0].value.type) > 8);
    kiln_wanted want = {.name = s.want[0].name, .at = at};
    const int64_t n = 3;
    const kiln_type t = kiln_type_make(KILN_F32, 1, &n);
    const float *whole = s.want[0].value.data;
    kiln_err err = {0};
    size_t bytes;
    int session;
    kiln_assert_status_ok(kiln_remote_session(s.remote, 1, &session, &bytes, &err),
                          &err);
    want.value = kiln_tensor_new(kiln_test_arena(), &t);
    s.want = &want;
    for (int wrong = 0; wrong < 2; wrong++) {
        kiln_check check = {.group = "", .reason = ""};
        for (int64_t i = 0; i < n; i++)
            ((float *)want.value.data)[i] = whole[at[i] + wrong];
        kiln_assert_status_ok(
            kiln_subject_check(kiln_test_arena(), &s, session, &check, &err), &err);
        assert_int_equal(check.outcome, wrong == 0 ? KILN_PASSED : KILN_FAILED);
    }
}

static void names_what_is_no_model(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_source s;
    kiln_assert_fails(kiln_source_read(kiln_test_arena(), "zoo:nope", NULL, &s, &err),
                      KILN_ERR_ARG, &err, "the zoo has no network 'nope'");
    kiln_err_clear(&err);
    kiln_assert_fails(kiln_source_read(kiln_test_arena(), "no/such", NULL, &s, &err),
                      KILN_ERR_MISSING, &err, "no/such");
}

/* ---- beside baselines ------------------------------------------------------------ */

typedef struct rival_row {
    const char *name;
    const char *script; /* @ is a file of outputs: right, or right but for one; NULL:
                           nothing is installed */
    bool is_wrong;
    kiln_rival_state want;
    const char *reason;
    size_t samples;
} rival_row;

static rival_row rivals[] = {
    {"measures_a_baseline", "case $line in *load*) give @;; *) sample;; esac", false,
     KILN_RIVAL_MEASURED, "", ROUNDS},
    {"says_absent", NULL, false, KILN_RIVAL_ABSENT,
     "not in '/nowhere'; 'kiln baselines install --only onnxruntime' gets it", 0},
    {"says_wrong", "case $line in *load*) give @;; *) sample;; esac", true,
     KILN_RIVAL_WRONG, "output '", 0},
    {"says_failed", "exit 7", false, KILN_RIVAL_FAILED,
     "the process 'python' ended with code 7", 0},
    /* a load, two samples to warm up, one that counts */
    {"says_failed_on_the_way",
     "n=$((n + 1)); case $line in *load*) give @;; *) test $n -lt 5 || exit 9; "
     "sample;; esac",
     false, KILN_RIVAL_FAILED, "the process 'python' ended with code 9", 1},
};

static const char *baseline_of(const rival_row *r, const kiln_subject *s) {
    kiln_arena *a = kiln_test_arena();
    const char *file = kiln_path_join(a, kiln_test_dir(), "outputs.npy");
    const char *at = r->script != NULL ? strchr(r->script, '@') : NULL;
    kiln_err err = {0};
    kiln_tensor t = s->want[0].value;
    if (r->script == NULL)
        return "/nowhere";
    t.data = kiln_arena_dup(a, t.data, kiln_type_bytes(&t.type));
    if (r->is_wrong)
        ((float *)t.data)[2] += 1;
    kiln_assert_status_ok(kiln_tensor_write_npy(file, &t, &err), &err);
    return kiln_test_fake_baseline(at == NULL ? r->script
                                              : kiln_format(a, "%.*s%s%s",
                                                            (int)(at - r->script),
                                                            r->script, file, at + 1));
}

static void check_rival_of(const rival_row *r, const kiln_subject *subject) {
    const kiln_subject s = *subject;
    static const int threads[] = {1};
    const kiln_baseline *const list[] = {kiln_baseline_at(0), NULL};
    const kiln_net_bench_options o = {.threads = threads,
                                      .n_threads = 1,
                                      .rounds = ROUNDS,
                                      .baseline = list,
                                      .baselines_dir = baseline_of(r, &s),
                                      .baselines_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_net_bench b;
    kiln_err err = {0};
    kiln_buf text;
    kiln_buf_init(&text, kiln_test_arena());
    assert_null(s.want[0].at); /* the fake gives whole outputs */
    kiln_assert_status_ok(kiln_net_bench_run(kiln_test_arena(), &s, &o, &b, &err),
                          &err);
    const kiln_rival *v = &b.side.v[0].rival.v[0];
    const kiln_json *json = kiln_json_first(kiln_json_get(
        kiln_json_first(kiln_json_get(json_of(&b), "threads")), "baselines"));
    kiln_net_bench_text(&text, &b);
    print_message("%s", text.p);
    assert_int_equal(v->state, r->want);
    assert_int_equal(strncmp(v->reason, r->reason, strlen(r->reason)), 0);
    assert_int_equal(v->sample.n, r->samples);
    assert_int_equal(b.side.v[0].sample.n, ROUNDS); /* kiln goes on, whatever it does */
    assert_string_equal(kiln_json_string(kiln_json_get(json, "state"), ""),
                        kiln_rival_state_name(r->want));
    assert_int_equal(kiln_net_bench_is_compared(&b), r->want == KILN_RIVAL_MEASURED);
    assert_int_equal(
        kiln_json_is_number(kiln_json_get(kiln_json_get(json, "ratio"), "estimate")),
        r->want == KILN_RIVAL_MEASURED);
    if (r->want == KILN_RIVAL_MEASURED) {
        assert_int_equal(v->number.runs, 1);
        assert_string_equal(kiln_json_string(kiln_json_get(json, "file"), ""),
                            kiln_path_base(s.file));
        assert_non_null(strstr(text.p, kiln_path_base(s.file)));
        kiln_assert_close_f64(&v->number.median_ms, (const double[]){2}, 1, 0, 0);
        assert_true(v->number.ratio.low <= v->number.ratio.estimate &&
                    v->number.ratio.estimate <= v->number.ratio.high);
    }
}

static void check_rival(void **state) {
    const kiln_subject s = kiln_test_subject("zoo:dqn");
    check_rival_of(*state, &s);
}

/* ---- bounded outputs ------------------------------------------------------------- */

/* y: where x is above 0; with its count behind it, which only kiln gives. */
static kiln_subject bounded_subject(void) {
    kiln_arena *a = kiln_test_arena();
    const char *path = kiln_path_join(a, kiln_test_dir(), "above.onnx");
    const float zero[] = {0};
    kiln_onnx_writer w;
    kiln_err err = {0};
    kiln_onnx_writer_init(&w, a, "above");
    kiln_onnx_put_input(&w, "x", KILN_ONNX_FLOAT, "4,5");
    kiln_onnx_put_initializer(
        &w, kiln_onnx_raw_tensor(a, "zero", KILN_ONNX_FLOAT, "1", zero, sizeof zero));
    kiln_onnx_put_node(&w, "Greater", "greater", "x,zero", "above");
    kiln_onnx_put_node(&w, "NonZero", "places", "above", "y");
    kiln_onnx_put_output(&w, "y", KILN_ONNX_INT64, "2,n");
    const kiln_str bytes = kiln_onnx_finish_model(&w, 8, 17);
    kiln_assert_status_ok(kiln_file_write(path, bytes.p, bytes.n, &err), &err);
    return kiln_test_subject(path);
}

typedef struct bounded_row {
    const char *name;
    int more;      /* places that the baseline gives beside the right ones */
    bool is_wrong; /* one of them */
    const char *reason;
} bounded_row;

static bounded_row bounded[] = {
    {"takes_the_places_there_are", 0, false, ""},
    {"says_a_wrong_place", 0, true, "output 'y': 1 of 40 elements differ"},
    {"says_a_place_too_many", 1, false, "output 'y.count': 1 of 1 elements differ"},
    {"says_a_place_too_few", -1, false, "output 'y.count': 1 of 1 elements differ"},
};

static void check_bounded(void **state) {
    const bounded_row *r = *state;
    const kiln_subject s = bounded_subject();
    kiln_arena *a = kiln_test_arena();
    const char *file = kiln_path_join(a, kiln_test_dir(), "places.npy");
    const int threads[] = {1};
    const kiln_baseline *const list[] = {kiln_baseline_at(0), NULL};
    kiln_net_bench b;
    kiln_err err = {0};
    assert_int_equal(s.n_want, 2);
    assert_null(s.want[0].at);
    assert_null(s.want[1].at);
    const int64_t count = *(const int64_t *)s.want[1].value.data;
    const int64_t all = s.want[0].value.type.dim[1], n = count + r->more;
    assert_true(count > 1 && count < all);
    const kiln_type t = kiln_type_make(KILN_I64, 2, (const int64_t[]){2, n});
    kiln_tensor places = kiln_tensor_new(a, &t);
    for (int64_t i = 0; i < 2 * n; i++)
        ((int64_t *)places.data)[i] =
            ((const int64_t *)s.want[0].value.data)[i / n * all + i % n];
    if (r->is_wrong)
        ((int64_t *)places.data)[n]++;
    kiln_assert_status_ok(kiln_tensor_write_npy(file, &places, &err), &err);
    const kiln_net_bench_options o = {
        .threads = threads,
        .n_threads = 1,
        .rounds = ROUNDS,
        .baseline = list,
        .baselines_dir = kiln_test_fake_baseline(kiln_format(
            a, "case $line in *y.count*) exit 8;; *load*) give %s;; *) sample;; esac",
            file)),
        .baselines_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_assert_status_ok(kiln_net_bench_run(a, &s, &o, &b, &err), &err);
    const kiln_rival *v = &b.side.v[0].rival.v[0];
    print_message("%s\n", v->reason);
    assert_int_equal(v->state,
                     r->reason[0] == '\0' ? KILN_RIVAL_MEASURED : KILN_RIVAL_WRONG);
    assert_int_equal(strncmp(v->reason, r->reason, strlen(r->reason)), 0);
}

/* ---- packages -------------------------------------------------------------------- */

#define MODEL "demo/samplenet/samplenet.onnx"

static const char *package_packing(const char *profile, bool pack_at_open) {
    kiln_arena *a = kiln_test_arena();
    const kiln_build_options o = {
        .path = kiln_path_join(a, kiln_test_dir(), "it.kiln.tar.zst"),
        .pack_at_open = pack_at_open,
        .seed = 1};
    kiln_err err = {0};
    kiln_profile p;
    kiln_source s;
    kiln_expectation e;
    kiln_build b;
    kiln_assert_status_ok(kiln_profile_find(a, profile, &p, &err), &err);
    kiln_assert_status_ok(kiln_source_read(a, MODEL, NULL, &s, &err), &err);
    kiln_assert_status_ok(kiln_expectation_of(a, &s, 1, &e, &err), &err);
    kiln_assert_status_ok(kiln_package_build(a, &s, &e, &p, &o, &b, &err), &err);
    return b.path;
}

static const char *package_for(const char *profile) {
    return package_packing(profile, false);
}

static const kiln_fixed_inputs none_fixed = {.n = 0};

/* The package, not the model compiled anew; its file is what baselines run. */
static kiln_subject packaged(const char *model) {
    kiln_err err = {0};
    kiln_subject s;
    kiln_assert_status_ok(kiln_subject_of_package(kiln_test_arena(),
                                                  package_for("native"), model,
                                                  &none_fixed, &s, &err),
                          &err);
    return s;
}

static void measures_a_package_beside_a_baseline(void **state) {
    const kiln_subject s = packaged(MODEL);
    (void)state;
    assert_string_equal(s.file, MODEL);
    for (size_t i = 0; i < sizeof rivals / sizeof rivals[0]; i++)
        check_rival_of(&rivals[i], &s);
}

static void assert_same(const char *got, const char *want) {
    assert_non_null(got);
    assert_string_equal(got, want);
}

/* Of one that packs its parameters when it is opened: how long that takes, and how much
 * it is. */
static void times_how_it_is_opened(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_subject s;
    kiln_buf text;
    const kiln_check right = {.outcome = KILN_PASSED, .reason = ""};
    const kiln_machine m = {.cpu = "", .os = "", .cores = 1};
    kiln_assert_status_ok(kiln_subject_of_package(kiln_test_arena(),
                                                  package_packing("native", true), NULL,
                                                  &none_fixed, &s, &err),
                          &err);
    assert_true(s.open_ms > 0 && s.packed > 0);
    kiln_buf_init(&text, kiln_test_arena());
    assert_true(kiln_bench_head_text(&text, &s, &right, &m, 0));
    assert_non_null(strstr(text.p, "MB of parameters packed"));
    const kiln_json *doc =
        json_of(&(kiln_net_bench){.subject = &s, .check = right, .machine = m});
    assert_true(kiln_json_number(kiln_json_get(doc, "open_ms"), 0) == s.open_ms);
    const kiln_json *memory = kiln_json_get(doc, "memory");
    assert_true(kiln_json_number(kiln_json_get(memory, "packed_bytes"), 0) ==
                (double)s.packed);
    s = packaged(NULL);
    assert_true(s.open_ms > 0);
    assert_int_equal(s.packed, 0);
    s = kiln_test_subject(MODEL);
    assert_true(s.open_ms == 0);
}

/* What a package says of its steps is what is known where it is compiled. */
static void knows_the_same_of_both(void **state) {
    const kiln_subject p = packaged(NULL), m = kiln_test_subject(MODEL);
    bool has_epilogue = false, has_blocks = false;
    (void)state;
    assert_int_equal(p.n_steps, m.n_steps);
    for (int i = 0; i < p.n_steps; i++) {
        const kiln_subject_step *x = &p.step[i], *y = &m.step[i];
        assert_same(x->name, y->name);
        assert_same(x->epilogue, y->epilogue);
        assert_same(x->layout_in, y->layout_in);
        assert_same(x->layout_out, y->layout_out);
        assert_int_equal(x->origin == NULL, y->origin == NULL);
        if (x->origin != NULL)
            assert_same(x->origin, y->origin);
        has_epilogue = has_epilogue || strcmp(x->epilogue, "bias, relu") == 0;
        has_blocks = has_blocks || strncmp(x->layout_out, "NCHW", 4) == 0;
    }
    assert_true(has_epilogue && has_blocks);
}

/* Of shares and sums in the JSON: each from what is beside it. */
static void adds_up_steps_by_origin(void **state) {
    const kiln_subject s = packaged(NULL);
    const kiln_net_bench b = measured(&s);
    const kiln_json *side = kiln_json_first(kiln_json_get(json_of(&b), "threads"));
    const double peak =
        kiln_json_number(kiln_json_get(kiln_json_get(side, "peak"), "gflops"), 0);
    double ms = 0, sum = 0;
    int64_t n = 0, steps = 0, muladds = 0;
    (void)state;
    for (const kiln_json *o = kiln_json_first(kiln_json_get(side, "steps")); o != NULL;
         o = kiln_json_next(o)) {
        const double median = kiln_json_number(kiln_json_get(o, "median_ms"), -1);
        /* null: a copy computes nothing */
        const double gflops = kiln_json_number(kiln_json_get(o, "gflops"), 0);
        const double share = kiln_json_number(kiln_json_get(o, "peak_share"), 0);
        const double flops = kiln_json_number(kiln_json_get(o, "flops"), -1);
        ms += median;
        assert_true(fabs(gflops * median * 1e6 - flops) <= 1e-6 * flops);
        assert_true(fabs(share * peak - gflops) <= 1e-6 * gflops);
    }
    for (const kiln_json *o = kiln_json_first(kiln_json_get(side, "coverage"));
         o != NULL; o = kiln_json_next(o)) {
        sum += kiln_json_number(kiln_json_get(o, "ms"), -1);
        assert_true(kiln_json_i64(kiln_json_get(o, "steps"), &n));
        steps += n;
        assert_true(kiln_json_i64(kiln_json_get(o, "multiply_adds"), &n));
        muladds += n;
    }
    assert_int_equal(steps, s.n_steps);
    assert_int_equal(muladds, s.cost.muladds);
    assert_true(fabs(sum - ms) <= 1e-6 * ms);
}

/* Not how fast, but that it was asked. */
static void measures_copying_where_asked(void **state) {
    const kiln_subject s = packaged(NULL);
    static const int threads[] = {1};
    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        const kiln_net_bench_options o = {
            .threads = threads, .n_threads = 1, .rounds = 1, .bandwidth = asked != 0};
        kiln_net_bench b;
        kiln_err err = {0};
        kiln_assert_status_ok(kiln_net_bench_run(kiln_test_arena(), &s, &o, &b, &err),
                              &err);
        const kiln_json *m = kiln_json_get(json_of(&b), "machine");
        const kiln_json *gbs = kiln_json_get(m, "bandwidth_gbs");
        assert_true(asked != 0 ? kiln_json_number(gbs, 0) > 0 : kiln_json_is_null(gbs));
        assert_true(kiln_json_number(kiln_json_get(m, "cores"), 0) >= 1);
        assert_string_equal(kiln_json_string(kiln_json_get(json_of(&b), "kiln"), ""),
                            KILN_VERSION);
    }
}

static void asks_for_the_model_of_a_package(void **state) {
    const kiln_subject s = packaged(NULL);
    static const int threads[] = {1};
    const kiln_baseline *const list[] = {kiln_baseline_at(0), NULL};
    const kiln_net_bench_options o = {
        .threads = threads, .n_threads = 1, .rounds = 1, .baseline = list};
    kiln_net_bench b;
    kiln_err err = {0};
    (void)state;
    kiln_assert_fails(kiln_net_bench_run(kiln_test_arena(), &s, &o, &b, &err),
                      KILN_ERR_ARG, &err,
                      "name the one that package 'samplenet' was built from");
}

static void refuses_another_model(void **state) {
    kiln_err err = {0};
    kiln_subject s;
    (void)state;
    kiln_assert_fails(kiln_subject_of_package(kiln_test_arena(), package_for("native"),
                                              "zoo:dqn", &none_fixed, &s, &err),
                      KILN_ERR_ARG, &err,
                      "the package was built from a file with SHA-256 ");
}

static void measures_nothing_in_an_emulator(void **state) {
    kiln_arena *a = kiln_test_arena();
    const kiln_device *d = NULL;
    kiln_profile p;
    kiln_err err = {0};
    kiln_subject s;
    (void)state;
    kiln_assert_status_ok(kiln_profile_find(a, "aarch64", &p, &err), &err);
    if (kiln_device_find_for(a, NULL, &p, &d, &err) != KILN_OK)
        kiln_test_skip("%s", err.text);
    if (!d->is_emulated)
        kiln_test_skip("this machine needs no emulator for AArch64");
    kiln_assert_fails(kiln_subject_of_package(a, package_for("aarch64"), MODEL,
                                              &none_fixed, &s, &err),
                      KILN_ERR_UNSUPPORTED, &err,
                      "is made for 'aarch64', which runs here in an emulator only: "
                      "its times would say nothing");
}

int main(void) {
    kiln_test_add("steps_add_up", steps_add_up, NULL);
    kiln_test_add("keeps_every_sample", keeps_every_sample, NULL);
    kiln_test_add("gives_no_number_for_a_wrong_output",
                  gives_no_number_for_a_wrong_output, NULL);
    kiln_test_add("compares_chosen_elements", compares_chosen_elements, NULL);
    kiln_test_add("names_what_is_no_model", names_what_is_no_model, NULL);
    kiln_test_add_rows(check_rival, rivals);
    kiln_test_add_rows(check_bounded, bounded);
    kiln_test_add("measures_a_package_beside_a_baseline",
                  measures_a_package_beside_a_baseline, NULL);
    kiln_test_add("knows_the_same_of_both", knows_the_same_of_both, NULL);
    kiln_test_add("times_how_it_is_opened", times_how_it_is_opened, NULL);
    kiln_test_add("adds_up_steps_by_origin", adds_up_steps_by_origin, NULL);
    kiln_test_add("measures_copying_where_asked", measures_copying_where_asked, NULL);
    kiln_test_add("asks_for_the_model_of_a_package", asks_for_the_model_of_a_package,
                  NULL);
    kiln_test_add("refuses_another_model", refuses_another_model, NULL);
    kiln_test_add("measures_nothing_in_an_emulator", measures_nothing_in_an_emulator,
                  NULL);
    return kiln_test_run("bench");
}
