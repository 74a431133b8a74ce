/* A place of baselines whose Python is a shell script: it stands for a library that
 * answers rightly, wrongly, or not at all. */
#ifndef KILN_TESTS_SUPPORT_FAKE_BASELINE_H
#define KILN_TESTS_SUPPORT_FAKE_BASELINE_H

#include "pipeline/baselines/baselines.h"
#include "tests/support/kiln_test.h"

/* A new folder, in the test arena. The script is what runs for each request, with the
 * whole line in $line; `--version` has been answered with 1.2.3 before. Before it, the
 * shell has these functions:
 *   give FILE     copies the file to where the request wants its first output
 *   sample        answers a request to run */
const char *kiln_test_fake_baseline(const char *script);
/* The same as a program in a new folder, for KILN_LIBEXEC; an empty folder where script
 * is NULL. */
const char *kiln_test_fake_program(const char *name, const char *script);

/* How long to wait for an answer: not long where what is wanted is that none comes. */
int64_t kiln_test_answer_ms(const char *wanted);
/* The session waits so long from now on, whatever it had to make ready. */
void kiln_test_answer_within(const kiln_baseline_session *s, int64_t limit_ms);

#endif
