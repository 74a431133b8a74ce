/* Measuring this machine, and keeping what was found. */
#include "pipeline/machine/machine_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { VERSION = 1, ID_DIGITS = 16 };

static int64_t wall_ms(void) {
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

kiln_status kiln_machine_measure(kiln_arena *a, const kiln_profile *p,
                                 kiln_machine_model *out, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_machine_probes *probes = kiln_new(&scratch, kiln_machine_probes);
    kiln_machine_reading r[KILN_MAX_PROBES];
    kiln_machine_model m = {.time_ms = wall_ms(),
                            .kiln = kiln_str_dup(a, KILN_VERSION)};
    const int64_t begin = kiln_now_ns();
    kiln_status st = kiln_runs_here(p, err);
    if (st == KILN_OK)
        st = kiln_machine_probes_make(&scratch, p, true, probes, err);
    if (st == KILN_OK)
        st = kiln_machine_child(probes, r, err);
    if (st == KILN_OK)
        st = kiln_machine_core(p, probes, r, &m.core, err);
    for (int i = 0; st == KILN_OK && i < probes->n; i++) {
        m.slices += r[i].slices;
        m.disturbed += r[i].disturbed;
        m.spread = fmax(m.spread, r[i].spread);
        m.clock_ghz = fmax(m.clock_ghz, r[i].clock_ghz);
    }
    kiln_arena_fini(&scratch);
    m.seconds = (double)(kiln_now_ns() - begin) * 1e-9;
    if (st == KILN_OK)
        *out = m;
    return st;
}

/* ---- whose ----------------------------------------------------------------------- */

/* What detection says, and the CPU's name: two machines of a shared home folder. */
static const char *id_of(kiln_arena *a, const kiln_profile *native) {
    char hex[KILN_SHA256_HEX];
    kiln_machine m;
    kiln_machine_read(a, &m);
    const char *text = kiln_format(
        a, "%s|%s|%s|%d|%" PRId64 "|%" PRId64 "|%" PRId64 "|%d", m.cpu,
        kiln_arch_name(native->arch), native->features, native->cores,
        native->l1d_bytes, native->l2_bytes, native->l3_bytes, native->vector_bytes);
    kiln_sha256_of(text, strlen(text), hex);
    return kiln_format(a, "%.*s", ID_DIGITS, hex);
}

const char *kiln_machine_path(kiln_arena *a, const kiln_profile *native) {
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    const char *name = kiln_format(a, "machines/%s.json", id_of(a, native));
    if (data != NULL && data[0] == '/')
        return kiln_path_join(a, kiln_path_join(a, data, "kiln"), name);
    if (home != NULL && home[0] == '/')
        return kiln_path_join(a, kiln_path_join(a, home, ".local/share/kiln"), name);
    return NULL;
}

/* ---- the document ---------------------------------------------------------------- */

void kiln_machine_document(kiln_buf *out, const kiln_profile *native,
                           const kiln_machine_model *m) {
    kiln_arena scratch = {0};
    kiln_json_writer w;
    kiln_json_writer_init(&w, out);
    kiln_json_begin_object(&w);
    kiln_json_member_i64(&w, "kiln_machine", VERSION);
    kiln_json_member_str(&w, "id", id_of(&scratch, native));
    kiln_json_member_str(&w, "kiln", m->kiln);
    kiln_json_member_i64(&w, "time_ms", m->time_ms);
    kiln_json_member_f64(&w, "seconds", m->seconds);
    kiln_json_member_f64(&w, "clock_ghz", m->clock_ghz);
    kiln_json_member_f64(&w, "spread", m->spread);
    kiln_json_member_i64(&w, "slices", m->slices);
    kiln_json_member_i64(&w, "disturbed", m->disturbed);
    kiln_json_name(&w, "core");
    kiln_core_put(&w, &m->core);
    kiln_json_end_object(&w);
    kiln_buf_puts(out, "\n");
    kiln_arena_fini(&scratch);
}

static kiln_status bad(const char *where, const char *key, const char *what,
                       kiln_err *err) {
    return kiln_fail(err, KILN_ERR_PARSE,
                     "%s: '%s' must be %s; 'kiln profile detect --measure' writes the "
                     "file anew",
                     where, key, what);
}

static kiln_status number(const kiln_json *json, const char *where, const char *key,
                          double most, double *out, kiln_err *err) {
    const double v = kiln_json_number(kiln_json_get(json, key), -1);
    if (!(v >= 0 && v <= most))
        return bad(where, key, kiln_json_get(json, key) == NULL ? "there" : "in range",
                   err);
    *out = v;
    return KILN_OK;
}

static kiln_status count(const kiln_json *json, const char *where, const char *key,
                         int64_t most, int64_t *out, kiln_err *err) {
    if (!kiln_json_i64(kiln_json_get(json, key), out) || *out < 0 || *out > most)
        return bad(where, key, "a whole number in range", err);
    return KILN_OK;
}

kiln_status kiln_machine_read_document(kiln_arena *a, const kiln_json *json,
                                       const char *where, const kiln_profile *native,
                                       const kiln_machine_model **out, kiln_err *err) {
    kiln_machine_model *m = kiln_new(a, kiln_machine_model);
    int64_t version = 0, slices = 0, disturbed = 0;
    *out = NULL;
    KILN_TRY(count(json, where, "kiln_machine", 1 << 20, &version, err));
    if (version != VERSION)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "%s: this kiln reads measured machines of version %d, not "
                         "%" PRId64 "; 'kiln profile detect --measure' writes one",
                         where, VERSION, version);
    const char *id = kiln_json_string(kiln_json_get(json, "id"), NULL);
    const char *kiln = kiln_json_string(kiln_json_get(json, "kiln"), NULL);
    if (id == NULL || kiln == NULL)
        return bad(where, id == NULL ? "id" : "kiln", "a string", err);
    if (strcmp(id, id_of(a, native)) != 0)
        return KILN_OK; /* another machine's */
    m->kiln = kiln_str_printable(a, kiln_str_from(kiln), 64);
    KILN_TRY(count(json, where, "time_ms", INT64_C(1) << 50, &m->time_ms, err));
    KILN_TRY(number(json, where, "seconds", 1e6, &m->seconds, err));
    KILN_TRY(number(json, where, "clock_ghz", 100, &m->clock_ghz, err));
    KILN_TRY(number(json, where, "spread", 1e6, &m->spread, err));
    KILN_TRY(count(json, where, "slices", 1 << 20, &slices, err));
    KILN_TRY(count(json, where, "disturbed", slices, &disturbed, err));
    m->slices = (int)slices;
    m->disturbed = (int)disturbed;
    m->core = native->core;
    KILN_TRY(kiln_core_read(kiln_json_get(json, "core"), where, &m->core, err));
    if (m->core.l2_rate < m->core.memory_rate)
        return bad(where, "core.memory_rate", "at most 'core.l2_rate'", err);
    *out = m;
    return KILN_OK;
}

/* ---- the file -------------------------------------------------------------------- */

kiln_status kiln_machine_kept(kiln_arena *a, const kiln_profile *native,
                              const kiln_machine_model **out, kiln_err *err) {
    const char *path = kiln_machine_path(a, native);
    const kiln_json *json = NULL;
    *out = NULL;
    if (path == NULL || !kiln_file_exists(path))
        return KILN_OK;
    KILN_TRY(kiln_json_read(a, path, &json, err));
    return kiln_machine_read_document(a, json, path, native, out, err);
}

kiln_status kiln_machine_keep(kiln_arena *a, const kiln_profile *native,
                              const kiln_machine_model *m, const char **path,
                              kiln_err *err) {
    const char *file = kiln_machine_path(a, native);
    kiln_buf text;
    if (file == NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "no place for what was measured: neither XDG_DATA_HOME nor "
                         "HOME names a folder");
    kiln_buf_init(&text, a);
    kiln_machine_document(&text, native, m);
    KILN_TRY(kiln_dir_make(kiln_path_dir(a, file), err));
    KILN_TRY(kiln_file_write(file, text.p, text.n, err));
    if (path != NULL)
        *path = file;
    return KILN_OK;
}

kiln_status kiln_machine_native(kiln_arena *a, kiln_profile *out, kiln_err *err) {
    const kiln_machine_model *m = NULL;
    kiln_profile p;
    KILN_TRY(kiln_profile_detect(a, &p, err));
    KILN_TRY(kiln_machine_kept(a, &p, &m, err));
    if (m != NULL)
        p.core = m->core;
    *out = p;
    return KILN_OK;
}

kiln_status kiln_machine_find(kiln_arena *a, const char *name_or_path,
                              kiln_profile *out, kiln_err *err) {
    kiln_profile named, host;
    if (strcmp(name_or_path, "native") == 0)
        return kiln_machine_native(a, out, err);
    KILN_TRY(kiln_profile_find(a, name_or_path, &named, err));
    if (kiln_arch_of(named.arch)->kind == KILN_TARGET_CPU) {
        *out = named;
        return KILN_OK;
    }
    KILN_TRY(
        kiln_machine_find(a, named.host != NULL ? named.host : "native", &host, err));
    return kiln_profile_beside(a, &host, &named, out, err);
}
