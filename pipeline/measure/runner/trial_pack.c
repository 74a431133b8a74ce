/* An input that code packs: the code is run as a candidate is, in a process of its own,
 * limited and confined, from the value's row-major elements to memory that this process
 * then takes a copy of. It is the kernel's own program that packs, so what it does wrong
 * is the candidate's fault. */
#include "pipeline/measure/runner/runner_internal.h"

#include <inttypes.h>
#include <string.h>

kiln_status kiln_trial_check_packing(const kiln_trial_run *t, uint32_t i,
                                     kiln_err *err) {
    kiln_wire_packing *k = &t->q->code.operand[i].packing;
    const uint64_t limit = t->r->options.data_limit_bytes;
    kiln_wire_digest digest;
    if (k->object.n == 0)
        return KILN_OK;
    if (i >= t->q->code.n_inputs)
        return kiln_fail(err, KILN_ERR_PARSE, "output %" PRIu32 " is packed by code",
                         i);
    if (k->workspace_bytes > limit || k->scratch_bytes > limit)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "code that packs wants %" PRIu64 " bytes of workspace and "
                         "%" PRIu64 " of scratch",
                         k->workspace_bytes, k->scratch_bytes);
    kiln_wire_digest_init(&digest);
    kiln_wire_digest_add(&digest, k->object.p, k->object.n);
    kiln_wire_digest_end(&digest, k->sha256);
    return KILN_OK;
}

/* As a kernel of one input and one output. */
typedef struct packing_run {
    kiln_wire_operand operand[2];
    kiln_wire_run q;
    kiln_wire_ran ran;
    kiln_region to, scratch;
    kiln_region *buffer;
    kiln_packed *from;
    kiln_trial_run t;
} packing_run;

static void begin(packing_run *p, kiln_trial_run *t, const kiln_wire_operand *o,
                  kiln_packed *from) {
    const kiln_wire_packing *k = &o->packing;
    p->operand[0] = p->operand[1] = from->operand;
    p->q = (kiln_wire_run){.id = t->q->id,
                           .work = t->q->work,
                           .code = {.object = k->object,
                                    .name = k->name,
                                    .workspace_bytes = k->workspace_bytes,
                                    .scratch_bytes = k->scratch_bytes,
                                    .n_inputs = 1,
                                    .n_operands = 2,
                                    .operand = p->operand}};
    p->from = from;
    p->buffer = &p->to;
    p->t = (kiln_trial_run){.r = t->r,
                            .q = &p->q,
                            .w = t->w,
                            .arena = t->arena,
                            .out = &p->ran,
                            .input = {&p->from},
                            .buffer = {p->buffer},
                            .n_sets = 1,
                            .n_buffers = 1,
                            .n_given = 1,
                            .n_copies = 1,
                            .scratch = &p->scratch,
                            .threads = 1,
                            .deadline_ns = t->deadline_ns,
                            .cpu_left_ns = t->r->options.time_limit_ms * 1000000,
                            .when = ""};
}

/* The host packs for its devices too, and is alone then: a process that has a device
 * would be a stray of the code's, so it ends, and starts anew with the next candidate. */
static bool run_on_host(packing_run *p) {
    kiln_runner *r = p->t.r;
    const kiln_device_kind *device = r->device;
    kiln_trial_process process;
    if (device != NULL)
        kiln_device_end(r);
    r->device = NULL;
    const bool is_good =
        kiln_trial_start(&p->t, &process) && kiln_trial_finish(&p->t, &process);
    r->device = device;
    return is_good;
}

/* False: what went wrong is in p->ran. */
static bool run(packing_run *p) {
    size_t at;
    if (!run_on_host(p))
        return false;
    if (kiln_region_is_broken(&p->to, &at) ||
        kiln_region_is_broken(&p->t.workspace, &at) ||
        kiln_region_is_broken(&p->scratch, &at))
        return kiln_trial_fault(&p->t, KILN_TRIAL_OUT_OF_BOUNDS,
                                "it wrote beside its memory");
    return true;
}

static kiln_status open_memory(packing_run *p, size_t bytes, kiln_err *err) {
    const kiln_wire_code *c = &p->q.code;
    KILN_TRY(kiln_region_open(bytes, true, &p->to, err));
    KILN_TRY(kiln_region_open((size_t)c->workspace_bytes, true, &p->t.workspace, err));
    return kiln_region_open((size_t)c->scratch_bytes, true, &p->scratch, err);
}

kiln_status kiln_trial_pack(kiln_trial_run *t, const kiln_wire_operand *o,
                            kiln_packed *from, kiln_region *to, kiln_err *err) {
    const kiln_wire_value *v = &t->w->value[o->value];
    packing_run p = {.q = {.id = 0}};
    begin(&p, t, o, from);
    kiln_status st = open_memory(&p, to->bytes, err);
    if (st == KILN_OK && run(&p)) {
        memcpy(to->data, p.to.data, to->bytes);
    } else if (st == KILN_OK) {
        (void)kiln_trial_fault(t, (kiln_trial_error)p.ran.error,
                               "its code that packs '%.*s': %.*s",
                               KILN_STR_ARG(v->name), KILN_STR_ARG(p.ran.text));
        st = kiln_fail(err, KILN_ERR_LIB, "'%.*s' was not packed",
                       KILN_STR_ARG(v->name));
    }
    kiln_region_close(&p.to);
    kiln_region_close(&p.t.workspace);
    kiln_region_close(&p.scratch);
    return st;
}
