/* Frames over a conversation. */
#include "pipeline/talk/talk_line.h"

#include <stdio.h>

void kiln_line_close(kiln_line *l) {
    kiln_arena_fini(&l->process);
    kiln_arena_fini(&l->stream);
    l->process = l->stream = (kiln_arena){0};
    l->in = (kiln_wire_stream){.arena = &l->stream};
    l->talk = NULL;
}

kiln_status kiln_line_send(kiln_line *l, kiln_arena *scratch, kiln_wire_kind kind,
                           const void *message, int64_t deadline_ns, kiln_err *err) {
    kiln_buf text;
    kiln_buf_init(&text, scratch);
    kiln_wire_put(&text, kind, message);
    return kiln_talk_send(l->talk, scratch, kiln_buf_str(&text), deadline_ns, err);
}

kiln_status kiln_line_next(kiln_line *l, kiln_arena *scratch, int64_t deadline_ns,
                           kiln_wire_frame *out, kiln_err *err) {
    for (;;) {
        bool has;
        size_t room, got;
        kiln_err broken = {.len = 0};
        if (kiln_wire_next(&l->in, &has, out, &broken) != KILN_OK)
            return kiln_talk_refuse(l->talk, broken.text, err);
        /* A pool wants its device back: it gets it when the networks are done. */
        if (has && out->kind == KILN_WIRE_RECALL)
            continue;
        if (has)
            return KILN_OK;
        unsigned char *to = kiln_wire_stream_room(&l->in, &room);
        KILN_TRY(kiln_talk_read(l->talk, scratch, to, room, deadline_ns, &got, err));
        l->in.n += got;
    }
}

static const kiln_wire_blob *find(const kiln_wire_blob *part, size_t n,
                                  const kiln_wire_blob *name) {
    for (size_t i = 0; i < n; i++)
        if (kiln_wire_blob_eq(&part[i], name))
            return &part[i];
    return NULL;
}

/* No more of it is in a buffer than a piece. */
static kiln_status give(kiln_line *l, const kiln_wire_blob *b, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_status st = KILN_OK;
    for (uint64_t at = 0; at < b->bytes && st == KILN_OK;) {
        const uint64_t left = b->bytes - at, most = KILN_WIRE_PIECE_BYTES;
        const kiln_str bytes = {(const char *)b->data + at,
                                (size_t)(left < most ? left : most)};
        const kiln_wire_piece piece = {.of = *b, .at = at, .bytes = bytes};
        const int64_t deadline_ns =
            kiln_now_ns() + KILN_WIRE_SILENCE_MS * INT64_C(1000000);
        st = kiln_line_send(l, &scratch, KILN_WIRE_BLOB, &piece, deadline_ns, err);
        at += bytes.n;
        kiln_arena_reset(&scratch);
    }
    kiln_arena_fini(&scratch);
    return st;
}

kiln_status kiln_line_give(kiln_line *l, const kiln_wire_blob *part, size_t n,
                           const kiln_wire_need *need, kiln_err *err) {
    char name[KILN_WIRE_BLOB_TEXT], why[2 * KILN_WIRE_BLOB_TEXT];
    for (uint32_t i = 0; i < need->n; i++) {
        const kiln_wire_blob *b = find(part, n, &need->blob[i]);
        if (b == NULL) {
            (void)snprintf(why, sizeof why,
                           "asks for %s, which its network does not have",
                           kiln_wire_blob_text(&need->blob[i], name));
            return kiln_talk_refuse(l->talk, why, err);
        }
        KILN_TRY(give(l, b, err));
    }
    return KILN_OK;
}
