/* Networks on a runner that others started: they run as those in a process of our own do,
 * several at once; one that crashes or hangs leaves the others alone; a runner that is
 * killed, lent to others, or does not keep to what was asked is an error that says so.
 * Linux, as its peers (tests/support/measuring/peer.h). */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "compiler/reference/reference.h"
#include "pipeline/kernels/op_line.h"
#include "pipeline/remote/remote.h"
#include "tests/support/kiln_test.h"
#include "tests/support/measuring/measure_run.h"
#include "tests/support/measuring/peer.h"

enum { N = 64 };

/* y = max(x, 0) over N elements; fault NULL: as it is compiled. */
typedef struct relu {
    kiln_arena arena;
    kiln_profile profile;
    kiln_network network;
    kiln_tensor in;
} relu;

static void make_relu_of(relu *r, int n_elems, const char *fault) {
    kiln_err err = {0};
    kiln_op_line line;
    kiln_op_work work;
    *r = (relu){.in = {.data = NULL}};
    kiln_arena *a = &r->arena;
    kiln_assert_status_ok(kiln_profile_detect(a, &r->profile, &err), &err);
    const char *text = kiln_format(a, "relu R in=f32[%d]", n_elems);
    kiln_assert_status_ok(kiln_op_line_of(a, text, &line, &err), &err);
    kiln_assert_status_ok(kiln_op_work_make(a, &line, &work, &err), &err);
    kiln_assert_status_ok(
        kiln_network_compile(a, work.graph, &r->profile, NULL, &r->network, &err),
        &err);
    kiln_network_kernel *k = &r->network.kernel.v[0];
    if (fault != NULL) {
        const char *dir = kiln_test_dir();
        kiln_test_compile_kernel_as(a, "tests/pipeline/kernels/failing_kernels.c",
                                    fault, dir, k->symbol, NULL);
        const char *path = kiln_path_join(a, dir, kiln_format(a, "%s.o", fault));
        kiln_assert_status_ok(kiln_file_map(a, path, 0, &k->object.bytes, &err), &err);
    }
    r->in = kiln_ref_random(a, &work.graph->inputs.v[0]->type, 5);
}

static void make_relu(relu *r, const char *fault) { make_relu_of(r, N, fault); }

static kiln_far *open_far(kiln_arena *a, const char *address) {
    const kiln_far_options o = {.address = address};
    kiln_err err = {0};
    kiln_far *far = NULL;
    kiln_assert_status_ok(kiln_far_open(a, &o, &far, &err), &err);
    assert_string_equal(kiln_far_address(far), address);
    assert_false(kiln_far_is_lost(far));
    return far;
}

static kiln_status open_at(kiln_arena *a, kiln_far *far, const relu *r,
                           int64_t limit_ms, kiln_remote **out, kiln_err *err) {
    const kiln_apart_options there = {.far = far};
    const kiln_remote_options o = {.apart = kiln_apart_new(a, &there),
                                   .limit_ms = limit_ms};
    return kiln_remote_of_network(a, &r->network, &r->in, 1, &o, out, err);
}

static kiln_remote *open_good(kiln_arena *a, kiln_far *far, const relu *r,
                              int64_t limit_ms) {
    kiln_err err = {0};
    kiln_remote *x = NULL;
    kiln_assert_status_ok(open_at(a, far, r, limit_ms, &x, &err), &err);
    return x;
}

/* A runner that listens, and a network for it: what most tests here begin with. */
typedef struct fixture {
    kiln_arena arena;
    kiln_test_server server;
    relu relu;
    kiln_err err;
} fixture;

static void set_up(fixture *x) {
    *x = (fixture){.relu = {.in = {.data = NULL}}};
    make_relu(&x->relu, NULL);
    kiln_test_serve(&x->arena, kiln_test_address(&x->arena), &x->server);
}

static void tear_down(fixture *x) {
    kiln_arena_fini(&x->relu.arena);
    kiln_arena_fini(&x->arena);
    kiln_test_server_kill(&x->server);
}

static int session_of(kiln_remote *x) {
    kiln_err err = {0};
    size_t bytes = 0;
    int session = -1;
    kiln_assert_status_ok(kiln_remote_session(x, 1, &session, &bytes, &err), &err);
    assert_true(bytes > 0);
    return session;
}

static const kiln_remote_order once = {.runs = 1, .has_steps = true};

static kiln_status take_turn(kiln_remote *x, int session, kiln_err *err) {
    kiln_remote_turn turn;
    return kiln_remote_take_turn(x, session, &once, &turn, err);
}

static void check_turn(kiln_remote *x, int session, const relu *r) {
    const kiln_remote_order all = {.n_ahead = 1, .runs = 3, .has_steps = true};
    const float *in = r->in.data;
    kiln_err err = {0};
    kiln_remote_turn turn;
    float y[N];
    kiln_assert_status_ok(kiln_remote_take_turn(x, session, &all, &turn, &err), &err);
    assert_int_equal(turn.n_steps, r->network.step.n);
    assert_true(turn.ms > 0);
    kiln_assert_status_ok(kiln_remote_output(x, session, 0, y, &err), &err);
    for (int i = 0; i < N; i++)
        assert_true(y[i] == (in[i] > 0 ? in[i] : 0));
}

/* Several at once, in turns, by both kinds of sockets; one after the other where one was;
 * a peak; a load. */
static void runs_over_a_socket(void **state) {
    (void)state;
    enum { SEVERAL = 3, LENGTH = 20 * 1000 * 1000 };
    kiln_arena a = {0};
    kiln_err err = {0};
    relu r;
    make_relu(&r, NULL);
    const char *const kinds[] = {kiln_test_address(&a), "tcp:127.0.0.1:0"};
    for (int k = 0; k < 2; k++) {
        const kiln_remote_order peak = {.n_peaks = 2, .runs = 1};
        kiln_arena own = {0};
        kiln_test_server s;
        kiln_remote *x[SEVERAL];
        kiln_remote_turn turn;
        kiln_remote_load load;
        int session[SEVERAL];
        kiln_test_serve(&a, kinds[k], &s);
        kiln_far *far = open_far(&own, s.address);
        for (int i = 0; i < SEVERAL; i++) {
            x[i] = open_good(&own, far, &r, 0);
            session[i] = session_of(x[i]);
        }
        for (int i = 0; i < 2 * SEVERAL; i++)
            check_turn(x[i % SEVERAL], session[i % SEVERAL], &r);
        kiln_assert_status_ok(
            kiln_remote_take_turn(x[1], session[1], &peak, &turn, &err), &err);
        assert_true(turn.peak.measured_gflops > 0);
        kiln_assert_status_ok(kiln_remote_do_load(x[0], &own, session[0], 1, 1 << 20,
                                                  LENGTH, &load, &err),
                              &err);
        assert_true(load.n_runs[0] > 0);
        check_turn(x[2], session[2], &r);
        kiln_arena_fini(&own);
        kiln_test_server_kill(&s);
    }
    kiln_arena_fini(&r.arena);
    kiln_arena_fini(&a);
}

/* A place is free again when the next network takes it, and there are no more. */
static void has_so_many_places(void **state) {
    (void)state;
    kiln_remote *last = NULL;
    fixture t;
    set_up(&t);
    kiln_far *far = open_far(&t.arena, t.server.address);
    const kiln_apart_options there = {.far = far};
    const kiln_remote_options again = {.apart = kiln_apart_new(&t.arena, &there)};
    for (int i = 0; i < 2 * KILN_WIRE_MAX_GUESTS; i++) {
        kiln_assert_status_ok(kiln_remote_of_network(&t.arena, &t.relu.network,
                                                     &t.relu.in, 1, &again, &last,
                                                     &t.err),
                              &t.err);
        check_turn(last, session_of(last), &t.relu);
    }
    for (int i = 1; i < KILN_WIRE_MAX_GUESTS; i++)
        (void)open_good(&t.arena, far, &t.relu, 0);
    kiln_assert_fails(open_at(&t.arena, far, &t.relu, 0, &last, &t.err), KILN_ERR_LIMIT,
                      &t.err, "at most 8 networks open at once");
    tear_down(&t);
}

typedef struct row {
    const char *name, *fault, *text;
    int64_t limit_ms;   /* of each answer, at first; 0: none that matters */
    bool is_of_process; /* it is gone then */
} row;

static row rows[] = {
    {"a_crash_is_an_error", "CRASH", "was ended by signal 11", 0, true},
    {"a_hang_is_an_error", "HANG", "did not answer in time", 2000, true},
    {"a_refusal_is_an_error", "RETURN", "7", 0, false},
};

/* Opening is no hang: it has a longer limit where that is too short. */
static kiln_remote *open_failing(fixture *t, kiln_far *far, const relu *bad,
                                 const row *w, int *session) {
    kiln_remote *x = NULL;
    for (int64_t limit_ms = w->limit_ms;; limit_ms *= 4) {
        kiln_err err = {0};
        size_t bytes = 0;
        if (open_at(&t->arena, far, bad, limit_ms, &x, &err) == KILN_OK &&
            kiln_remote_session(x, 1, session, &bytes, &err) == KILN_OK)
            return x;
        if (limit_ms == 0 || limit_ms > KILN_TEST_PATIENCE_MS ||
            strstr(err.text, "in time") == NULL)
            fail_msg("%s", err.text);
    }
}

/* Of one network: another on the same runner goes on, and a third takes its place. */
static void failures_are_errors(void **state) {
    const row *w = *state;
    int of_x = -1;
    relu bad;
    fixture t;
    make_relu(&bad, w->fault);
    set_up(&t);
    kiln_far *far = open_far(&t.arena, t.server.address);
    kiln_remote *x = open_failing(&t, far, &bad, w, &of_x);
    kiln_remote *y = open_good(&t.arena, far, &t.relu, 0);
    const int of_y = session_of(y);
    kiln_assert_fails(take_turn(x, of_x, &t.err), KILN_ERR_LIB, &t.err, w->text);
    kiln_err_clear(&t.err);
    kiln_assert_fails(take_turn(x, of_x, &t.err), KILN_ERR_LIB, &t.err,
                      w->is_of_process ? "before" : w->text);
    kiln_err_clear(&t.err);
    assert_false(kiln_far_is_lost(far));
    check_turn(y, of_y, &t.relu);
    kiln_remote *z = open_good(&t.arena, far, &t.relu, 0);
    check_turn(z, session_of(z), &t.relu);
    kiln_arena_fini(&bad.arena);
    tear_down(&t);
}

/* ---- the runner ------------------------------------------------------------------- */

static void is_killed(void **state) {
    (void)state;
    kiln_remote *again = NULL;
    fixture t;
    set_up(&t);
    kiln_far *far = open_far(&t.arena, t.server.address);
    kiln_remote *x = open_good(&t.arena, far, &t.relu, 0),
                *y = open_good(&t.arena, far, &t.relu, 0);
    const int of_x = session_of(x), of_y = session_of(y);
    kiln_test_server_kill(&t.server);
    kiln_assert_fails(
        take_turn(x, of_x, &t.err), KILN_ERR_LIB, &t.err,
        kiln_format(&t.arena, "the runner at %s is gone", t.server.address));
    kiln_err_clear(&t.err);
    assert_true(kiln_far_is_lost(far));
    assert_true(take_turn(y, of_y, &t.err) == KILN_ERR_LIB);
    kiln_err_clear(&t.err);
    kiln_assert_fails(open_at(&t.arena, far, &t.relu, 0, &again, &t.err), KILN_ERR_LIB,
                      &t.err, "is lost");
    tear_down(&t);
}

/* What is said prolongs a lease, and silence ends it. False: this process itself was held
 * up for longer than the lease, so that it was silent where it should not be. */
static bool ends_by_silence(fixture *t, int64_t lease_ms) {
    const kiln_far_options brief = {.address = t->server.address, .lease_ms = lease_ms};
    kiln_far *far = NULL;
    kiln_remote *x = NULL;
    size_t bytes = 0;
    int session = -1;
    kiln_assert_status_ok(kiln_far_open(&t->arena, &brief, &far, &t->err), &t->err);
    int64_t before_ns = kiln_now_ns(), now_ns = before_ns; /* of what was said last */
    kiln_status st = open_at(&t->arena, far, &t->relu, 0, &x, &t->err);
    if (st == KILN_OK)
        st = kiln_remote_session(x, 1, &session, &bytes, &t->err);
    for (int i = 0; i < 4 && st == KILN_OK; i++) {
        before_ns = now_ns;
        kiln_test_pause_ms(lease_ms / 3);
        now_ns = kiln_now_ns();
        st = take_turn(x, session, &t->err);
    }
    if (st != KILN_OK && kiln_now_ns() - before_ns >= lease_ms * 1000000) {
        kiln_err_clear(&t->err);
        kiln_far_close(far);
        return false;
    }
    kiln_assert_status_ok(st, &t->err);
    kiln_test_pause_ms(lease_ms * 3);
    kiln_assert_fails(
        take_turn(x, session, &t->err), KILN_ERR_LIB, &t->err,
        kiln_format(&t->arena, "nothing came for %" PRId64 " ms", lease_ms));
    assert_true(kiln_far_is_lost(far));
    return true;
}

/* To one at a time; it is free when that one closes it, or says nothing for too long. */
static void is_lent(void **state) {
    (void)state;
    kiln_far *second = NULL;
    fixture t;
    set_up(&t);
    const kiln_far_options hurried = {.address = t.server.address, .patience_ms = 1};
    kiln_far *first = open_far(&t.arena, t.server.address);
    kiln_remote *x = open_good(&t.arena, first, &t.relu, 0);
    kiln_assert_fails(
        kiln_far_open(&t.arena, &hurried, &second, &t.err), KILN_ERR_IO, &t.err,
        kiln_format(&t.arena, "it is lent to process %d on a machine with ",
                    (int)getpid()));
    assert_non_null(strstr(t.err.text, t.server.address));
    kiln_err_clear(&t.err);
    check_turn(x, session_of(x), &t.relu); /* the first is not disturbed */
    kiln_far_close(first);
    assert_true(kiln_far_is_lost(first));
    int64_t lease_ms = 300;
    while (!ends_by_silence(&t, lease_ms)) {
        lease_ms *= 3;
        assert_true(lease_ms < KILN_TEST_PATIENCE_MS);
    }
    (void)open_far(&t.arena, t.server.address);
    tear_down(&t);
}

/* What a package has is read here and sent: that it runs there, test_cli_device shows. */
static void reads_packages_here(void **state) {
    (void)state;
    kiln_remote *x = NULL;
    fixture t;
    set_up(&t);
    const kiln_apart_options there = {.far = open_far(&t.arena, t.server.address)};
    const kiln_remote_options o = {.apart = kiln_apart_new(&t.arena, &there)};
    kiln_assert_fails(kiln_remote_of_package(&t.arena, "/", &t.relu.profile, &t.relu.in,
                                             1, &o, &x, &t.err),
                      KILN_ERR_MISSING, &t.err, "cannot open '/plan.bin'");
    tear_down(&t);
}

/* ---- bad fleets ------------------------------------------------------------------- */

typedef struct bad_row {
    const char *name, *text;
    kiln_wire_kind kind;
    union {
        kiln_wire_network network;
        kiln_wire_packs packs;
    } of;
} bad_row;

static kiln_wire_blob no_bytes[1] = {{.bytes = 0}};
static kiln_wire_blob too_much[17];
static bad_row bad_rows[] = {
    {"a_folder",
     "is in no folder here",
     KILN_WIRE_NETWORK,
     {.network = {.folder = {"/", 1}}}},
    {"a_part_of_nothing",
     "part has no bytes",
     KILN_WIRE_NETWORK,
     {.network = {.n_parts = 1, .part = no_bytes}}},
    {"more_than_there_is",
     "at most 68719476736 bytes",
     KILN_WIRE_NETWORK,
     {.network = {.n_parts = 17, .part = too_much}}},
    {"packings", "sent 'packs' where", KILN_WIRE_PACKS, {.packs = {.n_packers = 0}}},
};

/* What it says ends the connection, with its reason; the next one finds all well. */
static void bears_bad_peers(void **state) {
    const bad_row *w = *state;
    kiln_wire_frame f;
    kiln_wire_failed why;
    kiln_test_talk talk;
    fixture t;
    set_up(&t);
    for (int i = 0; i < 17; i++)
        too_much[i] = (kiln_wire_blob){.bytes = KILN_WIRE_MAX_BLOB_BYTES,
                                       .sha256 = {(unsigned char)i}};
    kiln_test_borrow(&talk, t.server.address, "a test", 60000);
    kiln_test_say(talk.fd, w->kind, &w->of);
    assert_true(kiln_test_hear(&talk, &f));
    kiln_assert_status_ok(
        kiln_wire_expect(&t.arena, &f, KILN_WIRE_FAILED, &why, &t.err), &t.err);
    if (strstr(kiln_str_dupv(&t.arena, why.text), w->text) == NULL)
        fail_msg("it says: %.*s", KILN_STR_ARG(why.text));
    assert_false(kiln_test_hear(&talk, &f));
    kiln_test_hang_up(&talk);
    kiln_remote *x =
        open_good(&t.arena, open_far(&t.arena, t.server.address), &t.relu, 0);
    check_turn(x, session_of(x), &t.relu);
    tear_down(&t);
}

/* Code that cannot be loaded, a plan that is none: told, not fatal. A question to nobody
 * is no question. */
static void bears_broken_networks(void **state) {
    (void)state;
    kiln_wire_frame f;
    kiln_wire_told told;
    kiln_test_talk talk;
    fixture t;
    set_up(&t);
    kiln_test_borrow(&talk, t.server.address, "a test", 60000);
    const kiln_wire_ask nobody = {.guest = 3, .what = KILN_ASK_SESSION, .n = 1};
    const kiln_wire_network empty = {.guest = 5},
                            outside = {.guest = 5, .plan = {1 << 20, 64}};
    const kiln_wire_network *const networks[] = {&empty, &outside, &empty};
    kiln_test_say(talk.fd, KILN_WIRE_ASK, &nobody);
    for (int i = 0; i < 3; i++) {
        kiln_test_say(talk.fd, KILN_WIRE_NETWORK, networks[i]);
        assert_true(kiln_test_hear(&talk, &f));
        kiln_assert_status_ok(
            kiln_wire_expect(&t.arena, &f, KILN_WIRE_TOLD, &told, &t.err), &t.err);
        assert_true(told.guest == 5 && told.problem.n > 0);
    }
    kiln_test_hang_up(&talk);
    tear_down(&t);
}

/* ---- a runner that lies ------------------------------------------------------------ */

typedef enum lie {
    NO_LIE,
    OTHER_STEPS,
    MORE_TIME,
    LONG_STEPS,
    NEGATIVE_TIME,
    NO_TIME,
    SHORT_STEPS,
    LONG_ENOUGH,
    OTHER_BYTES,
    OTHER_GUEST,
    ASKS_FOR_OTHERS,
    ASKS_AGAIN,
    SAYS_NONSENSE,
    SAYS_IT_IS_LENT,
    IS_A_BUILDER,
    HAS_NO_MACHINE,
    GIVES_UP,
    HANGS_UP
} lie;

typedef struct liar {
    lie what;
    const char *machine;
} liar;

static void answer(int fd, lie what, const kiln_wire_ask *q) {
    static uint64_t step_ns[2];
    static const char zeros[N * sizeof(float)];
    kiln_wire_told told = {.guest = q->guest,
                           .problem = KILN_STR_LIT(""),
                           .bytes = 4096,
                           .data = KILN_STR_LIT("")};
    if (q->what == KILN_ASK_TURN) {
        told.n_steps = what == OTHER_STEPS ? 2 : 1;
        told.wall_ns = what == MORE_TIME       ? INT64_C(3600000000000)
                       : what == NEGATIVE_TIME ? -5
                       : what == SHORT_STEPS || what == LONG_ENOUGH ? 100000
                                                                    : 10;
        step_ns[0] = what == LONG_STEPS                       ? 5000000
                     : what == LONG_ENOUGH || what == NO_TIME ? 90000
                                                              : 5;
        told.step_ns = step_ns;
        told.guest = what == OTHER_GUEST ? q->guest + 1 : q->guest;
    }
    if (q->what == KILN_ASK_OUTPUT)
        told.data = (kiln_str){zeros, what == OTHER_BYTES ? 8 : sizeof zeros};
    if (what == SAYS_NONSENSE && q->what == KILN_ASK_TURN)
        (void)kiln_wire_write(fd, KILN_STR_LIT("GET / HTTP/1.1\r\n\r\n"), NULL);
    else
        kiln_test_say(fd, KILN_WIRE_TOLD, &told);
}

static void open_lie(int fd, lie what, const kiln_wire_network *n) {
    const kiln_wire_failed failed = {.text = KILN_STR_LIT("no\nmore")};
    kiln_wire_blob other = {.bytes = 7};
    const kiln_wire_need foreign = {.n = 1, .blob = &other},
                         first = {.n = 1, .blob = &n->part[0]};
    const kiln_wire_told told = {.guest = n->guest,
                                 .problem = KILN_STR_LIT(""),
                                 .open_ms = 1,
                                 .data = KILN_STR_LIT("")};
    if (what == ASKS_FOR_OTHERS)
        kiln_test_say(fd, KILN_WIRE_NEED, &foreign);
    for (uint32_t i = 0; i <= n->n_parts && what == ASKS_AGAIN; i++)
        kiln_test_say(fd, KILN_WIRE_NEED, &first);
    if (what == GIVES_UP)
        kiln_test_say(fd, KILN_WIRE_FAILED, &failed);
    kiln_test_say(fd, KILN_WIRE_TOLD, &told);
}

static void greet(int fd, const liar *l) {
    const kiln_wire_hello hello = {
        .role = kiln_str_from(l->what == IS_A_BUILDER ? "builder" : "runner"),
        .machine = kiln_str_from(l->what == HAS_NO_MACHINE ? "" : l->machine)};
    const kiln_wire_lent lent = {.owner = KILN_STR_LIT("no\x1b[2Jbody"),
                                 .left_ms = 2500};
    if (l->what == SAYS_IT_IS_LENT)
        kiln_test_say(fd, KILN_WIRE_LENT, &lent);
    else
        kiln_test_say(fd, KILN_WIRE_HELLO, &hello);
}

static void serve_lies(int fd, int nth, const void *user) {
    const liar *l = user;
    const kiln_wire_leased leased = {.ms = 1000};
    kiln_arena a = {0};
    kiln_wire_stream in = {.arena = &a};
    bool has = true;
    (void)nth;
    greet(fd, l);
    while (has) {
        kiln_wire_frame f;
        kiln_wire_network n;
        kiln_wire_ask q;
        if (kiln_wire_read(fd, &in, -1, &has, &f, NULL) != KILN_OK || !has)
            break;
        if (f.kind == KILN_WIRE_LEASE)
            kiln_test_say(fd, KILN_WIRE_LEASED, &leased);
        if (f.kind == KILN_WIRE_NETWORK && kiln_wire_get(&a, &f, &n, NULL) == KILN_OK)
            open_lie(fd, l->what, &n);
        if (f.kind != KILN_WIRE_ASK || kiln_wire_get(&a, &f, &q, NULL) != KILN_OK)
            continue;
        if (l->what == HANGS_UP && q.what == KILN_ASK_TURN)
            break;
        answer(fd, l->what, &q);
    }
    kiln_arena_fini(&a);
}

typedef struct lie_row {
    const char *name;
    lie what;
    kiln_status want;
    const char *text;
    bool is_kept; /* it is no reason to have nothing to do with it any more */
} lie_row;

static lie_row lie_rows[] = {
    {"tells_the_truth", NO_LIE, KILN_OK, "", true},
    {"other_steps", OTHER_STEPS, KILN_ERR_LIB, "other steps than the network has",
     false},
    {"more_time", MORE_TIME, KILN_ERR_LIB, "more time than has passed", false},
    {"long_steps", LONG_STEPS, KILN_ERR_LIB, "more time than has passed", false},
    {"negative_time", NEGATIVE_TIME, KILN_ERR_LIB, "more time than has passed", false},
    {"other_bytes", OTHER_BYTES, KILN_ERR_LIB, "another number of bytes", false},
    {"other_guest", OTHER_GUEST, KILN_ERR_LIB, "answered for another network", false},
    {"asks_for_others", ASKS_FOR_OTHERS, KILN_ERR_LIB,
     "asks for blob 000000000000 of 7 bytes, which its network does not have", false},
    {"asks_again", ASKS_AGAIN, KILN_ERR_LIB, "asks for more than its network has",
     false},
    {"says_nonsense", SAYS_NONSENSE, KILN_ERR_LIB, "does not start as one", false},
    {"says_it_is_lent", SAYS_IT_IS_LENT, KILN_ERR_IO,
     "it is lent to no\\x1b[2Jbody for 3 s more", false},
    {"is_a_builder", IS_A_BUILDER, KILN_ERR_LIB, "it is a 'builder'", false},
    {"has_no_machine", HAS_NO_MACHINE, KILN_ERR_PARSE, "its machine", true},
    {"gives_up", GIVES_UP, KILN_ERR_LIB, "gave up: no\\x0amore", false},
    {"hangs_up", HANGS_UP, KILN_ERR_LIB, "is gone: the connection was closed", false},
};

/* Of a network that takes a while: in clocks that are coarse a small one is lost. */
static lie_row fast_rows[] = {
    {"no_time", NO_TIME, KILN_ERR_LIB,
     "told of 10 ns for 1 run of the network: no machine of profile ", false},
    {"short_steps", SHORT_STEPS, KILN_ERR_LIB,
     "told of 5 ns for step 1: no machine of profile ", false},
    {"long_enough", LONG_ENOUGH, KILN_ERR_LIB, "another number of bytes", false},
};

/* All of it: greeting, opening, a session, a turn, an output. */
static kiln_status use(kiln_arena *a, const relu *r, const char *address,
                       kiln_far **far, kiln_err *err) {
    const kiln_far_options o = {.address = address, .patience_ms = 1};
    kiln_remote *x = NULL;
    size_t bytes;
    int session;
    KILN_TRY(kiln_far_open(a, &o, far, err));
    KILN_TRY(open_at(a, *far, r, KILN_TEST_PATIENCE_MS, &x, err));
    KILN_TRY(kiln_remote_session(x, 1, &session, &bytes, err));
    KILN_TRY(take_turn(x, session, err));
    const size_t out = kiln_remote_output_at(x, 0)->bytes;
    return kiln_remote_output(x, session, 0, kiln_arena_alloc(a, out), err);
}

static void check_lie(const lie_row *w, int n_elems) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_buf machine;
    kiln_far *far = NULL;
    relu r;
    make_relu_of(&r, n_elems, NULL);
    kiln_buf_init(&machine, &a);
    kiln_profile_machine_json(&machine, &r.profile);
    const liar l = {w->what, machine.p};
    const char *address = kiln_test_address(&a);
    const pid_t runner = kiln_test_listen_beside(address, serve_lies, &l);
    const kiln_status st = use(&a, &r, address, &far, &err);
    if (st != w->want || strstr(err.text, w->text) == NULL)
        fail_msg("it says %d: %s", (int)st, err.text);
    if (far != NULL)
        assert_int_equal(kiln_far_is_lost(far), !w->is_kept);
    kiln_test_end_beside(runner);
    kiln_arena_fini(&r.arena);
    kiln_arena_fini(&a);
}

static void refuses_lies(void **state) { check_lie(*state, N); }
static void refuses_what_no_machine_does(void **state) { check_lie(*state, 1 << 20); }

int main(void) {
    kiln_test_as_worker_environment();
    kiln_test_add("runs_over_a_socket", runs_over_a_socket, NULL);
    kiln_test_add("has_so_many_places", has_so_many_places, NULL);
    kiln_test_add_rows(failures_are_errors, rows);
    kiln_test_add("is_killed", is_killed, NULL);
    kiln_test_add("is_lent", is_lent, NULL);
    kiln_test_add("reads_packages_here", reads_packages_here, NULL);
    kiln_test_add_rows(bears_bad_peers, bad_rows);
    kiln_test_add("bears_broken_networks", bears_broken_networks, NULL);
    kiln_test_add_rows(refuses_lies, lie_rows);
    kiln_test_add_rows(refuses_what_no_machine_does, fast_rows);
    return kiln_test_run("far");
}
