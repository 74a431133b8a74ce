/* Which ready records count on this machine, and in which order.
 *
 * One of this very machine's kind does as long as its rule holds. One of another machine
 * says that something beats the rule *there*, and a rule knows the machine that it is
 * asked for: vectors alone do not make a lead hold. Of a Zen 5's records with one thread
 * that differ from the rule's choice on a Xeon (Emerald Rapids, L2 twice as large), the
 * 10 that had led by 2% or more took 1.02 of the rule's time there in geometric mean,
 * 0.84 to 1.23, the other 8 took 1.02, 0.99 to 1.07. So what is near counts: all caches, ports
 * and rates that were measured together less than a factor of two in one of them apart
 * (kiln_nearness), and of several machines the nearest comes first. Not by names, and
 * not by time, which says how fast the other machine is. Searches begin with any. */
#include <string.h>

#include "compiler/tuner/tuner_transfer.h"
#include "pipeline/tune/tune_internal.h"

/* A smaller lead is what two medians differ by, and what another cache or port turns
 * around. A search over layouts must win by as much where it estimates. */
static const double least_lead = 1.02;
/* Two sizes apart by a factor of two have 2^-0.5. */
static const double least_near = 0.7072;

static bool leads(kiln_arena *scratch, const kiln_db_record_best *r) {
    const kiln_json *facts = NULL;
    if (kiln_json_parse(scratch, kiln_str_from(r->trial.facts), "facts", &facts,
                        NULL) != KILN_OK)
        return false;
    const double rule_ns = kiln_json_number(kiln_json_get(facts, "rule_ns"), 0);
    return rule_ns >= least_lead * r->trial.median_ns;
}

static bool is_elsewhere(const kiln_db_record_best *r) {
    return r->match != KILN_DB_EXACT && r->match != KILN_DB_ANCHOR;
}

/* How near the record's machine is to `here`; 0: it is none. */
static double nearness(kiln_arena *scratch, const kiln_op_work *w,
                       const kiln_profile *here, const kiln_db_record_best *r) {
    const kiln_json *json = NULL;
    kiln_profile there;
    kiln_setting setting[2];
    const kiln_template *tmpl =
        kiln_template_find(kiln_str_from(r->trial.candidate.tmpl));
    if (tmpl == NULL ||
        kiln_json_parse(scratch, kiln_str_from(r->profile_json), "profile", &json,
                        NULL) != KILN_OK ||
        kiln_profile_read(scratch, json, "profile", &there, NULL) != KILN_OK)
        return 0;
    const kiln_profile *const machine[] = {here, &there};
    for (int i = 0; i < 2; i++) {
        const kiln_tune_task t = {
            .work = &w->workload, .profile = machine[i], .tmpl = tmpl};
        kiln_setting_of(&t, r->threads, &setting[i]);
    }
    return kiln_nearness(&setting[0], &setting[1]);
}

typedef struct near_ready {
    kiln_db_record_best record;
    double nearness; /* of its machine; 1: this one */
} near_ready;

static bool counts(kiln_arena *scratch, const kiln_op_work *w, const near_ready *r) {
    return kiln_tune_rule_holds(scratch, w, &r->record) &&
           (!is_elsewhere(&r->record) ||
            (r->nearness >= least_near && leads(scratch, &r->record)));
}

/* Does a come before b, which was there before it? */
static bool is_before(const kiln_op_work *w, const near_ready *a, const near_ready *b) {
    const bool a_other = !kiln_str_is(w->key, a->record.workload),
               b_other = !kiln_str_is(w->key, b->record.workload);
    if (a->record.match != b->record.match)
        return a->record.match < b->record.match;
    return a_other != b_other ? b_other : a->nearness > b->nearness;
}

void kiln_tune_ready_here(kiln_arena *scratch, const kiln_op_work *w,
                          const kiln_profile *here, int threads, bool is_hint,
                          const kiln_db_bests *all, kiln_db_bests *out) {
    KILN_VEC(near_ready) near = {.n = 0};
    for (size_t i = 0; i < all->list.n; i++) {
        near_ready one = {all->list.v[i], 1};
        if (is_elsewhere(&one.record)) {
            one.record.match = KILN_DB_CLASS; /* every machine's name is "native" */
            one.nearness = nearness(scratch, w, here, &one.record);
        }
        if (one.record.threads != threads || (!is_hint && !counts(scratch, w, &one)))
            continue;
        kiln_vec_push(scratch, &near, one);
        for (size_t k = near.n - 1; k > 0 && is_before(w, &near.v[k], &near.v[k - 1]);
             k--) {
            const near_ready later = near.v[k - 1];
            near.v[k - 1] = near.v[k];
            near.v[k] = later;
        }
    }
    *out = (kiln_db_bests){0};
    for (size_t i = 0; i < near.n; i++)
        kiln_vec_push(scratch, &out->list, near.v[i].record);
}
