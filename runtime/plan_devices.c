/* Reading a plan's devices, their spaces, queues and modules. */
#include "runtime/plan_internal.h"

#include <string.h>

/* Few of each: whoever opens a plan opens them all. */
static int check_numbers(const kiln_plan_reader *r) {
    const kiln_plan_header *h = r->h;
    const struct {
        const char *what;
        uint64_t n, least;
    } table[] = {{"devices", h->devices.n, 1},
                 {"spaces", h->spaces.n, 1},
                 {"queues", h->queues.n, 1},
                 {"modules", h->modules.n, 0}};
    for (int i = 0; i < 4; i++)
        if (table[i].n < table[i].least || table[i].n > KILN_PLAN_MAX_DEVICES)
            return kiln_plan_refused(r, "plan: must have %llu to %d %s, has %llu",
                                     (unsigned long long)table[i].least,
                                     KILN_PLAN_MAX_DEVICES, table[i].what,
                                     (unsigned long long)table[i].n);
    return 0;
}

static int check_kinds(const kiln_plan_reader *r) {
    for (uint32_t i = 0; i < r->h->devices.n; i++) {
        const uint32_t at = r->plan->device[i].kind;
        if (!kiln_plan_is_string(r, at))
            return kiln_plan_refused(r, "plan: device %u has no kind", i);
        const char *kind = kiln_plan_string(r->plan, at);
        if ((strcmp(kind, "host") == 0) != (i == 0))
            return kiln_plan_refused(
                r, "plan: device 0 and no other must be 'host', device %u is '%s'", i,
                kind);
    }
    return 0;
}

/* The first one is the host's; whose the others are they say. */
static int check_owner(const kiln_plan_reader *r, const char *what, uint32_t i,
                       uint32_t device) {
    if (device >= r->h->devices.n)
        return kiln_plan_refused(r, "plan: %s %u belongs to no device", what, i);
    if (i == 0 && device != 0)
        return kiln_plan_refused(r, "plan: %s 0 must be the host's", what);
    return 0;
}

static int check_spaces(const kiln_plan_reader *r) {
    for (uint32_t i = 0; i < r->h->spaces.n; i++) {
        const kiln_plan_space *s = &r->plan->space[i];
        if (check_owner(r, "space", i, s->device) != 0)
            return -1;
        if (s->arena_bytes > KILN_PLAN_MAX_MEMORY ||
            s->packed_bytes > KILN_PLAN_MAX_MEMORY)
            return kiln_plan_refused(
                r, "plan: space %u asks for more than 2^40 bytes of memory", i);
    }
    return 0;
}

/* The host does at once what it is told: a second queue would not be one. */
static int check_queues(const kiln_plan_reader *r) {
    for (uint32_t i = 0; i < r->h->queues.n; i++) {
        const uint32_t device = r->plan->queue[i].device;
        if (check_owner(r, "queue", i, device) != 0)
            return -1;
        if (i > 0 && device == 0)
            return kiln_plan_refused(
                r, "plan: the host has queue 0 alone, not queue %u", i);
    }
    return 0;
}

/* A plain name of a file: nothing that leads out of the package's folder, or to what
 * else is in it. */
static bool is_file(const char *name) {
    const size_t n = strlen(name);
    return n > 0 && n <= KILN_PLAN_MAX_FILE && name[0] != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789._-") == n &&
           strcmp(name, "plan.bin") != 0 && strcmp(name, "params.safetensors") != 0;
}

static int check_modules(const kiln_plan_reader *r) {
    const kiln_plan *p = r->plan;
    for (uint32_t i = 0; i < r->h->modules.n; i++) {
        const kiln_plan_module *m = &p->module[i];
        if (m->device >= r->h->devices.n)
            return kiln_plan_refused(r, "plan: module %u belongs to no device", i);
        if (!kiln_plan_is_string(r, m->file) || !is_file(kiln_plan_string(p, m->file)))
            return kiln_plan_refused(r, "plan: module %u has no plain name of a file",
                                     i);
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(kiln_plan_string(p, p->module[k].file),
                       kiln_plan_string(p, m->file)) == 0)
                return kiln_plan_refused(r, "plan: modules %u and %u are both '%s'", k,
                                         i, kiln_plan_string(p, m->file));
    }
    return 0;
}

int kiln_plan_check_devices(const kiln_plan_reader *r) {
    return check_numbers(r) == 0 && check_kinds(r) == 0 && check_spaces(r) == 0 &&
                   check_queues(r) == 0 && check_modules(r) == 0
               ? 0
               : -1;
}
