/* Who gets the next device, and who is asked for one (pool_core.h). */
#include "pipeline/pool/pool_core.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_there(const kiln_lender_owner *o) {
    return o->n_held + o->n_waiting > 0;
}

/* How far behind all others one may fall that waits for what nobody has: in slices. What
 * it gets once it is there does not keep everybody else out for hours. */
enum { MOST_CREDIT = 8 };

void kiln_core_settle(kiln_lender_core *c, int64_t now) {
    const double passed = (double)(now - c->settled_ms);
    const double credit = (double)(MOST_CREDIT * c->limits.slice_ms);
    double least = (double)INFINITY;
    if (passed <= 0)
        return;
    c->settled_ms = now;
    for (int i = 0; i < KILN_LENDER_MAX_REQUESTS; i++) {
        kiln_lender_owner *o = &c->owner[i];
        if (o->n_held == 0)
            continue;
        KILN_ASSERT(o->priority >= 1, "%s has priority %d", o->name, o->priority);
        o->total_ms += passed * o->n_held;
        o->account_ms += passed * o->n_held / o->priority;
        least = fmin(least, o->account_ms);
    }
    if (!isinf(least))
        c->served_ms = fmax(c->served_ms, least);
    for (int i = 0; i < KILN_LENDER_MAX_REQUESTS; i++)
        c->owner[i].account_ms = fmax(c->owner[i].account_ms, c->served_ms - credit);
}

/* Known by name; else one that is free, or that of somebody who went long ago: there are
 * as many as requests, so one is. Who was away gets no credit for it. */
int kiln_core_owner_of(kiln_lender_core *c, const char *name, int priority) {
    int at = -1;
    for (int i = 0; i < KILN_LENDER_MAX_REQUESTS; i++) {
        const kiln_lender_owner *o = &c->owner[i];
        if (strncmp(o->name, name, sizeof o->name - 1) == 0) {
            at = i;
            break;
        }
        if (!is_there(o) &&
            (at < 0 || (o->name[0] == '\0' && c->owner[at].name[0] != '\0')))
            at = i;
    }
    KILN_ASSERT(at >= 0, "more owners than requests");
    kiln_lender_owner *o = &c->owner[at];
    if (strncmp(o->name, name, sizeof o->name - 1) != 0) {
        *o = (kiln_lender_owner){.account_ms = c->served_ms};
        (void)snprintf(o->name, sizeof o->name, "%s", name);
    } else if (!is_there(o)) {
        o->account_ms = fmax(o->account_ms, c->served_ms);
    }
    o->priority = priority < 1                          ? 1
                  : priority > KILN_LENDER_MAX_PRIORITY ? KILN_LENDER_MAX_PRIORITY
                                                        : priority;
    return at;
}

/* An owner's account, had it n devices for one more slice. */
static double standing(const kiln_lender_core *c, const kiln_lender_owner *o, int n) {
    return o->account_ms + (double)c->limits.slice_ms * n / o->priority;
}

static void lend(kiln_lender_core *c, int64_t now, int device, int request) {
    kiln_lender_request *r = &c->request[request];
    kiln_lender_device *d = &c->device[device];
    KILN_ASSERT(d->state == KILN_LENDER_FREE && d->request < 0 &&
                    r->state == KILN_LENDER_WAITING,
                "device %d is lent twice", device);
    c->owner[r->owner].n_waiting--;
    c->owner[r->owner].n_held++;
    r->state = KILN_LENDER_HOLDING;
    r->device = device;
    r->since_ms = r->heard_ms = now;
    kiln_core_become(c, now, device, KILN_LENDER_LENT);
    d->request = request;
    d->n_loans++;
    kiln_core_do(c, KILN_LENDER_DO_LEND, device, request, false, "");
}

/* Of those who wait for such a device, the one who stands lowest; of one owner's, the
 * oldest. -1: nobody does. */
static int next_for(const kiln_lender_core *c, int device) {
    int best = -1;
    double least = 0;
    for (int i = 0; i < KILN_LENDER_MAX_REQUESTS; i++) {
        const kiln_lender_request *r = &c->request[i];
        if (r->state != KILN_LENDER_WAITING || !c->fits(c->user, r->client, device))
            continue;
        const kiln_lender_owner *o = &c->owner[r->owner];
        const double at = standing(c, o, o->n_held + 1);
        if (best < 0 || at < least ||
            (at <= least && r->number < c->request[best].number)) {
            best = i;
            least = at;
        }
    }
    return best;
}

/* Of loans that may be recalled for this one, that of the owner who stands highest; -1:
 * none stands so much higher. */
static int loan_for(const kiln_lender_core *c, int64_t now, int request) {
    const kiln_lender_request *r = &c->request[request];
    const kiln_lender_owner *own = &c->owner[r->owner];
    double highest = standing(c, own, own->n_held + 1) +
                     (double)c->limits.slice_ms / 2 / own->priority;
    int best = -1;
    for (int i = 0; i < KILN_LENDER_MAX_REQUESTS; i++) {
        const kiln_lender_request *x = &c->request[i];
        if (x->state != KILN_LENDER_HOLDING || x->owner == r->owner ||
            x->recalled_ms >= 0 || now - x->since_ms < c->limits.slice_ms ||
            now - x->since_ms < x->keeps_ms || !c->fits(c->user, r->client, x->device))
            continue;
        const kiln_lender_owner *o = &c->owner[x->owner];
        const double at = standing(c, o, o->n_held);
        if (at > highest) {
            highest = at;
            best = i;
        }
    }
    return best;
}

/* One loan for each who waits: what comes back may go to another, who stands lower. */
static void recall(kiln_lender_core *c, int64_t now) {
    int n_recalled = 0, n_waiting = 0;
    for (int i = 0; i < KILN_LENDER_MAX_REQUESTS; i++) {
        const kiln_lender_request *r = &c->request[i];
        n_recalled += r->state == KILN_LENDER_HOLDING && r->recalled_ms >= 0;
        n_waiting += r->state == KILN_LENDER_WAITING;
    }
    for (int i = 0; i < KILN_LENDER_MAX_REQUESTS && n_recalled < n_waiting; i++) {
        kiln_lender_request *r = &c->request[i];
        if (r->state != KILN_LENDER_WAITING || r->has_recall)
            continue;
        const int loan = loan_for(c, now, i);
        if (loan < 0)
            continue;
        r->has_recall = true;
        c->request[loan].recalled_ms = now;
        n_recalled++;
        kiln_core_do(c, KILN_LENDER_DO_RECALL, c->request[loan].device, loan, false,
                     "");
    }
    if (n_recalled > 0)
        return;
    /* What was asked for came back, and went to others. */
    for (int i = 0; i < KILN_LENDER_MAX_REQUESTS; i++)
        c->request[i].has_recall = false;
}

void kiln_core_lend(kiln_lender_core *c, int64_t now) {
    kiln_core_settle(c, now);
    for (int i = 0; i < c->n_devices; i++) {
        if (c->device[i].state != KILN_LENDER_FREE)
            continue;
        const int request = next_for(c, i);
        if (request >= 0)
            lend(c, now, i, request);
    }
    recall(c, now);
}
