/* Loops that contractions share: blocks around panels around register tiles. Used by
 * the templates for matrix products and convolutions that are one. */
#ifndef KILN_COMPILER_SCHEDULE_TEMPLATE_TILES_H
#define KILN_COMPILER_SCHEDULE_TEMPLATE_TILES_H

#include "compiler/schedule/template.h"
#include "compiler/target/target.h"

enum { KILN_TILE_ROWS = 2 };

typedef struct kiln_tile_axis {
    int axis;            /* of the output */
    int64_t tile, block; /* elements; block 0: the whole axis, else whole tiles */
} kiln_tile_axis;

/* Which loops become one parallel loop; the words of a knob. */
typedef enum kiln_tiles_parallel {
    KILN_TILES_SERIAL,
    KILN_TILES_BLOCKS, /* those around the panels */
    KILN_TILES_OUTER,  /* and the outer panels */
    KILN_TILES_ALL,    /* and the inner panels: an iteration is a register tile */
    KILN_N_TILES_PARALLEL
} kiln_tiles_parallel;
extern const char *const kiln_tiles_parallel_words[KILN_N_TILES_PARALLEL];

/* How the axes of an output are walked. Rows are what one operand is broadcast over,
 * columns what the other has in vectors. */
typedef struct kiln_tiles {
    int n_outer, outer[KILN_MAX_AXES]; /* axes that are only loops around */
    int n_row;
    kiln_tile_axis row[KILN_TILE_ROWS];
    bool has_col;
    kiln_tile_axis col;
    int lane_axis; /* the axis that vectors run along; -1: split off the column's tile
                    */
    int64_t lanes;
    bool columns_outer; /* panels of columns around panels of rows */
    kiln_tiles_parallel parallel;
    /* What kiln_tiles_accumulate sums up by; NULL: multiply-adds of vectors. */
    const struct kiln_tensor_intrin *dot;
} kiln_tiles;

/* Loops of a stage over the output after kiln_tiles_nest. */
typedef struct kiln_tile_loops {
    kiln_iter *cut;   /* the reduction loop in front of the panels; NULL: none */
    kiln_iter *block; /* innermost of those around the panels */
    kiln_iter *outer; /* innermost of the outer panels */
    kiln_iter *tile;  /* innermost of the panels: one iteration is one register tile */
    /* for kiln_tiles_fuse: those around the panels, the outer and the inner panels */
    kiln_iter *around[KILN_MAX_AXES], *outers[KILN_TILE_ROWS], *inners[KILN_TILE_ROWS];
    int n_around, n_outers, n_inners;
} kiln_tile_loops;

/* Splits and orders the loops: around, cut, outer panels, inner panels, rows, vectors,
 * lanes; the last three unrolled and vectorised. */
kiln_status kiln_tiles_nest(kiln_stage *st, const kiln_tiles *t, kiln_iter *cut,
                            kiln_tile_loops *out, kiln_err *err);
/* One parallel loop out of those that t->parallel says. */
kiln_status kiln_tiles_fuse(kiln_stage *st, const kiln_tiles *t, kiln_tile_loops *l,
                            kiln_err *err);
/* A stage that computes one tile in registers: the given reduction loops outside, then
 * rows, vectors, lanes. Its axes are those of the output behind the first `skip`. With
 * t->dot the last of the reduction loops is the intrinsic's own, and innermost. */
kiln_status kiln_tiles_accumulate(kiln_stage *st, const kiln_tiles *t, int skip,
                                  kiln_iter *const *reduce, int n_reduce,
                                  kiln_err *err);

/* Accumulators, one vector for each column, and one broadcast element. */
int64_t kiln_tile_registers(int64_t rows, int64_t vectors);
/* How much of what goes on beside multiply-adds is seen in a convolution's tile: 1, or
 * less where wide vectors leave time. */
double kiln_tile_shown(const kiln_profile *p);
/* Loads of one element a cycle. */
int kiln_broadcast_ports(const kiln_profile *p);
/* Cycles of one term of a tile, for guesses: see tiles.c. */
double kiln_tile_cycles(const kiln_profile *p, int64_t rows, int64_t vectors);
/* Beside its terms: so many sums begin, end, wait for the last of them, and the branch
 * behind the last term is foreseen by nobody. `are_added`: to what is in memory. */
double kiln_tile_entry_cycles(const kiln_profile *p, double sums, bool are_added);
/* A tile ends with so many vectors of y (the anchor's), each read into the cache and
 * written back beside what the epilogue reads of y's shape: what nothing hides of that. */
double kiln_tile_late_cycles(const kiln_workload *w, const kiln_profile *p,
                             int64_t vectors, int64_t vector_bytes);
/* The same for all of an output, tails included; has_turns: as kiln_tile_shown and
 * kiln_broadcast_ports have it. (Products have no such estimates yet: what they choose
 * where vectors take turns is within 6% of the best known.) */
double kiln_tiles_cycles(const kiln_profile *p, int64_t rows, int64_t vectors,
                         int64_t tile_rows, int64_t tile_vectors, bool has_turns);

/* How many iterations each kind of parallel loop has. */
typedef struct kiln_tile_counts {
    int64_t blocks, outer, inner; /* of the loops of each kind by themselves */
} kiln_tile_counts;
/* For guesses: the kind up to `most` that the profile's cores share well enough and
 * that fuses fewest loops; serial where `muladds` are too few to fork for. */
kiln_tiles_parallel kiln_tiles_guess_parallel(const kiln_profile *p, kiln_tile_counts n,
                                              double muladds, kiln_tiles_parallel most);

/* A copy of what `reader` reads of te, at loop x of `at`: its last axis in vectors of
 * `lanes`. */
kiln_status kiln_tile_copy(kiln_schedule *s, const kiln_te *te, kiln_stage *reader,
                           kiln_stage *at, kiln_iter *x, int64_t lanes,
                           kiln_stage **out, kiln_err *err);
/* Element-wise stages are computed where they are read. */
kiln_status kiln_inline_injective(kiln_schedule *s, kiln_err *err);
/* The stage with the tag: there must be one. */
kiln_stage *kiln_stage_tagged(kiln_schedule *s, const char *tag);

#endif
