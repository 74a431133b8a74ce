/* What a GPU has, as JSON. */
#include "compiler/target/target_internal.h"

#include <inttypes.h>
#include <string.h>

typedef struct field {
    const char *name;
    size_t at, bytes;
    int64_t least, most;
} field;

#define FIELD(name, least, most)                                                       \
    { #name, offsetof(kiln_gpu, name), sizeof((kiln_gpu *)NULL)->name, least, most }
enum { MOST_BYTES = 1 << 30, MOST_RATE = 1 << 30 };
static const field fields[] = {FIELD(warp, 1, 1024),
                               FIELD(block_threads, 1, 1 << 16),
                               FIELD(shared_bytes, 0, MOST_BYTES),
                               FIELD(registers, 8, 1 << 16),
                               FIELD(processors, 1, 1 << 16),
                               FIELD(processor_threads, 1, 1 << 20),
                               FIELD(processor_registers, 0, 1 << 24),
                               FIELD(peak_gflops, 1, MOST_RATE),
                               FIELD(memory_gbs, 1, MOST_RATE),
                               FIELD(l2_kib, 0, MOST_BYTES),
                               FIELD(has_tensor_cores, 0, 1)};
enum { N_FIELDS = sizeof fields / sizeof fields[0] };

static bool is_flag(const field *f) { return f->bytes == sizeof(bool); }

static int64_t get(const kiln_gpu *g, const field *f) {
    const char *p = (const char *)g + f->at;
    return is_flag(f)                    ? *(const bool *)p
           : f->bytes == sizeof(int64_t) ? *(const int64_t *)p
                                         : *(const int *)p;
}

static void set(kiln_gpu *g, const field *f, int64_t v) {
    char *p = (char *)g + f->at;
    if (is_flag(f))
        *(bool *)p = v != 0;
    else if (f->bytes == sizeof(int64_t))
        *(int64_t *)p = v;
    else
        *(int *)p = (int)v;
}

void kiln_gpu_put(kiln_json_writer *w, const kiln_gpu *g) {
    kiln_json_begin_object(w);
    for (int i = 0; i < N_FIELDS; i++)
        if (is_flag(&fields[i]))
            kiln_json_member_bool(w, fields[i].name, get(g, &fields[i]) != 0);
        else
            kiln_json_member_i64(w, fields[i].name, get(g, &fields[i]));
    kiln_json_end_object(w);
}

static kiln_status read_field(const kiln_json *json, const field *f, const char *where,
                              kiln_gpu *out, kiln_err *err) {
    const kiln_json *v = kiln_json_get(json, f->name);
    int64_t n = 0;
    if (is_flag(f) && !kiln_json_is_bool(v))
        return kiln_fail(err, KILN_ERR_PARSE, "%s: 'gpu.%s' must be true or false",
                         where, f->name);
    if (is_flag(f))
        n = kiln_json_bool(v, false);
    else if (!kiln_json_i64(v, &n) || n < f->least || n > f->most)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "%s: 'gpu.%s' must be a whole number from %" PRId64
                         " to %" PRId64,
                         where, f->name, f->least, f->most);
    set(out, f, n);
    return KILN_OK;
}

kiln_status kiln_gpu_read(const kiln_json *json, const char *where, kiln_gpu *out,
                          kiln_err *err) {
    kiln_gpu g = {.warp = 0};
    if (!kiln_json_is_object(json))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "%s: 'gpu' must be an object; 'kiln profile show "
                         "opencl-generic' prints one",
                         where);
    for (int i = 0; i < N_FIELDS; i++)
        KILN_TRY(read_field(json, &fields[i], where, &g, err));
    *out = g;
    return KILN_OK;
}

const char *kiln_gpu_unknown(const kiln_json *json) {
    for (const kiln_json *v = kiln_json_first(json); v != NULL; v = kiln_json_next(v)) {
        bool found = kiln_json_key(v) == NULL;
        for (int i = 0; i < N_FIELDS; i++)
            found = found || strcmp(fields[i].name, kiln_json_key(v)) == 0;
        if (!found)
            return kiln_json_key(v);
    }
    return NULL;
}
