/* Importing an ONNX model of one node, for tests of importers: what it becomes as text,
 * or how it is refused. */
#ifndef KILN_TESTS_SUPPORT_IMPORT_RUN_H
#define KILN_TESTS_SUPPORT_IMPORT_RUN_H

#include "compiler/frontend/frontend.h"

#include "tests/support/kiln_test.h"
#include "tests/support/model/onnx_writer.h"

enum {
    KILN_TEST_IMPORT_INPUTS = 8,
    KILN_TEST_IMPORT_CONSTS = 2,
    KILN_TEST_IMPORT_ATTRS = 8,
    KILN_TEST_IMPORT_OUTS = 3,
    KILN_TEST_IMPORT_TEXTS = 5
};

typedef struct kiln_test_import_input {
    const char *name;
    int type; /* TensorProto.DataType */
    const char *shape;
} kiln_test_import_input;

/* Integers (int64) or floats. */
typedef struct kiln_test_import_const {
    const char *name, *shape;
    int type;
    size_t n;
    int64_t i[2];
    float f[4];
} kiln_test_import_const;

typedef struct kiln_test_import_attr {
    const char *name;
    enum {
        KILN_TEST_IMPORT_INT = 1,
        KILN_TEST_IMPORT_FLOAT,
        KILN_TEST_IMPORT_TEXT,
        KILN_TEST_IMPORT_INTS
    } kind;
    int64_t i;
    float f;
    const char *text;
    size_t n;
    int64_t ints[4];
} kiln_test_import_attr;

#define KILN_I_INT(attr, v)                                                            \
    { .name = (attr), .kind = KILN_TEST_IMPORT_INT, .i = (v) }
#define KILN_I_FLOAT(attr, v)                                                          \
    { .name = (attr), .kind = KILN_TEST_IMPORT_FLOAT, .f = (v) }
#define KILN_I_TEXT(attr, v)                                                           \
    { .name = (attr), .kind = KILN_TEST_IMPORT_TEXT, .text = (v) }
#define KILN_I_INTS(attr, ...)                                                         \
    {                                                                                  \
        .name = (attr), .kind = KILN_TEST_IMPORT_INTS,                                 \
        .n = sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), .ints = {       \
            __VA_ARGS__                                                                \
        }                                                                              \
    }

typedef struct kiln_test_import_row {
    const char *name;
    const char *op;
    int64_t opset;
    const char *in, *out;                 /* of the node */
    int out_types[KILN_TEST_IMPORT_OUTS]; /* 0: float */
    kiln_test_import_input inputs[KILN_TEST_IMPORT_INPUTS];
    kiln_test_import_const consts[KILN_TEST_IMPORT_CONSTS];
    kiln_test_import_attr attrs[KILN_TEST_IMPORT_ATTRS];
    const char *want[KILN_TEST_IMPORT_TEXTS]; /* parts of the graph's text */
    const char *lacks;                        /* no part of it */
    kiln_status fails;
    const char *text;
} kiln_test_import_row;

void kiln_test_put_attr(kiln_onnx_writer *m, const kiln_test_import_attr *a);

/* A test function: *state is a kiln_test_import_row. */
void kiln_test_check_import(void **state);

#endif
