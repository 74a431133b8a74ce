/* Which way leads to an address: the rows of transports.def. */
#include "pipeline/measure/wire/transport.h"

#include <string.h>

static const kiln_transport_def *const rows[] = {
#define KILN_TRANSPORT(name) &kiln_transport_##name##_def,
#include "pipeline/measure/wire/transports.def"
#undef KILN_TRANSPORT
};

static const kiln_transport_def *find(const char *address) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (const char *const *b = rows[i]->begins; *b != NULL; b++)
            if (strncmp(address, *b, strlen(*b)) == 0)
                return rows[i];
    return NULL;
}

kiln_status kiln_transport_check(const char *address, kiln_err *err) {
    const kiln_transport_def *def = find(address);
    if (def != NULL)
        return def->check(address, err);
    return kiln_fail(err, KILN_ERR_ARG,
                     "'%.100s' is no address of a runner: unix:PATH, "
                     "tcp:127.0.0.1:PORT, tcp:[::1]:PORT, or "
                     "curve://HOST:PORT?device=KEY",
                     address);
}

void kiln_transport_elsewhere(kiln_transport *t, const char *address,
                              const char *called) {
    const kiln_transport_def *def = find(address);
    KILN_ASSERT(def != NULL, "'%s' was not checked", address);
    *t = (kiln_transport){.def = def,
                          .called = called,
                          .address = address,
                          .shared = -1,
                          .out = -1,
                          .in = -1,
                          .log = -1};
}
