/* The trained models of ../shared/models against golden outputs of another
 * runtime: by the reference interpreter as imported, and after every graph pass (each
 * compared with the reference too); and compiled, by the runtime. */
#include "base/base.h"
#include "pipeline/remote/remote.h"
#include "pipeline/pipeline.h"
#include "tests/support/kiln_test.h"
#include "compiler/pass/pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODELS "../shared/models"

enum {
    LARGE = 1,    /* too large for the reference after each pass under a sanitizer */
    DEEP = 2,     /* its passes are those of smaller ones beside it: with KILN_SOAK */
    STATEFUL = 4, /* each case went on from the one before it */
    AGAIN = 8     /* a network that is here in another format: with KILN_SOAK */
};

typedef struct row {
    const char *name; /* folder below files/ and golden/ */
    const char *file;
    unsigned is; /* of the above */
} row;

static row rows[] = {
    {"samplenet_onnx", "samplenet.onnx", 0},
    {"oww_embedding_onnx", "embedding_model.onnx", 0},
    {"oww_alexa_onnx", "alexa_v0.1.onnx", 0},
    {"blazeface_front_onnx", "face_detection_front_128x128_barracuda.onnx", 0},
    {"ppocr_cls_onnx", "ch_ppocr_mobile_v2.0_cls_infer.onnx", LARGE},
    {"ppocr_det_onnx", "ch_PP-OCRv4_det_infer.onnx", LARGE},
    {"mlsd_320_tiny_onnx", "mlsd_320x320_tiny.onnx", LARGE | DEEP},
    {"silero_vad_legacy_onnx", "silero_vad_legacy.onnx", 0},
    {"t2o_fc_pb", "t2o_fc-layers.pb", 0},
    {"t2o_lstm_pb", "t2o_lstm.pb", 0},
    {"samplenet_pb", "samplenet.pb", 0},
    {"emotion_pb", "emotion.pb", LARGE},
    {"iris_pb", "iris.pb", LARGE},
    {"hourglass_pb", "hourglass.pb", LARGE | DEEP | AGAIN},
    {"basic_pitch_pb", "basic_pitch.pb", LARGE | DEEP},
    {"face_detection_short_tflite", "face_detection_short_range.tflite", 0},
    {"hand_landmark_lite_tflite", "hand_landmark_lite.tflite", LARGE},
    {"oww_embedding_tflite", "embedding_model.tflite", 0},
    {"conformer_tflite", "torchaudio_conformer.tflite", LARGE},
    {"hourglass_tflite", "hourglass.tflite", LARGE | DEEP | AGAIN},
    {"samplenet_caffe", "SampLeNet.prototxt", 0},
    {"mtcnn_det1_caffe", "det1.caffemodel", 0},
    {"mtcnn_det2_caffe", "det2.prototxt", 0},
    {"samplenet_mxnet", "samplenet-symbol.json", 0},
    {"hourglass_mlmodel", "hourglass.mlmodel", LARGE | DEEP},
    {"fer2013_mini_xception_h5", "fer2013_mini_XCEPTION.hdf5", 0},
    {"upscaler_default_h5", "upscaler_default.h5", LARGE | DEEP},
    {"micro_speech_int8_tflite", "micro_speech_quantized.tflite", 0},
    {"keyword_svdf_tflite", "keyword_scrambled.tflite", STATEFUL},
    {"mnist_lstm_tflite", "mnist_lstm.tflite", STATEFUL},
    {"mnist_lstm_int8_tflite", "mnist_lstm_int8.tflite", STATEFUL},
    {"mobilenet_v1_025_quant_tflite", "mobilenet_v1_0.25_128_quant.tflite",
     LARGE | DEEP},
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

static void check_golden(const row *r, const kiln_pass_options *passes,
                         const kiln_runner *runner) {
    /* Bounds take up to 17 runs of the reference. */
    if ((r->is & LARGE) != 0 && kiln_test_is_sanitized() && getenv("KILN_SOAK") == NULL)
        kiln_test_skip("too slow under a sanitizer: make soak");
    kiln_arena a;
    kiln_arena_init(&a);
    const char *model = kiln_format(&a, MODELS "/files/%s/%s", r->name, r->file);
    const char *golden = kiln_format(&a, MODELS "/golden/%s", r->name);
    if (!kiln_file_exists(model)) {
        print_message("skipped: %s is not here\n", model);
        kiln_arena_fini(&a);
        skip();
    }
    kiln_err err = {0};
    kiln_checks checks = {0};
    const kiln_import_options o = {.has_state = (r->is & STATEFUL) != 0};
    const kiln_status st =
        kiln_verify_golden(&a, model, golden, &o, passes, runner, &checks, &err);
    for (size_t i = 0; i < checks.list.n; i++) {
        const kiln_check *c = &checks.list.v[i];
        print_message("%s %s: %s %s(rms error %.3g of %.3g, %lld ms)\n", r->name,
                      c->name, kiln_check_outcome_name(c->outcome), c->reason,
                      c->rms_error, c->rms_want, (long long)c->time_ms);
    }
    if (st != KILN_OK)
        print_error("%s\n", err.text);
    const size_t n_passed = checks.n_passed, n = checks.list.n;
    kiln_arena_fini(&a);
    assert_int_equal(st, KILN_OK);
    assert_true(n > 0);
    assert_int_equal(n_passed, n);
}

/* The next does so with passes, each of which it holds against the graph before it, to
 * the same golden outputs: here are the smallest of each format. */
static void matches_as_imported(void **state) {
    const row *r = *state;
    if (strncmp(r->name, "samplenet", strlen("samplenet")) != 0 &&
        getenv("KILN_SOAK") == NULL)
        kiln_test_skip("with checked passes, the next says the same: make soak");
    check_golden(r, NULL, NULL);
}

static void matches_after_checked_passes(void **state) {
    const row *r = *state;
    const kiln_pass_options passes = {.verify = true, .check = true, .check_seed = 7};
    if ((r->is & DEEP) != 0 && getenv("KILN_SOAK") == NULL)
        kiln_test_skip("every pass of it takes long: make soak");
    check_golden(r, &passes, NULL);
}

/* The whole way: passes, fusion, templates, code, plan, runtime, on this machine, by one
 * thread and by two. */
static void matches_compiled(void **state) {
    const row *r = *state;
    if ((r->is & AGAIN) != 0 && getenv("KILN_SOAK") == NULL)
        kiln_test_skip("compiled from another format: make soak");
    kiln_err err = {0};
    kiln_profile p;
    kiln_assert_status_ok(kiln_profile_detect(kiln_test_arena(), &p, &err), &err);
    const kiln_pass_options passes = {.verify = true};
    kiln_remote_target target = kiln_remote_target_of(kiln_test_arena(), &p);
    target.more_threads = 2;
    const kiln_runner runner = {kiln_remote_run_graph, &target};
    check_golden(r, &passes, &runner);
}

/* ---- what was once compiled wrongly ---------------------------------------------- */

#define REGRESSIONS "../shared/regressions"

static void check_regression(kiln_arena *a, const char *folder, const char *profile) {
    kiln_err err = {0};
    kiln_profile p;
    kiln_checks checks = {0};
    const kiln_pass_options passes = {.verify = true};
    kiln_assert_status_ok(kiln_profile_find(a, profile, &p, &err), &err);
    if (kiln_runs_here(&p, &err) != KILN_OK)
        return;
    kiln_remote_target target = kiln_remote_target_of(a, &p);
    const kiln_runner runner = {kiln_remote_run_graph, &target};
    kiln_assert_status_ok(kiln_verify_golden(a, kiln_path_join(a, folder, "model.onnx"),
                                             folder, NULL, &passes, &runner, &checks,
                                             &err),
                          &err);
    for (size_t i = 0; i < checks.list.n; i++)
        if (checks.list.v[i].outcome != KILN_PASSED)
            fail_msg("%s on %s: %s", folder, profile, checks.list.v[i].reason);
    assert_true(checks.n_passed > 0);
}

/* Every folder there is, on every profile that this machine runs, fast and strict. */
static void regressions_are_right(void **state) {
    (void)state;
    kiln_arena a;
    kiln_err err = {0};
    char **name = NULL;
    size_t n = 0, n_folders = 0;
    if (!kiln_file_exists(REGRESSIONS "/README.md"))
        kiln_test_skip(REGRESSIONS " is not here");
    kiln_arena_init(&a);
    kiln_assert_status_ok(kiln_dir_list(&a, REGRESSIONS, &name, &n, &err), &err);
    for (size_t i = 0; i < n; i++) {
        const char *folder = kiln_path_join(&a, REGRESSIONS, name[i]);
        if (!kiln_file_exists(kiln_path_join(&a, folder, "model.onnx")))
            continue;
        n_folders++;
        check_regression(&a, folder, "native");
        for (int k = 0; kiln_profile_at(k) != NULL; k++)
            check_regression(&a, folder, kiln_profile_at(k)->name);
    }
    kiln_arena_fini(&a);
    assert_true(n_folders > 0);
}

int main(void) {
    enum { WAYS = 3 };
    static const struct {
        const char *suffix;
        void (*check)(void **state);
    } way[WAYS] = {{"as_imported", matches_as_imported},
                   {"after_checked_passes", matches_after_checked_passes},
                   {"compiled", matches_compiled}};
    static struct CMUnitTest tests[WAYS * N_ROWS + 1];
    static char names[WAYS * N_ROWS][64];
    for (size_t i = 0; i < WAYS * N_ROWS; i++) {
        snprintf(names[i], sizeof names[i], "%s_%s", rows[i / WAYS].name,
                 way[i % WAYS].suffix);
        tests[i] = (struct CMUnitTest){names[i], way[i % WAYS].check, NULL, NULL,
                                       &rows[i / WAYS]};
    }
    tests[WAYS * N_ROWS] = (struct CMUnitTest){"regressions_are_right",
                                               regressions_are_right, NULL, NULL, NULL};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
