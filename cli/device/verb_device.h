/* kiln device NAME: a verb with options of its own for each row of device.def. */
#ifndef KILN_CLI_VERB_DEVICE_H
#define KILN_CLI_VERB_DEVICE_H

#include "cli/cli.h"

#define KILN_DEVICE(name) extern const kiln_verb kiln_device_##name;
#include "cli/device/device.def"
#undef KILN_DEVICE

#endif
