/* AArch64 Linux by qemu's user-mode emulation, on a machine of another kind. Its CPU
 * `max` has all that the shipped profiles ask for. */
#include "pipeline/devices/devices_internal.h"

static const char emulator[] = "qemu-aarch64", runner[] = "kiln-run-aarch64";

static bool can_run(kiln_arena *a, const kiln_profile *p, const char **missing) {
    char *path = NULL;
    kiln_err err = {.status = KILN_OK};
    if (p->arch != KILN_ARCH_AARCH64) {
        *missing = "the profile is not for aarch64";
        return false;
    }
    if (!kiln_device_in_path(a, emulator)) {
        *missing = "qemu-aarch64 is not in PATH: install the package qemu-user";
        return false;
    }
    if (kiln_program_find(a, runner, &path, &err) != KILN_OK) {
        *missing = kiln_format(
            a, "%s; make needs gcc-aarch64-linux-gnu and libc6-dev-arm64-cross for it",
            err.text);
        return false;
    }
    return true;
}

static kiln_status command(kiln_arena *a, const char **argv, size_t *n, kiln_err *err) {
    char *path = NULL;
    KILN_TRY(kiln_program_find(a, runner, &path, err));
    argv[0] = emulator;
    argv[1] = "-cpu";
    argv[2] = "max";
    argv[3] = path;
    *n = 4;
    return KILN_OK;
}

const kiln_device kiln_device_qemu_aarch64 = {
    .name = "qemu-aarch64",
    .doc = "AArch64 emulated by qemu-user: right, but slow",
    .can_run = can_run,
    .command = command,
    .own_bytes = (uint64_t)1 << 30, /* translated code, threads' stacks */
    .is_emulated = true,
};
