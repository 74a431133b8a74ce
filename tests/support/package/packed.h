/* Constants as kernels read them, by the interpreter: what is only moved is moved, what
 * is computed is made by its loop program. */
#ifndef KILN_TESTS_SUPPORT_PACKAGE_PACKED_H
#define KILN_TESTS_SUPPORT_PACKAGE_PACKED_H

#include "compiler/graph/type.h"

/* Row-major elements, which may lie anywhere, to the layout of `t`. */
void kiln_test_pack(const kiln_type *t, const void *plain, void *packed);

#endif
