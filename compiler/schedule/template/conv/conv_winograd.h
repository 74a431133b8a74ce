/* Shared by the files of the conv_winograd template: what a configuration says. */
#ifndef KILN_COMPILER_SCHEDULE_TEMPLATE_CONV_CONV_WINOGRAD_H
#define KILN_COMPILER_SCHEDULE_TEMPLATE_CONV_CONV_WINOGRAD_H

#include "compiler/graph/winograd.h"
#include "compiler/schedule/template/conv/conv_direct.h"

/* Fewer channels than this on either side, and transforms have more operations than
 * products: no machine's number. */
enum { KILN_WINOGRAD_MIN_CHANNELS = 4 };
/* Of tiles: all taps that have any have these. */
enum { KILN_WINOGRAD_LEAST_SIZE = 2 };

/* The knobs. */
enum {
    KILN_WINOGRAD_SIZE,
    KILN_WINOGRAD_OC_BLOCK,
    KILN_WINOGRAD_IC_BLOCK,
    KILN_WINOGRAD_TILE,
    KILN_WINOGRAD_OC_CHUNK,
    KILN_WINOGRAD_ROW_CHUNK,
    KILN_WINOGRAD_TRANSFORM,
    KILN_WINOGRAD_UNROLL,
    KILN_WINOGRAD_FETCH
};

typedef struct kiln_winograd_plan {
    kiln_winograd_pair by;
    const kiln_op_def *packing; /* of its weights */
    int64_t oc_block, ic_block;
    int64_t tile[3]; /* rows and columns of tiles, channel blocks: in registers */
    int64_t oc_chunk, row_chunk, unroll;
    bool is_ahead; /* all of x is transformed before anything is multiplied */
    bool fetches;  /* the next panel of weights, where that can pay */
} kiln_winograd_plan;

kiln_status kiln_winograd_space(const kiln_workload *w, const kiln_profile *profile,
                                kiln_space *out, kiln_err *err);
/* Tiles of outputs along an axis: 0, rows; 1, columns. */
int64_t kiln_winograd_tiles(const kiln_conv_problem *p, const kiln_winograd_pair *by,
                            int axis);
/* By how many tiles one after another the next panel of weights is fetched, each a part
 * of it; 0: nobody asks for it, or it would not pay. It does where panels pass several tiles, all of them are
 * too many for the L2 cache, two fit into half of it, a line holds whole vectors, a block
 * of x's channels whole lines, and chunks of channels are whole panels. */
int64_t kiln_winograd_fetches(const kiln_conv_problem *p, const kiln_winograd_plan *x);
/* Blocks of y's channels of one chunk. */
int64_t kiln_winograd_chunk(const kiln_conv_problem *p, const kiln_winograd_plan *x);
/* Rows of register tiles of a chunk. */
int64_t kiln_winograd_row_passes(const kiln_conv_problem *p,
                                 const kiln_winograd_plan *x);
kiln_config kiln_winograd_guess(const kiln_workload *w, const kiln_profile *profile,
                                const kiln_space *s);
bool kiln_winograd_pays(const kiln_workload *w, const kiln_profile *profile);
kiln_winograd_plan kiln_winograd_plan_of(const kiln_workload *w, const kiln_space *s,
                                         const kiln_config *c);
/* Of weights for tiles of so many outputs in such steps; NULL: none. By winograd_weights.c. */
const kiln_op_def *kiln_winograd_packing(int64_t size, int64_t stride);
/* Tiles of so many outputs along each axis of more than one tap, of the workload's taps
 * and steps; false: there are none. */
bool kiln_winograd_of_work(const kiln_workload *w, int64_t size,
                           kiln_winograd_pair *out);

#endif
