/* Networks as C source and as libraries from outside: written, compiled without a warning by each
 * compiler that is here, and their self-tests run: here and, for AArch64, under an
 * emulator. KILN names the program. */
#include "tests/support/program/c_source.h"

#include "base/files/file.h"

#include <stdlib.h>
#include <string.h>

#define MODEL "demo/samplenet/samplenet.onnx"

static const char *dir;

/* ---- what is refused ------------------------------------------------------------- */

static kiln_test_cli_row rows[] = {
    {"writes",
     {"build", MODEL, "--profile", "x86-avx2", "--format", "c", "-o", "@plain"},
     0,
     "samplenet for x86-avx2: ",
     NULL},
    {"says_what_it_wrote",
     {"build", MODEL, "--profile", "x86-avx2", "--format", "c", "-o", "@plain"},
     0,
     "samplenet_selftest.c\n",
     NULL},
    {"knows_the_profile",
     {"build", MODEL, "--profile", "x87", "--format", "c", "-o", "@never"},
     2,
     NULL,
     "'x87'"},
    {"writes_for_one_profile",
     {"build", MODEL, "--profile", "x86-avx2", "--profile", "aarch64", "--format", "c",
      "-o", "@never"},
     2,
     NULL,
     "C source and libraries are for one --profile"},
    {"names_a_folder_that_cannot_be",
     {"build", MODEL, "--profile", "x86-avx2", "--format", "c", "-o",
      "@plain/samplenet.c"},
     4,
     NULL,
     "samplenet.c"},
    {"has_no_other_format",
     {"build", MODEL, "--profile", "x86-avx2", "--format", "fortran", "-o", "@never"},
     2,
     NULL,
     "--format must be package, c, shared or static, is 'fortran'"},
    {"has_no_other_parameters",
     {"build", MODEL, "--profile", "x86-avx2", "--format", "c", "--params", "xml", "-o",
      "@never"},
     2,
     NULL,
     "--params must be c or blob, is 'xml'"},
    {"keeps_parameters_of_packages",
     {"build", MODEL, "--profile", "x86-avx2", "--params", "blob", "-o", "@never"},
     2,
     NULL,
     "--params is for --format c"},
    {"keeps_parameters_of_source",
     {"build", MODEL, "--profile", "x86-avx2", "--format", "static", "--params", "blob",
      "-o", "@never"},
     2,
     NULL,
     "--params is for --format c"},
    {"makes_no_library_of_a_module",
     {"build", MODEL, "--profile", "opencl-generic", "--format", "shared", "-o",
      "@never"},
     3,
     NULL,
     "is no library: build a package"},
    {"signs_no_library",
     {"build", MODEL, "--profile", "x86-avx2", "--format", "shared", "--version", "2",
      "-o", "@never"},
     2,
     NULL,
     "--version is of archives: leave it out, or --format shared"},
    {"signs_no_source",
     {"build", MODEL, "--profile", "x86-avx2", "--format", "c", "--provenance", "-o",
      "@never"},
     2,
     NULL,
     "--provenance is of archives"},
};

static void check_row(void **state) {
    kiln_arena a = {0};
    kiln_test_cli_check(&a, dir, *state);
    kiln_arena_fini(&a);
}

/* ---- toolchains ------------------------------------------------------------------ */

typedef struct toolchain {
    const char *name, *compiler;
    const char *emulator; /* NULL: its code runs here */
} toolchain;

static const toolchain toolchains[] = {
    {"gcc", "gcc", NULL},
    {"clang", "clang", NULL},
    {"aarch64", "aarch64-linux-gnu-gcc", "qemu-aarch64"},
};
enum { N_TOOLCHAINS = sizeof toolchains / sizeof toolchains[0] };

/* ---- networks -------------------------------------------------------------------- */

typedef struct network {
    kiln_test_network of;
    bool is_blob;
    bool only_gcc;   /* one compiler is enough, and little of it: it takes long */
    bool no_library; /* nor is it built as one */
} network;

#define MODELS "../shared/models/files/"

/* Functions of numbers, integers of eight bits, loops, branches, parts of inputs and outputs, and
 * values that take one another's place. */
static const network networks[] = {
    {{"samplenet", NULL, MODEL, {NULL}}, false, false, false},
    {{"samplenet_blob", NULL, MODEL, {"--params", "blob"}}, true, true, true},
    {{"math", kiln_test_math_graph, NULL, {NULL}}, false, false, false},
    {{"blazeface",
      NULL,
      MODELS "blazeface_front_onnx/face_detection_front_128x128_barracuda.onnx",
      {NULL}},
     false,
     true,
     true},
    {{"recurrent_with_branches",
      NULL,
      MODELS "silero_vad_legacy_onnx/silero_vad_legacy.onnx",
      {"--shape", "input:1x512", "--shape", "h:2x1x64", "--shape", "c:2x1x64", "--bind",
       "sr=16000"}},
     false,
     true,
     false},
    {{"qlinear_conv",
      NULL,
      "../shared/onnx-node-tests/node/test_qlinearconv/model.onnx",
      {NULL}},
     false,
     false,
     false},
};

static const char *profile_of(const toolchain *t) {
    return t->emulator != NULL ? "aarch64" : "x86-avx2";
}

static void source_passes(kiln_arena *a, const toolchain *t, const network *n) {
    const char *folder = kiln_test_write_network(a, dir, &n->of, profile_of(t), "c");
    const char *program = kiln_format(a, "%s/%s", folder, t->name);
    const char *params =
        kiln_format(a, "%s/net_params.%s", folder, n->is_blob ? "S" : "c");
    const char *include = kiln_format(a, "-Wa,-I%s", folder);
    const char *argv[20] = {t->compiler,
                            "-std=c99",
                            n->only_gcc ? "-O0" : "-O1",
                            "-Wall",
                            "-Wextra",
                            "-Wconversion",
                            "-Werror",
                            "-static",
                            "-o",
                            program,
                            kiln_format(a, "%s/net.c", folder),
                            kiln_format(a, "%s/net_selftest.c", folder)};
    int at = 12;
    if (kiln_file_exists(params)) {
        argv[at++] = params;
        argv[at++] = include;
    }
    kiln_test_compile(a, argv);
    kiln_test_selftest(a, t->emulator, program);
}

/* ---- libraries ------------------------------------------------------------------- */

/* Nothing is asked of anybody, and one function is there to call. */
static void library_is_alone(kiln_arena *a, const char *library) {
    const char *const argv[] = {"nm", "-D", library, NULL};
    kiln_process_result r = {0};
    assert_true(kiln_test_program(a, argv, &r));
    assert_null(strstr(r.out.p, " U "));
    assert_non_null(strstr(r.out.p, " T net_run\n"));
    assert_ptr_equal(strchr(r.out.p, '\n') + 1, r.out.p + r.out.n);
}

static void library_passes(kiln_arena *a, const toolchain *t, const network *n,
                           const char *format) {
    const char *folder = kiln_test_write_network(a, dir, &n->of, profile_of(t), format);
    const char *program = kiln_format(a, "%s/%s", folder, t->name);
    const bool is_static = strcmp(format, "static") == 0;
    const char *argv[20] = {t->compiler,
                            "-std=c99",
                            "-O0",
                            "-Wall",
                            "-Wextra",
                            "-Wconversion",
                            "-Werror",
                            kiln_format(a, "%s/net_selftest.c", folder),
                            kiln_format(a, "-L%s", folder),
                            "-lnet",
                            "-o",
                            program};
    argv[12] = is_static ? "-static" : kiln_format(a, "-Wl,-rpath,%s", folder);
    if (!is_static)
        library_is_alone(a, kiln_format(a, "%s/libnet.so", folder));
    kiln_test_compile(a, argv);
    if (is_static || t->emulator == NULL) /* an emulator wants its machine's loader */
        kiln_test_selftest(a, t->emulator, program);
}

/* What a compiler makes of the text, the release variant has shown: a sanitizer is to see
 * kiln write it, and what takes compilers long is left to KILN_SOAK=1. */
static bool is_written_only(const network *n) {
    return n->only_gcc && kiln_test_is_sanitized() && getenv("KILN_SOAK") == NULL;
}

static void passes(kiln_arena *a, const toolchain *t, const network *n) {
    if (is_written_only(n))
        (void)kiln_test_write_network(a, dir, &n->of, profile_of(t), "c");
    else
        source_passes(a, t, n);
    if (n->no_library || strcmp(t->name, "clang") == 0)
        return;
    library_passes(a, t, n, "static");
    if (t->emulator == NULL || n == &networks[0])
        library_passes(a, t, n, "shared");
}

static void self_tests_pass(void **state) {
    const network *n = *state;
    int n_run = 0;
    if (n->of.model != NULL && !kiln_file_exists(n->of.model))
        kiln_test_skip("%s is not here", n->of.model);
    for (int i = 0; i < N_TOOLCHAINS; i++) {
        const toolchain *t = &toolchains[i];
        kiln_arena a = {0};
        if (!kiln_test_has_program(&a, t->compiler) ||
            !kiln_test_has_program(&a, t->emulator))
            print_message("left out: '%s' is not here\n", t->name);
        else if (!n->only_gcc || i == 0) {
            passes(&a, t, n);
            n_run++;
        }
        kiln_arena_fini(&a);
    }
    if (n_run == 0)
        kiln_test_skip("none of the compilers is here");
}

int main(void) {
    kiln_test_own_home();
    dir = kiln_test_dir();
    kiln_test_add_rows(check_row, rows);
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++)
        kiln_test_add(networks[i].of.name, self_tests_pass,
                      (void *)(uintptr_t)&networks[i]);
    return kiln_test_run("C source");
}
