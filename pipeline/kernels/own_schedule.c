/* A schedule that somebody wrote (docs/schedule-text.md), in the place of a template's:
 * what it lowers to, what the machine model says of it, and its code where the profile's
 * code generator implements what it uses. */
#include "compiler/schedule/cycles.h"
#include "pipeline/kernels/kernels_internal.h"

#include <inttypes.h>

static const char kernel_name[] = "kiln_kernel";

/* The machine model looks at what no pass has taken apart. */
static kiln_status count_cycles(kiln_arena *a, const kiln_profile *p,
                                const kiln_scheduled *s, kiln_cycles *out,
                                kiln_err *err) {
    const kiln_te_graph *te = &s->te;
    kiln_program *lowered;
    KILN_TRY(kiln_lower(a, s->schedule, te->arg, te->n_args, te->n_inputs, kernel_name,
                        &lowered, err));
    bool *is_cold = kiln_array(a, bool, lowered->n_args);
    for (size_t i = 0; i < te->n_inputs; i++)
        is_cold[i] = kiln_value_is_const(te->arg_value[i]);
    *out = kiln_cycles_of_program(a, p, lowered, is_cold, 1);
    return KILN_OK;
}

static kiln_status make_code(kiln_arena *a, const kiln_profile *p, kiln_own_kernel *own,
                             kiln_kernel *k, kiln_err *err) {
    const kiln_codegen_options options = {.want_assembly = true};
    const int64_t begin = kiln_now_ns();
    const kiln_status st =
        kiln_codegen(a, k->program, p, &options, &k->object, &k->text, err);
    k->codegen_ns = kiln_now_ns() - begin;
    if (st != KILN_ERR_UNSUPPORTED)
        return st;
    own->refusal = kiln_str_dup(a, err->text);
    kiln_err_clear(err);
    return KILN_OK;
}

kiln_status kiln_own_kernel_make(kiln_arena *a, const kiln_op_work *w,
                                 const kiln_own_schedule *text, const kiln_profile *p,
                                 kiln_own_kernel *own, kiln_kernel *k, kiln_err *err) {
    const kiln_natives natives = kiln_codegen_natives(p);
    kiln_scheduled *s = &k->scheduled;
    const int64_t begin = kiln_now_ns();
    *own = (kiln_own_kernel){.text = text};
    *k = (kiln_kernel){.work = w};
    KILN_TRY(kiln_graph_compute(a, w->graph, NULL, false, &s->te, err));
    s->schedule =
        kiln_schedule_new(a, s->te.arg + s->te.n_inputs, s->te.n_args - s->te.n_inputs);
    s->loop = (kiln_loop_options){.natives = &natives};
    KILN_TRY(kiln_schedule_read(s->schedule, text->text, text->file, err));
    own->target = kiln_schedule_target(s->schedule);
    s->loop.host_memory = own->target == KILN_TARGET_GPU;
    KILN_TRY(count_cycles(a, p, s, &own->cycles, err));
    const kiln_status st = kiln_scheduled_program(a, s, kernel_name, &k->program, err);
    s->loop.natives = NULL;
    k->lower_ns = kiln_now_ns() - begin;
    if (st != KILN_OK) {
        kiln_note(err, "lowering the schedule of %s", text->file);
        return st;
    }
    return make_code(a, p, own, k, err);
}

void kiln_own_summary_put(const kiln_own_kernel *own, const kiln_kernel *k,
                          const kiln_profile *p, kiln_buf *out) {
    const kiln_cycles *c = &own->cycles;
    const size_t n = k->scheduled.schedule->stage.n;
    kiln_buf_printf(out, "schedule: %s, %zu stage%s, for %s %s\n", own->text->file, n,
                    n == 1 ? "" : "s",
                    own->target == KILN_TARGET_ACCELERATOR ? "an" : "a",
                    kiln_target_kind_name(own->target));
    if (own->target == kiln_arch_of(p->arch)->kind)
        kiln_buf_printf(out,
                        "cycles of one core, by the machine model: %.0f (arithmetic "
                        "%.0f, L2 %.0f, L3 %.0f, memory %.0f); it orders schedules, "
                        "and measures nothing\n",
                        c->all, c->core, c->l2, c->l3, c->memory);
    if (own->refusal != NULL)
        kiln_buf_printf(out, "no code for profile '%s': %s\n", p->name, own->refusal);
    else
        kiln_buf_printf(out,
                        "kernel: %zu bytes of object, %zu of workspace, %zu of "
                        "scratch\n",
                        k->object.bytes.n, k->object.workspace_bytes,
                        k->object.scratch_bytes);
}

void kiln_own_summary_json(const kiln_own_kernel *own, const kiln_kernel *k,
                           const kiln_profile *p, kiln_json_writer *w) {
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "schedule", own->text->file);
    kiln_json_member_str(w, "target", kiln_target_kind_name(own->target));
    kiln_json_name(w, "cycles");
    if (own->target == kiln_arch_of(p->arch)->kind)
        kiln_json_put_f64(w, own->cycles.all);
    else
        kiln_json_put_null(w);
    kiln_json_name(w, "object_bytes");
    if (own->refusal == NULL)
        kiln_json_put_i64(w, (int64_t)k->object.bytes.n);
    else
        kiln_json_put_null(w);
    kiln_json_name(w, "refusal");
    if (own->refusal != NULL)
        kiln_json_put_string(w, kiln_str_from(own->refusal));
    else
        kiln_json_put_null(w);
    kiln_json_end_object(w);
}
