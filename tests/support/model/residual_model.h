/* A small network as ResNet has them, of any batch: two residual blocks on 3x8x8. */
#ifndef KILN_TESTS_SUPPORT_MODEL_RESIDUAL_MODEL_H
#define KILN_TESTS_SUPPORT_MODEL_RESIDUAL_MODEL_H

#include "pipeline/package/package.h"
#include "tests/support/kiln_test.h"

/* Writes it as ONNX: input "data" f32[batch,3,8,8], output "scores" f32[batch,10]. */
void kiln_test_write_residual(const char *path);
/* A package of the model for a batch and a profile, into that file. The test fails where
 * it cannot be built. */
kiln_build kiln_test_build_residual(const char *model, const char *profile,
                                    int64_t batch, const char *path);
/* Several of these in one archive; `path` comes back. */
const char *kiln_test_join(kiln_build *part, size_t n, const char *path);

#endif
