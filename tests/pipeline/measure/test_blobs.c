/* Blobs of a worker: asked for, held to their names, kept within a limit; what is none is
 * refused by name. */
#include <string.h>
#include <unistd.h>

#include "pipeline/measure/wire/blobs.h"
#include "tests/support/kiln_test.h"

static kiln_wire_blob name_of(const void *p, size_t bytes) {
    kiln_wire_blob b = {.bytes = bytes};
    kiln_wire_digest d;
    kiln_wire_digest_init(&d);
    kiln_wire_digest_add(&d, p, bytes);
    kiln_wire_digest_end(&d, b.sha256);
    return b;
}

/* ---- the digest ------------------------------------------------------------------- */

static void hash_in_parts(const unsigned char *p, size_t bytes, size_t part,
                          char hex[KILN_SHA256_HEX]) {
    static const char digit[] = "0123456789abcdef";
    unsigned char got[KILN_WIRE_SHA256_BYTES];
    kiln_wire_digest d;
    kiln_wire_digest_init(&d);
    for (size_t at = 0; at < bytes; at += part)
        kiln_wire_digest_add(&d, p + at, bytes - at < part ? bytes - at : part);
    kiln_wire_digest_end(&d, got);
    for (size_t i = 0; i < sizeof got; i++) {
        hex[2 * i] = digit[got[i] >> 4];
        hex[2 * i + 1] = digit[got[i] & 15];
    }
    hex[KILN_SHA256_HEX - 1] = '\0';
}

/* FIPS 180-4's examples, and every length around a block against the library's. */
static void digests_are_sha256(void **state) {
    enum { LONGEST = 300 };
    (void)state;
    unsigned char text[LONGEST];
    char got[KILN_SHA256_HEX], want[KILN_SHA256_HEX];
    hash_in_parts((const unsigned char *)"abc", 3, 3, got);
    assert_string_equal(
        got, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    for (size_t i = 0; i < LONGEST; i++)
        text[i] = (unsigned char)(i * 7 + 3);
    for (size_t n = 0; n <= LONGEST; n++)
        for (size_t part = 1; part <= 129; part += 32) {
            kiln_sha256_of(text, n, want);
            hash_in_parts(text, n, part, got);
            assert_string_equal(got, want);
        }
}

/* ---- what is kept ----------------------------------------------------------------- */

static void keep(kiln_blobs *b, const void *p, size_t bytes) {
    kiln_err err = {0};
    const kiln_wire_blob name = name_of(p, bytes);
    bool is_whole = false;
    b->turn++;
    kiln_assert_status_ok(kiln_blobs_expect(b, &name, &err), &err);
    const kiln_wire_piece piece = {.of = name, .bytes = {p, bytes}};
    kiln_assert_status_ok(kiln_blobs_take(b, &piece, &is_whole, &err), &err);
    assert_true(is_whole);
}

/* Those used longest ago go, but none of the turn at hand. */
static void keeps_within_its_limit(void **state) {
    enum { N = 6, BYTES = 1000, LIMIT = 3 * BYTES };
    (void)state;
    static char text[N][BYTES];
    kiln_arena a = {0};
    kiln_blobs b;
    kiln_blobs_init(&b, &a, LIMIT);
    for (int i = 0; i < N; i++) {
        memset(text[i], 'a' + i, BYTES);
        const kiln_wire_blob first = name_of(text[0], BYTES);
        keep(&b, text[i], BYTES);
        assert_true(b.bytes <= LIMIT);
        assert_non_null(kiln_blobs_find(&b, &first)); /* used: it stays */
    }
    const kiln_wire_blob second = name_of(text[1], BYTES),
                         last = name_of(text[N - 1], BYTES);
    assert_null(kiln_blobs_find(&b, &second));
    assert_memory_equal(kiln_blobs_find(&b, &last), text[N - 1], BYTES);
    kiln_blobs_drop(&b, &last);
    kiln_blobs_drop(&b, &last);
    assert_null(kiln_blobs_find(&b, &last));
    assert_int_equal(b.bytes, LIMIT - BYTES);
    kiln_blobs_fini(&b);
    assert_int_equal(b.bytes, 0);
    kiln_arena_fini(&a);
}

typedef struct piece_row {
    const char *name;
    uint64_t at;
    const char *bytes;
    bool is_other;
    kiln_status want;
    const char *text;
} piece_row;

/* Of "0123456789", of which "0123" is here. */
static piece_row piece_rows[] = {
    {"gap", 5, "56789", false, KILN_ERR_PARSE, "goes on at byte 5, but 4 are here"},
    {"again", 0, "0123", false, KILN_ERR_PARSE, "goes on at byte 0, but 4 are here"},
    {"too_long", 4, "456789x", false, KILN_ERR_PARSE,
     "of 10 bytes has 1 bytes more than its name says"},
    {"wrong_hash", 4, "45678x", false, KILN_ERR_PARSE,
     "of 10 bytes has other bytes than its name says"},
    {"another_blob", 4, "456789", true, KILN_ERR_PARSE,
     "comes, but was not asked for now"},
};

static void refuses_pieces(void **state) {
    const piece_row *row = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_blobs b;
    bool is_whole;
    const kiln_wire_blob name = name_of("0123456789", 10), other = name_of("x", 1);
    kiln_blobs_init(&b, &a, 100);
    kiln_assert_status_ok(kiln_blobs_expect(&b, &name, &err), &err);
    kiln_wire_piece piece = {.of = name, .bytes = KILN_STR_LIT("0123")};
    kiln_assert_status_ok(kiln_blobs_take(&b, &piece, &is_whole, &err), &err);
    assert_false(is_whole);
    piece = (kiln_wire_piece){.of = row->is_other ? other : name,
                              .at = row->at,
                              .bytes = kiln_str_from(row->bytes)};
    kiln_assert_fails(kiln_blobs_take(&b, &piece, &is_whole, &err), row->want, &err,
                      row->text);
    assert_null(kiln_blobs_find(&b, &name));
    kiln_blobs_fini(&b);
    kiln_arena_fini(&a);
}

static void refuses_sizes_before_it_allocates(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_blobs b;
    const uint64_t sizes[] = {0, KILN_WIRE_MAX_BLOB_BYTES + 1, UINT64_MAX};
    kiln_blobs_init(&b, &a, 100);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        kiln_wire_blob name = name_of("x", 1);
        name.bytes = sizes[i];
        kiln_assert_fails(kiln_blobs_expect(&b, &name, &err), KILN_ERR_LIMIT, &err,
                          "blob 2d711642b726 of ");
        kiln_err_clear(&err);
    }
    kiln_blobs_fini(&b);
    kiln_arena_fini(&a);
}

/* ---- asking ----------------------------------------------------------------------- */

typedef struct talk {
    kiln_arena arena;
    kiln_blobs blobs;
    kiln_wire_peer peer;
    int answers, questions; /* the fleet's ends */
} talk;

static void open_talk(talk *t) {
    int in[2], out[2];
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    *t = (talk){.answers = in[1], .questions = out[0]};
    t->peer = (kiln_wire_peer){.in = in[0], .out = out[1]};
    t->peer.stream.arena = &t->arena;
    kiln_blobs_init(&t->blobs, &t->arena, 1 << 20);
}

static void close_talk(talk *t) {
    const int fd[] = {t->answers, t->questions, t->peer.in, t->peer.out};
    for (size_t i = 0; i < sizeof fd / sizeof fd[0]; i++)
        if (fd[i] >= 0)
            assert_int_equal(close(fd[i]), 0);
    kiln_blobs_fini(&t->blobs);
    kiln_arena_fini(&t->arena);
}

/* In pieces of at most so many bytes. */
static void answer(const talk *t, const char *text, size_t part) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_buf out;
    const size_t n = strlen(text);
    kiln_buf_init(&out, &a);
    for (size_t at = 0; at < n; at += part) {
        const kiln_wire_piece p = {.of = name_of(text, n),
                                   .at = at,
                                   .bytes = {text + at, n - at < part ? n - at : part}};
        kiln_wire_put(&out, KILN_WIRE_BLOB, &p);
    }
    kiln_assert_status_ok(kiln_wire_write(t->answers, kiln_buf_str(&out), &err), &err);
    kiln_arena_fini(&a);
}

static bool holds(const void *p, size_t bytes, const char *text) {
    const size_t n = strlen(text);
    for (size_t i = 0; i + n <= bytes; i++)
        if (memcmp((const char *)p + i, text, n) == 0)
            return true;
    return false;
}

static const char secret[] = "what is expected of a candidate";

/* What is lacking is asked for once, in one message; later it is here. And its bytes are
 * where no fork finds them, only there. */
static void asks_for_what_it_lacks(void **state) {
    (void)state;
    talk t;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_wire_stream in = {.arena = &a};
    kiln_wire_frame f;
    kiln_wire_need need;
    bool asked, has;
    kiln_wire_blob x = name_of("xyz", 3), y = name_of(secret, sizeof secret - 1),
                   again = x, none = {.bytes = 0};
    kiln_wire_blob *const want[] = {&x, &none, &y, &again};
    open_talk(&t);
    answer(&t, "xyz", 2);
    answer(&t, secret, 5);
    kiln_assert_status_ok(kiln_blobs_fetch(&t.blobs, &t.peer, want, 4, &asked, &err),
                          &err);
    assert_true(asked);
    assert_memory_equal(x.data, "xyz", 3);
    assert_memory_equal(y.data, secret, y.bytes);
    assert_ptr_equal(x.data, again.data);
    assert_null(none.data);
    assert_false(holds(t.peer.stream.data, t.peer.stream.cap, "expected"));
    kiln_assert_status_ok(
        kiln_wire_read(t.questions, &in, KILN_TEST_PATIENCE_MS, &has, &f, &err), &err);
    kiln_assert_status_ok(kiln_wire_expect(&a, &f, KILN_WIRE_NEED, &need, &err), &err);
    assert_int_equal(need.n, 2);
    assert_true(kiln_wire_blob_eq(&need.blob[0], &x) &&
                kiln_wire_blob_eq(&need.blob[1], &y));
    x.data = NULL;
    kiln_assert_status_ok(kiln_blobs_fetch(&t.blobs, &t.peer, want, 4, &asked, &err),
                          &err);
    assert_false(asked);
    assert_memory_equal(x.data, "xyz", 3);
    close_talk(&t);
    kiln_arena_fini(&a);
}

/* The stream's memory, and what it left behind when it grew. */
static void wipes_what_it_read(void **state) {
    enum { BYTES = 300 * 1024 };
    (void)state;
    kiln_arena a = {0};
    kiln_wire_stream s = {.arena = &a};
    unsigned char *first = NULL;
    size_t room, first_cap = 0;
    for (size_t n = 0; n < BYTES; n += room) {
        unsigned char *to = kiln_wire_stream_room(&s, &room);
        if (first == NULL) {
            first = to;
            first_cap = room;
        }
        memset(to, 's', room);
        s.n += room;
    }
    assert_true(s.data != first);
    assert_false(holds(first, first_cap, "s"));
    s.used = s.n - 10;
    kiln_wire_stream_wipe(&s);
    assert_int_equal(s.n, 10);
    assert_memory_equal(s.data, "ssssssssss", 10);
    assert_false(holds(s.data + s.n, s.cap - s.n, "s"));
    kiln_arena_fini(&a);
}

static void says_what_was_cut_short(void **state) {
    (void)state;
    talk t;
    kiln_err err = {0};
    bool asked;
    kiln_wire_blob x = name_of("0123456789", 10);
    kiln_wire_blob *const want = &x;
    open_talk(&t);
    kiln_arena a = {0};
    kiln_buf out;
    kiln_buf_init(&out, &a);
    const kiln_wire_piece p = {.of = x, .bytes = KILN_STR_LIT("0123")};
    kiln_wire_put(&out, KILN_WIRE_BLOB, &p);
    kiln_assert_status_ok(kiln_wire_write(t.answers, kiln_buf_str(&out), &err), &err);
    assert_int_equal(close(t.answers), 0);
    t.answers = -1;
    kiln_assert_fails(kiln_blobs_fetch(&t.blobs, &t.peer, &want, 1, &asked, &err),
                      KILN_ERR_IO, &err, "the fleet ended");
    assert_non_null(strstr(err.text,
                           "reading blob 84d89877f0d4 of 10 bytes, of which 4 "
                           "are here"));
    assert_null(t.blobs.map);
    close_talk(&t);
    kiln_arena_fini(&a);
}

static void takes_no_other_message(void **state) {
    (void)state;
    talk t;
    kiln_arena a = {0};
    kiln_err err = {0};
    bool asked;
    kiln_buf out;
    kiln_wire_blob x = name_of("0123456789", 10);
    kiln_wire_blob *const want = &x;
    const kiln_wire_drop drop = {0};
    open_talk(&t);
    kiln_buf_init(&out, &a);
    kiln_wire_put(&out, KILN_WIRE_DROP, &drop);
    kiln_assert_status_ok(kiln_wire_write(t.answers, kiln_buf_str(&out), &err), &err);
    kiln_assert_fails(kiln_blobs_fetch(&t.blobs, &t.peer, &want, 1, &asked, &err),
                      KILN_ERR_PARSE, &err, "sent 'drop' where 'blob' was expected");
    close_talk(&t);
    kiln_arena_fini(&a);
}

static void waits_no_longer_than_it_may(void **state) {
    (void)state;
    talk t;
    kiln_err err = {0};
    kiln_wire_frame f;
    bool has;
    open_talk(&t);
    kiln_assert_fails(kiln_wire_hear(&t.peer, 20, &has, &f, &err), KILN_ERR_IO, &err,
                      "nothing came for 20 ms");
    close_talk(&t);
}

int main(void) {
    kiln_test_add("digests_are_sha256", digests_are_sha256, NULL);
    kiln_test_add("keeps_within_its_limit", keeps_within_its_limit, NULL);
    kiln_test_add_rows(refuses_pieces, piece_rows);
    kiln_test_add("refuses_sizes_before_it_allocates",
                  refuses_sizes_before_it_allocates, NULL);
    kiln_test_add("asks_for_what_it_lacks", asks_for_what_it_lacks, NULL);
    kiln_test_add("wipes_what_it_read", wipes_what_it_read, NULL);
    kiln_test_add("says_what_was_cut_short", says_what_was_cut_short, NULL);
    kiln_test_add("takes_no_other_message", takes_no_other_message, NULL);
    kiln_test_add("waits_no_longer_than_it_may", waits_no_longer_than_it_may, NULL);
    return kiln_test_run("blobs");
}
