/* Copies of packed weights, in turn more than the last cache holds, kept for the next
 * candidates: making them costs a half of what timing does, and a search goes to and fro
 * between a few layouts. */
#include "pipeline/measure/runner/runner_internal.h"

#include <inttypes.h>
#include <string.h>

static const size_t max_rotation_bytes = (size_t)4 << 30; /* of all copies */
static const size_t max_kept_bytes = (size_t)320 << 20;   /* of all rotations */
/* Memory that the system has to find costs ten times what the copies do (40 ms of 60 MB
 * on a virtual machine, 3 ms to fill it), and packings differ by what they fill up: there
 * is some more than the first one wants. */
enum { ROOM_PART = 4 };

/* Are these copies there already, in the same places? */
static bool holds(const kiln_rotation *c, kiln_packed ***of, size_t n,
                  uint32_t n_copies) {
    if (c->packed.n != n || c->memory.map == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        const kiln_packed *p = *of[i], *q = &c->packed.v[i];
        if (q->work != p->work || q->n_copies != n_copies ||
            !kiln_operand_is_same(&q->operand, &p->operand))
            return false;
    }
    return true;
}

static void close_rotation(kiln_rotation *c) {
    kiln_region_close(&c->memory);
    c->packed.n = 0;
    c->used = 0;
}

static size_t kept_bytes(const kiln_runner *r) {
    size_t all = 0;
    for (int i = 0; i < KILN_MAX_ROTATIONS; i++)
        all += r->rotation[i].memory.room;
    return all;
}

/* The one that was used longest ago; a free one before all. */
static kiln_rotation *oldest(kiln_runner *r) {
    kiln_rotation *out = &r->rotation[0];
    for (int i = 1; i < KILN_MAX_ROTATIONS; i++)
        if (r->rotation[i].used < out->used)
            out = &r->rotation[i];
    return out;
}

/* Of those that have memory, the same. */
static kiln_rotation *oldest_held(kiln_runner *r) {
    kiln_rotation *out = &r->rotation[0];
    for (int i = 1; i < KILN_MAX_ROTATIONS; i++) {
        kiln_rotation *c = &r->rotation[i];
        if (c->memory.map != NULL && (out->memory.map == NULL || c->used < out->used))
            out = c;
    }
    return out;
}

/* Memory for so many bytes, which holds nothing yet. */
static kiln_status reserve(kiln_runner *r, size_t bytes, kiln_rotation **out,
                           kiln_err *err) {
    kiln_rotation *c = *out = oldest(r);
    const size_t room = bytes + bytes / ROOM_PART;
    c->packed.n = 0;
    if (bytes <= c->memory.bytes) {
        kiln_region_unprotect(&c->memory);
        return KILN_OK;
    }
    close_rotation(c);
    while (kept_bytes(r) > 0 && kept_bytes(r) + room > max_kept_bytes)
        close_rotation(oldest_held(r));
    KILN_TRY(kiln_region_open_huge(room, &c->memory, err));
    kiln_region_pass_on(&c->memory, false); /* but to who is timed */
    return KILN_OK;
}

static kiln_status count_bytes(kiln_packed ***of, size_t n, uint32_t n_copies,
                               size_t *all, kiln_err *err) {
    *all = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t stride = (*of[i])->region.room;
        if (stride > max_rotation_bytes / n_copies ||
            *all > max_rotation_bytes - stride * n_copies)
            return kiln_fail(err, KILN_ERR_LIMIT,
                             "%" PRIu32 " copies of %zu bytes are too much", n_copies,
                             stride);
        *all += stride * n_copies;
    }
    return KILN_OK;
}

kiln_status kiln_operands_rotate(kiln_runner *r, kiln_arena *a, kiln_packed ***of,
                                 size_t n, uint32_t n_copies, kiln_rotation **out,
                                 kiln_err *err) {
    size_t all, at = 0;
    kiln_rotation *c = NULL;
    KILN_TRY(count_bytes(of, n, n_copies, &all, err));
    for (int i = 0; i < KILN_MAX_ROTATIONS && c == NULL; i++)
        c = holds(&r->rotation[i], of, n, n_copies) ? &r->rotation[i] : NULL;
    const bool is_there = c != NULL;
    if (!is_there)
        KILN_TRY(reserve(r, all, &c, err));
    KILN_ASSERT(c->memory.bytes >= all, "%zu bytes of copies in %zu", all,
                c->memory.bytes);
    for (size_t i = 0; i < n; i++) {
        kiln_packed *copy = kiln_arena_dup(a, *of[i], sizeof *copy);
        const kiln_region *one = &(*of[i])->region;
        copy->n_copies = n_copies;
        copy->stride = one->room;
        copy->region = (kiln_region){.map = c->memory.data + at,
                                     .data = c->memory.data + at,
                                     .map_bytes = one->room * n_copies,
                                     .bytes = one->room * n_copies,
                                     .room = one->room * n_copies};
        for (uint32_t k = 0; k < n_copies && !is_there; k++)
            memcpy(copy->region.data + k * copy->stride, one->data, one->bytes);
        if (!is_there)
            kiln_vec_push(&r->arena, &c->packed, *copy);
        at += copy->region.room;
        *of[i] = copy;
    }
    if (!is_there)
        kiln_region_protect(&c->memory);
    c->used = ++r->n_rotated;
    *out = c;
    return KILN_OK;
}
