/* TorchScript, refused by name. */
#include "compiler/frontend/pytorch/pytorch_internal.h"

static kiln_status refuse(kiln_err *err) {
    return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                     "TorchScript is not read yet; export the model with "
                     "torch.export.save(torch.export.export(model, inputs), "
                     "'model.pt2')");
}

kiln_status kiln_script_import(kiln_arena *a, kiln_str bytes, const char *name,
                               const kiln_import_options *o, kiln_graph **out,
                               kiln_import_report *report, kiln_err *err) {
    (void)a;
    (void)bytes;
    (void)name;
    (void)o;
    (void)out;
    (void)report;
    return refuse(err);
}

kiln_status kiln_script_list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                                    kiln_declared_input **out, size_t *n,
                                    kiln_err *err) {
    (void)a;
    (void)bytes;
    (void)path;
    (void)out;
    (void)n;
    return refuse(err);
}

kiln_status kiln_script_survey(kiln_arena *a, kiln_str bytes, const char *path,
                               kiln_model_survey *out, kiln_err *err) {
    (void)a;
    (void)bytes;
    (void)path;
    (void)out;
    return refuse(err);
}
