/* Shared inside pipeline/network. */
#ifndef KILN_PIPELINE_NETWORK_INTERNAL_H
#define KILN_PIPELINE_NETWORK_INTERNAL_H

#include "pipeline/network/network.h"

/* plan.bin, the parameters' bytes, and what tools are told, of out->net. */
kiln_status kiln_network_write(kiln_arena *a, kiln_packer *packer, kiln_network *out,
                               kiln_err *err);

#endif
