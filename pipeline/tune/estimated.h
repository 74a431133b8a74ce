/* pipeline/tune: searches of whole spaces, on what the machine model says that each
 * configuration costs (compiler/schedule/cycles.h). A corpus is a small part of a space,
 * chosen around what is good, in which random draws do well; a whole space is what a
 * tuner meets. Nothing is built or run: the same call gives the same numbers anywhere.
 *
 *     kiln_estimated_compare(a, profile, &o, &rows, err);
 *     kiln_estimated_text(&text, &rows);
 *
 * Costs are nanoseconds of a core of 1 GHz, moved by up to 1.5% as noise would, always
 * the same for one configuration. As in a measurement, what is 1.5 times slower than the
 * best so far is stopped.
 */
#ifndef KILN_PIPELINE_TUNE_ESTIMATED_H
#define KILN_PIPELINE_TUNE_ESTIMATED_H

#include "pipeline/tune/corpus.h"

enum {
    KILN_ESTIMATED_LOOKS = 4,
    KILN_ESTIMATED_HARD = 150 /* trials to 95% that random needs at least, in a work
                                 where drawing does not do */
};
extern const int kiln_estimated_looks[KILN_ESTIMATED_LOOKS]; /* 64, 128, 256, 512 */

typedef struct kiln_estimated_options {
    const kiln_tune_works *works; /* of kiln_corpus_works, in its order */
    size_t n_works;               /* the first so many; 0: all */
    int n_seeds;
    int trials;  /* of each search; 0: 512 */
    int lookups; /* configurations that say what the best is, beside all searches; 0:
                    4000 */
} kiln_estimated_options;

typedef struct kiln_estimated_row {
    const char *name;
    /* Until 90, 95 and 99% of the best that anything found: geometric mean over works
     * and seeds; what did not get there counts with all its trials. */
    double trials[KILN_N_REACHED];
    /* Of those to 95%, each seed's mean over works: the middle one, the least and the
     * most. */
    double median, low, high;
    double after[KILN_ESTIMATED_LOOKS]; /* share of the best by then; geometric mean */
} kiln_estimated_row;
typedef struct kiln_estimated {
    KILN_VEC(kiln_estimated_row) row;
    /* Of them those with spaces of 100,000 or more in which random needs more than
     * KILN_ESTIMATED_HARD trials, geometric mean over seeds: elsewhere drawing finds
     * what there is to find, and comparisons say little. Empty where there are none. */
    KILN_VEC(kiln_estimated_row) hard;
    int n_hard;
    /* C7 to C9, by themselves and with what 192 trials each of C1 to C6 taught; empty
     * where not all of these were asked for. */
    KILN_VEC(kiln_estimated_row) transfer;
} kiln_estimated;

kiln_status kiln_estimated_compare(kiln_arena *a, const kiln_profile *p,
                                   const kiln_estimated_options *o, kiln_estimated *out,
                                   kiln_err *err);
void kiln_estimated_text(kiln_buf *out, const kiln_estimated *e);

#endif
