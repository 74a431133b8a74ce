/* A compiled network in the process of a test: what generated code does wrong ends the
 * test. */
#ifndef KILN_TESTS_SUPPORT_GRAPH_NETWORK_OPEN_H
#define KILN_TESTS_SUPPORT_GRAPH_NETWORK_OPEN_H

#include "pipeline/network/network.h"
#include "runtime/kiln.h"

/* Loads the kernels, until the arena is reset. The model must be closed before. `o` may
 * be NULL. KILN_ERR_UNSUPPORTED where this machine cannot run them. */
kiln_status kiln_test_network_open(kiln_arena *a, const kiln_network *n,
                                   const kiln_model_options *o, kiln_model **out,
                                   kiln_err *err);

#endif
