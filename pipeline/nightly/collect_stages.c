/* What stages wrote (reports/results/documents.h) becomes a job's: the documents are made of
 * the results' own structs, so there is little to do. */
#include "pipeline/nightly/nightly_collect.h"

#include <string.h>

/* ---- the machine ----------------------------------------------------------------- */

/* Every bench measures it beside itself; the machine's is the best. */
static void add_peak(kiln_arena *a, const kiln_results_peak *p,
                     kiln_results_machine *machine) {
    for (size_t i = 0; i < machine->peak.n; i++)
        if (machine->peak.v[i].threads == p->threads) {
            if (machine->peak.v[i].gflops < p->gflops)
                machine->peak.v[i] = *p;
            return;
        }
    if (p->gflops > 0)
        kiln_vec_push(a, &machine->peak, *p);
}

/* As copying: the best of all lists is the machine's. */
static void add_level(kiln_arena *a, const kiln_results_level *l,
                      kiln_results_machine *machine) {
    for (size_t i = 0; i < machine->level.n; i++) {
        kiln_results_level *known = &machine->level.v[i];
        if (known->threads != l->threads || strcmp(known->name, l->name) != 0)
            continue;
        known->gbs = l->gbs > known->gbs ? l->gbs : known->gbs;
        return;
    }
    kiln_vec_push(a, &machine->level, *l);
}

/* Copying is disturbed easily: the best is the machine's. */
static void add_machine(kiln_arena *a, const kiln_results_machine *from,
                        kiln_results_machine *machine) {
    if (from->bandwidth_gbs > machine->bandwidth_gbs)
        machine->bandwidth_gbs = from->bandwidth_gbs;
    for (size_t i = 0; i < from->peak.n; i++)
        add_peak(a, &from->peak.v[i], machine);
}

/* ---- jobs ------------------------------------------------------------------------ */

void kiln_nightly_take_build(const kiln_doc_builds *d, kiln_results_job *out) {
    if (d->build.n == 0)
        return;
    const kiln_doc_build *b = &d->build.v[0]; /* one profile was asked for */
    out->has_archive = true;
    out->archive = b->archive;
    out->memory = b->memory;
    out->coverage = b->all.coverage; /* without times: a bench with steps has them */
}

void kiln_nightly_take_bench(kiln_arena *a, const kiln_doc_bench *d,
                             kiln_results_job *out, kiln_results_machine *machine) {
    out->max_abs_error = d->output.max_abs_error;
    out->rms_error = d->output.rms_error;
    out->open_ms = d->open_ms;
    if (d->side.n == 0) /* wrong: nothing was timed */
        return;
    const kiln_doc_side *s = &d->side.v[0];
    out->has_latency = true;
    out->latency = s->latency;
    out->baseline = s->baseline;
    out->step = s->step;
    out->steps_run_ms = s->steps_run_ms;
    if (s->coverage.n > 0)
        out->coverage = s->coverage;
    add_machine(a, &d->machine, machine);
}

void kiln_nightly_take_gate(const kiln_doc_gate *d, kiln_results_job *out) {
    if (d->series.n == 0)
        return;
    out->gate = d->series.v[0].gate; /* one archive */
    out->has_gate = out->gate.verdict != NULL;
}

/* ---- operators ------------------------------------------------------------------- */

void kiln_nightly_take_ops(kiln_arena *a, const kiln_doc_ops *d, kiln_results_ops *out,
                           kiln_results_machine *machine) {
    add_peak(a, &d->peak, machine);
    for (size_t i = 0; i < d->level.n; i++)
        if (d->level.v[i].name != NULL)
            add_level(a, &d->level.v[i], machine);
    for (size_t i = 0; i < d->op.n; i++)
        kiln_vec_push(a, &out->row, d->op.v[i].op);
}
