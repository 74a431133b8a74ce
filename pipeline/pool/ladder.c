/* A device that hangs: from step to step, until it greets or nothing is left. */
#include "pipeline/pool/pool_core.h"

static bool is_stubborn(const kiln_lender_core *c, const kiln_lender_device *d) {
    return c->limits.strikes > 0 && d->strikes >= c->limits.strikes;
}

static int64_t next_try(const kiln_lender_core *c, const kiln_lender_device *d) {
    return is_stubborn(c, d) ? c->limits.pardon_ms : c->limits.absent_ms;
}

static void quarantine(kiln_lender_core *c, int64_t now, int device, const char *why) {
    kiln_lender_device *d = &c->device[device];
    kiln_core_note(c, now, device, "quarantine: %s", why);
    d->rung = KILN_LENDER_OUT;
    kiln_core_become(c, now, device, KILN_LENDER_QUARANTINED);
    d->end_ms = now + next_try(c, d);
    kiln_core_do(c, KILN_LENDER_DO_CLOSE, device, -1, false, "");
}

static void hung(kiln_lender_core *c, int64_t now, int device, const char *why) {
    kiln_lender_device *d = &c->device[device];
    const bool owed = d->owes_ms >= 0;
    d->n_hangs++;
    d->strikes++;
    kiln_core_note(c, now, device, "%s: what runs there is killed", why);
    kiln_core_cut(c, now, device, owed, why);
    d->rung = KILN_LENDER_CHILD;
    if (is_stubborn(c, d))
        quarantine(c, now, device, "it hung again and again");
    else
        kiln_core_rejoin(c, now, device, c->limits.greet_ms);
}

/* No greeting came. */
static void climb(kiln_lender_core *c, int64_t now, int device) {
    kiln_lender_device *d = &c->device[device];
    if (d->rung < KILN_LENDER_SERVER && c->limits.has_server) {
        d->rung = KILN_LENDER_SERVER;
        kiln_core_note(c, now, device, "no greeting: its server is restarted");
        kiln_core_do(c, KILN_LENDER_DO_RESTART, device, -1, false, "");
        kiln_core_rejoin(c, now, device, c->limits.server_ms);
    } else if (d->rung < KILN_LENDER_POWER && c->limits.has_power) {
        d->rung = KILN_LENDER_POWER;
        kiln_core_note(c, now, device, "no greeting: it is power-cycled");
        kiln_core_do(c, KILN_LENDER_DO_POWER, device, -1, false, "");
        kiln_core_rejoin(c, now, device, c->limits.power_ms);
    } else {
        quarantine(c, now, device, "no greeting");
    }
}

static void watch_joining(kiln_lender_core *c, int64_t now, int device) {
    kiln_lender_device *d = &c->device[device];
    if (now >= d->end_ms) {
        climb(c, now, device);
    } else if (d->retry_ms >= 0 && now >= d->retry_ms) {
        d->retry_ms = -1;
        kiln_core_do(c, KILN_LENDER_DO_RESET, device, -1, false, "");
    }
}

static void watch_up(kiln_lender_core *c, int64_t now, int device) {
    kiln_lender_device *d = &c->device[device];
    const kiln_lender_limits *l = &c->limits;
    const int64_t owed = d->owes_ms >= 0 ? now - d->owes_ms : 0;
    const int64_t hard = d->patience > 0 ? d->patience : l->hard_ms;
    const int64_t soft = hard - (l->hard_ms - l->soft_ms);
    if (now - d->heard_ms >= l->beat_ms) {
        hung(c, now, device, "nothing is heard of it");
    } else if (d->owes_ms >= 0 && owed >= hard) {
        hung(c, now, device, "it owes an answer");
    } else if (d->owes_ms >= 0 && owed >= soft && d->rung == KILN_LENDER_WELL) {
        d->rung = KILN_LENDER_SOFT;
        kiln_core_note(c, now, device, "no answer for %lld s: asked after",
                       (long long)(owed / 1000));
        kiln_core_do(c, KILN_LENDER_DO_ASK, device, -1, false, "");
    }
}

/* Every so often: who knows, somebody may have repaired it. */
static void watch_out(kiln_lender_core *c, int64_t now, int device) {
    kiln_lender_device *d = &c->device[device];
    if (now < d->end_ms)
        return;
    d->end_ms = now + next_try(c, d);
    kiln_core_do(c, KILN_LENDER_DO_RESET, device, -1, false, "");
}

void kiln_core_watch(kiln_lender_core *c, int64_t now) {
    for (int i = 0; i < c->n_devices; i++)
        switch (c->device[i].state) {
        case KILN_LENDER_JOINING:
            watch_joining(c, now, i);
            break;
        case KILN_LENDER_FREE:
        case KILN_LENDER_COOLING:
        case KILN_LENDER_LENT:
            watch_up(c, now, i);
            break;
        case KILN_LENDER_QUARANTINED:
            watch_out(c, now, i);
            break;
        case KILN_LENDER_ABSENT:
        case KILN_LENDER_N_STATES:
            break;
        }
}
