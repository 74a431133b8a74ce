/* The angle of a point, for formats that have it as one operator. */
#ifndef KILN_COMPILER_FRONTEND_ANGLES_H
#define KILN_COMPILER_FRONTEND_ANGLES_H

#include "compiler/frontend/compose.h"

/* atan2(y, x) in [-pi, pi], of floats of one dtype that broadcast; signs of zeros count, as
 * C's do. */
kiln_value *kiln_compose_atan2(kiln_compose *c, kiln_value *y, kiln_value *x);

#endif
