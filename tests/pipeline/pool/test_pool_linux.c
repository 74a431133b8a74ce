/* A pool in a process of its own, real runners and real tuners' fleets: what is lost, and
 * what is not. Linux, as who dies with us. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pipeline/pool/pool.h"
#include "tests/support/kiln_test.h"
#include "tests/support/measuring/measure_run.h"
#include "tests/support/measuring/peer.h"

static const char small[] = "conv S 8 16 16 3 1";

/* ---- a pool ------------------------------------------------------------------------- */

static void write_line(void *fd, const char *address) {
    const ssize_t n = write(*(int *)fd, address, strlen(address));
    (void)n;
}

typedef struct pool {
    pid_t pid;
    char address[200];
} pool;

static void open_pool(pool *p, kiln_lender_options *o) {
    int says[2];
    assert_int_equal(pipe(says), 0);
    p->pid = fork();
    assert_true(p->pid >= 0);
    if (p->pid == 0) {
        kiln_err err = {0};
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        o->listens = write_line;
        o->user = &says[1];
        if (kiln_lender_serve(o, &err) != KILN_OK)
            (void)fprintf(stderr, "%s\n", err.text);
        _exit(1);
    }
    close(says[1]);
    const ssize_t n = read(says[0], p->address, sizeof p->address - 1);
    assert_true(n > 0);
    p->address[n] = '\0';
    close(says[0]);
}

static void close_pool(const pool *p) {
    assert_int_equal(kill(p->pid, SIGKILL), 0);
    assert_int_equal(waitpid(p->pid, NULL, 0), p->pid);
}

/* A member of the first device whose address is this. */
static const kiln_json *ask(kiln_arena *a, const pool *p, const char *address) {
    kiln_lender_list list;
    kiln_err err = {0};
    const kiln_json *json;
    kiln_assert_status_ok(kiln_lender_ask(a, p->address, 64, &list, &err), &err);
    kiln_assert_status_ok(kiln_json_parse(a, list.json, "list", &json, &err), &err);
    const kiln_json *d = kiln_json_first(kiln_json_get(json, "devices"));
    for (; d != NULL; d = kiln_json_next(d))
        if (strcmp(kiln_json_string(kiln_json_get(d, "address"), ""), address) == 0)
            return d;
    return NULL;
}

static void await_state(const pool *p, const char *address, const char *state) {
    for (int ms = 0; ms < KILN_TEST_PATIENCE_MS; ms += 20) {
        kiln_arena a = {0};
        const kiln_json *d = ask(&a, p, address);
        const bool is_so =
            d != NULL &&
            strcmp(kiln_json_string(kiln_json_get(d, "state"), ""), state) == 0;
        kiln_arena_fini(&a);
        if (is_so)
            return;
        kiln_test_pause_ms(20);
    }
    fail_msg("%s does not become %s", address, state);
}

/* ---- fleets ---------------------------------------------------------------------- */

enum { DEVICES = 3, TUNERS = 2 };

typedef struct fleet {
    kiln_arena arena;
    kiln_measure_options o;
    const char *address[DEVICES + 1];
    kiln_measure *m;
    kiln_test_work w;
    kiln_measure_candidate c;
    int n_sent, n_got;
    unsigned char got[256]; /* by number */
} fleet;

static void open_fleet(fleet *f, const pool *p, const char *owner, int n_devices) {
    *f = (fleet){.o = {.budget_ms = 5,
                       .loser = -1,
                       .precision = 1e-9,
                       .measures_spilling = true,
                       .owner = owner,
                       .n_builders = 1}};
    for (int i = 0; i < n_devices; i++)
        f->address[i] = p->address;
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

static void submit(fleet *f, int n) {
    for (int i = 0; i < n; i++) {
        kiln_err err = {0};
        uint64_t id;
        f->c.user = &f->got[f->n_sent++];
        kiln_assert_status_ok(kiln_measure_submit(f->m, &f->c, &id, &err), &err);
    }
}

static bool take(fleet *f, int64_t ms) {
    kiln_measured got;
    if (!kiln_measure_poll(f->m, ms, &got))
        return false;
    if (got.error != KILN_TRIAL_GOOD)
        fail_msg("%s: %s", kiln_trial_error_name(got.error), got.text);
    *(unsigned char *)got.user += 1;
    f->n_got++;
    return true;
}

/* ---- tests ----------------------------------------------------------------------- */

/* One runner is killed and one stands still in the middle: each candidate comes back once.
 * Both are found again. */
static void nothing_is_lost_or_doubled(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_test_server s[DEVICES];
    const char *device[DEVICES + 1] = {NULL};
    static fleet f[TUNERS];
    pool p;
    for (int i = 0; i < DEVICES; i++) {
        kiln_test_serve(&a, kiln_test_address(&a), &s[i]);
        device[i] = s[i].address;
    }
    kiln_lender_options o = {
        .address = kiln_test_address(&a), .device = device, .beat_s = 4, .slice_s = 1};
    open_pool(&p, &o);
    for (int i = 0; i < TUNERS; i++)
        open_fleet(&f[i], &p, i == 0 ? "one" : "other", DEVICES);
    for (int i = 0; i < TUNERS; i++)
        submit(&f[i], 6);
    for (int i = 0; i < TUNERS; i++)
        while (f[i].n_got < 3)
            (void)take(&f[i], 100);
    kiln_test_server_kill(&s[0]);
    assert_int_equal(kill(s[1].child.pid, SIGSTOP), 0);
    for (int i = 0; i < TUNERS; i++)
        submit(&f[i], 6);
    for (int left = TUNERS; left > 0;) {
        left = 0;
        for (int i = 0; i < TUNERS; i++) {
            if (f[i].n_got < f[i].n_sent)
                (void)take(&f[i], 50);
            left += f[i].n_got < f[i].n_sent;
        }
    }
    for (int i = 0; i < TUNERS; i++)
        for (int k = 0; k < f[i].n_sent; k++)
            assert_int_equal(f[i].got[k], 1);
    for (int i = 0; i < TUNERS; i++)
        close_fleet(&f[i]);
    await_state(&p, device[2], "free");
    /* Whoever repaired it starts it again: it is found by itself. */
    kiln_test_serve(&a, s[0].address, &s[0]);
    await_state(&p, device[0], "free");
    assert_int_equal(kill(s[1].child.pid, SIGCONT), 0);
    await_state(&p, device[1], "free");
    close_pool(&p);
    for (int i = 0; i < DEVICES; i++)
        kiln_test_server_kill(&s[i]);
    kiln_arena_fini(&a);
}

/* A device that does as it should until it is given something to run: then nothing. */
static void hang(int fd, int nth, const void *machine) {
    kiln_arena a = {0};
    kiln_wire_stream in = {.arena = &a};
    const kiln_wire_hello hello = {KILN_STR_LIT("runner"), kiln_str_from(machine)};
    const kiln_wire_leased leased = {.ms = 1000};
    const kiln_wire_ready ready = {.peak_gflops = 1, .clock_ghz = 1, .is_confined = 1};
    kiln_wire_frame f;
    bool has = true;
    (void)nth;
    (void)signal(SIGCHLD, SIG_IGN);
    if (fork() != 0)
        return; /* to the next: who asks after it is answered too */
    kiln_test_say(fd, KILN_WIRE_HELLO, &hello);
    while (kiln_wire_read(fd, &in, -1, &has, &f, NULL) == KILN_OK && has) {
        if (f.kind == KILN_WIRE_LEASE)
            kiln_test_say(fd, KILN_WIRE_LEASED, &leased);
        if (f.kind == KILN_WIRE_RUNNER)
            kiln_test_say(fd, KILN_WIRE_READY, &ready);
    }
    _exit(0);
}

/* What hung two devices is not sent to a third, nor again. */
static void what_hangs_devices_is_lethal(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_profile profile;
    kiln_buf machine;
    kiln_measured got;
    static fleet f;
    pool p;
    const char *const device[] = {kiln_test_address(&a), kiln_test_address(&a), NULL};
    pid_t pid[2];
    kiln_assert_status_ok(kiln_profile_detect(&a, &profile, &err), &err);
    kiln_buf_init(&machine, &a);
    kiln_profile_machine_json(&machine, &profile);
    for (int i = 0; i < 2; i++)
        pid[i] = kiln_test_listen_beside(device[i], hang, machine.p);
    kiln_lender_options o = {
        .address = kiln_test_address(&a), .device = device, .silence_s = 2};
    open_pool(&p, &o);
    open_fleet(&f, &p, "one", 1);
    submit(&f, 1);
    assert_true(kiln_measure_poll(f.m, KILN_TEST_PATIENCE_MS, &got));
    assert_int_equal(got.error, KILN_TRIAL_TIMEOUT);
    assert_non_null(strstr(got.text, "it owes an answer"));
    assert_int_equal(kiln_measure_n_lethal(f.m), 1);
    submit(&f, 1);
    assert_true(kiln_measure_poll(f.m, KILN_TEST_PATIENCE_MS, &got));
    assert_string_equal(got.text, "it is known to be lethal");
    close_fleet(&f);
    close_pool(&p);
    for (int i = 0; i < 2; i++)
        kiln_test_end_beside(pid[i]);
    kiln_arena_fini(&a);
}

/* A tuner that comes later gets what another has, and gives it back when it is done. */
static void is_recalled_for_others(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_test_server s;
    static fleet f[TUNERS];
    pool p;
    kiln_test_serve(&a, kiln_test_address(&a), &s);
    const char *const device[] = {s.address, NULL};
    kiln_lender_options o = {
        .address = "tcp:127.0.0.1:0", .device = device, .slice_s = 1};
    open_pool(&p, &o);
    open_fleet(&f[0], &p, "one", 1);
    submit(&f[0], 1);
    assert_true(take(&f[0], KILN_TEST_PATIENCE_MS));
    open_fleet(&f[1], &p, "other",
               1); /* comes up only once the first has given it back */
    submit(&f[1], 1);
    assert_true(take(&f[1], KILN_TEST_PATIENCE_MS));
    submit(&f[0], 1); /* and gets it again */
    assert_true(take(&f[0], KILN_TEST_PATIENCE_MS));
    assert_int_equal(kiln_measure_count(f[0].m).retried, 0);
    for (int i = 0; i < TUNERS; i++)
        close_fleet(&f[i]);
    close_pool(&p);
    kiln_test_server_kill(&s);
    kiln_arena_fini(&a);
}

/* What makes no sense is answered, or ends; and the pool goes on. */
static void refuses_nonsense(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_lender_options o = {.address = kiln_test_address(&a)};
    pool p;
    const kiln_wire_borrow bad = {KILN_STR_LIT("me"), KILN_STR_LIT("{]"), 1, 10, 0};
    const kiln_wire_register nameless = {{NULL, 0}, KILN_STR_LIT("unix:/x"), 0};
    const kiln_wire_register elsewhere = {KILN_STR_LIT("x"), KILN_STR_LIT("http:x"), 0};
    const kiln_wire_drop drop = {1};
    const struct {
        kiln_wire_kind kind;
        const void *message;
        const char *text;
    } say[] = {{KILN_WIRE_BORROW, &bad, "a borrower's profile"},
               {KILN_WIRE_REGISTER, &nameless, "a device has a name"},
               {KILN_WIRE_REGISTER, &elsewhere, "is no address"},
               {KILN_WIRE_DROP, &drop, "a pool takes no 'drop' now"}};
    open_pool(&p, &o);
    for (size_t i = 0; i < sizeof say / sizeof say[0]; i++) {
        kiln_test_talk t;
        kiln_wire_frame f;
        kiln_wire_failed failed;
        kiln_err err = {0};
        kiln_test_call(&t, p.address);
        assert_true(kiln_test_hear(&t, &f));
        kiln_test_say(t.fd, say[i].kind, say[i].message);
        assert_true(kiln_test_hear(&t, &f));
        kiln_assert_status_ok(
            kiln_wire_expect(&t.arena, &f, KILN_WIRE_FAILED, &failed, &err), &err);
        const char *text = kiln_str_dupv(&t.arena, failed.text);
        if (strstr(text, say[i].text) == NULL)
            fail_msg("'%s' does not say '%s'", text, say[i].text);
        assert_false(kiln_test_hear(&t, &f));
        kiln_test_hang_up(&t);
    }
    kiln_test_talk t; /* bytes that are no frame */
    kiln_wire_frame f;
    kiln_test_call(&t, p.address);
    assert_int_equal(write(t.fd, "GET / HTTP/1.1\r\n\r\n", 18), 18);
    assert_true(kiln_test_hear(&t, &f) && f.kind == KILN_WIRE_HELLO);
    assert_true(kiln_test_hear(&t, &f) && f.kind == KILN_WIRE_FAILED);
    kiln_test_hang_up(&t);
    assert_null(ask(&a, &p, "nowhere"));
    close_pool(&p);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_as_worker_environment();
    const struct CMUnitTest unit[] = {cmocka_unit_test(nothing_is_lost_or_doubled),
                                      cmocka_unit_test(what_hangs_devices_is_lethal),
                                      cmocka_unit_test(is_recalled_for_others),
                                      cmocka_unit_test(refuses_nonsense)};
    kiln_test_add_tests(unit);
    return kiln_test_run("pool");
}
