/* PyTorch's files: exported programs and TorchScript are models; all else that torch.save
 * writes is Python's objects, and is refused with the way out. */
#include <string.h>

#include "compiler/frontend/frontend_inputs.h"
#include "compiler/frontend/pytorch/pt2/pt2.h"
#include "compiler/frontend/pytorch/pytorch_internal.h"
#include "compiler/frontend/pytorch/script/script.h"
#include "compiler/frontend/zip.h"

typedef enum kind {
    EXPORTED, /* a program of torch.export.save */
    SCRIPT,   /* torch.jit.save */
    SAVED,    /* torch.save: a state dict, or a module as a pickle */
    NEITHER
} kind;

static bool is_entry(kiln_str name, const char *want) {
    const size_t n = strlen(want);
    return kiln_str_is(name, want) ||
           (kiln_str_ends(name, want) && name.p[name.n - n - 1] == '/');
}

/* By the names in the archive: no two kinds have the same. */
static kind kind_of(kiln_str bytes) {
    static const struct {
        const char *name;
        kind kind;
    } names[] = {{"models/model.json", EXPORTED},
                 {"serialized_exported_program.json", EXPORTED},
                 {"archive_format", EXPORTED},
                 {"constants.pkl", SCRIPT},
                 {"data.pkl", SAVED}};
    kiln_zip_entry e;
    uint64_t at = 0;
    kind found = NEITHER;
    if (kiln_saved_is_old(bytes))
        return SAVED;
    if (!kiln_zip_is(bytes))
        return NEITHER;
    while (kiln_zip_next(bytes, &at, &e))
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            if (names[i].kind < found && is_entry(e.name, names[i].name))
                found = names[i].kind;
    return found;
}

static bool sniff(kiln_str bytes) { return kind_of(bytes) != NEITHER; }

static kiln_status refuse(kind k, kiln_str bytes, kiln_err *err) {
    if (k == NEITHER)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "it is no archive as PyTorch writes them; is the file "
                         "truncated?");
    return kiln_saved_refuse(bytes, err);
}

static kiln_status import(kiln_arena *a, kiln_str bytes, const char *name,
                          const char *dir, const kiln_import_options *o,
                          kiln_graph **out, kiln_import_report *report, kiln_err *err) {
    kiln_import_report own_report;
    kiln_err own_err = {0};
    kiln_status st = KILN_OK;
    (void)dir; /* weights are in the file */
    report = report != NULL ? report : &own_report;
    err = err != NULL ? err : &own_err;
    *report = (kiln_import_report){.format = "pytorch", .producer = ""};
    const kind k = kind_of(bytes);
    switch (k) {
    case EXPORTED:
        st = kiln_pt2_import(a, bytes, name, o, out, report, err);
        break;
    case SCRIPT:
        st = kiln_script_import(a, bytes, name, o, out, report, err);
        break;
    case SAVED:
    case NEITHER:
        st = refuse(k, bytes, err);
        break;
    }
    if (st != KILN_OK) {
        kiln_import_make_printable(err);
        kiln_note(err, "importing '%s'", name);
    }
    return st;
}

static kiln_status list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                               kiln_declared_input **out, size_t *n, kiln_err *err) {
    const kind k = kind_of(bytes);
    switch (k) {
    case EXPORTED:
        return kiln_pt2_list_inputs(a, bytes, path, out, n, err);
    case SCRIPT:
        return kiln_script_list_inputs(a, bytes, path, out, n, err);
    case SAVED:
    case NEITHER:
        break;
    }
    return refuse(k, bytes, err);
}

static kiln_status survey(kiln_arena *a, kiln_str bytes, const char *path,
                          kiln_model_survey *out, kiln_err *err) {
    const kind k = kind_of(bytes);
    switch (k) {
    case EXPORTED:
        return kiln_pt2_survey(a, bytes, path, out, err);
    case SCRIPT:
        return kiln_script_survey(a, bytes, path, out, err);
    case SAVED:
    case NEITHER:
        break;
    }
    return refuse(k, bytes, err);
}

static const char *const extensions[] = {".pt2", ".pt", ".pth", NULL};

const kiln_frontend kiln_frontend_pytorch = {
    .name = "pytorch",
    .doc = "PyTorch: exported programs and TorchScript",
    .extensions = extensions,
    .sniff = sniff,
    .import = import,
    .list_inputs = list_inputs,
    .survey = survey,
};
