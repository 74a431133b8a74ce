/* Writing MXNet's files of parameters for tests, of every version. */
#ifndef KILN_TESTS_SUPPORT_MODEL_MXNET_WRITER_H
#define KILN_TESTS_SUPPORT_MODEL_MXNET_WRITER_H

#include "tests/support/array_text.h"

typedef struct kiln_test_mxnet_array {
    const char *name;  /* "arg:w" */
    const char *array; /* "2,3: 1 2 3 4 5 6" */
} kiln_test_mxnet_array;

/* version 0 to 3; in the arena. */
kiln_str kiln_test_mxnet_params(kiln_arena *a, int version,
                                const kiln_test_mxnet_array *array, size_t n);

#endif
