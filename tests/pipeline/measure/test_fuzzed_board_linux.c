/* A real kiln-device that is sent what makes no sense, message by message: by strangers,
 * whose handshakes are damaged, and by who is let in, whose messages are. Each ends its
 * own connection at most: the device, and the runner that it keeps, go on and say nothing.
 *
 *   KILN_SOAK=1    a million messages (KILN_SCHEDULES=number: so many)
 *
 * Behind each message of who is let in comes a good one: its answer, or the connection's
 * end, says that the one ahead was dealt with. */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arithmetic/rng.h"
#include "pipeline/curve/curve.h"
#include "pipeline/measure/wire/address.h"
#include "pipeline/measure/wire/wire.h"
#include "tests/support/kiln_test.h"
#include "tests/support/measuring/board_run.h"
#include "tests/support/measuring/child_of.h"
#include "tests/support/measuring/measure_run.h"

enum {
    MAX_KINDS = 64,
    MAX_BYTES =
        16 * 1024,   /* of a message here; the corpus' longest has a third of it */
    PROBE_MS = 4321, /* a lease that no other message here asks for */
    GREETING = 64,   /* what everybody gets */
    WELCOME = 170    /* who knows the board's key, too: ZeroMQ RFC 26 */
};

static board_run board;
static kiln_curve_pair user, stranger;
static kiln_curve_key server;
static kiln_rng rng;
static kiln_str kind[MAX_KINDS]; /* a good message of each */
static size_t n_kinds;
static struct { int64_t messages, connections, answered; } count;

static size_t below(size_t n) { return (size_t)(kiln_rng_next(&rng) % n); }

/* ---- one connection -------------------------------------------------------------- */

typedef struct caller {
    kiln_arena arena;
    int fd;
    kiln_curve_session session;
    kiln_wire_stream heard;
    size_t n_raw; /* bytes that came, sealed or not */
} caller;
static caller to_board; /* large */

static void hang_up(caller *c) {
    assert_int_equal(close(c->fd), 0);
    kiln_curve_end(&c->session);
    kiln_arena_fini(&c->arena);
}

static void call(caller *c, const kiln_curve_pair *who) {
    kiln_err err = {.len = 0};
    kiln_wire_address at;
    memset(c, 0, sizeof *c);
    c->heard.arena = &c->arena;
    kiln_assert_status_ok(
        kiln_wire_address_parse(kiln_format(&c->arena, "tcp:127.0.0.1:%d", board.port),
                                &at, &err),
        &err);
    c->fd = kiln_wire_address_socket(&at);
    assert_true(c->fd >= 0 && connect(c->fd, &at.at.any, at.bytes) == 0);
    kiln_curve_connect(&c->session, who, &server);
    count.connections++;
}

/* Who does not read it any more has ended the connection: that is seen when reading. */
static void write_raw(const caller *c, const void *p, size_t n) {
    (void)kiln_wire_write(c->fd, (kiln_str){p, n}, NULL);
}

/* What the session makes of what came; what it has for the board is changed by `damage`,
 * or goes as it is. False: the connection is of no use any more. */
typedef void damage_fn(kiln_buf *sent);
static bool digest(caller *c, damage_fn *damage) {
    kiln_curve_event e = {.what = KILN_CURVE_SENDS};
    while (e.what != KILN_CURVE_WANTS) {
        if (kiln_curve_next(&c->session, &e, NULL) != KILN_OK)
            return false;
        if (e.what == KILN_CURVE_SENDS) {
            kiln_buf sent;
            kiln_buf_init(&sent, &c->arena);
            kiln_buf_add(&sent, e.bytes.p, e.bytes.n);
            if (damage != NULL)
                damage(&sent);
            write_raw(c, sent.p, sent.n);
        } else if (e.what == KILN_CURVE_GIVES) {
            size_t room;
            unsigned char *to = kiln_wire_stream_room(&c->heard, &room);
            assert_true(room >= e.bytes.n);
            memcpy(to, e.bytes.p, e.bytes.n);
            c->heard.n += e.bytes.n;
        }
    }
    return true;
}

/* False: the board has hung up. */
static bool hear(caller *c, damage_fn *damage) {
    size_t room;
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    unsigned char *to = kiln_curve_room(&c->session, &room);
    if (poll(&p, 1, KILN_TEST_PATIENCE_MS) != 1)
        fail_msg("the board says nothing, and does not hang up");
    const ssize_t n = read(c->fd, to, room);
    if (n <= 0)
        return false;
    c->n_raw += (size_t)n;
    c->session.n_in += (size_t)n;
    return digest(c, damage);
}

/* The next message of a session that is open; false: the board has hung up. */
static bool next_message(caller *c, kiln_wire_frame *f) {
    kiln_err err = {.len = 0};
    bool has = false;
    for (;;) {
        kiln_assert_status_ok(kiln_wire_next(&c->heard, &has, f, &err), &err);
        if (has)
            return true;
        if (!hear(c, NULL))
            return false;
    }
}

static void say(caller *c, kiln_str message) {
    unsigned char sealed[MAX_BYTES + KILN_CURVE_SEAL];
    assert_true(message.n <= MAX_BYTES);
    write_raw(c, sealed, kiln_curve_seal(&c->session, message.p, message.n, sealed));
}

/* ---- who is let in --------------------------------------------------------------- */

static void say_lease(caller *c, int64_t ms) {
    const kiln_wire_lease lease = {.owner = KILN_STR_LIT("probe"), .ms = ms};
    kiln_buf out;
    kiln_buf_init(&out, &c->arena);
    kiln_wire_put(&out, KILN_WIRE_LEASE, &lease);
    say(c, kiln_buf_str(&out));
}

/* Whether it answers what was said last, whatever it says before; false: it hung up. */
static bool is_answered(caller *c) {
    kiln_wire_frame f;
    kiln_wire_leased leased = {.ms = 0};
    say_lease(c, PROBE_MS);
    do {
        if (!next_message(c, &f))
            return false;
        if (f.kind == KILN_WIRE_LEASED)
            (void)kiln_wire_get(&c->arena, &f, &leased, NULL);
    } while (f.kind != KILN_WIRE_LEASED || leased.ms != PROBE_MS);
    return true;
}

/* Greeted, and lent the runner: once it has noticed that who had it before is gone. */
static void borrow(caller *c) {
    kiln_wire_frame f = {.kind = KILN_WIRE_LENT};
    for (int ms = 0; ms < KILN_TEST_PATIENCE_MS; ms++) {
        call(c, &user);
        assert_true(digest(c, NULL));
        if (next_message(c, &f) && f.kind == KILN_WIRE_HELLO && is_answered(c))
            return;
        hang_up(c);
        kiln_test_pause_ms(1);
    }
    fail_msg("the board lends its runner to nobody any more: the last message is '%s'",
             kiln_wire_kind_name(f.kind));
}

static void put_u32(char *p, uint32_t x) {
    for (int i = 0; i < 4; i++)
        p[i] = (char)(x >> 8 * i & 255);
}

/* A field of a message may be a length, a count, a size in bytes, a kind. */
static void put_number(kiln_buf *m) {
    static const uint32_t numbers[] = {
        0,         1, 2, 7, 255, 256, 4096, 65535, 65536, INT32_MAX, UINT32_C(1) << 31,
        UINT32_MAX};
    if (m->n < KILN_WIRE_HEADER_BYTES + 4)
        return;
    const size_t at = KILN_WIRE_HEADER_BYTES + below(m->n - KILN_WIRE_HEADER_BYTES - 3);
    put_u32(m->p + at, numbers[below(sizeof numbers / sizeof numbers[0])]);
}

static void flip_bits(kiln_buf *m, size_t from, size_t to) {
    for (size_t i = 1 + below(4); i > 0 && to > from; i--)
        m->p[from + below(to - from)] ^= (char)(1 << below(8));
}

static void cut_or_grow(kiln_buf *m) {
    if (below(2) == 0)
        m->n = KILN_WIRE_HEADER_BYTES + below(m->n - KILN_WIRE_HEADER_BYTES + 1);
    else
        for (size_t i = 1 + below(64); i > 0 && m->n < MAX_BYTES; i--)
            kiln_buf_add(m, &(char){(char)below(256)}, 1);
    put_u32(m->p + 12, (uint32_t)(m->n - KILN_WIRE_HEADER_BYTES)); /* its length */
}

/* What leaves a runner ready for more: who has it, with any name; a question to a network
 * that is not open. */
static void put_harmless(kiln_buf *m) {
    enum { LONGEST = 200 };
    char owner[LONGEST];
    const size_t n = below(LONGEST);
    for (size_t i = 0; i < n; i++)
        owner[i] = (char)below(256);
    const kiln_wire_lease lease = {
        .owner = {owner, n},
        .ms = kiln_rng_range(&rng, KILN_WIRE_SILENCE_MS, KILN_WIRE_MOST_LEASE_MS)};
    const kiln_wire_ask ask = {.guest = (uint32_t)below(KILN_WIRE_MAX_GUESTS),
                               .what = (uint32_t)below(KILN_ASK_END),
                               .session = (uint32_t)kiln_rng_next(&rng),
                               .index = (uint32_t)kiln_rng_next(&rng),
                               .n = (uint32_t)kiln_rng_next(&rng),
                               .n_ahead = (uint32_t)kiln_rng_next(&rng),
                               .has_steps = (uint32_t)below(2),
                               .runs = kiln_rng_next(&rng),
                               .at = kiln_rng_next(&rng),
                               .bytes = kiln_rng_next(&rng),
                               .time_ns = kiln_rng_range(&rng, INT64_MIN, INT64_MAX)};
    if (below(2) == 0)
        kiln_wire_put(m, KILN_WIRE_LEASE, &lease);
    else
        kiln_wire_put(m, KILN_WIRE_ASK, &ask);
}

/* Never such that the board would wait for more of it. */
static void damage_header(kiln_buf *m) {
    const uint32_t is = (uint32_t)m->n - KILN_WIRE_HEADER_BYTES;
    if (below(2) == 0)
        flip_bits(m, 0, 8); /* magic and version */
    else
        put_u32(m->p + 12, below(2) == 0 && is > 0
                               ? (uint32_t)below(is)
                               : KILN_WIRE_MAX_BYTES + 1 + (uint32_t)below(INT32_MAX));
}

static void damage_message(kiln_buf *m) {
    switch (below(8)) {
    case 0: /* good, and out of turn */
        break;
    case 1:
    case 2:
        put_number(m);
        break;
    case 3:
    case 4:
        flip_bits(m, KILN_WIRE_HEADER_BYTES, m->n);
        break;
    case 5:
        cut_or_grow(m);
        break;
    case 6: /* as another kind */
        put_u32(m->p + 8, (uint32_t)below(n_kinds + 2));
        break;
    default:
        damage_header(m);
    }
}

/* Until one of its messages ends it. */
static void talks_nonsense(void) {
    bool goes_on = true;
    borrow(&to_board);
    while (goes_on) {
        kiln_buf m;
        kiln_buf_init(&m, &to_board.arena);
        if (below(8) != 0)
            put_harmless(&m);
        else {
            const kiln_str good = kind[below(n_kinds)];
            kiln_buf_add(&m, good.p, good.n);
            damage_message(&m);
        }
        say(&to_board, kiln_buf_str(&m));
        count.messages++;
        goes_on = is_answered(&to_board);
        count.answered += goes_on;
    }
    hang_up(&to_board);
}

/* ---- strangers ------------------------------------------------------------------- */

/* Enough that the board need not wait for more. */
static void make_noise(kiln_buf *to) {
    enum { NOISE = 600 };
    for (int i = 0; i < NOISE; i++)
        kiln_buf_add(to, &(char){(char)below(256)}, 1);
}

static void damage_handshake(kiln_buf *sent) {
    count.messages++;
    if (below(2) == 0)
        return;
    flip_bits(sent, 0, sent->n);
    make_noise(sent);
}

/* A key that is not allowed, or nothing that is one: whatever it says, it gets what
 * anybody does who knows the board's own, and no answer to who it is. */
static void knocks(void) {
    kiln_buf noise;
    call(&to_board, &stranger);
    kiln_buf_init(&noise, &to_board.arena);
    make_noise(&noise);
    if (below(4) != 0)
        (void)digest(&to_board, damage_handshake);
    else {
        write_raw(&to_board, noise.p, noise.n);
        count.messages++;
    }
    while (hear(&to_board, damage_handshake))
        continue;
    assert_true(to_board.session.step != KILN_CURVE_OPEN);
    assert_true(to_board.n_raw <= GREETING + WELCOME);
    hang_up(&to_board);
}

/* ---- all of it ------------------------------------------------------------------- */

static void read_kinds(void) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.len = 0};
    kiln_wire_stream s = {.arena = a};
    kiln_str all;
    kiln_wire_frame f;
    bool has = true;
    size_t room;
    kiln_assert_status_ok(
        kiln_file_map(a, "tests/fuzz/corpus/measure_wire/all_kinds", 0, &all, &err),
        &err);
    unsigned char *to = kiln_wire_stream_room(&s, &room);
    assert_true(all.n <= room);
    memcpy(to, all.p, all.n);
    s.n = all.n;
    for (size_t at = 0; at < all.n; n_kinds++) {
        kiln_assert_status_ok(kiln_wire_next(&s, &has, &f, &err), &err);
        assert_true(has && n_kinds < MAX_KINDS);
        kind[n_kinds] = (kiln_str){all.p + at, KILN_WIRE_HEADER_BYTES + f.body.n};
        assert_true(kind[n_kinds].n < MAX_BYTES / 2);
        at += kind[n_kinds].n;
    }
    assert_true(n_kinds > 0);
}

static void read_keys(void) {
    kiln_err err = {.len = 0};
    kiln_curve_pair own;
    const struct {
        const char *file;
        kiln_curve_pair *to;
    } keys[] = {{"board.key", &own}, {"user.key", &user}, {"stranger.key", &stranger}};
    kiln_assert_status_ok(kiln_curve_start(&err), &err);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        kiln_assert_status_ok(
            kiln_curve_pair_read(
                kiln_path_join(board.arena, board.folder, keys[i].file), keys[i].to,
                &err),
            &err);
    server = own.public_key;
}

static void survives(void **state) {
    enum { MILLION = 1000000 };
    kiln_arena a = {0};
    char text[4096] = "";
    (void)state;
    const int64_t n = kiln_test_cases(getenv("KILN_SOAK") != NULL ? MILLION : 300);
    kiln_rng_init(&rng, kiln_test_seed());
    (void)signal(SIGPIPE, SIG_IGN);
    board_run_start(&a, &board);
    read_kinds();
    read_keys();
    borrow(&to_board);
    hang_up(&to_board);
    const int runner = kiln_test_child_of(board.child.pid);
    while (count.messages < n)
        (below(4) == 0 ? knocks : talks_nonsense)();
    print_message("%d messages over %d connections, %d of them answered\n",
                  (int)count.messages, (int)count.connections, (int)count.answered);
    borrow(&to_board);
    hang_up(&to_board);
    assert_int_equal(kill(runner, 0), 0); /* the same one still */
    if (read(board.child.err, text, sizeof text - 1) > 0)
        fail_msg("the board complains: %s", text);
    assert_true(count.answered > 0);
    board_run_kill(&board);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add("survives", survives, NULL);
    return kiln_test_run("fuzzed board");
}
