/* The table of kinds of devices. */
#include "runtime/device.h"

#include <string.h>

static const kiln_device_kind *const table[] = {
#define KILN_DEVICE(row) &kiln_device_kind_##row,
#include "runtime/devices.def"
#undef KILN_DEVICE
};
enum { N_KINDS = sizeof table / sizeof table[0] };

static const kiln_device_kind *find(const char *name,
                                    const kiln_device_kind *const *kind, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(kind[i]->name, name) == 0)
            return kind[i];
    return NULL;
}

const kiln_device_kind *kiln_device_kind_named(const char *name,
                                               const kiln_device_kind *const *extra,
                                               size_t n_extra) {
    const kiln_device_kind *known = find(name, table, N_KINDS);
    return known != NULL ? known : find(name, extra, n_extra);
}
