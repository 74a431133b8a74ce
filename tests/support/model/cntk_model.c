#include "tests/support/model/cntk_model.h"

#include "compiler/frontend/frontend_internal.h"
#include "tests/support/model/pb_text.h"

static const char *input(kiln_arena *a, const char *uid, const char *dims) {
    return kiln_format(
        a,
        CNTK_ITEM_DICT(CNTK_TEXT("uid", "%s") CNTK_SIZE("kind", "0")
                           CNTK_SIZE("data_type", "1") CNTK_SHAPE("shape", "%s")
                               CNTK_LIST("dynamic_axis", "1:{2:8 10:{1:2147483647 "
                                                         "2:'defaultBatchAxis'}}")),
        uid, dims);
}

kiln_str kiln_test_cntk(kiln_arena *a, const char *x, const char *z,
                        const char *variables, const char *functions,
                        const char *root) {
    const char *const more = z != NULL ? input(a, "z", z) : "";
    return kiln_test_pb(
        a, kiln_format(a,
                       "1:1 " CNTK_TEXT("type", "CompositeFunction")
                           CNTK_TEXT("root", "%s") CNTK_LIST("inputs", "%s %s %s")
                               CNTK_LIST("primitive_functions", "%s"),
                       root, input(a, "x", x), more, variables, functions));
}

kiln_status kiln_test_import_cntk(kiln_arena *a, kiln_str bytes,
                                  const kiln_import_options *o, kiln_graph **out,
                                  kiln_import_report *report, kiln_err *err) {
    return kiln_frontend_cntk.import(a, bytes, "test.model", NULL, o, out, report, err);
}
