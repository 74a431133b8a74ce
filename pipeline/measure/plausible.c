/* Runners elsewhere are somebody else's programs: what they tell is held against what no
 * machine does (kiln_least_ns). A runner of kiln's own has judged its candidates by the
 * peak that it measured, which is closer by far: what passes there passes here, so it is
 * the runner who lies, and not the candidate. */
#include "pipeline/measure/measure_fleet.h"

static void is_found_out(kiln_worker *w) {
    w->is_liar = true;
    w->is_hopeless = true;
}

bool kiln_worker_is_plausible(const kiln_measure *m, kiln_worker *w, double gflops,
                              kiln_err *err) {
    const double most = kiln_most_gflops(m->o.profile, m->o.threads);
    if (!w->t.def->is_far || gflops <= most)
        return true;
    is_found_out(w);
    (void)kiln_fail(
        err, KILN_ERR_PARSE,
        "it tells of %.4g GFLOP/s: no machine of profile '%s' has more than "
        "%.4g by %d thread%s",
        gflops, m->o.profile->name, most, m->o.threads, kiln_plural(m->o.threads));
    return false;
}

/* Of what it tells the least: its median, and that of the slices that go on record. */
static double told_ns(kiln_arena *scratch, const kiln_wire_ran *r) {
    double *ns = kiln_array(scratch, double, r->n_slices);
    for (uint32_t i = 0; i < r->n_slices; i++)
        ns[i] = r->slice[i].ns;
    const double median = r->n_slices > 0 ? kiln_median(ns, r->n_slices) : r->median_ns;
    return median < r->median_ns ? median : r->median_ns;
}

bool kiln_worker_answer_is_plausible(const kiln_measure *m, kiln_worker *w,
                                     const kiln_job *j, const kiln_wire_ran *r,
                                     kiln_err *err) {
    if (!w->t.def->is_far ||
        (r->error != KILN_TRIAL_GOOD && r->error != KILN_TRIAL_SLOW))
        return true;
    if (!kiln_worker_is_plausible(m, w, r->peak_gflops, err) ||
        !kiln_worker_is_plausible(m, w, r->limit_gflops, err))
        return false;
    const kiln_fleet_work *of = &m->work.v[j->out.work];
    const double flops =
        j->built.code.least_flops < of->flops ? j->built.code.least_flops : of->flops;
    const double least =
        kiln_least_ns(m->o.profile, m->o.threads, flops, of->written_bytes);
    kiln_arena scratch = {0};
    const double told = told_ns(&scratch, r);
    kiln_arena_fini(&scratch);
    if (told >= least)
        return true;
    is_found_out(w);
    (void)kiln_fail(
        err, KILN_ERR_PARSE,
        "it tells of %.4g ns for %.4g operations and %.4g bytes to store: no "
        "machine of profile '%s' takes less than %.4g ns by %d thread%s",
        told, flops, of->written_bytes, m->o.profile->name, least, m->o.threads,
        kiln_plural(m->o.threads));
    return false;
}
