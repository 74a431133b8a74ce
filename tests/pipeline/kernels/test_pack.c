/* Constants packed on this machine: the bytes that the interpreter makes by the same
 * programs, wherever the elements lie, and nothing beside them. */
#include "pipeline/kernels/pack.h"

#include <string.h>

#include "tests/support/kiln_test.h"
#include "tests/support/packed.h"

typedef struct row {
    const char *name, *type;
    bool computes;
} row;

static row rows[] = {
    {"tiles_of_two", "f32[32,16,3,3]{order=2301,block=1x8,0x16,winograd=2}", true},
    {"tiles_of_four", "f32[64,64,3,3]{order=2301,block=1x16,0x16,winograd=4}", true},
    {"tiles_with_tails", "f32[19,7,3,3]{order=2301,block=1x4,0x8,winograd=4}", true},
    {"blocks", "f32[20,17,3,3]{block=1x16,0x16}", false},
    {"bytes_in_another_order", "i8[3,5,7]{order=201}", false},
    /* No template of its own: the generic one. */
    {"tiles_innermost", "f32[8,6,3,3]{block=1x2,winograd=2}", true},
    {"nothing", "f32[0,4,3,3]{order=2301,block=1x4,0x8,winograd=4}", true},
};

enum { CANARY = 0xA5 };

static void packs_as_interpreted(void **state) {
    const row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_packer *p = kiln_packer_new(a, NULL);
    kiln_str rest = kiln_str_from(r->type);
    kiln_type t;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_type_parse(&rest, &t, &err), &err);
    assert_int_equal(kiln_pack_computes(&t), r->computes);
    const kiln_type from = kiln_type_make(t.dtype, t.rank, t.dim);
    const size_t n = (size_t)kiln_type_bytes(&from),
                 bytes = (size_t)kiln_type_bytes(&t);
    unsigned char *want = kiln_arena_alloc(a, bytes + 64);
    unsigned char *got = kiln_arena_alloc(a, bytes + 64);
    unsigned char *file = kiln_arena_alloc(a, n + 64);
    for (uint64_t seed = 0; seed < 3; seed++) { /* the code is made once */
        const kiln_tensor x = kiln_tensor_random(a, &from, seed);
        memcpy(file + seed, x.data, n);
        if (bytes > 0)
            kiln_test_pack(&t, x.data, want);
        memset(got, CANARY, bytes + 64);
        kiln_assert_status_ok(kiln_packer_add(p, &t, "w", NULL, file + seed, got, &err),
                              &err);
        kiln_assert_status_ok(kiln_packer_finish(p, &err), &err);
        assert_memory_equal(got, want, bytes);
        for (size_t i = bytes; i < bytes + 64; i++)
            assert_int_equal(got[i], CANARY);
    }
}

int main(void) {
    kiln_test_add_rows(packs_as_interpreted, rows);
    return kiln_test_run("pack");
}
