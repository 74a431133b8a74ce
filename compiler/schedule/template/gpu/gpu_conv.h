/* Convolution on a GPU: what a configuration of gpu_conv means. Inside
 * compiler/schedule/template/gpu. */
#ifndef KILN_COMPILER_SCHEDULE_TEMPLATE_GPU_GPU_CONV_H
#define KILN_COMPILER_SCHEDULE_TEMPLATE_GPU_GPU_CONV_H

#include "compiler/schedule/template/gpu/gpu_tiles.h"

typedef struct kiln_gpu_conv_problem {
    const kiln_profile *profile;
    int n_spatial,
        channels;        /* axis of the output that channels are; spatial ones follow */
    int64_t filter_sets; /* of the batch: 1 where all of it has the same filters */
    int64_t batch, groups, c, o; /* channels of a group */
    int64_t oh, ow, iw, taps;
    int64_t kernel[2];         /* rows, columns of a window */
    int64_t step[2], reach[2]; /* of rows, columns: stride, elements of a window */
    int64_t elems;             /* of the output */
    int64_t far;               /* of further axes: taps of one output element */
    int64_t bytes, sum_bytes;
    bool
        is_depthwise; /* groups are channels: one group of o, each with its own input */
    bool is_packed;   /* weights lie by input channel, tap, output channel */
    bool has_window;  /* what a block reads is padded, or more than its own columns */
} kiln_gpu_conv_problem;

kiln_gpu_conv_problem kiln_gpu_conv_problem_of(const kiln_workload *w,
                                               const kiln_profile *p);

typedef enum kiln_gpu_conv_fetch {
    KILN_GPU_CONV_NONE,
    KILN_GPU_CONV_SHARED, /* patch and filters, by the block */
    KILN_GPU_CONV_LOCAL   /* each thread its patch in registers; filters as they lie */
} kiln_gpu_conv_fetch;

enum { KILN_GPU_CONV_OC, KILN_GPU_CONV_OH, KILN_GPU_CONV_OW };
typedef struct kiln_gpu_conv_plan {
    int64_t threads[3], tile[3]; /* channels, rows, columns */
    int64_t threads_k;           /* share one sum */
    int64_t splits;              /* blocks that do */
    int64_t step_ic, lanes;
    kiln_gpu_conv_fetch fetch;
    bool ahead, is_async; /* is_async: only with ahead */
} kiln_gpu_conv_plan;

kiln_gpu_conv_plan kiln_gpu_conv_plan_of(const kiln_space *s, const kiln_config *c);
/* The options next to it. */
kiln_config kiln_gpu_conv_config(const kiln_space *s, const kiln_gpu_conv_plan *x);
/* KILN_ERR_ARG: more than the profile has, or parts of no terms. */
kiln_status kiln_gpu_conv_check(const kiln_gpu_conv_problem *p,
                                const kiln_gpu_conv_plan *x, kiln_err *err);

/* Of channels, rows or columns, what a block has. */
int64_t kiln_gpu_conv_block(const kiln_gpu_conv_plan *x, int axis);
/* Elements of x that a block reads of one channel: rows, columns as they lie there. */
int64_t kiln_gpu_conv_rows(const kiln_gpu_conv_problem *p, const kiln_gpu_conv_plan *x);
int64_t kiln_gpu_conv_columns(const kiln_gpu_conv_problem *p,
                              const kiln_gpu_conv_plan *x);
/* Elements that a block reads of x for one input channel of its outputs. */
int64_t kiln_gpu_conv_patch(const kiln_gpu_conv_problem *p,
                            const kiln_gpu_conv_plan *x);
/* Bytes of shared memory that one step takes. */
int64_t kiln_gpu_conv_shared(const kiln_gpu_conv_problem *p,
                             const kiln_gpu_conv_plan *x);

enum { KILN_GPU_CONV_KNOBS = 12 };
/* Knobs of a space, the first ones; what a plan is in a launch, and copies that it fetches
 * of an operand, whose first axis of channels is that of the output less one for
 * filters. */
void kiln_gpu_conv_knobs(const kiln_gpu_conv_problem *p, kiln_space *s);
kiln_gpu_tiles kiln_gpu_conv_tiles(const kiln_gpu_conv_problem *p,
                                   const kiln_gpu_conv_plan *x);
void kiln_gpu_conv_fetches(const kiln_gpu_conv_problem *p, const kiln_gpu_conv_plan *x,
                           const kiln_te *in, bool is_filter, kiln_gpu_tiles *t);

/* Cycles, by the model of the machine; the plan that has fewest. */
double kiln_gpu_conv_cycles(const kiln_gpu_conv_problem *p,
                            const kiln_gpu_conv_plan *x);
kiln_gpu_conv_plan kiln_gpu_conv_best(const kiln_gpu_conv_problem *p,
                                      const kiln_space *s);
kiln_config kiln_gpu_conv_guess(const kiln_workload *w, const kiln_profile *prof,
                                const kiln_space *s);

#endif
