/* Features of a candidate beside those of its template's rule. What a loop touches says
 * little of another workload; how much more it touches than the rule's, which somebody
 * chose well for either, says the same of both. docs/features.md. */
#include "compiler/tuner/features.h"

#include <math.h>
#include <string.h>

#include "compiler/schedule/cycles.h"

enum {
    N_ESTIMATES = 8, /* of the machine model */
    N_ROW = 1 << 10  /* at least as long as any row */
};

size_t kiln_n_relative_features(void) { return kiln_n_scalar_features() + N_ESTIMATES; }

/* Zeros of what the machine model does not know. */
static void estimate(kiln_arena *scratch, const kiln_profile *profile,
                     const kiln_program *p, float *out) {
    for (int i = 0; i < N_ESTIMATES; i++)
        out[i] = 0;
    if (kiln_profile_is_gpu(profile))
        return;
    const kiln_cycles c = kiln_cycles_of_program(scratch, profile, p, NULL, 1);
    const double v[N_ESTIMATES] = {log2(c.all + 1),    log2(c.core + 1),
                                   log2(c.l2 + 1),     log2(c.l3 + 1),
                                   log2(c.memory + 1), c.core / c.all,
                                   c.l2 / c.all,       (c.l3 + c.memory) / c.all};
    for (int i = 0; i < N_ESTIMATES; i++)
        out[i] = isfinite(v[i]) ? (float)v[i] : 0;
}

/* own: kiln_n_features(); compared: kiln_n_relative_features(). */
static void features_of(kiln_arena *scratch, const kiln_profile *profile,
                        const kiln_program *p, float *own, float *compared) {
    const size_t n = kiln_n_scalar_features();
    kiln_program_features(scratch, p, profile->gpu.warp, own);
    memcpy(compared, own, n * sizeof *own);
    estimate(scratch, profile, p, compared + n);
}

void kiln_features_encode(kiln_arena *scratch, const kiln_candidate *c, kiln_buf *out) {
    float own[N_ROW], relative[N_ROW] = {0}, rule[N_ROW];
    const size_t n = kiln_n_relative_features();
    KILN_ASSERT(kiln_n_features() <= N_ROW && n <= N_ROW, "%zu features",
                kiln_n_features());
    if (c->reference.n == 0) {
        kiln_program_features(scratch, c->program, c->task->profile->gpu.warp, own);
    } else {
        KILN_ASSERT(c->reference.n == n * sizeof *rule, "%zu bytes to compare with",
                    c->reference.n);
        memcpy(rule, c->reference.p, c->reference.n);
        features_of(scratch, c->task->profile, c->program, own, relative);
        for (size_t i = 0; i < n; i++)
            relative[i] -= rule[i];
    }
    kiln_buf_add(out, relative, n * sizeof *relative);
    kiln_buf_add(out, own, kiln_n_features() * sizeof *own);
}

/* Of the template's whole space: a part of it is held against the same program. */
void kiln_features_refer(const kiln_tune_task *t, kiln_buf *out) {
    kiln_arena a = {0};
    kiln_space space;
    kiln_scheduled s;
    kiln_program *p;
    kiln_space_init(&space, &a);
    if (t->tmpl->space(t->work, t->profile, &space, NULL) == KILN_OK) {
        const kiln_config c = t->tmpl->guess(t->work, t->profile, &space);
        if (kiln_template_apply(&a, t->tmpl, t->work, t->profile, &space, &c, &s,
                                NULL) == KILN_OK &&
            kiln_lower(&a, s.schedule, s.te.arg, s.te.n_args, s.te.n_inputs, "k", &p,
                       NULL) == KILN_OK) {
            float own[N_ROW], rule[N_ROW];
            features_of(&a, t->profile, p, own, rule);
            kiln_buf_add(out, rule, kiln_n_relative_features() * sizeof *rule);
        }
    }
    kiln_arena_fini(&a);
}
