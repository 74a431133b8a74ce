/* Running one operator on a few literal elements, for tests of operators. */
#ifndef KILN_TESTS_SUPPORT_KERNEL_OP_RUN_H
#define KILN_TESTS_SUPPORT_KERNEL_OP_RUN_H

#include "compiler/reference/reference.h"

#include "tests/support/kiln_test.h"

enum {
    KILN_TEST_ELEMS = 24,
    KILN_TEST_RANK = 5,
    KILN_TEST_INS = 3,
    KILN_TEST_OUTS = 3,
    KILN_TEST_ARGS = 4
};

/* A small tensor, written into a table: floats in f, everything else in i. */
typedef struct kiln_test_tensor {
    bool is_given;
    kiln_dtype dtype;
    int rank;
    int64_t dim[KILN_TEST_RANK];
    double f[KILN_TEST_ELEMS];
    int64_t i[KILN_TEST_ELEMS];
} kiln_test_tensor;

/* Literals: KILN_TF(KILN_F32, 2, (2, 3), 1, 2, ...) holds floats, KILN_TI integers. */
#define KILN_T_BARE(...) __VA_ARGS__
#define KILN_TF(t, r, shape, ...)                                                      \
    {                                                                                  \
        .is_given = true, .dtype = (t), .rank = (r), .dim = {KILN_T_BARE shape},       \
        .f = {                                                                         \
            __VA_ARGS__                                                                \
        }                                                                              \
    }
#define KILN_TI(t, r, shape, ...)                                                      \
    {                                                                                  \
        .is_given = true, .dtype = (t), .rank = (r), .dim = {KILN_T_BARE shape},       \
        .i = {                                                                         \
            __VA_ARGS__                                                                \
        }                                                                              \
    }

/* Attributes in a static table. */
#define KILN_T_INT(attr, v)                                                            \
    { .name = (attr), .kind = KILN_ATTR_INT, .value.i = (v) }
#define KILN_T_BOOL(attr, v)                                                           \
    { .name = (attr), .kind = KILN_ATTR_BOOL, .value.i = (v) }
#define KILN_T_FLOAT(attr, v)                                                          \
    { .name = (attr), .kind = KILN_ATTR_FLOAT, .value.f = (v) }
#define KILN_T_WORD(attr, v)                                                           \
    { .name = (attr), .kind = KILN_ATTR_WORD, .word = (v) }
#define KILN_T_DTYPE(attr, v)                                                          \
    { .name = (attr), .kind = KILN_ATTR_DTYPE, .value.i = (v) }
#define KILN_T_INTS(attr, count, ...)                                                  \
    {                                                                                  \
        .name = (attr), .kind = KILN_ATTR_INTS, .value.n = (count),                    \
        .value.ints = (const int64_t[]) {                                              \
            __VA_ARGS__                                                                \
        }                                                                              \
    }

typedef struct kiln_test_op_row {
    const char *name;
    const kiln_op_def *op;
    kiln_test_tensor in[KILN_TEST_INS];
    kiln_attr_arg args[KILN_TEST_ARGS]; /* those with a name */
    int n_out;                          /* 0: one */
    kiln_test_tensor want, also;        /* outputs 0 and 1, the second where given */
    double rel;                         /* 0: equal bits, NaN equal to NaN */
    kiln_status fails;                  /* with this status ... */
    bool is_late;     /* ... when it is evaluated, not when it is built ... */
    const char *text; /* ... and this text */
} kiln_test_op_row;

/* A test function: *state is a kiln_test_op_row. Checks type and elements of the
 * outputs, and, where the operator's row says can_pick, that each element comes out the
 * same by itself. */
void kiln_test_check_op(void **state);

#endif
