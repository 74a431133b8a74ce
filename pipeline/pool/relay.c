/* Between a borrower and the device that it has. */
#include "pipeline/pool/pool_internal.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

/* An answer to these takes as long as it takes: networks run for minutes (a runner lets
 * its guests ten). */
static const int64_t network_ms = 620000;

typedef struct sight {
    kiln_lender *p;
    int device;
} sight;

static void saw_question(void *user, kiln_wire_kind kind) {
    const sight *s = user;
    const bool is_network = kind == KILN_WIRE_NETWORK || kind == KILN_WIRE_ASK;
    if (kind != KILN_WIRE_LEASE)
        kiln_core_device_owes(&s->p->core, kiln_lender_now_ms(), s->device,
                              is_network ? network_ms : 0);
}

static void saw_answer(void *user, kiln_wire_kind kind) {
    const sight *s = user;
    if (kind != KILN_WIRE_LEASED)
        kiln_core_device_answered(&s->p->core, kiln_lender_now_ms(), s->device);
}

static bool read_some(kiln_lender *p, int fd, kiln_flow *to,
                      void (*saw)(void *user, kiln_wire_kind kind), sight *s,
                      bool *has_read) {
    *has_read = false;
    while (kiln_flow_has_room(to)) {
        const ssize_t n = read(fd, p->chunk, sizeof p->chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return true;
        if (n <= 0 || !kiln_flow_take(to, p->chunk, (size_t)n, saw, s))
            return false;
        *has_read = true;
    }
    return true;
}

bool kiln_relay_from_client(kiln_lender *p, int client) {
    const kiln_lender_client *c = &p->client[client];
    KILN_ASSERT(c->state == KILN_CLIENT_HOLDING, "client %d has no device", client);
    sight s = {p, c->device};
    bool has_read;
    const bool ok =
        read_some(p, c->fd, p->line[c->device].to, saw_question, &s, &has_read);
    if (has_read)
        kiln_core_request_heard(&p->core, kiln_lender_now_ms(), c->request);
    return ok;
}

bool kiln_relay_from_device(kiln_lender *p, int device) {
    kiln_lender_line *l = &p->line[device];
    sight s = {p, device};
    bool has_read;
    const bool ok = read_some(p, l->t.in, l->from, saw_answer, &s, &has_read);
    if (has_read)
        kiln_core_device_heard(&p->core, kiln_lender_now_ms(), device);
    return ok;
}

static bool is_over(kiln_flow *f, ssize_t n) {
    if (n < 0)
        return errno != EINTR && errno != EAGAIN;
    f->at += (size_t)n;
    KILN_ASSERT(f->at <= f->n, "%zu of %zu bytes have passed", f->at, f->n);
    if (f->at == f->n)
        f->at = f->n = 0;
    return false;
}

bool kiln_relay_to_client(kiln_lender *p, int client) {
    kiln_lender_client *c = &p->client[client];
    KILN_ASSERT(c->state == KILN_CLIENT_HOLDING, "client %d has no device", client);
    kiln_flow *f = p->line[c->device].from;
    const kiln_wire_recall recall = {.within_ms = p->core.limits.recall_ms};
    if (c->is_recalled && kiln_flow_put(f, KILN_WIRE_RECALL, &recall))
        c->is_recalled = false;
    return f->n == 0 ||
           !is_over(f, send(c->fd, f->data + f->at, f->n - f->at, MSG_NOSIGNAL));
}

bool kiln_relay_to_device(kiln_lender *p, int device) {
    kiln_lender_line *l = &p->line[device];
    kiln_flow *f = l->to;
    return f->n == 0 ||
           !is_over(f, l->t.def->send(&l->t, f->data + f->at, f->n - f->at));
}
