/* Importing an ONNX model of one vendor operator with small inputs, and running it by
 * the reference: hand-checked numbers, or how it is refused. */
#ifndef KILN_TESTS_SUPPORT_IMPORT_VALUE_H
#define KILN_TESTS_SUPPORT_IMPORT_VALUE_H

#include "tests/support/import/import_run.h"

enum {
    KILN_TEST_VALUE_INPUTS = 19,
    KILN_TEST_VALUE_ELEMS = 16,
    KILN_TEST_VALUE_ATTRS = 5,
    KILN_TEST_VALUE_PARAMS = 3
};

typedef struct kiln_test_value_input {
    int type;          /* TensorProto.DataType; 0: the input is left out */
    const char *shape; /* of integers below 17 elements, "" for a scalar */
    double v[KILN_TEST_VALUE_ELEMS];
    bool is_const; /* an initializer, as an importer may demand */
} kiln_test_value_input;

typedef struct kiln_test_value_row {
    const char *name;
    const char *op, *domain; /* domain NULL: com.microsoft */
    const char *out;         /* NULL: "y"; the last name is looked at */
    kiln_test_value_input in[KILN_TEST_VALUE_INPUTS];
    kiln_test_import_attr attrs[KILN_TEST_VALUE_ATTRS];
    double params[KILN_TEST_VALUE_PARAMS]; /* attribute activation_params */
    size_t n_params;
    size_t n_want;
    double want[KILN_TEST_VALUE_ELEMS]; /* floats: within 1e-5 */
    kiln_status fails;
    const char *text;
} kiln_test_value_row;

/* A test function: *state is a kiln_test_value_row. */
void kiln_test_check_value(void **state);

#endif
