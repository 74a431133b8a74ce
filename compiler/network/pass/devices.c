/* devices: which device does each step (place.h). Copies come between; without a
 * placement everything is the host's. */
#include "compiler/network/executable_internal.h"

static kiln_status run(kiln_net *n, kiln_err *err) {
    KILN_TRY(kiln_net_place_steps(n, n->o != NULL ? n->o->placement : NULL, err));
    return kiln_interrupt_check(err);
}

const kiln_net_pass kiln_net_pass_devices = {
    .name = "devices",
    .doc = "steps get devices, and values copies where others read them",
    .needs = KILN_NET_SHARED,
    .makes = KILN_NET_ON_DEVICES,
    .run = run,
};
