/* Exporters: a Graph becomes a model file of another format, for whatever reads that.
 * One row per format in exporters.def, one file or folder each: graph in, bytes out. */
#ifndef KILN_COMPILER_EXPORT_EXPORT_H
#define KILN_COMPILER_EXPORT_EXPORT_H

#include "compiler/graph/graph.h"

typedef struct kiln_export_options {
    /* Weights go into a file beside the model, whatever their size: else only where the
     * model would be larger than its format allows. */
    bool is_external;
    const char *data_name; /* of that file, without a folder; NULL: none is allowed */
    uint64_t max_bytes;    /* of the model's file; 0: what the format allows */
} kiln_export_options;

/* Bytes in order: text that the exporter made, and weights where they lie. Borrowed:
 * they live as long as the graph and the arena of the export. */
typedef struct kiln_export_bytes {
    KILN_VEC(kiln_str) piece;
    uint64_t n; /* of all pieces together */
} kiln_export_bytes;

typedef struct kiln_exported {
    kiln_export_bytes model;
    kiln_export_bytes data; /* of the file beside it; n 0: there is none */
    int64_t version;        /* of the format's operators: ONNX's opset */
    int64_t n_nodes;        /* in the format, those of regions too */
} kiln_exported;

typedef struct kiln_exporter {
    const char *name;      /* "onnx", as --to says */
    const char *extension; /* ".onnx" */
    const char *doc;       /* one line */
    /* Operators and types that the format cannot say are refused, all at once, with
     * KILN_ERR_UNSUPPORTED that names each with its first node. The same graph gives
     * the same bytes. */
    kiln_status (*write)(kiln_arena *a, const kiln_graph *g,
                         const kiln_export_options *o, kiln_exported *out,
                         kiln_err *err);
} kiln_exporter;

#define KILN_EXPORTER(name) extern const kiln_exporter kiln_exporter_##name;
#include "compiler/export/exporters.def"
#undef KILN_EXPORTER

const kiln_exporter *kiln_exporter_at(int i); /* NULL past the end */
/* KILN_ERR_ARG lists the formats. */
kiln_status kiln_exporter_find(const char *name, const kiln_exporter **out,
                               kiln_err *err);

/* Writes the model to `path` and, where there is one, its data to `path`.data, each
 * whole or not at all; the data first, so that no model is without them. `o` may be
 * NULL; data_name is set here. */
kiln_status kiln_export(kiln_arena *a, const kiln_graph *g, const kiln_exporter *to,
                        const char *path, const kiln_export_options *o,
                        kiln_exported *out, kiln_err *err);

/* All pieces as one, in the arena. */
kiln_str kiln_export_join(kiln_arena *a, const kiln_export_bytes *b);

/* For exporters: one more piece; none where n is 0. */
void kiln_export_add(kiln_arena *a, kiln_export_bytes *b, const void *p, size_t n);

#endif
