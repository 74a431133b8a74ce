/* Every network of the zoo and every trained float ONNX model, built and verified as a
 * package: for AVX-512 and AVX2, small ones for AArch64 too (in an emulator), strict
 * on one and fast on the next, at one thread and two; against the reference and golden
 * outputs. And each plan's memory is at most 1.15 times what any plan needs.
 *
 * Under a sanitizer each network has one of the six ways, which differ in code
 * generated, not in the code that is sanitized; together they still have all.
 * KILN_SOAK=1 adds the rest, and the networks of hundreds of megabytes. */
#include "pipeline/package/package.h"
#include "tests/support/program/cli_run.h"
#include "tests/support/kiln_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double most_memory = 1.15; /* times the lower bound */

typedef struct model {
    const char *name;
    const char *source; /* "zoo:...", or a file below ../shared/models/files */
    const char *golden; /* folder below ../shared/models/golden; NULL: none */
    kiln_shape_binding shape[3];
    size_t n_shapes;
    bool is_small, is_large;
    /* Made at the first use. */
    kiln_source read;
    kiln_expectation expectation;
} model;

static model models[] = {
    {.name = "dqn", .source = "zoo:dqn", .is_small = true},
    {.name = "dcgan", .source = "zoo:dcgan"},
    {.name = "mobilenet_v1", .source = "zoo:mobilenet_v1"},
    {.name = "mobilenet_v2", .source = "zoo:mobilenet_v2"},
    {.name = "resnet18", .source = "zoo:resnet18"},
    {.name = "mobilenet_v3_large", .source = "zoo:mobilenet_v3_large"},
    {.name = "squeezenet1_1", .source = "zoo:squeezenet1_1"},
    {.name = "lstm_lm", .source = "zoo:lstm_lm"},
    {.name = "bert_mini", .source = "zoo:bert_mini"},
    {.name = "resnet50", .source = "zoo:resnet50", .is_large = true},
    {.name = "vgg16", .source = "zoo:vgg16", .is_large = true},
    {.name = "efficientnet_b0", .source = "zoo:efficientnet_b0", .is_large = true},
    {.name = "lstm_lm_step", .source = "zoo:lstm_lm_step", .is_large = true},
    {.name = "densenet121", .source = "zoo:densenet121", .is_large = true},
    {.name = "inception_v3", .source = "zoo:inception_v3", .is_large = true},
    {.name = "convnext_tiny", .source = "zoo:convnext_tiny", .is_large = true},
    {.name = "ssd_resnet50", .source = "zoo:ssd_resnet50", .is_large = true},
    {.name = "unet", .source = "zoo:unet", .is_large = true},
    {.name = "vit_b_16", .source = "zoo:vit_b_16", .is_large = true},
    {.name = "bert_base", .source = "zoo:bert_base", .is_large = true},
    {.name = "gpt2_step", .source = "zoo:gpt2_step", .is_large = true},
    {.name = "whisper_tiny_encoder",
     .source = "zoo:whisper_tiny_encoder",
     .is_large = true},
    {.name = "samplenet",
     .source = "samplenet_onnx/samplenet.onnx",
     .golden = "samplenet_onnx",
     .is_small = true},
    {.name = "oww_embedding",
     .source = "oww_embedding_onnx/embedding_model.onnx",
     .golden = "oww_embedding_onnx",
     .shape = {{"input_1", 4, {1, 76, 32, 1}}},
     .n_shapes = 1,
     .is_small = true},
    {.name = "oww_alexa",
     .source = "oww_alexa_onnx/alexa_v0.1.onnx",
     .golden = "oww_alexa_onnx",
     .is_small = true},
    {.name = "blazeface",
     .source = "blazeface_front_onnx/face_detection_front_128x128_barracuda.onnx",
     .golden = "blazeface_front_onnx",
     .is_small = true},
    {.name = "ppocr_cls",
     .source = "ppocr_cls_onnx/ch_ppocr_mobile_v2.0_cls_infer.onnx",
     .golden = "ppocr_cls_onnx",
     .shape = {{"x", 4, {1, 3, 48, 192}}},
     .n_shapes = 1,
     .is_small = true},
    {.name = "ppocr_det",
     .source = "ppocr_det_onnx/ch_PP-OCRv4_det_infer.onnx",
     .golden = "ppocr_det_onnx",
     .shape = {{"x", 4, {1, 3, 160, 224}}},
     .n_shapes = 1},
    {.name = "mlsd",
     .source = "mlsd_320_tiny_onnx/mlsd_320x320_tiny.onnx",
     .golden = "mlsd_320_tiny_onnx",
     .is_large = true}, /* by the time that its bounds take */
    {.name = "silero_vad",
     .source = "silero_vad_legacy_onnx/silero_vad_legacy.onnx",
     .golden = "silero_vad_legacy_onnx",
     .shape = {{"input", 2, {1, 1536}}, {"h", 3, {2, 1, 64}}, {"c", 3, {2, 1, 64}}},
     .n_shapes = 3,
     .is_small = true},
};
enum { N_MODELS = sizeof models / sizeof models[0] };

static const char *const profiles[] = {"x86-avx512", "x86-avx2", "aarch64"};
enum { N_PROFILES = 3, N_NUMERICS = 2, N_ROWS = N_MODELS * N_PROFILES * N_NUMERICS };

typedef struct row {
    char name[80];
    model *model;
    const char *profile;
    kiln_numerics numerics;
} row;

static void read_model(model *m) {
    if (m->read.graph != NULL)
        return;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    const kiln_import_options o = {.shapes = m->shape, .n_shapes = m->n_shapes};
    const char *path =
        strncmp(m->source, "zoo:", 4) == 0
            ? m->source
            : kiln_test_shared(kiln_format(a, "models/files/%s", m->source));
    kiln_assert_status_ok(kiln_source_read(a, path, &o, &m->read, &err), &err);
    kiln_assert_status_ok(kiln_expectation_of(a, &m->read, 1, &m->expectation, &err),
                          &err);
}

static void print_checks(const kiln_checks *c) {
    for (size_t i = 0; i < c->list.n; i++)
        print_message("%s %s: %s (rms error %.3g of %.3g, %lld ms)\n",
                      kiln_check_outcome_name(c->list.v[i].outcome), c->list.v[i].name,
                      c->list.v[i].reason, c->list.v[i].rms_error,
                      c->list.v[i].rms_want, (long long)c->list.v[i].time_ms);
}

static void build(kiln_arena *a, const row *r, const kiln_profile *p, kiln_build *out) {
    kiln_err err = {0};
    const kiln_build_options o = {
        .path = kiln_path_join(a, kiln_test_dir(), "p.kiln.tar.zst"), .seed = 1};
    kiln_assert_status_ok(kiln_package_build(a, &r->model->read, &r->model->expectation,
                                             p, &o, out, &err),
                          &err);
    if ((double)out->arena > most_memory * (double)out->lower_bound)
        fail_msg("activations take %lld bytes, %lld would do", (long long)out->arena,
                 (long long)out->lower_bound);
}

static void check(void **state) {
    const row *r = *state;
    static const int threads[] = {1, 2};
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_profile p;
    const kiln_device *device = NULL;
    kiln_build b;
    kiln_checks checks = {0};
    kiln_verify_options o = {.threads = threads, .n_threads = 2, .seed = 2};
    if (r->model->is_large && getenv("KILN_SOAK") == NULL)
        kiln_test_skip("%s is large: make soak", r->model->name);
    kiln_assert_status_ok(kiln_profile_find(&a, r->profile, &p, &err), &err);
    p.numerics = r->numerics;
    if (kiln_device_find_for(&a, NULL, &p, &device, &err) != KILN_OK)
        kiln_test_skip("%s", err.text);
    if (device->is_emulated && !r->model->is_small)
        kiln_test_skip("%s takes too long in an emulator", r->model->name);
    read_model(r->model);
    build(&a, r, &p, &b);
    if (r->model->golden != NULL)
        o.golden =
            kiln_test_shared(kiln_format(&a, "models/golden/%s", r->model->golden));
    kiln_assert_status_ok(kiln_verify_package(&a, b.path, &o, &checks, &err), &err);
    print_checks(&checks);
    assert_int_equal(checks.n_failed, 0);
    /* The archive, and at each number of threads the self-test and a golden case. */
    assert_true(checks.n_passed >= (r->model->golden != NULL ? 5U : 3U));
    kiln_arena_fini(&a);
}

/* Each network has each profile, and both numerics: the first strict where the next is
 * fast. Under a sanitizer: way 0 of the first network, 1 of the next, ... */
static bool is_left_out(size_t i) {
    enum { WAYS = N_PROFILES * N_NUMERICS };
    const size_t network = i / WAYS, way = i % WAYS;
    if (getenv("KILN_SOAK") != NULL)
        return false;
    return kiln_test_is_sanitized() ? way != network % WAYS
                                    : (network + way / N_NUMERICS + way) % 2 != 0;
}

int main(void) {
    kiln_test_own_home();
    static row rows[N_ROWS];
    for (size_t i = 0; i < N_ROWS; i++) {
        row *r = &rows[i];
        r->model = &models[i / (N_PROFILES * N_NUMERICS)];
        r->profile = profiles[i / N_NUMERICS % N_PROFILES];
        r->numerics = i % 2 == 0 ? KILN_NUMERICS_FAST : KILN_NUMERICS_STRICT;
        snprintf(r->name, sizeof r->name, "%s_%s_%s", r->model->name, r->profile,
                 i % 2 == 0 ? "fast" : "strict");
        if (!is_left_out(i))
            kiln_test_add(r->name, check, r);
    }
    return kiln_test_run("packages");
}
