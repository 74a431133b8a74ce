/* Maps of FlexBuffers: see flex.h. A value's last bytes say what it is; a map is a vector of
 * values with a vector of keys, both found by distances backwards. */
#include "compiler/frontend/tflite/flex.h"

#include <string.h>

enum {
    FLEX_INT = 1,
    FLEX_UINT = 2,
    FLEX_FLOAT = 3,
    FLEX_INDIRECT_INT = 6,
    FLEX_INDIRECT_UINT = 7,
    FLEX_INDIRECT_FLOAT = 8,
    FLEX_MAP = 9,
    FLEX_BOOL = 26,
    MAX_KEYS = 10000
};

/* False: outside. */
static bool read_uint(kiln_str b, size_t at, size_t width, uint64_t *out) {
    if (width == 0 || width > 8 || at > b.n || width > b.n - at)
        return false;
    *out = 0;
    for (size_t i = 0; i < width; i++)
        *out |= (uint64_t)(unsigned char)b.p[at + i] << (8 * i);
    return true;
}

static bool read_int(kiln_str b, size_t at, size_t width, double *out) {
    uint64_t v = 0;
    if (!read_uint(b, at, width, &v))
        return false;
    const unsigned left = 64 - 8 * (unsigned)width;
    const uint64_t top = UINT64_C(1) << 63;
    v <<= left;
    const double magnitude =
        (v & top) != 0 ? -(double)((~v >> left) + 1) : (double)(v >> left);
    *out = magnitude;
    return true;
}

static bool read_float(kiln_str b, size_t at, size_t width, double *out) {
    uint64_t v = 0;
    float f;
    if ((width != 4 && width != 8) || !read_uint(b, at, width, &v))
        return false;
    const uint32_t half = (uint32_t)v;
    memcpy(&f, &half, sizeof f);
    if (width == 4)
        *out = (double)f;
    else
        memcpy(out, &v, sizeof v);
    return true;
}

/* Where something lies that is `distance` before its own place; false: outside. */
static bool follow(kiln_str b, size_t at, size_t width, size_t *out) {
    uint64_t distance = 0;
    if (!read_uint(b, at, width, &distance) || distance > at)
        return false;
    *out = at - (size_t)distance;
    return true;
}

static bool open_map(kiln_str b, kiln_flex_map *m) {
    enum { TAIL = 2, HEAD = 3 }; /* keys, width of keys, size */
    uint64_t n = 0, n_keys = 0, width = 0;
    if (b.n < TAIL + 1)
        return false;
    const size_t root_width = (unsigned char)b.p[b.n - 1];
    const unsigned type = (unsigned char)b.p[b.n - 2];
    if (type >> 2 != FLEX_MAP || root_width == 0 || root_width > 8 ||
        root_width > b.n - TAIL)
        return false;
    const size_t w = m->value_width = (size_t)1 << (type & 3);
    if (!follow(b, b.n - TAIL - root_width, root_width, &m->values) ||
        m->values < HEAD * w || !read_uint(b, m->values - w, w, &n) ||
        !read_uint(b, m->values - 2 * w, w, &width) ||
        !follow(b, m->values - HEAD * w, w, &m->keys) || width == 0 || width > 8 ||
        m->keys < width || !read_uint(b, m->keys - width, (size_t)width, &n_keys) ||
        n != n_keys || n > MAX_KEYS)
        return false;
    m->key_width = (size_t)width;
    m->n = (size_t)n;
    return m->n * (w + 1) <= b.n - m->values && m->n * m->key_width <= b.n - m->keys;
}

kiln_status kiln_flex_open(kiln_str bytes, kiln_flex_map *out, kiln_err *err) {
    *out = (kiln_flex_map){.bytes = bytes};
    if (open_map(bytes, out))
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_PARSE,
                     "its options must be a FlexBuffers map; is the file damaged?");
}

static bool is_key(const kiln_flex_map *m, size_t i, const char *key) {
    const size_t n = strlen(key) + 1; /* with the byte that ends it */
    size_t at = 0;
    return follow(m->bytes, m->keys + i * m->key_width, m->key_width, &at) &&
           n <= m->bytes.n - at && memcmp(m->bytes.p + at, key, n) == 0;
}

bool kiln_flex_number(const kiln_flex_map *m, const char *key, double *out) {
    const kiln_str b = m->bytes;
    uint64_t v = 0;
    for (size_t i = 0; i < m->n; i++) {
        if (!is_key(m, i, key))
            continue;
        const unsigned packed =
            (unsigned char)b.p[m->values + m->n * m->value_width + i];
        const unsigned type = packed >> 2;
        const bool is_indirect =
            type >= FLEX_INDIRECT_INT && type <= FLEX_INDIRECT_FLOAT;
        size_t at = m->values + i * m->value_width, width = m->value_width;
        if (is_indirect) {
            if (!follow(b, at, width, &at))
                return false;
            width = (size_t)1 << (packed & 3);
        }
        if (type == FLEX_FLOAT || type == FLEX_INDIRECT_FLOAT)
            return read_float(b, at, width, out);
        if (type == FLEX_INT || type == FLEX_INDIRECT_INT)
            return read_int(b, at, width, out);
        if ((type != FLEX_UINT && type != FLEX_INDIRECT_UINT && type != FLEX_BOOL) ||
            !read_uint(b, at, width, &v))
            return false;
        *out = (double)v;
        return true;
    }
    return false;
}
