/* Inflate: blocks that are stored, of fixed codes or of their own. A code is read bit by
 * bit, against the first code of each length: archives hold kilobytes of code, not
 * megabytes. */
#include "compiler/frontend/pytorch/script/inflate.h"

#include <string.h>

enum {
    MAX_BITS = 15,
    N_LITERALS = 288,
    N_DISTANCES = 32,
    N_LENGTH_CODES = 19,
    END_OF_BLOCK = 256,
};

typedef struct reader {
    const unsigned char *p, *end;
    uint32_t bits; /* not used yet, the next one lowest */
    int n_bits;
    bool is_short; /* more was asked for than there is */
    char *out;
    size_t n, max;
} reader;

/* Symbols by code, in order; how many codes each length has. */
typedef struct code {
    uint16_t count[MAX_BITS + 1];
    uint16_t symbol[N_LITERALS];
} code;

static uint32_t take(reader *r, int n) {
    KILN_ASSERT(n >= 0 && n <= 16, "%d bits at a time", n);
    while (r->n_bits < n) {
        r->is_short = r->is_short || r->p == r->end;
        r->bits |= (r->p == r->end ? 0u : (uint32_t)*r->p++) << r->n_bits;
        r->n_bits += 8;
    }
    const uint32_t v = r->bits & ((1u << n) - 1);
    r->bits >>= n;
    r->n_bits -= n;
    return v;
}

/* False: more codes of a length than there can be. */
static bool make_code(code *c, const uint8_t *length, int n) {
    uint16_t next[MAX_BITS + 1];
    int left = 1;
    KILN_ASSERT(n >= 0 && n <= N_LITERALS, "a code of %d symbols", n);
    memset(c, 0, sizeof *c);
    for (int i = 0; i < n; i++)
        c->count[length[i]]++;
    c->count[0] = 0;
    next[0] = 0;
    for (int b = 1; b <= MAX_BITS; b++) {
        left = 2 * left - c->count[b];
        if (left < 0)
            return false;
        next[b] = b == 1 ? 0 : (uint16_t)(next[b - 1] + c->count[b - 1]);
    }
    for (int i = 0; i < n; i++)
        if (length[i] > 0)
            c->symbol[next[length[i]]++] = (uint16_t)i;
    return true;
}

/* -1: no symbol has this code. */
static int decode(reader *r, const code *c) {
    int value = 0, first = 0, at = 0;
    for (int b = 1; b <= MAX_BITS && !r->is_short; b++) {
        value = value << 1 | (int)take(r, 1);
        if (value - first < c->count[b])
            return c->symbol[at + value - first];
        at += c->count[b];
        first = (first + c->count[b]) << 1;
    }
    return -1;
}

static bool put(reader *r, char byte) {
    if (r->n == r->max)
        return false;
    r->out[r->n++] = byte;
    return true;
}

/* A stretch that has been before. */
static bool repeat(reader *r, const code *distances, int symbol) {
    static const uint16_t length_base[] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                           15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                           67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const uint8_t length_bits[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                          2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    static const uint16_t distance_base[] = {
        1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
        33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
        1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    const int at = symbol - END_OF_BLOCK - 1;
    if (at >= (int)(sizeof length_bits))
        return false;
    size_t n = length_base[at] + take(r, length_bits[at]);
    const int d = decode(r, distances);
    if (d < 0 || d >= (int)(sizeof distance_base / sizeof distance_base[0]))
        return false;
    const size_t distance = distance_base[d] + take(r, d < 4 ? 0 : d / 2 - 1);
    if (distance > r->n)
        return false;
    for (; n > 0; n--)
        if (!put(r, r->out[r->n - distance]))
            return false;
    return true;
}

static bool read_block(reader *r, const code *literals, const code *distances) {
    for (;;) {
        const int s = decode(r, literals);
        if (s == END_OF_BLOCK)
            return true;
        if (s < 0 || r->is_short ||
            !(s < END_OF_BLOCK ? put(r, (char)(unsigned char)s)
                               : repeat(r, distances, s)))
            return false;
    }
}

static bool read_stored(reader *r) {
    (void)take(r, r->n_bits & 7);
    const uint32_t n = take(r, 16), check = take(r, 16);
    if (r->is_short || (n ^ check) != 0xffff)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!put(r, (char)(unsigned char)take(r, 8)) || r->is_short)
            return false;
    return true;
}

static bool read_fixed(reader *r) {
    code literals, distances;
    uint8_t length[N_LITERALS];
    memset(length, 8, 144);
    memset(length + 144, 9, 112);
    memset(length + 256, 7, 24);
    memset(length + 280, 8, 8);
    (void)make_code(&literals, length, N_LITERALS);
    memset(length, 5, N_DISTANCES);
    (void)make_code(&distances, length, N_DISTANCES);
    return read_block(r, &literals, &distances);
}

/* Lengths of both codes, themselves coded: 16 repeats the one before, 17 and 18 zeros. */
static bool read_lengths(reader *r, const code *c, uint8_t *length, int n) {
    for (int i = 0; i < n;) {
        const int s = decode(r, c);
        if (s < 0 || (s == 16 && i == 0))
            return false;
        if (s < 16) {
            length[i++] = (uint8_t)s;
            continue;
        }
        const int times = s == 16   ? 3 + (int)take(r, 2)
                          : s == 17 ? 3 + (int)take(r, 3)
                                    : 11 + (int)take(r, 7);
        if (times > n - i)
            return false;
        memset(length + i, s == 16 ? length[i - 1] : 0, (size_t)times);
        i += times;
    }
    return true;
}

static bool read_dynamic(reader *r) {
    static const uint8_t order[N_LENGTH_CODES] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                  11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint8_t length[N_LITERALS + N_DISTANCES] = {0};
    code lengths, literals, distances;
    const int n_literals = 257 + (int)take(r, 5), n_distances = 1 + (int)take(r, 5),
              n_lengths = 4 + (int)take(r, 4);
    for (int i = 0; i < n_lengths; i++)
        length[order[i]] = (uint8_t)take(r, 3);
    if (n_literals > N_LITERALS || !make_code(&lengths, length, N_LENGTH_CODES))
        return false;
    memset(length, 0, sizeof length);
    return read_lengths(r, &lengths, length, n_literals + n_distances) &&
           make_code(&literals, length, n_literals) &&
           make_code(&distances, length + n_literals, n_distances) &&
           read_block(r, &literals, &distances);
}

kiln_status kiln_inflate(kiln_str packed, char *out, size_t n, kiln_err *err) {
    reader r = {.p = (const unsigned char *)packed.p, .out = out, .max = n};
    bool is_good = true, is_last = false;
    r.end = r.p + packed.n;
    while (is_good && !is_last) {
        is_last = take(&r, 1) != 0;
        const uint32_t kind = take(&r, 2);
        is_good = kind == 0   ? read_stored(&r)
                  : kind == 1 ? read_fixed(&r)
                  : kind == 2 ? read_dynamic(&r)
                              : false;
        is_good = is_good && !r.is_short;
    }
    if (!is_good || r.n != n)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "compressed bytes are damaged, or are not %zu", n);
    return KILN_OK;
}
