/* Makes candidates' code for kiln; not for people (docs/workers.md). */
#include "pipeline/measure/builder/builder.h"

int main(void) { return kiln_builder_main(kiln_kernel_make_listed); }
