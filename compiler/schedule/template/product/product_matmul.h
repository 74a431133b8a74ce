/* Knobs of the template for matrix products, and what a configuration of them says.
 * Inside compiler/schedule/template: product_matmul.c, matmul_guess.c, matmul_cycles.c. */
#ifndef KILN_COMPILER_SCHEDULE_TEMPLATE_PRODUCT_PRODUCT_MATMUL_H
#define KILN_COMPILER_SCHEDULE_TEMPLATE_PRODUCT_PRODUCT_MATMUL_H

#include "compiler/schedule/template/product/product.h"

typedef enum kiln_matmul_knob {
    KILN_MATMUL_TILE_M,
    KILN_MATMUL_TILE_N,
    KILN_MATMUL_BLOCK_M,
    KILN_MATMUL_BLOCK_N,
    KILN_MATMUL_BLOCK_K,
    KILN_MATMUL_UNROLL_K,
    KILN_MATMUL_ORDER,
    KILN_MATMUL_PACK_A,
    KILN_MATMUL_PACK_B,
    KILN_MATMUL_PARALLEL
} kiln_matmul_knob;

typedef struct kiln_matmul_plan {
    int64_t tile_m, tile_n, block_m, block_n, block_k, unroll_k;
    bool columns_outer, pack_a, pack_b_ahead, pack_b_inside;
    kiln_tiles_parallel parallel;
} kiln_matmul_plan;
kiln_matmul_plan kiln_matmul_plan_of(const kiln_space *s, const kiln_config *c);

/* a and b are one value: a copy of one would be read as the other, too, so they stay
 * where they are. */
bool kiln_matmul_is_by_itself(const kiln_product *x);
/* Without a search: by shapes, caches and the machine model. */
kiln_config kiln_matmul_guess(const kiln_workload *w, const kiln_profile *prof,
                              const kiln_space *s);

/* ---- parts of the guess --------------------------------------------------------------
 *
 * Not of a machine: three tiles of rows read what was copied, once each, where the copy
 * reads and writes it; and so many blocks that a smaller last one is little of them. */
enum { KILN_MATMUL_MIN_ROWS = 24, KILN_MATMUL_MIN_BLOCKS = 16 };

/* Terms between two cuts of a tile of so many rows and vectors. */
int64_t kiln_matmul_guess_cut(const kiln_profile *p, int64_t rows, int64_t vectors);
/* Rows of a would push each other out of the L1 cache. */
bool kiln_matmul_needs_copies(const kiln_product *x, int64_t tile_m);
/* Sets which loops run on several threads; how many iterations those have. */
int64_t kiln_matmul_guess_parallel(const kiln_product *x, const kiln_profile *prof,
                                   const kiln_space *s, kiln_config *c);
/* The rule's configuration, or one that the cycle model likes much better. */
kiln_config kiln_matmul_by_cycles(const kiln_product *x, const kiln_profile *prof,
                                  const kiln_space *s, const kiln_config *rule);
/* Rows of a are so long that the L2 cache holds few beside the panels of b. */
bool kiln_matmul_wants_cuts(const kiln_product *x, int64_t tile_n);
/* The rule's configuration, or one that cuts the terms where that should be faster. */
kiln_config kiln_matmul_by_cuts(const kiln_product *x, const kiln_profile *prof,
                                const kiln_space *s, const kiln_config *rule);

#endif
