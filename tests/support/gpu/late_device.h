/* A device that a model is given by a test: it runs this processor's code, as late as it
 * may, on memory that the host cannot see. Its queues do nothing until somebody waits
 * for them, and then only what was waited for: what a plan waits for too little is
 * computed from what was there before, in every run. Addresses of its memory are none of
 * this process: whoever reads there without a copy ends. */
#ifndef KILN_TESTS_SUPPORT_GPU_LATE_DEVICE_H
#define KILN_TESTS_SUPPORT_GPU_LATE_DEVICE_H

#include "runtime/device.h"

extern const kiln_device_kind kiln_test_late_device; /* "late" */

#endif
