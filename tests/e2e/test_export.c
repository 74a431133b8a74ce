/* Models written as ONNX and read again: every conformance model, the trained models of
 * ../shared/models against golden outputs; and kiln export from outside. */
#include "pipeline/pipeline.h"
#include "tests/support/program/cli_run.h"
#include "tests/support/import/export_run.h"
#include "tests/support/kiln_test.h"

#include <stdlib.h>
#include <string.h>

#define NODE_TESTS "../shared/onnx-node-tests"
#define MODELS "../shared/models"

static kiln_runner exported(kiln_test_exports *e) {
    return (kiln_runner){kiln_test_run_exported, e};
}

/* ---- conformance ----------------------------------------------------------------- */

/* A reason that has this text is the exporter's. */
static bool says(const kiln_check *c, const char *text) {
    return c->outcome != KILN_PASSED && strstr(c->reason, text) != NULL;
}

/* Everything that runs as it is runs when it was exported, but for what ONNX cannot
 * say, which `may_refuse` of them are. */
typedef struct row {
    const char *name, *filter;
    int64_t may_refuse;
    size_t floor; /* of those that pass */
    bool is_slow;
} row;

static row rows[] = {
    {"conformance_of_nodes", "node/", 0, 1094, false},
    {"conformance_of_older_nodes", "node-older/", 0, 562, false},
    {"conformance_of_pytorch", "pytorch-", 0, 76, false},
    {"conformance_of_models", "simple/", 0, 11, false},
    {"conformance_of_networks", "light/", 0, 5, true},
};

static void check_conformance(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_checks checks = {0};
    kiln_test_exports e = {0};
    const kiln_runner runner = exported(&e);
    const kiln_conformance_options o = {.filter = r->filter, .runner = &runner};
    if (!kiln_dir_exists(NODE_TESTS))
        kiln_test_skip(NODE_TESTS " is not here");
    if (r->is_slow && getenv("KILN_SOAK") == NULL)
        kiln_test_skip("the reference takes long: make soak");
    kiln_assert_status_ok(kiln_verify_conformance(&a, NODE_TESTS, &o, &checks, &err),
                          &err);
    size_t n_wrong = 0;
    for (size_t i = 0; i < checks.list.n; i++) {
        const kiln_check *c = &checks.list.v[i];
        const bool is_wrong = says(c, "exported");
        n_wrong += is_wrong;
        if (is_wrong || says(c, "ONNX cannot say it"))
            print_message("%s: %s\n", c->name, c->reason);
    }
    print_message("%zu of %zu pass; of their outputs %lld have the same bits, %lld "
                  "nearly; %lld graphs are refused\n",
                  checks.n_passed, checks.list.n, (long long)e.n_same,
                  (long long)e.n_near, (long long)e.n_refused);
    const size_t n_passed = checks.n_passed;
    kiln_arena_fini(&a);
    assert_int_equal(n_wrong, 0);
    assert_true(e.n_refused <= r->may_refuse);
    assert_true(n_passed >= r->floor);
}

/* ---- trained models -------------------------------------------------------------- */

typedef struct model_row {
    const char *name; /* folder below files/ and golden/, and the test's */
    const char *file;
    bool is_slow; /* for the reference: its bounds take up to 17 runs */
} model_row;

static model_row models[] = {
    {"samplenet_onnx", "samplenet.onnx", false},
    {"blazeface_front_onnx", "face_detection_front_128x128_barracuda.onnx", true},
    {"silero_vad_legacy_onnx", "silero_vad_legacy.onnx", true},
    {"oww_embedding_onnx", "embedding_model.onnx", true},
    {"ppocr_cls_onnx", "ch_ppocr_mobile_v2.0_cls_infer.onnx", true},
    {"ppocr_det_onnx", "ch_PP-OCRv4_det_infer.onnx", true},
    {"mlsd_320_tiny_onnx", "mlsd_320x320_tiny.onnx", true},
};

/* As imported and after the passes: exported, imported again, and run. */
static void check_golden(void **state) {
    const model_row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_arena *const names = kiln_test_arena(); /* a skipped test releases nothing */
    const char *model = kiln_format(names, MODELS "/files/%s/%s", r->name, r->file);
    const char *golden = kiln_format(names, MODELS "/golden/%s", r->name);
    const kiln_pass_options passes = {.verify = true};
    if (!kiln_file_exists(model))
        kiln_test_skip(MODELS " is not here");
    if (r->is_slow && getenv("KILN_SOAK") == NULL)
        kiln_test_skip("the reference takes long: make soak");
    for (int way = 0; way < 2; way++) {
        kiln_checks checks = {0};
        kiln_test_exports e = {0};
        const kiln_runner runner = exported(&e);
        kiln_assert_status_ok(kiln_verify_golden(&a, model, golden, NULL,
                                                 way == 0 ? NULL : &passes, &runner,
                                                 &checks, &err),
                              &err);
        for (size_t i = 0; i < checks.list.n; i++)
            if (checks.list.v[i].outcome != KILN_PASSED)
                print_error("%s: %s\n", checks.list.v[i].name, checks.list.v[i].reason);
        print_message("%zu of %zu cases pass; %lld outputs have the same bits, %lld "
                      "nearly\n",
                      checks.n_passed, checks.list.n, (long long)e.n_same,
                      (long long)e.n_near);
        assert_true(checks.list.n > 0 && checks.n_passed == checks.list.n);
    }
    kiln_arena_fini(&a);
}

/* ---- the program ----------------------------------------------------------------- */

/* In this order: some read what earlier ones wrote. */
static kiln_test_cli_row program[] = {
    {"has_an_example", {"export", "--help"}, 0, "example:\n", NULL},
    {"writes_a_network",
     {"export", "zoo:dqn", "-o", "@dqn.onnx"},
     0,
     "dqn.onnx: onnx, opset 21, ",
     NULL},
    {"inspect_reads_it",
     {"inspect", "@dqn.onnx"},
     0,
     "parameters       1693362 ",
     NULL},
    {"writes_it_after_the_passes_with_weights_beside_it",
     {"export", "@dqn.onnx", "--to", "onnx", "--passes", "--external-data", "-o",
      "@two.onnx", "--json", "-"},
     0,
     "\"data_bytes\": 677",
     NULL},
    {"inspect_reads_both_files",
     {"inspect", "@two.onnx"},
     0,
     "parameters       1693362 ",
     NULL},
    {"refuses_to_write_over_the_model",
     {"export", "@dqn.onnx", "-o", "@dqn.onnx"},
     2,
     NULL,
     "is the model's own file; name another one with -o"},
    {"refuses_to_write_over_its_weights",
     {"export", "@two.onnx", "-o", "@two.onnx.data"},
     2,
     NULL,
     "two.onnx.data' is the model's own file; name another one with -o"},
    {"refuses_another_format",
     {"export", "zoo:dqn", "--to", "tflite"},
     2,
     NULL,
     "no format 'tflite' to export to; formats: onnx"},
    {"says_what_it_was_writing",
     {"export", "zoo:dqn", "-o", "@no/x.onnx"},
     4,
     NULL,
     "while exporting 'zoo:dqn' to onnx"},
};

static void check_program(void **state) {
    static const char *dir;
    kiln_arena a = {0};
    if (dir == NULL)
        dir = kiln_test_dir();
    kiln_test_cli_check(&a, dir, *state);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_own_home();
    kiln_test_add_rows(check_conformance, rows);
    kiln_test_add_rows(check_golden, models);
    kiln_test_add_rows(check_program, program);
    return kiln_test_run("export");
}
