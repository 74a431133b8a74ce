/* Protobuf messages written as text, for tests of formats that are made of it:
 *
 *     1:5 2:'text' 3:{1:1} 4:[1,2,3] 5:f1.5 6:(1 2.5) 7:w(1 2.5) 8:(*100)
 *
 * a number, bytes, a message, packed numbers, a float, packed floats, a message whose
 * field 1 is packed floats (weights of Core ML), and 100 packed floats that are 0.
 */
#ifndef KILN_TESTS_SUPPORT_MODEL_PB_TEXT_H
#define KILN_TESTS_SUPPORT_MODEL_PB_TEXT_H

#include "base/base.h"

/* Asserts that the text is such. */
kiln_str kiln_test_pb(kiln_arena *a, const char *text);

#endif
