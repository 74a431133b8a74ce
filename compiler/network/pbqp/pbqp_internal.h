/* Shared inside compiler/network/pbqp. */
#ifndef KILN_COMPILER_NETWORK_PBQP_INTERNAL_H
#define KILN_COMPILER_NETWORK_PBQP_INTERNAL_H

#include "compiler/network/pbqp/pbqp.h"

/* Makes options cheaper, or leaves them as they are (improve.c). */
void kiln_pbqp_improve(const kiln_pbqp *p, int *option);

#endif
