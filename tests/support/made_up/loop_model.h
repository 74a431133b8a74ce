/* A cost model that nobody needs, to show that one is a row of functions and a file: it
 * walks the loop program and writes down each loop, so that encodings have as many
 * bytes as programs have loops. */
#ifndef KILN_TESTS_SUPPORT_MADE_UP_LOOP_MODEL_H
#define KILN_TESTS_SUPPORT_MADE_UP_LOOP_MODEL_H

#include "compiler/tuner/tuner.h"

extern const kiln_cost_model_kind kiln_test_loop_model;

#endif
