/* Proves and times candidates for kiln; not for people (docs/workers.md). */
#include "pipeline/measure/runner/runner.h"

int main(void) { return kiln_runner_main(); }
