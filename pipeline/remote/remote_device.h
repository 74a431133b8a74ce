/* A runner elsewhere as a device (pipeline/devices): who runs packages by one asks no other
 * questions than of this machine.
 *
 *     kiln_far_open(a, &options, &far, err);
 *     kiln_device_run(a, kiln_remote_device_new(a, far), &package, &job, ..., err);
 */
#ifndef KILN_PIPELINE_REMOTE_REMOTE_DEVICE_H
#define KILN_PIPELINE_REMOTE_REMOTE_DEVICE_H

#include "pipeline/devices/devices.h"
#include "pipeline/talk/far.h"

/* A package's files are sent there, once; each run is one in a process that is forked for
 * it. Timed runs are taken in turns of a few milliseconds, whose runs all have the turn's
 * mean. There is no trace. `far` is borrowed; the device lives in the arena.
 *   KILN_ERR_IO           the runner is lost
 *   KILN_ERR_LIB          a kernel failed, or the process crashed or hung
 *   KILN_ERR_UNSUPPORTED  a package for a GPU, or a trace */
const kiln_device *kiln_remote_device_new(kiln_arena *a, kiln_far *far);

#endif
