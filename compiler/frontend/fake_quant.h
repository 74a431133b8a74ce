/* Numbers rounded to the steps of a quantisation and back, as training leaves them in a
 * graph: fake quantisation of TensorFlow and TensorFlow Lite. */
#ifndef KILN_COMPILER_FRONTEND_FAKE_QUANT_H
#define KILN_COMPILER_FRONTEND_FAKE_QUANT_H

#include "compiler/frontend/compose.h"

/* n ranges min to max, 1 or one for each element of x's last axis; 2 to 16 bits, of which
 * is_narrow leaves out the lowest step. Each range is moved so that zero is one of the
 * steps; of one that is 0 to 0 comes 0. KILN_ERR_SHAPE: a range is none, or they are
 * not as many as the axis has. */
kiln_value *kiln_compose_fake_quant(kiln_compose *c, kiln_value *x, const double *min,
                                    const double *max, size_t n, int64_t bits,
                                    bool is_narrow);

#endif
