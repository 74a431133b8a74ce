/* Lists of checks: counting and JSON. */
#include "pipeline/pipeline.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *kiln_check_outcome_name(kiln_check_outcome o) {
    static const char *const name[] = {"passed", "failed", "unsupported"};
    KILN_ASSERT((size_t)o < sizeof name / sizeof name[0], "outcome %d has no name",
                (int)o);
    return name[o];
}

void kiln_checks_add(kiln_arena *a, kiln_checks *c, const kiln_check *check) {
    kiln_vec_push(a, &c->list, *check);
    switch (check->outcome) {
    case KILN_PASSED:
        c->n_passed++;
        break;
    case KILN_FAILED:
        c->n_failed++;
        break;
    case KILN_UNSUPPORTED:
        c->n_unsupported++;
        break;
    }
}

static void widest(kiln_check *check, const kiln_diff *d) {
    if (d->max_abs > check->max_abs)
        check->max_abs = d->max_abs;
    if (d->max_rel > check->max_rel)
        check->max_rel = d->max_rel;
    if (d->rms_error >= check->rms_error) {
        check->rms_error = d->rms_error;
        check->rms_want = d->rms_want;
    }
}

static const char *differs(kiln_arena *a, const char *output, const kiln_type *got,
                           const kiln_type *want) {
    return kiln_format(a, "output '%s' must be %s, is %s", output,
                       kiln_type_text(a, want), kiln_type_text(a, got));
}

static void fail(kiln_check *check, const char *reason) {
    if (check->outcome != KILN_PASSED)
        return;
    check->outcome = KILN_FAILED;
    check->reason = reason;
}

/* Is `name` the name of the count of `of`? */
static bool is_count_of(const char *name, const char *of) {
    const size_t n = strlen(of);
    return strncmp(name, of, n) == 0 && strcmp(name + n, KILN_COUNT_SUFFIX) == 0;
}

/* The one axis along which `want` is shorter; -1: none, or more than one. */
static int shorter_axis(const kiln_type *got, const kiln_type *want) {
    int axis = -1;
    for (int i = 0; i < got->rank && got->rank == want->rank; i++) {
        if (got->dim[i] == want->dim[i])
            continue;
        if (axis >= 0 || want->dim[i] > got->dim[i])
            return -1;
        axis = i;
    }
    return axis;
}

/* All that lies together along an axis: so many runs of so many bytes. */
typedef struct span {
    int64_t n, bytes;
} span;

static span span_of(const kiln_type *t, int axis) {
    span s = {1, (int64_t)kiln_dtype_bytes(t->dtype)};
    for (int i = 0; i < t->rank; i++) {
        s.n *= i < axis ? t->dim[i] : 1;
        s.bytes *= i >= axis ? t->dim[i] : 1;
    }
    return s;
}

/* The first `count` along the axis. */
static kiln_tensor first_of(kiln_arena *a, const kiln_tensor *x, int axis,
                            int64_t count) {
    kiln_tensor part = {x->type, x->data};
    part.type.dim[axis] = count;
    const span all = span_of(&x->type, axis), kept = span_of(&part.type, axis);
    if (all.n == 1)
        return part;
    part = kiln_tensor_new(a, &part.type);
    for (int64_t i = 0; i < all.n; i++)
        memcpy((char *)part.data + i * kept.bytes,
               (const char *)x->data + i * all.bytes, (size_t)kept.bytes);
    return part;
}

kiln_tensor kiln_counted_rows(kiln_arena *a, const char *const *name,
                              const kiln_tensor *value, size_t n, size_t i,
                              const kiln_type *want) {
    KILN_ASSERT(i < n, "output %zu of %zu", i, n);
    const int axis = shorter_axis(&value[i].type, want);
    for (size_t k = 0; k < n && axis >= 0; k++) {
        const kiln_type *t = &value[k].type;
        int64_t count;
        if (k == i || t->dtype != KILN_I64 || t->rank != 0 ||
            !is_count_of(name[k], name[i]))
            continue;
        memcpy(&count, value[k].data, sizeof count);
        if (count == want->dim[axis])
            return first_of(a, &value[i], axis, count);
    }
    return value[i];
}

kiln_tensor kiln_counted_whole(kiln_arena *a, const kiln_tensor *rows, int axis,
                               const kiln_tensor *whole) {
    const kiln_type *t = &whole->type;
    const bool fits =
        rows->type.dtype == t->dtype &&
        (kiln_type_same_shape(&rows->type, t) || shorter_axis(t, &rows->type) == axis);
    if (!fits)
        return *rows;
    const span own = span_of(&rows->type, axis), all = span_of(t, axis);
    KILN_ASSERT(own.n == all.n && own.bytes <= all.bytes,
                "rows of %lld bytes in ones of %lld", (long long)own.bytes,
                (long long)all.bytes);
    const kiln_tensor out = {*t, kiln_arena_dup(a, whole->data, kiln_type_bytes(t))};
    for (int64_t i = 0; i < all.n; i++)
        memcpy((char *)out.data + i * all.bytes,
               (const char *)rows->data + i * own.bytes, (size_t)own.bytes);
    return out;
}

kiln_status kiln_check_compare(kiln_arena *a, kiln_check *check, const char *output,
                               const kiln_tensor *got, const kiln_tensor *want,
                               double rtol, double atol, kiln_err *err) {
    const kiln_type *gt = &got->type, *wt = &want->type;
    kiln_diff d;
    if (gt->dtype != wt->dtype || !kiln_type_same_shape(gt, wt)) {
        fail(check, differs(a, output, gt, wt));
        return KILN_OK;
    }
    KILN_TRY(kiln_ref_compare(got, want, rtol, atol, &d, err));
    widest(check, &d);
    if (!d.ok)
        fail(check,
             kiln_format(a,
                         "output '%s': %" PRId64 " of %" PRId64
                         " elements differ; element %" PRId64 " must be %.9g, is %.9g",
                         output, d.n_bad, kiln_type_elems(wt), d.worst_index,
                         d.worst_want, d.worst_got));
    return KILN_OK;
}

kiln_status kiln_check_bounded(kiln_arena *a, kiln_check *check, const char *output,
                               const kiln_tensor *got, const kiln_bounded *want,
                               kiln_err *err) {
    const kiln_type *gt = &got->type, *wt = &want->value.type;
    kiln_diff sizes;
    kiln_bounded_diff d;
    if (gt->dtype != wt->dtype || !kiln_type_same_shape(gt, wt)) {
        fail(check, differs(a, output, gt, wt));
        return KILN_OK;
    }
    KILN_TRY(kiln_ref_compare(got, &want->value, 0, 0, &sizes, err));
    KILN_TRY(kiln_bounded_compare(want, got, &d, err));
    widest(check, &sizes);
    if (d.ratio > check->of_bound)
        check->of_bound = d.ratio;
    check->n_held += d.n_held;
    check->n_elems += want->n_elems;
    if (!d.ok)
        fail(check, kiln_format(a,
                                "output '%s': %" PRId64 " of %" PRId64
                                " elements differ; element %" PRId64
                                " must be %.9g within %.3g, is %.9g",
                                output, d.n_bad, want->n_elems, d.worst, d.want,
                                d.bound, d.got));
    return KILN_OK;
}

const kiln_tolerance kiln_tolerance_network = {1e-4, 1e-4, 0x1p-22};

static double rms_of(kiln_arena *a, const kiln_tensor *t) {
    kiln_wide w = kiln_wide_new(a, &t->type);
    kiln_widen(&t->type, t->data, &w);
    const int64_t n = kiln_type_elems(&t->type);
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const double v = w.f != NULL ? w.f[i] : (double)w.i[i];
        if (isfinite(v))
            sum += v * v;
    }
    return n > 0 ? sqrt(sum / (double)n) : 0;
}

kiln_status kiln_check_network(kiln_arena *a, kiln_check *check, const char *output,
                               const kiln_tensor *got, const kiln_tensor *want,
                               const kiln_tolerance *tolerance, kiln_err *err) {
    return kiln_check_compare(a, check, output, got, want, tolerance->relative,
                              tolerance->rms * rms_of(a, want) + tolerance->absolute,
                              err);
}

static void write_counts(kiln_json_writer *w, const size_t count[3]) {
    kiln_json_begin_object(w);
    kiln_json_member_i64(w, "passed", (int64_t)count[KILN_PASSED]);
    kiln_json_member_i64(w, "failed", (int64_t)count[KILN_FAILED]);
    kiln_json_member_i64(w, "unsupported", (int64_t)count[KILN_UNSUPPORTED]);
    kiln_json_end_object(w);
}

/* Few groups and many checks: one pass over the list per group, in order of first
 * appearance. */
static void write_groups(kiln_json_writer *w, const kiln_checks *c) {
    kiln_json_name(w, "groups");
    kiln_json_begin_object(w);
    for (size_t i = 0; i < c->list.n; i++) {
        const char *group = c->list.v[i].group;
        bool is_first = group[0] != '\0';
        for (size_t j = 0; j < i && is_first; j++)
            is_first = strcmp(group, c->list.v[j].group) != 0;
        if (!is_first)
            continue;
        size_t count[3] = {0};
        for (size_t j = i; j < c->list.n; j++)
            if (strcmp(group, c->list.v[j].group) == 0)
                count[c->list.v[j].outcome]++;
        kiln_json_name(w, group);
        write_counts(w, count);
    }
    kiln_json_end_object(w);
}

static void write_check(kiln_json_writer *w, const kiln_check *x) {
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "name", x->name);
    if (x->group[0] != '\0')
        kiln_json_member_str(w, "group", x->group);
    kiln_json_member_str(w, "outcome", kiln_check_outcome_name(x->outcome));
    if (x->outcome != KILN_PASSED)
        kiln_json_member_str(w, "reason", x->reason);
    kiln_json_member_f64(w, "max_abs_error", x->max_abs);
    kiln_json_member_f64(w, "max_rel_error", x->max_rel);
    kiln_json_member_f64(w, "rms_error", x->rms_error);
    kiln_json_member_f64(w, "rms_expected", x->rms_want);
    if (x->n_elems > 0) {
        kiln_json_member_f64(w, "share_of_bound", x->of_bound);
        kiln_json_member_i64(w, "elements", x->n_elems);
        kiln_json_member_i64(w, "elements_held", x->n_held);
        kiln_json_member_bool(w, "elsewhere", x->elsewhere);
    }
    kiln_json_member_i64(w, "time_ms", x->time_ms);
    kiln_json_end_object(w);
}

void kiln_checks_json(kiln_buf *out, const kiln_checks *c) {
    const size_t count[3] = {[KILN_PASSED] = c->n_passed,
                             [KILN_FAILED] = c->n_failed,
                             [KILN_UNSUPPORTED] = c->n_unsupported};
    kiln_json_writer w;
    kiln_json_writer_init(&w, out);
    kiln_json_begin_object(&w);
    kiln_json_name(&w, "counts");
    write_counts(&w, count);
    write_groups(&w, c);
    kiln_json_name(&w, "checks");
    kiln_json_begin_array(&w);
    for (size_t i = 0; i < c->list.n; i++)
        write_check(&w, &c->list.v[i]);
    kiln_json_end_array(&w);
    kiln_json_end_object(&w);
    kiln_buf_puts(out, "\n");
}

/* ---- runners --------------------------------------------------------------------- */

static kiln_status run_reference(void *user, kiln_arena *a, const kiln_graph *g,
                                 const kiln_tensor *in, size_t n_in, kiln_tensor *out,
                                 kiln_err *err) {
    (void)user;
    return kiln_ref_run(a, g, in, n_in, out, err);
}

const kiln_runner kiln_runner_reference = {run_reference, NULL};
