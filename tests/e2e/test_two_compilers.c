/* One archive for one input, whichever compiler built kiln: C leaves it to the compiler
 * in which order arguments are computed, so code that emits in two arguments of one
 * call makes two programs. KILN is one kiln; the other is that of another compiler's
 * variant beside it, of the same sources. */
#include "tests/support/program/cli_run.h"
#include "tests/support/kiln_test.h"

#include <stdlib.h>
#include <string.h>

/* ---- the other kiln -------------------------------------------------------------- */

static const char *said(const char *const *argv) {
    kiln_process_result r;
    kiln_err err = {.status = KILN_OK};
    const kiln_process_options o = {.argv = argv,
                                    .time_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_assert_status_ok(kiln_process_run(kiln_test_arena(), &o, &r, &err), &err);
    if (r.end != KILN_PROCESS_EXITED || r.code != 0)
        fail_msg("'%s %s' failed: %s%s", argv[0], argv[1], r.out.p, r.err.p);
    return kiln_str_dupv(kiln_test_arena(), r.out);
}

static const char *line_with(const char *text, const char *head) {
    const char *at = strstr(text, head);
    assert_non_null(at);
    return kiln_str_dupv(kiln_test_arena(), (kiln_str){at, strcspn(at, "\n")});
}

static const char *version_of(const char *kiln) {
    const char *const argv[] = {kiln, "--version", NULL};
    return said(argv);
}

/* NULL: there is none. "build/gcc-release/kiln": "build/clang-debug/kiln", or another.
 */
static const char *other_than(const char *kiln) {
    static const char *const variants[] = {"clang-debug", "clang-release", "gcc-debug",
                                           "gcc-release"};
    kiln_arena *a = kiln_test_arena();
    const char *folder = kiln_path_dir(a, kiln);
    const bool is_gcc = strncmp(kiln_path_base(folder), "gcc", 3) == 0;
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        const char *other = kiln_path_join(a, kiln_path_dir(a, folder),
                                           kiln_format(a, "%s/kiln", variants[i]));
        if (is_gcc != (variants[i][0] == 'g') && kiln_file_exists(other))
            return other;
    }
    return NULL;
}

/* ---- what they build ------------------------------------------------------------- */

/* What code generation makes of every function there is, of integers, of low types. */
#define MATH(type)                                                                     \
    "graph \"math\" {\n input %x : " type "[67]\n input %y : " type "[67]\n"           \
    " %a1 = erf(%x)\n %a2 = tan(%x)\n %a3 = asinh(%x)\n %a4 = acosh(%x)\n"             \
    " %a5 = atanh(%x)\n %a6 = sinh(%x)\n %a7 = cosh(%x)\n %a8 = asin(%x)\n"            \
    " %a9 = acos(%x)\n %b1 = atan(%x)\n %b2 = exp(%x)\n %b3 = log(%x)\n"               \
    " %b4 = sigmoid(%x)\n %b5 = tanh(%x)\n %b6 = sin(%x)\n %b7 = cos(%x)\n"            \
    " %b8 = pow(%x, %y)\n %b9 = mod(%x, %y) {fmod=true}\n %c1 = gelu(%x)\n"            \
    " %c2 = softplus(%x)\n"                                                            \
    " output %a1\n output %a2\n output %a3\n output %a4\n output %a5\n output %a6\n"   \
    " output %a7\n output %a8\n output %a9\n output %b1\n output %b2\n output %b3\n"   \
    " output %b4\n output %b5\n output %b6\n output %b7\n output %b8\n output %b9\n"   \
    " output %c1\n output %c2\n}\n"
#define WHOLE                                                                          \
    "graph \"whole\" {\n input %x : i32[67]\n input %y : i32[67]\n"                    \
    " %d = div(%x, %y)\n %m = mod(%x, %y)\n %c = cast(%x) {to=bf16}\n"                 \
    " %h = cast(%x) {to=f16}\n output %d\n output %m\n output %c\n output %h\n}\n"

typedef struct row {
    const char *name;
    const char *model; /* "zoo:..."; else the text of a graph */
    const char *profile, *numerics;
} row;

static row rows[] = {
    {"math_f32_avx512", MATH("f32"), "x86-avx512", "fast"},
    {"math_f32_avx2", MATH("f32"), "x86-avx2", "fast"},
    {"math_f32_baseline", MATH("f32"), "x86-baseline", "strict"},
    {"math_f32_aarch64", MATH("f32"), "aarch64", "fast"},
    {"math_f64_avx512", MATH("f64"), "x86-avx512", "fast"},
    {"math_f64_baseline", MATH("f64"), "x86-baseline", "fast"},
    {"math_f64_aarch64", MATH("f64"), "aarch64", "strict"},
    {"math_f16_avx2", MATH("f16"), "x86-avx2", "fast"},
    {"math_f16_baseline", MATH("f16"), "x86-baseline", "fast"},
    {"whole_avx512", WHOLE, "x86-avx512", "fast"},
    {"whole_baseline", WHOLE, "x86-baseline", "fast"},
    {"whole_aarch64", WHOLE, "aarch64-dotprod", "fast"},
    {"dqn_avx512", "zoo:dqn", "x86-avx512", "fast"},
    {"dqn_avx2", "zoo:dqn", "x86-avx2", "strict"},
    {"dqn_baseline", "zoo:dqn", "x86-baseline", "fast"},
    {"dqn_aarch64", "zoo:dqn", "aarch64", "fast"},
    {"dcgan_avx512", "zoo:dcgan", "x86-avx512", "fast"},
    {"dcgan_avx2", "zoo:dcgan", "x86-avx2", "fast"},
    {"lstm_avx512", "zoo:lstm_lm", "x86-avx512", "fast"},
    {"bert_avx512", "zoo:bert_mini", "x86-avx512", "fast"},
    {"mobilenet_avx2", "zoo:mobilenet_v2", "x86-avx2", "fast"},
    {"resnet_avx512", "zoo:resnet18", "x86-avx512", "fast"},
};

static const char *sha256_of(const row *r, const char *kiln, const char *to) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    const char *model = r->model;
    if (strncmp(model, "zoo:", 4) != 0) {
        model = kiln_path_join(a, kiln_test_dir(), "model.kgraph");
        kiln_assert_status_ok(kiln_file_write(model, r->model, strlen(r->model), &err),
                              &err);
    }
    const char *const argv[] = {kiln,         "build",      model,       "--profile",
                                r->profile,   "--numerics", r->numerics, "--no-verify",
                                "--no-ready", "-o",         to,          NULL};
    return line_with(said(argv), "sha256: ");
}

static void check(void **state) {
    const row *r = *state;
    kiln_arena *a = kiln_test_arena();
    const char *kiln = getenv("KILN");
    if (kiln == NULL || strstr(kiln, "/gcc-release/") == NULL) {
        kiln_test_skip("asked of the release variant; this is another");
        return; /* not reached, which checkers do not know */
    }
    const char *other = other_than(kiln);
    if (other == NULL) {
        kiln_test_skip("no kiln of another compiler is beside it");
        return;
    }
    const char *commit = line_with(version_of(kiln), "commit ");
    if (strcmp(commit, line_with(version_of(other), "commit ")) != 0)
        kiln_test_skip("the other compiler's kiln is of other sources");
    if (strstr(commit, "-modified") != NULL)
        kiln_test_skip("both are of modified sources, and maybe of different ones");
    const char *here = sha256_of(r, kiln, kiln_path_join(a, kiln_test_dir(), "here"));
    const char *there =
        sha256_of(r, other, kiln_path_join(a, kiln_test_dir(), "there"));
    assert_string_equal(here, there);
}

int main(void) {
    kiln_test_own_home();
    kiln_test_add_rows(check, rows);
    return kiln_test_run("two compilers");
}
