/* Linux, as who dies with us. */
#include "tests/support/measuring/peer.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pipeline/measure/wire/address.h"
#include "tests/support/kiln_test.h"

const char *kiln_test_address(kiln_arena *a) {
    kiln_err err = {0};
    const char *folder;
    kiln_assert_status_ok(kiln_dir_temp(a, &folder, &err), &err);
    return kiln_format(a, "unix:%s/runner", folder);
}

static int listen_at(const char *address) {
    kiln_wire_address a;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_wire_address_parse(address, &a, &err), &err);
    const int fd = kiln_wire_address_socket(&a);
    assert_true(fd >= 0 && bind(fd, &a.at.any, a.bytes) == 0 && listen(fd, 8) == 0);
    return fd;
}

pid_t kiln_test_listen_beside(const char *address, kiln_test_serve_fn *serve,
                              const void *user) {
    const int listener = listen_at(address);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)signal(SIGPIPE, SIG_IGN);
        for (int nth = 0;; nth++) {
            const int fd = accept(listener, NULL, NULL);
            if (fd < 0)
                _exit(1);
            serve(fd, nth, user);
            (void)close(fd);
        }
    }
    assert_int_equal(close(listener), 0);
    return pid;
}

void kiln_test_end_beside(pid_t pid) {
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

void kiln_test_say(int fd, kiln_wire_kind kind, const void *message) {
    kiln_arena a = {0};
    kiln_buf out;
    kiln_buf_init(&out, &a);
    kiln_wire_put(&out, kind, message);
    (void)kiln_wire_write(fd, kiln_buf_str(&out), NULL);
    kiln_arena_fini(&a);
}

void kiln_test_call(kiln_test_talk *t, const char *address) {
    kiln_err err = {0};
    kiln_wire_address at;
    *t = (kiln_test_talk){.fd = -1};
    t->in.arena = &t->arena;
    kiln_assert_status_ok(kiln_wire_address_parse(address, &at, &err), &err);
    t->fd = kiln_wire_address_socket(&at);
    assert_true(t->fd >= 0 && connect(t->fd, &at.at.any, at.bytes) == 0);
}

bool kiln_test_hear(kiln_test_talk *t, kiln_wire_frame *f) {
    kiln_err err = {0};
    bool has;
    kiln_assert_status_ok(
        kiln_wire_read(t->fd, &t->in, KILN_TEST_PATIENCE_MS, &has, f, &err), &err);
    return has;
}

void kiln_test_borrow(kiln_test_talk *t, const char *address, const char *owner,
                      int64_t ms) {
    const kiln_wire_lease lease = {.owner = kiln_str_from(owner), .ms = ms};
    kiln_wire_frame f;
    kiln_test_call(t, address);
    assert_true(kiln_test_hear(t, &f));
    assert_int_equal(f.kind, KILN_WIRE_HELLO);
    kiln_test_say(t->fd, KILN_WIRE_LEASE, &lease);
    assert_true(kiln_test_hear(t, &f));
    assert_int_equal(f.kind, KILN_WIRE_LEASED);
}

void kiln_test_hang_up(kiln_test_talk *t) {
    assert_int_equal(close(t->fd), 0);
    kiln_arena_fini(&t->arena);
}
