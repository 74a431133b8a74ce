/* XNNPACK as boards have it: Debian's of arm64, by kiln-xnnpack-aarch64, which is
 * kiln-xnnpack of that machine (library/library_xnnpack.c). */
#include "pipeline/baselines/baselines_internal.h"

static const char board[] = "kiln-xnnpack-aarch64";

static kiln_program_use use_of(kiln_arena *a) {
    return (kiln_program_use){.program = board, .emulator = kiln_board_emulator(a)};
}

static kiln_status find(const kiln_baseline *b, kiln_arena *a, const char *dir,
                        kiln_baseline_here *out, kiln_err *err) {
    const kiln_program_use u = use_of(a);
    (void)dir;
    return kiln_board_find(b, a, board, "gcc-aarch64-linux-gnu", &u, out, err);
}

static kiln_status open_op(const kiln_baseline *b, kiln_arena *a,
                           const kiln_baseline_op_job *job, kiln_baseline_session *out,
                           kiln_err *err) {
    const kiln_program_use u = use_of(a);
    return kiln_program_use_open(a, b, &u, job, out, err);
}

const kiln_baseline kiln_baseline_xnnpack_arm = {
    .name = "xnnpack_arm",
    .doc = "XNNPACK for AArch64, single operators; emulated on another machine",
    .packages = "libxnnpack-dev",
    .find = find,
    .open_op = open_op,
    .run = kiln_asked_run,
};
