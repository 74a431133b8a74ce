/* A builder that makes what must not count: candidates that crash, hang, take memory
 * without end, write where they must not or compute something else, or nothing; or that
 * itself does. A program of tests that is asked to be it calls kiln_test_faulty_builder. */
#ifndef KILN_TESTS_SUPPORT_FAULTY_BUILDER_H
#define KILN_TESTS_SUPPORT_FAULTY_BUILDER_H

#include "pipeline/measure/measure.h"

typedef struct kiln_test_fault {
    const char *name; /* FAULT_name of fault_kernels.c, or of the builder */
    bool is_object;
    kiln_trial_error want; /* where the fleet is confined */
} kiln_test_fault;

/* The last one, right and too fast to be true, shows in large work alone. */
enum { KILN_TEST_N_FAULTS = 21, KILN_TEST_LAZY = KILN_TEST_N_FAULTS - 1 };
extern const kiln_test_fault kiln_test_faults[KILN_TEST_N_FAULTS];

/* Those ahead of this one may be drawn. A sanitizer that is out of memory hangs in its
 * own report: that row is left out. */
int kiln_test_faults_drawn(void);
/* How it ends: where nothing can be forbidden, it is done. */
kiln_trial_error kiln_test_fault_ends(const kiln_test_fault *f, bool is_confined);

/* Does it cost a whole time limit, or all of the memory that it may have? */
bool kiln_test_fault_is_dear(const kiln_test_fault *f, bool is_confined);

/* The objects that the builder takes from `folder`. */
void kiln_test_compile_faults(kiln_arena *a, const char *folder);
/* What a configuration's index chooses: all of them in turn; or those that may be drawn,
 * where three in four of those that cost a whole time limit are good ones. */
typedef const kiln_test_fault *kiln_test_fault_fn(uint64_t index);
kiln_test_fault_fn kiln_test_fault_in_turn, kiln_test_fault_drawn;

int kiln_test_faulty_builder(const char *folder, kiln_test_fault_fn *of);

#endif
