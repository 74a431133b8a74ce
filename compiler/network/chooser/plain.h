/* Shared by the choosers `plain` and `each`. */
#ifndef KILN_COMPILER_NETWORK_CHOOSER_PLAIN_H
#define KILN_COMPILER_NETWORK_CHOOSER_PLAIN_H

#include "compiler/network/executable_internal.h"

/* Every call row-major, on the inputs and outputs of its kernel; with blocks: but for
 * convolutions, which are done as greedy has them, each by itself (is_alone). What a
 * file says stays as it is. KILN_ERR_UNSUPPORTED: no template does a call row-major. */
kiln_status kiln_net_choose_plain(kiln_net *n, bool with_blocks, kiln_err *err);

#endif
