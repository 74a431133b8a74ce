/* Constants packed on this machine: the bytes that the interpreter makes by the same
 * programs, wherever the elements lie, and nothing beside them. */
#include "pipeline/kernels/kernels_pack.h"

#include <string.h>

#include "tests/support/kiln_test.h"
#include "tests/support/measuring/measure_run.h"
#include "tests/support/package/packed.h"

typedef struct row {
    const char *name, *type;
} row;

static row rows[] = {
    {"tiles_of_two", "f32[32,16,3,3]{order=2301,block=1x8,0x16} by winograd_2"},
    {"tiles_of_four", "f32[64,64,3,3]{order=2301,block=1x16,0x16} by winograd_4"},
    {"tiles_with_tails", "f32[19,7,3,3]{order=2301,block=1x4,0x8} by winograd_4"},
    {"blocks", "f32[20,17,3,3]{block=1x16,0x16}"},
    {"bytes_in_another_order", "i8[3,5,7]{order=201}"},
    /* No template of its own: the generic one. */
    {"tiles_innermost", "f32[8,6,3,3]{block=1x2} by winograd_2"},
    {"nothing", "f32[0,4,3,3]{order=2301,block=1x4,0x8} by winograd_4"},
};

enum { CANARY = 0xA5 };

static void packs_as_interpreted(void **state) {
    const row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_packer *p = kiln_packer_new(a, NULL);
    const kiln_packing k = kiln_test_packing_of(r->type);
    kiln_err err = {0};
    const kiln_type from = k.from;
    const size_t n = (size_t)kiln_type_bytes(&from),
                 bytes = (size_t)kiln_type_bytes(&k.to);
    unsigned char *want = kiln_arena_alloc(a, bytes + 64);
    unsigned char *got = kiln_arena_alloc(a, bytes + 64);
    unsigned char *file = kiln_arena_alloc(a, n + 64);
    for (uint64_t seed = 0; seed < 3; seed++) { /* the code is made once */
        const kiln_tensor x = kiln_tensor_random(a, &from, seed);
        memcpy(file + seed, x.data, n);
        if (bytes > 0)
            kiln_test_pack(&k, x.data, want);
        memset(got, CANARY, bytes + 64);
        kiln_assert_status_ok(kiln_packer_add(p, &k, "w", NULL, file + seed, got, &err),
                              &err);
        kiln_assert_status_ok(kiln_packer_finish(p, &err), &err);
        assert_memory_equal(got, want, bytes);
        for (size_t i = bytes; i < bytes + 64; i++)
            assert_int_equal(got[i], CANARY);
    }
}

/* ---- code that packs wrongly ------------------------------------------------------ */

typedef struct failing_row {
    const char *name, *fault, *text;
    int64_t limit_ms;
} failing_row;

static failing_row failing_rows[] = {
    {"a_crash_is_an_error", "CRASH", "was ended by signal 11", 0},
    {"a_hang_is_an_error", "HANG", "did not answer in time and was ended", 2000},
    {"a_refusal_is_an_error", "RETURN", "it returned 7", 0},
    {"bytes_beside_are_an_error", "BESIDE", "", 0},
};

typedef struct fault {
    kiln_arena *arena;
    const char *name; /* NULL: none any more */
} fault;

static void spoil(void *user, kiln_object *o) {
    const fault *f = user;
    const char *dir = kiln_test_dir();
    kiln_err err = {0};
    if (f->name == NULL)
        return;
    kiln_test_compile_kernel_as(f->arena, "tests/pipeline/kernels/failing_kernels.c",
                                f->name, dir, "kiln_pack", NULL);
    kiln_assert_status_ok(kiln_file_map(f->arena,
                                        kiln_format(f->arena, "%s/%s.o", dir, f->name),
                                        0, &o->bytes, &err),
                          &err);
}

static kiln_status pack(kiln_packer *p, const char *type, kiln_arena *a,
                        const void *plain, void **packed, kiln_err *err) {
    const kiln_packing k = kiln_test_packing_of(type);
    *packed = kiln_arena_alloc(a, (size_t)kiln_type_bytes(&k.to));
    return kiln_packer_add(p, &k, "conv1.weight", "conv1", plain, *packed, err);
}

/* The constant is named, with the node that reads it and a way out; the next batch is
 * packed as if nothing had been. */
static void failures_name_the_constant(void **state) {
    static const char bad[] = "f32[2,2,3,3]{order=2301} by winograd_2",
                      good[] = "f32[4,2,3,3]{order=2301} by winograd_2";
    const failing_row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    fault f = {&a, r->fault};
    const kiln_packer_options o = {.argv = kiln_test_worker(&a, "kiln-runner"),
                                   .limit_ms = r->limit_ms,
                                   .compiled = spoil,
                                   .user = &f};
    kiln_test_as_worker_environment();
    kiln_packer *p = kiln_packer_new(&a, &o);
    const kiln_type from = kiln_type_make(KILN_F32, 4, (int64_t[]){4, 2, 3, 3});
    const kiln_tensor x = kiln_tensor_random(&a, &from, 7);
    void *got, *want;
    kiln_assert_status_ok(pack(p, bad, &a, x.data, &got, &err), &err);
    kiln_assert_fails(kiln_packer_finish(p, &err), KILN_ERR_LIB, &err, r->text);
    assert_non_null(
        strstr(err.text, "packing constant 'conv1.weight' of node 'conv1'"));
    assert_non_null(strstr(err.text, "--pack open"));
    kiln_err_clear(&err);
    f.name = NULL;
    kiln_assert_status_ok(pack(p, good, &a, x.data, &got, &err), &err);
    kiln_assert_status_ok(kiln_packer_finish(p, &err), &err);
    const kiln_packing k = kiln_test_packing_of(good);
    want = kiln_arena_alloc(&a, (size_t)kiln_type_bytes(&k.to));
    kiln_test_pack(&k, x.data, want);
    assert_memory_equal(got, want, (size_t)kiln_type_bytes(&k.to));
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_rows(packs_as_interpreted, rows);
    kiln_test_add_rows(failures_name_the_constant, failing_rows);
    return kiln_test_run("pack");
}
