/* Boosted trees over the values of the knobs: the baseline of the papers (AutoTVM,
 * NIPS'18, section 6.1: "configuration"). It knows nothing of the program, so what it
 * learns says little of another workload, and nothing of another template.
 *
 * A row has PARTS floats for each knob: the parts of its value, in base-2 logarithms,
 * or the number of its word; not a number where a knob has fewer parts, and for knobs
 * that the template does not have. */
#include <math.h>

#include "compiler/tuner/model/trees.h"

enum { PARTS = KILN_KNOB_MAX_PARTS, N_ROW = PARTS * KILN_MAX_KNOBS, ROWS_VERSION = 1 };

static float value_of(const kiln_knob *knob, int option, int part) {
    if (knob->word != NULL)
        return part == 0 ? (float)option : NAN;
    if (part >= knob->n_parts)
        return NAN;
    const int64_t v = knob->value[(int64_t)option * knob->n_parts + part];
    return v > 0 ? log2f((float)v) : (float)v - 1;
}

static void encode(kiln_arena *scratch, const kiln_candidate *c, kiln_buf *out) {
    float row[N_ROW];
    (void)scratch;
    for (int i = 0; i < N_ROW; i++) {
        const int k = i / PARTS;
        row[i] = k < c->task->space.n ? value_of(&c->task->space.knob[k],
                                                 c->config->option[k], i % PARTS)
                                      : NAN;
    }
    kiln_buf_add(out, row, sizeof row);
}

static kiln_status init(kiln_cost_model *m, kiln_err *err) {
    const kiln_row_shape row = {N_ROW, N_ROW};
    return kiln_trees_init(m, row, err);
}

const kiln_cost_model_kind kiln_cost_model_knobs = {
    .name = "knobs",
    .doc = "boosted trees over the knobs' values: the papers' baseline",
    .version = ROWS_VERSION,
    .encode = encode,
    .init = init,
    .fit = kiln_trees_fit,
    .predict = kiln_trees_predict,
    .save = kiln_trees_save,
    .load = kiln_trees_load,
    .fini = kiln_trees_fini,
};
