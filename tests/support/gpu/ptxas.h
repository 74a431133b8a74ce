/* NVIDIA's assembler, where it is: on PATH, or below CUDA_HOME. */
#ifndef KILN_TESTS_SUPPORT_GPU_PTXAS_H
#define KILN_TESTS_SUPPORT_GPU_PTXAS_H

#include "compiler/target/target.h"

bool ptxas_is_here(void);
/* What it says of the code with -v. What it does not take fails the test. Later assemblers
 * forget old GPUs: they still take code for one, and make it for a later one. */
const char *ptxas_said(kiln_arena *a, const kiln_profile *p, const char *code);

#endif
