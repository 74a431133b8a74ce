/* Operands as kernels have them: packed by a list of steps, kept for the next
 * candidate, and in as many copies as no cache holds. */
#include "pipeline/measure/runner/runner_internal.h"

#include <inttypes.h>
#include <string.h>

/* Of one packed operand, which a small machine has less room for; and of all that are
 * kept between candidates. */
static const uint64_t max_operand_bytes = UINT64_C(1)
                                          << (SIZE_MAX > UINT32_MAX ? 32 : 30);
static const size_t max_kept_bytes = (size_t)384 << 20;

int64_t kiln_value_elems(const kiln_wire_value *v) {
    int64_t n = 1;
    for (uint32_t i = 0; i < v->rank; i++)
        n *= v->dim[i];
    return n;
}

static kiln_status check_packing(const kiln_wire_operand *o, size_t *bytes,
                                 kiln_err *err) {
    if (o->n_steps != 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "an operand that code packs has %" PRIu32 " axes", o->n_steps);
    if (o->packing.bytes > max_operand_bytes)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "an operand of more than %" PRIu64 " bytes",
                         max_operand_bytes);
    *bytes = (size_t)o->packing.bytes;
    return KILN_OK;
}

kiln_status kiln_operand_check(const kiln_wire_value *v, const kiln_wire_operand *o,
                               size_t *bytes, kiln_err *err) {
    int64_t held[KILN_WIRE_MAX_RANK];
    uint64_t all = kiln_wire_dtype_bytes(v->dtype);
    if (o->packing.object.n > 0)
        return check_packing(o, bytes, err);
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
            return kiln_fail(err, KILN_ERR_LIMIT,
                             "an operand of more than %" PRIu64 " bytes",
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

/* ---- what is kept ---------------------------------------------------------------- */

bool kiln_operand_is_same(const kiln_wire_operand *x, const kiln_wire_operand *y) {
    const kiln_wire_packing *p = &x->packing, *q = &y->packing;
    if (x->value != y->value || x->n_steps != y->n_steps ||
        p->object.n != q->object.n || p->bytes != q->bytes ||
        memcmp(p->sha256, q->sha256, sizeof p->sha256) != 0)
        return false;
    for (uint32_t i = 0; i < x->n_steps; i++)
        if (x->step[i].axis != y->step[i].axis ||
            x->step[i].extent != y->step[i].extent ||
            x->step[i].size != y->step[i].size)
            return false;
    return true;
}

static kiln_packed *find(kiln_runner *r, const kiln_wire_work *w,
                         const kiln_wire_operand *o, uint32_t seed) {
    for (size_t i = 0; i < r->packed.n; i++) {
        kiln_packed *p = r->packed.v[i];
        if (p->region.map != NULL && p->work == w->id && p->seed == seed &&
            kiln_operand_is_same(&p->operand, o))
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

/* The value as it came. */
static kiln_wire_operand row_major_of(const kiln_wire_work *w, uint32_t value) {
    const kiln_wire_value *v = &w->value[value];
    kiln_wire_operand o = {.value = value, .n_steps = v->rank};
    for (uint32_t i = 0; i < v->rank; i++)
        o.step[i] = (kiln_wire_step){.axis = i, .extent = v->dim[i], .size = 1};
    return o;
}

static kiln_status fill(kiln_trial_run *t, const kiln_wire_operand *o, uint32_t seed,
                        kiln_region *to, kiln_err *err) {
    const kiln_wire_value *v = &t->w->value[o->value];
    kiln_packed *plain = NULL;
    if (to->bytes == 0)
        return KILN_OK;
    if (o->packing.object.n == 0) {
        kiln_operand_pack(v, o, v->data[seed].data, to->data);
        return KILN_OK;
    }
    const kiln_wire_operand as_it_came = row_major_of(t->w, o->value);
    KILN_TRY(kiln_operand_input(t, &as_it_came, seed, &plain, err));
    return kiln_trial_pack(t, o, plain, to, err);
}

kiln_status kiln_operand_input(kiln_trial_run *t, const kiln_wire_operand *o,
                               uint32_t seed, kiln_packed **out, kiln_err *err) {
    kiln_runner *r = t->r;
    KILN_ASSERT(o->value < t->w->n_values && seed < KILN_WIRE_MAX_SEEDS,
                "value %u of %u, seed %u", o->value, t->w->n_values, seed);
    const kiln_wire_value *v = &t->w->value[o->value];
    for (uint32_t s = 0; s < seed; s++) /* the same bytes are packed once */
        if (kiln_wire_blob_eq(&v->data[s], &v->data[seed]))
            seed = s;
    kiln_packed *p = find(r, t->w, o, seed);
    if (p == NULL) {
        size_t bytes;
        kiln_region region;
        KILN_TRY(kiln_operand_check(v, o, &bytes, err));
        KILN_TRY(kiln_region_open(bytes, false, &region, err));
        const kiln_status st = fill(t, o, seed, &region, err);
        if (st != KILN_OK) {
            kiln_region_close(&region);
            return st;
        }
        kiln_region_protect(&region);
        kiln_region_pass_on(&region, false);
        p = new_entry(r);
        *p = (kiln_packed){.work = t->w->id,
                           .seed = seed,
                           .operand = *o,
                           .region = region,
                           .n_copies = 1,
                           .stride = region.room};
        /* The request that they are part of goes. */
        p->operand.packing.object.p = p->operand.packing.name.p = NULL;
        r->packed_bytes += region.room;
    }
    *out = p;
    return KILN_OK;
}

void kiln_operands_forget(kiln_runner *r) {
    if (r->packed_bytes <= max_kept_bytes)
        return;
    /* All at once: a search stays with one workload and few layouts for long, and then
     * goes on to others. */
    for (size_t i = 0; i < r->packed.n; i++)
        kiln_region_close(&r->packed.v[i]->region);
    r->packed_bytes = 0;
}

void kiln_operands_drop(kiln_runner *r, uint32_t work) {
    for (size_t i = 0; i < r->packed.n; i++) {
        kiln_packed *p = r->packed.v[i];
        if (p->region.map == NULL || p->work != work)
            continue;
        KILN_ASSERT(p->region.room <= r->packed_bytes,
                    "%zu bytes of %zu are given back", p->region.room,
                    (size_t)r->packed_bytes);
        r->packed_bytes -= p->region.room;
        kiln_region_close(&p->region);
    }
}

/* ---- copies ---------------------------------------------------------------------- */

/* Are these copies there already, in the same places? */
static bool is_rotated(const kiln_runner *r, kiln_packed ***of, size_t n,
                       uint32_t n_copies) {
    if (r->rotated.n != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const kiln_packed *p = *of[i], *q = &r->rotated.v[i];
        if (q->work != p->work || q->n_copies != n_copies ||
            !kiln_operand_is_same(&q->operand, &p->operand))
            return false;
    }
    return true;
}

static kiln_status reserve(kiln_runner *r, size_t bytes, kiln_err *err) {
    if (bytes <= r->rotation.bytes)
        return KILN_OK;
    kiln_region_close(&r->rotation);
    r->rotated.n = 0;
    KILN_TRY(kiln_region_open_huge(bytes, &r->rotation, err));
    kiln_region_pass_on(&r->rotation, false); /* but to who is timed */
    return KILN_OK;
}

kiln_status kiln_operands_rotate(kiln_runner *r, kiln_arena *a, kiln_packed ***of,
                                 size_t n, uint32_t n_copies, kiln_err *err) {
    size_t all = 0, at = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t stride = (*of[i])->region.room;
        if (stride > max_operand_bytes / n_copies ||
            all > max_operand_bytes - stride * n_copies)
            return kiln_fail(err, KILN_ERR_LIMIT,
                             "%" PRIu32 " copies of %zu bytes are too much", n_copies,
                             stride);
        all += stride * n_copies;
    }
    KILN_TRY(reserve(r, all, err));
    const bool is_there = is_rotated(r, of, n, n_copies);
    if (!is_there) {
        r->rotated.n = 0;
        kiln_region_unprotect(&r->rotation);
    }
    for (size_t i = 0; i < n; i++) {
        kiln_packed *copy = kiln_arena_dup(a, *of[i], sizeof *copy);
        const kiln_region *one = &(*of[i])->region;
        copy->n_copies = n_copies;
        copy->stride = one->room;
        copy->region = (kiln_region){.map = r->rotation.data + at,
                                     .data = r->rotation.data + at,
                                     .map_bytes = one->room * n_copies,
                                     .bytes = one->room * n_copies,
                                     .room = one->room * n_copies};
        for (uint32_t k = 0; k < n_copies && !is_there; k++)
            memcpy(copy->region.data + k * copy->stride, one->data, one->bytes);
        if (!is_there)
            kiln_vec_push(&r->arena, &r->rotated, *copy);
        at += copy->region.room;
        *of[i] = copy;
    }
    if (!is_there)
        kiln_region_protect(&r->rotation);
    return KILN_OK;
}
