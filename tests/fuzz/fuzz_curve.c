/* Any bytes as what a stranger says to a device: the session ends, or wants more, and none
 * of them opens one or gives anything. And as what somebody who is let in says: bytes of
 * his own, sealed, cut and damaged as the input says, come out as they were or not at all.
 *
 * The input's first byte chooses; then each piece is a byte, how long it is, and its
 * bytes. */
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/support/measuring/curve_ends.h"

static curve_ends ends; /* large */

static void check_refusal(kiln_status st, const kiln_err *err) {
    KILN_ASSERT(st == KILN_OK || err->len > 0, "a refusal has a message");
}

/* Either end, from its beginning on: as strangers do not know a key, nothing opens. */
static void from_a_stranger(kiln_curve_session *s, const uint8_t *data, size_t size) {
    kiln_err err = {.len = 0};
    kiln_status st = KILN_OK;
    while (size > 0 && st == KILN_OK) {
        const size_t n = data[0] < size - 1 ? data[0] : size - 1;
        st = curve_ends_give(s, (const char *)data + 1, n, &ends.to_client,
                             &ends.server_got, &err);
        data += n + 1;
        size -= n + 1;
    }
    check_refusal(st, &err);
    KILN_ASSERT(s->step != KILN_CURVE_OPEN && ends.server_got.n == 0,
                "a stranger got in");
}

/* A handshake with a byte changed; the input's first two bytes say which, and how. */
static void damaged(const uint8_t *data, size_t size) {
    kiln_err err = {.len = 0};
    const size_t spoilt = size > 1 ? (size_t)data[0] * 4 + data[1] % 4 : 0;
    const uint8_t how = size > 2 ? data[2] : 0;
    size_t gone = 0;
    kiln_status st = KILN_OK;
    for (int i = 0; i < 5 && st == KILN_OK; i++) {
        const kiln_str back = kiln_buf_str(&ends.to_client);
        kiln_buf_init(&ends.to_client, &ends.arena);
        st = curve_ends_give(&ends.client, back.p, back.n, &ends.to_server,
                             &ends.client_got, &err);
        if (spoilt >= gone && spoilt < gone + ends.to_server.n)
            ends.to_server.p[spoilt - gone] ^= (char)how;
        gone += ends.to_server.n;
        const kiln_str there = kiln_buf_str(&ends.to_server);
        kiln_buf_init(&ends.to_server, &ends.arena);
        if (st == KILN_OK)
            st = curve_ends_give(&ends.server, there.p, there.n, &ends.to_client,
                                 &ends.server_got, &err);
    }
    check_refusal(st, &err);
    KILN_ASSERT(how != 0 || ends.server.step == KILN_CURVE_OPEN,
                "whole handshakes open sessions");
}

static void from_who_is_let_in(const uint8_t *data, size_t size) {
    enum { MOST = 256 };
    kiln_err err = {.len = 0};
    kiln_status st = curve_ends_settle(&ends, &err);
    kiln_buf said;
    unsigned char sealed[MOST + KILN_CURVE_SEAL];
    kiln_buf_init(&said, &ends.arena);
    KILN_ASSERT(st == KILN_OK, "a session opens");
    while (size > 2 && st == KILN_OK) {
        const size_t n = data[0] < size - 3 ? data[0] : size - 3;
        const size_t m = kiln_curve_seal(&ends.client, data + 3, n, sealed);
        const bool is_whole = data[2] == 0;
        sealed[data[1] % m] ^= data[2];
        if (is_whole)
            kiln_buf_add(&said, (const char *)data + 3, n);
        st = curve_ends_give(&ends.server, (const char *)sealed, m, &ends.to_client,
                             &ends.server_got, &err);
        data += n + 3;
        size -= n + 3;
    }
    check_refusal(st, &err);
    KILN_ASSERT(ends.server_got.n <= said.n &&
                    (ends.server_got.n == 0 ||
                     memcmp(said.p, ends.server_got.p, ends.server_got.n) == 0),
                "what was damaged came through");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1)
        return 0;
    curve_ends_init(&ends);
    switch (data[0] % 4) {
    case 0:
        from_a_stranger(&ends.server, data + 1, size - 1);
        break;
    case 1:
        from_a_stranger(&ends.client, data + 1, size - 1);
        break;
    case 2:
        damaged(data + 1, size - 1);
        break;
    default:
        from_who_is_let_in(data + 1, size - 1);
        break;
    }
    curve_ends_fini(&ends);
    return 0;
}
