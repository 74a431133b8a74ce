/* What a core does in a cycle, as JSON. */
#include "compiler/target/target_internal.h"

#include <string.h>

typedef struct field {
    const char *name;
    size_t at;
    int least, most;
} field;

#define FIELD(name, least, most)                                                       \
    { #name, offsetof(kiln_core, name), least, most }
enum { MOST_KIB = 1 << 30, MOST_RATE = 1 << 20 };
static const field fields[] = {FIELD(fma_ports, 1, 16),
                               FIELD(fma_latency, 1, 64),
                               FIELD(load_ports, 1, 16),
                               FIELD(store_ports, 1, 16),
                               FIELD(l2_rate, 1, 4096),
                               FIELD(l3_rate, 0, 4096),
                               FIELD(memory_rate, 1, 4096),
                               FIELD(l1_kib, 0, MOST_KIB),
                               FIELD(l2_kib, 0, MOST_KIB),
                               FIELD(l3_kib, 0, MOST_KIB),
                               FIELD(memory_latency, 0, 1 << 16),
                               FIELD(l3_rate_all, 0, MOST_RATE),
                               FIELD(memory_rate_all, 0, MOST_RATE),
                               FIELD(line_bytes, 0, 4096),
                               FIELD(l1_way_kib, 0, MOST_KIB),
                               FIELD(fork_cycles, 0, 1 << 24),
                               FIELD(branch_cycles, 0, 1 << 10)};
enum { N_FIELDS = sizeof fields / sizeof fields[0], N_ALWAYS = 7 };

void kiln_core_put(kiln_json_writer *w, const kiln_core *m) {
    kiln_json_begin_object(w);
    for (int i = 0; i < N_FIELDS; i++) {
        const int v = *(const int *)((const char *)m + fields[i].at);
        if (i < N_ALWAYS || v != 0) /* nobody measured the others */
            kiln_json_member_i64(w, fields[i].name, v);
    }
    kiln_json_end_object(w);
}

static const field *field_of(const char *name) {
    for (int i = 0; i < N_FIELDS; i++)
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

kiln_status kiln_core_read(const kiln_json *json, const char *where, kiln_core *out,
                           kiln_err *err) {
    kiln_core m = *out;
    m.l1_kib = m.l2_kib = m.l3_kib = m.memory_latency = 0;
    m.l3_rate_all = m.memory_rate_all = 0;
    if (!kiln_json_is_object(json))
        return kiln_fail(err, KILN_ERR_PARSE, "%s: 'core' must be an object", where);
    for (const kiln_json *v = kiln_json_first(json); v != NULL; v = kiln_json_next(v)) {
        const field *f = field_of(kiln_json_key(v));
        int64_t n = 0;
        if (f == NULL) /* a newer kiln's; files that people write are checked before */
            continue;
        if (!kiln_json_i64(v, &n) || n < f->least || n > f->most)
            return kiln_fail(err, KILN_ERR_PARSE,
                             "%s: 'core.%s' must be a whole number from %d to %d",
                             where, f->name, f->least, f->most);
        *(int *)((char *)&m + f->at) = (int)n;
    }
    *out = m;
    return KILN_OK;
}

const char *kiln_core_unknown(const kiln_json *json) {
    for (const kiln_json *v = kiln_json_first(json); v != NULL; v = kiln_json_next(v))
        if (kiln_json_key(v) != NULL && field_of(kiln_json_key(v)) == NULL)
            return kiln_json_key(v);
    return NULL;
}

/* The shipped profile with the same vectors; else the one of the architecture whose
 * vectors are nearest. */
kiln_core kiln_core_default(kiln_arch arch, int vector_bytes) {
    const kiln_profile *best = kiln_profile_at(0);
    int64_t least = INT64_MAX;
    for (int i = 0; kiln_profile_at(i) != NULL; i++) {
        const kiln_profile *p = kiln_profile_at(i);
        const int far = p->vector_bytes > vector_bytes ? p->vector_bytes - vector_bytes
                                                       : vector_bytes - p->vector_bytes;
        if (p->arch != arch || far >= least)
            continue;
        least = far;
        best = p;
    }
    for (int i = 0; least == INT64_MAX && kiln_cpu_profile_at(i) != NULL; i++)
        if (kiln_cpu_profile_at(i)->arch == arch) { /* it has no kind */
            least = 0;
            best = kiln_cpu_profile_at(i);
        }
    KILN_ASSERT(best != NULL && best->core.fma_ports > 0, "no profile has a core");
    return best->core;
}
