/* FlexBuffers maps for tests. Source: FlexBuffers, binary format. */
#include "tests/support/model/flex_writer.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/kiln_test.h"

enum { MAX_ENTRIES = 16, WIDTH = 4, WIDTH_BITS = 2, INT = 1, FLOAT = 3, MAP = 9 };

static void put(kiln_buf *b, uint32_t v) { kiln_buf_add(b, &v, sizeof v); }

/* A distance back to `to`. */
static void put_back(kiln_buf *b, size_t to) { put(b, (uint32_t)(b->n - to)); }

kiln_str kiln_test_flex_map(const char *text) {
    kiln_str rest = kiln_str_from(text), part, key[MAX_ENTRIES];
    size_t at[MAX_ENTRIES], n = 0;
    char type[MAX_ENTRIES];
    uint32_t value[MAX_ENTRIES];
    kiln_buf b;
    kiln_buf_init(&b, kiln_test_arena());
    for (; kiln_str_cut(&rest, ',', &part); n++) {
        assert_true(n < MAX_ENTRIES);
        part = kiln_str_trim(part);
        kiln_str_cut(&part, ' ', &key[n]);
        const char *const number = kiln_str_dupv(kiln_test_arena(), part);
        const bool is_float = strchr(number, '.') != NULL;
        const float f = strtof(number, NULL);
        value[n] = (uint32_t)strtol(number, NULL, 10);
        if (is_float)
            memcpy(&value[n], &f, sizeof f);
        type[n] = (char)((is_float ? FLOAT : INT) << 2 | WIDTH_BITS);
        at[n] = b.n;
        kiln_buf_add(&b, key[n].p, key[n].n);
        kiln_buf_add(&b, "", 1);
    }
    while (b.n % WIDTH != 0)
        kiln_buf_add(&b, "", 1);
    put(&b, (uint32_t)n);
    const size_t keys = b.n;
    for (size_t i = 0; i < n; i++)
        put_back(&b, at[i]);
    put_back(&b, keys);
    put(&b, WIDTH);
    put(&b, (uint32_t)n);
    const size_t values = b.n;
    for (size_t i = 0; i < n; i++)
        put(&b, value[i]);
    kiln_buf_add(&b, type, n);
    while (b.n % WIDTH != 0)
        kiln_buf_add(&b, "", 1);
    put_back(&b, values);
    kiln_buf_add(&b, &(char){MAP << 2 | WIDTH_BITS}, 1);
    kiln_buf_add(&b, &(char){WIDTH}, 1);
    return kiln_buf_str(&b);
}
