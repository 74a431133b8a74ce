/* TorchScript archives of one class, in memory. */
#ifndef KILN_TESTS_SUPPORT_MODEL_SCRIPT_MODEL_H
#define KILN_TESTS_SUPPORT_MODEL_SCRIPT_MODEL_H

#include "compiler/frontend/frontend.h"

/* The archive of an object of class __torch__.Net, whose code (code/__torch__.py) is
 * given. Its members: training (False), n (3), w (f32[2,2]: 1 2 3 4), sub (an object of
 * __torch__.Sub with the same members but sub, if the code has that class). */
kiln_str kiln_test_script(kiln_arena *a, const char *code);
/* The frontend on bytes. */
kiln_status kiln_test_import_script(kiln_arena *a, kiln_str bytes,
                                    const kiln_import_options *o, kiln_graph **out,
                                    kiln_import_report *report, kiln_err *err);

#endif
