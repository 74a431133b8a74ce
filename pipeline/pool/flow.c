/* Frames that pass. */
#include "pipeline/pool/flow.h"

#include <string.h>

void kiln_flow_begin(kiln_flow *f) {
    f->n = f->at = f->n_head = 0;
    f->left = 0;
    f->is_dropped = false;
    f->n_drop = 0;
}

bool kiln_flow_has_room(const kiln_flow *f) {
    return f->n + KILN_FLOW_READ + KILN_WIRE_HEADER_BYTES <= KILN_FLOW_BYTES;
}

static uint32_t load_u32(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

static void add(kiln_flow *f, const unsigned char *p, size_t n) {
    KILN_ASSERT(f->n + n <= sizeof f->data, "a flow has %zu bytes, and gets %zu", f->n,
                n);
    memcpy(f->data + f->n, p, n);
    f->n += n;
}

/* The header is whole. */
static bool begin_frame(kiln_flow *f, void (*saw)(void *user, kiln_wire_kind kind),
                        void *user) {
    const uint32_t kind = load_u32(f->head + 8), bytes = load_u32(f->head + 12);
    if (memcmp(f->head, "KLNW", 4) != 0 || kind >= KILN_WIRE_N_KINDS ||
        bytes > KILN_WIRE_MAX_BYTES)
        return false;
    f->left = bytes;
    f->n_head = 0;
    f->is_dropped = kind == KILN_WIRE_LEASED && f->n_drop > 0;
    f->n_drop -= f->is_dropped;
    if (!f->is_dropped)
        add(f, f->head, sizeof f->head);
    saw(user, (kiln_wire_kind)kind);
    return true;
}

bool kiln_flow_take(kiln_flow *f, const unsigned char *p, size_t n,
                    void (*saw)(void *user, kiln_wire_kind kind), void *user) {
    while (n > 0) {
        size_t part;
        if (f->left > 0) {
            part = n < f->left ? n : (size_t)f->left;
            if (!f->is_dropped)
                add(f, p, part);
            f->left -= part;
        } else {
            KILN_ASSERT(f->n_head < sizeof f->head, "a head of %zu bytes", f->n_head);
            part = sizeof f->head - f->n_head;
            part = n < part ? n : part;
            memcpy(f->head + f->n_head, p, part);
            f->n_head += part;
            if (f->n_head == sizeof f->head && !begin_frame(f, saw, user))
                return false;
        }
        p += part;
        n -= part;
    }
    return true;
}

bool kiln_flow_is_between(const kiln_flow *f) { return f->left == 0 && f->n_head == 0; }

bool kiln_flow_put(kiln_flow *f, kiln_wire_kind kind, const void *message) {
    kiln_arena scratch = {0};
    kiln_buf text;
    kiln_buf_init(&text, &scratch);
    kiln_wire_put(&text, kind, message);
    const bool ok = kiln_flow_is_between(f) && f->n + text.n <= sizeof f->data;
    if (ok)
        add(f, (const unsigned char *)text.p, text.n);
    kiln_arena_fini(&scratch);
    return ok;
}
