/* Packages of small networks, for tests: a graph's text through passes, kernels, plan
 * and self-test. */
#ifndef KILN_TESTS_SUPPORT_PACKAGE_PACKAGE_BUILD_H
#define KILN_TESTS_SUPPORT_PACKAGE_PACKAGE_BUILD_H

#include "compiler/network/network_place.h"
#include "packager/packager.h"

/* One convolution, pooling, a product: all kinds of entries, some kilobytes. */
extern const char kiln_test_network_text[];

/* Inputs of the graph that are not called x become constants of random elements. The
 * package lives in the arena. profile NULL: this machine's. */
void kiln_test_package(kiln_arena *a, const char *graph_text,
                       const kiln_profile *profile, kiln_package *out);
/* The same for several devices; NULL: the host. */
void kiln_test_package_on(kiln_arena *a, const char *graph_text,
                          const kiln_profile *profile, const kiln_placement *o,
                          kiln_package *out);
/* The first written to a file; `path` as is. */
void kiln_test_package_file(const char *graph_text, const kiln_profile *profile,
                            const char *path);

#endif
