/* Programs of threads with one barrier less, which somebody must miss. */
#ifndef KILN_TESTS_SUPPORT_GPU_SUPPORT_BARRIERS_H
#define KILN_TESTS_SUPPORT_GPU_SUPPORT_BARRIERS_H

#include "compiler/loop/loop.h"

/* How many barriers a body has. */
int64_t kiln_test_barriers(kiln_arena *a, const kiln_stmt *s);
/* The body without barrier number `at`, from 0, as they stand. */
const kiln_stmt *kiln_test_without_barrier(kiln_arena *a, const kiln_stmt *s,
                                           int64_t at);
/* Does the interpreter say what it says where a barrier is missing: a race, or a read
 * of what nobody has written yet? */
bool kiln_test_is_missed(const kiln_err *err);

#endif
