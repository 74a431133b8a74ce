/* A small HTTP server in a thread of the test, that misbehaves on request. */
#ifndef KILN_TESTS_SUPPORT_HTTP_SERVER_H
#define KILN_TESTS_SUPPORT_HTTP_SERVER_H

#include <pthread.h>
#include <stdatomic.h>

#include "tests/support/kiln_test.h"

/* What it does for each path; "/proxy" is any request with a whole URL in it. */
typedef enum kiln_test_http {
    KILN_TEST_HTTP_GOOD,    /* /good: with ranges */
    KILN_TEST_HTTP_NORANGE, /* /norange: always the whole file */
    KILN_TEST_HTTP_CUT,     /* /cut: stops after a third of what is left, every time */
    KILN_TEST_HTTP_SHORT,   /* /short: a shorter file, whole as far as it says */
    KILN_TEST_HTTP_BIG,     /* /big: says nothing of its length, and never ends */
    KILN_TEST_HTTP_WRONG,   /* /wrong: other bytes */
    KILN_TEST_HTTP_MISSING, /* /missing: 404 */
    KILN_TEST_HTTP_BUSY,    /* /busy: 503 twice, then good */
    KILN_TEST_HTTP_STALL,   /* /stall: a third, then silence; good when asked again */
    KILN_TEST_HTTP_MOVED,   /* /moved: to /good */
    KILN_TEST_HTTP_LOOP,    /* /loop: to itself */
    KILN_TEST_HTTP_LOCAL,   /* /local: to a file:// URL */
    KILN_TEST_HTTP_GARBAGE, /* /garbage: no HTTP at all */
    KILN_TEST_HTTP_TRICKLE, /* /trickle: ten bytes a second, for ever */
    KILN_TEST_HTTP_CUT_NORANGE, /* /half: the whole file, cut short twice */
    KILN_TEST_HTTP_NO_416, /* /no416: 416 where it should go on, else the whole file */
    KILN_TEST_HTTP_N
} kiln_test_http;

typedef struct kiln_test_server {
    int port;
    int fd;
    pthread_t thread;
    const unsigned char *bytes; /* of the file */
    size_t n;
    atomic_int n_requests, n_ranges, n_proxied;
    atomic_bool stops;
} kiln_test_server;

/* Serves these bytes, borrowed, on a free port of the loopback device. */
void kiln_test_server_open(kiln_test_server *s, const unsigned char *bytes, size_t n);
void kiln_test_server_close(kiln_test_server *s);

#endif
