/* devices: which device does each step (network_place.h). Copies come between; without a
 * placement everything is the host's, or that of the profile's device. */
#include "compiler/network/executable_internal.h"
#include "compiler/network/network_place.h"

/* The profile says where kernels run. */
static kiln_status place_by_kernels(kiln_net *n, kiln_err *err) {
    const char *kind[] = {KILN_PLACE_HOST,
                          kiln_arch_of(n->profile->device->arch)->device};
    const kiln_placement by_kernel = {kind, 2, kiln_place_by_kernel, NULL};
    if (n->o != NULL && n->o->placement != NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "profile '%s' says which device does a step: it cannot be "
                         "placed on others too",
                         n->profile->name);
    return kiln_net_place_steps(n, &by_kernel, err);
}

static kiln_status run(kiln_net *n, kiln_err *err) {
    KILN_TRY(n->profile->device != NULL
                 ? place_by_kernels(n, err)
                 : kiln_net_place_steps(n, n->o != NULL ? n->o->placement : NULL, err));
    return kiln_interrupt_check(err);
}

const kiln_net_pass kiln_net_pass_devices = {
    .name = "devices",
    .doc = "steps get devices, and values copies where others read them",
    .needs = KILN_NET_SHARED,
    .makes = KILN_NET_ON_DEVICES,
    .run = run,
};
