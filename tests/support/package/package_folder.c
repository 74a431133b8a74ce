#include "tests/support/package/package_folder.h"

#include "packager/packager.h"
#include "runtime/elf.h"
#include "tests/support/kiln_test.h"

#include <string.h>

static void write_file(const char *dir, const char *name, const void *p, size_t n) {
    kiln_err err = {.status = KILN_OK};
    kiln_assert_status_ok(
        kiln_file_write(kiln_path_join(kiln_test_arena(), dir, name), p, n, &err),
        &err);
}

static void write_params(const char *dir, const kiln_network *n) {
    kiln_arena *a = kiln_test_arena();
    kiln_package_tensor *tensor = kiln_array(a, kiln_package_tensor, n->param.n);
    for (size_t i = 0; i < n->param.n; i++)
        tensor[i] = (kiln_package_tensor){n->param.v[i].name, n->param.v[i].type,
                                          n->param.v[i].offset};
    const kiln_str head =
        kiln_package_params_head(a, tensor, n->param.n, n->param_bytes);
    char *file = kiln_arena_alloc(a, head.n + n->param_bytes);
    memcpy(file, head.p, head.n);
    if (n->param_bytes > 0)
        memcpy(file + head.n, n->params, n->param_bytes);
    write_file(dir, "params.safetensors", file, head.n + n->param_bytes);
}

static void link_library(const char *dir, const kiln_network *n) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_package_object *object = kiln_array(a, kiln_package_object, n->kernel.n);
    kiln_str lib;
    for (size_t i = 0; i < n->kernel.n; i++)
        object[i] =
            (kiln_package_object){n->kernel.v[i].symbol, n->kernel.v[i].object.bytes};
    kiln_assert_status_ok(
        kiln_package_link(a, n->profile->arch, object, n->kernel.n, &lib, &err), &err);
    write_file(dir, "lib.so", lib.p, lib.n);
}

void package_folder_write(const char *dir, const kiln_network *n) {
    write_file(dir, "plan.bin", n->plan.p, n->plan.n);
    write_params(dir, n);
    link_library(dir, n);
}

/* Where the image's address lies in the file. */
static size_t in_file(const kiln_elf *e, int64_t at) {
    for (int i = 0; i < e->n_loads; i++)
        if ((uint64_t)at >= e->load[i].at &&
            (uint64_t)at - e->load[i].at < e->load[i].file_bytes)
            return (size_t)(e->load[i].offset + ((uint64_t)at - e->load[i].at));
    fail_msg("the kernel is in no segment");
    return 0;
}

void package_folder_break(const char *dir, kiln_arch arch, package_fault fault) {
    enum { N_FAULTS = 4, MAX_CODE = 16 };
    static const struct {
        unsigned char b[MAX_CODE];
        size_t n;
    } code[KILN_N_ARCHS][N_FAULTS] = {
        [KILN_ARCH_X86_64] = {{{0x0F, 0x0B}, 2},                         /* ud2 */
                              {{0xEB, 0xFE}, 2},                         /* jmp . */
                              {{0xB8, 0x03, 0x00, 0x00, 0x00, 0xC3}, 6}, /* ret 3 */
                              {{0xB8, 0x6E, 0x00, 0x00, 0x00, 0x0F, 0x05, 0x31, 0xC0,
                                0xC3},
                               10}},                          /* getppid, ret 0 */
        [KILN_ARCH_AARCH64] = {{{0x00, 0x00, 0x00, 0x00}, 4}, /* udf */
                               {{0x00, 0x00, 0x00, 0x14}, 4}, /* b . */
                               {{0x60, 0x00, 0x80, 0x52, 0xC0, 0x03, 0x5F, 0xD6}, 8},
                               {{0xA8, 0x15, 0x80, 0xD2, 0x01, 0x00, 0x00, 0xD4, 0x00,
                                 0x00, 0x80, 0x52, 0xC0, 0x03, 0x5F, 0xD6},
                                16}},
        [KILN_ARCH_RISCV64] = {{{0x00, 0x00}, 2},             /* c.unimp */
                               {{0x6F, 0x00, 0x00, 0x00}, 4}, /* j . */
                               {{0x13, 0x05, 0x30, 0x00, 0x67, 0x80, 0x00, 0x00}, 8},
                               {{0x93, 0x08, 0xD0, 0x0A, 0x73, 0x00, 0x00, 0x00, 0x13,
                                 0x05, 0x00, 0x00, 0x67, 0x80, 0x00, 0x00},
                                16}}};
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_str file;
    kiln_elf e;
    char text[KILN_LOAD_TEXT] = "";
    kiln_assert_status_ok(
        kiln_file_map(a, kiln_path_join(a, dir, "lib.so"), 0, &file, &err), &err);
    unsigned char *copy = kiln_arena_dup(a, file.p, file.n);
    const int machine = kiln_arch_of(arch)->elf_machine;
    if (kiln_elf_open(&e, copy, file.n, machine, text) != KILN_LOAD_OK)
        fail_msg("%s", text);
    const int64_t at = kiln_elf_find(&e, "k0");
    assert_true(at >= 0);
    memcpy(copy + in_file(&e, at), code[arch][fault].b, code[arch][fault].n);
    kiln_elf_fini(&e);
    write_file(dir, "lib.so", copy, file.n);
}
