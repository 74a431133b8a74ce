/* Which files baselines read, and what the real ones, where kiln baselines install put
 * them, make of models of other frameworks: golden outputs made by another runtime. */
#include "pipeline/baselines/baselines_rivals.h"
#include "pipeline/pipeline.h"
#include "tests/support/measuring/fake_baseline.h"

#include <string.h>

static const kiln_baseline *named(const char *name) {
    for (int i = 0; kiln_baseline_at(i) != NULL; i++)
        if (strcmp(kiln_baseline_at(i)->name, name) == 0)
            return kiln_baseline_at(i);
    fail_msg("there is no baseline '%s'", name);
    return NULL;
}

/* ---- formats --------------------------------------------------------------------- */

typedef struct format_row {
    const char *name, *formats; /* of the baseline; what it reads */
} format_row;

static format_row formats[] = {
    {"onnxruntime", "onnx"}, {"openvino", "onnx, tflite, tensorflow, pytorch"},
    {"litert", "tflite"},    {"mnn", "onnx"},
    {"ncnn", "onnx"},        {"iree", "onnx"},
    {"torch", "pytorch"},    {"tvm", "onnx"},
    {"onednn", ""},          {"xnnpack", ""},
    {"armnn", "tflite"},
};

static void names_its_formats(void **state) {
    const format_row *r = *state;
    const kiln_baseline *b = named(r->name);
    kiln_str rest = kiln_str_from(r->formats), format;
    assert_string_equal(kiln_baseline_formats(kiln_test_arena(), b), r->formats);
    while (rest.n > 0 && kiln_str_cut(&rest, ',', &format))
        assert_true(kiln_baseline_reads(
            b, kiln_str_dupv(kiln_test_arena(), kiln_str_trim(format))));
    assert_false(kiln_baseline_reads(b, "caffe"));
    assert_int_equal(b->reads != NULL, b->open != NULL);
    assert_int_equal(kiln_baseline_wanted(b) != NULL,
                     b->open != NULL && b->wheel != NULL);
}

/* ---- left out -------------------------------------------------------------------- */

static kiln_status never(void *user, const kiln_rival *r, kiln_baseline_session *out,
                         kiln_err *err) {
    (void)user;
    (void)out;
    return kiln_fail(err, KILN_ERR_LIB, "%s was given %s", r->baseline->name, r->file);
}

static kiln_status exports(void *user, const char **file, kiln_err *err) {
    (void)user;
    (void)err;
    *file = "pose.onnx, exported";
    return KILN_OK;
}

static kiln_status refuses_to_export(void *user, const char **file, kiln_err *err) {
    (void)user;
    (void)file;
    return kiln_fail(err, KILN_ERR_UNSUPPORTED, "onnx has no such convolution");
}

static kiln_status is_here(const kiln_baseline *b, kiln_arena *a, const char *dir,
                           kiln_baseline_here *out, kiln_err *err) {
    (void)b;
    (void)a;
    (void)dir;
    (void)err;
    *out = (kiln_baseline_here){.is_here = true, .version = "1.2.3"};
    return KILN_OK;
}

/* One that reads other files is absent with a reason, and none is missed; the others are
 * given the file. */
static void leaves_out_who_reads_no_such_file(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_baseline copy[] = {*named("onnxruntime"), *named("litert")};
    const kiln_baseline *const which[] = {&copy[0], &copy[1], NULL};
    const kiln_rivals_subject s = {.dir = "/nowhere",
                                   .file = "pose.tflite",
                                   .format = "tflite",
                                   .threads = 1,
                                   .open = never};
    kiln_rival_list list = {0};
    copy[0].find = copy[1].find = is_here;
    (void)kiln_rivals_open(a, a, which, &s, &list);
    assert_int_equal(list.v[0].state, KILN_RIVAL_ABSENT);
    assert_string_equal(list.v[0].reason,
                        "it reads files of onnx, and 'pose.tflite' is of tflite");
    assert_null(list.v[0].file);
    assert_int_equal(list.v[1].state, KILN_RIVAL_FAILED);
    assert_string_equal(list.v[1].reason, "litert was given pose.tflite");
    assert_string_equal(list.v[1].file, "pose.tflite");
    assert_false(kiln_rivals_are_measured(&list));
    list.n = 1;
    assert_true(kiln_rivals_are_measured(&list));
    const kiln_results_baselines given = kiln_rivals_results(a, &list, false);
    assert_string_equal(given.v[0].state, "absent");
    assert_string_equal(given.v[0].problem, list.v[0].reason);
}

/* Those that read the file are given that; those that read ONNX, what is exported. */
static void gives_exported_files_to_who_reads_those(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_baseline copy[] = {*named("onnxruntime"), *named("openvino"), *named("torch")};
    const kiln_baseline *const which[] = {&copy[0], &copy[1], &copy[2], NULL};
    kiln_rivals_subject s = {.dir = "/nowhere",
                             .file = "pose.tflite",
                             .format = "tflite",
                             .threads = 1,
                             .open = never,
                             .export = exports};
    kiln_rival_list list = {0};
    copy[0].find = copy[1].find = copy[2].find = is_here;
    (void)kiln_rivals_open(a, a, which, &s, &list);
    assert_string_equal(list.v[0].reason, "onnxruntime was given pose.onnx, exported");
    assert_true(list.v[0].is_exported);
    assert_string_equal(list.v[1].reason, "openvino was given pose.tflite");
    assert_false(list.v[1].is_exported);
    assert_true(list.v[2].is_left_out);
    s.export = refuses_to_export;
    list.n = 0;
    (void)kiln_rivals_open(a, a, which, &s, &list);
    assert_true(list.v[0].is_left_out);
    assert_string_equal(list.v[0].reason,
                        "it reads files of onnx, and 'pose.tflite' is of tflite; not "
                        "exported: onnx has no such convolution");
    assert_string_equal(list.v[1].reason, "openvino was given pose.tflite");
}

/* Without PyTorch OpenVINO reads no files of it, and is given what is exported. */
static void borrows_a_reader_where_that_is_here(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const kiln_baseline *b = named("openvino");
    assert_true(kiln_baseline_reads(b, "pytorch"));
    assert_false(kiln_baseline_reads_here(b, a, "/nowhere", "pytorch"));
    assert_true(kiln_baseline_reads_here(b, a, "/nowhere", "tflite"));
    assert_false(kiln_baseline_reads_here(b, a, "/nowhere", "caffe"));
    assert_true(
        kiln_baseline_reads_here(b, a, kiln_test_fake_baseline("exit"), "pytorch"));
}

/* ---- golden outputs -------------------------------------------------------------- */

typedef struct model_row {
    const char *name, *baseline, *folder, *file;
    bool goes_on; /* later cases go on from the state that the first leaves behind */
} model_row;

#define OF(baseline, folder, file)                                                     \
    { baseline "_" folder, baseline, folder, file, false }
#define GOING_ON(baseline, folder, file)                                               \
    { baseline "_" folder, baseline, folder, file, true }

static model_row models[] = {
    OF("litert", "face_detection_short_tflite", "face_detection_short_range.tflite"),
    OF("litert", "hand_landmark_lite_tflite", "hand_landmark_lite.tflite"),
    OF("litert", "hourglass_tflite", "hourglass.tflite"),
    OF("litert", "keyword_svdf_tflite", "keyword_scrambled.tflite"),
    OF("litert", "micro_speech_int8_tflite", "micro_speech_quantized.tflite"),
    GOING_ON("litert", "mnist_lstm_tflite", "mnist_lstm.tflite"),
    GOING_ON("litert", "mnist_lstm_int8_tflite", "mnist_lstm_int8.tflite"),
    OF("litert", "mobilenet_v1_025_quant_tflite", "mobilenet_v1_0.25_128_quant.tflite"),
    OF("litert", "oww_embedding_tflite", "embedding_model.tflite"),
    OF("armnn", "micro_speech_int8_tflite", "micro_speech_quantized.tflite"),
    OF("openvino", "face_detection_short_tflite", "face_detection_short_range.tflite"),
    OF("openvino", "hand_landmark_lite_tflite", "hand_landmark_lite.tflite"),
    OF("openvino", "oww_embedding_tflite", "embedding_model.tflite"),
    OF("openvino", "t2o_fc_pb", "t2o_fc-layers.pb"),
    OF("openvino", "basic_pitch_pb", "basic_pitch.pb"),
    OF("openvino", "emotion_pb", "emotion.pb"),
    OF("openvino", "iris_pb", "iris.pb"),
};

typedef struct asked {
    const kiln_baseline *b;
    const char *dir, *model;
    const char *const *out;
    size_t n_out;
} asked;

static kiln_status run_one(void *user, kiln_arena *a, const kiln_value_binding *in,
                           size_t n_in, kiln_golden_result *out, kiln_err *err) {
    const asked *q = user;
    kiln_baseline_session s;
    const kiln_baseline_job job = {.dir = q->dir,
                                   .model = q->model,
                                   .threads = 2,
                                   .in = in,
                                   .n_in = n_in,
                                   .out = q->out,
                                   .n_out = q->n_out};
    KILN_TRY(q->b->open(q->b, a, &job, &s, err));
    *out = (kiln_golden_result){.name = q->out, .value = s.out, .n = q->n_out};
    return KILN_OK;
}

/* Of the first case, as golden.json has them. */
static const char *const *names_of(const char *dir, const char *what, size_t *n) {
    kiln_arena *a = kiln_test_arena();
    const kiln_json *doc;
    kiln_err err = {.status = KILN_OK};
    kiln_assert_status_ok(
        kiln_json_read(a, kiln_path_join(a, dir, "golden.json"), &doc, &err), &err);
    const kiln_json *list =
        kiln_json_get(kiln_json_first(kiln_json_get(doc, "cases")), what);
    const char **name = kiln_array(a, const char *, kiln_json_size(list));
    *n = 0;
    for (const kiln_json *v = kiln_json_first(list); v != NULL; v = kiln_json_next(v))
        name[(*n)++] = kiln_json_string(kiln_json_get(v, "name"), "");
    return name;
}

/* Where it is not, the test is skipped. */
static asked asked_of(const char *baseline) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_baseline_here here;
    asked q = {.b = named(baseline)};
    if (kiln_baselines_dir(a, &q.dir, &err) != KILN_OK)
        kiln_test_skip("%s is absent: %s", baseline, err.text);
    kiln_assert_status_ok(q.b->find(q.b, a, q.dir, &here, &err), &err);
    if (!here.is_here)
        kiln_test_skip("%s is absent: %s", baseline, here.remedy);
    return q;
}

static void gives_golden_outputs(void **state) {
    const model_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_checks checks = {.list = {.n = 0}};
    asked q = asked_of(r->baseline);
    q.model =
        kiln_test_shared(kiln_format(a, "models/files/%s/%s", r->folder, r->file));
    const char *golden =
        kiln_test_shared(kiln_format(a, "models/golden/%s", r->folder));
    q.out = names_of(golden, "outputs", &q.n_out);
    kiln_golden_side side = {.must_name = false,
                             .tolerance = kiln_tolerance_network,
                             .suffix = "",
                             .run = run_one,
                             .user = &q};
    side.input = names_of(golden, "inputs", &side.n_inputs);
    kiln_assert_status_ok(kiln_verify_golden_cases(a, golden, &side, &checks, &err),
                          &err);
    assert_true(checks.list.n > 0);
    for (size_t i = 0; i < checks.list.n; i++) {
        const kiln_check *c = &checks.list.v[i];
        print_message("%s: %s, largest error %g\n", c->name,
                      kiln_check_outcome_name(c->outcome), c->max_abs);
        if (c->outcome != KILN_PASSED && (i == 0 || !r->goes_on))
            fail_msg("%s: %s", c->name, c->reason);
    }
}

/* By its file, as kiln names it; its variables lie in the file's folder. */
static void openvino_reads_a_saved_model(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    static const char *const out[] = {"dense_12"};
    const kiln_type t = kiln_type_make(KILN_F32, 4, (const int64_t[]){2, 32, 32, 3});
    const kiln_value_binding in = {"conv2d_9_input", kiln_tensor_new(a, &t)};
    kiln_golden_result got;
    asked q = asked_of("openvino");
    q.model = kiln_test_shared(
        "models/files/samplenet_savedmodel/samplenet_tf2/saved_model.pb");
    q.out = out;
    q.n_out = 1;
    kiln_assert_status_ok(run_one(&q, a, &in, 1, &got, &err), &err);
    assert_int_equal(kiln_type_elems(&got.value->type), 2 * 10);
}

int main(void) {
    kiln_test_add_rows(names_its_formats, formats);
    kiln_test_add("leaves_out_who_reads_no_such_file",
                  leaves_out_who_reads_no_such_file, NULL);
    kiln_test_add("gives_exported_files_to_who_reads_those",
                  gives_exported_files_to_who_reads_those, NULL);
    kiln_test_add("borrows_a_reader_where_that_is_here",
                  borrows_a_reader_where_that_is_here, NULL);
    kiln_test_add_rows(gives_golden_outputs, models);
    kiln_test_add("openvino_reads_a_saved_model", openvino_reads_a_saved_model, NULL);
    return kiln_test_run("files");
}
