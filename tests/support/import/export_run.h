/* A graph written in another format, read again and run: what it gives must be what it
 * gave before. */
#ifndef KILN_TESTS_SUPPORT_EXPORT_RUN_H
#define KILN_TESTS_SUPPORT_EXPORT_RUN_H

#include "compiler/export/export.h"
#include "pipeline/pipeline.h"

/* Exported as ONNX and imported again, in memory. */
kiln_status kiln_test_export_again(kiln_arena *a, const kiln_graph *g, kiln_graph **out,
                                   kiln_err *err);

/* A kiln_runner that runs the exported graph by the reference, and the graph itself,
 * and fails where they differ. */
typedef struct kiln_test_exports {
    int64_t n_same;    /* outputs with the very same bits */
    int64_t n_near;    /* made of several nodes, which round between them */
    int64_t n_refused; /* graphs, by the exporter or behind it */
    bool with_passes;  /* the graph passes of the exported one run, too */
} kiln_test_exports;
kiln_status kiln_test_run_exported(void *exports, kiln_arena *a, const kiln_graph *g,
                                   const kiln_tensor *in, size_t n_in, kiln_tensor *out,
                                   kiln_err *err);

#endif
