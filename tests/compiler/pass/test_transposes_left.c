/* How many transposes models written channels last keep: those of inputs and outputs that
 * are images of several channels, and what changes the order of what it means. None that
 * a neighbour could absorb. */
#include "compiler/frontend/frontend.h"
#include "compiler/pass/pass.h"
#include "tests/support/kiln_test.h"

#include <string.h>

typedef struct row {
    const char *name, *path;
    int most;
    const char *input; /* with a shape of its own; NULL: none */
    int64_t dim[3];
} row;

static row rows[] = {
    {"hourglass", "models/files/hourglass_tflite/hourglass.tflite", 2, NULL, {0}},
    {"hourglass_pb", "models/files/hourglass_pb/hourglass.pb", 2, NULL, {0}},
    {"basic_pitch",
     "models/files/basic_pitch_pb/basic_pitch.pb",
     1,
     "input_2",
     {1, 43844, 1}},
    {"selfie_segmentation",
     "models/files/selfie_segmentation_tflite/selfie_segmentation.tflite",
     1,
     NULL,
     {0}},
    {"hand_landmark",
     "models/files/hand_landmark_lite_tflite/hand_landmark_lite.tflite",
     1,
     NULL,
     {0}},
    {"embedding",
     "models/files/oww_embedding_tflite/embedding_model.tflite",
     0,
     NULL,
     {0}},
    /* The image and four heads of unlike numbers of channels, which one axis joins. */
    {"face_detection",
     "models/files/face_detection_short_tflite/face_detection_short_range.tflite",
     5,
     NULL,
     {0}},
    {"blazeface",
     "models/files/blazeface_front_onnx/face_detection_front_128x128_barracuda.onnx",
     5,
     NULL,
     {0}},
    {"mlsd", "models/files/mlsd_320_tiny_onnx/mlsd_320x320_tiny.onnx", 2, NULL, {0}},
    /* The keys, frames before batches and back, frames beside channels. */
    {"conformer",
     "models/files/conformer_tflite/torchaudio_conformer.tflite",
     4,
     NULL,
     {0}},
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

static void few_are_left(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {.status = KILN_OK};
    kiln_graph *g = NULL;
    kiln_import_report report = {0};
    const kiln_shape_binding shape = {
        .name = r->input, .rank = 3, .dim = {r->dim[0], r->dim[1], r->dim[2]}};
    const kiln_import_options o = {.shapes = &shape, .n_shapes = r->input != NULL};
    const char *path = kiln_test_shared(r->path);
    int n = 0;
    kiln_assert_status_ok(kiln_import(&a, path, &o, &g, &report, &err), &err);
    kiln_assert_status_ok(kiln_graph_optimize(g, NULL, &err), &err);
    for (size_t i = 0; i < g->nodes.n; i++)
        n += g->nodes.v[i]->op == &kiln_op_transpose;
    kiln_arena_fini(&a);
    assert_in_range(n, 0, r->most);
}

int main(void) {
    for (size_t i = 0; i < N_ROWS; i++)
        kiln_test_add(rows[i].name, few_are_left, &rows[i]);
    return kiln_test_run("transposes left");
}
