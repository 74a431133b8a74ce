/* A lowered program as numbers (docs/features.md): the encoding of models that read
 * rows of floats. Others need not know of it. */
#ifndef KILN_COMPILER_TUNER_FEATURES_H
#define KILN_COMPILER_TUNER_FEATURES_H

#include "compiler/tuner/tuner.h"

/* Another layout or meaning of any feature is another version; models and stored
 * features of different versions do not mix. */
enum { KILN_FEATURE_VERSION = 1 };

/* A vector is the relation form, which does not depend on how many loops there are and
 * carries over to other workloads, and behind it the context of the hot nest's
 * innermost loops, for models of one workload. */
size_t kiln_n_relation_features(void);
size_t kiln_n_features(void); /* both */
/* "all.work_in_touched[12]": for people and tests. */
void kiln_feature_name(kiln_buf *out, size_t i);
/* Features of a program as kiln_lower makes it, before any pass: kiln_n_features()
 * floats. Deterministic: names, addresses and order of arguments do not matter. warp: of
 * the threads that it launches; 0: they go alone. */
void kiln_program_features(kiln_arena *scratch, const kiln_program *p, int warp,
                           float *out);

/* For kiln_cost_model_kind.encode: the whole vector, as this machine has floats. */
void kiln_features_encode(kiln_arena *scratch, const kiln_candidate *c, kiln_buf *out);

#endif
