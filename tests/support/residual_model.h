/* A small network as ResNet has them, of any batch: two residual blocks on 3x8x8. */
#ifndef KILN_TESTS_SUPPORT_RESIDUAL_MODEL_H
#define KILN_TESTS_SUPPORT_RESIDUAL_MODEL_H

#include "tests/support/kiln_test.h"

/* Writes it as ONNX: input "data" f32[batch,3,8,8], output "scores" f32[batch,10]. */
void kiln_test_write_residual(const char *path);

#endif
