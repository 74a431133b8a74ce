/* How a runner that listens is lent to us. */
#include "pipeline/talk/talk_line.h"
#include "pipeline/measure/wire/transport.h"

#include <time.h>

enum { ANSWER_MS = 20000, FIRST_PAUSE_MS = 100 };
static const int64_t default_lease_ms = 720000, default_patience_ms = 10000;

static void release(void *far) {
    kiln_far *f = far;
    kiln_line_close(&f->line);
    kiln_arena_fini(&f->arena);
}

/* A pool's queue: as long as it says that it is there. */
static kiln_status await_turn(kiln_far *f, kiln_arena *a, kiln_wire_frame *frame,
                              kiln_err *err) {
    const kiln_wire_borrow want = {
        .owner = kiln_str_from(kiln_machine_process(a)),
        .profile = kiln_str_from(f->o.profile != NULL ? f->o.profile : ""),
        .threads = (uint32_t)(f->o.threads > 0 ? f->o.threads : 1),
        .priority = (uint32_t)(f->o.priority > 0 ? f->o.priority : KILN_WIRE_PRIORITY),
        .keeps_ms = KILN_WIRE_MOST_KEPT_MS};
    const int64_t silence_ns = KILN_WIRE_SILENCE_MS * INT64_C(1000000);
    KILN_TRY(kiln_line_send(&f->line, a, KILN_WIRE_BORROW, &want,
                            kiln_now_ns() + silence_ns, err));
    do {
        KILN_TRY(kiln_interrupt_check(err));
        KILN_TRY(kiln_line_next(&f->line, a, kiln_now_ns() + silence_ns, frame, err));
    } while (frame->kind == KILN_WIRE_QUEUED || frame->kind == KILN_WIRE_GRANTED);
    return KILN_OK;
}

static kiln_status greet(kiln_far *f, kiln_arena *a, int64_t deadline_ns,
                         kiln_err *err) {
    kiln_wire_frame frame;
    kiln_wire_hello hello;
    kiln_wire_lent lent;
    KILN_TRY(kiln_line_next(&f->line, a, deadline_ns, &frame, err));
    if (frame.kind == KILN_WIRE_LENT) {
        KILN_TRY(kiln_wire_get(a, &frame, &lent, err));
        return kiln_wire_refuse_lent(&lent, err);
    }
    KILN_TRY(kiln_wire_expect(a, &frame, KILN_WIRE_HELLO, &hello, err));
    if (kiln_str_is(hello.role, "pool")) {
        KILN_TRY(await_turn(f, a, &frame, err));
        KILN_TRY(kiln_wire_expect(a, &frame, KILN_WIRE_HELLO, &hello, err));
    }
    if (!kiln_str_is(hello.role, "runner"))
        return kiln_fail(err, KILN_ERR_PARSE, "it is a '%s'",
                         kiln_str_printable(a, hello.role, 40));
    f->machine = kiln_str_from(kiln_str_dupv(&f->arena, hello.machine));
    return KILN_OK;
}

static kiln_status borrow(kiln_far *f, kiln_arena *a, kiln_err *err) {
    const int64_t deadline_ns = kiln_now_ns() + ANSWER_MS * INT64_C(1000000);
    kiln_wire_frame frame;
    kiln_wire_leased leased;
    const kiln_wire_lease lease = {.owner = kiln_str_from(kiln_machine_process(a)),
                                   .ms = f->o.lease_ms};
    KILN_TRY(kiln_line_send(&f->line, a, KILN_WIRE_LEASE, &lease, deadline_ns, err));
    KILN_TRY(kiln_line_next(&f->line, a, deadline_ns, &frame, err));
    return kiln_wire_expect(a, &frame, KILN_WIRE_LEASED, &leased, err);
}

/* KILN_ERR_IO and KILN_ERR_LIB: nobody answers, now. */
static kiln_status try_once(kiln_far *f, kiln_arena *a, kiln_err *err) {
    const kiln_talk_options o = {
        .shared = -1, .grace_ms = f->o.grace_ms, .outlives_silence = true};
    const int64_t deadline_ns = kiln_now_ns() + ANSWER_MS * INT64_C(1000000);
    kiln_line_close(&f->line);
    KILN_TRY(kiln_talk_connect(&f->line.process, f->o.address, &o, &f->line.talk, err));
    kiln_status st = greet(f, a, deadline_ns, err);
    if (st == KILN_OK)
        st = borrow(f, a, err);
    return st;
}

/* Others may have it, and the process that served us before may have it a moment longer.
 */
static kiln_status try_again(kiln_far *f, kiln_arena *scratch, kiln_err *err) {
    const int64_t begin = kiln_now_ns();
    int64_t pause_ms = FIRST_PAUSE_MS;
    for (;;) {
        kiln_err why = {.len = 0};
        const kiln_status st = try_once(f, scratch, &why);
        const int64_t passed_ms = (kiln_now_ns() - begin) / 1000000;
        if (st == KILN_OK)
            return KILN_OK;
        if ((st != KILN_ERR_IO && st != KILN_ERR_LIB) || kiln_interrupted() ||
            passed_ms + pause_ms > f->o.patience_ms) {
            kiln_line_close(&f->line);
            *err = why;
            return st;
        }
        const struct timespec pause = {.tv_sec = pause_ms / 1000,
                                       .tv_nsec = pause_ms % 1000 * 1000000};
        (void)nanosleep(&pause, NULL);
        pause_ms *= 2;
        kiln_arena_reset(scratch);
    }
}

kiln_status kiln_far_open(kiln_arena *a, const kiln_far_options *o, kiln_far **out,
                          kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_err why = {.len = 0};
    KILN_TRY(kiln_transport_check(o->address, err));
    kiln_far *f = kiln_new(a, kiln_far);
    *f = (kiln_far){.o = *o};
    f->o.address = kiln_str_dup(a, o->address);
    f->o.lease_ms = o->lease_ms > 0 ? o->lease_ms : default_lease_ms;
    f->o.patience_ms = o->patience_ms > 0 ? o->patience_ms : default_patience_ms;
    f->line.in.arena = &f->line.stream;
    kiln_arena_defer(a, release, f);
    const kiln_status st = try_again(f, &scratch, &why);
    kiln_arena_fini(&scratch);
    if (st == KILN_OK) {
        *out = f;
        return KILN_OK;
    }
    const kiln_status code =
        st == KILN_ERR_PARSE || st == KILN_ERR_LIMIT ? KILN_ERR_LIB : st;
    kiln_fail_text(err, code, "%s", why.text);
    kiln_note(err, "asking for the runner at %s", f->o.address);
    return code;
}

void kiln_far_close(kiln_far *f) { kiln_line_close(&f->line); }
const char *kiln_far_address(const kiln_far *f) { return f->o.address; }
kiln_str kiln_far_machine(const kiln_far *f) { return f->machine; }

bool kiln_far_is_lost(const kiln_far *f) {
    return f->line.talk == NULL || !kiln_talk_is_there(f->line.talk);
}
