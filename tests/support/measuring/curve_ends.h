/* Both ends of an authenticated session in memory, and what goes from one to the other. */
#ifndef KILN_TESTS_SUPPORT_CURVE_ENDS_H
#define KILN_TESTS_SUPPORT_CURVE_ENDS_H

#include "pipeline/curve/curve.h"

typedef struct curve_ends {
    kiln_arena arena;
    kiln_curve_pair server_pair, client_pair;
    kiln_curve_allowed allowed; /* the client's */
    kiln_curve_session server, client;
    kiln_buf to_server, to_client; /* on its way */
    kiln_buf server_got, client_got;
} curve_ends;

/* Not one byte has gone either way. */
void curve_ends_init(curve_ends *e);
void curve_ends_fini(curve_ends *e);
/* Everything that is on its way arrives, and what is said to it too, until all is quiet. */
kiln_status curve_ends_settle(curve_ends *e, kiln_err *err);
/* So many bytes of it arrive at one end, and what that answers is on its way back. */
kiln_status curve_ends_give(kiln_curve_session *to, const char *p, size_t n,
                            kiln_buf *answer, kiln_buf *got, kiln_err *err);

#endif
