/* What baselines are asked to run beside a network at one number of threads. */
#include "pipeline/bench/bench_internal.h"

#include <string.h>

#include "compiler/export/export.h"

typedef struct asked {
    kiln_arena *arena;
    const kiln_subject *subject;
    kiln_baseline_job job;
    kiln_net_made *made;
} asked;

/* The file's own outputs. Behind them are counts of the bounded ones, which only kiln
 * gives (docs/bounded-outputs.md). */
static size_t n_own(const kiln_graph *imported) {
    size_t n = imported->outputs.n;
    for (size_t i = 0; i < imported->outputs.n; i++)
        n -= imported->outputs.v[i]->count != NULL;
    return n;
}

/* The session's inputs, and those that the import fixed: the file asks for all. */
static void make_job(asked *r, const kiln_net_bench_options *o, int threads) {
    const kiln_subject *s = r->subject;
    const size_t n_in = (size_t)kiln_remote_n_inputs(s->remote);
    const size_t n_out = n_own(s->imported);
    kiln_value_binding *in =
        kiln_array(r->arena, kiln_value_binding, n_in + s->n_fixed);
    const char **out = kiln_array(r->arena, const char *, n_out);
    for (size_t i = 0; i < n_in; i++) {
        const kiln_remote_port *port = kiln_remote_input_at(s->remote, (int)i);
        in[i] = (kiln_value_binding){port->name, s->in[i]};
    }
    for (size_t i = 0; i < s->n_fixed; i++)
        in[n_in + i] = s->fixed[i];
    for (size_t i = 0; i < n_out; i++)
        out[i] = s->want[i].name;
    r->job = (kiln_baseline_job){.dir = o->baselines_dir,
                                 .model = s->file,
                                 .threads = threads,
                                 .in = in,
                                 .n_in = n_in + s->n_fixed,
                                 .out = out,
                                 .n_out = n_out,
                                 .limit_ms = o->baselines_limit_ms};
}

/* What was exported asks for no input that the import fixed: they are behind the others.
 */
static kiln_status open_one(void *user, const kiln_rival *v, kiln_baseline_session *out,
                            kiln_err *err) {
    const asked *r = user;
    kiln_baseline_job job = r->job;
    if (v->is_exported) {
        job.model = r->made->exported;
        job.n_in -= r->subject->n_fixed;
    }
    return v->baseline->open(v->baseline, r->arena, &job, out, err);
}

static kiln_status write_exported(const asked *r, const char *name, const char **path,
                                  kiln_err *err) {
    const kiln_exporter *to;
    const char *dir, *file;
    kiln_exported written;
    KILN_TRY(kiln_exporter_find("onnx", &to, err));
    KILN_TRY(kiln_dir_temp(r->arena, &dir, err));
    file = kiln_path_join(r->arena, dir, name);
    KILN_TRY(
        kiln_export(r->arena, r->subject->imported, to, file, NULL, &written, err));
    *path = file;
    return KILN_OK;
}

/* What kiln holds after the import, as `kiln export` writes it. */
static kiln_status export_once(void *user, const char **file, kiln_err *err) {
    const asked *r = user;
    kiln_net_made *m = r->made;
    const char *name = kiln_format(r->arena, "%s.onnx", r->subject->name);
    if (m->exported == NULL && m->refusal.status == KILN_OK)
        (void)write_exported(r, name, &m->exported, &m->refusal);
    if (m->exported == NULL) {
        *err = m->refusal;
        return err->status;
    }
    *file = kiln_format(r->arena, "%s, exported", name);
    return KILN_OK;
}

/* What must come out, with zeros where nothing is wanted. */
static kiln_tensor wanted_whole(kiln_arena *a, const kiln_value *v,
                                const kiln_wanted *w) {
    const size_t size = kiln_dtype_bytes(v->type.dtype);
    if (w->at == NULL)
        return w->value;
    kiln_tensor t = kiln_tensor_new(a, &v->type);
    for (int64_t i = 0; i < kiln_type_elems(&w->value.type); i++)
        memcpy((char *)t.data + (size_t)w->at[i] * size,
               (const char *)w->value.data + (size_t)i * size, size);
    return t;
}

/* How many rows a baseline gave of those that `count` counts. */
static kiln_tensor rows_given(kiln_arena *a, const kiln_graph *g,
                              const kiln_baseline_session *session,
                              const kiln_value *count) {
    kiln_tensor t = kiln_tensor_new(a, &count->type);
    size_t i = 0;
    while (i < n_own(g) && g->outputs.v[i]->count != count)
        i++;
    KILN_ASSERT(i < n_own(g), "'%s' counts no output of the file", count->name);
    const kiln_type *got = &session->out[i].type;
    const int axis = g->outputs.v[i]->bounded_axis;
    *(int64_t *)t.data = axis < got->rank ? got->dim[axis] : -1;
    return t;
}

/* Output i as kiln gives it: a count, or bounded rows ahead of those that nobody else
 * gives. */
static kiln_tensor given(const asked *r, const kiln_baseline_session *session,
                         size_t i) {
    const kiln_graph *g = r->subject->imported;
    const kiln_value *v = g->outputs.v[i];
    if (i >= n_own(g))
        return rows_given(r->arena, g, session, v);
    if (v->count == NULL)
        return session->out[i];
    const kiln_tensor whole = wanted_whole(r->arena, v, &r->subject->want[i]);
    return kiln_counted_whole(r->arena, &session->out[i], v->bounded_axis, &whole);
}

static bool is_quantised(kiln_dtype t) {
    return t == KILN_I8 || t == KILN_U8 || t == KILN_I16 || t == KILN_U16;
}

/* How integer arithmetic rounds where it goes back to few bits is each engine's own
 * (TensorFlow Lite's reference in fixed point, XNNPACK in floats): of quantised outputs a
 * step is right. Kiln itself is held to the bounds as they are. */
static kiln_wanted wanted_of_others(kiln_arena *a, const kiln_wanted *w) {
    kiln_wanted own = *w;
    const int64_t n = kiln_type_elems(&w->value.type);
    if (!is_quantised(w->value.type.dtype))
        return own;
    float *bound = kiln_array(a, float, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        bound[i] =
            w->bound != NULL && (w->bound[i] < 0 || w->bound[i] > 1) ? w->bound[i] : 1;
    own.bound = bound;
    return own;
}

static kiln_status check_all(const asked *r, const kiln_baseline_session *session,
                             const kiln_wanted *all, kiln_check *check, kiln_err *err) {
    const kiln_subject *s = r->subject;
    *check = (kiln_check){.name = s->name, .group = "", .reason = ""};
    for (size_t i = 0; i < s->n_want; i++) {
        const kiln_tensor got = given(r, session, i);
        const kiln_wanted want = wanted_of_others(r->arena, &all[i]);
        KILN_TRY(kiln_check_wanted(r->arena, check, &got, &want, &s->tolerance, err));
    }
    return KILN_OK;
}

/* First as narrowly as kiln, like golden cases (golden.c). The reference runs the graph
 * again only where that fails, and some operator of it is another thing elsewhere. */
static kiln_status compare(void *user, const kiln_baseline_session *session,
                           kiln_rival *v, kiln_err *err) {
    enum { SEED = 1 };
    const asked *r = user;
    const kiln_subject *s = r->subject;
    kiln_net_made *m = r->made;
    kiln_check check;
    KILN_TRY(check_all(r, session, s->want, &check, err));
    if (check.outcome != KILN_PASSED && kiln_graph_errs_elsewhere(s->imported)) {
        if (m->elsewhere == NULL)
            KILN_TRY(kiln_wanted_elsewhere(r->arena, s->imported, s->in, SEED,
                                           &m->elsewhere, err));
        KILN_TRY(check_all(r, session, m->elsewhere, &check, err));
    }
    v->max_abs = check.max_abs;
    v->error = check.rms_error;
    if (check.outcome != KILN_PASSED) {
        v->state = KILN_RIVAL_WRONG;
        v->reason = check.reason;
    }
    return KILN_OK;
}

kiln_rivals *kiln_net_rivals_open(kiln_arena *a, const kiln_subject *s,
                                  const kiln_net_bench_options *o, kiln_net_made *made,
                                  kiln_net_side *side) {
    asked r = {.arena = a, .subject = s, .made = made};
    const kiln_rivals_subject to = {.dir = o->baselines_dir,
                                    .file = kiln_path_base(s->file),
                                    .format = s->format,
                                    .threads = side->threads,
                                    .open = open_one,
                                    .export = export_once,
                                    .compare = compare,
                                    .user = &r};
    make_job(&r, o, side->threads);
    return kiln_rivals_open(a, a, o->baseline, &to, &side->rival);
}

bool kiln_net_bench_is_compared(const kiln_net_bench *b) {
    for (size_t i = 0; i < b->side.n; i++)
        if (!kiln_rivals_are_measured(&b->side.v[i].rival))
            return false;
    return true;
}
