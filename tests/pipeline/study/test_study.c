/* Studies on the smallest networks: which rows there are, that each was held against the
 * reference, what they say where something is missing or wrong. Times are not looked at. */
#include "pipeline/study/study_internal.h"
#include "tests/support/measuring/fake_baseline.h"

#include <math.h>
#include <signal.h>
#include <string.h>

#include "zoo/zoo.h"

enum { ROUNDS = 2 };

static kiln_study_options options_of(const char *models, unsigned parts) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_profile *p = kiln_new(a, kiln_profile);
    kiln_study_options o = {
        .profile = p, .parts = parts, .threads = 2, .rounds = ROUNDS};
    kiln_assert_status_ok(kiln_profile_detect(a, p, &err), &err);
    if (models != NULL)
        kiln_assert_status_ok(kiln_study_models(a, models, &o.model, &err), &err);
    return o;
}

static kiln_doc_study neocpu(const kiln_study_options *o) {
    kiln_doc_study s;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_study_neocpu(kiln_test_arena(), o, &s, &err), &err);
    return s;
}

static void assert_measured(const kiln_doc_study_row *r, const char *way, int threads) {
    if (r->problem != NULL)
        fail_msg("%s: %s", r->way, r->problem);
    assert_string_equal(r->state, "measured");
    assert_string_equal(r->way, way);
    assert_int_equal(r->threads, threads);
    assert_int_equal(r->n_samples, ROUNDS);
    assert_true(r->ms.low > 0 && r->ms.low <= r->ms.estimate &&
                r->ms.estimate <= r->ms.high);
    assert_true(r->gain.low > 0 && r->gain.low <= r->gain.estimate &&
                r->gain.estimate <= r->gain.high);
}

/* ---- the steps of Table 3 -------------------------------------------------------- */

static void every_step_is_right_and_measured(void **state) {
    static const char *const way[] = {"plain", "each", "greedy", "search"};
    (void)state;
    const kiln_study_options o = options_of("dqn", KILN_STUDY_STEPS);
    const kiln_doc_study s = neocpu(&o);
    assert_string_equal(s.study, "neocpu");
    assert_int_equal(s.part.n, 1);
    assert_false(s.is_interrupted);
    assert_true(kiln_doc_study_is_good(&s));
    const kiln_doc_study_part *p = &s.part.v[0];
    assert_string_equal(p->name, "steps");
    assert_int_equal(p->row.n, 4);
    for (size_t i = 0; i < p->row.n; i++) {
        assert_measured(&p->row.v[i], way[i], 2);
        assert_string_equal(p->row.v[i].group, "dqn");
        assert_true(p->row.v[i].steps > 0);
    }
    assert_true(p->row.v[0].gain.estimate == 1);
    assert_int_equal(p->row.v[0].conversions, 0);
    assert_true(p->row.v[1].conversions > p->row.v[2].conversions);
}

/* ---- beside libraries, and threads ----------------------------------------------- */

static void rows_say_absent_with_the_command(void **state) {
    (void)state;
    const kiln_baseline *const list[] = {kiln_baseline_at(0), NULL};
    kiln_study_options o = options_of("dqn", KILN_STUDY_BESIDE | KILN_STUDY_THREADS);
    o.baseline = list;
    o.baselines_dir = "/nowhere";
    const kiln_doc_study s = neocpu(&o);
    assert_int_equal(s.part.n, 2);
    const kiln_doc_study_part *beside = &s.part.v[0], *threads = &s.part.v[1];
    assert_int_equal(beside->row.n, 2);
    assert_measured(&beside->row.v[0], "kiln", 2);
    assert_string_equal(beside->row.v[1].state, "absent");
    assert_non_null(
        strstr(beside->row.v[1].problem, "kiln baselines install --only onnxruntime"));
    assert_true(kiln_doc_study_is_good(&s));
    /* It is said once. */
    assert_true(threads->has_curve);
    assert_int_equal(threads->row.n, 2);
    for (int i = 0; i < 2; i++)
        assert_measured(&threads->row.v[i], "kiln", i + 1);
    assert_true(threads->row.v[0].gain.estimate == 1);
}

/* It answers, but not what the reference says. */
static void a_wrong_library_has_no_number(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const char *file = kiln_path_join(a, kiln_test_dir(), "wrong.npy");
    const kiln_baseline *const list[] = {kiln_baseline_at(0), NULL};
    kiln_err err = {0};
    kiln_source source;
    kiln_expectation e;
    kiln_assert_status_ok(kiln_source_read(a, "zoo:dqn", NULL, &source, &err), &err);
    kiln_assert_status_ok(kiln_expectation_of(a, &source, 1, &e, &err), &err);
    assert_null(e.out[0].at);
    kiln_tensor t = e.out[0].value;
    ((float *)t.data)[2] += 1;
    kiln_assert_status_ok(kiln_tensor_write_npy(file, &t, &err), &err);
    kiln_study_options o = options_of("dqn", KILN_STUDY_BESIDE);
    o.threads = 1;
    o.baseline = list;
    o.baselines_limit_ms = KILN_TEST_PATIENCE_MS;
    o.baselines_dir = kiln_test_fake_baseline(
        kiln_format(a, "case $line in *load*) give %s;; *) sample;; esac", file));
    const kiln_doc_study s = neocpu(&o);
    const kiln_doc_study_part *p = &s.part.v[0];
    assert_int_equal(p->row.n, 2);
    assert_measured(&p->row.v[0], "kiln", 1);
    assert_string_equal(p->row.v[1].state, "wrong");
    assert_string_equal(p->row.v[1].version, "1.2.3");
    assert_true(p->row.v[1].ms.estimate == 0);
    assert_false(kiln_doc_study_is_good(&s));
}

/* Every row says which file a library was given, and the head who is how far. */
static void rivals_say_their_files_and_quotients(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const char *file = kiln_path_join(a, kiln_test_dir(), "right.npy");
    const char *model = kiln_path_join(a, kiln_test_dir(), "above.kgraph");
    const kiln_str graph =
        kiln_str_from("graph \"above\" {\n  input %x : f32[4,8]\n"
                      "  %y = relu(%x) : f32[4,8] \"above\"\n  output %y\n}\n");
    const kiln_baseline *const *list;
    kiln_err err = {0};
    kiln_source source;
    kiln_expectation e;
    kiln_doc_study s;
    kiln_assert_status_ok(kiln_file_write(model, graph.p, graph.n, &err), &err);
    kiln_assert_status_ok(kiln_source_read(a, model, NULL, &source, &err), &err);
    kiln_assert_status_ok(kiln_expectation_of(a, &source, 1, &e, &err), &err);
    kiln_assert_status_ok(kiln_tensor_write_npy(file, &e.out[0].value, &err), &err);
    kiln_assert_status_ok(kiln_baselines_parse(a, "onnxruntime,litert",
                                               KILN_BASELINE_MODELS, &list, &err),
                          &err);
    kiln_study_options o = options_of(model, 0);
    o.baseline = list;
    o.baselines_limit_ms = KILN_TEST_PATIENCE_MS;
    o.baselines_dir = kiln_test_fake_baseline(
        kiln_format(a, "case $line in *load*) give %s;; *) sample;; esac", file));
    kiln_assert_status_ok(kiln_study_rivals(a, &o, &s, &err), &err);
    assert_int_equal(s.part.n, 2);
    for (int i = 0; i < 2; i++) {
        const kiln_doc_study_part *p = &s.part.v[i];
        assert_int_equal(p->row.n, 3);
        assert_measured(&p->row.v[0], "kiln", i + 1);
        assert_measured(&p->row.v[1], "onnxruntime", i + 1);
        assert_string_equal(p->row.v[1].file, "above.onnx, exported");
        assert_string_equal(p->row.v[2].state, "absent");
        assert_int_equal(p->note.n, 2);
        assert_non_null(strstr(p->note.v[0], "kiln / onnxruntime on "));
        assert_non_null(strstr(p->note.v[0], " of 1"));
        assert_non_null(strstr(p->note.v[1], " above"));
    }
    assert_true(kiln_doc_study_is_good(&s));
    o.model = NULL;
    kiln_assert_fails(kiln_study_rivals(a, &o, &s, &err), KILN_ERR_ARG, &err,
                      "name what is measured: --models");
}

static void a_model_that_is_none_is_a_row(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const char *path = kiln_path_join(a, kiln_test_dir(), "bad.onnx");
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(path, "no model", 8, &err), &err);
    const kiln_study_options o =
        options_of(kiln_format(a, "%s,dqn", path), KILN_STUDY_STEPS);
    const kiln_doc_study s = neocpu(&o);
    const kiln_doc_study_part *p = &s.part.v[0];
    assert_int_equal(p->row.n, 5);
    assert_string_equal(p->row.v[0].state, "failed");
    assert_string_equal(p->row.v[0].model, "bad");
    assert_true(p->row.v[0].problem[0] != '\0');
    assert_null(strchr(p->row.v[0].problem, '\n'));
    assert_measured(&p->row.v[1], "plain", 2);
    assert_false(kiln_doc_study_is_good(&s));
}

/* ---- fusion ---------------------------------------------------------------------- */

static void every_piece_is_right_fused_and_not(void **state) {
    (void)state;
    const kiln_study_options o = options_of("dqn", 0);
    kiln_doc_study s;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_study_fusion(kiln_test_arena(), &o, &s, &err), &err);
    assert_string_equal(s.study, "fusion");
    assert_int_equal(s.part.n, 1);
    const kiln_doc_study_part *p = &s.part.v[0];
    assert_int_equal(p->row.n, 10); /* four pieces and a model */
    for (size_t i = 0; i < p->row.n; i += 2) {
        assert_measured(&p->row.v[i], "apart", 2);
        assert_measured(&p->row.v[i + 1], "fused", 2);
        assert_string_equal(p->row.v[i].group, p->row.v[i + 1].group);
        assert_true(p->row.v[i].steps > p->row.v[i + 1].steps);
    }
    assert_string_equal(p->row.v[8].model, "dqn");
}

/* ---- what is asked for ----------------------------------------------------------- */

typedef struct bad_row {
    const char *name, *list, *text;
} bad_row;

static bad_row bad_models[] = {
    {"refuses_an_unknown_network", "resnet18,resnet19",
     "the zoo has no network 'resnet19'"},
    {"refuses_an_unknown_network_of_the_zoo", "zoo:resnet19",
     "the zoo has no network 'resnet19'"},
    {"refuses_a_model_that_comes_twice", "dqn,zoo:dqn",
     "model 'zoo:dqn' is given twice"},
    {"refuses_a_model_without_a_name", "dqn,", "the zoo has no network ''"},
};

static void refuses_models(void **state) {
    const bad_row *r = *state;
    const char *const *model;
    kiln_err err = {0};
    kiln_assert_fails(kiln_study_models(kiln_test_arena(), r->list, &model, &err),
                      KILN_ERR_ARG, &err, r->text);
}

static bad_row bad_parts[] = {
    {"refuses_an_unknown_part", "steps,figures",
     "there is no part 'figures'; there are: steps, beside, threads"},
    {"refuses_a_part_without_a_name", "",
     "there is no part ''; there are: steps, beside, threads"},
};

static void refuses_parts(void **state) {
    const bad_row *r = *state;
    unsigned parts;
    kiln_err err = {0};
    kiln_assert_fails(kiln_study_parts(r->list, &parts, &err), KILN_ERR_ARG, &err,
                      r->text);
}

static void takes_parts_in_any_order(void **state) {
    (void)state;
    unsigned parts = 0;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_study_parts("threads,steps", &parts, &err), &err);
    assert_int_equal(parts, KILN_STUDY_THREADS | KILN_STUDY_STEPS);
}

/* ---- what the papers say --------------------------------------------------------- */

static void the_papers_networks_are_in_the_zoo(void **state) {
    (void)state;
    kiln_err err = {0};
    int n = 0, n_steps = 0;
    for (const kiln_published *p = NULL; (p = kiln_published_at(n)) != NULL; n++) {
        const kiln_zoo_network *network = NULL;
        kiln_assert_status_ok(kiln_zoo_find(p->model, &network, &err), &err);
        assert_true(p->mxnet > 0 && p->tensorflow > 0 && p->openvino > 0 &&
                    p->neocpu > 0);
        n_steps += p->gain[0] > 0;
        for (int i = 1; i < KILN_STUDY_STEPS_OF_PAPER && p->gain[0] > 0; i++)
            assert_true(p->gain[i] > p->gain[i - 1]);
        assert_ptr_equal(kiln_published_find(p->model), p);
    }
    assert_int_equal(n, 15);
    assert_int_equal(n_steps, 5);
    assert_null(kiln_published_find("dqn"));
}

/* ---- the last: it asks this process to stop -------------------------------------- */

static void an_interruption_keeps_what_there_is(void **state) {
    (void)state;
    const kiln_study_options o = options_of("dqn", 0);
    kiln_interrupt_catch();
    assert_int_equal(raise(SIGINT), 0);
    const kiln_doc_study s = neocpu(&o);
    assert_true(s.is_interrupted);
    assert_int_equal(s.part.n, 3);
    for (size_t i = 0; i < s.part.n; i++)
        assert_int_equal(s.part.v[i].row.n, 0);
}

int main(void) {
    static const struct CMUnitTest unit[] = {
        cmocka_unit_test(every_step_is_right_and_measured),
        cmocka_unit_test(rows_say_absent_with_the_command),
        cmocka_unit_test(a_wrong_library_has_no_number),
        cmocka_unit_test(rivals_say_their_files_and_quotients),
        cmocka_unit_test(a_model_that_is_none_is_a_row),
        cmocka_unit_test(every_piece_is_right_fused_and_not),
        cmocka_unit_test(takes_parts_in_any_order),
        cmocka_unit_test(the_papers_networks_are_in_the_zoo),
        cmocka_unit_test(an_interruption_keeps_what_there_is),
    };
    kiln_test_add_rows(refuses_models, bad_models);
    kiln_test_add_rows(refuses_parts, bad_parts);
    kiln_test_add_tests(unit);
    return kiln_test_run("study");
}
