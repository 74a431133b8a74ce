/* A device: a connection that is kept ready to be lent, and another to ask after it. */
#include "pipeline/pool/pool_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Longer than a greeting takes on a busy machine; a lease that outlives a pause of ours;
 * and when it is prolonged. */
static const int64_t greeting_ms = 10000, lease_ms = 60000, prolong_ms = 15000;

int kiln_lender_line_add(kiln_lender *p, const char *name, const char *address) {
    const int d = kiln_core_device_add(&p->core, kiln_lender_now_ms(), name);
    if (d < 0)
        return d;
    kiln_lender_line *l = &p->line[d];
    (void)snprintf(l->address, sizeof l->address, "%s", address);
    (void)snprintf(l->called, sizeof l->called, "the device %s", name);
    return d;
}

/* ---- opening and closing --------------------------------------------------------------- */

static void close_probe(kiln_lender_line *l) {
    kiln_transport_end how;
    if (l->is_probing)
        l->probe.def->end(&l->probe, false, &how);
    l->is_probing = false;
}

void kiln_lender_line_close(kiln_lender *p, int device) {
    kiln_lender_line *l = &p->line[device];
    kiln_transport_end how;
    if (l->state != KILN_LINE_DOWN)
        l->t.def->end(&l->t, false, &how);
    close_probe(l);
    kiln_arena_fini(&l->arena);
    l->arena = (kiln_arena){0};
    l->state = KILN_LINE_DOWN;
    l->client = -1;
}

static void lost(kiln_lender *p, int device, const char *why) {
    kiln_lender_line_close(p, device);
    kiln_core_device_down(&p->core, kiln_lender_now_ms(), device, why);
}

void kiln_lender_line_reset(kiln_lender *p, int device) {
    kiln_lender_line *l = &p->line[device];
    kiln_err err = {.len = 0};
    kiln_lender_line_close(p, device);
    kiln_transport_elsewhere(&l->t, l->address, l->called);
    if (l->t.def->open(&l->t, &err) != KILN_OK) {
        kiln_core_device_down(&p->core, kiln_lender_now_ms(), device, err.text);
        return;
    }
    l->in = (kiln_wire_stream){.arena = &l->arena};
    kiln_buf_init(&l->out, &l->arena);
    l->out_at = 0;
    l->n_leases = 0;
    l->state = KILN_LINE_GREETING;
    l->end_ms = kiln_lender_now_ms() + greeting_ms;
}

void kiln_lender_line_probe(kiln_lender *p, int device) {
    kiln_lender_line *l = &p->line[device];
    kiln_err err = {.len = 0};
    if (l->is_probing)
        return;
    kiln_transport_elsewhere(&l->probe, l->address, l->called);
    l->probe_ms = kiln_lender_now_ms();
    l->is_probing = l->probe.def->open(&l->probe, &err) == KILN_OK;
}

/* ---- what it says ---------------------------------------------------------------- */

static void put_lease(kiln_lender *p, kiln_lender_line *l) {
    const kiln_wire_lease lease = {.owner = kiln_str_from(p->owner), .ms = lease_ms};
    kiln_wire_put(&l->out, KILN_WIRE_LEASE, &lease);
    l->leased_ms = kiln_lender_now_ms();
    l->n_leases++;
}

static kiln_status take_hello(kiln_lender *p, kiln_lender_line *l, kiln_arena *a,
                              const kiln_wire_frame *f, kiln_err *err) {
    kiln_wire_hello hello;
    kiln_wire_lent lent;
    if (f->kind == KILN_WIRE_LENT) {
        KILN_TRY(kiln_wire_get(a, f, &lent, err));
        return kiln_wire_refuse_lent(&lent, err);
    }
    KILN_TRY(kiln_wire_expect(a, f, KILN_WIRE_HELLO, &hello, err));
    if (!kiln_str_is(hello.role, "runner"))
        return kiln_fail(err, KILN_ERR_PARSE, "it is a '%s'",
                         kiln_str_printable(a, hello.role, 40));
    /* The same again and again: only another takes memory. */
    if (l->machine == NULL || !kiln_str_is(hello.machine, l->machine)) {
        l->machine = kiln_str_dupv(&p->arena, hello.machine);
        l->version++;
    }
    put_lease(p, l);
    l->state = KILN_LINE_LEASING;
    return KILN_OK;
}

static kiln_status take(kiln_lender *p, int device, const kiln_wire_frame *f,
                        kiln_err *err) {
    kiln_lender_line *l = &p->line[device];
    kiln_arena scratch = {0};
    kiln_wire_leased leased;
    kiln_status st;
    if (l->state == KILN_LINE_GREETING) {
        st = take_hello(p, l, &scratch, f, err);
    } else {
        st = kiln_wire_expect(&scratch, f, KILN_WIRE_LEASED, &leased, err);
        l->n_leases -= l->n_leases > 0;
        kiln_core_device_heard(&p->core, kiln_lender_now_ms(), device);
    }
    kiln_arena_fini(&scratch);
    if (st == KILN_OK && f->kind == KILN_WIRE_LEASED && l->state == KILN_LINE_LEASING) {
        l->state = KILN_LINE_STANDBY;
        kiln_core_device_up(&p->core, kiln_lender_now_ms(), device);
    }
    return st;
}

/* Reads one message after the other; what it says once it is lent is not for us. */
static void hear(kiln_lender *p, int device) {
    kiln_lender_line *l = &p->line[device];
    kiln_err err = {.len = 0};
    size_t room;
    unsigned char *to = kiln_wire_stream_room(&l->in, &room);
    const ssize_t n = read(l->t.in, to, room);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        lost(p, device, n < 0 ? strerror(errno) : "its connection ended");
        return;
    }
    l->in.n += (size_t)n;
    for (;;) {
        bool has;
        kiln_wire_frame f;
        if (kiln_wire_next(&l->in, &has, &f, &err) != KILN_OK ||
            (has && take(p, device, &f, &err) != KILN_OK)) {
            lost(p, device, err.text);
            return;
        }
        if (!has)
            return;
    }
}

/* Whatever it says, somebody is there. */
static void hear_probe(kiln_lender *p, int device) {
    kiln_lender_line *l = &p->line[device];
    char c;
    const ssize_t n = read(l->probe.in, &c, 1);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n > 0)
        kiln_core_device_heard(&p->core, kiln_lender_now_ms(), device);
    close_probe(l);
}

/* ---- the loop -------------------------------------------------------------------- */

static void say(kiln_lender *p, int device) {
    kiln_lender_line *l = &p->line[device];
    if (l->out_at == l->out.n)
        return;
    const ssize_t n = l->t.def->send(&l->t, l->out.p + l->out_at, l->out.n - l->out_at);
    if (n < 0 && errno != EINTR && errno != EAGAIN) {
        lost(p, device, strerror(errno));
        return;
    }
    l->out_at += n > 0 ? (size_t)n : 0;
    if (l->out_at == l->out.n)
        l->out_at = l->out.n = 0;
}

void kiln_lender_line_poll(const kiln_lender *p, int device, struct pollfd *fd) {
    const kiln_lender_line *l = &p->line[device];
    const bool is_lent = l->state == KILN_LINE_LENT;
    const bool reads = !is_lent || kiln_flow_has_room(l->from);
    const bool writes = is_lent ? l->to->n > 0 : l->out_at < l->out.n;
    for (int i = 0; i < KILN_LINE_FDS; i++)
        fd[i] = (struct pollfd){.fd = -1};
    if (l->state != KILN_LINE_DOWN && reads)
        fd[0] = (struct pollfd){.fd = l->t.in, .events = POLLIN};
    if (l->state != KILN_LINE_DOWN && writes)
        fd[1] = (struct pollfd){.fd = l->t.out, .events = POLLOUT};
    if (l->is_probing)
        fd[2] = (struct pollfd){.fd = l->probe.in, .events = POLLIN};
}

void kiln_lender_line_serve(kiln_lender *p, int device, const struct pollfd *fd) {
    kiln_lender_line *l = &p->line[device];
    if (fd[2].revents != 0 && l->is_probing)
        hear_probe(p, device);
    if (fd[1].revents != 0 && l->state == KILN_LINE_LENT &&
        !kiln_relay_to_device(p, device))
        lost(p, device, "its connection was closed");
    else if (fd[1].revents != 0 && l->state != KILN_LINE_DOWN &&
             l->state != KILN_LINE_LENT)
        say(p, device);
    if (fd[0].revents == 0 || l->state == KILN_LINE_DOWN)
        return;
    if (l->state != KILN_LINE_LENT)
        hear(p, device);
    else if (!kiln_relay_from_device(p, device))
        lost(p, device, "its connection ended");
}

void kiln_lender_line_tick(kiln_lender *p, int device, int64_t now) {
    kiln_lender_line *l = &p->line[device];
    const int64_t beat_ms = p->core.limits.beat_ms / KILN_LENDER_BEATS;
    kiln_lender_line_command_tick(p, device, now);
    if (l->is_probing && now - l->probe_ms >= beat_ms)
        close_probe(l);
    if ((l->state == KILN_LINE_GREETING || l->state == KILN_LINE_LEASING) &&
        now >= l->end_ms) {
        lost(p, device, "no greeting came");
        return;
    }
    if (l->state != KILN_LINE_STANDBY && l->state != KILN_LINE_LENT)
        return;
    if (now - l->probe_ms >= beat_ms)
        kiln_lender_line_probe(p, device);
    if (l->state == KILN_LINE_STANDBY && now - l->leased_ms >= prolong_ms)
        put_lease(p, l);
    if (l->state == KILN_LINE_STANDBY)
        say(p, device);
}
