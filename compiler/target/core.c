/* What a core does in a cycle: as JSON, and for rules that guess. */
#include "compiler/target/target_internal.h"

#include <string.h>

/* Where a profile does not say: the least that is common. */
enum { LEAST_L1 = 1 << 15, LEAST_L2 = 1 << 18 };

/* What the system says, unless one core was seen to get much less of it: rules count on
 * half of a cache at most, and what is read of the last quarter depends on its sets. */
static int64_t cache_of(int64_t said, int seen_kib) {
    const int64_t seen = (int64_t)seen_kib * 1024;
    return seen > 0 && seen < said / 4 * 3 ? seen : said;
}

int64_t kiln_cache_l1(const kiln_profile *p) {
    return cache_of(p->l1d_bytes > 0 ? p->l1d_bytes : LEAST_L1, p->core.l1_kib);
}

int64_t kiln_cache_l2(const kiln_profile *p) {
    return cache_of(p->l2_bytes > 0 ? p->l2_bytes : LEAST_L2, p->core.l2_kib);
}

int64_t kiln_cache_last(const kiln_profile *p) {
    return p->l3_bytes > 0 ? cache_of(p->l3_bytes, p->core.l3_kib) : kiln_cache_l2(p);
}

int kiln_rate_behind_l2(const kiln_profile *p) {
    const bool has_l3 = p->l3_bytes > 0 && p->core.l3_rate > 0;
    return has_l3 ? p->core.l3_rate : p->core.memory_rate;
}

int kiln_sums_to_hide_latency(const kiln_profile *p) {
    return p->core.fma_ports * p->core.fma_latency;
}

/* ---- JSON --------------------------------------------------------------------------
 */

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
                               FIELD(memory_rate_all, 0, MOST_RATE)};
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
    return best->core;
}
