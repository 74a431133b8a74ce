/* Where a worker listens: "unix:PATH", "tcp:127.0.0.1:PORT", "tcp:[::1]:PORT". */
#ifndef KILN_PIPELINE_MEASURE_WIRE_ADDRESS_H
#define KILN_PIPELINE_MEASURE_WIRE_ADDRESS_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/base.h"

typedef struct kiln_wire_address {
    union {
        struct sockaddr any;
        struct sockaddr_un local;
        struct sockaddr_in ip4;
        struct sockaddr_in6 ip6;
    } at;
    socklen_t bytes;
} kiln_wire_address;

/* Numbers only: no name is looked up. KILN_ERR_ARG says what an address looks like. */
kiln_status kiln_wire_address_parse(const char *text, kiln_wire_address *out,
                                    kiln_err *err);
/* The same text again, with the port that the system chose. */
enum { KILN_WIRE_ADDRESS_TEXT = 160 };
void kiln_wire_address_text(const kiln_wire_address *a,
                            char text[KILN_WIRE_ADDRESS_TEXT]);

/* Can only this user (of a loopback address: only this machine) connect there?
 * KILN_ERR_UNSUPPORTED: who listens there has others' code to run. */
kiln_status kiln_wire_address_check_private(const kiln_wire_address *a, kiln_err *err);

/* A listening descriptor that does not block; *a then has the port that was chosen.
 * Where it is private, as above. A socket that somebody left who was killed goes;
 * KILN_ERR_ARG: somebody listens there. */
kiln_status kiln_wire_address_listen(kiln_wire_address *a, int *out, kiln_err *err);

/* A descriptor that programs started later do not have. -1: errno says why. */
int kiln_wire_address_socket(const kiln_wire_address *a);

#endif
