/* The coverage ledger: by operator and weighted by multiply-adds, whether its
 * configurations were searched for, timed alone, transferred, predicted, given by a
 * file, or are defaults. */
#include "pipeline/package/package.h"

#include <string.h>

const char *kiln_coverage_name(kiln_coverage c) {
    static const char *const name[KILN_N_COVERAGE] = {
        "tuned", "timed", "transferred", "predicted", "file", "default", "generic"};
    KILN_ASSERT((int)c >= 0 && c < KILN_N_COVERAGE, "no coverage %d of a kernel",
                (int)c);
    return name[c];
}

kiln_coverage kiln_coverage_of(const kiln_network_kernel *k) {
    switch (k->origin) {
    case KILN_ORIGIN_TUNED:
        return KILN_COVERED_TUNED;
    case KILN_ORIGIN_TIMED:
        return KILN_COVERED_TIMED;
    case KILN_ORIGIN_TRANSFERRED:
        return KILN_COVERED_TRANSFERRED;
    case KILN_ORIGIN_PREDICTED:
        return KILN_COVERED_PREDICTED;
    case KILN_ORIGIN_FILE:
        return KILN_COVERED_FILE;
    case KILN_ORIGIN_GUESS:
        break;
    }
    return strcmp(k->tmpl, "generic") == 0 ? KILN_COVERED_GENERIC
                                           : KILN_COVERED_DEFAULT;
}

static kiln_ledger_row *row_of(kiln_arena *a, kiln_ledger *l, const char *op) {
    for (size_t i = 0; i < l->row.n; i++)
        if (strcmp(l->row.v[i].op, op) == 0)
            return &l->row.v[i];
    const kiln_ledger_row row = {.op = op};
    kiln_vec_push(a, &l->row, row);
    return &l->row.v[l->row.n - 1];
}

static void count(kiln_ledger_row *row, const kiln_network_kernel *k) {
    if (k == NULL) {
        row->copies++;
        return;
    }
    const kiln_coverage c = kiln_coverage_of(k);
    row->steps[c]++;
    row->muladds[c] += k->cost.muladds;
    if (c == KILN_COVERED_TUNED)
        row->n_tried += k->n_tried;
}

void kiln_ledger_of(kiln_arena *a, const kiln_network *n, kiln_ledger *out) {
    *out = (kiln_ledger){.all = {.op = "all"}};
    for (size_t i = 0; i < n->step.n; i++) {
        const kiln_network_step *s = &n->step.v[i];
        KILN_ASSERT(s->kernel < 0 || (size_t)s->kernel < n->kernel.n,
                    "step '%s' launches kernel %d of %zu", s->name, s->kernel,
                    n->kernel.n);
        const kiln_network_kernel *k = s->kernel < 0 ? NULL : &n->kernel.v[s->kernel];
        count(row_of(a, out, s->op), k);
        count(&out->all, k);
    }
}
