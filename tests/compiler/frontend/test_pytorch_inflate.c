/* Deflated bytes: what zlib packed, of each kind of block, comes out as it was; what is
 * damaged is refused. The packed files are the fuzz target's seeds. */
#include <string.h>

#include "compiler/frontend/pytorch/script/inflate.h"
#include "tests/support/damage.h"
#include "tests/support/kiln_test.h"

#define CORPUS "tests/fuzz/corpus/"

typedef struct row {
    const char *name; /* of the packed file */
    size_t times, n;  /* what is in it: the text so often; n: the beginning of it */
} row;

static row rows[] = {
    {"dynamic", 4, 0},
    {"fixed", 1, 0},
    {"stored", 1, 40},
};

static kiln_str read_file(kiln_arena *a, const char *path) {
    kiln_err err = {0};
    kiln_str s;
    kiln_assert_status_ok(kiln_file_map(a, path, 1 << 20, &s, &err), &err);
    return s;
}

static kiln_str unpacked(kiln_arena *a, const row *r) {
    const kiln_str text = read_file(a, CORPUS "script/loops.py");
    kiln_buf b;
    kiln_buf_init(&b, a);
    for (size_t i = 0; i < r->times; i++)
        kiln_buf_add(&b, text.p, r->n > 0 ? r->n : text.n);
    return kiln_buf_str(&b);
}

static void check(void **state) {
    const row *const r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    const kiln_str want = unpacked(&a, r);
    const kiln_str packed =
        read_file(&a, kiln_format(&a, CORPUS "inflate/%s", r->name));
    char *const got = kiln_array(&a, char, want.n);
    kiln_assert_status_ok(kiln_inflate(packed, got, want.n, &err), &err);
    assert_memory_equal(got, want.p, want.n);
    kiln_assert_fails(kiln_inflate(packed, got, want.n - 1, &err), KILN_ERR_PARSE, &err,
                      "compressed bytes are damaged, or are not");
    kiln_assert_fails(
        kiln_inflate((kiln_str){packed.p, packed.n - 2}, got, want.n, &err),
        KILN_ERR_PARSE, &err, "compressed bytes are damaged");
    kiln_arena_fini(&a);
}

static void damaged_bytes_are_no_harm(void **state) {
    (void)state;
    enum { N_MUTANTS = 2000 };
    kiln_rng rng;
    kiln_arena a = {0};
    const kiln_str want = unpacked(&a, &rows[0]);
    const kiln_str packed = read_file(&a, CORPUS "inflate/dynamic");
    char *const got = kiln_array(&a, char, want.n);
    char *const p = kiln_array(&a, char, packed.n);
    kiln_rng_init(&rng, kiln_test_seed());
    for (int i = 0; i < N_MUTANTS; i++) {
        kiln_err err = {0};
        size_t n = packed.n;
        memcpy(p, packed.p, n);
        kiln_test_damage(&rng, p, &n);
        const kiln_status st = kiln_inflate((kiln_str){p, n}, got, want.n, &err);
        assert_true(st == KILN_OK || st == KILN_ERR_PARSE);
    }
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add("damaged_bytes_are_no_harm", damaged_bytes_are_no_harm, NULL);
    return kiln_test_run("pytorch_inflate");
}
