/* An operator of an ops file's line, with random inputs, as libraries are given it. */
#ifndef KILN_TESTS_SUPPORT_DESCRIBED_H
#define KILN_TESTS_SUPPORT_DESCRIBED_H

#include "compiler/network/network_work.h"
#include "tests/support/kiln_test.h"
#include "pipeline/baselines/baselines_rivals.h"

typedef struct kiln_test_described {
    kiln_op_work work;
    kiln_tensor *plain; /* inputs and constants, by value id */
    kiln_library_op op;
} kiln_test_described;

/* In the test arena. What cannot be described fails as kiln_library_op_of does; all
 * else is asserted. */
kiln_status kiln_test_describe(const char *line, kiln_test_described *out,
                               kiln_err *err);
/* Holds a library's output against what the reference makes of them: all of it. */
void kiln_test_described_compare(const kiln_test_described *d, const kiln_tensor *out);

#endif
