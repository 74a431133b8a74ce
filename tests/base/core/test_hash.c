/* SHA-256 against FIPS 180-4's examples; the table hash against fixed values of its
 * own. */
#include "tests/support/kiln_test.h"

#include <stdlib.h>
#include <string.h>

typedef struct sha_row {
    const char *name, *text;
    size_t repeat;
    const char *want;
} sha_row;

static sha_row sha_rows[] = {
    {"sha256_of_nothing", "", 1,
     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"sha256_of_abc", "abc", 1,
     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"sha256_of_two_blocks", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     1, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"sha256_of_a_million_a", "aaaaaaaaaa", 100000,
     "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
};

static void check_sha(void **state) {
    const sha_row *r = *state;
    char hex[KILN_SHA256_HEX];
    kiln_sha256 h;
    kiln_sha256_init(&h);
    for (size_t i = 0; i < r->repeat; i++)
        kiln_sha256_add(&h, r->text, strlen(r->text));
    kiln_sha256_add(&h, NULL, 0);
    kiln_sha256_hex(&h, hex);
    assert_string_equal(hex, r->want);
    if (r->repeat == 1) {
        kiln_sha256_of(r->text, strlen(r->text), hex);
        assert_string_equal(hex, r->want);
    }
}

/* Computed by an independent implementation (arbitrary-precision integers). Stored
 * hashes do not exist, but tests elsewhere may come to depend on an order: it changes
 * on purpose only. */
static void hash64_gives_fixed_values(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t seed, want;
    } rows[] = {{"", 0, UINT64_C(0xE220A8397B1DCDAF)},
                {"a", 0, UINT64_C(0x7171FD973FBAE05C)},
                {"a", 1, UINT64_C(0x8507F39E610A2CC8)},
                {"12345678", 0, UINT64_C(0xFB0429A15A6AAE6A)},
                {"conv2d_3x3_relu", 7, UINT64_C(0x1A75A4D986882E0D)}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_true(kiln_hash64(rows[i].text, strlen(rows[i].text), rows[i].seed) ==
                    rows[i].want);
}

static int compare_u64(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void hash64_tells_similar_inputs_apart(void **state) {
    (void)state;
    enum { N_LENGTHS = 40, N_BITS = N_LENGTHS * 8 };
    static uint64_t h[N_LENGTHS + N_BITS];
    size_t n = 0;
    unsigned char zeros[N_LENGTHS] = {0};
    for (size_t len = 0; len < N_LENGTHS; len++) /* zeros of each length */
        h[n++] = kiln_hash64(zeros, len, 0);
    for (size_t bit = 0; bit < N_BITS; bit++) { /* one bit set, anywhere */
        zeros[bit / 8] = (unsigned char)(1U << bit % 8);
        h[n++] = kiln_hash64(zeros, N_LENGTHS, 0);
        zeros[bit / 8] = 0;
    }
    qsort(h, n, sizeof h[0], compare_u64);
    for (size_t i = 1; i < n; i++)
        assert_true(h[i] != h[i - 1]);
}

static void hash64_reads_any_alignment_alike(void **state) {
    (void)state;
    unsigned char bytes[64];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 37);
    const uint64_t want = kiln_hash64(bytes, 40, 3);
    for (size_t at = 1; at < 16; at++) {
        unsigned char moved[64];
        memcpy(moved + at, bytes, 40);
        assert_true(kiln_hash64(moved + at, 40, 3) == want);
    }
}

int main(void) {
    kiln_test_add_rows(check_sha, sha_rows);
    kiln_test_add("hash64_gives_fixed_values", hash64_gives_fixed_values, NULL);
    kiln_test_add("hash64_tells_similar_inputs_apart",
                  hash64_tells_similar_inputs_apart, NULL);
    kiln_test_add("hash64_reads_any_alignment_alike", hash64_reads_any_alignment_alike,
                  NULL);
    return kiln_test_run("hash");
}
