/* Devices and requests: events in, actions out. */
#include "pipeline/pool/pool_core.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *kiln_lender_state_name(kiln_lender_state s) {
    static const char *const names[KILN_LENDER_N_STATES] = {
        "absent", "joining", "free", "lent", "cooling", "quarantined"};
    KILN_ASSERT((size_t)s < sizeof names / sizeof names[0], "no state %d of a device",
                (int)s);
    return names[s];
}

const char *kiln_lender_rung_name(kiln_lender_rung r) {
    static const char *const names[KILN_LENDER_N_RUNGS] = {
        "", "no answer", "child killed", "server restarted", "power-cycled", "out"};
    KILN_ASSERT((size_t)r < sizeof names / sizeof names[0], "no rung %d of the ladder",
                (int)r);
    return names[r];
}

/* Soft and hard: longer than a candidate within its limits takes on a machine that is
 * not overloaded, and a device that hangs is out within a minute all the same. */
kiln_lender_limits kiln_lender_limits_default(void) {
    return (kiln_lender_limits){.slice_ms = 30000,
                                .recall_ms = 120000,
                                .beat_ms = 20000,
                                .soft_ms = 30000,
                                .hard_ms = 45000,
                                .greet_ms = 15000,
                                .server_ms = 30000,
                                .power_ms = 180000,
                                .pardon_ms = 600000,
                                .absent_ms = 30000,
                                .borrower_ms = 120000,
                                .strikes = 3};
}

void kiln_core_init(kiln_lender_core *c, const kiln_lender_limits *limits,
                    kiln_lender_fits_fn *fits, void *user, int64_t now) {
    *c = (kiln_lender_core){
        .limits = *limits, .fits = fits, .user = user, .settled_ms = now};
}

void kiln_core_fini(kiln_lender_core *c) { kiln_arena_fini(&c->arena); }

/* ---- notes and actions --------------------------------------------------------------- */

void kiln_core_note(kiln_lender_core *c, int64_t now, int device, const char *fmt,
                    ...) {
    kiln_lender_note *n = &c->note[c->n_notes++ % KILN_LENDER_NOTES];
    va_list args;
    n->ms = now;
    n->device = device;
    va_start(args, fmt);
    (void)vsnprintf(n->text, sizeof n->text, fmt, args);
    va_end(args);
}

void kiln_core_do(kiln_lender_core *c, kiln_lender_todo todo, int device, int request,
                  bool is_hung, const char *why) {
    kiln_lender_action a = {
        .todo = todo, .device = device, .request = request, .is_hung = is_hung};
    (void)snprintf(a.why, sizeof a.why, "%s", why);
    kiln_vec_push(&c->arena, &c->todo, a);
}

bool kiln_core_next(kiln_lender_core *c, kiln_lender_action *out) {
    if (c->todo_first == c->todo.n) {
        kiln_arena_reset(&c->arena);
        c->todo.v = NULL;
        c->todo.n = c->todo.cap = c->todo_first = 0;
        return false;
    }
    KILN_ASSERT(c->todo_first < c->todo.n, "action %zu of %zu", c->todo_first,
                c->todo.n);
    *out = c->todo.v[c->todo_first++];
    return true;
}

/* ---- devices --------------------------------------------------------------------------- */

static kiln_lender_device *get(kiln_lender_core *c, int device) {
    KILN_ASSERT(device >= 0 && device < c->n_devices, "there is no device %d", device);
    return &c->device[device];
}

void kiln_core_become(kiln_lender_core *c, int64_t now, int device,
                      kiln_lender_state s) {
    kiln_lender_device *d = get(c, device);
    KILN_ASSERT(s < KILN_LENDER_N_STATES, "no state %d of a device", (int)s);
    if (d->state == KILN_LENDER_LENT)
        d->lent_total_ms += now - d->since_ms;
    d->state = s;
    d->since_ms = now;
    d->owes_ms = -1;
}

void kiln_core_rejoin(kiln_lender_core *c, int64_t now, int device, int64_t within_ms) {
    kiln_lender_device *d = get(c, device);
    if (d->state != KILN_LENDER_JOINING)
        kiln_core_become(c, now, device, KILN_LENDER_JOINING);
    d->end_ms = now + within_ms;
    d->retry_ms = -1;
    d->n_tries = 0;
    kiln_core_do(c, KILN_LENDER_DO_RESET, device, -1, false, "");
}

int kiln_core_device_add(kiln_lender_core *c, int64_t now, const char *name) {
    int i = 0;
    while (i < c->n_devices && strcmp(c->device[i].name, name) != 0)
        i++;
    if (i == KILN_LENDER_MAX_DEVICES)
        return -1;
    kiln_lender_device *d = &c->device[i];
    if (i == c->n_devices) {
        c->n_devices++;
        *d = (kiln_lender_device){.request = -1, .since_ms = now, .owes_ms = -1};
        (void)snprintf(d->name, sizeof d->name, "%s", name);
        kiln_core_note(c, now, i, "registered");
        kiln_core_rejoin(c, now, i, c->limits.greet_ms);
    } else if (d->state == KILN_LENDER_QUARANTINED) {
        d->strikes = 0;
        d->rung = KILN_LENDER_WELL;
        kiln_core_note(c, now, i, "registered again: out of quarantine");
        kiln_core_rejoin(c, now, i, c->limits.greet_ms);
    }
    return i;
}

static void become_free(kiln_lender_core *c, int64_t now, int device) {
    const kiln_lender_device *d = get(c, device);
    const bool is_warm =
        c->limits.cool_above > 0 && d->temperature > c->limits.cool_above;
    if (is_warm)
        kiln_core_note(c, now, device, "cools down from %d degrees", d->temperature);
    kiln_core_become(c, now, device, is_warm ? KILN_LENDER_COOLING : KILN_LENDER_FREE);
}

void kiln_core_device_up(kiln_lender_core *c, int64_t now, int device) {
    kiln_lender_device *d = get(c, device);
    if (d->state != KILN_LENDER_JOINING && d->state != KILN_LENDER_QUARANTINED)
        return;
    if (d->state == KILN_LENDER_QUARANTINED && d->strikes > 0)
        d->strikes--; /* on probation: once more, and it is out again */
    if (d->rung != KILN_LENDER_WELL || d->n_loans == 0)
        kiln_core_note(c, now, device, "is there%s%s",
                       d->rung != KILN_LENDER_WELL ? ", after: " : "",
                       kiln_lender_rung_name(d->rung));
    d->rung = KILN_LENDER_WELL;
    d->heard_ms = now;
    d->n_tries = 0;
    kiln_core_settle(c, now);
    become_free(c, now, device);
    kiln_core_lend(c, now);
}

/* A try that came to nothing: again, in a while. Else who was there has gone. */
void kiln_core_device_down(kiln_lender_core *c, int64_t now, int device,
                           const char *why) {
    enum { FIRST_MS = 100, MOST_DOUBLINGS = 5 };
    kiln_lender_device *d = get(c, device);
    switch (d->state) {
    case KILN_LENDER_ABSENT:
    case KILN_LENDER_N_STATES:
    case KILN_LENDER_QUARANTINED:
        break;
    case KILN_LENDER_JOINING:
        d->retry_ms =
            now +
            (FIRST_MS << (d->n_tries < MOST_DOUBLINGS ? d->n_tries : MOST_DOUBLINGS));
        d->n_tries++;
        break;
    case KILN_LENDER_FREE:
    case KILN_LENDER_COOLING:
    case KILN_LENDER_LENT:
        d->n_losses++;
        kiln_core_note(c, now, device, "is gone: %s", why);
        kiln_core_cut(c, now, device, false, why);
        kiln_core_rejoin(c, now, device, c->limits.greet_ms);
        break;
    }
}

void kiln_core_device_heard(kiln_lender_core *c, int64_t now, int device) {
    get(c, device)->heard_ms = now;
}

void kiln_core_device_owes(kiln_lender_core *c, int64_t now, int device,
                           int64_t patience) {
    kiln_lender_device *d = get(c, device);
    if (d->state != KILN_LENDER_LENT)
        return;
    d->owes_ms = now;
    d->patience = patience;
}

void kiln_core_device_answered(kiln_lender_core *c, int64_t now, int device) {
    kiln_lender_device *d = get(c, device);
    d->heard_ms = now;
    d->owes_ms = -1;
    d->strikes = 0;
    if (d->rung == KILN_LENDER_SOFT) {
        kiln_core_note(c, now, device, "answers again");
        d->rung = KILN_LENDER_WELL;
    }
}

void kiln_core_device_warm(kiln_lender_core *c, int64_t now, int device, int degrees) {
    kiln_lender_device *d = get(c, device);
    d->temperature = degrees;
    if (d->state == KILN_LENDER_COOLING && degrees <= c->limits.cool_below) {
        kiln_core_settle(c, now);
        kiln_core_become(c, now, device, KILN_LENDER_FREE);
        kiln_core_lend(c, now);
    } else if (d->state == KILN_LENDER_FREE) {
        become_free(c, now, device);
    }
}

/* ---- requests -------------------------------------------------------------------- */

int kiln_core_request(kiln_lender_core *c, int64_t now, const char *owner, int priority,
                      int64_t keeps_ms, int client) {
    int i = 0;
    while (i < KILN_LENDER_MAX_REQUESTS && c->request[i].state != KILN_LENDER_NOBODY)
        i++;
    if (i == KILN_LENDER_MAX_REQUESTS)
        return -1;
    kiln_core_settle(c, now);
    const int who = kiln_core_owner_of(c, owner, priority);
    c->owner[who].n_waiting++;
    c->request[i] = (kiln_lender_request){.state = KILN_LENDER_WAITING,
                                          .owner = who,
                                          .client = client,
                                          .device = -1,
                                          .since_ms = now,
                                          .heard_ms = now,
                                          .keeps_ms = keeps_ms,
                                          .recalled_ms = -1,
                                          .number = ++c->n_requests};
    kiln_core_lend(c, now);
    return i;
}

void kiln_core_request_heard(kiln_lender_core *c, int64_t now, int request) {
    KILN_ASSERT(request >= 0 && request < KILN_LENDER_MAX_REQUESTS, "request %d",
                request);
    c->request[request].heard_ms = now;
}

/* The request is over; its number may be another's at once. */
static void release(kiln_lender_core *c, int64_t now, int request) {
    kiln_lender_request *r = &c->request[request];
    kiln_core_settle(c, now);
    KILN_ASSERT(r->state != KILN_LENDER_NOBODY, "request %d ends twice", request);
    if (r->state == KILN_LENDER_HOLDING) {
        c->owner[r->owner].n_held--;
        c->device[r->device].request = -1;
    } else {
        c->owner[r->owner].n_waiting--;
    }
    KILN_ASSERT(c->owner[r->owner].n_held >= 0 && c->owner[r->owner].n_waiting >= 0,
                "%s has %d devices and waits for %d", c->owner[r->owner].name,
                c->owner[r->owner].n_held, c->owner[r->owner].n_waiting);
    r->state = KILN_LENDER_NOBODY;
}

void kiln_core_cut(kiln_lender_core *c, int64_t now, int device, bool is_hung,
                   const char *why) {
    const int request = get(c, device)->request;
    if (request < 0)
        return;
    kiln_core_do(c, KILN_LENDER_DO_CUT, device, request, is_hung, why);
    release(c, now, request);
}

void kiln_core_request_end(kiln_lender_core *c, int64_t now, int request) {
    KILN_ASSERT(request >= 0 && request < KILN_LENDER_MAX_REQUESTS, "request %d",
                request);
    const kiln_lender_request *r = &c->request[request];
    const int device = r->device;
    if (r->state == KILN_LENDER_NOBODY)
        return;
    const bool had = r->state == KILN_LENDER_HOLDING;
    release(c, now, request);
    if (had)
        kiln_core_rejoin(c, now, device, c->limits.greet_ms);
    kiln_core_lend(c, now);
}

/* Who was asked and does not give back, or is not heard of: the device goes on. */
static void watch_borrowers(kiln_lender_core *c, int64_t now) {
    for (int i = 0; i < KILN_LENDER_MAX_REQUESTS; i++) {
        const kiln_lender_request *r = &c->request[i];
        if (r->state != KILN_LENDER_HOLDING)
            continue;
        const int device = r->device;
        KILN_ASSERT(get(c, device)->request == i, "device %d is not request %d's",
                    device, i);
        const bool owes = c->device[device].owes_ms >= 0;
        const int64_t silence =
            r->keeps_ms > c->limits.borrower_ms ? r->keeps_ms : c->limits.borrower_ms;
        const char *why =
            r->recalled_ms >= 0 && now - r->recalled_ms >= c->limits.recall_ms
                ? "it was asked for, and not given back"
            : !owes && now - r->heard_ms >= silence ? "nothing was heard of who had it"
                                                    : NULL;
        if (why == NULL)
            continue;
        kiln_core_note(c, now, device, "%s: %s", c->owner[r->owner].name, why);
        kiln_core_cut(c, now, device, false, why);
        kiln_core_rejoin(c, now, device, c->limits.greet_ms);
    }
}

void kiln_core_tick(kiln_lender_core *c, int64_t now) {
    kiln_core_settle(c, now);
    kiln_core_watch(c, now);
    watch_borrowers(c, now);
    kiln_core_lend(c, now);
}
