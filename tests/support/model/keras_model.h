/* Keras files of a few layers: JSON and weights, in memory. */
#ifndef KILN_TESTS_SUPPORT_MODEL_KERAS_MODEL_H
#define KILN_TESTS_SUPPORT_MODEL_KERAS_MODEL_H

#include "compiler/frontend/frontend.h"

/* One weight: of which layer (its group), its name there, and its numbers as text:
 * "2,2:1 2 3 4"; "2,2:*" are zeros. */
typedef struct kiln_test_weight {
    const char *layer, *name, *text;
} kiln_test_weight;

/* An HDF5 file as Keras writes it; `model` NULL: without model_config. Ends where
 * weights have no name. `version` as "2.10.0". */
kiln_str kiln_test_keras_h5(kiln_arena *a, const char *model, const char *version,
                            const kiln_test_weight *w);
/* Datasets by their whole paths ("layers/dense/vars/0" in `name`), for .keras. */
kiln_str kiln_test_keras_weights(kiln_arena *a, const kiln_test_weight *w);
/* An archive of stored entries. */
kiln_str kiln_test_zip(kiln_arena *a, const char *const *names, const kiln_str *bytes,
                       size_t n);
/* {"class_name": "Sequential"} with an input of `shape` ("null,2,2,1") and layers
 * ('{"class_name": "ReLU", "config": {"name": "r"}}, ...'). Single quotes become double
 * ones. */
const char *kiln_test_sequential(kiln_arena *a, const char *shape, const char *layers);
/* Single quotes become double ones. */
char *kiln_test_quoted(kiln_arena *a, const char *text);
/* The frontend on bytes. */
kiln_status kiln_test_import_keras(kiln_arena *a, kiln_str bytes,
                                   const kiln_import_options *o, kiln_graph **out,
                                   kiln_import_report *report, kiln_err *err);

#endif
