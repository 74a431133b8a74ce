/* pipeline/tune: what other tuners found, as hints: logs of AutoTVM (version 0.2, JSON
 * lines with "input", "config", "result") and of TVM's auto-scheduler (Ansor; the files
 * of TenSet), JSON lines with "i", "r", "v". docs/hints.md says what is read.
 *
 *     kiln_tune_hints h = {.arena = a};
 *     kiln_tune_hints_read(&h, text, "conv2d.log");
 *     o.hints = &h;                 a search of kiln_tune_run begins with them
 *
 * A hint is tiles and blocks of a loop nest, without the program that had them: of
 * templates' knobs those are set that say the same, all others are the rule's. It is
 * measured here like any other candidate; the time of its record only decides which
 * hints of one work come first. */
#ifndef KILN_PIPELINE_TUNE_HINTS_H
#define KILN_PIPELINE_TUNE_HINTS_H

#include "pipeline/tune/tune.h"

typedef enum kiln_hint_kind { KILN_HINT_CONV, KILN_HINT_PRODUCT } kiln_hint_kind;
/* Loops of a convolution; of a product M, N and K. */
enum {
    KILN_HINT_IMAGES,
    KILN_HINT_OUT, /* output channels */
    KILN_HINT_ROWS,
    KILN_HINT_COLUMNS,
    KILN_HINT_IN, /* input channels */
    KILN_HINT_KERNEL_ROWS,
    KILN_HINT_KERNEL_COLUMNS,
    KILN_HINT_LOOPS,
    KILN_HINT_M = 0,
    KILN_HINT_N,
    KILN_HINT_K
};

typedef struct kiln_tune_hint {
    kiln_hint_kind kind;
    int64_t extent[KILN_HINT_LOOPS];
    int64_t tile[KILN_HINT_LOOPS];  /* iterations of the innermost part; 0: not said */
    int64_t block[KILN_HINT_LOOPS]; /* such parts in the next one; 0: not said */
    enum { KILN_HINT_SAYS_NOTHING, KILN_HINT_UNROLLS, KILN_HINT_LOOPS_ON } unroll;
    double seconds; /* of its record */
} kiln_tune_hint;

/* Of records that have no counterpart here, by what they are of. */
typedef struct kiln_hint_stranger {
    const char *name;
    int64_t n;
} kiln_hint_stranger;

enum { KILN_HINTS_EACH = 8, KILN_HINT_STRANGERS = 32, KILN_HINT_FAULTS = 4 };

/* A zeroed struct with an arena is empty. */
typedef struct kiln_tune_hints {
    kiln_arena *arena; /* borrowed */
    KILN_VEC(kiln_tune_hint) list;
    int64_t n_records;                     /* lines that are not empty */
    int64_t n_failed;                      /* of measurements that failed there */
    int64_t n_strange;                     /* of what has no counterpart here */
    int64_t n_bad;                         /* lines that are no records */
    KILN_VEC(kiln_hint_stranger) stranger; /* KILN_HINT_STRANGERS at most */
    KILN_VEC(const char *) fault; /* of the first few bad lines: "a.log:4: ..." */
} kiln_tune_hints;

/* Adds the records of a log, which is untrusted: whatever a line is, it is counted, and
 * the next one is read. Of records of equal loops about KILN_HINTS_EACH are kept, the
 * fastest. */
void kiln_tune_hints_read(kiln_tune_hints *h, kiln_str text, const char *name);

/* The hints for a work as indexes of the task's space, the fastest records first; at
 * most `most`, none twice, and none that the template refuses. */
size_t kiln_tune_hints_for(kiln_arena *scratch, const kiln_tune_hints *h,
                           const kiln_tune_task *t, size_t most, uint64_t *out);
/* A line of how many records were read and what of them is for these works; lines of
 * what was left out. */
void kiln_tune_hints_text(kiln_buf *out, const kiln_tune_hints *h,
                          const kiln_tune_works *works);

/* Are its loops those of the workload's anchor? */
bool kiln_hint_is_for(const kiln_tune_hint *h, const kiln_workload *w);

/* ---- inside ---------------------------------------------------------------------- */

/* What a line is. */
typedef enum kiln_hint_verdict {
    KILN_HINT_TAKEN,
    KILN_HINT_FAILED,
    KILN_HINT_STRANGE, /* *name: of what */
    KILN_HINT_BAD      /* *name: why */
} kiln_hint_verdict;
/* out: up to two, as loops may stand for two layouts; *n: how many. Names are in
 * scratch. */
kiln_hint_verdict kiln_hint_of_autotvm(kiln_arena *scratch, const kiln_json *record,
                                       kiln_tune_hint out[2], int *n,
                                       const char **name);
kiln_hint_verdict kiln_hint_of_ansor(kiln_arena *scratch, const kiln_json *record,
                                     kiln_tune_hint out[2], int *n, const char **name);
/* The mean of a record's costs in seconds, which "result" and "r" begin with; the
 * second element must be 0. FAILED: it is not; BAD: there are none. */
kiln_hint_verdict kiln_hint_seconds(const kiln_json *result, double *out,
                                    const char **name);
/* A whole number from 1 to 2^31; 0: it is none. */
int64_t kiln_hint_count(const kiln_json *v);

#endif
