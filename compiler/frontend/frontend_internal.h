/* Inside the frontends: one row per model format. */
#ifndef KILN_COMPILER_FRONTEND_FRONTEND_INTERNAL_H
#define KILN_COMPILER_FRONTEND_FRONTEND_INTERNAL_H

#include "compiler/frontend/frontend.h"

typedef struct kiln_frontend {
    const char *name;              /* kiln_import_report.format */
    const char *doc;               /* one sentence */
    const char *const *extensions; /* ".onnx", ..., NULL */
    bool has_signatures;           /* import looks at kiln_import_options.signature */
    bool has_variables;            /* and at .has_state */
    bool has_roundings;            /* and at .as_reference */
    /* Does the content look like this format? Must not touch bulk data. */
    bool (*sniff)(kiln_str bytes);
    /* As kiln_import_onnx_bytes: `name` is the path, `dir` its folder. */
    kiln_status (*import)(kiln_arena *a, kiln_str bytes, const char *name,
                          const char *dir, const kiln_import_options *o,
                          kiln_graph **out, kiln_import_report *report, kiln_err *err);
    /* `path` leads to the files beside it, where a format is more than one. */
    kiln_status (*list_inputs)(kiln_arena *a, kiln_str bytes, const char *path,
                               kiln_declared_input **out, size_t *n, kiln_err *err);
    /* NULL: the format says nothing about itself but its inputs. */
    kiln_status (*survey)(kiln_arena *a, kiln_str bytes, const char *path,
                          kiln_model_survey *out, kiln_err *err);
    /* Files beside it that it names; NULL: the format has none. */
    kiln_status (*list_data)(kiln_arena *a, kiln_str bytes, const char *path,
                             kiln_import_locations *out, kiln_err *err);
} kiln_frontend;

#define KILN_FRONTEND(name) extern const kiln_frontend kiln_frontend_##name;
#include "compiler/frontend/frontends.def"
#undef KILN_FRONTEND

/* KILN_ERR_UNSUPPORTED where the file is a model of another framework: which, and the
 * way to ONNX. */
kiln_status kiln_foreign_check(const char *path, kiln_str bytes, kiln_err *err);
kiln_status kiln_foreign_check_folder(kiln_arena *a, const char *path, kiln_err *err);

#endif
