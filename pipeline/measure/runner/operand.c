/* Operands as kernels have them: packed by a list of steps, kept for the next
 * candidate, and in as many copies as no cache holds. */
#include "pipeline/measure/runner/runner_internal.h"

#include <inttypes.h>
#include <string.h>

/* Of one packed operand; and of all that are kept between candidates. */
static const size_t max_operand_bytes = (size_t)4 << 30;
static const size_t max_kept_bytes = (size_t)384 << 20;
enum { COPY_ALIGN = 4096 };

int64_t kiln_value_elems(const kiln_wire_value *v) {
    int64_t n = 1;
    for (uint32_t i = 0; i < v->rank; i++)
        n *= v->dim[i];
    return n;
}

kiln_status kiln_operand_check(const kiln_wire_value *v, const kiln_wire_operand *o,
                               size_t *bytes, kiln_err *err) {
    int64_t held[KILN_WIRE_MAX_RANK];
    uint64_t all = kiln_wire_dtype_bytes(v->dtype);
    for (uint32_t axis = 0; axis < v->rank; axis++)
        held[axis] = 1;
    for (uint32_t i = o->n_steps; i-- > 0;) {
        const kiln_wire_step *s = &o->step[i];
        if (s->axis >= v->rank || s->extent < 0 || s->size != held[s->axis] ||
            (uint64_t)s->extent > max_operand_bytes)
            return kiln_fail(err, KILN_ERR_PARSE,
                             "axis %" PRIu32 " of an operand is broken", i);
        all *= (uint64_t)s->extent;
        if (all > max_operand_bytes)
            return kiln_fail(err, KILN_ERR_LIMIT, "an operand of more than %zu bytes",
                             max_operand_bytes);
        held[s->axis] *= s->extent;
    }
    for (uint32_t axis = 0; axis < v->rank; axis++)
        if (held[axis] < v->dim[axis])
            return kiln_fail(err, KILN_ERR_PARSE,
                             "an operand has not all of axis %" PRIu32, axis);
    *bytes = (size_t)all;
    return KILN_OK;
}

bool kiln_operand_has_tails(const kiln_wire_value *v, const kiln_wire_operand *o) {
    int64_t n = 1;
    for (uint32_t i = 0; i < o->n_steps; i++)
        n *= o->step[i].extent;
    return n != kiln_value_elems(v);
}

static void row_major(const kiln_wire_value *v, int64_t stride[KILN_WIRE_MAX_RANK]) {
    int64_t n = 1;
    for (uint32_t i = v->rank; i-- > 0;) {
        stride[i] = n;
        n *= v->dim[i];
    }
}

int64_t kiln_operand_at(const kiln_wire_value *v, const kiln_wire_operand *o,
                        int64_t element) {
    int64_t stride[KILN_WIRE_MAX_RANK], index[KILN_WIRE_MAX_RANK] = {0};
    row_major(v, stride);
    for (uint32_t i = 0; i < v->rank; i++) {
        index[i] = element / stride[i];
        element %= stride[i];
    }
    int64_t at = 0;
    for (uint32_t i = 0; i < o->n_steps; i++) {
        const kiln_wire_step *s = &o->step[i];
        at = at * s->extent + index[s->axis] / s->size % s->extent;
    }
    return at;
}

static void copy_element(unsigned char *to, const unsigned char *from, size_t bytes) {
    if (bytes == 4) /* a constant size is one move */
        memcpy(to, from, 4);
    else
        memcpy(to, from, bytes);
}

void kiln_operand_pack(const kiln_wire_value *v, const kiln_wire_operand *o,
                       const void *plain, void *packed) {
    const size_t bytes = kiln_wire_dtype_bytes(v->dtype);
    int64_t stride[KILN_WIRE_MAX_RANK], index[KILN_WIRE_MAX_RANK] = {0};
    int64_t at[KILN_WIRE_MAX_STEPS] = {0};
    unsigned char *to = packed;
    row_major(v, stride);
    if (o->n_steps == 0) {
        memcpy(to, plain, bytes);
        return;
    }
    for (uint32_t i = 0; i < o->n_steps; i++)
        if (o->step[i].extent == 0)
            return;
    const uint32_t last = o->n_steps - 1;
    const kiln_wire_step *run = &o->step[last];
    for (;;) {
        bool is_inside = true;
        int64_t from = 0;
        for (uint32_t i = 0; i < v->rank; i++) {
            is_inside = is_inside && index[i] < v->dim[i];
            from += index[i] * stride[i];
        }
        const int64_t left = v->dim[run->axis] - index[run->axis];
        const int64_t n = is_inside ? (left + run->size - 1) / run->size : 0;
        for (int64_t k = 0; k < run->extent; k++, to += bytes)
            if (k < n)
                copy_element(to,
                             (const unsigned char *)plain +
                                 (size_t)(from + k * run->size * stride[run->axis]) *
                                     bytes,
                             bytes);
            else
                memset(to, 0, bytes);
        uint32_t i = last;
        for (; i > 0; i--) { /* on to the next run */
            const kiln_wire_step *s = &o->step[i - 1];
            index[s->axis] += s->size;
            if (++at[i - 1] < s->extent)
                break;
            index[s->axis] -= s->extent * s->size;
            at[i - 1] = 0;
        }
        if (i == 0)
            return;
    }
}

/* ---- what is kept -----------------------------------------------------------------
 */

static bool is_same(const kiln_wire_operand *x, const kiln_wire_operand *y) {
    if (x->value != y->value || x->n_steps != y->n_steps)
        return false;
    for (uint32_t i = 0; i < x->n_steps; i++)
        if (x->step[i].axis != y->step[i].axis ||
            x->step[i].extent != y->step[i].extent ||
            x->step[i].size != y->step[i].size)
            return false;
    return true;
}

static kiln_packed *find(kiln_runner *r, const kiln_wire_work *w,
                         const kiln_wire_operand *o, uint32_t seed, uint32_t n_copies) {
    for (size_t i = 0; i < r->packed.n; i++) {
        kiln_packed *p = r->packed.v[i];
        if (p->region.map != NULL && p->work == w->id && p->seed == seed &&
            p->n_copies == n_copies && is_same(&p->operand, o))
            return p;
    }
    return NULL;
}

static kiln_packed *new_entry(kiln_runner *r) {
    for (size_t i = 0; i < r->packed.n; i++)
        if (r->packed.v[i]->region.map == NULL)
            return r->packed.v[i];
    kiln_packed *p = kiln_new(&r->arena, kiln_packed);
    kiln_vec_push(&r->arena, &r->packed, p);
    return p;
}

kiln_status kiln_operand_input(kiln_runner *r, const kiln_wire_work *w,
                               const kiln_wire_operand *o, uint32_t seed,
                               uint32_t n_copies, kiln_packed **out, kiln_err *err) {
    const kiln_wire_value *v = &w->value[o->value];
    kiln_packed *p = find(r, w, o, seed, n_copies);
    if (p == NULL) {
        size_t bytes;
        kiln_region region;
        const void *plain = kiln_runner_bytes(r, v->data[seed]);
        KILN_TRY(kiln_operand_check(v, o, &bytes, err));
        const size_t stride = (bytes + COPY_ALIGN - 1) / COPY_ALIGN * COPY_ALIGN;
        if (n_copies > 1 && stride > max_operand_bytes / n_copies)
            return kiln_fail(err, KILN_ERR_LIMIT, "%" PRIu32 " copies of %zu bytes",
                             n_copies, bytes);
        KILN_TRY(kiln_region_open(n_copies > 1 ? stride * n_copies : bytes, false,
                                  &region, err));
        if (bytes > 0)
            kiln_operand_pack(v, o, plain, region.data);
        for (uint32_t i = 1; i < n_copies; i++)
            memcpy(region.data + i * stride, region.data, bytes);
        kiln_region_protect(&region);
        kiln_region_pass_on(&region, false);
        p = new_entry(r);
        *p = (kiln_packed){.work = w->id,
                           .seed = seed,
                           .n_copies = n_copies,
                           .operand = *o,
                           .region = region,
                           .stride = stride};
        r->packed_bytes += region.room;
    }
    p->is_used = true;
    *out = p;
    return KILN_OK;
}

void kiln_operands_forget(kiln_runner *r) {
    /* All at once: a search stays with one workload and few layouts for long, and then
     * goes on to others. */
    for (size_t i = 0; i < r->packed.n && r->packed_bytes > max_kept_bytes; i++)
        kiln_region_close(&r->packed.v[i]->region);
    if (r->packed_bytes > max_kept_bytes)
        r->packed_bytes = 0;
    for (size_t i = 0; i < r->packed.n; i++)
        r->packed.v[i]->is_used = false;
}
