/* How a stage walks through memory: for templates that derive loops from the tensor
 * expressions themselves. Inside compiler/schedule/template. */
#ifndef KILN_COMPILER_SCHEDULE_TEMPLATE_ACCESS_H
#define KILN_COMPILER_SCHEDULE_TEMPLATE_ACCESS_H

#include "compiler/schedule/schedule_internal.h"

/* Axes are counted through: spatial ones, then the reduction's. */
enum { KILN_MAX_STAGE_AXES = 2 * KILN_MAX_AXES };

/* One read in the body. step[i]: elements from one iteration of axis i to the next in
 * row-major memory; KILN_NO_STEP where that is not constant. */
typedef struct kiln_access {
    const kiln_expr *read;
    int64_t step[KILN_MAX_STAGE_AXES];
} kiln_access;
#define KILN_NO_STEP INT64_MIN

typedef struct kiln_accesses {
    const kiln_te *te; /* as it will be computed: inlined */
    int n_axes, n_spatial;
    int64_t extent[KILN_MAX_STAGE_AXES];
    int64_t store_step[KILN_MAX_STAGE_AXES]; /* 0: reduction axes */
    KILN_VEC(kiln_access) read;
    double ops;    /* per evaluation: arithmetic is 1, functions more */
    int max_bytes; /* of the widest element read or written */
} kiln_accesses;

void kiln_accesses_of(kiln_arena *a, const kiln_te *te, kiln_accesses *out);

/* Of the widest element that lanes along `axis` take up: integers that all of them share
 * are places, which take up none. */
int kiln_accesses_lane_bytes(const kiln_accesses *x, int axis);

/* About how many vector instructions the stage takes when `axis` runs over lanes of
 * `lanes` elements; axis -1: scalar code. `extent` (n_axes entries) overrides the axes'
 * own where the stage computes only a region. */
double kiln_accesses_cost(const kiln_accesses *x, const int64_t *extent, int axis,
                          int lanes);
/* What goes again and again through the same memory as `axis` runs: instructions per
 * evaluation saved when several iterations share a load. */
double kiln_accesses_reuse(const kiln_accesses *x, int axis, int vector_axis,
                           int lanes);
/* Does some read step by one element along `axis`? */
bool kiln_accesses_contiguous(const kiln_accesses *x, int axis);
/* Does some read neither stay nor step by one element along `axis`? */
bool kiln_accesses_strided(const kiln_accesses *x, int axis);
/* Does some read step by one element along `rows` and by more along `axis`? Squares of
 * so many rows and more are turned in registers. */
enum { KILN_LEAST_TURNED = 4 };
bool kiln_accesses_turned(const kiln_accesses *x, int rows, int axis);

/* Arithmetic of an expression, by the same measure as kiln_accesses.ops. */
double kiln_expr_work(const kiln_expr *e);

#endif
