/* Shared inside pipeline/package. */
#ifndef KILN_PIPELINE_PACKAGE_PACKAGE_INTERNAL_H
#define KILN_PIPELINE_PACKAGE_PACKAGE_INTERNAL_H

#include "pipeline/package/package.h"

typedef struct kiln_proof_options {
    kiln_arena *arena; /* of what the proof says */
    const kiln_expectation *expectation;
    int n_threads; /* of the traced run; the self-test also runs at 1 */
    uint64_t seed;
} kiln_proof_options;
/* Runs the archive that was packed of this network. KILN_ERR_BUG: it is wrong, and
 * which step was first; KILN_ERR_UNSUPPORTED: nobody here can run it. */
kiln_status kiln_package_prove(const char *archive, const kiln_network *n,
                               const kiln_proof_options *o, kiln_proof *out,
                               kiln_err *err);

/* What stands in for bounds: as the package says, within limits. */
kiln_tolerance kiln_opened_tolerance(const kiln_package_tolerance *own);
/* The package's own self-test at each number of threads, a check each. */
kiln_status kiln_opened_selftest(kiln_arena *a, const kiln_opened *p,
                                 const int *threads, int n_threads, kiln_checks *out,
                                 kiln_err *err);

/* The first variant that runs here; messages name `path`. */
kiln_status kiln_opened_choose_first(kiln_arena *a, kiln_opened *p, const char *path,
                                     kiln_err *err);

/* Of each kernel of a network what the manifest says of it. */
kiln_status kiln_package_kernels_of(kiln_arena *a, const kiln_network *n,
                                    kiln_package_facts *f, kiln_err *err);

/* graph.json: the graph, and which steps of the network its nodes became. */
kiln_str kiln_package_graph_of(kiln_arena *a, const kiln_graph *g,
                               const kiln_network *n);

#endif
