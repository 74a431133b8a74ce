/* Who says that an archive is right, other than itself: the model that it was built
 * from, by the reference; or an accepted archive of the same model. */
#include "pipeline/gate/gate_internal.h"

#include <string.h>

/* The first that did not pass. */
static kiln_status first_failure(const kiln_checks *checks, bool *is_wrong,
                                 kiln_err *err) {
    for (size_t i = 0; i < checks->list.n; i++) {
        const kiln_check *c = &checks->list.v[i];
        if (c->outcome == KILN_PASSED)
            continue;
        *is_wrong = c->outcome == KILN_FAILED;
        return kiln_fail(err, KILN_ERR_SHAPE, "%s: %s", c->name, c->reason);
    }
    return KILN_OK;
}

kiln_status kiln_gate_find_model(kiln_arena *a, const kiln_gate_models *models,
                                 const kiln_package_facts *f, const char **out,
                                 kiln_err *err) {
    *out = NULL;
    for (size_t i = 0; i < models->n && f->source_sha256 != NULL; i++) {
        const char *path = NULL;
        char sha256[KILN_SHA256_HEX];
        KILN_TRY(kiln_source_path(a, models->path[i], &path, err));
        KILN_TRY(kiln_source_hash(path, sha256, err));
        if (strcmp(sha256, f->source_sha256) == 0)
            *out = models->path[i];
    }
    return KILN_OK;
}

kiln_status kiln_gate_ask_model(const char *package, const kiln_keyring *keys,
                                const kiln_device *where, const char *model,
                                int threads, bool *is_wrong, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_checks checks = {.n_failed = 0};
    const kiln_verify_options o = {
        .threads = &threads,
        .n_threads = 1,
        .model = model,
        .keys = keys,
        .where = where,
        /* No inputs that an archive could have been made for. */
        .seed = (uint64_t)kiln_now_ns() % 1000000000 + 3};
    kiln_status st = kiln_verify_package(&scratch, package, &o, &checks, err);
    if (st == KILN_OK)
        st = first_failure(&checks, is_wrong, err);
    kiln_arena_fini(&scratch);
    return st;
}

kiln_status kiln_gate_ask_accepted(const kiln_opened *candidate,
                                   const kiln_opened *control, int threads,
                                   uint64_t seed, bool *is_wrong, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_checks checks = {.n_failed = 0};
    if (seed == 0) /* as above; a JSON number holds it */
        seed = (uint64_t)kiln_now_ns() % 1000000000 + 1;
    kiln_status st =
        kiln_opened_compare(&scratch, candidate, control, threads, seed, &checks, err);
    if (st == KILN_OK)
        st = first_failure(&checks, is_wrong, err);
    kiln_arena_fini(&scratch);
    return st;
}
