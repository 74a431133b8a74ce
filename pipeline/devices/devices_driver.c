/* Which kinds of the runtime's devices have a driver: alone, since both rooms call what
 * they have devices. */
#include "runtime/device.h"

#include <stdbool.h>

bool kiln_devices_has_driver(const char *kind);

bool kiln_devices_has_driver(const char *kind) {
    const kiln_device_kind *k = kiln_device_kind_named(kind, NULL, 0);
    return k != NULL && k->has_driver;
}
