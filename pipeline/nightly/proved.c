/* What a run's folder says of an archive in it: what others may go by. */
#include "pipeline/nightly/nightly_internal.h"

#include <string.h>

static bool is_injected(kiln_arena *a, const char *archive) {
    const char *job = kiln_path_dir(a, kiln_path_dir(a, archive));
    nightly_marker gated;
    return kiln_nightly_marker_read(a, kiln_path_join(a, job, "gate"), &gated) &&
           strstr(gated.command, " --inject ") != NULL;
}

/* The archive lies in its build stage's folder, beside that of its verify stage. */
static bool has_verified(kiln_arena *a, const char *archive, const char *sha256) {
    const char *build = kiln_path_dir(a, archive);
    const char *verify = kiln_path_join(a, kiln_path_dir(a, build), "verify");
    nightly_marker built, verified;
    return kiln_nightly_marker_read(a, build, &built) &&
           kiln_nightly_marker_read(a, verify, &verified) && built.product != NULL &&
           strcmp(built.product, sha256) == 0 && verified.state == KILN_STAGE_DONE &&
           verified.exit_code == 0 && strcmp(verified.ended, built.ended) > 0 &&
           strstr(verified.command, " --model ") != NULL;
}

const kiln_accept_nights kiln_nightly_nights = {is_injected, has_verified};
