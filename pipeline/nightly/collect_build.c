/* What builds and tuning say (docs/build-json.md, docs/tune-json.md), and the gate
 * (docs/gate-json.md). */
#include "pipeline/nightly/collect.h"

#include <math.h>
#include <string.h>

/* ---- members -----------------------------------------------------------------------
 */

const char *nightly_text(const kiln_json *v, const char *member) {
    return kiln_json_string(kiln_json_get(v, member), NULL);
}

int64_t nightly_count(const kiln_json *v, const char *member) {
    int64_t n = 0;
    return kiln_json_i64(kiln_json_get(v, member), &n) && n > 0 ? n : 0;
}

double nightly_positive(const kiln_json *v, const char *member) {
    const double x = kiln_json_number(kiln_json_get(v, member), 0);
    return x > 0 ? x : 0;
}

double nightly_number(const kiln_json *v, const char *member) {
    return kiln_json_number(kiln_json_get(v, member), (double)NAN);
}

kiln_stats_interval nightly_interval(const kiln_json *v, const char *estimate) {
    return (kiln_stats_interval){nightly_number(v, estimate), nightly_number(v, "low"),
                                 nightly_number(v, "high")};
}

/* ---- build -------------------------------------------------------------------------
 */

static void take_memory(const kiln_json *v, kiln_results_memory *out) {
    *out = (kiln_results_memory){.activation = nightly_count(v, "activation_bytes"),
                                 .lower_bound = nightly_count(v, "lower_bound_bytes"),
                                 .parameter = nightly_count(v, "parameter_bytes"),
                                 .workspace = nightly_count(v, "workspace_bytes"),
                                 .scratch = nightly_count(v, "scratch_bytes")};
}

/* The ledger without times; a bench with steps has them. */
static void take_ledger(kiln_arena *a, const kiln_json *all, kiln_results_job *out) {
    for (const kiln_json *m = kiln_json_first(all); m != NULL; m = kiln_json_next(m)) {
        if (!kiln_json_is_object(m) || nightly_count(m, "steps") == 0)
            continue;
        const kiln_results_coverage c = {.origin = kiln_json_key(m),
                                         .steps = nightly_count(m, "steps"),
                                         .multiply_adds =
                                             nightly_count(m, "multiply_adds")};
        kiln_vec_push(a, &out->coverage, c);
    }
}

void nightly_take_build(kiln_arena *a, const kiln_json *v, kiln_results_job *out) {
    const kiln_json *b = kiln_json_at(v, 0); /* one profile was asked for */
    out->has_archive = true;
    out->archive = (kiln_results_archive){.path = nightly_text(b, "archive"),
                                          .sha256 = nightly_text(b, "sha256"),
                                          .bytes = nightly_count(b, "bytes")};
    take_memory(kiln_json_get(b, "memory"), &out->memory);
    take_ledger(a, kiln_json_get(b, "coverage_of_all"), out);
}

/* ---- tune --------------------------------------------------------------------------
 */

static bool is_failure(const char *kind) {
    return strcmp(kind, "good") != 0 && strcmp(kind, "slow") != 0;
}

void nightly_take_tune(kiln_arena *a, const kiln_json *v, kiln_results_tuning *out) {
    kiln_results_tuning t = {.new_trials = nightly_count(v, "new_trials"),
                             .seconds = nightly_positive(v, "seconds"),
                             .start_ns = nightly_positive(v, "start_ns"),
                             .best_ns = nightly_positive(v, "best_ns"),
                             .end = nightly_text(v, "end")};
    int64_t n = 0;
    for (const kiln_json *m = kiln_json_first(kiln_json_get(v, "trials")); m != NULL;
         m = kiln_json_next(m))
        if (is_failure(kiln_json_key(m)) && kiln_json_i64(m, &n)) {
            const kiln_results_count c = {kiln_json_key(m), n};
            kiln_vec_push(a, &t.by_error, c);
        }
    for (const kiln_json *w = kiln_json_first(kiln_json_get(v, "works")); w != NULL;
         w = kiln_json_next(w)) {
        const kiln_results_work work = {
            .name = nightly_text(w, "name"),
            .tmpl = nightly_text(w, "template"),
            .best = nightly_text(w, "best"),
            .calls = nightly_positive(w, "calls"),
            .start_ns = nightly_positive(w, "start_ns"),
            .best_ns = nightly_positive(w, "best_ns"),
            .best_share = nightly_positive(w, "best_share_of_peak"),
            .known_trials = nightly_count(w, "known_trials"),
            .new_trials = nightly_count(w, "new_trials")};
        kiln_vec_push(a, &t.work, work);
    }
    for (const kiln_json *row = kiln_json_first(kiln_json_get(v, "curve")); row != NULL;
         row = kiln_json_next(row))
        if (kiln_json_i64(kiln_json_at(row, 0), &n)) {
            const kiln_results_point p = {n, kiln_json_number(kiln_json_at(row, 1), 0)};
            kiln_vec_push(a, &t.curve, p);
        }
    *out = t;
}

/* ---- gate --------------------------------------------------------------------------
 */

void nightly_take_gate(kiln_arena *a, const kiln_json *v, kiln_results_job *out) {
    const kiln_json *s = kiln_json_at(kiln_json_get(v, "series"), 0); /* one archive */
    kiln_results_gate g = {
        .verdict = nightly_text(s, "verdict"),
        .reason = nightly_text(s, "reason"),
        .pairs = (int)nightly_count(s, "pairs"),
        .slowdown = nightly_interval(kiln_json_get(s, "slowdown"), "estimate"),
        .p = nightly_number(s, "p"),
        .detectable = nightly_number(s, "detectable"),
        .accepted_sha256 = nightly_text(kiln_json_get(s, "accepted"), "sha256"),
        .accepted_commit = nightly_text(kiln_json_get(s, "accepted"), "commit"),
        .moved_says = nightly_text(s, "moved_says"),
        .command = nightly_text(s, "command")};
    const kiln_json *frozen = kiln_json_get(s, "frozen");
    g.frozen_sha256 = nightly_text(frozen, "sha256");
    g.frozen = nightly_interval(kiln_json_get(frozen, "ratio"), "estimate");
    g.frozen_problem = nightly_text(frozen, "problem");
    for (const kiln_json *c = kiln_json_first(kiln_json_get(s, "changes")); c != NULL;
         c = kiln_json_next(c))
        kiln_vec_push(a, &g.change, kiln_json_string(c, ""));
    for (const kiln_json *m = kiln_json_first(kiln_json_get(s, "moved")); m != NULL;
         m = kiln_json_next(m)) {
        const kiln_results_step step = {.name = nightly_text(m, "name"),
                                        .op = nightly_text(m, "op"),
                                        .tmpl = nightly_text(m, "template"),
                                        .origin = nightly_text(m, "origin"),
                                        .median_ms =
                                            nightly_number(m, "difference_ms")};
        kiln_vec_push(a, &g.moved, step);
    }
    out->has_gate = g.verdict != NULL;
    out->gate = g;
}
