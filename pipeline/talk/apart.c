/* kiln's side of guests: frames over a runner's pipes, what is large in memory that it
 * maps. */
#include "pipeline/talk/apart.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/talk/talk.h"

enum { ALIGN = 64, END_MS = 10000, HOW = 256 };

struct kiln_apart {
    kiln_arena *arena;
    kiln_apart_options o;
    kiln_arena process; /* of talk */
    kiln_talk *talk;    /* NULL: there is no process */
    kiln_wire_stream in;
    kiln_arena stream, answer; /* answer: of the last message */
    int shared_write, shared_read;
    uint64_t end; /* of what was put */
    uint64_t guest;
    bool is_ready; /* for a guest's message */
    bool has_guest;
    char how[HOW]; /* it ended, which is none any more */
};

static void stop(kiln_apart *x) {
    kiln_arena_fini(&x->process);
    kiln_arena_fini(&x->stream);
    x->process = x->stream = (kiln_arena){0};
    x->in = (kiln_wire_stream){.arena = &x->stream};
    x->talk = NULL;
    x->is_ready = x->has_guest = false;
}

static void release(void *apart) {
    kiln_apart *x = apart;
    stop(x);
    if (x->shared_write >= 0)
        close(x->shared_write);
    if (x->shared_read >= 0)
        close(x->shared_read);
    kiln_arena_fini(&x->answer);
}

kiln_apart *kiln_apart_new(kiln_arena *a, const kiln_apart_options *o) {
    kiln_apart *x = kiln_new(a, kiln_apart);
    *x = (kiln_apart){.arena = a, .shared_write = -1, .shared_read = -1};
    if (o != NULL)
        x->o = *o;
    x->in.arena = &x->stream;
    kiln_arena_defer(a, release, x);
    return x;
}

static kiln_status start(kiln_apart *x, kiln_err *err) {
    const kiln_talk_options o = {.shared = x->shared_read,
                                 .grace_ms = x->o.grace_ms,
                                 .tick = x->o.tick,
                                 .user = x->o.user};
    const char *own[] = {NULL, NULL};
    const char *const *argv = x->o.argv;
    if (argv == NULL) {
        char *path;
        KILN_TRY(kiln_program_find(&x->process, "kiln-runner", &path, err));
        own[0] = path;
        argv = own;
    }
    return kiln_talk_open(&x->process, argv, &o, &x->talk, err);
}

/* ---- guests ---------------------------------------------------------------------- */

static void guest_ended(kiln_apart *x, const char *how) {
    x->has_guest = false;
    (void)snprintf(x->how, sizeof x->how, "%s", how);
}

/* The process went with it. */
static kiln_status all_ended(kiln_apart *x, kiln_status st) {
    stop(x);
    (void)snprintf(x->how, sizeof x->how, "was ended");
    return st;
}

static void finish(kiln_apart *x) {
    const kiln_wire_ask q = {.what = KILN_ASK_END};
    const int64_t deadline_ns = kiln_now_ns() + END_MS * INT64_C(1000000);
    kiln_wire_told told;
    if (x->has_guest &&
        kiln_apart_send(x, KILN_WIRE_ASK, &q, deadline_ns, NULL) == KILN_OK)
        (void)kiln_apart_receive(x, deadline_ns, &told, NULL);
    x->has_guest = false;
}

kiln_status kiln_apart_begin(kiln_apart *x, kiln_err *err) {
    finish(x);
    if (x->shared_write < 0)
        KILN_TRY(kiln_shared_open(&x->shared_write, &x->shared_read, err));
    if (ftruncate(x->shared_write, 0) != 0)
        return kiln_fail(err, KILN_ERR_IO, "cannot empty memory that is shared: %s",
                         strerror(errno));
    x->end = 0;
    if (x->talk == NULL)
        KILN_TRY(start(x, err));
    x->is_ready = true;
    x->guest++;
    return KILN_OK;
}

uint64_t kiln_apart_guest(const kiln_apart *x) { return x->guest; }
void kiln_apart_ended(kiln_apart *x) { guest_ended(x, "ended"); }

kiln_status kiln_apart_put(kiln_apart *x, const void *p, size_t bytes,
                           kiln_wire_place *out, kiln_err *err) {
    const char *from = p;
    const uint64_t at = (x->end + ALIGN - 1) / ALIGN * ALIGN;
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
    *out = (kiln_wire_place){.at = bytes > 0 ? at : 0, .bytes = bytes};
    x->end = bytes > 0 ? at + bytes : x->end; /* nothing may lie behind the end */
    return KILN_OK;
}

/* ---- messages -------------------------------------------------------------------- */

kiln_status kiln_apart_refuse(kiln_apart *x, const char *why, kiln_err *err) {
    return x->talk != NULL ? all_ended(x, kiln_talk_refuse(x->talk, why, err))
                           : kiln_fail(err, KILN_ERR_LIB, "%s", why);
}

kiln_status kiln_apart_send(kiln_apart *x, kiln_wire_kind kind, const void *message,
                            int64_t deadline_ns, kiln_err *err) {
    kiln_buf text;
    kiln_arena_reset(&x->answer);
    if (kind == KILN_WIRE_NETWORK || kind == KILN_WIRE_PACKS)
        x->has_guest = x->is_ready;
    x->is_ready = false;
    if (!x->has_guest)
        return kiln_fail(err, KILN_ERR_LIB, "the process that runs it %s before",
                         x->how);
    kiln_buf_init(&text, &x->answer);
    kiln_wire_put(&text, kind, message);
    const kiln_status st =
        kiln_talk_send(x->talk, &x->answer, kiln_buf_str(&text), deadline_ns, err);
    return st == KILN_OK ? KILN_OK : all_ended(x, st);
}

void kiln_apart_hint(kiln_apart *x, kiln_wire_kind kind, const void *message,
                     int64_t deadline_ns) {
    kiln_arena scratch = {0};
    kiln_buf text;
    kiln_buf_init(&text, &scratch);
    kiln_wire_put(&text, kind, message);
    if (x->has_guest)
        (void)kiln_talk_send(x->talk, &scratch, kiln_buf_str(&text), deadline_ns, NULL);
    kiln_arena_fini(&scratch);
}

static kiln_status more(kiln_apart *x, int64_t deadline_ns, kiln_err *err) {
    size_t room, got;
    unsigned char *to = kiln_wire_stream_room(&x->in, &room);
    const kiln_status st =
        kiln_talk_read(x->talk, &x->answer, to, room, deadline_ns, &got, err);
    if (st != KILN_OK)
        return all_ended(x, st);
    x->in.n += got;
    return KILN_OK;
}

/* The runner itself goes on, or gives up. */
static kiln_status take_end(kiln_apart *x, const kiln_wire_frame *f, kiln_err *err) {
    kiln_wire_ended m;
    kiln_err broken = {.len = 0};
    if (kiln_wire_get(&x->answer, f, &m, &broken) != KILN_OK)
        return kiln_apart_refuse(x, broken.text, err);
    const char *how = kiln_str_printable(&x->answer, m.text, HOW - 1);
    if (f->kind == KILN_WIRE_FAILED)
        return kiln_apart_refuse(x, kiln_format(&x->answer, "gave up: %s", how), err);
    guest_ended(x, how);
    return kiln_fail(err, KILN_ERR_LIB, "the process that runs it %s", x->how);
}

kiln_status kiln_apart_receive(kiln_apart *x, int64_t deadline_ns, kiln_wire_told *out,
                               kiln_err *err) {
    _Static_assert(sizeof(kiln_wire_ended) == sizeof(kiln_wire_failed), "a text each");
    kiln_arena_reset(&x->answer);
    if (!x->has_guest)
        return kiln_fail(err, KILN_ERR_LIB, "the process that runs it %s before",
                         x->how);
    for (;;) {
        bool has;
        kiln_wire_frame f;
        kiln_err broken = {.len = 0};
        if (kiln_wire_next(&x->in, &has, &f, &broken) != KILN_OK)
            return kiln_apart_refuse(x, broken.text, err);
        if (!has) {
            KILN_TRY(more(x, deadline_ns, err));
            continue;
        }
        if (f.kind == KILN_WIRE_HELLO)
            continue;
        if (f.kind == KILN_WIRE_ENDED || f.kind == KILN_WIRE_FAILED)
            return take_end(x, &f, err);
        if (kiln_wire_expect(&x->answer, &f, KILN_WIRE_TOLD, out, &broken) != KILN_OK)
            return kiln_apart_refuse(x, broken.text, err);
        return out->problem.n == 0
                   ? KILN_OK
                   : kiln_fail(err, KILN_ERR_LIB, "%.*s", KILN_STR_ARG(out->problem));
    }
}
