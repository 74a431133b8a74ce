/* Inside pipeline/kernels. */
#ifndef KILN_PIPELINE_KERNELS_INTERNAL_H
#define KILN_PIPELINE_KERNELS_INTERNAL_H

#include "pipeline/kernels/kernels.h"

/* The function of an object, callable until the arena is reset. */
kiln_status kiln_object_load(kiln_arena *a, const kiln_object *o, const char *name,
                             kiln_kernel_fn **out, kiln_err *err);

/* Page-aligned memory between canaries. */
kiln_guarded kiln_guarded_new(kiln_arena *a, size_t bytes);
/* Was a byte beside the data written? `at`: its offset from the data. */
bool kiln_guarded_broken(const kiln_guarded *g, int64_t *at);

/* Lines [begin, end] of a text, counted from 1. */
kiln_str kiln_text_lines(kiln_str text, int begin, int end);

/* The entry of configs.def for this profile and one of the keys, as JSON; NULL: none.
 */
kiln_status kiln_shipped_config(kiln_arena *a, const kiln_op_work *w,
                                const kiln_profile *p, const char **tmpl,
                                const kiln_json **config, kiln_err *err);

/* Cuts the next word off; false where there is none. */
bool kiln_op_word(kiln_str *rest, kiln_str *word);

/* What is known of a row's code; and the row as a JSON object. */
void kiln_bench_row_fill(kiln_bench_row *row, const kiln_kernel *k,
                         const kiln_hot_loops *h);
void kiln_bench_row_put(kiln_json_writer *w, const kiln_bench_row *r);

#endif
