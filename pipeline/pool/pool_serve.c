/* The pool's loop: what comes in becomes events, what the core wants is done. */
#include "pipeline/pool/pool_internal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/measure/wire/address.h"

enum { TICK_MS = 200 };

int64_t kiln_lender_now_ms(void) { return kiln_now_ns() / 1000000; }

static void act(kiln_lender *p, const kiln_lender_action *a) {
    const int client = a->request >= 0 ? p->core.request[a->request].client : -1;
    switch (a->todo) {
    case KILN_LENDER_DO_RESET:
        kiln_lender_line_reset(p, a->device);
        return;
    case KILN_LENDER_DO_CLOSE:
        kiln_lender_line_close(p, a->device);
        return;
    case KILN_LENDER_DO_LEND:
        /* What came between is an action too, behind this one. */
        if (p->client[client].request == a->request &&
            p->client[client].state == KILN_CLIENT_WAITING &&
            p->line[a->device].state == KILN_LINE_STANDBY)
            kiln_client_grant(p, client, a->device);
        return;
    case KILN_LENDER_DO_RECALL:
        p->client[client].is_recalled = p->client[client].request == a->request;
        return;
    case KILN_LENDER_DO_CUT:
        if (p->client[client].request == a->request)
            kiln_client_cut(p, client, a);
        return;
    case KILN_LENDER_DO_ASK:
        kiln_lender_line_probe(p, a->device);
        return;
    case KILN_LENDER_DO_RESTART:
        kiln_lender_line_command(p, a->device, p->o->restart);
        return;
    case KILN_LENDER_DO_POWER:
        kiln_lender_line_command(p, a->device, p->o->power);
        return;
    }
}

static void act_all(kiln_lender *p) {
    kiln_lender_action a;
    while (kiln_core_next(&p->core, &a))
        act(p, &a);
    for (; p->n_logged < p->core.n_notes; p->n_logged++) {
        const kiln_lender_note *n = &p->core.note[p->n_logged % KILN_LENDER_NOTES];
        KILN_LOG(INFO, "pool", "%s: %s",
                 n->device >= 0 ? p->core.device[n->device].name : "the pool", n->text);
    }
}

static int poll_all(kiln_lender *p, struct pollfd *fd) {
    int n = 0;
    fd[n++] = (struct pollfd){.fd = p->listener, .events = POLLIN};
    for (int i = 0; i < KILN_LENDER_MAX_CLIENTS; i++)
        kiln_client_poll(p, i, &fd[n++]);
    for (int i = 0; i < p->core.n_devices; i++, n += KILN_LINE_FDS)
        kiln_lender_line_poll(p, i, &fd[n]);
    return poll(fd, (nfds_t)n, TICK_MS);
}

static void serve_all(kiln_lender *p, const struct pollfd *fd, int n_devices) {
    for (int i = 0; i < n_devices; i++) {
        kiln_lender_line_serve(
            p, i, &fd[1 + KILN_LENDER_MAX_CLIENTS + (size_t)i * KILN_LINE_FDS]);
        act_all(p);
    }
    for (int i = 0; i < KILN_LENDER_MAX_CLIENTS; i++)
        if (fd[1 + i].revents != 0 && p->client[i].state != KILN_CLIENT_NONE &&
            p->client[i].fd == fd[1 + i].fd) {
            kiln_client_serve(p, i, fd[1 + i].revents);
            act_all(p);
        }
    if (fd[0].revents != 0)
        kiln_lender_accept(p);
}

static void loop(kiln_lender *p) {
    struct pollfd
        fd[1 + KILN_LENDER_MAX_CLIENTS + KILN_LENDER_MAX_DEVICES * KILN_LINE_FDS];
    act_all(p);
    while (!kiln_interrupted()) {
        const int n_devices = p->core.n_devices;
        if (poll_all(p, fd) > 0)
            serve_all(p, fd, n_devices);
        const int64_t now = kiln_lender_now_ms();
        for (int i = 0; i < p->core.n_devices; i++)
            kiln_lender_line_tick(p, i, now);
        for (int i = 0; i < KILN_LENDER_MAX_CLIENTS; i++)
            kiln_client_tick(p, i, now);
        kiln_core_tick(&p->core, now);
        act_all(p);
    }
}

static kiln_lender_limits limits_of(const kiln_lender_options *o) {
    const int64_t soft_part_ms = 15000;
    kiln_lender_limits l = kiln_lender_limits_default();
    l.has_server = o->restart != NULL;
    l.has_power = o->power != NULL;
    l.slice_ms = o->slice_s > 0 ? o->slice_s * INT64_C(1000) : l.slice_ms;
    l.hard_ms = o->silence_s > 0 ? o->silence_s * INT64_C(1000) : l.hard_ms;
    l.soft_ms = l.hard_ms > 2 * soft_part_ms ? l.hard_ms - soft_part_ms : l.hard_ms / 2;
    l.beat_ms = o->beat_s > 0 ? o->beat_s * INT64_C(1000) : l.beat_ms;
    l.cool_above = o->cool_above;
    l.cool_below = o->cool_above - 5;
    return l;
}

static void end(kiln_lender *p, const kiln_wire_address *a) {
    for (int i = 0; i < KILN_LENDER_MAX_CLIENTS; i++) {
        p->client[i].request = -1;
        kiln_client_close(p, i);
    }
    for (int i = 0; i < p->core.n_devices; i++) {
        bool by_itself;
        int status;
        kiln_lender_line_close(p, i);
        if (p->line[i].command.pid != 0)
            kiln_child_end(&p->line[i].command, &by_itself, &status);
    }
    close(p->listener);
    if (a->at.any.sa_family == AF_UNIX)
        (void)unlink(a->at.local.sun_path);
    kiln_core_fini(&p->core);
    kiln_arena_fini(&p->arena);
}

static kiln_status check_devices(const kiln_lender_options *o, kiln_err *err) {
    int n = 0;
    for (; o->device != NULL && o->device[n] != NULL; n++) {
        KILN_TRY(kiln_transport_check(o->device[n], err));
        if (strlen(o->device[n]) >= KILN_LENDER_ADDRESS)
            return kiln_fail(err, KILN_ERR_LIMIT, "an address has at most %d bytes",
                             KILN_LENDER_ADDRESS - 1);
    }
    return n <= KILN_LENDER_MAX_DEVICES
               ? KILN_OK
               : kiln_fail(err, KILN_ERR_LIMIT, "a pool has at most %d devices, not %d",
                           KILN_LENDER_MAX_DEVICES, n);
}

kiln_status kiln_lender_serve(const kiln_lender_options *o, kiln_err *err) {
    kiln_arena own = {0};
    kiln_wire_address a;
    char text[KILN_WIRE_ADDRESS_TEXT];
    const kiln_lender_limits limits = limits_of(o);
    KILN_TRY(kiln_wire_address_parse(o->address, &a, err));
    KILN_TRY(check_devices(o, err));
    kiln_lender *p = kiln_new(&own, kiln_lender);
    kiln_status st = kiln_wire_address_listen(&a, &p->listener, err);
    if (st != KILN_OK) {
        kiln_arena_fini(&own);
        return st;
    }
    p->o = o;
    p->begin_ms = kiln_lender_now_ms();
    p->owner = kiln_format(&p->arena, "a pool, %s", kiln_machine_process(&p->arena));
    for (int i = 0; i < KILN_LENDER_MAX_CLIENTS; i++)
        p->client[i].fd = p->client[i].request = p->client[i].device = -1;
    kiln_core_init(&p->core, &limits, kiln_lender_fits, p, p->begin_ms);
    for (int i = 0; o->device != NULL && o->device[i] != NULL; i++)
        (void)kiln_lender_line_add(p, o->name != NULL ? o->name[i] : o->device[i],
                                   o->device[i]);
    kiln_wire_address_text(&a, text);
    if (o->listens != NULL)
        o->listens(o->user, text);
    loop(p);
    end(p, &a);
    kiln_arena_fini(&own);
    return KILN_OK;
}
