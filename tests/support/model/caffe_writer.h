/* Writing Caffe models for tests: weights by layer, beside a description that the test
 * spells out. */
#ifndef KILN_TESTS_SUPPORT_MODEL_CAFFE_WRITER_H
#define KILN_TESTS_SUPPORT_MODEL_CAFFE_WRITER_H

#include "tests/support/array_text.h"

/* Blobs of one layer as text, "2,3: 1 2 3 4 5 6; 2: 0.5 -1": shapes, then elements. */
typedef struct kiln_test_caffe_layer {
    const char *name, *blobs;
} kiln_test_caffe_layer;

/* A NetParameter of LayerParameters; in the arena. */
kiln_str kiln_test_caffe_weights(kiln_arena *a, const kiln_test_caffe_layer *layer,
                                 size_t n);
#endif
