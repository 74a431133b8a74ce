/* Inside the PyTorch frontend: the kinds of archives, and who reads them. */
#ifndef KILN_COMPILER_FRONTEND_PYTORCH_PYTORCH_INTERNAL_H
#define KILN_COMPILER_FRONTEND_PYTORCH_PYTORCH_INTERNAL_H

#include "compiler/frontend/frontend_internal.h"
#include "compiler/frontend/pytorch/aten.h"

/* The two kinds of model, each with the functions of a row of frontends.def: exported
 * programs (pt2*.c) and TorchScript (script_*.c). `bytes` is the archive; neither
 * `report` nor `err` is NULL, and the report says format and an empty producer. */
kiln_status kiln_pt2_import(kiln_arena *a, kiln_str bytes, const char *name,
                            const kiln_import_options *o, kiln_graph **out,
                            kiln_import_report *report, kiln_err *err);
kiln_status kiln_pt2_list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                                 kiln_declared_input **out, size_t *n, kiln_err *err);
kiln_status kiln_pt2_survey(kiln_arena *a, kiln_str bytes, const char *path,
                            kiln_model_survey *out, kiln_err *err);

kiln_status kiln_script_import(kiln_arena *a, kiln_str bytes, const char *name,
                               const kiln_import_options *o, kiln_graph **out,
                               kiln_import_report *report, kiln_err *err);
kiln_status kiln_script_list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                                    kiln_declared_input **out, size_t *n,
                                    kiln_err *err);
kiln_status kiln_script_survey(kiln_arena *a, kiln_str bytes, const char *path,
                               kiln_model_survey *out, kiln_err *err);

/* KILN_ERR_UNSUPPORTED for what torch.save writes, with what it holds. */
kiln_status kiln_saved_refuse(kiln_str bytes, kiln_err *err);

#endif
