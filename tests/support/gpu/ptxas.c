#include "tests/support/gpu/ptxas.h"

#include "base/files/file.h"
#include "base/host/process.h"
#include "tests/support/kiln_test.h"

#include <string.h>

/* NULL: there is none. */
static const char *ptxas(void) {
    static const char *found;
    static bool is_known;
    static const char script[] =
        "command -v ptxas || ls \"${CUDA_HOME:-/nowhere}\"/bin/ptxas 2> /dev/null";
    if (is_known)
        return found;
    const kiln_process_result r = kiln_test_shell(script);
    const size_t n = strcspn(r.out.p, "\n");
    is_known = true;
    found = n > 0 ? kiln_format(kiln_test_arena(), "%.*s", (int)n, r.out.p) : NULL;
    return found;
}

bool ptxas_is_here(void) { return ptxas() != NULL; }

/* What the assembler says with -v; NULL: it does not know that GPU. */
static const char *assembled_for(kiln_arena *a, const char *arch, const char *code) {
    const char *folder = NULL;
    kiln_err err = {0};
    kiln_process_result r;
    kiln_assert_status_ok(kiln_dir_temp(a, &folder, &err), &err);
    const char *file = kiln_format(a, "%s/kernels.ptx", folder);
    kiln_assert_status_ok(kiln_file_write(file, code, strlen(code), &err), &err);
    const char *argv[] = {ptxas(), "-v", "-O3",       "-arch", arch,
                          file,    "-o", "/dev/null", NULL};
    const kiln_process_options o = {.argv = argv,
                                    .time_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_assert_status_ok(kiln_process_run(a, &o, &r, &err), &err);
    if (strstr(r.err.p, "is not defined for option 'gpu-name'") != NULL)
        return NULL;
    if (r.end != KILN_PROCESS_EXITED || r.code != 0)
        fail_msg("ptxas for %s says: %s%s", arch, r.err.p, r.out.p);
    return kiln_format(a, "%s%s", r.err.p, r.out.p);
}

/* "sm_90a", which a text is for alone; NULL: later GPUs run it too. */
static const char *only(kiln_arena *a, const char *code) {
    const char *at = strstr(code, ".target ");
    const size_t n = at != NULL ? strcspn(at += 8, "\n,") : 0;
    return n > 0 && at[n - 1] == 'a' ? kiln_format(a, "%.*s", (int)n, at) : NULL;
}

const char *ptxas_said(kiln_arena *a, const kiln_profile *p, const char *code) {
    static const char *const later[] = {NULL, "sm_75", "sm_80", "sm_90", "sm_100"};
    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++) {
        const char *arch = later[i] != NULL        ? later[i]
                           : only(a, code) != NULL ? only(a, code)
                                                   : p->cpu;
        const char *said = assembled_for(a, arch, code);
        if (said != NULL)
            return said;
    }
    fail_msg("ptxas knows none of the GPUs that run code for %s", p->cpu);
    return NULL;
}
