/* Who is at the other end of a socket, for tests: a process that does as it is told. */
#ifndef KILN_TESTS_SUPPORT_PEER_H
#define KILN_TESTS_SUPPORT_PEER_H

#include <sys/types.h>

#include "pipeline/measure/wire/wire.h"

/* unix:FOLDER/runner, in a new folder. */
const char *kiln_test_address(kiln_arena *a);
/* Listens there in a process of its own, until it is killed, at the latest with us:
 * serve(connection, nth, user) for one connection after the other. */
typedef void kiln_test_serve_fn(int fd, int nth, const void *user);
pid_t kiln_test_listen_beside(const char *address, kiln_test_serve_fn *serve,
                              const void *user);
void kiln_test_end_beside(pid_t pid);
/* A message, as far as the other side takes it. */
void kiln_test_say(int fd, kiln_wire_kind kind, const void *message);

/* Who asks: a connection to a runner that listens, from kiln_test_call to
 * kiln_test_hang_up. */
typedef struct kiln_test_talk {
    kiln_arena arena; /* of what is heard */
    int fd;
    kiln_wire_stream in;
} kiln_test_talk;
void kiln_test_call(kiln_test_talk *t, const char *address);
/* What comes next; false: an end. */
bool kiln_test_hear(kiln_test_talk *t, kiln_wire_frame *f);
/* Calls, is greeted, and borrows the runner for so long. */
void kiln_test_borrow(kiln_test_talk *t, const char *address, const char *owner,
                      int64_t ms);
void kiln_test_hang_up(kiln_test_talk *t);

#endif
