/* Models in which planted faults show. */
#ifndef KILN_TESTS_SUPPORT_MODEL_FAULT_MODELS_H
#define KILN_TESTS_SUPPORT_MODEL_FAULT_MODELS_H

#include "tests/support/kiln_test.h"

typedef struct kiln_fault_model {
    const char *name, *text; /* graph text */
} kiln_fault_model;

extern const kiln_fault_model kiln_fault_models[];
extern const size_t kiln_n_fault_models;
/* Fails the test where there is none of that name. */
const kiln_fault_model *kiln_fault_model_of(const char *name);

#endif
