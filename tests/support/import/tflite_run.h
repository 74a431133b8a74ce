/* Importing a TensorFlow Lite model of one operator and running it by the reference:
 * hand-checked numbers, or how it is refused. */
#ifndef KILN_TESTS_SUPPORT_TFLITE_RUN_H
#define KILN_TESTS_SUPPORT_TFLITE_RUN_H

#include "compiler/frontend/frontend.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/tflite_writer.h"

enum {
    KILN_TFLITE_PORTS = 39,
    KILN_TFLITE_ELEMS = 32,
    KILN_TFLITE_OUTS = 4,
    KILN_TFLITE_OPTS = 8
};

typedef struct kiln_tflite_port {
    const char *shape; /* "2x3", "" for a scalar; NULL: left out */
    int type;
    double v[KILN_TFLITE_ELEMS];
    float scale; /* 0: not quantised */
    int zero;
    bool is_const;
    bool is_variable;
    bool is_masked; /* the operator reads its rows whose sum is more than 0 */
    bool is_first;  /* the operator reads operand 0 once more */
} kiln_tflite_port;

typedef struct kiln_tflite_option {
    unsigned slot;
    size_t bytes; /* 0: a float */
    double v;
} kiln_tflite_option;

typedef struct kiln_tflite_case {
    const char *name;
    int code;
    const char *custom;
    const char *flex; /* of a custom operator: "max_detections 3, y_scale 10." */
    size_t n_raw;     /* its options as a struct of integers */
    int32_t raw[KILN_TFLITE_OPTS];
    kiln_tflite_option option[KILN_TFLITE_OPTS];
    size_t n_options, n_in;
    kiln_tflite_port in[KILN_TFLITE_PORTS];
    size_t n_out; /* 0: 1 */
    kiln_tflite_port out[KILN_TFLITE_OUTS];
    bool as_reference; /* rounded so */
    bool has_state;    /* variables are inputs, behind the others, and outputs */
    kiln_tflite_port next[KILN_TFLITE_OUTS];
    double within; /* 0: 1e-5 */
    kiln_status fails;
    const char *text;
} kiln_tflite_case;

/* The file. */
kiln_str kiln_test_tflite_model(const kiln_tflite_case *r);
/* As a file in a folder of the test's own. */
const char *kiln_test_tflite_file(kiln_str bytes);
/* A test function: *state is a kiln_tflite_case. */
void kiln_test_check_tflite(void **state);

#endif
