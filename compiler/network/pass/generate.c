/* generate: code of each kernel, from the schedule that lay_out made. */
#include "compiler/network/executable_internal.h"

#include <math.h>

/* The program's arguments have the bytes that operands have. */
static kiln_status check_program(const kiln_program *p, const kiln_network_kernel *k,
                                 kiln_err *err) {
    if (p->n_args != k->n_operands || p->n_inputs != k->n_operands - k->n_written)
        return kiln_fail(err, KILN_ERR_BUG,
                         "kernel '%s' has %d operands, its program %d", k->workload,
                         k->n_operands, p->n_args);
    for (int i = 0; i < p->n_args; i++) {
        const kiln_buffer *b = p->arg[i];
        const int64_t bytes =
            kiln_buffer_elems(b) * (int64_t)kiln_dtype_bytes(b->dtype);
        if (b->dtype != kiln_dtype_stored(k->operand[i].dtype) ||
            bytes != kiln_type_bytes(&k->operand[i]))
            return kiln_fail(err, KILN_ERR_BUG,
                             "operand %d of kernel '%s' has %lld bytes of %s, its "
                             "program %lld of %s",
                             i, k->workload, (long long)kiln_type_bytes(&k->operand[i]),
                             kiln_dtype_name(k->operand[i].dtype), (long long)bytes,
                             kiln_dtype_name(b->dtype));
    }
    return KILN_OK;
}

static kiln_status compile(kiln_net *n, int index, kiln_arena *scratch, kiln_err *err) {
    kiln_network_kernel *k = &n->kernel.v[index];
    const kiln_scheduled *s = &k->making->scheduled;
    const kiln_profile *profile = k->profile;
    const int cores = profile->cores > 1 ? profile->cores : 2;
    const bool is_on_host = profile == n->profile;
    kiln_program *program = NULL;
    KILN_TRY(kiln_scheduled_program(scratch, s, k->symbol, &program, err));
    KILN_TRY(check_program(program, k, err));
    if (is_on_host)
        k->spread = kiln_program_spread(scratch, program, cores, profile->vector_bytes);
    k->least_flops =
        fmin(kiln_program_least_flops(scratch, program), (double)k->cost.flops);
    if (n->o != NULL && n->o->watch != NULL)
        n->o->watch(n->o->watcher, index, s, program);
    KILN_TRY(kiln_codegen(scratch, program, profile, NULL, &k->object, NULL, err));
    if (is_on_host)
        KILN_TRY(kiln_object_check(k->object.bytes, err));
    k->object.bytes =
        (kiln_str){kiln_arena_dup(n->arena, k->object.bytes.p, k->object.bytes.n),
                   k->object.bytes.n};
    if (k->object.workspace_bytes > n->workspace_bytes)
        n->workspace_bytes = k->object.workspace_bytes;
    if (k->object.scratch_bytes > n->scratch_bytes)
        n->scratch_bytes = k->object.scratch_bytes;
    return KILN_OK;
}

static kiln_status run(kiln_net *n, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_status st = KILN_OK;
    for (size_t i = 0; i < n->kernel.n && st == KILN_OK; i++) {
        const char *of = n->kernel.v[i].making->of;
        kiln_progress_step("compiling", "kernels", (double)i, (double)n->kernel.n, of);
        st = kiln_interrupt_check(err);
        if (st == KILN_OK)
            st = compile(n, (int)i, &scratch, err);
        if (st != KILN_OK)
            kiln_note(err, "making the kernel of step '%s'", of);
        kiln_net_made(&n->kernel.v[i]);
        kiln_arena_reset(&scratch);
    }
    kiln_arena_fini(&scratch);
    return st;
}

const kiln_net_pass kiln_net_pass_generate = {
    .name = "generate",
    .doc = "kernels get code",
    .needs = KILN_NET_LAID_OUT,
    .makes = KILN_NET_COMPILED,
    .run = run,
};
