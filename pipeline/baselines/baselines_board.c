/* Libraries whose program is for AArch64: a board runs it as it is; on another machine an
 * emulator does, and its outputs alone count. */
#include "pipeline/baselines/baselines_internal.h"

#include <string.h>

static const char emulator[] = "qemu-aarch64";

const char *kiln_board_emulator(kiln_arena *a) {
    return strcmp(kiln_wheel_machine(a), "aarch64") == 0 ? NULL : emulator;
}

kiln_status kiln_board_find(const kiln_baseline *b, kiln_arena *a, const char *board,
                            const char *compiler, const kiln_program_use *u,
                            kiln_baseline_here *out, kiln_err *err) {
    const char *by = kiln_board_emulator(a);
    char *path;
    if (kiln_program_find(a, board, &path, NULL) != KILN_OK) {
        *out = (kiln_baseline_here){
            .remedy = kiln_format(a,
                                  "kiln was built without %s: 'make deps' gets "
                                  "Debian's %s of arm64 and %s, "
                                  "then build kiln again",
                                  board, b->packages, compiler)};
        return KILN_OK;
    }
    if (by != NULL && kiln_program_in_path(a, by) == NULL) {
        *out = (kiln_baseline_here){
            .remedy = kiln_format(a,
                                  "%s is for AArch64, and %s is not in PATH: install "
                                  "the package qemu-user",
                                  board, by)};
        return KILN_OK;
    }
    KILN_TRY(kiln_program_use_version(a, b, u, out, err));
    out->is_emulated = by != NULL;
    return KILN_OK;
}
