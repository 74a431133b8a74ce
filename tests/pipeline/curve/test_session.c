/* Sessions of CURVE in memory: both ends come to know each other; of what is damaged,
 * said twice, too long, out of turn, or from whom nobody knows, nothing is answered. */
#include <string.h>

#include "tests/support/measuring/curve_ends.h"
#include "tests/support/kiln_test.h"

static curve_ends ends; /* large */

static void open_session(void) {
    kiln_err err = {.len = 0};
    curve_ends_init(&ends);
    kiln_assert_status_ok(curve_ends_settle(&ends, &err), &err);
    assert_int_equal(ends.server.step, KILN_CURVE_OPEN);
    assert_int_equal(ends.client.step, KILN_CURVE_OPEN);
}

static void seal(kiln_curve_session *from, const char *p, size_t n, kiln_buf *out) {
    unsigned char *sealed =
        kiln_array(kiln_test_arena(), unsigned char, n + KILN_CURVE_SEAL);
    assert_int_equal(kiln_curve_seal(from, p, n, sealed), n + KILN_CURVE_SEAL);
    kiln_buf_add(out, (const char *)sealed, n + KILN_CURVE_SEAL);
}

static void ends_come_to_know_each_other(void **state) {
    enum { LARGE = KILN_CURVE_MAX_PLAIN };
    kiln_err err = {.len = 0};
    static char large[LARGE];
    (void)state;
    open_session();
    assert_true(kiln_curve_key_eq(&ends.server.peer, &ends.client_pair.public_key));
    for (size_t i = 0; i < LARGE; i++)
        large[i] = (char)(i * 7);
    seal(&ends.client, "hello", 5, &ends.to_server);
    seal(&ends.client, large, LARGE, &ends.to_server);
    seal(&ends.server, "you too", 7, &ends.to_client);
    /* What is sealed is not to be seen. */
    for (size_t i = 0; i + 64 <= ends.to_server.n; i++)
        assert_true(memcmp(ends.to_server.p + i, large, 64) != 0);
    kiln_assert_status_ok(curve_ends_settle(&ends, &err), &err);
    assert_int_equal(ends.server_got.n, 5 + LARGE);
    assert_memory_equal(ends.server_got.p, "hello", 5);
    assert_memory_equal(ends.server_got.p + 5, large, LARGE);
    assert_memory_equal(ends.client_got.p, "you too", 7);
    curve_ends_fini(&ends);
}

/* The same with each byte alone. */
static void bytes_may_come_one_by_one(void **state) {
    kiln_err err = {.len = 0};
    (void)state;
    curve_ends_init(&ends);
    bool is_quiet = false;
    while (!is_quiet) {
        is_quiet = true;
        for (int side = 0; side < 2; side++) {
            kiln_buf *in = side == 0 ? &ends.to_client : &ends.to_server;
            kiln_buf *out = side == 0 ? &ends.to_server : &ends.to_client;
            const kiln_str all = kiln_buf_str(in);
            kiln_buf_init(in, &ends.arena);
            for (size_t i = 0; i < all.n || i == 0; i++)
                kiln_assert_status_ok(
                    curve_ends_give(side == 0 ? &ends.client : &ends.server, all.p + i,
                                    all.n > 0, out, &ends.server_got, &err),
                    &err);
            is_quiet = is_quiet && out->n == 0;
        }
    }
    assert_int_equal(ends.server.step, KILN_CURVE_OPEN);
    curve_ends_fini(&ends);
}

/* ---- who is not let in ----------------------------------------------------------- */

static void unknown_keys_get_no_answer(void **state) {
    kiln_err err = {.len = 0};
    kiln_curve_pair stranger;
    (void)state;
    curve_ends_init(&ends);
    kiln_curve_pair_make(&stranger);
    kiln_curve_connect(&ends.client, &stranger, &ends.server_pair.public_key);
    kiln_assert_fails(curve_ends_settle(&ends, &err), KILN_ERR_UNSUPPORTED, &err,
                      "not allowed");
    assert_int_equal(ends.to_client.n, 0);
    assert_int_equal(ends.client.step, KILN_CURVE_READY);
    curve_ends_fini(&ends);
}

/* The secret half is what counts: who says another's key cannot vouch for it. */
static void known_keys_are_not_enough(void **state) {
    kiln_err err = {.len = 0};
    kiln_curve_pair thief;
    (void)state;
    curve_ends_init(&ends);
    kiln_curve_pair_make(&thief);
    thief.public_key = ends.client_pair.public_key;
    kiln_curve_connect(&ends.client, &thief, &ends.server_pair.public_key);
    kiln_assert_fails(curve_ends_settle(&ends, &err), KILN_ERR_PARSE, &err,
                      "nobody vouches");
    assert_int_equal(ends.to_client.n, 0);
    curve_ends_fini(&ends);
}

/* Who has not the server's public key gets the greeting, which everybody gets. */
static void servers_are_silent_to_who_does_not_know_them(void **state) {
    kiln_err err = {.len = 0};
    (void)state;
    curve_ends_init(&ends);
    kiln_curve_connect(&ends.client, &ends.client_pair, &ends.client_pair.public_key);
    kiln_assert_fails(curve_ends_settle(&ends, &err), KILN_ERR_PARSE, &err,
                      "another server");
    assert_int_equal(ends.to_client.n, 0);
    curve_ends_fini(&ends);
}

/* A WELCOME that was made for another connection of the same two. */
static void clients_notice_old_answers(void **state) {
    kiln_err err = {.len = 0};
    kiln_buf old;
    (void)state;
    curve_ends_init(&ends);
    kiln_buf_init(&old, &ends.arena);
    for (int i = 0; i < 3; i++) { /* greetings, HELLO: then WELCOME is on its way */
        const kiln_str back = kiln_buf_str(&ends.to_client);
        kiln_buf_init(&ends.to_client, &ends.arena);
        kiln_assert_status_ok(curve_ends_give(&ends.client, back.p, back.n,
                                              &ends.to_server, &ends.client_got, &err),
                              &err);
        const kiln_str there = kiln_buf_str(&ends.to_server);
        kiln_buf_init(&ends.to_server, &ends.arena);
        if (ends.server.step < KILN_CURVE_INITIATE)
            kiln_assert_status_ok(curve_ends_give(&ends.server, there.p, there.n,
                                                  &ends.to_client, &ends.server_got,
                                                  &err),
                                  &err);
        kiln_buf_add(&old, ends.to_client.p, ends.to_client.n);
    }
    assert_int_equal(ends.server.step, KILN_CURVE_INITIATE);
    kiln_curve_connect(&ends.client, &ends.client_pair, &ends.server_pair.public_key);
    kiln_assert_fails(curve_ends_give(&ends.client, old.p, old.n, &ends.to_server,
                                      &ends.client_got, &err),
                      KILN_ERR_PARSE, &err, "has not the device's key");
    curve_ends_fini(&ends);
}

typedef struct stranger_row {
    const char *name, *says;
    size_t n;
    size_t answered; /* bytes */
} stranger_row;
#define GREETING "\xff\0\0\0\0\0\0\0\1\x7f\3\0"
static stranger_row stranger_rows[] = {
    {"is_silent_to_nothing", "", 0, 0},
    {"is_silent_to_http", "GET / HTTP/1.1\r\n\r\n", 18, 0},
    {"is_silent_to_zeros", "\0\0\0\0\0\0\0\0\0\0\0\0", 12, 0},
    {"is_silent_to_half_a_signature", GREETING, 9, 0},
    {"greets_a_signature", GREETING, 10, 64},
    {"greets_and_takes_no_other_mechanism",
     GREETING "NULL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
              "\0"
              "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
              "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
     64, 64},
    {"greets_and_takes_no_server",
     GREETING "CURVE\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
              "\1"
              "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
              "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
     64, 64},
};

static void strangers(void **state) {
    const stranger_row *r = *state;
    kiln_err err = {.len = 0};
    curve_ends_init(&ends);
    const kiln_status st = curve_ends_give(&ends.server, r->says, r->n, &ends.to_client,
                                           &ends.server_got, &err);
    assert_int_equal(ends.to_client.n, r->answered);
    assert_int_equal(ends.server_got.n, 0);
    assert_true(st == KILN_OK ? r->n < 64 : st == KILN_ERR_PARSE);
    curve_ends_fini(&ends);
}

/* ---- what is not what it was ----------------------------------------------------- */

/* Each byte of each command changed, in turn: no session comes of it, or the change was
 * in what nobody reads. */
static void damaged_handshakes_open_nothing(void **state) {
    kiln_err err = {.len = 0};
    int n_open = 0, n = 0;
    (void)state;
    for (size_t spoilt = 0; spoilt < 64 + 202 + 300; spoilt += 1) {
        size_t gone = 0;
        kiln_status st = KILN_OK;
        err.len = 0;
        curve_ends_init(&ends);
        for (int i = 0; i < 8 && st == KILN_OK; i++) {
            const kiln_str back = kiln_buf_str(&ends.to_client);
            kiln_buf_init(&ends.to_client, &ends.arena);
            st = curve_ends_give(&ends.client, back.p, back.n, &ends.to_server,
                                 &ends.client_got, &err);
            if (spoilt >= gone && spoilt < gone + ends.to_server.n)
                ends.to_server.p[spoilt - gone] ^= 1;
            gone += ends.to_server.n;
            const kiln_str there = kiln_buf_str(&ends.to_server);
            kiln_buf_init(&ends.to_server, &ends.arena);
            if (st == KILN_OK)
                st = curve_ends_give(&ends.server, there.p, there.n, &ends.to_client,
                                     &ends.server_got, &err);
        }
        n += spoilt < gone;
        n_open += st == KILN_OK && ends.server.step == KILN_CURVE_OPEN;
        curve_ends_fini(&ends);
    }
    assert_true(n > 500);
    /* Of the greeting: padding, a minor version, the filler. Of HELLO its zeros. */
    assert_in_range(n_open, 1, 8 + 1 + 31 + 72 + 12);
}

typedef struct bad_row {
    const char *name;
    int at;       /* the byte that is changed; -1: none */
    bool twice;   /* it is said twice */
    bool to_self; /* and comes back to who said it */
    kiln_status status;
} bad_row;
static bad_row bad_rows[] = {
    {"refuses_other_flags", 0, false, false, KILN_ERR_PARSE},
    {"refuses_huge_lengths", 1, false, false, KILN_ERR_LIMIT},
    {"refuses_other_names", 10, false, false, KILN_ERR_PARSE},
    {"refuses_other_nonces", 24, false, false, KILN_ERR_PARSE},
    {"refuses_other_tags", 26, false, false, KILN_ERR_PARSE},
    {"refuses_other_bytes", 45, false, false, KILN_ERR_PARSE},
    {"refuses_what_was_said_before", -1, true, false, KILN_ERR_PARSE},
    {"refuses_its_own_words", -1, false, true, KILN_ERR_PARSE},
};

static void refuses_messages(void **state) {
    const bad_row *r = *state;
    kiln_err err = {.len = 0};
    kiln_buf m;
    open_session();
    kiln_buf_init(&m, &ends.arena);
    seal(&ends.client, "hello", 5, &m);
    if (r->at >= 0)
        m.p[r->at] ^= 4;
    kiln_curve_session *to = r->to_self ? &ends.client : &ends.server;
    if (r->twice)
        kiln_assert_status_ok(
            curve_ends_give(to, m.p, m.n, &ends.to_client, &ends.server_got, &err),
            &err);
    const size_t before = ends.server_got.n;
    kiln_assert_fails(
        curve_ends_give(to, m.p, m.n, &ends.to_client, &ends.server_got, &err),
        r->status, &err, "curve");
    assert_int_equal(ends.to_client.n, 0);
    assert_int_equal(ends.server_got.n, before);
    curve_ends_fini(&ends);
}

int main(void) {
    kiln_test_add("ends_come_to_know_each_other", ends_come_to_know_each_other, NULL);
    kiln_test_add("bytes_may_come_one_by_one", bytes_may_come_one_by_one, NULL);
    kiln_test_add("unknown_keys_get_no_answer", unknown_keys_get_no_answer, NULL);
    kiln_test_add("known_keys_are_not_enough", known_keys_are_not_enough, NULL);
    kiln_test_add("servers_are_silent_to_who_does_not_know_them",
                  servers_are_silent_to_who_does_not_know_them, NULL);
    kiln_test_add("clients_notice_old_answers", clients_notice_old_answers, NULL);
    kiln_test_add_rows(strangers, stranger_rows);
    kiln_test_add("damaged_handshakes_open_nothing", damaged_handshakes_open_nothing,
                  NULL);
    kiln_test_add_rows(refuses_messages, bad_rows);
    return kiln_test_run("session");
}
