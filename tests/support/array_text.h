/* Small arrays as tests spell them: "2,3: 1 2 3 4 5 6", a shape and elements; "2,3: *":
 * all of them zero. */
#ifndef KILN_TESTS_SUPPORT_KERNEL_ARRAY_TEXT_H
#define KILN_TESTS_SUPPORT_KERNEL_ARRAY_TEXT_H

#include "tests/support/kiln_test.h"

enum { KILN_TEST_ARRAY_RANK = 8, KILN_TEST_ARRAY_ELEMS = 256 };

typedef struct kiln_test_array {
    size_t rank, n; /* n: elements that are spelt, whatever the shape says */
    int64_t dim[KILN_TEST_ARRAY_RANK];
    float *v; /* room for KILN_TEST_ARRAY_ELEMS, or for all */
} kiln_test_array;

/* Numbers between blanks; returns how many. */
size_t kiln_test_numbers(const char *text, float *out, size_t max);
/* Whole numbers between commas; returns how many. */
size_t kiln_test_dims(kiln_str text, int64_t *out, size_t max);
void kiln_test_array_read(kiln_arena *a, kiln_str text, kiln_test_array *out);

#endif
