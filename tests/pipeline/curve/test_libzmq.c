/* Our CURVE against ZeroMQ's own library, both ways: its server understands our client,
 * and its client our device. Skipped where there is no libzmq. */
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/curve/curve.h"
#include "pipeline/measure/wire/transport.h"
#include "pipeline/measure/wire/wire.h"
#include "tests/support/measuring/board_run.h"
#include "tests/support/kiln_test.h"

/* The library's interface, as far as it is needed; options are numbers of its zmq.h. */
enum {
    ZMQ_DEALER = 5,
    ZMQ_LINGER = 17,
    ZMQ_RCVTIMEO = 27,
    ZMQ_LAST_ENDPOINT = 32,
    ZMQ_CURVE_SERVER = 47,
    ZMQ_CURVE_PUBLICKEY = 48,
    ZMQ_CURVE_SECRETKEY = 49,
    ZMQ_CURVE_SERVERKEY = 50
};
static struct library {
    void *(*ctx_new)(void);
    int (*ctx_term)(void *);
    void *(*socket)(void *, int);
    int (*close)(void *);
    int (*setsockopt)(void *, int, const void *, size_t);
    int (*getsockopt)(void *, int, void *, size_t *);
    int (*bind)(void *, const char *);
    int (*connect)(void *, const char *);
    int (*send)(void *, const void *, size_t, int);
    int (*recv)(void *, void *, size_t, int);
} zmq;

/* POSIX: what dlsym returns is a function's address, too. */
static void load(void) {
    void *handle = dlopen("libzmq.so.5", RTLD_NOW);
    const struct {
        const char *name;
        void *to;
    } rows[] = {
        {"zmq_ctx_new", &zmq.ctx_new},
        {"zmq_ctx_term", &zmq.ctx_term},
        {"zmq_socket", &zmq.socket},
        {"zmq_close", &zmq.close},
        {"zmq_setsockopt", &zmq.setsockopt},
        {"zmq_getsockopt", &zmq.getsockopt},
        {"zmq_bind", &zmq.bind},
        {"zmq_connect", &zmq.connect},
        {"zmq_send", &zmq.send},
        {"zmq_recv", &zmq.recv},
    };
    if (handle == NULL)
        kiln_test_skip("there is no libzmq.so.5 (Debian: libzmq5)");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        void *f = dlsym(handle, rows[i].name);
        assert_non_null(f);
        memcpy(rows[i].to, &f, sizeof f);
    }
}

static void set(void *s, int option, const void *p, size_t n) {
    assert_int_equal(zmq.setsockopt(s, option, p, n), 0);
}

static void *new_socket(void *context, const kiln_curve_pair *own) {
    const int none = 0, patience = 60000;
    void *s = zmq.socket(context, ZMQ_DEALER);
    assert_non_null(s);
    set(s, ZMQ_LINGER, &none, sizeof none);
    set(s, ZMQ_RCVTIMEO, &patience, sizeof patience);
    set(s, ZMQ_CURVE_SECRETKEY, own->secret.bytes, KILN_CURVE_KEY);
    return s;
}

static void close_socket(void *context, void *s) {
    assert_int_equal(zmq.close(s), 0);
    assert_int_equal(zmq.ctx_term(context), 0);
}

static size_t read_all(int fd, char *to, size_t n) {
    size_t at = 0;
    while (at < n) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        assert_true(poll(&p, 1, KILN_TEST_PATIENCE_MS) > 0);
        const ssize_t got = read(fd, to + at, n - at);
        if (got <= 0)
            break;
        at += (size_t)got;
    }
    return at;
}

static void its_server_understands_us(void **state) {
    enum { LARGE = 30000 };
    static char large[LARGE], back[LARGE];
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.len = 0};
    kiln_curve_pair server, client;
    kiln_transport t;
    kiln_transport_end how;
    const int yes = 1;
    char endpoint[100], digits[KILN_CURVE_KEY_TEXT];
    size_t n = sizeof endpoint;
    int port = 0;
    (void)state;
    load();
    kiln_assert_status_ok(kiln_curve_start(&err), &err);
    kiln_curve_pair_make(&server);
    kiln_curve_pair_make(&client);
    const char *stem = kiln_path_join(a, kiln_test_dir(), "client");
    kiln_assert_status_ok(kiln_curve_pair_save(a, stem, &client, &err), &err);
    void *context = zmq.ctx_new();
    void *s = new_socket(context, &server);
    set(s, ZMQ_CURVE_SERVER, &yes, sizeof yes);
    assert_int_equal(zmq.bind(s, "tcp://127.0.0.1:*"), 0);
    assert_int_equal(zmq.getsockopt(s, ZMQ_LAST_ENDPOINT, endpoint, &n), 0);
    assert_int_equal(sscanf(endpoint, "tcp://127.0.0.1:%d", &port), 1);
    kiln_curve_key_text(&server.public_key, digits);
    const char *address =
        kiln_format(a, "curve://127.0.0.1:%d?device=%s&key=%s.key", port, digits, stem);
    kiln_assert_status_ok(kiln_transport_check(address, &err), &err);
    kiln_transport_elsewhere(&t, address, "the library");
    kiln_assert_status_ok(t.def->open(&t, &err), &err);
    assert_int_equal(t.def->send(&t, "hello", 5), 5);
    assert_int_equal(zmq.recv(s, back, sizeof back, 0), 5);
    assert_memory_equal(back, "hello", 5);
    for (int i = 0; i < LARGE; i++)
        large[i] = (char)(i * 3);
    assert_int_equal(zmq.send(s, large, LARGE, 0), LARGE);
    assert_int_equal(zmq.send(s, "end", 3, 0), 3);
    assert_int_equal(read_all(t.in, back, LARGE), LARGE);
    assert_memory_equal(back, large, LARGE);
    assert_int_equal(read_all(t.in, back, 3), 3);
    t.def->end(&t, false, &how);
    close_socket(context, s);
}

/* A greeting of the runner is what it hears. */
static void its_client_understands_our_device(void **state) {
    static char text[1 << 16];
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.len = 0};
    kiln_curve_pair user;
    kiln_curve_key device;
    kiln_wire_frame f;
    kiln_wire_hello hello;
    kiln_wire_stream in = {.arena = a};
    board_run b;
    size_t room;
    bool has;
    (void)state;
    load();
    board_run_start(a, &b);
    kiln_assert_status_ok(
        kiln_curve_pair_read(kiln_path_join(a, b.folder, "user.key"), &user, &err),
        &err);
    kiln_assert_status_ok(kiln_curve_public_read(b.key, &device, &err), &err);
    void *context = zmq.ctx_new();
    void *s = new_socket(context, &user);
    set(s, ZMQ_CURVE_PUBLICKEY, user.public_key.bytes, KILN_CURVE_KEY);
    set(s, ZMQ_CURVE_SERVERKEY, device.bytes, KILN_CURVE_KEY);
    assert_int_equal(zmq.connect(s, kiln_format(a, "tcp://127.0.0.1:%d", b.port)), 0);
    const int n = zmq.recv(s, text, sizeof text, 0);
    assert_in_range(n, KILN_WIRE_HEADER_BYTES, sizeof text - 1);
    unsigned char *to = kiln_wire_stream_room(&in, &room);
    assert_true(room >= (size_t)n);
    memcpy(to, text, (size_t)n);
    in.n += (size_t)n;
    kiln_assert_status_ok(kiln_wire_next(&in, &has, &f, &err), &err);
    assert_true(has);
    kiln_assert_status_ok(kiln_wire_expect(a, &f, KILN_WIRE_HELLO, &hello, &err), &err);
    assert_true(kiln_str_is(hello.role, "runner"));
    close_socket(context, s);
    board_run_kill(&b);
}

int main(void) {
    kiln_test_add("its_server_understands_us", its_server_understands_us, NULL);
    kiln_test_add("its_client_understands_our_device",
                  its_client_understands_our_device, NULL);
    return kiln_test_run("libzmq");
}
