/* Linux on other machines by qemu's user-mode emulation: one row of qemu.def each. */
#include "pipeline/devices/devices_internal.h"

typedef struct machine {
    kiln_arch arch;
    int vector_bytes;              /* of its registers */
    const char *emulator, *runner; /* programs */
    const char *cpu, *packages;
} machine;

static bool can_run(const kiln_device *d, kiln_arena *a, const kiln_profile *p,
                    const char **missing) {
    const machine *m = d->user;
    char *path = NULL;
    kiln_err err = {.status = KILN_OK};
    if (p->arch != m->arch) {
        *missing = kiln_format(a, "the profile is not for %s", kiln_arch_name(m->arch));
        return false;
    }
    if (p->vector_bytes > m->vector_bytes) {
        *missing = kiln_format(a, "its vectors have %d bytes, the profile's %d",
                               m->vector_bytes, p->vector_bytes);
        return false;
    }
    if (kiln_program_in_path(a, m->emulator) == NULL) {
        *missing = kiln_format(a, "%s is not in PATH: install the package qemu-user",
                               m->emulator);
        return false;
    }
    if (kiln_program_find(a, m->runner, &path, &err) != KILN_OK) {
        *missing = kiln_format(a, "%s; make needs %s for it", err.text, m->packages);
        return false;
    }
    return true;
}

static kiln_status command(const kiln_device *d, kiln_arena *a, const char **argv,
                           size_t *n, kiln_err *err) {
    const machine *m = d->user;
    char *path = NULL;
    KILN_TRY(kiln_program_find(a, m->runner, &path, err));
    argv[0] = m->emulator;
    argv[1] = "-cpu";
    argv[2] = m->cpu;
    argv[3] = path;
    *n = 4;
    return KILN_OK;
}

#define KILN_QEMU(row, name_, ARCH, word, vector_bytes, cpu, packages)                 \
    static const machine machine_##row = {                                             \
        KILN_ARCH_##ARCH,  vector_bytes, "qemu-" #word,                                \
        "kiln-run-" #word, cpu,          packages};                                    \
    const kiln_device kiln_device_##row = {                                            \
        .name = (name_),                                                               \
        .doc = #word " emulated by qemu-user: right, but slow",                        \
        .user = &machine_##row,                                                        \
        .can_run = can_run,                                                            \
        .command = command,                                                            \
        .own_bytes = (uint64_t)1 << 30, /* translated code, threads' stacks */         \
        .is_emulated = true};
#include "pipeline/devices/qemu.def"
#undef KILN_QEMU
