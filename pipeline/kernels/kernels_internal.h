/* Inside pipeline/kernels. */
#ifndef KILN_PIPELINE_KERNELS_INTERNAL_H
#define KILN_PIPELINE_KERNELS_INTERNAL_H

#include "pipeline/kernels/explain.h"
#include "pipeline/kernels/kernels.h"

/* The function of an object, callable until the arena is reset. */
kiln_status kiln_object_load(kiln_arena *a, const kiln_object *o, const char *name,
                             kiln_kernel_fn **out, kiln_err *err);

/* Page-aligned memory between canaries. */
kiln_guarded kiln_guarded_new(kiln_arena *a, size_t bytes);
/* Was a byte beside the data written? `at`: its offset from the data. */
bool kiln_guarded_broken(const kiln_guarded *g, int64_t *at);

/* Cuts the next word off; false where there is none. */
bool kiln_op_word(kiln_str *rest, kiln_str *word);

/* Holds the outputs of one call against what they must be (kiln_expect). */
void kiln_call_compare(kiln_arena *a, kiln_call *c, const kiln_expected *want,
                       kiln_verdict *out);

/* ---- baselines (rivals.c) -------------------------------------------------------- */

/* Those of `o` for one operator, made ready and compared; kept in the row, whose memory
 * is in `a`. They end with `scratch`. */
kiln_rivals *kiln_op_rivals_open(kiln_arena *a, kiln_arena *scratch, const kiln_call *c,
                                 const kiln_expected *want, const kiln_bench_options *o,
                                 kiln_bench_row *row);

/* kiln_call_time, in rounds with rivals (NULL: none): then kiln's own samples go to
 * `own`, whose memory is in `a`. */
kiln_status kiln_call_time_beside(kiln_arena *a, kiln_call *c, kiln_meter *m,
                                  double seconds, kiln_rivals *rivals,
                                  kiln_sample_list *own, kiln_timing *out,
                                  kiln_err *err);

/* How all operators stand to each of `which` (NULL: none). */
void kiln_op_standings(kiln_arena *a, kiln_bench *b, const kiln_baseline *const *which);
void kiln_op_rivals_text(kiln_buf *out, const kiln_bench *b);

/* What is known of a row's code; and the row, on so many threads, as a JSON object. */
void kiln_bench_row_fill(kiln_bench_row *row, const kiln_kernel *k,
                         const kiln_hot_loops *h, const kiln_profile *p);
void kiln_bench_row_put(kiln_json_writer *w, const kiln_bench_row *r, int threads);

#endif
