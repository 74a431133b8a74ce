/* Included ahead of each file that clang-tidy reads, never by a compiler.
 *
 * The analyzer sees one file at a time, so it must take into account that kiln_fail
 * returns KILN_OK, and then finds outputs that were never set. This tells it what
 * status.c does: the code comes back as it was given.
 */
#ifndef KILN_TOOLS_ANALYZER_H
#define KILN_TOOLS_ANALYZER_H

#include "base/base.h"

#define kiln_fail(err, status, ...)                                                    \
    ((void)kiln_fail(err, status, __VA_ARGS__), (status))

#endif
