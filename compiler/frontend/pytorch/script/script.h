/* TorchScript: what torch.jit.save writes (.pt). */
#ifndef KILN_COMPILER_FRONTEND_PYTORCH_SCRIPT_H
#define KILN_COMPILER_FRONTEND_PYTORCH_SCRIPT_H

#include "compiler/frontend/frontend_internal.h"

/* The functions of a row of frontends.def. `bytes` is the archive; neither `report` nor
 * `err` is NULL, and the report says format and an empty producer. */
kiln_status kiln_script_import(kiln_arena *a, kiln_str bytes, const char *name,
                               const kiln_import_options *o, kiln_graph **out,
                               kiln_import_report *report, kiln_err *err);
kiln_status kiln_script_list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                                    kiln_declared_input **out, size_t *n,
                                    kiln_err *err);
kiln_status kiln_script_survey(kiln_arena *a, kiln_str bytes, const char *path,
                               kiln_model_survey *out, kiln_err *err);

#endif
