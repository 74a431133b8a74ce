/* Small networks built for machines that an emulator stands for and verified there, at
 * one thread and two, in both kinds of numerics: the zoo's by their self-test, trained
 * ones by golden outputs too; larger ones with KILN_SOAK=1. What verifying says is kiln's
 * own rule; here it is that all was asked and passed. test_packages.c has all small ones
 * for AArch64, both ways. */
#include "pipeline/devices/devices.h"
#include "tests/support/program/cli_run.h"

#include <stdlib.h>
#include <string.h>

#define MODELS "../shared/models/files/"
#define GOLDEN "../shared/models/golden/"

typedef struct row {
    const char *name, *profile, *model, *golden, *numerics;
    const char *more[8]; /* arguments of build */
    const char *passed;
} row;

static row rows[] = {
    {"samplenet_packed_at_open_aarch64",
     "aarch64",
     "demo/samplenet/samplenet.onnx",
     "demo/samplenet/golden",
     "fast",
     {"--pack", "open"},
     "7 passed, 0 failed"},
    {"recurrent_with_branches_aarch64",
     "aarch64",
     MODELS "silero_vad_legacy_onnx/silero_vad_legacy.onnx",
     NULL,
     "fast",
     {"--shape", "input:1x512", "--shape", "h:2x1x64", "--shape", "c:2x1x64", "--bind",
      "sr=16000"},
     "3 passed, 0 failed"},
    {"dqn_riscv64", "riscv64", "zoo:dqn", NULL, "fast", {NULL}, "3 passed, 0 failed"},
    {"dqn_strict_riscv64",
     "riscv64",
     "zoo:dqn",
     NULL,
     "strict",
     {NULL},
     "3 passed, 0 failed"},
    {"samplenet_riscv64",
     "riscv64",
     "demo/samplenet/samplenet.onnx",
     "demo/samplenet/golden",
     "fast",
     {NULL},
     "7 passed, 0 failed"},
    {"samplenet_riscv64_v128",
     "riscv64-v128",
     "demo/samplenet/samplenet.onnx",
     "demo/samplenet/golden",
     "fast",
     {NULL},
     "7 passed, 0 failed"},
    {"samplenet_strict_riscv64_v256",
     "riscv64-v256",
     "demo/samplenet/samplenet.onnx",
     "demo/samplenet/golden",
     "strict",
     {NULL},
     "7 passed, 0 failed"},
    {"dqn_strict_riscv64_v512",
     "riscv64-v512",
     "zoo:dqn",
     NULL,
     "strict",
     {NULL},
     "3 passed, 0 failed"},
    {"samplenet_riscv64_v512",
     "riscv64-v512",
     "demo/samplenet/samplenet.onnx",
     "demo/samplenet/golden",
     "fast",
     {NULL},
     "7 passed, 0 failed"},
    {"recurrent_with_branches_riscv64_v128",
     "riscv64-v128",
     MODELS "silero_vad_legacy_onnx/silero_vad_legacy.onnx",
     NULL,
     "fast",
     {"--shape", "input:1x512", "--shape", "h:2x1x64", "--shape", "c:2x1x64", "--bind",
      "sr=16000"},
     "3 passed, 0 failed"},
    {"samplenet_cortex_a53",
     "cortex-a53",
     "demo/samplenet/samplenet.onnx",
     "demo/samplenet/golden",
     "fast",
     {NULL},
     "7 passed, 0 failed"},
    {"samplenet_neoverse_v1",
     "neoverse-v1",
     "demo/samplenet/samplenet.onnx",
     "demo/samplenet/golden",
     "fast",
     {NULL},
     "7 passed, 0 failed"},
    {"samplenet_neoverse_v1_sve",
     "neoverse-v1-sve",
     "demo/samplenet/samplenet.onnx",
     "demo/samplenet/golden",
     "fast",
     {NULL},
     "7 passed, 0 failed"},
    {"samplenet_x86_64_v2",
     "x86-64-v2",
     "demo/samplenet/samplenet.onnx",
     "demo/samplenet/golden",
     "fast",
     {NULL},
     "7 passed, 0 failed"},
    {"samplenet_x86_64_v3",
     "x86-64-v3",
     "demo/samplenet/samplenet.onnx",
     "demo/samplenet/golden",
     "strict",
     {NULL},
     "7 passed, 0 failed"},
    {"samplenet_x86_64_v4",
     "x86-64-v4",
     "demo/samplenet/samplenet.onnx",
     "demo/samplenet/golden",
     "strict",
     {NULL},
     "7 passed, 0 failed"},
    {"samplenet_znver4",
     "znver4",
     "demo/samplenet/samplenet.onnx",
     "demo/samplenet/golden",
     "fast",
     {NULL},
     "7 passed, 0 failed"},
    {"samplenet_sapphirerapids",
     "sapphirerapids",
     "demo/samplenet/samplenet.onnx",
     "demo/samplenet/golden",
     "fast",
     {NULL},
     "7 passed, 0 failed"},
    {"dqn_strict_armv7",
     "armv7-neon",
     "zoo:dqn",
     NULL,
     "strict",
     {NULL},
     "3 passed, 0 failed"},
    {"samplenet_armv7",
     "armv7-neon",
     "demo/samplenet/samplenet.onnx",
     "demo/samplenet/golden",
     "fast",
     {NULL},
     "7 passed, 0 failed"},
    {"lstm_lm_step_armv7",
     "armv7-neon",
     "zoo:lstm_lm_step",
     NULL,
     "fast",
     {NULL},
     "3 passed, 0 failed"},
};

/* Each a network in which another one above, for the same architecture or with the same
 * vectors, shows the same in less time; the largest take minutes in an emulator. */
static row long_rows[] = {
    {"blazeface_riscv64_v256",
     "riscv64-v256",
     MODELS "blazeface_front_onnx/face_detection_front_128x128_barracuda.onnx",
     GOLDEN "blazeface_front_onnx",
     "fast",
     {NULL},
     "7 passed, 0 failed"},
    {"samplenet_cortex_a72",
     "cortex-a72",
     "demo/samplenet/samplenet.onnx",
     "demo/samplenet/golden",
     "fast",
     {NULL},
     "7 passed, 0 failed"},
    {"samplenet_cortex_a76",
     "cortex-a76",
     "demo/samplenet/samplenet.onnx",
     "demo/samplenet/golden",
     "fast",
     {NULL},
     "7 passed, 0 failed"},
    {"samplenet_neoverse_n1",
     "neoverse-n1",
     "demo/samplenet/samplenet.onnx",
     "demo/samplenet/golden",
     "fast",
     {NULL},
     "7 passed, 0 failed"},
    {"dqn_strict_aarch64_sve256",
     "aarch64-sve256",
     "zoo:dqn",
     NULL,
     "strict",
     {NULL},
     "3 passed, 0 failed"},
    {"recurrent_with_branches_aarch64_sve256",
     "aarch64-sve256",
     MODELS "silero_vad_legacy_onnx/silero_vad_legacy.onnx",
     NULL,
     "fast",
     {"--shape", "input:1x512", "--shape", "h:2x1x64", "--shape", "c:2x1x64", "--bind",
      "sr=16000"},
     "3 passed, 0 failed"},
    {"mobilenet_v1_neoverse_v1_sve",
     "neoverse-v1-sve",
     "zoo:mobilenet_v1",
     NULL,
     "fast",
     {NULL},
     "3 passed, 0 failed"},
    {"blazeface_armv7",
     "armv7-neon",
     MODELS "blazeface_front_onnx/face_detection_front_128x128_barracuda.onnx",
     GOLDEN "blazeface_front_onnx",
     "fast",
     {NULL},
     "7 passed, 0 failed"},
    {"resnet18_riscv64_v256",
     "riscv64-v256",
     "zoo:resnet18",
     NULL,
     "fast",
     {NULL},
     "3 passed, 0 failed"},
    {"mobilenet_v1_riscv64_v128",
     "riscv64-v128",
     "zoo:mobilenet_v1",
     NULL,
     "fast",
     {NULL},
     "3 passed, 0 failed"},
};

static void skip_without_emulator(const char *profile) {
    kiln_profile p;
    const kiln_device *d = NULL;
    kiln_err err = {.status = KILN_OK};
    kiln_assert_status_ok(kiln_profile_find(kiln_test_arena(), profile, &p, &err),
                          &err);
    if (kiln_device_find_for(kiln_test_arena(), NULL, &p, &d, &err) != KILN_OK)
        kiln_test_skip("%s", err.text);
}

static void builds_and_verifies(void **state) {
    const row *r = *state;
    kiln_arena *a = kiln_test_arena();
    const char *dir = kiln_test_dir();
    if (strncmp(r->model, "../", 3) == 0)
        (void)kiln_test_shared("models");
    skip_without_emulator(r->profile);
    kiln_test_cli_row build = {.name = r->name,
                               .arg = {"build", r->model, "--profile", r->profile,
                                       "--numerics", r->numerics, "-o", "@package"}};
    memcpy(build.arg + 8, r->more, sizeof r->more);
    kiln_test_cli_check(a, dir, &build);
    kiln_test_cli_row verify = {
        .name = r->name,
        .arg = {"verify", "@package", r->golden != NULL ? "--golden" : NULL, r->golden},
        .out = r->passed};
    const kiln_process_result got = kiln_test_cli_check(a, dir, &verify);
    print_message("%s", got.out.p);
}

static void only_in_soak(void **state) {
    if (getenv("KILN_SOAK") == NULL)
        kiln_test_skip("it is left to KILN_SOAK=1");
    builds_and_verifies(state);
}

/* Whole networks of three kinds on each kind of board. */
static const char *const networks[] = {"resnet18", "mobilenet_v1", "lstm_lm"};
static const char *const boards[] = {"cortex-a53", "neoverse-n1", "neoverse-v1-sve",
                                     "armv7-neon", "riscv64-v128"};
enum {
    N_NETWORKS = sizeof networks / sizeof networks[0],
    N_BOARDS = sizeof boards / sizeof boards[0]
};
static row whole[N_NETWORKS * N_BOARDS];

static void add_whole(void) {
    for (int i = 0; i < N_NETWORKS * N_BOARDS; i++) {
        const char *network = networks[i / N_BOARDS], *board = boards[i % N_BOARDS];
        whole[i] = (row){
            .name = kiln_format(kiln_test_arena(), "whole_%s_%s", network, board),
            .profile = board,
            .model = kiln_format(kiln_test_arena(), "zoo:%s", network),
            .numerics = "fast",
            .passed = "3 passed, 0 failed",
        };
        kiln_test_add(whole[i].name, only_in_soak, &whole[i]);
    }
}

int main(void) {
    kiln_test_own_home();
    kiln_test_add_rows(builds_and_verifies, rows);
    kiln_test_add_rows(only_in_soak, long_rows);
    add_whole();
    return kiln_test_run("emulated");
}
