/* What baselines are asked to run beside a network at one number of threads. */
#include "pipeline/bench/bench_internal.h"

typedef struct asked {
    kiln_arena *arena;
    const kiln_subject *subject;
    kiln_baseline_job job;
} asked;

/* The session's inputs, and those that the import fixed: the file asks for all. */
static void make_job(asked *r, const kiln_net_bench_options *o, int threads) {
    const kiln_subject *s = r->subject;
    const size_t n_own = (size_t)kiln_remote_n_inputs(s->remote);
    kiln_value_binding *in =
        kiln_array(r->arena, kiln_value_binding, n_own + s->n_fixed);
    const char **out = kiln_array(r->arena, const char *, s->n_want);
    for (size_t i = 0; i < n_own; i++) {
        const kiln_remote_port *port = kiln_remote_input_at(s->remote, (int)i);
        in[i] = (kiln_value_binding){port->name, s->in[i]};
    }
    for (size_t i = 0; i < s->n_fixed; i++)
        in[n_own + i] = s->fixed[i];
    for (size_t i = 0; i < s->n_want; i++)
        out[i] = s->want[i].name;
    r->job = (kiln_baseline_job){.dir = o->baselines_dir,
                                 .model = s->file,
                                 .threads = threads,
                                 .in = in,
                                 .n_in = n_own + s->n_fixed,
                                 .out = out,
                                 .n_out = s->n_want,
                                 .limit_ms = o->baselines_limit_ms};
}

static kiln_status open_one(void *user, const kiln_baseline *b,
                            kiln_baseline_session *out, kiln_err *err) {
    const asked *r = user;
    return b->open(b, r->arena, &r->job, out, err);
}

static kiln_status compare(void *user, const kiln_baseline_session *session,
                           kiln_rival *v, kiln_err *err) {
    const asked *r = user;
    const kiln_subject *s = r->subject;
    kiln_check check = {.name = s->name, .group = "", .reason = ""};
    for (size_t i = 0; i < s->n_want; i++)
        KILN_TRY(kiln_check_wanted(r->arena, &check, &session->out[i], &s->want[i],
                                   &s->tolerance, err));
    v->max_abs = check.max_abs;
    v->error = check.rms_error;
    if (check.outcome != KILN_PASSED) {
        v->state = KILN_RIVAL_WRONG;
        v->reason = check.reason;
    }
    return KILN_OK;
}

kiln_rivals *kiln_net_rivals_open(kiln_arena *a, const kiln_subject *s,
                                  const kiln_net_bench_options *o,
                                  kiln_net_side *side) {
    asked r = {.arena = a, .subject = s};
    const kiln_rivals_subject to = {.dir = o->baselines_dir,
                                    .threads = side->threads,
                                    .open = open_one,
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
