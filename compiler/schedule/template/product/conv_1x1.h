/* Knobs of the template for convolutions of one tap, and what a configuration of them
 * says. Inside compiler/schedule/template: conv_1x1.c, conv_1x1_guess.c. */
#ifndef KILN_COMPILER_SCHEDULE_TEMPLATE_PRODUCT_CONV_1X1_H
#define KILN_COMPILER_SCHEDULE_TEMPLATE_PRODUCT_CONV_1X1_H

#include "compiler/schedule/template.h"

#include "compiler/schedule/template/tiles.h"

typedef enum kiln_conv_1x1_knob {
    KILN_CONV_1X1_OC_BLOCK,
    KILN_CONV_1X1_IC_BLOCK,
    KILN_CONV_1X1_TILE_ROWS,
    KILN_CONV_1X1_TILE_P,
    KILN_CONV_1X1_TILE_OC,
    KILN_CONV_1X1_BLOCK_P,
    KILN_CONV_1X1_BLOCK_OC,
    KILN_CONV_1X1_UNROLL_IC,
    KILN_CONV_1X1_ORDER,
    KILN_CONV_1X1_PACK_X,
    KILN_CONV_1X1_PARALLEL
} kiln_conv_1x1_knob;

/* What is convolved, as the template walks it. */
typedef struct kiln_conv_1x1 {
    const kiln_workload *w;
    const kiln_profile *profile;
    int n_spatial;  /* axes of x */
    bool collapses; /* its spatial axes are one */
    int64_t images;
    int64_t c, o;       /* channels of x, of y */
    int64_t rows, cols; /* of y that tiles cut; rows 1 where it is collapsed */
    int64_t pixels;     /* of y, in all */
    int64_t lanes;      /* of a vector of accumulators */
    int64_t elem_bytes; /* of x */
    const struct kiln_tensor_intrin *dot; /* of bytes (byte_dot.h); NULL: none */
} kiln_conv_1x1;
kiln_conv_1x1 kiln_conv_1x1_of(const kiln_workload *w, const kiln_profile *profile);

typedef struct kiln_conv_1x1_plan {
    int64_t oc_block, ic_block, tile_rows, tile_p, tile_oc, block_p, block_oc;
    int64_t unroll;
    bool channels_outer, pack;
    kiln_tiles_parallel parallel;
} kiln_conv_1x1_plan;
kiln_conv_1x1_plan kiln_conv_1x1_plan_of(const kiln_space *s, const kiln_config *c);

/* Without a search: by shapes, caches and the machine model. */
kiln_config kiln_conv_1x1_guess(const kiln_workload *w, const kiln_profile *profile,
                                const kiln_space *s);

#endif
