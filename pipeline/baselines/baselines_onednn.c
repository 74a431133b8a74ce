/* oneDNN, by its C interface in programs of their own (library/library_onednn.c says how it is
 * set up): the newest that a wheel has with threads by OpenMP, which kiln-onednn3 opens;
 * else Debian's, with which kiln-onednn was built. */
#include "pipeline/baselines/baselines_internal.h"

#define NEWER "3.2 (of 2023)" /* what the wheel brings */

static const char *const wheels[] = {"onednn-cpu-gomp", NULL};

static const char debians[] = "onednn2 has Winograd's convolutions, this one has not";

/* Is the wheel here? Then that is what is compared, or nothing. */
static bool use_wheel(kiln_arena *a, const char *dir, kiln_program_use *out) {
    if (dir == NULL || dir[0] == '\0')
        return false;
    *out = (kiln_program_use){.program = "kiln-onednn3",
                              .library = kiln_path_join(a, dir, "lib/libdnnl.so.3")};
    return kiln_file_exists(out->library);
}

static void note_wheel(const kiln_program_use *u, kiln_err *err) {
    kiln_note(err, "opening the wheel's '%s'; without that file Debian's is used",
              u->library);
}

static const char *other_way(const kiln_baseline *b, kiln_arena *a) {
    const char *machine = kiln_wheel_machine(a);
    return kiln_wheels_fit(b, machine)
               ? "'kiln baselines install --only onednn' gets " NEWER
               : kiln_format(a,
                             "there is no wheel of a newer one for this machine (%s)",
                             machine);
}

static kiln_status find(const kiln_baseline *b, kiln_arena *a, const char *dir,
                        kiln_baseline_here *out, kiln_err *err) {
    kiln_program_use u;
    if (use_wheel(a, dir, &u)) {
        const kiln_status st = kiln_program_use_version(a, b, &u, out, err);
        if (st != KILN_OK)
            note_wheel(&u, err);
        else
            out->hint = debians;
        return st;
    }
    KILN_TRY(kiln_program_baseline_find(b, a, dir, out, err));
    if (out->is_here)
        out->hint = other_way(b, a);
    else
        out->remedy = kiln_format(a, "%s; %s", out->remedy, other_way(b, a));
    return KILN_OK;
}

static kiln_status open_op(const kiln_baseline *b, kiln_arena *a,
                           const kiln_baseline_op_job *job, kiln_baseline_session *out,
                           kiln_err *err) {
    kiln_program_use u;
    return use_wheel(a, job->dir, &u) ? kiln_program_use_open(a, b, &u, job, out, err)
                                      : kiln_program_baseline_open(b, a, job, out, err);
}

const kiln_baseline kiln_baseline_onednn = {
    .name = "onednn",
    .doc = "oneDNN, single operators with what it fuses behind them",
    .wheel = wheels,
    .packages = "libdnnl-dev",
    .find = find,
    .open_op = open_op,
    .run = kiln_asked_run,
};
