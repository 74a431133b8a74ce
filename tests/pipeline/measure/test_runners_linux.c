/* Runners that others started: a real kiln-runner behind a socket, lent to one fleet at
 * a time, lost and found again; and several at once. Linux, for /proc. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pipeline/measure/wire/address.h"
#include "tests/support/measuring/child_of.h"
#include "tests/support/kiln_test.h"
#include "tests/support/measuring/measure_run.h"
#include "tests/support/measuring/peer.h"

static const char small[] = "conv S 8 16 16 3 1";

static const char *new_folder(kiln_arena *a) {
    kiln_err err = {0};
    const char *folder;
    kiln_assert_status_ok(kiln_dir_temp(a, &folder, &err), &err);
    return folder;
}

static int await_child_of(int parent) {
    int pid = 0;
    for (int ms = 0; ms < KILN_TEST_PATIENCE_MS && pid == 0; ms++) {
        pid = kiln_test_child_of(parent);
        if (pid == 0)
            kiln_test_pause_ms(1);
    }
    assert_true(pid != 0);
    return pid;
}

/* ---- a fleet ---------------------------------------------------------------------- */

enum { MAX_FAR = 3 };

typedef struct fleet {
    kiln_arena arena;
    kiln_measure_options o;
    const char *address[MAX_FAR + 1];
    kiln_measure *m;
    kiln_test_work w;
    kiln_measure_candidate c;
} fleet;

static void open_fleet(fleet *f, int n, const char *const *address) {
    /* A precision that nobody reaches: a candidate takes all of its budget. */
    *f = (fleet){
        .o = {
            .budget_ms = 5, .loser = -1, .precision = 1e-9, .measures_spilling = true}};
    for (int i = 0; i < n; i++)
        f->address[i] = address[i];
    f->o.runner_addresses = f->address;
    f->m = kiln_test_measure_open(&f->arena, &f->o);
    f->w = kiln_test_measure_add(&f->arena, f->m, f->o.profile, small, false);
    f->c = (kiln_measure_candidate){.work = f->w.id,
                                    .tmpl = f->w.tmpl,
                                    .config =
                                        kiln_test_measure_guess(&f->w, f->o.profile)};
}

static void close_fleet(fleet *f) {
    kiln_measure_close(f->m);
    kiln_arena_fini(&f->arena);
}

static void submit(fleet *f) {
    kiln_err err = {0};
    uint64_t id;
    kiln_assert_status_ok(kiln_measure_submit(f->m, &f->c, &id, &err), &err);
}

static kiln_measured take(fleet *f) {
    kiln_measured got;
    assert_true(kiln_measure_poll(f->m, KILN_TEST_PATIENCE_MS, &got));
    return got;
}

static kiln_measured take_good(fleet *f) {
    const kiln_measured got = take(f);
    if (got.error != KILN_TRIAL_GOOD)
        fail_msg("%s: %s", kiln_trial_error_name(got.error), got.text);
    return got;
}

/* Everything goes over the connection, by a Unix socket and by TCP. */
static void measures_over_a_socket(void **state) {
    (void)state;
    kiln_arena a = {0};
    const char *const kinds[] = {kiln_test_address(&a), "tcp:127.0.0.1:0"};
    for (int i = 0; i < 2; i++) {
        kiln_test_server s;
        fleet f;
        kiln_test_serve(&a, kinds[i], &s);
        open_fleet(&f, 1, &s.address);
        for (int k = 0; k < 3; k++) {
            submit(&f);
            const kiln_measured got = take_good(&f);
            assert_string_equal(got.runner, s.address);
            assert_int_equal(got.n_seeds, KILN_MEASURE_SEEDS);
        }
        const kiln_measure_runner r = kiln_measure_runner_at(f.m, 0);
        assert_int_equal(kiln_measure_n_runners(f.m), 1);
        assert_true(r.is_up && r.lease_left_ms > 0 && r.runs == 3 && r.peak_gflops > 0);
        assert_string_equal(r.name, s.address);
        /* A workload that is dropped is dropped there too, and others still work. */
        assert_true(kiln_measure_drop_work(f.m, f.w.id));
        f.w = kiln_test_measure_add(&f.arena, f.m, f.o.profile, "relu R in=f32[7,9]",
                                    false);
        f.c.work = f.w.id;
        f.c.tmpl = f.w.tmpl;
        f.c.config = kiln_test_measure_guess(&f.w, f.o.profile);
        submit(&f);
        (void)take_good(&f);
        close_fleet(&f);
        kiln_test_server_kill(&s);
    }
    kiln_arena_fini(&a);
}

/* ---- losses ----------------------------------------------------------------------- */

/* A candidate that the process which serves us has, and will not answer: it stands
 * still. */
static int hold_candidate(fleet *f, const kiln_test_server *s) {
    const uint64_t before = kiln_measure_count(f->m).runs;
    const int session = await_child_of(s->child.pid);
    assert_int_equal(kill(session, SIGSTOP), 0);
    submit(f);
    while (kiln_measure_count(f->m).runs == before)
        kiln_test_pause_ms(1);
    return session;
}

/* The process that serves us is killed, then the whole server, which is started again at
 * the same place: each time what it had is measured over a new connection. */
static void comes_back_after_losses(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_test_server s;
    fleet f;
    kiln_test_serve(&a, kiln_test_address(&a), &s);
    open_fleet(&f, 1, &s.address);
    assert_int_equal(kill(hold_candidate(&f, &s), SIGKILL), 0);
    assert_string_equal(take_good(&f).runner, s.address);
    assert_int_equal(kiln_measure_count(f.m).runners_started, 2);
    (void)hold_candidate(&f, &s);
    kiln_test_server_kill(&s);
    kiln_test_serve(&a, s.address, &s);
    assert_string_equal(take_good(&f).runner, s.address);
    const kiln_measure_stats stats = kiln_measure_count(f.m);
    assert_int_equal(stats.retried, 2);
    assert_int_equal(stats.runs, 4);
    assert_int_equal(kiln_measure_n_lethal(f.m), 0);
    close_fleet(&f);
    kiln_test_server_kill(&s);
    kiln_arena_fini(&a);
}

/* Nobody is there: that is said, and not for ever waited for. */
static void gives_up_where_nobody_answers(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_profile p;
    kiln_measure *m = NULL;
    const char *const address[] = {kiln_test_address(&a), NULL};
    kiln_assert_status_ok(kiln_profile_detect(&a, &p, &err), &err);
    const kiln_measure_options o = {.profile = &p,
                                    .builder_argv =
                                        kiln_test_worker(&a, "kiln-builder"),
                                    .runner_addresses = address};
    kiln_assert_fails(kiln_measure_open(&a, &o, &m, &err), KILN_ERR_IO, &err,
                      "no runner is left: no runner answers at unix:");
    kiln_arena_fini(&a);
}

/* ---- leases ----------------------------------------------------------------------- */

static void is_lent_to_one(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_test_server s;
    kiln_measure *second = NULL;
    fleet f;
    kiln_test_serve(&a, kiln_test_address(&a), &s);
    open_fleet(&f, 1, &s.address);
    const char *const address[] = {s.address, NULL};
    kiln_measure_options o = f.o;
    o.runner_addresses = address;
    kiln_assert_fails(
        kiln_measure_open(&a, &o, &second, &err), KILN_ERR_IO, &err,
        kiln_format(&a, "is lent to process %d on a machine with ", (int)getpid()));
    assert_non_null(strstr(err.text, " s more, and longer if they go on"));
    submit(&f); /* the first is not disturbed */
    (void)take_good(&f);
    close_fleet(&f);
    open_fleet(&f, 1, &s.address); /* and its end frees the runner */
    submit(&f);
    (void)take_good(&f);
    close_fleet(&f);
    kiln_test_server_kill(&s);
    kiln_arena_fini(&a);
}

static kiln_wire_kind first_word(const char *address, char owner[64]) {
    kiln_err err = {0};
    kiln_wire_frame f;
    kiln_wire_lent lent;
    kiln_test_talk t;
    kiln_test_call(&t, address);
    assert_true(kiln_test_hear(&t, &f));
    if (f.kind == KILN_WIRE_LENT) {
        kiln_assert_status_ok(kiln_wire_get(&t.arena, &f, &lent, &err), &err);
        (void)snprintf(owner, 64, "%.*s", KILN_STR_ARG(lent.owner));
    }
    kiln_test_hang_up(&t);
    return f.kind;
}

static void await_free(const char *address) {
    char owner[64];
    kiln_wire_kind kind = KILN_WIRE_LENT;
    for (int ms = 0; ms < KILN_TEST_PATIENCE_MS && kind != KILN_WIRE_HELLO; ms++) {
        kind = first_word(address, owner);
        kiln_test_pause_ms(1);
    }
    assert_int_equal(kind, KILN_WIRE_HELLO);
}

/* With its connection, or where nothing is heard of who has it; not before. */
static void leases_end(void **state) {
    (void)state;
    enum { SHORT_MS = 300, LONG_MS = 600000 };
    kiln_arena a = {0};
    kiln_test_server s;
    kiln_wire_frame f;
    char owner[64] = "";
    kiln_test_talk t;
    kiln_test_serve(&a, kiln_test_address(&a), &s);
    kiln_test_borrow(&t, s.address, "a test\n", LONG_MS);
    assert_int_equal(first_word(s.address, owner), KILN_WIRE_LENT);
    assert_string_equal(owner, "a test\\x0a");
    kiln_test_hang_up(&t);
    await_free(s.address);
    kiln_test_borrow(&t, s.address, "a test\n", SHORT_MS); /* and then not a word */
    assert_true(kiln_test_hear(&t, &f));
    assert_int_equal(f.kind, KILN_WIRE_FAILED);
    assert_false(kiln_test_hear(&t, &f));
    await_free(s.address);
    kiln_test_hang_up(&t);
    kiln_test_server_kill(&s);
    kiln_arena_fini(&a);
}

/* Nonsense ends a connection, never the server; so does who says nothing at all. */
static void bears_bad_peers(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_test_server s;
    kiln_wire_frame f;
    kiln_wire_failed why;
    kiln_test_talk t;
    const kiln_wire_drop drop = {.work = 0};
    kiln_test_serve(&a, kiln_test_address(&a), &s);
    kiln_test_call(&t, s.address);
    assert_true(kiln_test_hear(&t, &f));
    kiln_test_say(t.fd, KILN_WIRE_DROP, &drop);
    assert_true(kiln_test_hear(&t, &f));
    kiln_assert_status_ok(kiln_wire_expect(&a, &f, KILN_WIRE_FAILED, &why, &err), &err);
    assert_true(kiln_str_is(why.text, "a runner that is not lent takes no 'drop'"));
    kiln_test_hang_up(&t);
    await_free(s.address);
    kiln_test_borrow(&t, s.address, "a test\n", 60000);
    assert_true(write(t.fd, "GET / HTTP/1.1\r\n\r\n", 18) == 18);
    assert_true(kiln_test_hear(&t, &f));
    kiln_assert_status_ok(kiln_wire_expect(&a, &f, KILN_WIRE_FAILED, &why, &err), &err);
    assert_non_null(strstr(kiln_str_dupv(&a, why.text), "does not start as one"));
    kiln_test_hang_up(&t);
    await_free(s.address);
    kiln_test_server_kill(&s);
    kiln_arena_fini(&a);
}

/* ---- several ---------------------------------------------------------------------- */

/* Work is spread over them; one that is lost for good leaves the rest to the others. */
static void spreads_over_several(void **state) {
    (void)state;
    enum { N = 3, JOBS = 24 };
    kiln_arena a = {0};
    kiln_test_server s[N];
    const char *address[N];
    int n_of[N] = {0};
    fleet f;
    for (int i = 0; i < N; i++) {
        kiln_test_serve(&a, kiln_test_address(&a), &s[i]);
        address[i] = s[i].address;
    }
    open_fleet(&f, N, address);
    for (int i = 0; i < JOBS; i++)
        submit(&f);
    for (int i = 0; i < JOBS; i++) {
        const kiln_measured got = take_good(&f);
        for (int k = 0; k < N; k++)
            n_of[k] += strcmp(got.runner, address[k]) == 0;
        if (i == JOBS / 2)
            kiln_test_server_kill(&s[1]);
    }
    uint64_t runs = 0;
    for (int k = 0; k < N; k++) {
        assert_true(n_of[k] > 0);
        runs += kiln_measure_runner_at(f.m, (size_t)k).runs;
    }
    assert_int_equal(n_of[0] + n_of[1] + n_of[2], JOBS);
    assert_int_equal(runs, kiln_measure_count(f.m).runs);
    close_fleet(&f);
    for (int i = 0; i < N; i++)
        kiln_test_server_kill(&s[i]);
    kiln_arena_fini(&a);
}

/* One of ours beside one of others'. */
static void mixes_near_and_far(void **state) {
    (void)state;
    enum { JOBS = 12 };
    kiln_arena a = {0};
    kiln_test_server s;
    int n_near = 0;
    kiln_test_serve(&a, kiln_test_address(&a), &s);
    fleet f = {.o = {.budget_ms = 5, .loser = -1, .n_local_runners = 1}};
    f.address[0] = s.address;
    f.o.runner_addresses = f.address;
    f.m = kiln_test_measure_open(&f.arena, &f.o);
    f.w = kiln_test_measure_add(&f.arena, f.m, f.o.profile, small, false);
    f.c =
        (kiln_measure_candidate){.work = f.w.id,
                                 .tmpl = f.w.tmpl,
                                 .config = kiln_test_measure_guess(&f.w, f.o.profile)};
    for (int i = 0; i < JOBS; i++)
        submit(&f);
    for (int i = 0; i < JOBS; i++)
        n_near += strcmp(take_good(&f).runner, "local") == 0;
    assert_in_range(n_near, 1, JOBS - 1);
    close_fleet(&f);
    kiln_test_server_kill(&s);
    kiln_arena_fini(&a);
}

static void refuses_too_many_of_ours(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_profile p;
    kiln_measure *m = NULL;
    kiln_assert_status_ok(kiln_profile_detect(&a, &p, &err), &err);
    kiln_measure_options o = {.profile = &p, .n_local_runners = kiln_cpus_own().n + 1};
    if (o.n_local_runners > 32)
        kiln_test_skip("there are more CPUs here than a fleet has runners");
    kiln_assert_fails(kiln_measure_open(&a, &o, &m, &err), KILN_ERR_LIMIT, &err,
                      "with 1 thread each disturb one another on ");
    o.n_local_runners = -1;
    kiln_assert_fails(kiln_measure_open(&a, &o, &m, &err), KILN_ERR_ARG, &err,
                      "a fleet has 1 to 63 runners, not 0");
    kiln_arena_fini(&a);
}

/* ---- where it listens ------------------------------------------------------------- */

typedef struct address_row {
    const char *name, *address, *text;
} address_row;

static address_row address_rows[] = {
    {"everywhere", "tcp:0.0.0.0:0", "not on tcp:0.0.0.0:0"},
    {"everywhere_by_ip6", "tcp:[::]:0", "not on tcp:[::]:0"},
    {"elsewhere", "tcp:192.0.2.7:7000", "not on tcp:192.0.2.7:7000"},
    {"a_name", "tcp:localhost:7000", "'tcp:localhost:7000' is no address of a runner"},
    {"no_port", "tcp:127.0.0.1", "is no address of a runner"},
    {"a_large_port", "tcp:127.0.0.1:65536", "is no address of a runner"},
    {"an_open_bracket", "tcp:[::1:7000", "is no address of a runner"},
    {"another_word", "http://127.0.0.1/", "is no address of a runner"},
    {"no_path", "unix:", "'unix:' must name a path"},
    {"a_public_folder", "unix:/tmp/kiln-runner-test", "'/tmp' is none"},
    {"a_missing_folder", "unix:/nonexistent/runner",
     "cannot look at folder '/nonexistent'"},
};

static const char *refusal(kiln_arena *a, const char *address) {
    const char *const argv[] = {kiln_test_worker(a, "kiln-runner")[0], "--serve",
                                address, NULL};
    const kiln_process_options o = {.argv = argv,
                                    .time_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_process_result r;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_process_run(a, &o, &r, &err), &err);
    assert_int_equal(r.end, KILN_PROCESS_EXITED);
    assert_int_equal(r.code, 5);
    return r.err.p;
}

static void refuses_to_listen(void **state) {
    const address_row *row = *state;
    kiln_arena a = {0};
    assert_non_null(strstr(refusal(&a, row->address), row->text));
    kiln_arena_fini(&a);
}

/* A socket that a killed runner left is in nobody's way; one at which somebody listens,
 * a file, and a folder that others write to, are. */
static void minds_what_is_there(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_test_server s;
    struct stat st;
    const char *folder = new_folder(&a);
    const char *address = kiln_format(&a, "unix:%s/runner", folder);
    kiln_test_serve(&a, address, &s);
    assert_int_equal(stat(address + 5, &st), 0);
    assert_int_equal(st.st_mode & 0777 & (S_IRWXG | S_IRWXO), 0);
    assert_non_null(strstr(refusal(&a, address), "somebody listens at '"));
    kiln_test_server_kill(&s);
    assert_int_equal(stat(address + 5, &st), 0);
    kiln_test_serve(&a, address, &s);
    assert_int_equal(kill(s.child.pid, SIGTERM), 0); /* tidies up */
    kiln_child_wait(&s.child);
    kiln_test_server_kill(&s);
    assert_int_not_equal(stat(address + 5, &st), 0);
    kiln_assert_status_ok(kiln_file_write(address + 5, "x", 1, &err), &err);
    assert_non_null(strstr(refusal(&a, address), "is there, and no socket"));
    assert_int_equal(chmod(folder, 0777), 0);
    assert_non_null(strstr(refusal(&a, address), "that nobody else may write to"));
    assert_int_equal(chmod(folder, 0700), 0);
    kiln_arena_fini(&a);
}

/* A process that has a dead runner's socket open a moment longer, and serves nobody. */
static pid_t hold_socket(const char *address, int ms) {
    kiln_wire_address at;
    kiln_err err = {0};
    int ready[2];
    char byte;
    kiln_assert_status_ok(kiln_wire_address_parse(address, &at, &err), &err);
    assert_int_equal(pipe(ready), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        const int fd = kiln_wire_address_socket(&at);
        if (fd < 0 || bind(fd, &at.at.any, at.bytes) != 0 || listen(fd, 4) != 0 ||
            write(ready[1], "", 1) != 1)
            _exit(1);
        kiln_test_pause_ms(ms);
        _exit(0);
    }
    assert_true(pid > 0);
    assert_int_equal(close(ready[1]), 0);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(close(ready[0]), 0);
    return pid;
}

static void takes_over_from_the_dying(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_test_server s;
    int status;
    const char *address = kiln_test_address(&a);
    const pid_t holder = hold_socket(address, 300);
    kiln_test_serve(&a, address, &s);
    assert_int_equal(waitpid(holder, &status, 0), holder);
    assert_int_equal(status, 0);
    await_free(s.address);
    kiln_test_server_kill(&s);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add("measures_over_a_socket", measures_over_a_socket, NULL);
    kiln_test_add("comes_back_after_losses", comes_back_after_losses, NULL);
    kiln_test_add("gives_up_where_nobody_answers", gives_up_where_nobody_answers, NULL);
    kiln_test_add("is_lent_to_one", is_lent_to_one, NULL);
    kiln_test_add("leases_end", leases_end, NULL);
    kiln_test_add("bears_bad_peers", bears_bad_peers, NULL);
    kiln_test_add("spreads_over_several", spreads_over_several, NULL);
    kiln_test_add("mixes_near_and_far", mixes_near_and_far, NULL);
    kiln_test_add("refuses_too_many_of_ours", refuses_too_many_of_ours, NULL);
    kiln_test_add_rows(refuses_to_listen, address_rows);
    kiln_test_add("minds_what_is_there", minds_what_is_there, NULL);
    kiln_test_add("takes_over_from_the_dying", takes_over_from_the_dying, NULL);
    return kiln_test_run("runners");
}
