#include "tests/support/array_text.h"

#include <stdlib.h>

size_t kiln_test_numbers(const char *text, float *out, size_t max) {
    size_t n = 0;
    for (char *end = NULL; *text != '\0'; text = end) {
        const float v = strtof(text, &end);
        if (end == text)
            break;
        assert_true(n < max);
        out[n++] = v;
    }
    return n;
}

size_t kiln_test_dims(kiln_str text, int64_t *out, size_t max) {
    kiln_str dim;
    size_t n = 0;
    while (kiln_str_cut(&text, ',', &dim)) {
        assert_true(n < max);
        assert_true(kiln_parse_i64(kiln_str_trim(dim), &out[n++]));
    }
    return n;
}

void kiln_test_array_read(kiln_arena *a, kiln_str text, kiln_test_array *out) {
    kiln_str dims;
    assert_true(kiln_str_cut(&text, ':', &dims));
    out->rank = kiln_test_dims(dims, out->dim, KILN_TEST_ARRAY_RANK);
    out->n = 1;
    for (size_t i = 0; i < out->rank; i++)
        out->n *= (size_t)out->dim[i];
    const bool is_zero = kiln_str_is(kiln_str_trim(text), "*");
    out->v = kiln_array(a, float, is_zero ? out->n : KILN_TEST_ARRAY_ELEMS);
    if (!is_zero)
        out->n =
            kiln_test_numbers(kiln_str_dupv(a, text), out->v, KILN_TEST_ARRAY_ELEMS);
}
