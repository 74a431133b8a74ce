/* What `make install-runtime` puts in place, and packages to run with it: for tests of
 * what a user does with an installed kiln. */
#ifndef KILN_TESTS_SUPPORT_INSTALLED_H
#define KILN_TESTS_SUPPORT_INSTALLED_H

#include "base/base.h"
#include "compiler/graph/graph.h"

enum { INSTALLED_N_IN = 12, INSTALLED_N_OUT = 20 };

/* A network of one input x, f32[1,12], and one output b, f32[1,20], of values from 0
 * on. */
typedef struct installed {
    const char *dest;    /* DESTDIR; PREFIX is /opt/kiln */
    const char *package; /* unpacked, with input.bin beside it */
    const char *board;   /* the same for AArch64 */
    const char *types;   /* another network: many types of elements */
    const char *shapes;  /* residual_model.h's, for batches of 1 and 4 */
    kiln_tensor want;    /* what b must be, by the reference */
} installed;

/* Installs (twice: the second time over nothing, under a strict umask) and compiles;
 * fails the test where that does not succeed. */
installed installed_make(void);

/* Runs a shell script in the package's folder: $0 is the project's root; $DEST,
 * $PACKAGE, $BOARD, $TYPES, $SHAPES; pkg-config finds what was installed. */
kiln_process_result installed_run(const installed *i, const char *script);

#endif
