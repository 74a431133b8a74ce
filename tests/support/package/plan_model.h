/* A model of a hand-made plan (plan_text.h) whose second device is of another kind than
 * host2. Parameters, w, are 100 each; the first device's kernel, add, is C. */
#ifndef KILN_TESTS_SUPPORT_PLAN_MODEL_H
#define KILN_TESTS_SUPPORT_PLAN_MODEL_H

#include "runtime/gpu_module.h"
#include "runtime/kiln.h"

enum { KILN_TEST_PLAN_ELEMS = 16 }; /* of a tensor of 64 bytes */

/* The second device's code, "two.so", is among the options' modules. NULL: the error
 * says why. */
kiln_model *kiln_test_plan_model(const char *steps, const char *kind,
                                 const kiln_model_options *o,
                                 char error[KILN_ERROR_TEXT]);
/* The same by a GPU's module, of launches and code as kiln_gpu_module_text takes them. */
kiln_model *kiln_test_plan_model_of_gpu(const char *steps, const char *kind,
                                        kiln_gpu_language language, const char *kernels,
                                        const char *code, char error[KILN_ERROR_TEXT]);
/* Rows of x are 1, 2, 3 and 4, v is 10, c is true. 0, or the first refusal. */
int kiln_test_plan_set_inputs(kiln_session *s);

#endif
