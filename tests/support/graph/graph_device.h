/* Networks that run on a device other than this process: an emulator. */
#ifndef KILN_TESTS_SUPPORT_GRAPH_GRAPH_DEVICE_H
#define KILN_TESTS_SUPPORT_GRAPH_GRAPH_DEVICE_H

#include "pipeline/devices/devices.h"
#include "pipeline/network/network.h"

/* Writes what a device reads of a package into a folder that goes with the arena. */
kiln_status graph_device_package(kiln_arena *a, const kiln_network *n,
                                 kiln_device_package *out, kiln_err *err);

#endif
