/* Core ML networks of a few layers, as text (pb_text.h), imported and run by the
 * reference. */
#ifndef KILN_TESTS_SUPPORT_MODEL_COREML_MODEL_H
#define KILN_TESTS_SUPPORT_MODEL_COREML_MODEL_H

#include "compiler/frontend/frontend.h"

/* With array inputs x and z (shapes as "3,2,2"; z NULL: there is none), an output y,
 * and layers that are fields 1 of the network: "1:{1:'a' 2:'x' 3:'y' 130:{10:{}}}".
 * `more` (may be NULL) goes into the network, too. */
kiln_str kiln_test_coreml(kiln_arena *a, bool is_exact, const char *x, const char *z,
                          const char *layers, const char *more);
/* The frontend on bytes. `err` is never NULL. */
kiln_status kiln_test_import_coreml(kiln_arena *a, kiln_str bytes,
                                    const kiln_import_options *o, kiln_graph **out,
                                    kiln_import_report *report, kiln_err *err);

#endif
