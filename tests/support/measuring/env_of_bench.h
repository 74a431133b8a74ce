/* What benchmarks read of the environment. */
#ifndef KILN_TESTS_SUPPORT_ENV_OF_BENCH_H
#define KILN_TESTS_SUPPORT_ENV_OF_BENCH_H

#include <stdbool.h>

/* The variable's number; `otherwise` where it is not set. What is none ends the program. */
int kiln_bench_number(const char *name, int otherwise);
/* Is it in the list that KILN_OPS holds, or is there no such list? */
bool kiln_bench_is_chosen(const char *name);
/* Seconds of the processor that this thread took. */
double kiln_bench_thread_s(void);

#endif
