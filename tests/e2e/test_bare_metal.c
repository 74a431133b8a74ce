/* Networks as C source on machines without an operating system, under qemu-system: what
 * they compute is the reference's, the workspace is used to its last byte and no
 * further, and nothing is asked of libc but string.h. tests/tools/bare_metal has what a
 * board would bring. */
#include "tests/support/program/c_source.h"

#include "base/files/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HERE "tests/tools/bare_metal/"
#define MODELS "../shared/models/files/"

enum { MAX_STACK = 4096 }; /* with what the harness has on it */

static const char include[] = "-I" HERE, harness[] = HERE "bare_main.c",
                  string_functions[] = HERE "bare_string.c";
static const char *dir;

typedef struct machine {
    const char *profile;
    const char *compiler, *nm, *emulator;
    const char *flag[6]; /* of the compiler */
    const char *start, *script;
    const char *board[5]; /* the emulator's */
} machine;

static const machine cortex_m3 = {
    "riscv64",
    "arm-none-eabi-gcc",
    "arm-none-eabi-nm",
    "qemu-system-arm",
    {"-mcpu=cortex-m3", "-mthumb"},
    HERE "start_cortex_m.S",
    HERE "cortex_m.ld",
    {"-M", "mps2-an385"},
};
static const machine cortex_m4 = {
    "riscv64",
    "arm-none-eabi-gcc",
    "arm-none-eabi-nm",
    "qemu-system-arm",
    {"-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"},
    HERE "start_cortex_m.S",
    HERE "cortex_m.ld",
    {"-M", "mps2-an386"},
};
static const machine cortex_m7 = {
    "riscv64",
    "arm-none-eabi-gcc",
    "arm-none-eabi-nm",
    "qemu-system-arm",
    {"-mcpu=cortex-m7", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv5-d16"},
    HERE "start_cortex_m.S",
    HERE "cortex_m.ld",
    {"-M", "mps2-an500"},
};
static const machine cortex_a53 = {
    "aarch64",
    "aarch64-linux-gnu-gcc",
    "aarch64-linux-gnu-nm",
    "qemu-system-aarch64",
    {"-mcpu=cortex-a53", "-static", "-no-pie", "-fno-pie", "-fno-stack-protector"},
    HERE "start_aarch64.S",
    HERE "aarch64.ld",
    {"-M", "virt", "-cpu", "cortex-a53"},
};

typedef struct row {
    const char *name;
    const machine *on;
    const char *model;
    bool is_long; /* left to make soak */
} row;

#define MICRO_SPEECH MODELS "micro_speech_int8_tflite/micro_speech_quantized.tflite"
#define KEYWORD MODELS "keyword_svdf_tflite/keyword_scrambled.tflite"
#define MOBILENET                                                                      \
    MODELS "mobilenet_v1_025_quant_tflite/mobilenet_v1_0.25_128_quant.tflite"

static const row rows[] = {
    {"samplenet_cortex_m4", &cortex_m4, "demo/samplenet/samplenet.onnx", false},
    {"micro_speech_int8_cortex_m3", &cortex_m3, MICRO_SPEECH, false},
    {"micro_speech_int8_cortex_m7", &cortex_m7, MICRO_SPEECH, false},
    {"keyword_cortex_m4", &cortex_m4, KEYWORD, false},
    {"keyword_cortex_a53", &cortex_a53, KEYWORD, false},
    {"mobilenet_int8_cortex_m4", &cortex_m4, MOBILENET, true},
    {"mobilenet_int8_cortex_a53", &cortex_a53, MOBILENET, true},
};

/* Of an enumerator of the header. */
static size_t number_of(kiln_arena *a, const char *folder, const char *name) {
    kiln_err err = {0};
    kiln_str text;
    kiln_assert_status_ok(
        kiln_file_map(a, kiln_format(a, "%s/net.h", folder), 0, &text, &err), &err);
    const char *at = strstr(kiln_str_dupv(a, text), kiln_format(a, "%s = ", name));
    assert_non_null(at);
    return (size_t)strtoull(at + strlen(name) + 3, NULL, 10);
}

typedef struct command {
    const char *arg[40];
    int n;
} command;

static void add(command *c, const char *const *arg, int most) {
    for (int i = 0; i < most && arg[i] != NULL; i++)
        c->arg[c->n++] = arg[i];
}
#define ADD(c, ...)                                                                    \
    add(c, (const char *const[]){__VA_ARGS__, NULL},                                   \
        (int)(sizeof(const char *const[]){__VA_ARGS__, NULL} / sizeof(char *)))

static command compiler(const machine *m) {
    command c = {{NULL}, 0};
    ADD(&c, m->compiler, "-std=c99", "-O1", "-ffreestanding",
        "-fno-asynchronous-unwind-tables", include, "-I.");
    add(&c, m->flag, 6);
    return c;
}

static void compile_all(kiln_arena *a, const machine *m, const char *folder,
                        size_t workspace) {
    const char *net = kiln_format(a, "%s/net.o", folder);
    const char *selftest = kiln_format(a, "%s/selftest.o", folder);
    command c = compiler(m);
    ADD(&c, "-Wall", "-Wextra", "-Wconversion", "-Werror", "-c",
        kiln_format(a, "%s/net.c", folder), "-o", net);
    kiln_test_compile(a, c.arg);
    c = compiler(m); /* its workspace is to be seen */
    ADD(&c, "-Dmain=selftest", "-Dstatic=", "-c",
        kiln_format(a, "%s/net_selftest.c", folder), "-o", selftest);
    kiln_test_compile(a, c.arg);
    c = compiler(m); /* what copies must not become a call of itself */
    ADD(&c, "-fno-tree-loop-distribute-patterns", "-nostdlib", "-Wl,--build-id=none",
        kiln_format(a, "-DWORKSPACE_BYTES=%zu", workspace), "-T", m->script, m->start,
        harness, string_functions, net, selftest,
        kiln_format(a, "%s/net_params.c", folder), "-lgcc", "-o",
        kiln_format(a, "%s/net.elf", folder));
    kiln_test_compile(a, c.arg);
}

/* Undefined in the network: what string.h has, its parameters, and arithmetic that the
 * compiler has no instructions for. */
static void asks_for_nothing_else(kiln_arena *a, const machine *m, const char *folder) {
    static const char *const known[] = {"U memcpy", "U memset", "U net_params",
                                        "U __aeabi_"};
    const char *const argv[] = {m->nm, "-u", kiln_format(a, "%s/net.o", folder), NULL};
    kiln_process_result r = {0};
    kiln_str line;
    assert_true(kiln_test_program(a, argv, &r));
    while (kiln_str_cut(&r.out, '\n', &line)) {
        const kiln_str name = kiln_str_trim(line);
        bool is_known = name.n == 0;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            is_known = is_known || kiln_str_starts(name, known[i]);
        if (!is_known)
            fail_msg("net.o asks for '%.*s'", KILN_STR_ARG(name));
    }
}

static void run_it(kiln_arena *a, const machine *m, const char *folder,
                   size_t workspace) {
    size_t used = 0, stack = 0, wrong = 1;
    command c = {{NULL}, 0};
    kiln_process_result r = {0};
    ADD(&c, m->emulator);
    add(&c, m->board, 5);
    ADD(&c, "-nodefaults", "-display", "none", "-monitor", "none", "-serial", "none",
        "-semihosting-config", "enable=on,target=native", "-kernel",
        kiln_format(a, "%s/net.elf", folder));
    assert_true(kiln_test_program(a, c.arg, &r));
    const char *said = strstr(r.err.p, "workspace "); /* there the emulator writes */
    assert_non_null(said);
    print_message("%s", said);
    assert_int_equal(
        sscanf(said, "workspace %zu, stack %zu, wrong %zu", &used, &stack, &wrong), 3);
    assert_int_equal(r.code, 0);
    assert_int_equal(wrong, 0);
    assert_int_equal(used, workspace);
    assert_true(stack <= MAX_STACK);
}

static void runs_bare(void **state) {
    const row *r = *state;
    const machine *m = r->on;
    kiln_arena *a = kiln_test_arena();
    const kiln_test_network n = {r->name, NULL, r->model, {NULL}};
    if (strncmp(r->model, "../", 3) == 0 && !kiln_file_exists(r->model))
        kiln_test_skip("%s is not here", r->model);
    if (!kiln_test_has_program(a, m->compiler) ||
        !kiln_test_has_program(a, m->emulator))
        kiln_test_skip("'%s' and '%s' are not both here", m->compiler, m->emulator);
    if (r->is_long && getenv("KILN_SOAK") == NULL)
        kiln_test_skip("a compiler takes long for it: KILN_SOAK=1");
    const char *folder = kiln_test_write_network(a, dir, &n, m->profile, "c");
    const size_t workspace = number_of(a, folder, "NET_WORKSPACE_BYTES");
    compile_all(a, m, folder, workspace);
    asks_for_nothing_else(a, m, folder);
    run_it(a, m, folder, workspace);
}

int main(void) {
    kiln_test_own_home();
    dir = kiln_test_dir();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        kiln_test_add(rows[i].name, runs_bare, (void *)(uintptr_t)&rows[i]);
    return kiln_test_run("bare metal");
}
