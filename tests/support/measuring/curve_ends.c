#include "tests/support/measuring/curve_ends.h"

#include <string.h>

#include "tests/support/kiln_test.h"

void curve_ends_init(curve_ends *e) {
    kiln_err err = {.len = 0};
    memset(e, 0, sizeof *e);
    kiln_assert_status_ok(kiln_curve_start(&err), &err);
    kiln_curve_pair_make(&e->server_pair);
    kiln_curve_pair_make(&e->client_pair);
    kiln_vec_push(&e->arena, &e->allowed.list, e->client_pair.public_key);
    kiln_curve_serve(&e->server, &e->server_pair, &e->allowed);
    kiln_curve_connect(&e->client, &e->client_pair, &e->server_pair.public_key);
    kiln_buf_init(&e->to_server, &e->arena);
    kiln_buf_init(&e->to_client, &e->arena);
    kiln_buf_init(&e->server_got, &e->arena);
    kiln_buf_init(&e->client_got, &e->arena);
}

void curve_ends_fini(curve_ends *e) {
    kiln_curve_end(&e->server);
    kiln_curve_end(&e->client);
    kiln_arena_fini(&e->arena);
}

kiln_status curve_ends_give(kiln_curve_session *to, const char *p, size_t n,
                            kiln_buf *answer, kiln_buf *got, kiln_err *err) {
    kiln_curve_event event;
    do {
        size_t room;
        unsigned char *at = kiln_curve_room(to, &room);
        const size_t piece = n < room ? n : room;
        if (piece > 0)
            memcpy(at, p, piece);
        to->n_in += piece;
        p += piece;
        n -= piece;
        do {
            KILN_TRY(kiln_curve_next(to, &event, err));
            if (event.what == KILN_CURVE_SENDS)
                kiln_buf_add(answer, event.bytes.p, event.bytes.n);
            else if (event.what == KILN_CURVE_GIVES)
                kiln_buf_add(got, event.bytes.p, event.bytes.n);
        } while (event.what != KILN_CURVE_WANTS);
    } while (n > 0);
    return KILN_OK;
}

kiln_status curve_ends_settle(curve_ends *e, kiln_err *err) {
    do {
        const kiln_str there = kiln_buf_str(&e->to_server);
        kiln_buf_init(&e->to_server, &e->arena);
        KILN_TRY(curve_ends_give(&e->server, there.p, there.n, &e->to_client,
                                 &e->server_got, err));
        const kiln_str back = kiln_buf_str(&e->to_client);
        kiln_buf_init(&e->to_client, &e->arena);
        KILN_TRY(curve_ends_give(&e->client, back.p, back.n, &e->to_server,
                                 &e->client_got, err));
    } while (e->to_server.n > 0 || e->to_client.n > 0);
    return KILN_OK;
}
