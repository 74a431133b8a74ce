/* Frames out of and into pipes: magic "KLNW", version, kind, length; then the message.
 */
#include "pipeline/measure/wire/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024 };

static uint32_t load_u32(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

unsigned char *kiln_wire_stream_room(kiln_wire_stream *s, size_t *room) {
    KILN_ASSERT(s->used <= s->n && s->n <= s->cap, "a stream has used %zu of %zu bytes",
                s->used, s->n);
    if (s->used > 0) {
        memmove(s->data, s->data + s->used, s->n - s->used);
        s->n -= s->used;
        s->used = 0;
    }
    if (s->cap - s->n < READ_BYTES) {
        /* Doubling: what is left behind in the arena is no more than what is used. */
        size_t cap = s->cap > 0 ? s->cap : READ_BYTES;
        while (cap - s->n < READ_BYTES)
            cap *= 2;
        unsigned char *data = kiln_arena_alloc_raw(s->arena, cap);
        if (s->n > 0) {
            memcpy(data, s->data, s->n);
            memset(s->data, 0, s->n); /* as kiln_wire_stream_wipe promises */
        }
        s->data = data;
        s->cap = cap;
    }
    *room = s->cap - s->n;
    return s->data + s->n;
}

void kiln_wire_stream_wipe(kiln_wire_stream *s) {
    KILN_ASSERT(s->used <= s->n && s->n <= s->cap, "a stream has used %zu of %zu bytes",
                s->used, s->n);
    if (s->used > 0)
        memmove(s->data, s->data + s->used, s->n - s->used);
    s->n -= s->used;
    s->used = 0;
    if (s->cap > s->n)
        memset(s->data + s->n, 0, s->cap - s->n);
}

kiln_status kiln_wire_next(kiln_wire_stream *s, bool *has, kiln_wire_frame *out,
                           kiln_err *err) {
    KILN_ASSERT(s->used <= s->n && s->n <= s->cap, "a stream has used %zu of %zu bytes",
                s->used, s->n);
    const size_t n = s->n - s->used;
    *has = false;
    if (n < KILN_WIRE_HEADER_BYTES)
        return KILN_OK; /* perhaps without any memory yet */
    const unsigned char *p = s->data + s->used;
    if (memcmp(p, "KLNW", 4) != 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "a worker's message does not start as one");
    const uint32_t version = load_u32(p + 4), kind = load_u32(p + 8),
                   bytes = load_u32(p + 12);
    if (version != KILN_WIRE_VERSION)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "a worker speaks version %" PRIu32 " of the protocol, not %d: "
                         "install workers and kiln together",
                         version, KILN_WIRE_VERSION);
    if (kind >= KILN_WIRE_N_KINDS)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "a worker's message is of unknown kind %" PRIu32, kind);
    if (bytes > KILN_WIRE_MAX_BYTES)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "a worker's message has %" PRIu32 " bytes, at most %d may be",
                         bytes, KILN_WIRE_MAX_BYTES);
    if (n - KILN_WIRE_HEADER_BYTES < bytes)
        return KILN_OK;
    *out = (kiln_wire_frame){(kiln_wire_kind)kind,
                             {(const char *)p + KILN_WIRE_HEADER_BYTES, bytes}};
    s->used += KILN_WIRE_HEADER_BYTES + (size_t)bytes;
    *has = true;
    return KILN_OK;
}

/* Until there is something to read, or an end. */
static kiln_status await(int fd, int64_t wait_ms, int64_t end_ns, kiln_err *err) {
    enum { LONGEST_MS = 1000000 };
    while (wait_ms >= 0) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        const int64_t left_ms = (end_ns - kiln_now_ns()) / 1000000;
        if (left_ms < 0)
            return kiln_fail(err, KILN_ERR_IO, "nothing came for %" PRId64 " ms",
                             wait_ms);
        const int n = poll(&p, 1, left_ms < LONGEST_MS ? (int)left_ms + 1 : LONGEST_MS);
        if (n > 0)
            break;
    }
    return KILN_OK;
}

kiln_status kiln_wire_read(int fd, kiln_wire_stream *s, int64_t wait_ms, bool *has,
                           kiln_wire_frame *out, kiln_err *err) {
    const int64_t end_ns = kiln_now_ns() + wait_ms * 1000000;
    for (;;) {
        KILN_TRY(kiln_wire_next(s, has, out, err));
        if (*has)
            return KILN_OK;
        size_t room;
        KILN_TRY(await(fd, wait_ms, end_ns, err));
        unsigned char *to = kiln_wire_stream_room(s, &room);
        const ssize_t n = read(fd, to, room);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return kiln_fail(err, KILN_ERR_IO, "cannot read from the fleet: %s",
                             strerror(errno));
        if (n == 0) {
            if (s->n > 0)
                return kiln_fail(err, KILN_ERR_PARSE,
                                 "the fleet ended in the middle of a message");
            return KILN_OK;
        }
        s->n += (size_t)n;
    }
}

kiln_status kiln_wire_write(int fd, kiln_str bytes, kiln_err *err) {
    while (bytes.n > 0) {
        const ssize_t n = write(fd, bytes.p, bytes.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return kiln_fail(err, KILN_ERR_IO, "cannot write to the fleet: %s",
                             strerror(errno));
        bytes.p += n;
        bytes.n -= (size_t)n;
    }
    return KILN_OK;
}
