/* A worker's blobs. Linux, for anonymous memory that forks leave behind.
 *
 * They are shared mappings, which no limit on a process's own data counts, and which
 * this process alone has. */
#include "pipeline/measure/wire/blobs.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_KEPT = 1 << 14 };

void kiln_blobs_init(kiln_blobs *b, kiln_arena *a, uint64_t limit) {
    *b = (kiln_blobs){.arena = a, .limit = limit};
}

static void unmap(unsigned char *map, uint64_t bytes) {
    if (map != NULL)
        (void)munmap(map, (size_t)bytes);
}

static void forget(kiln_blobs *b, kiln_kept_blob *k) {
    KILN_ASSERT(k->name.bytes <= b->bytes, "a blob that was not counted goes");
    unmap(k->map, k->name.bytes);
    b->bytes -= k->name.bytes;
    *k = (kiln_kept_blob){.map = NULL};
}

static void give_up(kiln_blobs *b) {
    unmap(b->map, b->coming.bytes);
    b->map = NULL;
}

void kiln_blobs_fini(kiln_blobs *b) {
    give_up(b);
    for (size_t i = 0; i < b->list.n; i++)
        if (b->list.v[i].map != NULL)
            forget(b, &b->list.v[i]);
}

static kiln_kept_blob *find(kiln_blobs *b, const kiln_wire_blob *name) {
    for (size_t i = 0; i < b->list.n; i++)
        if (b->list.v[i].map != NULL && kiln_wire_blob_eq(&b->list.v[i].name, name))
            return &b->list.v[i];
    return NULL;
}

const void *kiln_blobs_find(kiln_blobs *b, const kiln_wire_blob *name) {
    kiln_kept_blob *k = find(b, name);
    if (k == NULL)
        return NULL;
    k->used = b->turn;
    return k->map;
}

void kiln_blobs_drop(kiln_blobs *b, const kiln_wire_blob *name) {
    kiln_kept_blob *k = find(b, name);
    if (k != NULL)
        forget(b, k);
}

/* What is used in this turn stays, however much that is. */
static void make_room(kiln_blobs *b, uint64_t bytes) {
    while (b->bytes > b->limit || bytes > b->limit - b->bytes) {
        kiln_kept_blob *oldest = NULL;
        for (size_t i = 0; i < b->list.n; i++) {
            kiln_kept_blob *k = &b->list.v[i];
            if (k->map != NULL && k->used < b->turn &&
                (oldest == NULL || k->used < oldest->used))
                oldest = k;
        }
        if (oldest == NULL)
            return;
        forget(b, oldest);
    }
}

static kiln_kept_blob *place_for(kiln_blobs *b) {
    kiln_kept_blob *oldest = NULL;
    for (size_t i = 0; i < b->list.n; i++) {
        kiln_kept_blob *k = &b->list.v[i];
        if (k->map == NULL)
            return k;
        if (oldest == NULL || k->used < oldest->used)
            oldest = k;
    }
    if (b->list.n >= MAX_KEPT) {
        forget(b, oldest);
        return oldest;
    }
    kiln_vec_push(b->arena, &b->list, (kiln_kept_blob){.map = NULL});
    return &b->list.v[b->list.n - 1];
}

kiln_status kiln_blobs_expect(kiln_blobs *b, const kiln_wire_blob *name,
                              kiln_err *err) {
    char text[KILN_WIRE_BLOB_TEXT];
    give_up(b);
    if (name->bytes == 0 || name->bytes > KILN_WIRE_MAX_BLOB_BYTES)
        return kiln_fail(err, KILN_ERR_LIMIT, "%s: at most %" PRIu64 " may be, and one",
                         kiln_wire_blob_text(name, text), KILN_WIRE_MAX_BLOB_BYTES);
    make_room(b, name->bytes);
    void *map = mmap(NULL, (size_t)name->bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return kiln_fail(err, KILN_ERR_OOM, "no memory for %s: %s",
                         kiln_wire_blob_text(name, text), strerror(errno));
    if (madvise(map, (size_t)name->bytes, MADV_DONTFORK) != 0) {
        const int error = errno;
        (void)munmap(map, (size_t)name->bytes);
        return kiln_fail(err, KILN_ERR_IO, "cannot keep %s from processes to come: %s",
                         kiln_wire_blob_text(name, text), strerror(error));
    }
    b->coming = *name;
    b->map = map;
    b->at = 0;
    kiln_wire_digest_init(&b->digest);
    return KILN_OK;
}

static kiln_status end_of(kiln_blobs *b, kiln_err *err) {
    char text[KILN_WIRE_BLOB_TEXT];
    unsigned char sha256[KILN_WIRE_SHA256_BYTES];
    kiln_wire_digest_end(&b->digest, sha256);
    if (memcmp(sha256, b->coming.sha256, sizeof sha256) != 0) {
        give_up(b);
        return kiln_fail(err, KILN_ERR_PARSE, "%s has other bytes than its name says",
                         kiln_wire_blob_text(&b->coming, text));
    }
    (void)mprotect(b->map, (size_t)b->coming.bytes, PROT_READ);
    kiln_kept_blob *k = place_for(b);
    *k = (kiln_kept_blob){.name = b->coming, .map = b->map, .used = b->turn};
    b->bytes += b->coming.bytes;
    b->map = NULL;
    return KILN_OK;
}

kiln_status kiln_blobs_take(kiln_blobs *b, const kiln_wire_piece *p, bool *is_whole,
                            kiln_err *err) {
    char text[KILN_WIRE_BLOB_TEXT];
    *is_whole = false;
    if (b->map == NULL || !kiln_wire_blob_eq(&p->of, &b->coming))
        return kiln_fail(err, KILN_ERR_PARSE, "%s comes, but was not asked for now",
                         kiln_wire_blob_text(&p->of, text));
    if (p->at != b->at)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "%s goes on at byte %" PRIu64 ", but %" PRIu64 " are here",
                         kiln_wire_blob_text(&p->of, text), p->at, b->at);
    KILN_ASSERT(b->at <= b->coming.bytes, "%" PRIu64 " bytes of %" PRIu64 " have come",
                b->at, b->coming.bytes);
    if (p->bytes.n > b->coming.bytes - b->at)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "%s has %zu bytes more than its name says",
                         kiln_wire_blob_text(&p->of, text),
                         p->bytes.n - (size_t)(b->coming.bytes - b->at));
    memcpy(b->map + b->at, p->bytes.p, p->bytes.n);
    kiln_wire_digest_add(&b->digest, p->bytes.p, p->bytes.n);
    b->at += p->bytes.n;
    if (b->at < b->coming.bytes)
        return KILN_OK;
    KILN_TRY(end_of(b, err));
    *is_whole = true;
    return KILN_OK;
}

/* ---- asking ---------------------------------------------------------------------- */

kiln_status kiln_wire_hear(kiln_wire_peer *p, int64_t wait_ms, bool *has,
                           kiln_wire_frame *out, kiln_err *err) {
    KILN_TRY(kiln_wire_read(p->in, &p->stream, wait_ms, has, out, err));
    if (*has && p->heard != NULL)
        p->heard(p->user);
    return KILN_OK;
}

static kiln_status read_one(kiln_blobs *b, kiln_wire_peer *peer, kiln_wire_blob *want,
                            kiln_err *err) {
    char text[KILN_WIRE_BLOB_TEXT];
    bool is_whole = false;
    KILN_TRY(kiln_blobs_expect(b, want, err));
    while (!is_whole) {
        bool has;
        kiln_wire_frame f;
        kiln_wire_piece piece;
        kiln_status st = kiln_wire_hear(peer, KILN_WIRE_SILENCE_MS, &has, &f, err);
        if (st == KILN_OK && !has)
            st = kiln_fail(err, KILN_ERR_IO, "the fleet ended");
        if (st == KILN_OK) /* pieces have no lists: nothing is allocated */
            st = kiln_wire_expect(b->arena, &f, KILN_WIRE_BLOB, &piece, err);
        if (st == KILN_OK)
            st = kiln_blobs_take(b, &piece, &is_whole, err);
        if (st != KILN_OK) {
            kiln_note(err, "reading %s, of which %" PRIu64 " are here",
                      kiln_wire_blob_text(want, text), b->at);
            give_up(b);
            return st;
        }
    }
    return KILN_OK;
}

static kiln_status fetch(kiln_blobs *b, kiln_wire_peer *peer,
                         const kiln_wire_need *need, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_buf ask;
    kiln_buf_init(&ask, &scratch);
    kiln_wire_put(&ask, KILN_WIRE_NEED, need);
    kiln_status st = kiln_wire_write(peer->out, kiln_buf_str(&ask), err);
    for (uint32_t i = 0; i < need->n && st == KILN_OK; i++)
        st = read_one(b, peer, &need->blob[i], err);
    kiln_arena_fini(&scratch);
    /* A candidate is forked from this process: the way in must not hold what is
     * expected of it. */
    kiln_wire_stream_wipe(&peer->stream);
    return st;
}

static bool is_listed(const kiln_wire_need *need, const kiln_wire_blob *name) {
    for (uint32_t i = 0; i < need->n; i++)
        if (kiln_wire_blob_eq(&need->blob[i], name))
            return true;
    return false;
}

kiln_status kiln_blobs_fetch(kiln_blobs *b, kiln_wire_peer *peer,
                             kiln_wire_blob *const *want, size_t n, bool *asked,
                             kiln_err *err) {
    kiln_wire_blob lacking[KILN_WIRE_MAX_NEEDS];
    kiln_wire_need need = {.blob = lacking};
    *asked = false;
    b->turn++;
    KILN_ASSERT(peer != NULL, "nobody is asked for blobs");
    /* First those that are here: they must not go for the others. */
    for (size_t i = 0; i < n; i++)
        want[i]->data = want[i]->bytes > 0 ? kiln_blobs_find(b, want[i]) : NULL;
    for (size_t i = 0; i < n; i++) {
        if (want[i]->bytes > 0 && want[i]->data == NULL && !is_listed(&need, want[i]))
            lacking[need.n++] = *want[i];
        if (need.n > 0 && (need.n == KILN_WIRE_MAX_NEEDS || i + 1 == n)) {
            *asked = true;
            KILN_TRY(fetch(b, peer, &need, err));
            need.n = 0;
        }
    }
    for (size_t i = 0; i < n && *asked; i++)
        want[i]->data = want[i]->bytes > 0 ? kiln_blobs_find(b, want[i]) : NULL;
    return KILN_OK;
}
