/* Networks as C source from outside: written, compiled without a warning by each
 * compiler that is here, and their self-tests run: here and, for AArch64, under an
 * emulator. KILN names the program. */
#include "tests/support/cli_run.h"

#include "base/file.h"
#include "base/process.h"

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
     "C source is for one --profile"},
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
     "--format must be package or c, is 'fortran'"},
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

static bool run(kiln_arena *a, const char *const *argv, kiln_process_result *r) {
    kiln_err err = {0};
    const kiln_process_options o = {.argv = argv,
                                    .time_limit_ms = KILN_TEST_PATIENCE_MS};
    return kiln_process_run(a, &o, r, &err) == KILN_OK &&
           r->end == KILN_PROCESS_EXITED && r->code != 127;
}

static bool is_here(kiln_arena *a, const char *program) {
    const char *const argv[] = {program, "--version", NULL};
    kiln_process_result r;
    return program == NULL || run(a, argv, &r);
}

/* ---- networks -------------------------------------------------------------------- */

typedef struct network {
    const char *name;
    const char *text;  /* of a graph; NULL: `model` is a file */
    const char *model; /* file; one that is absent is skipped */
    const char *blob;  /* "blob", or NULL */
    bool only_gcc;     /* one compiler is enough: it takes long */
} network;

/* All that functions of numbers become, integers of eight bits, loops, branches, and
 * values that take one another's place. */
static const char math_text[] =
    "graph \"math\" {\n input %x : f32[5,33]\n"
    " %a = exp(%x)\n %b = tanh(%a)\n %c = sigmoid(%x)\n %d = mul(%b, %c)\n"
    " %e = erf(%d)\n %f = sin(%x)\n %g = add(%e, %f)\n %h = abs(%g)\n"
    " %i = sqrt(%h)\n %j = pow(%i, %h)\n %k = softmax(%j) {axis=1}\n"
    " output %k\n}\n";

static const network networks[] = {
    {"samplenet", NULL, MODEL, NULL, false},
    {"samplenet_blob", NULL, MODEL, "blob", true},
    {"math", math_text, NULL, NULL, false},
    {"blazeface", NULL,
     "../shared/models/files/blazeface_front_onnx/"
     "face_detection_front_128x128_barracuda.onnx",
     NULL, true},
    {"qlinear_conv", NULL, "../shared/onnx-node-tests/node/test_qlinearconv/model.onnx",
     NULL, false},
};

static const char *written(kiln_arena *a, const network *n, const char *profile) {
    const char *to = kiln_format(a, "@%s-%s", n->name, profile);
    const char *model = n->model;
    kiln_err err = {0};
    if (n->text != NULL) {
        model = kiln_format(a, "%s/%s.kgraph", dir, n->name);
        kiln_assert_status_ok(kiln_file_write(model, n->text, strlen(n->text), &err),
                              &err);
    }
    const kiln_test_cli_row row = {n->name,
                                   {"build", model, "--profile", profile, "--format",
                                    "c", "--name", "net", "-o", to, "--params",
                                    n->blob != NULL ? n->blob : "c"},
                                   0,
                                   "net_selftest.c",
                                   NULL};
    kiln_test_cli_check(a, dir, &row);
    return kiln_format(a, "%s/%s", dir, to + 1);
}

static void compile(kiln_arena *a, const toolchain *t, const network *n,
                    const char *folder, const char *program) {
    kiln_process_result r = {0};
    const bool is_blob = n->blob != NULL;
    const char *params =
        kiln_format(a, "%s/net_params.%s", folder, is_blob ? "S" : "c");
    const char *include = kiln_format(a, "-Wa,-I%s", folder);
    const char *argv[20] = {t->compiler,
                            "-std=c99",
                            "-O1",
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
    assert_true(run(a, argv, &r));
    if (r.code != 0)
        fail_msg("%s refuses '%s': %.*s", t->name, n->name,
                 r.err.n < 3000 ? (int)r.err.n : 3000, r.err.p);
}

static void selftest_passes(kiln_arena *a, const toolchain *t, const network *n) {
    const char *folder = written(a, n, t->emulator != NULL ? "aarch64" : "x86-avx2");
    const char *program = kiln_format(a, "%s/%s", folder, t->name);
    const char *const here[] = {program, NULL};
    const char *const there[] = {t->emulator, program, NULL};
    kiln_process_result r = {0};
    compile(a, t, n, folder, program);
    assert_true(run(a, t->emulator != NULL ? there : here, &r));
    print_message("%s, %s: %.*s", n->name, t->name, (int)r.out.n, r.out.p);
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out.p, " 0 wrong"));
}

static void self_tests_pass(void **state) {
    const network *n = *state;
    int n_run = 0;
    if (n->model != NULL && !kiln_file_exists(n->model))
        kiln_test_skip("%s is not here", n->model);
    for (int i = 0; i < N_TOOLCHAINS; i++) {
        const toolchain *t = &toolchains[i];
        kiln_arena a = {0};
        if (!is_here(&a, t->compiler) || !is_here(&a, t->emulator))
            print_message("left out: '%s' is not here\n", t->name);
        else if (!n->only_gcc || i == 0) {
            selftest_passes(&a, t, n);
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
        kiln_test_add(networks[i].name, self_tests_pass,
                      (void *)(uintptr_t)&networks[i]);
    return kiln_test_run("C source");
}
