/* The Arm Compute Library, by kiln-armcl, which starts the program that has it
 * (library/library_armcl.c): for AArch64, so that on another machine an emulator runs it and its
 * outputs alone count. */
#include "pipeline/baselines/baselines_internal.h"

static const char board[] = "kiln-armcl-aarch64";

static kiln_status use_of(kiln_arena *a, kiln_program_use *out, kiln_err *err) {
    char *path;
    KILN_TRY(kiln_program_find(a, board, &path, err));
    *out = (kiln_program_use){.program = "kiln-armcl", .library = path};
    return KILN_OK;
}

static kiln_status find(const kiln_baseline *b, kiln_arena *a, const char *dir,
                        kiln_baseline_here *out, kiln_err *err) {
    kiln_program_use u = {.program = "kiln-armcl"};
    (void)dir;
    (void)use_of(a, &u, NULL); /* it is asked for, if its file is there */
    return kiln_board_find(b, a, board, "g++-aarch64-linux-gnu", &u, out, err);
}

static kiln_status open_op(const kiln_baseline *b, kiln_arena *a,
                           const kiln_baseline_op_job *job, kiln_baseline_session *out,
                           kiln_err *err) {
    kiln_program_use u;
    KILN_TRY(use_of(a, &u, err));
    return kiln_program_use_open(a, b, &u, job, out, err);
}

const kiln_baseline kiln_baseline_armcl = {
    .name = "armcl",
    .doc = "Arm Compute Library, convolutions and products by NEON",
    .packages = "libarm-compute-dev",
    .find = find,
    .open_op = open_op,
    .run = kiln_asked_run,
};
