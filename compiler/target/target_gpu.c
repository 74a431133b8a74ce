/* What a GPU has, as JSON. */
#include "compiler/target/target_internal.h"

#include <inttypes.h>
#include <string.h>

typedef struct field {
    const char *name;
    size_t at;
    bool is_wide; /* an int64_t */
    int64_t least, most;
} field;

#define FIELD(name, least, most)                                                       \
    { #name, offsetof(kiln_gpu, name), false, least, most }
enum { MOST = 1 << 30 };
static const field fields[] = {
    FIELD(warp, 1, 1024),
    FIELD(block_threads, 1, 65536),
    {"shared_bytes", offsetof(kiln_gpu, shared_bytes), true, 0, 1 << 24},
    FIELD(registers, 1, 4096),
    FIELD(processors, 1, 65536),
    FIELD(processor_threads, 1, 65536),
    FIELD(processor_registers, 1, MOST),
    FIELD(peak_gflops, 1, MOST),
    FIELD(memory_gbs, 1, MOST),
    FIELD(l2_kib, 0, MOST)};
enum { N_FIELDS = sizeof fields / sizeof fields[0] };
static const char flag[] = "has_tensor_cores";

bool kiln_profile_is_gpu(const kiln_profile *p) {
    return kiln_arch_of(p->arch)->kind == KILN_TARGET_GPU;
}

int64_t kiln_gpu_shared_most(const kiln_profile *p) {
    const kiln_arch_def *def = kiln_arch_of(p->arch);
    const int64_t most = def->shared_most != NULL ? def->shared_most(p) : 0;
    return most > p->gpu.shared_bytes ? most : p->gpu.shared_bytes;
}

bool kiln_gpu_has_mma(const kiln_profile *p) {
    const kiln_arch_def *def = kiln_arch_of(p->arch);
    return p->gpu.has_tensor_cores && def->has_mma != NULL && def->has_mma(p);
}

bool kiln_gpu_has_wgmma(const kiln_profile *p) {
    const kiln_arch_def *def = kiln_arch_of(p->arch);
    return p->gpu.has_tensor_cores && def->has_wgmma != NULL && def->has_wgmma(p);
}

static int64_t value_of(const kiln_gpu *g, const field *f) {
    const char *at = (const char *)g + f->at;
    return f->is_wide ? *(const int64_t *)(const void *)at
                      : *(const int *)(const void *)at;
}

void kiln_gpu_put(kiln_json_writer *w, const kiln_gpu *g) {
    kiln_json_begin_object(w);
    for (int i = 0; i < N_FIELDS; i++)
        kiln_json_member_i64(w, fields[i].name, value_of(g, &fields[i]));
    kiln_json_member_bool(w, flag, g->has_tensor_cores);
    kiln_json_end_object(w);
}

/* All of the numbers must be there: nobody guesses a GPU's limits. */
kiln_status kiln_gpu_read(const kiln_json *json, const char *where, kiln_gpu *out,
                          kiln_err *err) {
    const kiln_json *has = kiln_json_get(json, flag);
    kiln_gpu g = {.has_tensor_cores = kiln_json_bool(has, false)};
    if (!kiln_json_is_object(json))
        return kiln_fail(err, KILN_ERR_PARSE, "%s: 'gpu' must be an object", where);
    for (int i = 0; i < N_FIELDS; i++) {
        const field *f = &fields[i];
        char *at = (char *)&g + f->at;
        int64_t n = 0;
        if (!kiln_json_i64(kiln_json_get(json, f->name), &n) || n < f->least ||
            n > f->most)
            return kiln_fail(err, KILN_ERR_PARSE,
                             "%s: 'gpu.%s' must be a whole number from %" PRId64
                             " to %" PRId64,
                             where, f->name, f->least, f->most);
        if (f->is_wide)
            memcpy(at, &n, sizeof n);
        else
            *(int *)(void *)at = (int)n;
    }
    if (has != NULL && !kiln_json_is_bool(has))
        return kiln_fail(err, KILN_ERR_PARSE, "%s: 'gpu.%s' must be true or false",
                         where, flag);
    *out = g;
    return KILN_OK;
}

const char *kiln_gpu_unknown(const kiln_json *json) {
    for (const kiln_json *v = kiln_json_first(json); v != NULL; v = kiln_json_next(v)) {
        const char *key = kiln_json_key(v);
        bool found = key == NULL || strcmp(key, flag) == 0;
        for (int i = 0; i < N_FIELDS; i++)
            found = found || strcmp(key, fields[i].name) == 0;
        if (!found)
            return key;
    }
    return NULL;
}
