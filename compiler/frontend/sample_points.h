/* What images have at points between their pixels, which data may say. */
#ifndef KILN_COMPILER_FRONTEND_SAMPLE_POINTS_H
#define KILN_COMPILER_FRONTEND_SAMPLE_POINTS_H

#include "compiler/frontend/compose.h"

typedef struct kiln_points {
    kiln_value *image; /* integers: which one; NULL: the first */
    kiln_value *y, *x; /* floats, in pixels from the centre of the first one */
    bool is_nearest;   /* the nearest pixel, of two the later; false: between four */
    double outside;    /* of points beyond the centres of the first and last pixels */
} kiln_points;

/* images [N, H, W, C], none of which is 0; the points' values broadcast against each
 * other to a shape of at most 7 axes. Gives [that shape, C] of floats. */
kiln_value *kiln_compose_sample(kiln_compose *c, kiln_value *images,
                                const kiln_points *p);

#endif
