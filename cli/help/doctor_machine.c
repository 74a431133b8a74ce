/* kiln doctor: what was measured of this machine, which rules that guess read. */
#include "cli/help/verb_doctor.h"
#include "pipeline/machine/machine.h"

#include <time.h>

static const char *date_of(kiln_arena *a, int64_t time_ms) {
    const time_t seconds = (time_t)(time_ms / 1000);
    struct tm utc;
    char text[32] = "";
    if (gmtime_r(&seconds, &utc) == NULL ||
        strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &utc) == 0)
        return "a time that has no date";
    return kiln_str_dup(a, text);
}

static const char *text_of(kiln_arena *a, const kiln_machine_model *m) {
    const kiln_core *c = &m->core;
    return kiln_format(
        a,
        "measured %s: %d multiply-adds a cycle, each %d cycles; %d loads, %d stores; "
        "bytes a cycle %d from L2, %d from L3, %d from memory (%d into all cores); a "
        "core gets %d KiB of L2, %d of L3; %.2f GHz",
        date_of(a, m->time_ms), c->fma_ports, c->fma_latency, c->load_ports,
        c->store_ports, c->l2_rate, c->l3_rate, c->memory_rate, c->memory_rate_all,
        c->l2_kib, c->l3_kib, m->clock_ghz);
}

void doctor_machine(findings *f) {
    kiln_profile native;
    const kiln_machine_model *m = NULL;
    kiln_err why = {.status = KILN_OK};
    kiln_status st = kiln_profile_detect(f->arena, &native, &why);
    if (st == KILN_OK)
        st = kiln_machine_kept(f->arena, &native, &m, &why);
    if (st != KILN_OK)
        doctor_add(f, "machine model", NOTE, "what was measured cannot be read",
                   kiln_str_dup(f->arena, why.text));
    else if (m == NULL)
        doctor_add(f, "machine model", NOTE,
                   "not measured: guesses go by what is known of such CPUs",
                   "on a quiet machine, 'kiln profile detect'");
    else
        doctor_add(f, "machine model", GOOD, text_of(f->arena, m), NULL);
}
