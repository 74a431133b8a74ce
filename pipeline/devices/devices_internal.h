/* Shared inside pipeline/devices. */
#ifndef KILN_PIPELINE_DEVICES_DEVICES_INTERNAL_H
#define KILN_PIPELINE_DEVICES_DEVICES_INTERNAL_H

#include "pipeline/devices/devices.h"

/* kiln-run's report, once it has exited with 0 (runner/devices_runner_report.c). */
kiln_status kiln_device_read_report(kiln_arena *a, const char *path,
                                    const kiln_device_package *p,
                                    const kiln_device_job *job, kiln_device_result *out,
                                    kiln_err *err);

/* Of the runtime's kinds: does that one have a driver (runtime/device.h)? */
bool kiln_devices_has_driver(const char *kind);

#endif
