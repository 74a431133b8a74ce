/* Networks run where candidates were: here, or on a runner elsewhere. */
#include "pipeline/tune/tune_internal.h"

/* One that is lost may have been started again, as candidates are tried twice. */
enum { LEAST_TRIES = 2 };
static const int64_t grace_ms = 10000; /* after Ctrl-C, for what is being measured */

static kiln_status try_at(const kiln_tune_options *o, const char *address,
                          kiln_tune_there_fn *run, void *user, bool *is_over,
                          kiln_err *err) {
    const int threads = o->threads > 0 ? o->threads : 1;
    kiln_arena a = {0};
    kiln_buf profile;
    kiln_far *far = NULL;
    kiln_buf_init(&profile, &a);
    kiln_profile_json(&profile, o->profile);
    const kiln_far_options options = {.address = address,
                                      .grace_ms = grace_ms,
                                      .profile = profile.p,
                                      .threads = threads,
                                      .priority = o->priority};
    *is_over = false;
    kiln_status st = kiln_far_open(&a, &options, &far, err);
    if (st == KILN_OK)
        st = kiln_profile_fits_machine(o->profile, threads, kiln_far_machine(far), err);
    if (st == KILN_OK) {
        st = run(user, &a, far, err);
        *is_over = st == KILN_OK || !kiln_far_is_lost(far);
    }
    kiln_arena_fini(&a);
    return st;
}

static kiln_status try_all(const kiln_tune_options *o, kiln_tune_there_fn *run,
                           void *user, kiln_err *err) {
    int n = 0;
    while (o->runner_addresses[n] != NULL)
        n++;
    const int tries = n > LEAST_TRIES ? n : LEAST_TRIES;
    for (int i = 0;; i++) {
        bool is_over;
        kiln_err why = {.len = 0};
        const char *address = o->runner_addresses[i % n];
        const kiln_status st = try_at(o, address, run, user, &is_over, &why);
        if (st == KILN_OK)
            return KILN_OK;
        if (is_over || i + 1 == tries || kiln_interrupted()) {
            kiln_fail_text(err, st, "%s", why.text);
            if (!is_over)
                kiln_note(err, "running networks elsewhere: no runner is left");
            return st;
        }
        KILN_LOG(WARN, "tuner", "networks begin again, at %s: %s",
                 o->runner_addresses[(i + 1) % n], why.text);
    }
}

kiln_status kiln_tune_there(const kiln_tune_options *o, kiln_tune_there_fn *run,
                            void *user, kiln_err *err) {
    if (o->runner_addresses != NULL && o->runner_addresses[0] != NULL)
        return try_all(o, run, user, err);
    kiln_arena a = {0};
    const kiln_status st = run(user, &a, NULL, err);
    kiln_arena_fini(&a);
    return st;
}

kiln_apart *kiln_tune_apart(kiln_arena *a, kiln_far *far) {
    const kiln_apart_options o = {.far = far};
    return far != NULL ? kiln_apart_new(a, &o) : NULL;
}
