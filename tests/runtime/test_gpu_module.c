/* GPU modules: what is well made is read as it was written; every lie of a header, a
 * kernel, a launch or an argument is refused with its reason; damaged ones are refused
 * or stay inside their bytes. */
#include "runtime/gpu_module.h"
#include "tests/support/damage.h"
#include "tests/support/gpu_module_text.h"
#include "tests/support/kiln_test.h"

#include <string.h>

static const char text[] = "kernel twice 2 192\n"
                           "launch half 3 2 1 8 4 1 o0 w0 i-7\n"
                           "launch whole 1 1 1 64 1 1 w128 o1\n"
                           "kernel once 1 0\n"
                           "launch half 1 1 1 1 1 1 o0\n";
static const char code[] = "kernel void half() {}\n";

static char *make(size_t *n) {
    return (char *)(uintptr_t)kiln_gpu_module_text(kiln_test_arena(), KILN_GPU_OPENCL_C,
                                                   text, code, n);
}

static void test_reads_what_was_written(void **state) {
    (void)state;
    char error[KILN_GPU_ERROR] = "";
    kiln_gpu_module m;
    size_t n;
    const char *bytes = make(&n);
    if (kiln_gpu_module_check(bytes, n, &m, error) != 0)
        fail_msg("%s", error);
    assert_string_equal(m.code, code);
    const kiln_gpu_kernel *k = kiln_gpu_module_find(&m, "twice");
    assert_non_null(k);
    assert_int_equal(k->n_launches, 2);
    assert_int_equal(k->workspace_bytes, 192);
    const kiln_gpu_launch *l = &m.launch[k->first_launch];
    assert_string_equal(m.string + l->entry, "half");
    assert_int_equal(l->grid[1], 2);
    assert_int_equal(l->block[0], 8);
    assert_int_equal((int64_t)m.arg[l->first_arg + 2].value, -7);
    assert_int_equal(kiln_gpu_module_find(&m, "once")->n_operands, 1);
    assert_null(kiln_gpu_module_find(&m, "half"));
}

/* ---- lies ------------------------------------------------------------------------- */

typedef struct parts {
    kiln_gpu_header *h;
    kiln_gpu_kernel *k;
    kiln_gpu_launch *l;
    kiln_gpu_arg *a;
    char *bytes;
} parts;

#define LIES(x)                                                                                                                            \
    x(magic, p->h->magic[0] = 'X', "does not begin with 'KILNGPUM'") x(                                                                    \
        version, p->h->version = 2,                                                                                                        \
        "version 2, this runtime reads version 1") x(language, p->h->language = 3,                                                         \
                                                     "language 3 is not one of")                                                           \
        x(reserved, p->h->reserved = 1, "the reserved number must be 0, is 1") x(                                                          \
            bytes, p->h->bytes++,                                                                                                          \
            "must have") x(kernels_far, p->h->kernels = UINT64_MAX - 7,                                                                    \
                           "a table lies outside") x(kernels_crooked,                                                                      \
                                                     p->h->kernels += 4,                                                                   \
                                                     "a table lies outside")                                                               \
            x(many_kernels, p->h->n_kernels = UINT32_MAX, "a table lies outside") x(                                                       \
                launches_far, p->h->launches = p->h->bytes + 8,                                                                            \
                "a table lies outside") x(many_launches, p->h->n_launches = 1000,                                                          \
                                          "a table lies outside") x(many_args,                                                             \
                                                                    p->h->n_args =                                                         \
                                                                        1u << 31,                                                          \
                                                                    "a table lies "                                                        \
                                                                    "outside")                                                             \
                x(args_at_the_end, p->h->args = p->h->bytes / 8 * 8, "a table lies outside") x(                                            \
                    no_strings,                                                                                                            \
                    p->h->string_bytes = 0,                                                                                                \
                    "its strings do not end") x(long_strings, p->h->string_bytes = UINT64_MAX, "its strings do not end")                   \
                    x(cut_strings, p->h->string_bytes -= 2, "its strings do not end") x(                                                   \
                        no_code,                                                                                                           \
                        p->h->code_bytes = 0,                                                                                              \
                        "its code is no text") x(cut_code, p->h->code_bytes--,                                                             \
                                                 "its code is no text")                                                                    \
                        x(far_code, p->h->code = UINT64_MAX, "its code is no text") x(                                                     \
                            torn_code,                                                                                                     \
                            p                                                                                                              \
                                ->bytes[p->h->code + 3] =                                                                                  \
                                '\0',                                                                                                      \
                            "its code is no text") x(symbol_far, p->k[0].symbol = UINT32_MAX,                                              \
                                                     "kernel 0 has no symbol")                                                             \
                            x(symbol_empty, p->bytes[p->h->strings] = '\0', "kernel 0 has no symbol") x(                                   \
                                symbol_strange,                                                                                            \
                                p                                                                                                          \
                                    ->bytes[p->h->strings] = '\n',                                                                         \
                                "kernel 0 has no symbol") x(no_launches, p->k[1].n_launches = 0, "kernel 1 must have launches")            \
                                x(launch_past_end, p->k[1].first_launch = 3, "kernel 1 must have launches") x(                             \
                                    launch_wraps,                                                                                          \
                                    p->k[1].first_launch = UINT32_MAX,                                                                     \
                                    "kernel 1 must have launches")                                                                         \
                                    x(launches_wrap, p->k[0].n_launches = UINT32_MAX, "more than 1048576 launches") x(                     \
                                        workspace_huge,                                                                                    \
                                        p->k[0].workspace_bytes =                                                                          \
                                            UINT64_MAX,                                                                                    \
                                        "more than 2^40 bytes") x(entry_far, p->l[1].entry = 1u << 20, "launch 1 has no name of an entry") \
                                        x(args_past_end, p->l[2].first_arg = 6, "launch 2 must have at most 64") x(                        \
                                            args_wrap,                                                                                     \
                                            p->l[2].first_arg =                                                                            \
                                                UINT32_MAX,                                                                                \
                                            "launch 2 must have at most 64")                                                               \
                                            x(args_too_many, p->l[0].n_args = 65, "launch 0 must have at most 64") x(                      \
                                                no_grid,                                                                                   \
                                                p->l[0]                                                                                    \
                                                    .grid[2] = 0,                                                                          \
                                                "launch 0 has 0 blocks of 1 threads "                                                      \
                                                "along axis 2") x(no_block, p->l[0].block[0] = 0, "launch 0 has 3 blocks of 0 threads")    \
                                                x(huge_grid, p->l[0].grid[0] = 1u << 31, "launch 0 has 2147483648 blocks") x(              \
                                                    huge_block,                                                                            \
                                                    p->l[0].block[1] = 65537,                                                              \
                                                    "launch 0 has 2 blocks of 65537 "                                                      \
                                                    "threads")                                                                             \
                                                    x(product_of_block, p->l[0].block[1] = 65536, "at most 2^40 blocks of 65536") x(       \
                                                        product_of_grid,                                                                   \
                                                        p->l[0]                                                                            \
                                                            .grid[0] =                                                                     \
                                                            p->l[0]                                                                        \
                                                                .grid[1] =                                                                 \
                                                                p->l[0]                                                                    \
                                                                    .grid[2] =                                                             \
                                                                    INT32_MAX,                                                             \
                                                        "at most 2^40 blocks of "                                                          \
                                                        "65536") x(shared, p->l[0].shared_bytes = UINT32_MAX,                              \
                                                                   "asks for "                                                             \
                                                                   "4294967295 bytes "                                                     \
                                                                   "of shared")                                                            \
                                                        x(operand, p->a[0].index = 2,                                                      \
                                                          "argument 0 of launch 0 "                                                        \
                                                          "of 'twice' is an "                                                              \
                                                          "operand")                                                                       \
                                                            x(operand_value,                                                               \
                                                              p->a[0].value =                                                              \
                                                                  1,                                                                       \
                                                              "is an operand with a "                                                      \
                                                              "value")                                                                     \
                                                                x(workspace_at_end,                                                        \
                                                                  p->a[3].value =                                                          \
                                                                      192,                                                                 \
                                                                  "must be a "                                                             \
                                                                  "multiple of 64 "                                                        \
                                                                  "inside")                                                                \
                                                                    x(workspace_wraps,                                                     \
                                                                      p->a[3].value =                                                      \
                                                                          UINT64_MAX -                                                     \
                                                                          63,                                                              \
                                                                      "must be a "                                                         \
                                                                      "multiple of "                                                       \
                                                                      "64")                                                                \
                                                                        x(workspace_crooked,                                               \
                                                                          p->a[1]                                                          \
                                                                              .value =                                                     \
                                                                              32,                                                          \
                                                                          "must be a "                                                     \
                                                                          "multiple "                                                      \
                                                                          "of 64 "                                                         \
                                                                          "inside")                                                        \
                                                                            x(workspace_index,                                             \
                                                                              p->a[1]                                                      \
                                                                                  .index =                                                 \
                                                                                  1,                                                       \
                                                                              "is "                                                        \
                                                                              "no "                                                        \
                                                                              "oper"                                                       \
                                                                              "and,"                                                       \
                                                                              " but"                                                       \
                                                                              " has"                                                       \
                                                                              " an "                                                       \
                                                                              "inde"                                                       \
                                                                              "x")                                                         \
                                                                                x(number_index,                                            \
                                                                                  p->a[2]                                                  \
                                                                                      .index =                                             \
                                                                                      1,                                                   \
                                                                                  "is"                                                     \
                                                                                  " n"                                                     \
                                                                                  "o "                                                     \
                                                                                  "op"                                                     \
                                                                                  "er"                                                     \
                                                                                  "an"                                                     \
                                                                                  "d,"                                                     \
                                                                                  " b"                                                     \
                                                                                  "ut"                                                     \
                                                                                  " h"                                                     \
                                                                                  "as"                                                     \
                                                                                  " a"                                                     \
                                                                                  "n "                                                     \
                                                                                  "in"                                                     \
                                                                                  "de"                                                     \
                                                                                  "x")                                                     \
                                                                                    x(kind,                                                \
                                                                                      p->a[2]                                              \
                                                                                          .kind =                                          \
                                                                                          0,                                               \
                                                                                      "argument 2 of launch 0 of 'twice' is of no kind")   \
                                                                                        x(kind_far,                                        \
                                                                                          p->a[2]                                          \
                                                                                              .kind =                                      \
                                                                                              UINT32_MAX,                                  \
                                                                                          "is of no kind")

#define LIE(name, change, reason)                                                      \
    static void lie_##name(const parts *p) { change; }
LIES(LIE)
#undef LIE

typedef struct row {
    const char *name;
    void (*lie)(const parts *p);
    const char *reason;
} row;
static row rows[] = {
#define LIE(name, change, reason) {"refuses_" #name, lie_##name, reason},
    LIES(LIE)
#undef LIE
};

static void check_lie(void **state) {
    const row *r = *state;
    char error[KILN_GPU_ERROR] = "";
    kiln_gpu_module m;
    size_t n;
    char *bytes = make(&n);
    kiln_gpu_header *h = (void *)bytes;
    r->lie(&(parts){h, (void *)(bytes + h->kernels), (void *)(bytes + h->launches),
                    (void *)(bytes + h->args), bytes});
    assert_int_equal(kiln_gpu_module_check(bytes, n, &m, error), -1);
    if (strstr(error, r->reason) == NULL)
        fail_msg("'%s' should say '%s'", error, r->reason);
}

/* Each length that is too short, in memory of exactly that size. */
static void test_refuses_what_is_cut(void **state) {
    (void)state;
    size_t n;
    const char *bytes = make(&n);
    for (size_t i = 0; i < n; i++) {
        kiln_arena a = {0};
        char error[KILN_GPU_ERROR] = "";
        kiln_gpu_module m;
        const void *cut = kiln_arena_dup(&a, bytes, i);
        assert_int_equal(kiln_gpu_module_check(cut, i, &m, error), -1);
        assert_true(error[0] != '\0');
        kiln_arena_fini(&a);
    }
}

static void test_refuses_crooked_memory(void **state) {
    (void)state;
    char error[KILN_GPU_ERROR] = "";
    kiln_gpu_module m;
    size_t n;
    const char *bytes = make(&n);
    char *moved = kiln_arena_alloc(kiln_test_arena(), n + 8);
    memcpy(moved + 4, bytes, n);
    assert_int_equal(kiln_gpu_module_check(moved + 4, n, &m, error), -1);
    assert_string_equal(error, "gpu module: its bytes must be 8-byte aligned");
}

static void test_survives_damage(void **state) {
    (void)state;
    kiln_rng r;
    size_t whole;
    kiln_rng_init(&r, kiln_test_seed());
    const char *bytes = make(&whole);
    for (int64_t i = kiln_test_cases(3000); i > 0; i--) {
        kiln_arena a = {0};
        char error[KILN_GPU_ERROR] = "";
        kiln_gpu_module m;
        size_t n = whole;
        char *copy = kiln_arena_dup(&a, bytes, n);
        kiln_test_damage(&r, copy, &n);
        const void *exact = kiln_arena_dup(&a, copy, n);
        if (kiln_gpu_module_check(exact, n, &m, error) == 0)
            kiln_gpu_module_find(&m, "none");
        else
            assert_true(error[0] != '\0');
        kiln_arena_fini(&a);
    }
}

int main(void) {
    const struct CMUnitTest unit[] = {
        cmocka_unit_test(test_reads_what_was_written),
        cmocka_unit_test(test_refuses_what_is_cut),
        cmocka_unit_test(test_refuses_crooked_memory),
        cmocka_unit_test(test_survives_damage),
    };
    kiln_test_add_tests(unit);
    kiln_test_add_rows(check_lie, rows);
    return kiln_test_run("gpu_module");
}
