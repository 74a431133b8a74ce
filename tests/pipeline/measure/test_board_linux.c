/* A real kiln-device on a loopback address: it measures for who is allowed, says nothing
 * to who is not, outlives what it runs, and what it runs may do nothing but compute. This
 * program is also the builder of what does more:
 *
 *     test_board_linux --builder FOLDER     objects of forbidden_kernels.c are in FOLDER
 */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/measure/builder/builder.h"
#include "pipeline/measure/wire/address.h"
#include "pipeline/measure/wire/transport.h"
#include "pipeline/talk/far.h"
#include "tests/support/measuring/board_run.h"
#include "tests/support/measuring/child_of.h"
#include "tests/support/kiln_test.h"
#include "tests/support/measuring/measure_run.h"

static const char *self, *objects;
static const char small[] = "conv S 8 16 16 3 1";

/* A configuration's index, modulo their number, is what its kernel does. */
static const struct fault {
    const char *name; /* FAULT_name; of forbidden ones: the call */
    kiln_trial_error want;
} faults[] = {
    {"good", KILN_TRIAL_GOOD},           {"clone", KILN_TRIAL_FORBIDDEN},
    {"openat", KILN_TRIAL_FORBIDDEN},    {"socket", KILN_TRIAL_FORBIDDEN},
    {"ptrace", KILN_TRIAL_FORBIDDEN},    {"kill", KILN_TRIAL_FORBIDDEN},
    {"write", KILN_TRIAL_OUT_OF_BOUNDS}, {"beyond", KILN_TRIAL_OUT_OF_BOUNDS},
};
enum { N_FAULTS = sizeof faults / sizeof faults[0] };

static const char *folder;

static kiln_status make_fault(kiln_arena *a, const kiln_op_work *w,
                              const kiln_choice *choice, const kiln_profile *p,
                              kiln_kernel *out, kiln_err *err) {
    const uint64_t i = kiln_config_index(&choice->space, &choice->config) % N_FAULTS;
    kiln_choice guess = *choice; /* whose layouts are known */
    guess.config = choice->tmpl->guess(&w->workload, p, &choice->space);
    KILN_TRY(kiln_kernel_make_listed(a, w, &guess, p, out, err));
    if (i == 0)
        return KILN_OK;
    return kiln_file_map(a, kiln_format(a, "%s/%s.o", folder, faults[i].name), 0,
                         &out->object.bytes, err);
}

typedef struct stage {
    kiln_arena arena;
    board_run board;
    const char *address[2];
    kiln_measure_options o;
    kiln_measure *m;
    kiln_test_work w;
} stage;

static void open_fleet(stage *x, const char *who) {
    /* A precision that nobody reaches: a candidate takes all of its budget. */
    x->o = (kiln_measure_options){
        .budget_ms = 5, .loser = -1, .precision = 1e-9, .measures_spilling = true};
    x->address[0] = board_run_address(&x->board, who);
    x->o.runner_addresses = x->address;
    const char **argv = kiln_array(&x->arena, const char *, 4);
    argv[0] = self;
    argv[1] = "--builder";
    argv[2] = objects;
    x->o.builder_argv = argv;
    x->m = kiln_test_measure_open(&x->arena, &x->o);
    x->w = kiln_test_measure_add(&x->arena, x->m, x->o.profile, small, false);
}

static kiln_measured measure(stage *x, uint64_t index) {
    kiln_err err = {.len = 0};
    kiln_measured got;
    uint64_t id;
    const kiln_measure_candidate c = {
        .work = x->w.id, .tmpl = x->w.tmpl, .config = index};
    kiln_assert_status_ok(kiln_measure_submit(x->m, &c, &id, &err), &err);
    assert_true(kiln_measure_poll(x->m, KILN_TEST_PATIENCE_MS, &got));
    return got;
}

static void open_stage(stage *x) {
    *x = (stage){.m = NULL};
    board_run_start(&x->arena, &x->board);
}

static void close_stage(stage *x) {
    if (x->m != NULL)
        kiln_measure_close(x->m);
    board_run_kill(&x->board);
    kiln_arena_fini(&x->arena);
}

/* ---- who is allowed -------------------------------------------------------------- */

/* Without a filter of system calls: the kernel is told no, and goes on to nothing. */
static void by_landlock_alone(stage *x, int i) {
    if (strcmp(faults[i].name, "openat") != 0 || kiln_confine_paths_version() == 0)
        return;
    const kiln_measured got = measure(x, (uint64_t)i);
    if (got.error != KILN_TRIAL_WRONG)
        fail_msg("%s: is '%s' (%s)", faults[i].name, kiln_trial_error_name(got.error),
                 got.text);
}

static void measures_and_forbids(void **state) {
    stage x;
    (void)state;
    open_stage(&x);
    for (int i = 1; i < N_FAULTS; i++)
        kiln_test_compile_kernel(&x.arena, "tests/pipeline/measure/forbidden_kernels.c",
                                 faults[i].name, objects);
    open_fleet(&x, "user");
    const bool is_confined = kiln_measure_count(x.m).is_confined;
    if (!is_confined)
        print_message("left out, since nothing can be forbidden here: system calls\n");
    for (int i = 0; i < N_FAULTS; i++) {
        const bool is_forbidden = faults[i].want == KILN_TRIAL_FORBIDDEN;
        if (is_forbidden && !is_confined) {
            by_landlock_alone(&x, i);
            continue;
        }
        const kiln_measured got = measure(&x, (uint64_t)i);
        if (got.error != faults[i].want)
            fail_msg("%s: is '%s' (%s)", faults[i].name,
                     kiln_trial_error_name(got.error), got.text);
        if (is_forbidden)
            assert_non_null(strstr(got.text, faults[i].name));
        assert_string_equal(got.runner, x.address[0]);
    }
    /* One after the other, by the same runner: each ended itself alone. */
    assert_int_equal(measure(&x, N_FAULTS).error, KILN_TRIAL_GOOD);
    assert_int_equal(kiln_measure_count(x.m).runners_started, 1);
    assert_false(kiln_file_exists("stolen"));
    close_stage(&x);
}

/* The runner is killed: another takes its place, and the device goes on. */
static void outlives_its_runner(void **state) {
    stage x;
    (void)state;
    open_stage(&x);
    open_fleet(&x, "user");
    assert_int_equal(measure(&x, 0).error, KILN_TRIAL_GOOD);
    kiln_measure_close(x.m);
    x.m = NULL;
    const int runner = kiln_test_child_of(x.board.child.pid);
    assert_true(runner > 0);
    assert_int_equal(kill(runner, SIGKILL), 0);
    open_fleet(&x, "user");
    assert_int_equal(measure(&x, 0).error, KILN_TRIAL_GOOD);
    close_stage(&x);
}

static void is_lent_to_one(void **state) {
    stage x;
    kiln_err err = {.len = 0};
    kiln_far *first = NULL, *second = NULL;
    (void)state;
    open_stage(&x);
    const kiln_far_options o = {.address = board_run_address(&x.board, "user"),
                                .patience_ms = 1000};
    kiln_assert_status_ok(kiln_far_open(&x.arena, &o, &first, &err), &err);
    kiln_assert_fails(kiln_far_open(&x.arena, &o, &second, &err), KILN_ERR_IO, &err,
                      "lent");
    kiln_far_close(first);
    close_stage(&x);
}

/* ---- who is not ------------------------------------------------------------------ */

/* All that comes over a connection until it ends. */
static size_t hear_out(kiln_transport *t) {
    char text[256];
    size_t n = 0;
    for (;;) {
        struct pollfd p = {.fd = t->in, .events = POLLIN};
        if (poll(&p, 1, KILN_TEST_PATIENCE_MS) <= 0)
            fail_msg("no end");
        const ssize_t got = read(t->in, text, sizeof text);
        if (got <= 0)
            return n;
        n += (size_t)got;
    }
}

static void says_nothing_to_strangers(void **state) {
    stage x;
    kiln_err err = {.len = 0};
    kiln_transport t;
    kiln_transport_end how;
    char text[64];
    (void)state;
    open_stage(&x);
    const char *address = board_run_address(&x.board, "stranger");
    kiln_assert_status_ok(kiln_transport_check(address, &err), &err);
    kiln_transport_elsewhere(&t, address, "the device");
    kiln_assert_status_ok(t.def->open(&t, &err), &err);
    assert_int_equal(hear_out(&t), 0);
    t.def->end(&t, true, &how);
    assert_int_equal(how.kind, KILN_TRANSPORT_GONE);
    assert_non_null(strstr(how.text, "keys that they do not know"));
    /* The one child that it has is its runner, which has started nothing. */
    const int runner = kiln_test_child_of(x.board.child.pid);
    assert_int_equal(kiln_test_child_of(runner), 0);
    assert_true(read(x.board.child.out, text, sizeof text) < 0);
    assert_true(read(x.board.child.err, text, sizeof text) < 0);
    close_stage(&x);
}

static void says_nothing_to_other_protocols(void **state) {
    stage x;
    kiln_err err = {.len = 0};
    kiln_transport t;
    kiln_transport_end how;
    kiln_buf hello;
    const kiln_wire_lease lease = {.owner = KILN_STR_LIT("me"), .ms = 1000};
    (void)state;
    open_stage(&x);
    const char *address = kiln_format(&x.arena, "tcp:127.0.0.1:%d", x.board.port);
    kiln_transport_elsewhere(&t, address, "the device");
    kiln_assert_status_ok(t.def->open(&t, &err), &err);
    kiln_buf_init(&hello, &x.arena);
    kiln_wire_put(&hello, KILN_WIRE_LEASE, &lease);
    struct pollfd p = {.fd = t.out, .events = POLLOUT};
    assert_int_equal(poll(&p, 1, KILN_TEST_PATIENCE_MS), 1);
    assert_int_equal(t.def->send(&t, hello.p, hello.n), hello.n);
    assert_int_equal(hear_out(&t), 0);
    t.def->end(&t, true, &how);
    close_stage(&x);
}

/* ---- the file -------------------------------------------------------------------- */

/* What goes to a board: below 2 MB where it is as it is shipped. */
static void is_small(void **state) {
    enum { MOST = 2000000 };
    struct stat st;
    (void)state;
    const char *path = kiln_test_worker(kiln_test_arena(), "kiln-device")[0];
    assert_int_equal(stat(path, &st), 0);
    if (kiln_test_is_sanitized())
        kiln_test_skip("a sanitizer is in it");
    assert_in_range(st.st_size, 1, MOST);
}

typedef struct address_row {
    const char *name, *address, *says;
} address_row;
static address_row address_rows[] = {
    {"refuses_an_address_without_a_key", "curve://127.0.0.1:7300", "device=KEY"},
    {"refuses_one_without_a_port", "curve://board?device=x", "no address of a device"},
    {"refuses_port_0", "curve://board:0?device=x", "no address of a device"},
    {"refuses_unknown_words", "curve://board:7?device=x&more=y", "no address"},
    {"refuses_a_missing_key", "curve://board:7?device=/nowhere", "/nowhere"},
    {"refuses_other_schemes", "http://board:7", "no address of a runner"},
};

static void refuses_addresses(void **state) {
    const address_row *r = *state;
    kiln_err err = {.len = 0};
    assert_true(kiln_transport_check(r->address, &err) != KILN_OK);
    if (strstr(err.text, r->says) == NULL)
        fail_msg("'%s' does not say '%s'", err.text, r->says);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--builder") == 0) {
        folder = argv[2];
        return kiln_builder_main(make_fault);
    }
    self = argv[0];
    objects = kiln_test_dir();
    kiln_test_add_rows(refuses_addresses, address_rows);
    kiln_test_add("measures_and_forbids", measures_and_forbids, NULL);
    kiln_test_add("outlives_its_runner", outlives_its_runner, NULL);
    kiln_test_add("is_lent_to_one", is_lent_to_one, NULL);
    kiln_test_add("says_nothing_to_strangers", says_nothing_to_strangers, NULL);
    kiln_test_add("says_nothing_to_other_protocols", says_nothing_to_other_protocols,
                  NULL);
    kiln_test_add("is_small", is_small, NULL);
    return kiln_test_run("board");
}
