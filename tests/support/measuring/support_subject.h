/* A network that is ready to be measured, on this machine. */
#ifndef KILN_TESTS_SUPPORT_SUPPORT_SUBJECT_H
#define KILN_TESTS_SUPPORT_SUPPORT_SUBJECT_H

#include "pipeline/bench/bench.h"

/* Of a model by its file or its name in the zoo, compiled untuned; in the test arena. */
kiln_subject kiln_test_subject(const char *model);

#endif
