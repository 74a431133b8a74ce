/* lib.so: kernels' objects in one shared library, by ld.lld-19.
 *
 * The linker runs in a private folder on relative names, so that no path can reach the
 * library; objects come in the order given, there is no build id, and a version script
 * names the only symbols that are exported.
 */
#include "packager/packager_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { LINK_SECONDS = 600 };
#define LINKER "ld.lld-19"

/* Nothing here outlives the call: no waiting for the disk, as kiln_file_write would. */
static kiln_status write_file(kiln_arena *a, const char *dir, const char *name,
                              kiln_str bytes, kiln_err *err) {
    const char *path = kiln_path_join(a, dir, name);
    FILE *f = fopen(path, "wbx");
    bool ok = f != NULL && fwrite(bytes.p, 1, bytes.n, f) == bytes.n;
    if (f != NULL)
        ok = fclose(f) == 0 && ok;
    return ok ? KILN_OK
              : kiln_fail(err, KILN_ERR_IO, "cannot write '%s': %s", path,
                          strerror(errno));
}

/* Objects 0.o, 1.o, ...; their list in order; the exported symbols. */
static kiln_status write_inputs(kiln_arena *a, const char *dir,
                                const kiln_package_object *object, size_t n,
                                kiln_err *err) {
    kiln_buf list, script;
    kiln_buf_init(&list, a);
    kiln_buf_init(&script, a);
    kiln_buf_puts(&script, n > 0 ? "{\n  global:\n" : "{\n");
    for (size_t i = 0; i < n; i++) {
        const char *name = kiln_format(a, "%zu.o", i);
        KILN_TRY(write_file(a, dir, name, object[i].bytes, err));
        kiln_buf_printf(&list, "%s\n", name);
        if (object[i].symbol != NULL)
            kiln_buf_printf(&script, "    %s;\n", object[i].symbol);
    }
    kiln_buf_puts(&script, "  local: *;\n};\n");
    if (n == 0) { /* a network of copies: the linker still wants a file, ar without
                     members */
        kiln_buf_puts(&list, "none.a\n");
        KILN_TRY(write_file(a, dir, "none.a", KILN_STR_LIT("!<arch>\n"), err));
    }
    KILN_TRY(write_file(a, dir, "objects", kiln_buf_str(&list), err));
    return write_file(a, dir, "exports", kiln_buf_str(&script), err);
}

static kiln_status run(kiln_arena *a, const char *const *argv, const char *dir,
                       kiln_process_result *r, kiln_err *err) {
    static const char *const env[] = {"LC_ALL=C", NULL};
    const kiln_process_options o = {.argv = argv,
                                    .dir = dir,
                                    .env = env,
                                    .time_limit_ms = (int64_t)LINK_SECONDS * 1000};
    kiln_err why = {.status = KILN_OK};
    if (kiln_process_run(a, &o, r, &why) != KILN_OK) {
        KILN_TRY(kiln_interrupt_check(err));
        return kiln_fail(err, KILN_ERR_LIB,
                         "%s; kiln links with '" LINKER "': install the Debian package "
                         "lld-19 and have it in PATH",
                         why.text);
    }
    if (r->end == KILN_PROCESS_EXITED && r->code == 0)
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_LIB, "'" LINKER "' ended with %s %d: %s",
                     r->end == KILN_PROCESS_EXITED ? "code" : "signal", r->code,
                     kiln_str_printable(a, kiln_str_trim(r->err), 400));
}

/* "Debian LLD 19.1.7 (compatible with GNU linkers)" */
kiln_status kiln_package_linker(kiln_arena *a, const char **version, kiln_err *err) {
    static const char *const argv[] = {LINKER, "--version", NULL};
    kiln_process_result r;
    kiln_str line;
    KILN_TRY(run(a, argv, NULL, &r, err));
    kiln_str_cut(&r.out, '(', &line);
    *version = kiln_str_printable(a, kiln_str_trim(line), 64);
    return KILN_OK;
}

/* soname: NULL, none: nobody links against a package's library. */
static kiln_status run_linker(kiln_arena *a, const char *dir, kiln_arch arch,
                              const char *soname, kiln_err *err) {
    const char *const argv[] = {LINKER,
                                "-m",
                                kiln_arch_of(arch)->linker_emulation,
                                "-shared",
                                "--build-id=none",
                                "--hash-style=both",
                                "--no-undefined",
                                "--version-script=exports",
                                "--strip-all",
                                "--threads=1",
                                "-z",
                                "noexecstack",
                                "-z",
                                "max-page-size=65536",
                                "-z",
                                "text",
                                "-z", /* as on every machine but some, such as Arm */
                                "rela",
                                "-o",
                                "lib.so",
                                "@objects",
                                soname != NULL ? "-soname" : NULL,
                                soname,
                                NULL};
    kiln_process_result r;
    return run(a, argv, dir, &r, err);
}

static kiln_status link_in(kiln_arena *scratch, kiln_arch arch, const char *soname,
                           const kiln_package_object *object, size_t n, kiln_str *lib,
                           kiln_err *err) {
    const char *dir = NULL;
    KILN_TRY(kiln_dir_temp(scratch, &dir, err)); /* goes with the arena */
    KILN_TRY(write_inputs(scratch, dir, object, n, err));
    KILN_TRY(run_linker(scratch, dir, arch, soname, err));
    return kiln_file_map(scratch, kiln_path_join(scratch, dir, "lib.so"), 0, lib, err);
}

kiln_status kiln_package_link(kiln_arena *a, kiln_arch arch,
                              const kiln_package_object *object, size_t n,
                              kiln_str *out, kiln_err *err) {
    return kiln_package_link_as(a, arch, NULL, object, n, out, err);
}

kiln_status kiln_package_link_as(kiln_arena *a, kiln_arch arch, const char *soname,
                                 const kiln_package_object *object, size_t n,
                                 kiln_str *out, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_str lib;
    const kiln_status st = link_in(&scratch, arch, soname, object, n, &lib, err);
    if (st == KILN_OK)
        *out = (kiln_str){kiln_arena_dup(a, lib.p, lib.n), lib.n};
    else
        kiln_note(err, "linking %zu kernel%s", n, kiln_plural((int64_t)n));
    kiln_arena_fini(&scratch);
    return st;
}
