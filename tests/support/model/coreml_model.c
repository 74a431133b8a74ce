#include "tests/support/model/coreml_model.h"

#include "compiler/frontend/frontend_internal.h"
#include "tests/support/model/pb_text.h"

kiln_str kiln_test_coreml(kiln_arena *a, bool is_exact, const char *x, const char *z,
                          const char *layers, const char *more) {
    const char *in = kiln_format(a, "1:{1:'x' 3:{5:{1:[%s] 2:65568}}}", x);
    if (z != NULL)
        in = kiln_format(a, "%s 1:{1:'z' 3:{5:{1:[%s] 2:65568}}}", in, z);
    return kiln_test_pb(
        a, kiln_format(a, "1:4 2:{%s 10:{1:'y' 3:{5:{2:65568}}}} 500:{%s 5:%d %s}", in,
                       layers, is_exact, more != NULL ? more : ""));
}

kiln_status kiln_test_import_coreml(kiln_arena *a, kiln_str bytes,
                                    const kiln_import_options *o, kiln_graph **out,
                                    kiln_import_report *report, kiln_err *err) {
    return kiln_frontend_coreml.import(a, bytes, "test.mlmodel", NULL, o, out, report,
                                       err);
}
