/* What a matrix product multiplies, whatever operator says it: matmul or gemm, with or
 * without batch axes, rows or columns. Shared by the templates for them. */
#ifndef KILN_COMPILER_SCHEDULE_TEMPLATE_PRODUCT_PRODUCT_H
#define KILN_COMPILER_SCHEDULE_TEMPLATE_PRODUCT_PRODUCT_H

#include "compiler/schedule/cycles.h"
#include "compiler/schedule/template.h"

#include "compiler/schedule/template/tiles.h"

typedef struct kiln_product {
    const kiln_workload *w;
    const kiln_profile *profile;
    const kiln_value *a, *b;
    bool collapses; /* batch axes and rows are one axis: row 0, and col 1 */
    int n_batch;    /* leading axes of y */
    int row, col;   /* axes of y; -1: that operand is a vector */
    int b_axis;     /* the axis of b along n; -1: it has none */
    int64_t batch, m, n, k;
    int64_t lanes;             /* of a vector of accumulators */
    bool a_along_k, b_along_k; /* terms of an element of y lie next to each other */
    bool b_along_n;            /* elements of a row of b do */
    bool is_const_b;           /* or element-wise from constants */
    int64_t a_row_bytes;       /* from one row of a to the next */
} kiln_product;

/* The workload multiplies matrices and gives one output of the product's shape, of one
 * axis at least. */
bool kiln_product_fits(const kiln_workload *w);
kiln_product kiln_product_of(const kiln_workload *w, const kiln_profile *profile);
/* b, or what it is computed from element by element: a cast or a difference with a zero
 * point is computed where b is read, or packed with it. */
const kiln_value *kiln_product_source_of_b(const kiln_product *x);

/* Loops over y: tiles of tile_m x tile_n, blocks of so many panels (0: all). */
kiln_tiles kiln_product_tiles(const kiln_product *x, int64_t tile_m, int64_t tile_n,
                              int64_t block_m, int64_t block_n);
/* How often each loop of such tiles runs; their multiply-adds. */
kiln_tile_counts kiln_product_counts(const kiln_product *x, int64_t tile_m,
                                     int64_t tile_n, int64_t block_m, int64_t block_n,
                                     bool columns_outer);
double kiln_product_muladds(const kiln_product *x);
/* Loops of a plan, for guesses: tiles, blocks in panels (0: all), terms in a cut (0:
 * all), whether each part copies its rows of a first, and how many iterations threads
 * share. */
typedef struct kiln_product_plan {
    int64_t tile_m, tile_n, block_m, block_n, block_k;
    bool columns_outer, pack_a;
    bool fetches; /* the next panel comes while one passes: caches hold both */
    int64_t parallel;
} kiln_product_plan;
/* What such loops take, by the machine model, with b from memory where it is constant:
 * one term of a tile is the body. */
kiln_cycles kiln_product_cycles(const kiln_product *x, const kiln_product_plan *p,
                                int threads);
/* b is constant and so large that it is in no near cache when it is multiplied. */
bool kiln_product_streams_b(const kiln_product *x);
/* The loops around one register tile, as far as they say what comes next. */
typedef struct kiln_product_walk {
    kiln_iter *rows; /* over tiles of rows that one panel of b passes, or these fused
                        into one loop with those around them */
    int64_t n_rows;  /* how many tiles of rows a panel passes */
    kiln_iter *k;    /* over terms */
    int64_t terms;   /* of a tile: all, or those of a cut */
    int64_t tile_n;  /* columns of a panel */
    int64_t next;    /* elements of b from what a panel's tiles read to what is next */
    /* The loop whose last iteration has another next, `last_next`; NULL: none. */
    kiln_iter *cols;
    int64_t last_next;
} kiln_product_walk;
/* What the loop over terms of `st` fetches of b, packed in panels. Nothing where that
 * would not pay. */
kiln_status kiln_product_fetch(const kiln_product *x, kiln_stage *st, const kiln_te *b,
                               const kiln_product_walk *walk, kiln_err *err);
/* Everything the workload computes, in these layouts (by value id; NULL: as typed),
 * with an untouched schedule but for element-wise stages, which are inlined; *acc is
 * the stage that sums, *y the output behind it. */
kiln_status kiln_product_compute(kiln_arena *a, const kiln_product *x,
                                 const kiln_layout *layout, kiln_scheduled *out,
                                 kiln_stage **acc, kiln_stage **y, kiln_err *err);

#endif
