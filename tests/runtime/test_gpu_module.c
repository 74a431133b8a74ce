/* GPU modules: what is well made is read as it was written; every lie of a header, a
 * kernel, a launch or an argument is refused with its reason; damaged ones are refused
 * or stay inside their bytes. */
#include "runtime/gpu_module.h"
#include "tests/support/damage.h"
#include "tests/support/gpu/gpu_module_text.h"
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

typedef enum part { HEADER, KERNELS, LAUNCHES, ARGS, STRINGS, CODE } part;

typedef struct row {
    const char *name;
    part part;
    size_t index, at, bytes; /* of the field, in an entry of the part */
    int64_t value;
    bool is_added; /* the value to what the field was */
    const char *reason;
} row;

#define FIELD(type, member) offsetof(type, member), sizeof(((type *)0)->member)
#define H(member) HEADER, 0, FIELD(kiln_gpu_header, member)
#define K(i, member) KERNELS, i, FIELD(kiln_gpu_kernel, member)
#define L(i, member) LAUNCHES, i, FIELD(kiln_gpu_launch, member)
#define A(i, member) ARGS, i, FIELD(kiln_gpu_arg, member)
#define BYTE(part, i) part, 0, i, 1

static row rows[] = {
    {"magic", H(magic[0]), 'X', 0, "does not begin with 'KILNGPUM'"},
    {"version", H(version), 2, 0, "version 2, this runtime reads version 1"},
    {"language", H(language), 4, 0, "language 4 is not one of"},
    {"reserved", H(reserved), 1, 0, "the reserved number must be 0, is 1"},
    {"bytes", H(bytes), 1, 1, "must have"},
    {"kernels_far", H(kernels), -8, 0, "a table lies outside"},
    {"kernels_crooked", H(kernels), 4, 1, "a table lies outside"},
    {"many_kernels", H(n_kernels), -1, 0, "a table lies outside"},
    {"launches_far", H(launches), 8192, 1, "a table lies outside"},
    {"many_launches", H(n_launches), 1000, 0, "a table lies outside"},
    {"many_args", H(n_args), INT32_MIN, 0, "a table lies outside"},
    {"args_far", H(args), INT64_MIN, 0, "a table lies outside"},
    {"no_strings", H(string_bytes), 0, 0, "its strings do not end"},
    {"long_strings", H(string_bytes), -1, 0, "its strings do not end"},
    {"cut_strings", H(string_bytes), -2, 1, "its strings do not end"},
    {"no_code", H(code_bytes), 0, 0, "its code is no text"},
    {"cut_code", H(code_bytes), -1, 1, "its code is no text"},
    {"far_code", H(code), -1, 0, "its code is no text"},
    {"torn_code", BYTE(CODE, 3), 0, 0, "its code is no text"},
    {"symbol_far", K(0, symbol), -1, 0, "kernel 0 has no symbol"},
    {"symbol_empty", BYTE(STRINGS, 0), 0, 0, "kernel 0 has no symbol"},
    {"symbol_strange", BYTE(STRINGS, 0), '\n', 0, "kernel 0 has no symbol"},
    {"no_launches", K(1, n_launches), 0, 0, "kernel 1 must have launches"},
    {"launch_past_end", K(1, first_launch), 3, 0, "kernel 1 must have launches"},
    {"launch_wraps", K(1, first_launch), -1, 0, "kernel 1 must have launches"},
    {"launches_wrap", K(0, n_launches), -1, 0, "more than 1048576 launches"},
    {"workspace_huge", K(0, workspace_bytes), -1, 0, "more than 2^40 bytes"},
    {"entry_far", L(1, entry), 1 << 20, 0, "launch 1 has no name of an entry"},
    {"args_past_end", L(2, first_arg), 6, 0, "launch 2 must have at most 64"},
    {"args_wrap", L(2, first_arg), -1, 0, "launch 2 must have at most 64"},
    {"args_too_many", L(0, n_args), 65, 0, "launch 0 must have at most 64"},
    {"no_grid", L(0, grid[2]), 0, 0, "launch 0 has 0 blocks of 1 threads along axis 2"},
    {"no_block", L(0, block[0]), 0, 0, "launch 0 has 3 blocks of 0 threads"},
    {"huge_grid", L(0, grid[0]), INT32_MIN, 0, "launch 0 has 2147483648 blocks"},
    {"huge_block", L(0, block[1]), 65537, 0, "launch 0 has 2 blocks of 65537 threads"},
    {"product_of_block", L(0, block[1]), 65536, 0, "at most 2^40 blocks of 65536"},
    {"shared", L(0, shared_bytes), -1, 0, "asks for 4294967295 bytes of shared"},
    {"operand", A(0, index), 2, 0, "argument 0 of launch 0 of 'twice' is an operand"},
    {"operand_value", A(0, value), 1, 0, "is an operand with a value"},
    {"workspace_at_end", A(3, value), 192, 0, "must be a multiple of 64 inside"},
    {"workspace_wraps", A(3, value), -64, 0, "must be a multiple of 64 inside"},
    {"workspace_crooked", A(1, value), 32, 0, "must be a multiple of 64 inside"},
    {"workspace_index", A(1, index), 1, 0, "is no operand, but has an index"},
    {"number_index", A(2, index), 1, 0, "is no operand, but has an index"},
    {"kind", A(2, kind), 0, 0, "argument 2 of launch 0 of 'twice' is of no kind"},
    {"kind_far", A(2, kind), -1, 0, "is of no kind"},
};

/* Little-endian, as modules are. */
static void lie(char *bytes, const row *r) {
    const kiln_gpu_header *h = (const void *)bytes;
    const struct {
        uint64_t at;
        size_t size;
    } table[] = {[HEADER] = {0, sizeof *h},
                 [KERNELS] = {h->kernels, sizeof(kiln_gpu_kernel)},
                 [LAUNCHES] = {h->launches, sizeof(kiln_gpu_launch)},
                 [ARGS] = {h->args, sizeof(kiln_gpu_arg)},
                 [STRINGS] = {h->strings, 1},
                 [CODE] = {h->code, 1}};
    char *at = bytes + table[r->part].at + r->index * table[r->part].size + r->at;
    uint64_t value = 0;
    memcpy(&value, at, r->bytes);
    value = (r->is_added ? value : 0) + (uint64_t)r->value;
    memcpy(at, &value, r->bytes);
}

static void refuses_a_lie(void **state) {
    const row *r = *state;
    char error[KILN_GPU_ERROR] = "";
    kiln_gpu_module m;
    size_t n;
    char *bytes = make(&n);
    lie(bytes, r);
    assert_int_equal(kiln_gpu_module_check(bytes, n, &m, error), -1);
    if (strstr(error, r->reason) == NULL)
        fail_msg("'%s' should say '%s'", error, r->reason);
}

/* Each axis alone is small enough. */
static void test_refuses_too_many_blocks(void **state) {
    (void)state;
    char error[KILN_GPU_ERROR] = "";
    kiln_gpu_module m;
    size_t n;
    char *bytes = make(&n);
    kiln_gpu_launch *l = (void *)(bytes + ((kiln_gpu_header *)(void *)bytes)->launches);
    for (int i = 0; i < KILN_GPU_AXES; i++)
        l->grid[i] = INT32_MAX;
    assert_int_equal(kiln_gpu_module_check(bytes, n, &m, error), -1);
    assert_non_null(strstr(error, "at most 2^40 blocks of 65536 threads"));
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
        cmocka_unit_test(test_refuses_too_many_blocks),
        cmocka_unit_test(test_refuses_what_is_cut),
        cmocka_unit_test(test_refuses_crooked_memory),
        cmocka_unit_test(test_survives_damage),
    };
    kiln_test_add_tests(unit);
    kiln_test_add_rows(refuses_a_lie, rows);
    return kiln_test_run("gpu_module");
}
