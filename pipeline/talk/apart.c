/* kiln's side of guests: frames to a runner, what is large in memory that it maps, or as
 * blobs that it asks for. */
#include "pipeline/talk/apart.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/talk/talk_line.h"

enum { END_MS = 10000 };

struct kiln_apart {
    kiln_arena *arena;
    kiln_apart_options o;
    kiln_line own;
    kiln_line *line;   /* own, or that of the runner elsewhere */
    kiln_arena answer; /* of the last message */
    int shared_write, shared_read;
    uint64_t end; /* of what was put */
    kiln_arena put;
    KILN_VEC(kiln_wire_blob)
    part;           /* what was put, with its data: of a runner elsewhere, */
    size_t n_given; /* which was given so many of them */
    uint64_t guest;
    uint32_t number; /* of the guest, there */
    bool has_number;
    bool is_ready; /* for a guest's message */
    bool has_guest;
    char how[KILN_LINE_HOW]; /* it ended, which is none any more */
};

/* Of our own runner, or of the guest elsewhere: others are there too. */
static void stop(kiln_apart *x) {
    if (x->o.far == NULL)
        kiln_line_close(&x->own);
    x->is_ready = x->has_guest = false;
}

static void release(void *apart) {
    kiln_apart *x = apart;
    stop(x);
    if (x->shared_write >= 0)
        close(x->shared_write);
    if (x->shared_read >= 0)
        close(x->shared_read);
    kiln_arena_fini(&x->put);
    kiln_arena_fini(&x->answer);
}

kiln_apart *kiln_apart_new(kiln_arena *a, const kiln_apart_options *o) {
    kiln_apart *x = kiln_new(a, kiln_apart);
    *x = (kiln_apart){.arena = a, .shared_write = -1, .shared_read = -1};
    if (o != NULL)
        x->o = *o;
    x->own.in.arena = &x->own.stream;
    x->line = x->o.far != NULL ? &x->o.far->line : &x->own;
    kiln_arena_defer(a, release, x);
    return x;
}

kiln_far *kiln_apart_far(const kiln_apart *x) { return x->o.far; }

static kiln_status start(kiln_apart *x, kiln_err *err) {
    const kiln_talk_options o = {.shared = x->shared_read,
                                 .grace_ms = x->o.grace_ms,
                                 .tick = x->o.tick,
                                 .user = x->o.user,
                                 .is_wide = true};
    const char *own[] = {NULL, NULL};
    const char *const *argv = x->o.argv;
    if (argv == NULL) {
        char *path;
        KILN_TRY(kiln_program_find(&x->own.process, "kiln-runner", &path, err));
        own[0] = path;
        argv = own;
    }
    return kiln_talk_open(&x->own.process, argv, &o, &x->own.talk, err);
}

/* ---- guests ---------------------------------------------------------------------- */

static void give_number_back(kiln_apart *x) {
    if (x->has_number)
        x->o.far->guest[x->number].is_used = false;
    x->has_number = false;
}

static void guest_ended(kiln_apart *x, const char *how) {
    x->has_guest = false;
    give_number_back(x);
    (void)snprintf(x->how, sizeof x->how, "%s", how);
}

/* The process went with it; elsewhere, all that have one there hear of it. */
static kiln_status all_ended(kiln_apart *x, kiln_status st) {
    stop(x);
    guest_ended(x, "was ended");
    return st;
}

/* Sets *is_over where frame f tells the end of this guest. */
static kiln_status read_end(kiln_apart *x, const kiln_wire_frame *f, bool *is_over) {
    kiln_wire_ended m;
    if (f->kind != KILN_WIRE_ENDED)
        return KILN_OK;
    KILN_TRY(kiln_wire_get(&x->answer, f, &m, NULL));
    *is_over = m.guest == x->number;
    return KILN_OK;
}

/* Until the runner elsewhere says that it is gone; what it said before does not count. */
static void finish_far(kiln_apart *x) {
    const kiln_wire_ask q = {.guest = x->number, .what = KILN_ASK_END};
    const int64_t deadline_ns = kiln_now_ns() + END_MS * INT64_C(1000000);
    kiln_status st =
        kiln_far_is_lost(x->o.far)
            ? KILN_ERR_LIB
            : kiln_line_send(x->line, &x->answer, KILN_WIRE_ASK, &q, deadline_ns, NULL);
    bool is_over = x->o.far->guest[x->number].how[0] != '\0';
    while (st == KILN_OK && !is_over) {
        kiln_wire_frame f;
        kiln_arena_reset(&x->answer);
        st = kiln_line_next(x->line, &x->answer, deadline_ns, &f, NULL);
        if (st == KILN_OK)
            st = read_end(x, &f, &is_over);
    }
    if (!is_over)
        kiln_far_close(x->o.far); /* with all that runs there */
    guest_ended(x, "was ended");
}

static void finish(kiln_apart *x) {
    const kiln_wire_ask q = {.what = KILN_ASK_END};
    const int64_t deadline_ns = kiln_now_ns() + END_MS * INT64_C(1000000);
    kiln_wire_told told;
    if (x->has_guest && x->o.far != NULL)
        finish_far(x);
    else if (x->has_guest &&
             kiln_apart_send(x, KILN_WIRE_ASK, &q, deadline_ns, NULL) == KILN_OK)
        (void)kiln_apart_receive(x, deadline_ns, &told, NULL);
    x->has_guest = false;
    give_number_back(x);
}

static kiln_status begin_far(kiln_apart *x, kiln_err *err) {
    kiln_far *f = x->o.far;
    uint32_t i = 0;
    if (kiln_far_is_lost(f))
        return kiln_fail(err, KILN_ERR_LIB, "the runner at %s is lost",
                         kiln_far_address(f));
    while (i < KILN_WIRE_MAX_GUESTS && f->guest[i].is_used)
        i++;
    if (i == KILN_WIRE_MAX_GUESTS)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "a runner has at most %d networks open at once",
                         KILN_WIRE_MAX_GUESTS);
    f->guest[i] = (struct kiln_far_guest){.is_used = true};
    x->number = i;
    x->has_number = true;
    kiln_arena_reset(&x->put);
    x->part.v = NULL;
    x->part.n = x->part.cap = x->n_given = 0;
    return KILN_OK;
}

static kiln_status begin_here(kiln_apart *x, kiln_err *err) {
    if (x->shared_write < 0)
        KILN_TRY(kiln_shared_open(&x->shared_write, &x->shared_read, err));
    if (ftruncate(x->shared_write, 0) != 0)
        return kiln_fail(err, KILN_ERR_IO, "cannot empty memory that is shared: %s",
                         strerror(errno));
    return x->own.talk == NULL ? start(x, err) : KILN_OK;
}

kiln_status kiln_apart_begin(kiln_apart *x, kiln_err *err) {
    finish(x);
    KILN_TRY(x->o.far != NULL ? begin_far(x, err) : begin_here(x, err));
    x->end = 0;
    x->is_ready = true;
    x->guest++;
    return KILN_OK;
}

uint64_t kiln_apart_guest(const kiln_apart *x) { return x->guest; }
void kiln_apart_ended(kiln_apart *x) { guest_ended(x, "ended"); }

static kiln_status write_all(const kiln_apart *x, const void *p, size_t bytes,
                             uint64_t at, kiln_err *err) {
    const char *from = p;
    for (size_t done = 0; done < bytes;) {
        const ssize_t n =
            pwrite(x->shared_write, from + done, bytes - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return kiln_fail(err, KILN_ERR_IO, "cannot write for a process: %s",
                             strerror(errno));
        done += (size_t)n;
    }
    return KILN_OK;
}

/* By what it is: the runner may have it already. */
static kiln_status add_part(kiln_apart *x, const void *p, size_t bytes, kiln_err *err) {
    kiln_wire_blob part = {.bytes = bytes, .data = p};
    if (bytes > KILN_WIRE_MAX_BLOB_BYTES)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "a part of %zu bytes is more than runners elsewhere take",
                         bytes);
    if (x->part.n == KILN_WIRE_MAX_PARTS)
        return kiln_fail(err, KILN_ERR_LIMIT, "at most %d parts go elsewhere",
                         KILN_WIRE_MAX_PARTS);
    kiln_sha256_digest(p, bytes, part.sha256);
    kiln_vec_push(&x->put, &x->part, part);
    return KILN_OK;
}

kiln_status kiln_apart_put(kiln_apart *x, const void *p, size_t bytes,
                           kiln_wire_place *out, kiln_err *err) {
    KILN_ASSERT(p != NULL || bytes == 0, "%zu bytes of nothing", bytes);
    const uint64_t at = kiln_wire_part_at(x->end);
    if (bytes > 0)
        KILN_TRY(x->o.far != NULL ? add_part(x, p, bytes, err)
                                  : write_all(x, p, bytes, at, err));
    *out = (kiln_wire_place){.at = bytes > 0 ? at : 0, .bytes = bytes};
    x->end = bytes > 0 ? at + bytes : x->end; /* nothing may lie behind the end */
    return KILN_OK;
}

/* ---- messages -------------------------------------------------------------------- */

kiln_status kiln_apart_refuse(kiln_apart *x, const char *why, kiln_err *err) {
    return x->line->talk != NULL
               ? all_ended(x, kiln_talk_refuse(x->line->talk, why, err))
               : kiln_fail(err, KILN_ERR_LIB, "%s", why);
}

/* The guest that is meant; a runner elsewhere may have told of its end meanwhile. */
static kiln_status is_there(kiln_apart *x, kiln_err *err) {
    if (x->has_guest && x->o.far != NULL && x->o.far->guest[x->number].how[0] != '\0')
        guest_ended(x, x->o.far->guest[x->number].how);
    if (x->has_guest && x->line->talk == NULL)
        guest_ended(x, "was ended");
    return x->has_guest ? KILN_OK
                        : kiln_fail(err, KILN_ERR_LIB,
                                    "the process that runs it %s before", x->how);
}

/* What a message needs to be the guest's: its number, and what was put. */
static kiln_status send(kiln_apart *x, kiln_arena *scratch, kiln_wire_kind kind,
                        const void *message, int64_t deadline_ns, kiln_err *err) {
    kiln_wire_network network;
    kiln_wire_ask q;
    if (kind == KILN_WIRE_NETWORK) {
        memcpy(&network, message, sizeof network);
        network.guest = x->number;
        network.n_parts = (uint32_t)x->part.n;
        network.part = x->part.v;
        message = &network;
    } else if (kind == KILN_WIRE_ASK) {
        memcpy(&q, message, sizeof q);
        q.guest = x->number;
        message = &q;
    }
    return kiln_line_send(x->line, scratch, kind, message, deadline_ns, err);
}

/* Whom an error leaves: nobody, but where only time is up elsewhere, the others there. */
static kiln_status after(kiln_apart *x, kiln_status st) {
    if (x->o.far == NULL || kiln_far_is_lost(x->o.far))
        return all_ended(x, st);
    finish_far(x);
    return st;
}

kiln_status kiln_apart_send(kiln_apart *x, kiln_wire_kind kind, const void *message,
                            int64_t deadline_ns, kiln_err *err) {
    kiln_arena_reset(&x->answer);
    if (kind == KILN_WIRE_NETWORK || kind == KILN_WIRE_PACKS)
        x->has_guest = x->is_ready;
    x->is_ready = false;
    KILN_TRY(is_there(x, err));
    const kiln_status st = send(x, &x->answer, kind, message, deadline_ns, err);
    return st == KILN_OK ? KILN_OK : after(x, st);
}

void kiln_apart_hint(kiln_apart *x, kiln_wire_kind kind, const void *message,
                     int64_t deadline_ns) {
    kiln_arena scratch = {0};
    if (x->has_guest)
        (void)send(x, &scratch, kind, message, deadline_ns, NULL);
    kiln_arena_fini(&scratch);
}

/* ---- answers ---------------------------------------------------------------------- */

/* A runner that has not got what it asked for cannot be spoken to any more. */
static kiln_status give_all(kiln_apart *x, const kiln_wire_frame *f, kiln_err *err) {
    kiln_wire_need need;
    kiln_err broken = {.len = 0};
    if (kiln_wire_get(&x->answer, f, &need, &broken) != KILN_OK)
        return kiln_apart_refuse(x, broken.text, err);
    x->n_given += need.n;
    if (x->n_given > x->part.n)
        return kiln_apart_refuse(x, "asks for more than its network has", err);
    const kiln_status st = kiln_line_give(x->line, x->part.v, x->part.n, &need, err);
    if (st != KILN_OK) {
        kiln_far_close(x->o.far);
        return all_ended(x, st);
    }
    return KILN_OK;
}

/* The runner itself gives up, or it goes on: of whichever guest it tells. */
static kiln_status take_end(kiln_apart *x, const kiln_wire_frame *f, bool *is_ours,
                            kiln_err *err) {
    kiln_wire_ended m;
    kiln_wire_failed failed = {.text = {NULL, 0}};
    kiln_err broken = {.len = 0};
    const bool is_all = f->kind == KILN_WIRE_FAILED;
    const kiln_status got = is_all ? kiln_wire_get(&x->answer, f, &failed, &broken)
                                   : kiln_wire_get(&x->answer, f, &m, &broken);
    *is_ours = true;
    if (got != KILN_OK)
        return kiln_apart_refuse(x, broken.text, err);
    const char *how = kiln_str_printable(&x->answer, is_all ? failed.text : m.text,
                                         KILN_LINE_HOW - 1);
    if (is_all)
        return kiln_apart_refuse(x, kiln_format(&x->answer, "gave up: %s", how), err);
    if (x->o.far != NULL)
        (void)snprintf(x->o.far->guest[m.guest].how, KILN_LINE_HOW, "%s",
                       how[0] != '\0' ? how : "ended");
    *is_ours = m.guest == x->number;
    if (!*is_ours)
        return KILN_OK;
    guest_ended(x, how);
    return kiln_fail(err, KILN_ERR_LIB, "the process that runs it %s", x->how);
}

static kiln_status take_answer(kiln_apart *x, const kiln_wire_frame *f,
                               kiln_wire_told *out, kiln_err *err) {
    kiln_err broken = {.len = 0};
    if (kiln_wire_expect(&x->answer, f, KILN_WIRE_TOLD, out, &broken) != KILN_OK)
        return kiln_apart_refuse(x, broken.text, err);
    if (out->guest != x->number)
        return kiln_apart_refuse(x, "answered for another network", err);
    return out->problem.n == 0
               ? KILN_OK
               : kiln_fail(err, KILN_ERR_LIB, "%.*s", KILN_STR_ARG(out->problem));
}

/* Our own runner greets before its first answer; one elsewhere asks for what it has not
 * before that. */
kiln_status kiln_apart_receive(kiln_apart *x, int64_t deadline_ns, kiln_wire_told *out,
                               kiln_err *err) {
    kiln_arena_reset(&x->answer);
    KILN_TRY(is_there(x, err));
    for (;;) {
        kiln_wire_frame f;
        bool is_ours;
        const kiln_status st =
            kiln_line_next(x->line, &x->answer, deadline_ns, &f, err);
        if (st != KILN_OK)
            return after(x, st);
        if (f.kind == KILN_WIRE_HELLO && x->o.far == NULL)
            continue;
        if (f.kind == KILN_WIRE_NEED && x->o.far != NULL) {
            const int64_t begin = kiln_now_ns();
            KILN_TRY(give_all(x, &f, err));
            deadline_ns += kiln_now_ns() - begin;
        } else if (f.kind == KILN_WIRE_ENDED || f.kind == KILN_WIRE_FAILED) {
            KILN_TRY(take_end(x, &f, &is_ours, err));
        } else {
            return take_answer(x, &f, out, err);
        }
    }
}
