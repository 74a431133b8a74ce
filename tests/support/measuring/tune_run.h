/* Tuning runs for tests: for this machine, with workers beside the program that KILN in
 * the environment names. */
#ifndef KILN_TESTS_SUPPORT_TUNE_RUN_H
#define KILN_TESTS_SUPPORT_TUNE_RUN_H

#include "pipeline/tune/tune.h"
#include "tests/support/database/db_make.h"

const kiln_profile *kiln_test_native(void);
kiln_tune_options kiln_test_tune_options(kiln_db *db, int64_t trials);
/* Of lines as an ops file has them. */
kiln_tune_works kiln_test_tune_works(const char *const *line, int n);
kiln_tune_result kiln_test_tune(const kiln_tune_works *w, const kiln_tune_options *o);
/* A network of text, optimised; in the test arena. */
kiln_graph *kiln_test_tune_graph(const char *text);
/* The work's task, on one thread. */
int64_t kiln_test_tune_task(kiln_db *db, const kiln_op_work *w, const char *cache);
/* A time of the configuration (NULL: what the template guesses), on record on one
 * thread as if it had been measured. */
void kiln_test_tune_record(kiln_db *db, const kiln_op_work *w,
                           const kiln_template *tmpl, const char *config, double ns);

/* What a build takes for the work, by what the database knows of `threads` threads. */
kiln_choice kiln_test_tune_choose(kiln_db *db, const kiln_op_work *w, int threads);
/* Records of the work on one thread; in the test arena. */
kiln_db_trials kiln_test_tune_trials(kiln_db *db, const kiln_op_work *w,
                                     const char *cache);
/* What the work's template guesses, with one knob turned by so many options. */
kiln_db_candidate kiln_test_tune_turned(const kiln_op_work *w, const char *knob,
                                        int by);
/* A small one with two kernels that are tuned, one of them twice. */
kiln_graph *kiln_test_tune_network(void);

/* Its configuration, as records have it; in the test arena. */
const char *kiln_test_config_text(const kiln_choice *c);

#endif
