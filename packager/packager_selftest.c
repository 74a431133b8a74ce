/* selftest/: inputs, and what the reference makes of them. */
#include "packager/packager_internal.h"

#include <math.h>
#include <string.h>

/* ---- making ---------------------------------------------------------------------- */

typedef struct tensors {
    KILN_VEC(kiln_package_tensor) list;
    KILN_VEC(const void *) data;
    uint64_t bytes;
} tensors;

static void add(kiln_arena *a, tensors *f, const char *name, const kiln_type *t,
                const void *data) {
    const kiln_package_tensor tensor = {name, *t, f->bytes};
    const uint64_t bytes = (uint64_t)kiln_type_bytes(t);
    kiln_vec_push(a, &f->list, tensor);
    kiln_vec_push(a, &f->data, data);
    f->bytes += (bytes + KILN_PLAN_ALIGN - 1) / KILN_PLAN_ALIGN * KILN_PLAN_ALIGN;
}

static kiln_str finish(kiln_arena *a, const tensors *f) {
    const kiln_str head = kiln_package_params_head(a, f->list.v, f->list.n, f->bytes);
    char *all = kiln_arena_alloc(a, head.n + (size_t)f->bytes); /* padding: zeros */
    memcpy(all, head.p, head.n);
    for (size_t i = 0; i < f->list.n; i++) {
        const size_t bytes = (size_t)kiln_type_bytes(&f->list.v[i].type);
        if (bytes > 0)
            memcpy(all + head.n + f->list.v[i].offset, f->data.v[i], bytes);
    }
    return (kiln_str){all, head.n + (size_t)f->bytes};
}

/* First, last, and of each stretch between them one that the output's number draws;
 * ascending, each once. */
static int64_t *sample(kiln_arena *a, int64_t n_elems, uint64_t seed, int64_t *n) {
    enum { N = KILN_SELFTEST_SAMPLES - 2 };
    KILN_ASSERT(n_elems > KILN_SELFTEST_SAMPLES, "%lld elements need no sample",
                (long long)n_elems);
    int64_t *at = kiln_array(a, int64_t, KILN_SELFTEST_SAMPLES);
    const int64_t inner = n_elems - 2, each = inner / N, rest = inner % N;
    int64_t begin = 1;
    kiln_rng rng;
    kiln_rng_init(&rng, seed);
    at[0] = 0;
    for (int64_t i = 0; i < N; i++) { /* n_elems > N + 2: none is empty */
        const int64_t length = each + (i < rest ? 1 : 0);
        at[1 + i] = begin + kiln_rng_range(&rng, 0, length - 1);
        begin += length;
    }
    KILN_ASSERT(begin == n_elems - 1, "stretches end at %lld of %lld", (long long)begin,
                (long long)n_elems);
    at[1 + N] = n_elems - 1;
    *n = KILN_SELFTEST_SAMPLES;
    return at;
}

static int64_t *all(kiln_arena *a, int64_t n) {
    int64_t *at = kiln_array(a, int64_t, n);
    for (int64_t i = 0; i < n; i++)
        at[i] = i;
    return at;
}

static void add_bound(kiln_arena *a, tensors *f, const char *name, const float *bound,
                      int64_t n) {
    const kiln_type t = kiln_type_make(KILN_F32, 1, &n);
    if (bound != NULL)
        add(a, f, kiln_format(a, "%s.bound", name), &t, bound);
}

/* Of the whole output, or of the elements that are to be compared. */
static void add_sampled(kiln_arena *a, tensors *f, const char *name,
                        const kiln_package_expected *from, uint64_t seed) {
    const kiln_tensor *t = &from->value;
    int64_t n = kiln_type_elems(&t->type);
    int64_t *at = n > KILN_SELFTEST_SAMPLES ? sample(a, n, seed, &n) : all(a, n);
    const size_t size = kiln_dtype_bytes(t->type.dtype);
    const kiln_type values = kiln_type_make(t->type.dtype, 1, &n),
                    places = kiln_type_make(KILN_I64, 1, &n);
    char *value = kiln_arena_array(a, (size_t)n, size);
    for (int64_t i = 0; i < n; i++)
        memcpy(value + (size_t)i * size, (const char *)t->data + (size_t)at[i] * size,
               size);
    const int64_t *place = kiln_arena_dup(a, at, (size_t)n * sizeof *at);
    float *bound = NULL;
    for (int64_t i = 0; i < n && from->at != NULL; i++)
        at[i] = from->at[at[i]];
    if (from->bound != NULL)
        bound = kiln_array(a, float, n);
    for (int64_t i = 0; i < n && bound != NULL; i++)
        bound[i] = from->bound[place[i]];
    add(a, f, name, &values, value);
    add(a, f, kiln_format(a, "%s.at", name), &places, at);
    add_bound(a, f, name, bound, n);
}

void kiln_package_selftest_make(kiln_arena *a, const kiln_tensor *in, size_t n_in,
                                const kiln_package_expected *out, size_t n_out,
                                kiln_package_selftest *result) {
    tensors inputs = {.bytes = 0}, expected = {.bytes = 0};
    for (size_t i = 0; i < n_in; i++)
        add(a, &inputs, kiln_format(a, "input%zu", i), &in[i].type, in[i].data);
    for (size_t i = 0; i < n_out; i++) {
        const char *name = kiln_format(a, "output%zu", i);
        const kiln_tensor *t = &out[i].value;
        const int64_t n = kiln_type_elems(&t->type);
        if (out[i].at != NULL || n > KILN_SELFTEST_SAMPLES) {
            add_sampled(a, &expected, name, &out[i], i);
            continue;
        }
        add(a, &expected, name, &t->type, t->data);
        add_bound(a, &expected, name, out[i].bound, n);
    }
    result->inputs = finish(a, &inputs);
    result->expected = finish(a, &expected);
}

/* ---- reading --------------------------------------------------------------------- */

static kiln_type type_of(const kiln_package_port *p) {
    kiln_dtype dtype = KILN_F32;
    const bool ok = kiln_dtype_parse(kiln_str_from(p->dtype), &dtype);
    KILN_ASSERT(ok, "the manifest was checked: '%s'", p->dtype);
    return kiln_type_make(dtype, p->rank, p->dim);
}

static kiln_tensor copy_of(kiln_arena *a, const kiln_safetensors *s,
                           const kiln_safetensor *t, kiln_str file) {
    kiln_tensor out = kiln_tensor_new(a, &t->type);
    const size_t bytes = (size_t)kiln_type_bytes(&t->type);
    if (bytes > 0)
        memcpy(out.data, file.p + s->data + t->begin, bytes);
    return out;
}

static kiln_status take(kiln_arena *a, const kiln_safetensors *s, size_t i,
                        const char *name, const kiln_type *want, kiln_str file,
                        const char *file_name, kiln_tensor *out, kiln_err *err) {
    if (i >= s->n || strcmp(s->tensor[i].name, name) != 0)
        return kiln_fail(err, KILN_ERR_PARSE, "%s: tensor '%s' is missing", file_name,
                         name);
    if (!kiln_type_eq(&s->tensor[i].type, want))
        return kiln_fail(err, KILN_ERR_PARSE, "%s: tensor '%s' must be %s, is %s",
                         file_name, name, kiln_type_text(a, want),
                         kiln_type_text(a, &s->tensor[i].type));
    *out = copy_of(a, s, &s->tensor[i], file);
    return KILN_OK;
}

/* Values, and the places where they belong, ascending and inside. */
static kiln_status take_sampled(kiln_arena *a, const kiln_safetensors *s, size_t i,
                                const char *name, const kiln_type *whole, kiln_str file,
                                kiln_package_expected *out, kiln_err *err) {
    const int64_t n =
        i < s->n && s->tensor[i].type.rank == 1 ? s->tensor[i].type.dim[0] : -1;
    if (n < 0)
        return kiln_fail(err, KILN_ERR_PARSE, "%s: tensor '%s' must be a list",
                         KILN_ENTRY_EXPECTED, name);
    const kiln_type values = kiln_type_make(whole->dtype, 1, &n),
                    places = kiln_type_make(KILN_I64, 1, &n);
    kiln_tensor at;
    KILN_TRY(take(a, s, i, name, &values, file, KILN_ENTRY_EXPECTED, &out->value, err));
    KILN_TRY(take(a, s, i + 1, kiln_format(a, "%s.at", name), &places, file,
                  KILN_ENTRY_EXPECTED, &at, err));
    const int64_t *p = at.data;
    int64_t before = -1;
    for (int64_t k = 0; k < n; before = p[k++])
        if (p[k] <= before || p[k] >= kiln_type_elems(whole))
            return kiln_fail(err, KILN_ERR_PARSE,
                             "%s: tensor '%s.at' leaves the output or its order",
                             KILN_ENTRY_EXPECTED, name);
    out->at = p;
    return KILN_OK;
}

static bool has(kiln_arena *a, const kiln_safetensors *s, size_t i, const char *name,
                const char *what) {
    return i < s->n &&
           strcmp(s->tensor[i].name, kiln_format(a, "%s.%s", name, what)) == 0;
}

/* Bounds of the values before them: numbers, of at least 0. */
static kiln_status take_bound(kiln_arena *a, const kiln_safetensors *s, size_t i,
                              const char *name, kiln_str file,
                              kiln_package_expected *out, kiln_err *err) {
    const int64_t n = kiln_type_elems(&out->value.type);
    const kiln_type t = kiln_type_make(KILN_F32, 1, &n);
    kiln_tensor bound;
    KILN_TRY(take(a, s, i, kiln_format(a, "%s.bound", name), &t, file,
                  KILN_ENTRY_EXPECTED, &bound, err));
    const float *b = bound.data;
    for (int64_t k = 0; k < n; k++)
        if (!(b[k] >= 0) || isinf(b[k]))
            return kiln_fail(err, KILN_ERR_PARSE,
                             "%s: tensor '%s.bound' must hold numbers of at least 0",
                             KILN_ENTRY_EXPECTED, name);
    out->bound = b;
    return KILN_OK;
}

kiln_status kiln_selftest_decode(kiln_arena *a, const kiln_package_facts *f,
                                 kiln_str inputs, kiln_str expected, kiln_tensor *in,
                                 kiln_package_expected *out, kiln_err *err) {
    kiln_safetensors s;
    size_t at = 0;
    KILN_TRY(kiln_safetensors_read(a, inputs, inputs.n, KILN_ENTRY_INPUTS, &s, err));
    for (size_t i = 0; i < f->n_inputs; i++) {
        const kiln_type t = type_of(&f->input[i]);
        KILN_TRY(take(a, &s, i, kiln_format(a, "input%zu", i), &t, inputs,
                      KILN_ENTRY_INPUTS, &in[i], err));
    }
    if (s.n != f->n_inputs)
        return kiln_fail(err, KILN_ERR_PARSE, "%s: %zu tensors for %zu inputs",
                         KILN_ENTRY_INPUTS, s.n, f->n_inputs);
    KILN_TRY(
        kiln_safetensors_read(a, expected, expected.n, KILN_ENTRY_EXPECTED, &s, err));
    for (size_t i = 0; i < f->n_outputs; i++) {
        const kiln_type t = type_of(&f->output[i]);
        const char *name = kiln_format(a, "output%zu", i);
        const bool is_whole = kiln_type_elems(&t) <= KILN_SELFTEST_SAMPLES &&
                              !has(a, &s, at + 1, name, "at");
        out[i] = (kiln_package_expected){.at = NULL};
        if (is_whole)
            KILN_TRY(take(a, &s, at, name, &t, expected, KILN_ENTRY_EXPECTED,
                          &out[i].value, err));
        else
            KILN_TRY(take_sampled(a, &s, at, name, &t, expected, &out[i], err));
        at += is_whole ? 1 : 2;
        if (has(a, &s, at, name, "bound"))
            KILN_TRY(take_bound(a, &s, at++, name, expected, &out[i], err));
    }
    if (s.n != at)
        return kiln_fail(err, KILN_ERR_PARSE, "%s: %zu tensors, the outputs take %zu",
                         KILN_ENTRY_EXPECTED, s.n, at);
    return KILN_OK;
}

kiln_status kiln_package_selftest_read(kiln_arena *a, const char *folder,
                                       const kiln_package_facts *f, kiln_tensor *in,
                                       kiln_package_expected *out, kiln_err *err) {
    kiln_str inputs, expected;
    KILN_TRY(kiln_file_map(a, kiln_path_join(a, folder, KILN_ENTRY_INPUTS), 0, &inputs,
                           err));
    KILN_TRY(kiln_file_map(a, kiln_path_join(a, folder, KILN_ENTRY_EXPECTED), 0,
                           &expected, err));
    return kiln_selftest_decode(a, f, inputs, expected, in, out, err);
}
