/* What a fleet does with runners that are not what they should be, and runners with a
 * connection that is not. Processes forked from this one are a runner that follows a
 * script, and a relay that changes what goes through it. Linux, as who dies with us. */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pipeline/measure/wire/address.h"
#include "tests/support/kiln_test.h"
#include "tests/support/measuring/measure_run.h"
#include "tests/support/measuring/peer.h"

static const char small[] = "conv S 8 16 16 3 1";

static int connect_to(const char *address) {
    kiln_wire_address a;
    if (kiln_wire_address_parse(address, &a, NULL) != KILN_OK)
        return -1;
    const int fd = kiln_wire_address_socket(&a);
    return fd >= 0 && connect(fd, &a.at.any, a.bytes) == 0 ? fd : -1;
}

/* ---- a runner that follows a script ------------------------------------------------ */

typedef enum script {
    ANSWERS, /* as a good one would, of a machine that this one is not */
    SAYS_NOTHING_OF_ITSELF,
    IS_A_BUILDER,
    ASKS_FOR_OTHERS,
    ASKS_WITHOUT_END,
    ANSWERS_ANOTHER,
    TALKS_UNASKED,
    HANGS_UP,
    IS_TOO_FAST,        /* in all that it tells */
    HAS_FAST_SLICES,    /* behind an honest median */
    HAS_A_PEAK_TO_SHOW, /* in its greeting */
    FINDS_A_PEAK        /* with its answer */
} script;

typedef struct scripted {
    script what;
    const char *machine;
} scripted;

static void ask(int fd, uint32_t n) {
    static kiln_wire_blob others[KILN_WIRE_MAX_NEEDS];
    for (uint32_t i = 0; i < n; i++)
        others[i] = (kiln_wire_blob){.bytes = 7, .sha256 = {(unsigned char)i, 1, 2}};
    const kiln_wire_need need = {.n = n, .blob = others};
    kiln_test_say(fd, KILN_WIRE_NEED, &need);
}

/* The blobs of the workload, over and over. */
static void ask_again(int fd, kiln_arena *a, const kiln_wire_work *w) {
    enum { TIMES = 1600 };
    kiln_wire_blob text = w->graph;
    const kiln_wire_need need = {.n = 1, .blob = &text};
    kiln_buf out;
    kiln_buf_init(&out, a);
    for (int i = 0; i < TIMES; i++)
        kiln_wire_put(&out, KILN_WIRE_NEED, &need);
    (void)kiln_wire_write(fd, kiln_buf_str(&out), NULL);
}

static void answer_run(int fd, const scripted *s, kiln_arena *a,
                       const kiln_wire_work *w, uint64_t id) {
    const double ns = s->what == IS_TOO_FAST ? 100 : 100000,
                 slice_ns = s->what == HAS_FAST_SLICES ? 100 : ns;
    kiln_slice slice[9];
    for (int i = 0; i < 9; i++)
        slice[i] = (kiln_slice){.ns = slice_ns + i, .peak_gflops = 10};
    kiln_wire_ran ran = {.id = id,
                         .n_seeds = 3,
                         .median_ns = ns + 4,
                         .low_ns = ns + 3,
                         .high_ns = ns + 5,
                         .peak_gflops = 12,
                         .limit_gflops = s->what == FINDS_A_PEAK ? 1e6 : 12,
                         .n_runs = 9,
                         .n_slices = 9,
                         .slice = slice};
    if (s->what == ASKS_FOR_OTHERS)
        ask(fd, 3);
    if (s->what == ASKS_WITHOUT_END)
        ask_again(fd, a, w);
    if (s->what == ANSWERS_ANOTHER)
        ran.id++;
    kiln_test_say(fd, KILN_WIRE_RAN, &ran);
    if (s->what == TALKS_UNASKED)
        kiln_test_say(fd, KILN_WIRE_RAN, &ran);
}

static void serve_script(int fd, int nth, const void *user) {
    const scripted *s = user;
    const kiln_wire_hello hello = {
        .role = kiln_str_from(s->what == IS_A_BUILDER ? "builder" : "runner"),
        .machine = kiln_str_from(s->what == SAYS_NOTHING_OF_ITSELF ? "" : s->machine)};
    const kiln_wire_leased leased = {.ms = 1000};
    const kiln_wire_ready ready = {
        .peak_gflops = s->what == HAS_A_PEAK_TO_SHOW ? 1e6 : 11, .is_confined = 1};
    kiln_arena a = {0};
    kiln_wire_stream in = {.arena = &a};
    kiln_wire_work work = {.id = 0};
    bool has = true;
    (void)nth;
    kiln_test_say(fd, KILN_WIRE_HELLO, &hello);
    while (has) {
        kiln_wire_frame f;
        kiln_wire_run run;
        if (kiln_wire_read(fd, &in, -1, &has, &f, NULL) != KILN_OK || !has)
            break;
        if (f.kind == KILN_WIRE_LEASE)
            kiln_test_say(fd, KILN_WIRE_LEASED, &leased);
        if (f.kind == KILN_WIRE_RUNNER)
            kiln_test_say(fd, KILN_WIRE_READY, &ready);
        if (f.kind == KILN_WIRE_WORK)
            (void)kiln_wire_get(&a, &f, &work, NULL);
        if (f.kind != KILN_WIRE_RUN)
            continue;
        if (s->what == HANGS_UP || kiln_wire_get(&a, &f, &run, NULL) != KILN_OK)
            break;
        answer_run(fd, s, &a, &work, run.id);
    }
    kiln_arena_fini(&a);
}

/* One that ships and is none of this machine's. */
static kiln_profile foreign(void) {
    kiln_err err = {0};
    for (int i = 0; kiln_profile_at(i) != NULL; i++) {
        const kiln_profile *p = kiln_profile_at(i);
        if (p->arch == KILN_ARCH_AARCH64 && kiln_runs_here(p, &err) != KILN_OK)
            return *p;
    }
    kiln_test_skip("this machine runs every profile");
    return *kiln_profile_at(0);
}

static const char *machine_text(kiln_arena *a, const kiln_profile *p) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_profile_machine_json(&text, p);
    return text.p;
}

typedef struct fleet {
    kiln_measure *m;
    kiln_test_work w;
    kiln_measure_candidate c;
} fleet;

static kiln_status open_fleet_at(kiln_arena *a, const kiln_profile *p,
                                 const char *const *list, fleet *f, kiln_err *err) {
    const kiln_measure_options o = {.profile = p,
                                    .n_builders = 1,
                                    .build_limit_ms = KILN_TEST_PATIENCE_MS,
                                    .run_limit_ms = KILN_TEST_PATIENCE_MS,
                                    .builder_argv = kiln_test_worker(a, "kiln-builder"),
                                    .runner_addresses = list,
                                    .budget_ms = 5,
                                    .loser = -1,
                                    .measures_spilling = true};
    KILN_TRY(kiln_measure_open(a, &o, &f->m, err));
    f->w = kiln_test_measure_add(a, f->m, p, small, false);
    f->c = (kiln_measure_candidate){.work = f->w.id,
                                    .tmpl = f->w.tmpl,
                                    .config = kiln_test_measure_guess(&f->w, p)};
    return KILN_OK;
}

static kiln_status open_fleet(kiln_arena *a, const kiln_profile *p, const char *address,
                              fleet *f, kiln_err *err) {
    const char **list = kiln_array(a, const char *, 2);
    list[0] = address;
    list[1] = NULL;
    return open_fleet_at(a, p, list, f, err);
}

static kiln_measured measure_one(fleet *f) {
    kiln_err err = {0};
    kiln_measured got;
    uint64_t id;
    kiln_assert_status_ok(kiln_measure_submit(f->m, &f->c, &id, &err), &err);
    assert_true(kiln_measure_poll(f->m, KILN_TEST_PATIENCE_MS, &got));
    return got;
}

/* A profile that does not run here is measured where it runs. */
static void measures_for_other_machines(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    fleet f;
    const kiln_profile p = foreign();
    const scripted s = {ANSWERS, machine_text(&a, &p)};
    const char *address = kiln_test_address(&a);
    const pid_t runner = kiln_test_listen_beside(address, serve_script, &s);
    kiln_assert_status_ok(open_fleet(&a, &p, address, &f, &err), &err);
    const kiln_measured got = measure_one(&f);
    if (got.error != KILN_TRIAL_GOOD)
        fail_msg("%s: %s", kiln_trial_error_name(got.error), got.text);
    assert_string_equal(got.runner, address);
    assert_int_equal(got.n_slices, 9);
    assert_true(kiln_measure_runner_at(f.m, 0).peak_gflops == 12);
    assert_true(got.code_bytes > 0);
    kiln_measure_close(f.m);
    kiln_test_end_beside(runner);
    kiln_arena_fini(&a);
}

/* Without a runner elsewhere it is refused, as ever. */
static void refuses_them_here(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_measure *m = NULL;
    const kiln_profile p = foreign();
    const kiln_measure_options o = {.profile = &p};
    kiln_assert_fails(kiln_measure_open(&a, &o, &m, &err), KILN_ERR_UNSUPPORTED, &err,
                      "does not run on this machine");
    kiln_arena_fini(&a);
}

typedef struct greeting_row {
    const char *name;
    script what;
    bool is_foreign;
    kiln_status want;
    const char *text;
} greeting_row;

static greeting_row greeting_rows[] = {
    {"another_machine", ANSWERS, true, KILN_ERR_UNSUPPORTED,
     "does not run on its machine: "},
    {"no_machine", SAYS_NOTHING_OF_ITSELF, false, KILN_ERR_IO, "its machine"},
    {"a_builder", IS_A_BUILDER, false, KILN_ERR_IO, "it is a 'builder'"},
};

static void refuses_greetings(void **state) {
    const greeting_row *row = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_profile here;
    fleet f;
    kiln_assert_status_ok(kiln_profile_detect(&a, &here, &err), &err);
    const kiln_profile other = row->is_foreign ? foreign() : here;
    const scripted s = {row->what, machine_text(&a, &other)};
    const char *address = kiln_test_address(&a);
    const pid_t runner = kiln_test_listen_beside(address, serve_script, &s);
    kiln_assert_fails(open_fleet(&a, &here, address, &f, &err), row->want, &err,
                      row->text);
    assert_non_null(strstr(err.text, kiln_format(&a, "the runner at %s", address)));
    kiln_test_end_beside(runner);
    kiln_arena_fini(&a);
}

typedef struct answer_row {
    const char *name;
    script what;
    const char *text;
} answer_row;

static answer_row answer_rows[] = {
    {"asks_for_others", ASKS_FOR_OTHERS,
     "it asks for blob 000102000000 of 7 bytes, which its workload does not have"},
    {"asks_without_end", ASKS_WITHOUT_END, "it asks for more than a workload has"},
    {"answers_another", ANSWERS_ANOTHER, "it answered another candidate"},
    {"hangs_up", HANGS_UP, "the connection was closed by the other side"},
};

/* A fleet with one runner, of this machine, that follows a script. */
typedef struct stage {
    kiln_arena arena;
    kiln_err err;
    kiln_profile here;
    fleet f;
    const char *address;
    pid_t runner;
} stage;

static kiln_status set_up(stage *x, script what) {
    *x = (stage){.f = {.m = NULL}};
    kiln_assert_status_ok(kiln_profile_detect(&x->arena, &x->here, &x->err), &x->err);
    const scripted s = {what, machine_text(&x->arena, &x->here)};
    x->address = kiln_test_address(&x->arena);
    x->runner = kiln_test_listen_beside(x->address, serve_script, &s);
    return open_fleet(&x->arena, &x->here, x->address, &x->f, &x->err);
}

static void tear_down(stage *x) {
    kiln_measure_close(x->f.m);
    kiln_test_end_beside(x->runner);
    kiln_arena_fini(&x->arena);
}

/* It costs the candidate that it was given, and nothing else. */
static void bears_answers(void **state) {
    const answer_row *row = *state;
    stage x;
    kiln_assert_status_ok(set_up(&x, row->what), &x.err);
    const kiln_measured got = measure_one(&x.f);
    assert_int_equal(got.error, KILN_TRIAL_LOST);
    if (strstr(got.text, row->text) == NULL)
        fail_msg("it says: %s", got.text);
    assert_int_equal(kiln_measure_n_lethal(x.f.m), 0);
    assert_int_equal(kiln_measure_count(x.f.m).retried, 1);
    tear_down(&x);
}

/* Who answers twice has answered once; then he is not trusted any more. */
static void bears_what_was_not_asked(void **state) {
    (void)state;
    stage x;
    kiln_assert_status_ok(set_up(&x, TALKS_UNASKED), &x.err);
    assert_int_equal(measure_one(&x.f).error, KILN_TRIAL_GOOD);
    while (kiln_measure_count(x.f.m).runners_started < 2)
        (void)poll(NULL, 0, 1);
    tear_down(&x);
}

/* ---- what no machine does --------------------------------------------------------- */

static answer_row fast_rows[] = {
    {"is_too_fast", IS_TOO_FAST, "it tells of 104 ns for "},
    {"has_fast_slices", HAS_FAST_SLICES, "it tells of 104 ns for "},
    {"finds_a_peak", FINDS_A_PEAK, "it tells of 1e+06 GFLOP/s: no machine of profile "},
    {"has_a_peak_to_show", HAS_A_PEAK_TO_SHOW, "it tells of 1e+06 GFLOP/s: no machine"},
};

/* It is not asked again, and nothing that it told is a result. */
static void refuses_what_no_machine_does(void **state) {
    const answer_row *row = *state;
    stage x;
    uint64_t id;
    const char *text = x.err.text;
    if (set_up(&x, row->what) == KILN_OK) {
        const kiln_measured got = measure_one(&x.f);
        assert_int_equal(got.error, KILN_TRIAL_LOST);
        assert_int_equal(got.n_slices, 0);
        text = kiln_str_dup(&x.arena, got.text);
        assert_int_equal(kiln_measure_count(x.f.m).runners_started, 1);
        kiln_assert_fails(kiln_measure_submit(x.f.m, &x.f.c, &id, &x.err), KILN_ERR_IO,
                          &x.err, row->text);
    }
    assert_int_equal(x.f.m == NULL, row->what == HAS_A_PEAK_TO_SHOW);
    const char *who =
        kiln_format(&x.arena, "no runner is left: the runner at %s ended: ", x.address);
    if (strstr(text, row->text) == NULL || strstr(text, who) == NULL)
        fail_msg("it says: %s", text);
    tear_down(&x);
}

/* Others measure what it was given. */
static void goes_on_without_a_liar(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_profile here;
    fleet f;
    kiln_assert_status_ok(kiln_profile_detect(&a, &here, &err), &err);
    const scripted bad = {IS_TOO_FAST, machine_text(&a, &here)},
                   good = {ANSWERS, bad.machine};
    const char *list[] = {kiln_test_address(&a), kiln_test_address(&a), NULL};
    const pid_t first = kiln_test_listen_beside(list[0], serve_script, &bad),
                second = kiln_test_listen_beside(list[1], serve_script, &good);
    kiln_assert_status_ok(open_fleet_at(&a, &here, list, &f, &err), &err);
    for (int i = 0; i < 4; i++) {
        const kiln_measured got = measure_one(&f);
        if (got.error != KILN_TRIAL_GOOD)
            fail_msg("%s: %s", kiln_trial_error_name(got.error), got.text);
        assert_string_equal(got.runner, list[1]);
        assert_true(got.median_ns == 100004);
    }
    kiln_measure_close(f.m);
    kiln_test_end_beside(first);
    kiln_test_end_beside(second);
    kiln_arena_fini(&a);
}

/* ---- a relay ---------------------------------------------------------------------- */

typedef enum damage { FLIPS_A_BYTE, CUTS_OFF, SENDS_TWICE, RENAMES, GROWS } damage;

typedef struct relay {
    damage what;
    int n_damaged; /* connections; those after them are left as they are */
    const char *to;
} relay;

/* A frame with a piece of a blob, from its header on. False: the connection ends. */
static bool pass_piece(int to, const relay *r, char *frame, size_t bytes) {
    enum { SIZE_AT = KILN_WIRE_HEADER_BYTES, HASH_AT = SIZE_AT + 8 };
    kiln_str text = {frame, bytes};
    if (r->what == FLIPS_A_BYTE)
        frame[bytes - 1] = (char)~frame[bytes - 1];
    if (r->what == CUTS_OFF)
        text.n = bytes / 2;
    if (r->what == RENAMES)
        frame[HASH_AT] = (char)~frame[HASH_AT];
    if (r->what == GROWS)
        frame[SIZE_AT + 7] = 1; /* 2^56 bytes more */
    if (kiln_wire_write(to, text, NULL) != KILN_OK)
        return false;
    return r->what != CUTS_OFF &&
           (r->what != SENDS_TWICE || kiln_wire_write(to, text, NULL) == KILN_OK);
}

static bool pass_frames(int to, const relay *r, bool *is_damaged,
                        kiln_wire_stream *in) {
    for (;;) {
        kiln_wire_frame f;
        bool has;
        if (kiln_wire_next(in, &has, &f, NULL) != KILN_OK)
            return false;
        if (!has)
            return true;
        char *frame = (char *)(uintptr_t)f.body.p - KILN_WIRE_HEADER_BYTES;
        const size_t bytes = f.body.n + KILN_WIRE_HEADER_BYTES;
        if (f.kind == KILN_WIRE_BLOB && !*is_damaged) {
            *is_damaged = true;
            if (!pass_piece(to, r, frame, bytes))
                return false;
        } else if (kiln_wire_write(to, (kiln_str){frame, bytes}, NULL) != KILN_OK) {
            return false;
        }
    }
}

static bool pass_bytes(int from, int to) {
    char bytes[4096];
    const ssize_t n = read(from, bytes, sizeof bytes);
    return n > 0 && kiln_wire_write(to, (kiln_str){bytes, (size_t)n}, NULL) == KILN_OK;
}

static bool read_some(int from, kiln_wire_stream *in) {
    size_t room;
    unsigned char *at = kiln_wire_stream_room(in, &room);
    const ssize_t n = read(from, at, room);
    in->n += n > 0 ? (size_t)n : 0;
    return n > 0;
}

static void serve_relay(int fleet_fd, int nth, const void *user) {
    const relay *r = user;
    const int runner_fd = connect_to(r->to);
    kiln_arena a = {0};
    kiln_wire_stream in = {.arena = &a};
    bool is_damaged = nth >= r->n_damaged, goes_on = runner_fd >= 0;
    while (goes_on) {
        struct pollfd fd[] = {{.fd = fleet_fd, .events = POLLIN},
                              {.fd = runner_fd, .events = POLLIN}};
        (void)poll(fd, 2, -1);
        if (fd[1].revents != 0)
            goes_on = pass_bytes(runner_fd, fleet_fd);
        if (goes_on && fd[0].revents != 0)
            goes_on =
                read_some(fleet_fd, &in) && pass_frames(runner_fd, r, &is_damaged, &in);
    }
    /* What the runner has to say of it. */
    while (is_damaged && nth < r->n_damaged && r->what != CUTS_OFF &&
           pass_bytes(runner_fd, fleet_fd))
        continue;
    (void)close(runner_fd);
    kiln_arena_fini(&a);
}

typedef struct damage_row {
    const char *name;
    damage what;
    const char *text;
} damage_row;

static damage_row damage_rows[] = {
    {"wrong_hash", FLIPS_A_BYTE, " bytes has other bytes than its name says"},
    {"cut_off", CUTS_OFF, "the connection was closed by the other side"},
    {"sent_twice", SENDS_TWICE, " bytes comes, but was not asked for now"},
    {"renamed", RENAMES, " bytes comes, but was not asked for now"},
    {"too_large", GROWS, "a worker's message 'blob' of "},
};

/* Blobs that were damaged on their way: the runner says so, by name, and measures
 * nothing by them. The candidate is tried again; the next one finds all well. */
static void finds_damaged_blobs(void **state) {
    const damage_row *row = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_profile here;
    kiln_test_server server;
    fleet f;
    kiln_assert_status_ok(kiln_profile_detect(&a, &here, &err), &err);
    kiln_test_serve(&a, kiln_test_address(&a), &server);
    const relay r = {row->what, 2, server.address};
    const char *address = kiln_test_address(&a);
    const pid_t between = kiln_test_listen_beside(address, serve_relay, &r);
    kiln_assert_status_ok(open_fleet(&a, &here, address, &f, &err), &err);
    const kiln_measured got = measure_one(&f);
    assert_int_equal(got.error, KILN_TRIAL_LOST);
    if (strstr(got.text, row->text) == NULL)
        fail_msg("it says: %s", got.text);
    assert_int_equal(measure_one(&f).error, KILN_TRIAL_GOOD);
    assert_int_equal(kiln_measure_count(f.m).retried, 1);
    kiln_measure_close(f.m);
    kiln_test_end_beside(between);
    kiln_test_server_kill(&server);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add("measures_for_other_machines", measures_for_other_machines, NULL);
    kiln_test_add("refuses_them_here", refuses_them_here, NULL);
    kiln_test_add_rows(refuses_greetings, greeting_rows);
    kiln_test_add_rows(bears_answers, answer_rows);
    kiln_test_add("bears_what_was_not_asked", bears_what_was_not_asked, NULL);
    kiln_test_add_rows(refuses_what_no_machine_does, fast_rows);
    kiln_test_add("goes_on_without_a_liar", goes_on_without_a_liar, NULL);
    kiln_test_add_rows(finds_damaged_blobs, damage_rows);
    return kiln_test_run("bad_runners");
}
