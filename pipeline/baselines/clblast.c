/* CLBlast, OpenCL's matrix products, by its C interface in kiln-clblast
 * (library/clblast_linux.c), on the device that kiln's OpenCL kernels run on. The program opens
 * the library when it starts: KILN_CLBLAST names its file where that is not where the
 * loader looks. */
#include "pipeline/baselines/baselines_internal.h"

#include <stdlib.h>

static kiln_program_use use_of(bool *is_named) {
    const char *named = getenv("KILN_CLBLAST");
    *is_named = named != NULL && named[0] != '\0';
    return (kiln_program_use){.program = "kiln-clblast",
                              .library = *is_named ? named : "libclblast.so.1"};
}

static kiln_status find(const kiln_baseline *b, kiln_arena *a, const char *dir,
                        kiln_baseline_here *out, kiln_err *err) {
    bool is_named;
    const kiln_program_use u = use_of(&is_named);
    kiln_err why = {.status = KILN_OK};
    char *program;
    (void)dir;
    KILN_TRY(kiln_program_find(a, u.program, &program, err));
    if (kiln_program_use_version(a, b, &u, out, &why) == KILN_OK)
        return KILN_OK;
    if (is_named) {
        *err = why;
        kiln_note(err, "opening '%s' (KILN_CLBLAST)", u.library);
        return err->status;
    }
    *out = (kiln_baseline_here){
        .remedy = kiln_format(a, "%s; install Debian's %s", why.text, b->packages)};
    return KILN_OK;
}

static kiln_status open_op(const kiln_baseline *b, kiln_arena *a,
                           const kiln_baseline_op_job *job, kiln_baseline_session *out,
                           kiln_err *err) {
    bool is_named;
    const kiln_program_use u = use_of(&is_named);
    return kiln_program_use_open(a, b, &u, job, out, err);
}

const kiln_baseline kiln_baseline_clblast = {
    .name = "clblast",
    .doc = "CLBlast, matrix products by OpenCL",
    .packages = "libclblast1",
    .find = find,
    .open_op = open_op,
    .run = kiln_asked_run,
};
