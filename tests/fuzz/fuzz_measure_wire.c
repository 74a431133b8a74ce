/* Any bytes as messages between the pool and its workers: refused with a message, or
 * messages that are written as the bytes they were read from. */
#include <string.h>

#include "pipeline/measure/wire/wire.h"
#include "tests/fuzz/fuzz.h"

/* Large enough for every message. */
typedef union message {
    kiln_wire_hello hello;
    kiln_wire_failed failed;
    kiln_wire_lease lease;
    kiln_wire_leased leased;
    kiln_wire_lent lent;
    kiln_wire_builder builder;
    kiln_wire_meter meter;
    kiln_wire_runner runner;
    kiln_wire_ready ready;
    kiln_wire_work work;
    kiln_wire_drop drop;
    kiln_wire_need need;
    kiln_wire_piece piece;
    kiln_wire_build build;
    kiln_wire_built built;
    kiln_wire_run run;
    kiln_wire_ran ran;
    kiln_wire_turn turn;
    kiln_wire_turned turned;
    kiln_wire_limits limits;
    kiln_wire_limited limited;
    kiln_wire_network network;
    kiln_wire_ask ask;
    kiln_wire_told told;
    kiln_wire_packs packs;
    kiln_wire_ended ended;
} message;

static void check_frame(kiln_arena *a, const kiln_wire_frame *f) {
    kiln_err err = {0};
    message m;
    kiln_buf again;
    if (kiln_wire_get(a, f, &m, &err) != KILN_OK) {
        KILN_ASSERT(err.len > 0, "a refusal has a message");
        return;
    }
    kiln_buf_init(&again, a);
    kiln_wire_put(&again, f->kind, &m);
    KILN_ASSERT(again.n == KILN_WIRE_HEADER_BYTES + f->body.n &&
                    (f->body.n == 0 || memcmp(again.p + KILN_WIRE_HEADER_BYTES,
                                              f->body.p, f->body.n) == 0),
                "a message '%s' is written as other bytes",
                kiln_wire_kind_name(f->kind));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { PIECE = 1000 };
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_wire_stream s = {.arena = &a};
    kiln_wire_frame f;
    bool has = false, is_good = true;
    while (size > 0 && is_good) {
        size_t room;
        unsigned char *to = kiln_wire_stream_room(&s, &room);
        const size_t n = size < PIECE ? size : PIECE;
        KILN_ASSERT(room >= n, "a stream has room");
        memcpy(to, data, n);
        s.n += n;
        data += n;
        size -= n;
        do {
            is_good = kiln_wire_next(&s, &has, &f, &err) == KILN_OK;
            KILN_ASSERT(is_good || err.len > 0, "a refusal has a message");
            if (is_good && has)
                check_frame(&a, &f);
        } while (is_good && has);
    }
    kiln_arena_fini(&a);
    return 0;
}
