/* PTX of random programs of blocks and threads, and of a tiled matrix product: NVIDIA's
 * assembler takes it for each architecture that ships, and the product's tiles stay in
 * registers. Skipped where there is no ptxas (PATH, CUDA_HOME). KILN_SOAK=1: 1,000
 * programs. */
#include "base/files/file.h"
#include "compiler/codegen/codegen_gpu_module.h"
#include "tests/support/kiln_test.h"
#include "tests/support/gpu/ptxas.h"
#include "tests/support/random/random_threads.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { N_PROGRAMS = 24, SOAK = 1000, BATCH = 100 };

static const char *const profiles[] = {"cuda-sm70", "cuda-sm80", "cuda-sm90"};

static const kiln_profile *profile_of(const char *name) {
    for (int i = 0; kiln_gpu_profile_at(i) != NULL; i++)
        if (strcmp(kiln_gpu_profile_at(i)->name, name) == 0)
            return kiln_gpu_profile_at(i);
    fail_msg("no profile '%s'", name);
    return NULL;
}

static kiln_str object_of(kiln_arena *a, kiln_program *p, const kiln_profile *prof) {
    const kiln_natives natives = kiln_codegen_natives(prof);
    const kiln_loop_options lo = {.natives = &natives};
    kiln_object o = {.workspace_bytes = 0};
    kiln_err err = {0};
    kiln_program copy = *p;
    kiln_assert_status_ok(kiln_program_optimize(&copy, &lo, &err), &err);
    kiln_assert_status_ok(kiln_codegen(a, &copy, prof, NULL, &o, NULL, &err), &err);
    kiln_assert_status_ok(kiln_object_check(o.bytes, &err), &err);
    return o.bytes;
}

static void batch(const kiln_profile *prof, uint64_t first, int n) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_str *object = kiln_array(&a, kiln_str, n), linked = {"", 0};
    kiln_gpu_module m;
    for (int i = 0; i < n; i++) {
        random_threads x = {0};
        random_threads_make(&a, first + (uint64_t)i, &x);
        x.program->name = kiln_format(&a, "drawn.%d", i);
        object[i] = object_of(&a, x.program, prof);
    }
    kiln_assert_status_ok(kiln_gpu_module_link(&a, object, (size_t)n, &linked, &err),
                          &err);
    kiln_assert_status_ok(kiln_gpu_object_open(&a, linked, &m, &err), &err);
    assert_int_equal(m.header->language, KILN_GPU_PTX);
    assert_int_equal(m.header->n_kernels, n);
    if (ptxas_is_here())
        (void)ptxas_said(&a, prof, m.code);
    kiln_arena_fini(&a);
}

static void random_programs(void **state) {
    const int n = getenv("KILN_SOAK") != NULL ? SOAK : (int)kiln_test_cases(N_PROGRAMS);
    (void)state;
    for (size_t k = 0; k < sizeof profiles / sizeof profiles[0]; k++)
        for (int i = 0; i < n; i += BATCH)
            batch(profile_of(profiles[k]), kiln_test_seed() * 1000003u + (uint64_t)i,
                  n - i < BATCH ? n - i : BATCH);
    if (!ptxas_is_here())
        kiln_test_skip("no ptxas");
    print_message("%d programs for each of 3 architectures\n", n);
}

/* ---- a matrix product ------------------------------------------------------------- */

static const char product[] =
    "program product(a: f32[256, 128], b: f32[128, 256], out c: f32[256, 256]) {\n"
    "thread \"blockIdx.y\" by in 0 .. +4 {\n"
    "thread \"blockIdx.x\" bx in 0 .. +4 {\n"
    "alloc sa: f32[16, 64] shared {\n"
    "alloc sb: f32[16, 64] shared {\n"
    "thread \"threadIdx.y\" ty in 0 .. +16 {\n"
    "thread \"threadIdx.x\" tx in 0 .. +16 {\n"
    "alloc t: f32[4, 4] register {\n"
    "unroll i in 0 .. +4 {\nvectorized j in 0 .. +4 {\nt[i, j] = 0f\n}\n}\n"
    "for k in 0 .. +8 {\n"
    "unroll l in 0 .. +4 {\n"
    "sa[l*4 + (ty*16 + tx) // 64, (ty*16 + tx) % 64] = "
    "a[by*64 + (ty*16 + tx) % 64, k*16 + l*4 + (ty*16 + tx) // 64]\n"
    "sb[l*4 + (ty*16 + tx) // 64, (ty*16 + tx) % 64] = "
    "b[k*16 + l*4 + (ty*16 + tx) // 64, bx*64 + (ty*16 + tx) % 64]\n"
    "}\n"
    "unroll k2 in 0 .. +16 {\nunroll i2 in 0 .. +4 {\nvectorized j2 in 0 .. +4 {\n"
    "t[i2, j2] = t[i2, j2] + sa[k2, ty*4 + i2]*sb[k2, tx*4 + j2]\n"
    "}\n}\n}\n"
    "}\n"
    "unroll i3 in 0 .. +4 {\nvectorized j3 in 0 .. +4 {\n"
    "c[by*64 + ty*4 + i3, bx*64 + tx*4 + j3] = t[i3, j3]\n"
    "}\n}\n"
    "}}}}}}}}\n";

static int count(const char *text, const char *word) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        n++;
    return n;
}

static void tiles_stay_in_registers(void **state) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_program *p = NULL;
    (void)state;
    kiln_assert_status_ok(
        kiln_program_parse(&a, KILN_STR_LIT(product), "product", &p, &err), &err);
    for (size_t k = 0; k < sizeof profiles / sizeof profiles[0]; k++) {
        const kiln_profile *prof = profile_of(profiles[k]);
        kiln_gpu_module m;
        const kiln_str o = object_of(&a, p, prof);
        kiln_assert_status_ok(kiln_gpu_object_open(&a, o, &m, &err), &err);
        if (getenv("KILN_KEEP") != NULL)
            kiln_assert_status_ok(
                kiln_file_write(getenv("KILN_KEEP"), m.code, strlen(m.code), &err),
                &err);
        assert_int_equal(count(m.code, ".local"), 0);
        assert_int_equal(count(m.code, "fma.rn.f32"), 16 * 16);
        assert_int_equal(count(m.code, "ld.shared.v4.f32"), 16 + 16);
        assert_int_equal(count(m.code, "st.global.v4.f32"), 4);
        assert_int_equal(count(m.code, "bar.sync"), 2);
        if (!ptxas_is_here())
            continue;
        const char *said = ptxas_said(&a, prof, m.code);
        print_message("%s: %s", prof->cpu, said);
        assert_non_null(strstr(said, "0 bytes spill stores, 0 bytes spill loads"));
    }
    kiln_arena_fini(&a);
    if (!ptxas_is_here())
        kiln_test_skip("no ptxas");
}

/* ---- indexes ---------------------------------------------------------------------- */

/* A copy of n elements that a division and a remainder find. */
static const char *copy_of(kiln_arena *a, const char *dtype, int64_t n) {
    const kiln_profile *prof = profile_of("cuda-sm80");
    kiln_err err = {0};
    kiln_program *p = NULL;
    kiln_gpu_module m;
    const char *text =
        kiln_format(a,
                    "program copy(x: %s[%" PRId64 "], out y: %s[%" PRId64 "]) {\n"
                    "thread \"blockIdx.x\" b in 0 .. +%" PRId64 " {\n"
                    "thread \"threadIdx.x\" t in 0 .. +96 {\n"
                    "y[b*96 + t %% 12*8 + t // 12] = x[b*96 + t]\n"
                    "}\n}\n}\n",
                    dtype, n, dtype, n, n / 96 - 1);
    kiln_assert_status_ok(kiln_program_parse(a, kiln_str_from(text), "copy", &p, &err),
                          &err);
    kiln_assert_status_ok(kiln_gpu_object_open(a, object_of(a, p, prof), &m, &err),
                          &err);
    return m.code;
}

/* GPUs have no multiplier of 64 bits: only addresses are that wide, and what does not fit
 * less. */
static void indexes_are_narrow(void **state) {
    static const char *const wide[] = {"mul.hi.u64", "mul.hi.s64", "mul.lo.s64",
                                       "shr.u64", "shr.s64"};
    const int64_t small = 96 << 10, huge = (int64_t)96 << 26;
    kiln_arena a = {0};
    const char *code = copy_of(&a, "f32", small);
    (void)state;
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++)
        if (count(code, wide[i]) != 0)
            fail_msg("%d times %s in\n%s", count(code, wide[i]), wide[i], code);
    assert_true(count(code, "mul.wide.") > 0);
    code = copy_of(&a, "i8", huge);
    assert_true(count(code, "mad.lo.s64") + count(code, "mul.lo.s64") +
                    count(code, "mul.wide.") >
                0);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add("indexes_are_narrow", indexes_are_narrow, NULL);
    kiln_test_add("random_programs", random_programs, NULL);
    kiln_test_add("tiles_stay_in_registers", tiles_stay_in_registers, NULL);
    return kiln_test_run("PTX");
}
