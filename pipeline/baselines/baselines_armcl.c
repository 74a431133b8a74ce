/* The Arm Compute Library, by kiln-armcl, which starts the program that has it
 * (library/library_armcl.c): for AArch64, so that on another machine an emulator runs it and its
 * outputs alone count. */
#include "pipeline/baselines/baselines_internal.h"

#include <string.h>

static const char board[] = "kiln-armcl-aarch64", emulator[] = "qemu-aarch64";

static kiln_status use_of(kiln_arena *a, kiln_program_use *out, kiln_err *err) {
    char *path;
    KILN_TRY(kiln_program_find(a, board, &path, err));
    *out = (kiln_program_use){.program = "kiln-armcl", .library = path};
    return KILN_OK;
}

static kiln_status find(const kiln_baseline *b, kiln_arena *a, const char *dir,
                        kiln_baseline_here *out, kiln_err *err) {
    const bool is_native = strcmp(kiln_wheel_machine(a), "aarch64") == 0;
    kiln_program_use u;
    (void)dir;
    if (use_of(a, &u, NULL) != KILN_OK) {
        *out = (kiln_baseline_here){
            .remedy = kiln_format(a,
                                  "kiln was built without %s: 'make deps' gets "
                                  "Debian's %s of arm64 and g++-aarch64-linux-gnu, "
                                  "then build kiln again",
                                  board, b->packages)};
        return KILN_OK;
    }
    if (!is_native && kiln_program_in_path(a, emulator) == NULL) {
        *out = (kiln_baseline_here){
            .remedy = kiln_format(a,
                                  "%s is for AArch64, and %s is not in PATH: install "
                                  "the package qemu-user",
                                  board, emulator)};
        return KILN_OK;
    }
    KILN_TRY(kiln_program_use_version(a, b, &u, out, err));
    out->is_emulated = !is_native;
    return KILN_OK;
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
