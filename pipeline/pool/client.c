/* Who connects to the pool: borrowers, devices that register, people who look. */
#include "pipeline/pool/pool_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pipeline/measure/wire/address.h"

/* Who was greeted says what it wants; who registered says so again; the last words are
 * taken. */
static const int64_t first_ms = 20000, device_ms = 60000, last_ms = 5000;

/* ---- coming and going ------------------------------------------------------------ */

static void put(kiln_lender_client *c, kiln_wire_kind kind, const void *message) {
    kiln_wire_put(&c->out, kind, message);
}

static void become(kiln_lender_client *c, kiln_lender_client_state s) {
    c->state = s;
    c->since_ms = kiln_lender_now_ms();
}

void kiln_client_close(kiln_lender *p, int client) {
    KILN_ASSERT(client >= 0 && client < KILN_LENDER_MAX_CLIENTS, "client %d", client);
    kiln_lender_client *c = &p->client[client];
    const int request = c->request;
    if (c->state == KILN_CLIENT_NONE)
        return;
    close(c->fd);
    kiln_arena_fini(&c->arena);
    *c = (kiln_lender_client){.fd = -1, .request = -1, .device = -1};
    if (request >= 0)
        kiln_core_request_end(&p->core, kiln_lender_now_ms(), request);
}

void kiln_lender_accept(kiln_lender *p) {
    const kiln_wire_hello hello = {.role = KILN_STR_LIT("pool")};
    const int fd = accept(p->listener, NULL, NULL);
    int i = 0;
    if (fd < 0)
        return;
    while (i < KILN_LENDER_MAX_CLIENTS && p->client[i].state != KILN_CLIENT_NONE)
        i++;
    if (i == KILN_LENDER_MAX_CLIENTS) {
        close(fd);
        return;
    }
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    kiln_lender_client *c = &p->client[i];
    *c = (kiln_lender_client){.fd = fd, .request = -1, .device = -1};
    c->in.arena = &c->arena;
    kiln_buf_init(&c->out, &c->arena);
    become(c, KILN_CLIENT_NEW);
    put(c, KILN_WIRE_HELLO, &hello);
}

/* The rest of what is on its way goes, and no more is heard. */
static void leave(kiln_lender_client *c) { become(c, KILN_CLIENT_LEAVING); }

/* ---- borrowers ------------------------------------------------------------------- */

bool kiln_lender_fits(void *pool, int client, int device) {
    kiln_lender *p = pool;
    kiln_lender_client *c = &p->client[client];
    const kiln_lender_line *l = &p->line[device];
    kiln_err err = {.len = 0};
    if (c->takes_any)
        return true;
    if (l->machine == NULL)
        return false;
    if (c->fit[device].version != l->version) {
        c->fit[device].version = l->version;
        c->fit[device].fits =
            kiln_profile_fits_machine(&c->profile, c->threads,
                                      kiln_str_from(l->machine), &err) == KILN_OK;
    }
    return c->fit[device].fits;
}

static void put_queued(kiln_lender *p, int client) {
    kiln_wire_queued q = {0};
    for (int i = 0; i < KILN_LENDER_MAX_REQUESTS; i++)
        q.n_waiting += p->core.request[i].state == KILN_LENDER_WAITING;
    for (int d = 0; d < p->core.n_devices; d++)
        q.n_fit += kiln_lender_fits(p, client, d);
    put(&p->client[client], KILN_WIRE_QUEUED, &q);
    p->client[client].told_ms = kiln_lender_now_ms();
}

static kiln_status take_borrow(kiln_lender *p, int client, const kiln_wire_frame *f,
                               kiln_err *err) {
    kiln_lender_client *c = &p->client[client];
    kiln_wire_borrow want;
    kiln_arena scratch = {0};
    const kiln_json *json;
    KILN_TRY(kiln_wire_get(&c->arena, f, &want, err));
    c->takes_any = want.profile.n == 0;
    c->threads = want.threads > 0 && want.threads < 4096 ? (int)want.threads : 1;
    if (!c->takes_any) {
        /* Texts are views into the document. */
        const kiln_str text = {
            kiln_arena_dup(&c->arena, want.profile.p, want.profile.n), want.profile.n};
        KILN_TRY(kiln_json_parse(&c->arena, text, "a borrower's profile", &json, err));
        KILN_TRY(kiln_profile_read(&c->arena, json, "a borrower's profile", &c->profile,
                                   err));
    }
    const char *owner = kiln_str_printable(&scratch, want.owner, KILN_LENDER_NAME - 1);
    become(c, KILN_CLIENT_WAITING);
    put_queued(p, client);
    const int request = kiln_core_request(&p->core, kiln_lender_now_ms(), owner,
                                          (int)want.priority, want.keeps_ms, client);
    kiln_arena_fini(&scratch);
    c->request = request;
    return request >= 0
               ? KILN_OK
               : kiln_fail(err, KILN_ERR_LIMIT, "%d requests are on their way already",
                           KILN_LENDER_MAX_REQUESTS);
}

void kiln_client_grant(kiln_lender *p, int client, int device) {
    kiln_lender_client *c = &p->client[client];
    kiln_lender_line *l = &p->line[device];
    KILN_ASSERT(c->state == KILN_CLIENT_WAITING, "client %d in state %d gets device %d",
                client, (int)c->state, device);
    const kiln_wire_granted granted = {.device =
                                           kiln_str_from(p->core.device[device].name)};
    const kiln_wire_hello hello = {.role = KILN_STR_LIT("runner"),
                                   .machine = kiln_str_from(l->machine)};
    if (l->to == NULL) {
        l->to = kiln_new(&p->arena, kiln_flow);
        l->from = kiln_new(&p->arena, kiln_flow);
    }
    kiln_flow_begin(l->to);
    kiln_flow_begin(l->from);
    l->from->n_drop = l->n_leases; /* answers to us */
    put(c, KILN_WIRE_GRANTED, &granted);
    put(c, KILN_WIRE_HELLO, &hello);
    l->state = KILN_LINE_LENT;
    l->client = client;
    c->device = device;
    c->is_recalled = false;
    become(c, KILN_CLIENT_HOLDING);
}

void kiln_client_cut(kiln_lender *p, int client, const kiln_lender_action *a) {
    kiln_lender_client *c = &p->client[client];
    const kiln_wire_gone gone = {.text = kiln_str_from(a->why), .is_hung = a->is_hung};
    if (c->state == KILN_CLIENT_HOLDING) {
        /* In the middle of a frame the end says it all. */
        KILN_ASSERT(c->device == a->device, "client %d has device %d, not %d", client,
                    c->device, a->device);
        kiln_flow *f = p->line[a->device].from;
        (void)kiln_flow_put(f, KILN_WIRE_GONE, &gone);
        kiln_buf_add(&c->out, f->data + f->at, f->n - f->at);
        f->n = f->at = 0;
    } else {
        put(c, KILN_WIRE_GONE, &gone);
    }
    c->request = c->device = -1;
    leave(c);
}

/* ---- devices, and who looks ------------------------------------------------------ */

static kiln_status take_register(kiln_lender *p, int client, const kiln_wire_frame *f,
                                 kiln_err *err) {
    kiln_lender_client *c = &p->client[client];
    kiln_arena scratch = {0};
    kiln_wire_register r;
    kiln_wire_address at;
    KILN_TRY(kiln_wire_get(&scratch, f, &r, err));
    const char *address = kiln_str_dupv(&scratch, r.address);
    const char *name = kiln_str_printable(&scratch, r.name, KILN_LENDER_NAME - 1);
    kiln_status st = r.name.n > 0 && r.address.n < KILN_LENDER_NAME
                         ? kiln_wire_address_parse(address, &at, err)
                         : kiln_fail(err, KILN_ERR_ARG, "a device has a name");
    /* Again on the same connection it is a sign of life; on another one it is one that
     * was started again. */
    if (st == KILN_OK && c->state == KILN_CLIENT_NEW) {
        c->device = kiln_lender_line_add(p, name, address);
        if (c->device < 0)
            st = kiln_fail(err, KILN_ERR_LIMIT, "a pool has at most %d devices",
                           KILN_LENDER_MAX_DEVICES);
    }
    if (st == KILN_OK) {
        become(c, KILN_CLIENT_DEVICE);
        if (r.degrees > 0 && r.degrees < 1000)
            kiln_core_device_warm(&p->core, kiln_lender_now_ms(), c->device,
                                  (int)r.degrees);
    }
    kiln_arena_fini(&scratch);
    return st;
}

static kiln_status take_list(kiln_lender *p, int client, const kiln_wire_frame *f,
                             kiln_err *err) {
    kiln_lender_client *c = &p->client[client];
    kiln_wire_list q;
    kiln_buf json;
    KILN_TRY(kiln_wire_get(&c->arena, f, &q, err));
    kiln_buf_init(&json, &c->arena);
    kiln_lender_report(
        p, q.n_notes < KILN_LENDER_NOTES ? (int)q.n_notes : KILN_LENDER_NOTES, &json);
    const kiln_wire_listed listed = {.json = kiln_buf_str(&json)};
    put(c, KILN_WIRE_LISTED, &listed);
    leave(c);
    return KILN_OK;
}

/* ---- what is said ---------------------------------------------------------------- */

static kiln_status take(kiln_lender *p, int client, const kiln_wire_frame *f,
                        kiln_err *err) {
    const kiln_lender_client_state s = p->client[client].state;
    if (s == KILN_CLIENT_NEW && f->kind == KILN_WIRE_BORROW)
        return take_borrow(p, client, f, err);
    if (s == KILN_CLIENT_NEW && f->kind == KILN_WIRE_LIST)
        return take_list(p, client, f, err);
    if ((s == KILN_CLIENT_NEW || s == KILN_CLIENT_DEVICE) &&
        f->kind == KILN_WIRE_REGISTER)
        return take_register(p, client, f, err);
    return kiln_fail(err, KILN_ERR_PARSE, "a pool takes no '%s' now",
                     kiln_wire_kind_name(f->kind));
}

static void refuse(kiln_lender *p, int client, const kiln_err *why) {
    kiln_lender_client *c = &p->client[client];
    const kiln_wire_failed failed = {.text = kiln_str_from(why->text)};
    const int request = c->request;
    put(c, KILN_WIRE_FAILED, &failed);
    leave(c);
    c->request = -1;
    if (request >= 0)
        kiln_core_request_end(&p->core, kiln_lender_now_ms(), request);
}

static void hear(kiln_lender *p, int client) {
    kiln_lender_client *c = &p->client[client];
    size_t room;
    unsigned char *to = kiln_wire_stream_room(&c->in, &room);
    const ssize_t n = read(c->fd, to, room);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        kiln_client_close(p, client);
        return;
    }
    c->in.n += (size_t)n;
    while (c->state == KILN_CLIENT_NEW || c->state == KILN_CLIENT_WAITING ||
           c->state == KILN_CLIENT_DEVICE) {
        bool has;
        kiln_wire_frame f;
        kiln_err err = {.len = 0};
        if (kiln_wire_next(&c->in, &has, &f, &err) != KILN_OK ||
            (has && take(p, client, &f, &err) != KILN_OK)) {
            refuse(p, client, &err);
            return;
        }
        if (!has)
            return;
    }
}

static bool has_own(const kiln_lender_client *c) { return c->out_at < c->out.n; }

/* False: it is gone. */
static bool say(kiln_lender_client *c) {
    const ssize_t n =
        send(c->fd, c->out.p + c->out_at, c->out.n - c->out_at, MSG_NOSIGNAL);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    c->out_at += (size_t)n;
    if (c->out_at == c->out.n)
        c->out_at = c->out.n = 0;
    return true;
}

/* ---- the loop -------------------------------------------------------------------- */

void kiln_client_poll(const kiln_lender *p, int client, struct pollfd *fd) {
    const kiln_lender_client *c = &p->client[client];
    *fd = (struct pollfd){.fd = c->state == KILN_CLIENT_NONE ? -1 : c->fd};
    if (c->state == KILN_CLIENT_NONE)
        return;
    const bool holds = c->state == KILN_CLIENT_HOLDING;
    const kiln_lender_line *l = holds ? &p->line[c->device] : NULL;
    if (c->state != KILN_CLIENT_LEAVING && (!holds || kiln_flow_has_room(l->to)))
        fd->events |= POLLIN;
    if (has_own(c) || (holds && (l->from->n > 0 ||
                                 (c->is_recalled && kiln_flow_is_between(l->from)))))
        fd->events |= POLLOUT;
}

void kiln_client_serve(kiln_lender *p, int client, short events) {
    kiln_lender_client *c = &p->client[client];
    /* One that went may have left more than its device takes: that is nobody's now. */
    const bool is_asking =
        c->state != KILN_CLIENT_LEAVING && c->state != KILN_CLIENT_HOLDING;
    bool is_there = is_asking || (events & (POLLERR | POLLHUP)) == 0;
    if (is_there && has_own(c) && (events & POLLOUT) != 0)
        is_there = say(c);
    else if (is_there && c->state == KILN_CLIENT_HOLDING && (events & POLLOUT) != 0)
        is_there = kiln_relay_to_client(p, client);
    const bool reads = (events & (POLLIN | POLLHUP | POLLERR)) != 0;
    if (is_there && reads && c->state == KILN_CLIENT_HOLDING)
        is_there = kiln_relay_from_client(p, client);
    else if (is_there && reads && c->state != KILN_CLIENT_LEAVING)
        hear(p, client);
    if (!is_there || (c->state == KILN_CLIENT_LEAVING && !has_own(c)))
        kiln_client_close(p, client);
}

void kiln_client_tick(kiln_lender *p, int client, int64_t now) {
    kiln_lender_client *c = &p->client[client];
    const int64_t passed = now - c->since_ms;
    switch (c->state) {
    case KILN_CLIENT_NONE:
    case KILN_CLIENT_HOLDING:
        return;
    case KILN_CLIENT_WAITING:
        kiln_core_request_heard(&p->core, now, c->request);
        if (now - c->told_ms >= KILN_LENDER_TELL_MS)
            put_queued(p, client);
        return;
    case KILN_CLIENT_NEW:
        if (passed >= first_ms)
            kiln_client_close(p, client);
        return;
    case KILN_CLIENT_DEVICE:
        if (passed >= device_ms)
            kiln_client_close(p, client);
        return;
    case KILN_CLIENT_LEAVING:
        if (passed >= last_ms || !has_own(c))
            kiln_client_close(p, client);
        return;
    }
}
