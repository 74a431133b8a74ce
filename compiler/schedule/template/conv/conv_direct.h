/* Shared by the files of the conv_direct template: the convolution, and what a
 * configuration says of it. */
#ifndef KILN_COMPILER_SCHEDULE_TEMPLATE_CONV_CONV_DIRECT_H
#define KILN_COMPILER_SCHEDULE_TEMPLATE_CONV_CONV_DIRECT_H

#include "compiler/schedule/template.h"

enum { KILN_CONV_TILE_OH, KILN_CONV_TILE_OW, KILN_CONV_TILE_OC };

typedef struct kiln_conv_problem {
    const kiln_workload *w;
    const kiln_profile *profile;
    int n_spatial;
    int64_t groups, c, o;     /* channels of x, of y */
    int64_t c_group, o_group; /* of one group */
    int64_t oh, ow;           /* rows are 1 where there is one spatial axis */
    int64_t stride_h;         /* of the rows */
    int64_t extent_h;         /* rows of x that one row of y reads */
    int64_t lanes;            /* of a vector of accumulators */
    int64_t block, blocks;    /* largest block of y's channels; so many in a group */
    int64_t elem_bytes;       /* of x */
    bool pads;
    /* Of bytes (byte_dot.h): four channels in a block, or of one channel four taps that
     * read neighbours; NULL: neither. */
    const struct kiln_tensor_intrin *dot;
    bool adds_taps;
} kiln_conv_problem;

/* What a configuration says. */
typedef struct kiln_conv_plan {
    int64_t oc_block, ic_block, tile[3], oc_chunk, oh_chunk, unroll;
    bool rows_outer, rows_inner, taps_outer;
    enum { KILN_CONV_PAD_AHEAD, KILN_CONV_PAD_CHUNK, KILN_CONV_PAD_NONE } pad;
    bool fetches; /* the knob; what comes of it says kiln_conv_fetches */
} kiln_conv_plan;

kiln_conv_problem kiln_conv_problem_of(const kiln_workload *w,
                                       const kiln_profile *profile);
kiln_status kiln_conv_direct_space(const kiln_workload *w, const kiln_profile *profile,
                                   kiln_space *out, kiln_err *err);
kiln_config kiln_conv_direct_guess(const kiln_workload *w, const kiln_profile *profile,
                                   const kiln_space *s);
/* False where the generic template is faster: vectors of few channels are mostly empty. */
bool kiln_conv_direct_pays(const kiln_workload *w, const kiln_profile *profile);
kiln_conv_plan kiln_conv_plan_of(const kiln_conv_problem *p, const kiln_space *s,
                                 const kiln_config *c);

/* Are the sums of a plan made of dot products? They read whole blocks, and padding from
 * memory. */
bool kiln_conv_uses_dot(const kiln_conv_problem *p, const kiln_conv_plan *x);
/* Steps of the reduction that one body may hold: one where it exists once more for each
 * side of the padding. */
int64_t kiln_conv_steps(const kiln_conv_plan *x);
/* Tiles of rows (else of columns, where a chunk has one row of tiles) that a panel of
 * weights passes, each of which fetches a part of the next panel; 0: nothing is fetched,
 * as the knob says or as it would not pay. */
int64_t kiln_conv_fetches(const kiln_conv_problem *p, const kiln_conv_plan *x);
/* Tiles of rows in a chunk. */
int64_t kiln_conv_row_passes(const kiln_conv_problem *p, const kiln_conv_plan *x);
/* Would the rule fetch weights? */
bool kiln_conv_direct_guess_fetches(const kiln_workload *w,
                                    const kiln_profile *profile);

/* Of blocks of x's channels: as they come, else as many as waste little. */
int64_t kiln_conv_direct_guess_ic_block(const kiln_conv_problem *p);
/* Of one step of the sums of an output: rows, columns and channel blocks in register
 * tiles; what a tile leaves over is a smaller tile. */
double kiln_conv_tile_cycles(const kiln_profile *p, const int64_t *extent,
                             const int64_t *tile);
/* Of the knobs' options (tile, oc_chunk, oh_chunk) those that take the fewest cycles,
 * on one thread and on as many as the profile has cores. */
void kiln_conv_direct_guess_loops(const kiln_conv_problem *p, const kiln_knob *tiles,
                                  const kiln_knob *oc_chunk, const kiln_knob *oh_chunk,
                                  int option[3]);

static inline int64_t kiln_conv_min(int64_t x, int64_t y) { return x < y ? x : y; }
/* The largest divisor of n that is at most `most`. */
static inline int64_t kiln_conv_divisor(int64_t n, int64_t most) {
    int64_t d = kiln_conv_min(n, most);
    while (n % d != 0)
        d--;
    return d;
}

#endif
