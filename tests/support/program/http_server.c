#include "tests/support/program/http_server.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *const paths[KILN_TEST_HTTP_N] = {
    "/good",    "/norange", "/cut",   "/short", "/big",  "/wrong",
    "/missing", "/busy",    "/stall", "/moved", "/loop", "/local",
    "/garbage", "/trickle", "/half",  "/no416"};

static void put(int fd, const void *p, size_t n) {
    const char *at = p;
    while (n > 0) {
        const ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return; /* the client has gone */
        at += sent;
        n -= (size_t)sent;
    }
}

static void say(int fd, const char *text) { put(fd, text, strlen(text)); }

static void redirect(int fd, const char *to) {
    char text[200];
    snprintf(text, sizeof text,
             "HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: "
             "%s\r\nContent-Length: 0\r\n\r\n",
             to);
    say(fd, text);
}

/* The bytes from `from` on; as many as `send_only` of them. */
static void serve(kiln_test_server *s, int fd, size_t from, size_t end,
                  size_t send_only) {
    char text[200];
    if (from > 0)
        snprintf(text, sizeof text,
                 "HTTP/1.1 206 Partial Content\r\nConnection: close\r\nContent-Range: "
                 "bytes %zu-%zu/%zu\r\n"
                 "Content-Length: %zu\r\n\r\n",
                 from, end - 1, end, end - from);
    else
        snprintf(text, sizeof text,
                 "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
                 end);
    say(fd, text);
    put(fd, s->bytes + from, send_only);
}

static void never_end(kiln_test_server *s, int fd) {
    say(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    while (!s->stops) {
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        const int ready = poll(&p, 1, 100);
        if ((p.revents & (POLLERR | POLLHUP)) != 0)
            return; /* the client has gone */
        if (ready > 0)
            put(fd, s->bytes, s->n);
    }
}

static void trickle(const kiln_test_server *s, int fd) {
    char text[100];
    snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", s->n);
    say(fd, text);
    for (size_t i = 0; i < s->n && !s->stops; i++) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        put(fd, s->bytes + i, 1);
        if (poll(&p, 1, 100) > 0)
            return; /* the client has gone */
    }
}

static void wait_silently(const kiln_test_server *s, int fd) {
    while (!s->stops) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, 50) > 0)
            return; /* the client has gone */
    }
}

static void serve_wrong(kiln_test_server *s, int fd) {
    char text[100];
    const unsigned char other = (unsigned char)(s->bytes[0] ^ 1);
    snprintf(text, sizeof text,
             "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
             s->n);
    say(fd, text);
    put(fd, &other, 1);
    put(fd, s->bytes + 1, s->n - 1);
}

static void answer(kiln_test_server *s, int fd, kiln_test_http what, size_t from) {
    const size_t left = s->n - from;
    const bool has_ranges =
        what != KILN_TEST_HTTP_NORANGE && what != KILN_TEST_HTTP_CUT_NORANGE;
    if (from >= s->n && has_ranges) {
        say(fd, "HTTP/1.1 416 Range Not Satisfiable\r\nConnection: "
                "close\r\nContent-Length: 0\r\n\r\n");
        return;
    }
    switch (what) {
    case KILN_TEST_HTTP_GOOD:
        serve(s, fd, from, s->n, left);
        break;
    case KILN_TEST_HTTP_NORANGE:
        serve(s, fd, 0, s->n, s->n);
        break;
    case KILN_TEST_HTTP_CUT:
        serve(s, fd, from, s->n, left / 3 + 1);
        break;
    case KILN_TEST_HTTP_SHORT:
        if (from >= s->n / 2)
            say(fd, "HTTP/1.1 416 Range Not Satisfiable\r\nConnection: "
                    "close\r\nContent-Length: 0\r\n\r\n");
        else
            serve(s, fd, from, s->n / 2, s->n / 2 - from);
        break;
    case KILN_TEST_HTTP_BIG:
        never_end(s, fd);
        break;
    case KILN_TEST_HTTP_WRONG:
        serve_wrong(s, fd);
        break;
    case KILN_TEST_HTTP_MISSING:
        say(fd,
            "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        break;
    case KILN_TEST_HTTP_BUSY:
        if (s->n_requests <= 2)
            say(fd, "HTTP/1.1 503 Service Unavailable\r\nConnection: "
                    "close\r\nContent-Length: 0\r\n\r\n");
        else
            serve(s, fd, from, s->n, left);
        break;
    case KILN_TEST_HTTP_STALL:
        serve(s, fd, from, s->n, s->n_requests == 1 ? left / 3 + 1 : left);
        if (s->n_requests == 1)
            wait_silently(s, fd);
        break;
    case KILN_TEST_HTTP_MOVED:
        redirect(fd, "/good");
        break;
    case KILN_TEST_HTTP_LOOP:
        redirect(fd, "/loop");
        break;
    case KILN_TEST_HTTP_LOCAL:
        redirect(fd, "file:///etc/hostname");
        break;
    case KILN_TEST_HTTP_TRICKLE:
        trickle(s, fd);
        break;
    case KILN_TEST_HTTP_CUT_NORANGE:
        serve(s, fd, 0, s->n, s->n_requests <= 2 ? s->n / 2 : s->n);
        break;
    case KILN_TEST_HTTP_NO_416:
        if (from > 0)
            say(fd, "HTTP/1.1 416 Range Not Satisfiable\r\nConnection: "
                    "close\r\nContent-Length: 0\r\n\r\n");
        else
            serve(s, fd, 0, s->n, s->n);
        break;
    case KILN_TEST_HTTP_GARBAGE:
    case KILN_TEST_HTTP_N:
        say(fd, "\x01\x02 no header\r\n\r\n");
        break;
    }
}

static void handle(kiln_test_server *s, int fd) {
    char request[4096] = "";
    size_t n = 0;
    while (n + 1 < sizeof request && strstr(request, "\r\n\r\n") == NULL) {
        const ssize_t got = recv(fd, request + n, sizeof request - 1 - n, 0);
        if (got <= 0)
            return;
        n += (size_t)got;
        request[n] = '\0';
    }
    s->n_requests++;
    char *path = strchr(request, '/');
    if (strncmp(request, "GET http://", 11) == 0) {
        s->n_proxied++;
        path = strchr(request + 11, '/');
    }
    const char *range = strstr(request, "Range: bytes=");
    const size_t from = range != NULL ? strtoull(range + 13, NULL, 10) : 0;
    s->n_ranges += range != NULL;
    for (int i = 0; path != NULL && i < KILN_TEST_HTTP_N; i++)
        if (strncmp(path, paths[i], strlen(paths[i])) == 0)
            answer(s, fd, (kiln_test_http)i, from);
}

static void *run(void *user) {
    kiln_test_server *s = user;
    while (!s->stops) {
        struct pollfd p = {.fd = s->fd, .events = POLLIN};
        if (poll(&p, 1, 50) <= 0)
            continue;
        const int fd = accept(s->fd, NULL, NULL);
        if (fd < 0)
            continue;
        handle(s, fd);
        close(fd);
    }
    return NULL;
}

void kiln_test_server_open(kiln_test_server *s, const unsigned char *bytes, size_t n) {
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    memset(s, 0, sizeof *s);
    s->bytes = bytes;
    s->n = n;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(s->fd >= 0);
    assert_int_equal(bind(s->fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(s->fd, 8), 0);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&at, &size), 0);
    s->port = ntohs(at.sin_port);
    assert_int_equal(pthread_create(&s->thread, NULL, run, s), 0);
}

void kiln_test_server_close(kiln_test_server *s) {
    s->stops = true;
    pthread_join(s->thread, NULL);
    close(s->fd);
}
