#include "tests/support/package_folder.h"

#include "runtime/elf.h"
#include "tests/support/kiln_test.h"

#include <string.h>

static void write_file(const char *dir, const char *name, const void *p, size_t n) {
    kiln_err err = {.status = KILN_OK};
    kiln_assert_status_ok(
        kiln_file_write(kiln_path_join(kiln_test_arena(), dir, name), p, n, &err),
        &err);
}

/* A safetensors file of one tensor of bytes; the data is 64-byte aligned. */
static void write_params(const char *dir, const kiln_network *n) {
    enum { LENGTH = 8 };
    kiln_arena *a = kiln_test_arena();
    kiln_buf head;
    kiln_buf_init(&head, a);
    kiln_buf_printf(&head,
                    "{\"all\":{\"dtype\":\"U8\",\"shape\":[%zu],\"data_offsets\":"
                    "[0,%zu]}}",
                    n->param_bytes, n->param_bytes);
    while ((head.n + LENGTH) % KILN_PLAN_ALIGN != 0)
        kiln_buf_puts(&head, " ");
    const size_t data = head.n + LENGTH;
    unsigned char *file = kiln_arena_alloc(a, data + n->param_bytes);
    for (int i = 0; i < LENGTH; i++)
        file[i] = (unsigned char)(head.n >> (8 * i));
    memcpy(file + LENGTH, head.p, head.n);
    if (n->param_bytes > 0)
        memcpy(file + data, n->params, n->param_bytes);
    write_file(dir, "params.safetensors", file, data + n->param_bytes);
}

static void link_library(const char *dir, const kiln_network *n) {
    enum { OPTIONS = 8 };
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_process_result got;
    const char **argv = kiln_array(a, const char *, OPTIONS + n->kernel.n + 1);
    static const char *const options[OPTIONS] = {"ld.lld-19",
                                                 "-shared",
                                                 "--hash-style=both",
                                                 "--no-undefined",
                                                 "-z",
                                                 "max-page-size=65536",
                                                 "-o",
                                                 "lib.so"};
    memcpy(argv, options, sizeof options);
    for (size_t i = 0; i < n->kernel.n; i++) {
        const kiln_network_kernel *k = &n->kernel.v[i];
        argv[OPTIONS + i] = kiln_format(a, "%s.o", k->symbol);
        write_file(dir, argv[OPTIONS + i], k->object.bytes.p, k->object.bytes.n);
    }
    argv[OPTIONS + n->kernel.n] = NULL;
    const kiln_process_options o = {.argv = argv, .dir = dir, .time_limit_ms = 60000};
    kiln_assert_status_ok(kiln_process_run(a, &o, &got, &err), &err);
    if (got.end != KILN_PROCESS_EXITED || got.code != 0)
        fail_msg("ld.lld-19: %s", got.err.p);
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
    enum { N_ARCHS = 2, N_FAULTS = 3, MAX_CODE = 8 };
    static const struct {
        unsigned char b[MAX_CODE];
        size_t n;
    } code[N_ARCHS][N_FAULTS] = {
        [KILN_ARCH_X86_64] = {{{0x0F, 0x0B}, 2},                          /* ud2 */
                              {{0xEB, 0xFE}, 2},                          /* jmp . */
                              {{0xB8, 0x03, 0x00, 0x00, 0x00, 0xC3}, 6}}, /* ret 3 */
        [KILN_ARCH_AARCH64] = {{{0x00, 0x00, 0x00, 0x00}, 4},             /* udf */
                               {{0x00, 0x00, 0x00, 0x14}, 4},             /* b . */
                               {{0x60, 0x00, 0x80, 0x52, 0xC0, 0x03, 0x5F, 0xD6}, 8}}};
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_str file;
    kiln_elf e;
    char text[KILN_LOAD_TEXT] = "";
    kiln_assert_status_ok(
        kiln_file_map(a, kiln_path_join(a, dir, "lib.so"), 0, &file, &err), &err);
    unsigned char *copy = kiln_arena_dup(a, file.p, file.n);
    const int machine = arch == KILN_ARCH_X86_64 ? KILN_ELF_X86_64 : KILN_ELF_AARCH64;
    if (kiln_elf_open(&e, copy, file.n, machine, text) != KILN_LOAD_OK)
        fail_msg("%s", text);
    const int64_t at = kiln_elf_find(&e, "k0");
    assert_true(at >= 0);
    memcpy(copy + in_file(&e, at), code[arch][fault].b, code[arch][fault].n);
    kiln_elf_fini(&e);
    write_file(dir, "lib.so", copy, file.n);
}
