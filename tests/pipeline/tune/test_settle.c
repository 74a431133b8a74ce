/* The best of every work, measured inside the network: here, and on runners that others
 * started. */
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/measure/wire/address.h"
#include "pipeline/network/network.h"
#include "pipeline/tune/tune_internal.h"
#include "tests/support/kiln_test.h"
#include "tests/support/measuring/measure_run.h"
#include "tests/support/measuring/peer.h"
#include "tests/support/measuring/tune_run.h"

static size_t n_in_network(kiln_db *db, const kiln_tune_works *w, size_t i) {
    return kiln_test_tune_trials(db, &w->list.v[i].op, KILN_TUNE_CACHE_NETWORK).list.n;
}

/* Says that a candidate which nobody has measured is the fastest, though not by much:
 * nobody would believe it. */
static void promote(kiln_db *db, const kiln_op_work *w) {
    const kiln_db_trials known = kiln_test_tune_trials(db, w, KILN_TUNE_CACHE);
    double ns = HUGE_VAL;
    kiln_err err = {0};
    int64_t id = 0;
    int by = 0;
    kiln_db_trial t = {.sample_ns = &ns,
                       .n_samples = 1,
                       .proof = "{\"seeds\": 3}",
                       .owner = "elsewhere.1",
                       .kiln = KILN_VERSION};
    const kiln_db_task task =
        kiln_tune_task_of(kiln_test_arena(), w, kiln_test_native(), 1, KILN_TUNE_CACHE);
    kiln_assert_status_ok(kiln_db_task_id(db, &task, &id, &err), &err);
    for (bool is_known = true; is_known && by < 1000; by++) {
        t.candidate = kiln_test_tune_turned(w, "tile", by);
        is_known = false;
        for (size_t i = 0; i < known.list.n; i++)
            is_known |=
                strcmp(known.list.v[i].candidate.config, t.candidate.config) == 0;
    }
    assert_true(by < 1000);
    for (size_t i = 0; i < known.list.n; i++)
        if (known.list.v[i].error[0] == '\0')
            ns = fmin(ns, 0.95 * known.list.v[i].median_ns);
    kiln_assert_status_ok(kiln_db_record(db, id, &t, NULL, &err), &err);
}

/* The works of a graph, each tuned by itself. */
static kiln_tune_works tuned(const kiln_graph *g, const kiln_tune_options *o) {
    kiln_err err = {0};
    kiln_tune_works works;
    kiln_assert_status_ok(kiln_tune_works_of_graph(kiln_test_arena(), g,
                                                   kiln_test_native(), &works, &err),
                          &err);
    kiln_test_tune(&works, o);
    return works;
}

/* What was measured in the network stays as it is when another work has news; and
 * without time nothing is recorded at all. */
static void settles_what_is_new(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_tune_settled s = {0};
    kiln_graph *g = kiln_test_tune_network();
    kiln_db *db = kiln_test_db_open(":memory:");
    kiln_tune_options o = kiln_test_tune_options(db, 12);
    const kiln_tune_works works = tuned(g, &o);
    o.seconds = 1e-6;
    kiln_assert_status_ok(kiln_tune_settle(g, &o, &s, &err), &err);
    assert_true(s.is_cut && s.n_works == 2 && n_in_network(db, &works, 0) == 0);
    o.seconds = 0;
    kiln_assert_status_ok(kiln_tune_settle(g, &o, &s, &err), &err);
    assert_false(s.is_cut);
    const size_t before = n_in_network(db, &works, 1);
    promote(db, &works.list.v[0].op);
    kiln_assert_status_ok(kiln_tune_settle(g, &o, &s, &err), &err);
    assert_int_equal(s.n_works, 1);
    assert_true(s.n_changed <= s.n_works);
    assert_int_equal(n_in_network(db, &works, 1), before);
    kiln_test_db_is_sound(db);
    kiln_db_close(db);
}

/* A network that ends its process, here: whose process is no kiln-runner. */
static void settling_outlives_its_process(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_tune_settled s = {0};
    kiln_arena *a = kiln_test_arena();
    kiln_graph *g = kiln_test_tune_network();
    kiln_db *db = kiln_test_db_open(":memory:");
    kiln_tune_options o = kiln_test_tune_options(db, 12);
    const kiln_tune_works works = tuned(g, &o);
    const char *dir = kiln_test_dir(), *old = getenv("KILN_LIBEXEC");
    const char *path = kiln_path_join(a, dir, "kiln-runner");
    old = old != NULL ? kiln_str_dup(a, old) : NULL;
    static const char script[] = "#!/bin/sh\nexit 9\n";
    kiln_assert_status_ok(kiln_file_write(path, script, sizeof script - 1, &err), &err);
    assert_int_equal(chmod(path, S_IRWXU), 0);
    assert_int_equal(setenv("KILN_LIBEXEC", dir, 1), 0);
    kiln_assert_fails(kiln_tune_settle(g, &o, &s, &err), KILN_ERR_LIB, &err,
                      "the process 'kiln-runner' ended with code 9");
    assert_int_equal(
        old != NULL ? setenv("KILN_LIBEXEC", old, 1) : unsetenv("KILN_LIBEXEC"), 0);
    assert_int_equal(n_in_network(db, &works, 0), 0);
    kiln_err_clear(&err);
    kiln_assert_status_ok(kiln_tune_settle(g, &o, &s, &err), &err);
    assert_int_equal(s.n_works, 2);
    kiln_db_close(db);
}

/* Tuned alone, then in the network; compiled with that, it is still right. */
static void networks_settle(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_tune_settled s = {0};
    kiln_graph *g = kiln_test_tune_network();
    kiln_db *db = kiln_test_db_open(":memory:");
    kiln_tune_options o = kiln_test_tune_options(db, 12);
    const kiln_tune_works works = tuned(g, &o);
    kiln_assert_status_ok(kiln_tune_settle(g, &o, &s, &err), &err);
    assert_int_equal(s.n_works, 2);
    assert_true(s.chosen_ns <= s.alone_ns && s.chosen_ns > 0);
    const kiln_db_trials in_network =
        kiln_test_tune_trials(db, &works.list.v[0].op, KILN_TUNE_CACHE_NETWORK);
    assert_in_range(in_network.list.n, 1, 3);
    assert_non_null(strstr(in_network.list.v[0].proof, "\"seeds\": 3"));
    kiln_test_db_is_sound(db);
    s.n_works = 7;
    kiln_assert_status_ok(kiln_tune_settle(g, &o, &s, &err), &err);
    assert_int_equal(s.n_works, 0); /* nothing is left to measure */

    kiln_tune_advice advice = {.db = db, .threads = 1, .arena = kiln_test_arena()};
    const kiln_oracle oracle = kiln_tune_oracle(&advice);
    const kiln_choose_options choose = {.oracle = &oracle};
    const kiln_network_options net = {.choose = &choose};
    kiln_network n;
    kiln_assert_status_ok(
        kiln_network_compile(kiln_test_arena(), g, kiln_test_native(), &net, &n, &err),
        &err);
    int n_tuned = 0;
    for (size_t i = 0; i < n.kernel.n; i++)
        n_tuned += n.kernel.v[i].origin == KILN_ORIGIN_TUNED ||
                   n.kernel.v[i].origin == KILN_ORIGIN_TIMED;
    assert_true(n_tuned >= 2);
    kiln_db_close(db);
}

/* ---- on runners elsewhere ----------------------------------------------------------- */

static kiln_db_trials of_network(kiln_db *db, const kiln_tune_works *w, size_t i) {
    return kiln_test_tune_trials(db, &w->list.v[i].op, KILN_TUNE_CACHE_NETWORK);
}

/* A second run would find others fast, and maybe not as many. */
static void copy_records(kiln_db *from, kiln_db *to) {
    kiln_err err = {0};
    kiln_buf text;
    kiln_db_import_counts n;
    kiln_buf_init(&text, kiln_test_arena());
    kiln_assert_status_ok(kiln_db_export(from, &text, &err), &err);
    kiln_assert_status_ok(kiln_db_import(to, kiln_buf_str(&text), "copy", &n, &err),
                          &err);
}

/* The same candidates of the same works get records as here, with the runner's name. */
static void settles_over_a_socket(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_tune_settled here = {0}, there = {0};
    kiln_test_server s;
    kiln_graph *g = kiln_test_tune_network();
    kiln_db *db[2] = {kiln_test_db_open(":memory:"), kiln_test_db_open(":memory:")};
    kiln_tune_options o = kiln_test_tune_options(db[0], 12);
    const kiln_tune_works works = tuned(g, &o);
    copy_records(db[0], db[1]);
    kiln_assert_status_ok(kiln_tune_settle(g, &o, &here, &err), &err);
    kiln_test_serve(kiln_test_arena(), kiln_test_address(kiln_test_arena()), &s);
    const char *const address[] = {s.address, NULL};
    o.db = db[1];
    o.runner_addresses = address;
    kiln_assert_status_ok(kiln_tune_settle(g, &o, &there, &err), &err);
    assert_int_equal(there.n_works, here.n_works);
    assert_false(there.is_cut);
    assert_true(there.chosen_ns <= there.alone_ns && there.chosen_ns > 0);
    for (size_t i = 0; i < 2; i++) {
        const kiln_db_trials a = of_network(db[0], &works, i),
                             b = of_network(db[1], &works, i);
        assert_int_equal(a.list.n, b.list.n);
        for (size_t k = 0; k < b.list.n; k++) {
            assert_string_equal(a.list.v[k].candidate.config,
                                b.list.v[k].candidate.config);
            assert_string_equal(a.list.v[k].runner, "local");
            assert_string_equal(b.list.v[k].runner, s.address);
        }
    }
    kiln_assert_status_ok(kiln_tune_settle(g, &o, &there, &err), &err);
    assert_int_equal(there.n_works, 0); /* nothing is left to measure */
    kiln_test_db_is_sound(db[1]);
    kiln_test_server_kill(&s);
    for (int i = 0; i < 2; i++)
        kiln_db_close(db[i]);
}

/* A killer: in a process of its own, once somebody has connected and a moment passed. */
typedef struct killing {
    const char *to;
    pid_t server;
} killing;

static void relay_and_kill(int fd, int nth, const void *user) {
    enum { BYTES = 65536, PASSED = 3000 }; /* answers of several turns */
    const killing *k = user;
    static char bytes[BYTES];
    kiln_wire_address at;
    size_t passed = 0;
    (void)nth;
    if (kiln_wire_address_parse(k->to, &at, NULL) != KILN_OK)
        return;
    const int to = kiln_wire_address_socket(&at);
    if (to < 0 || connect(to, &at.at.any, at.bytes) != 0)
        return;
    for (bool goes_on = true; goes_on;) {
        struct pollfd p[] = {{.fd = fd, .events = POLLIN},
                             {.fd = to, .events = POLLIN}};
        (void)poll(p, 2, -1);
        for (int i = 0; i < 2 && goes_on; i++) {
            if (p[i].revents == 0)
                continue;
            const ssize_t n = read(p[i].fd, bytes, sizeof bytes);
            passed += i == 1 && n > 0 ? (size_t)n : 0;
            goes_on = n > 0 && passed <= PASSED &&
                      kiln_wire_write(i == 0 ? to : fd, (kiln_str){bytes, (size_t)n},
                                      NULL) == KILN_OK;
        }
    }
    /* What is past the mark is never passed on: however late the kill comes, the answer
     * is not whole. */
    if (passed > PASSED)
        (void)kill(k->server, SIGKILL);
    (void)close(to);
}

/* Killed midway: it begins again on another; where there is none, that is said, nothing
 * is recorded, and the next call finds all as it was. */
static void settling_outlives_its_runner(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_tune_settled settled = {0};
    kiln_test_server bad, good;
    kiln_graph *g = kiln_test_tune_network();
    kiln_db *db = kiln_test_db_open(":memory:");
    kiln_tune_options o = kiln_test_tune_options(db, 12);
    const kiln_tune_works works = tuned(g, &o);
    kiln_test_serve(a, kiln_test_address(a), &bad);
    kiln_test_serve(a, kiln_test_address(a), &good);
    const killing k = {bad.address, (pid_t)bad.child.pid};
    const char *between = kiln_test_address(a);
    const pid_t relay = kiln_test_listen_beside(between, relay_and_kill, &k);
    const char *const one[] = {between, NULL};
    o.runner_addresses = one;
    kiln_assert_fails(kiln_tune_settle(g, &o, &settled, &err), KILN_ERR_LIB, &err,
                      kiln_format(a, "the runner at %s is gone", between));
    assert_non_null(strstr(err.text, "no runner is left"));
    assert_int_equal(n_in_network(db, &works, 0), 0);
    kiln_err_clear(&err);
    const char *const both[] = {between, good.address, NULL};
    o.runner_addresses = both;
    kiln_assert_status_ok(kiln_tune_settle(g, &o, &settled, &err), &err);
    assert_int_equal(settled.n_works, 2);
    const kiln_db_trials known = of_network(db, &works, 0);
    assert_true(known.list.n > 0);
    for (size_t i = 0; i < known.list.n; i++) {
        assert_string_equal(known.list.v[i].runner, good.address);
        assert_int_equal(known.list.v[i].n_samples, 15);
    }
    kiln_test_end_beside(relay);
    kiln_test_server_kill(&bad);
    kiln_test_server_kill(&good);
    kiln_db_close(db);
}
int main(void) {
    kiln_test_add("networks_settle", networks_settle, NULL);
    kiln_test_add("settling_outlives_its_process", settling_outlives_its_process, NULL);
    kiln_test_add("settles_what_is_new", settles_what_is_new, NULL);
    kiln_test_add("settles_over_a_socket", settles_over_a_socket, NULL);
    kiln_test_add("settling_outlives_its_runner", settling_outlives_its_runner, NULL);
    return kiln_test_run("settle");
}
