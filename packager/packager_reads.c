/* What two packages run by and read, beside one another: their plans, but for where
 * parameters lie in their file, and the bytes of it that the plans name. Packages of one
 * archive share that file, so that neither its bytes nor its size are a package's own. */
#include "packager/packager_internal.h"

#include <stdlib.h>
#include <string.h>

/* A package's plan and parameters. */
typedef struct side {
    kiln_str file; /* plan.bin */
    kiln_plan plan;
    const char *data;                  /* of the parameters */
    const kiln_plan_tensor **constant; /* in the plan's order */
    size_t n;
} side;

static kiln_status open_side(kiln_arena *a, const char *folder, side *s,
                             kiln_err *err) {
    char error[KILN_PLAN_ERROR];
    kiln_str params;
    kiln_safetensors tensors;
    KILN_TRY(
        kiln_file_map(a, kiln_path_join(a, folder, KILN_ENTRY_PLAN), 0, &s->file, err));
    if (kiln_plan_check(s->file.p, s->file.n, &s->plan, error) != 0)
        return kiln_fail(err, KILN_ERR_PARSE, KILN_ENTRY_PLAN ": %s", error);
    KILN_TRY(kiln_file_map(a, kiln_path_join(a, folder, KILN_ENTRY_PARAMS), 0, &params,
                           err));
    KILN_TRY(kiln_package_params_of(a, &s->plan, params, params.n, &tensors, err));
    s->data = params.p + tensors.data;
    const uint32_t n = s->plan.header->n_tensors;
    s->constant = kiln_array(a, const kiln_plan_tensor *, n);
    for (uint32_t i = 0; i < n; i++)
        if (s->plan.tensor[i].place == KILN_PLAN_PARAM)
            s->constant[s->n++] = &s->plan.tensor[i];
    return KILN_OK;
}

/* The plan without what says where parameters lie. */
static kiln_str placeless(kiln_arena *a, const side *s) {
    char *bytes = kiln_arena_dup(a, s->file.p, s->file.n);
    kiln_plan_header *h = (void *)bytes;
    kiln_plan_tensor *tensor = (void *)(bytes + h->tensors);
    for (uint32_t i = 0; i < h->n_tensors; i++)
        if (tensor[i].place == KILN_PLAN_PARAM)
            tensor[i].offset = 0;
    h->param_bytes = 0;
    return (kiln_str){bytes, s->file.n};
}

static bool same_params(const side *x, const side *y) {
    bool same = x->n == y->n;
    for (size_t i = 0; i < x->n && same; i++)
        same =
            x->constant[i]->bytes == y->constant[i]->bytes &&
            memcmp(x->data + x->constant[i]->offset, y->data + y->constant[i]->offset,
                   (size_t)x->constant[i]->bytes) == 0;
    return same;
}

static int by_place(const void *x, const void *y) {
    const kiln_plan_tensor *const *p = x, *const *q = y;
    return ((*p)->offset > (*q)->offset) - ((*p)->offset < (*q)->offset);
}

/* What several constants name counts once. */
static uint64_t bytes_of(kiln_arena *a, const side *s) {
    const kiln_plan_tensor **t = kiln_array(a, const kiln_plan_tensor *, s->n);
    uint64_t bytes = 0, end = 0; /* of all before */
    for (size_t i = 0; i < s->n; i++)
        t[i] = s->constant[i];
    if (s->n > 0)
        qsort(t, s->n, sizeof *t, by_place);
    for (size_t i = 0; i < s->n; i++) {
        const uint64_t from = t[i]->offset > end ? t[i]->offset : end;
        const uint64_t to = t[i]->offset + (t[i]->bytes + KILN_PLAN_ALIGN - 1) /
                                               KILN_PLAN_ALIGN * KILN_PLAN_ALIGN;
        bytes += to > from ? to - from : 0;
        end = to > end ? to : end;
    }
    return bytes;
}

static kiln_status compare(kiln_arena *a, const char *folder, const char *other,
                           kiln_package_reads *out, kiln_err *err) {
    side x = {.n = 0}, y = {.n = 0};
    KILN_TRY(open_side(a, folder, &x, err));
    KILN_TRY(open_side(a, other, &y, err));
    *out = (kiln_package_reads){.same_plan =
                                    kiln_str_eq(placeless(a, &x), placeless(a, &y)),
                                .same_params = same_params(&x, &y),
                                .param_bytes = bytes_of(a, &x),
                                .other_param_bytes = bytes_of(a, &y)};
    return KILN_OK;
}

kiln_status kiln_package_compare_reads(const char *folder, const char *other,
                                       kiln_package_reads *out, kiln_err *err) {
    kiln_arena scratch = {0};
    const kiln_status st = compare(&scratch, folder, other, out, err);
    if (st != KILN_OK)
        kiln_note(err, "comparing the packages' folders '%s' and '%s'", folder, other);
    kiln_arena_fini(&scratch);
    return st;
}
