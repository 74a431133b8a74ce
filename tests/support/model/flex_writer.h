/* FlexBuffers maps for tests: options of TensorFlow Lite's custom operators. */
#ifndef KILN_TESTS_SUPPORT_MODEL_FLEX_WRITER_H
#define KILN_TESTS_SUPPORT_MODEL_FLEX_WRITER_H

#include "base/base.h"

/* "a 3, b 0.5": keys in order of bytes, each with a number; one with a point is a float.
 * All are 4 bytes wide. In the test arena. */
kiln_str kiln_test_flex_map(const char *text);

#endif
