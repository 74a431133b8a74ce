/* What must hold of an executable graph, fact by fact. */
#include "compiler/network/executable_internal.h"

kiln_status kiln_net_verify(const kiln_net *n, kiln_err *err) {
    return (n->facts & KILN_NET_PLANNED) != 0 ? kiln_net_check(n, err) : KILN_OK;
}
