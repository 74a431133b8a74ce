/* Constants as kernels read them, by the interpreter: what is only moved is moved, what
 * is computed is made by its loop program. */
#ifndef KILN_TESTS_SUPPORT_PACKAGE_PACKED_H
#define KILN_TESTS_SUPPORT_PACKAGE_PACKED_H

#include "compiler/network/network_pack.h"

/* Row-major elements, which may lie anywhere, to what a kernel reads. */
void kiln_test_pack(const kiln_packing *k, const void *plain, void *packed);
/* Argument i of a kernel. */
kiln_packing kiln_test_packing(const kiln_te_graph *te, size_t i);
/* "TYPE", or "TYPE by PACKING": the type of the constant, in the layout of what it is
 * packed to. */
kiln_packing kiln_test_packing_of(const char *text);

#endif
