/* Layouts as a runner knows them: the steps of a packed tensor's axes; or code. */
#include "pipeline/measure/builder/builder_internal.h"

/* Elements that the blocks of an axis behind block `after` hold (-1: all of them). */
static int64_t held(const kiln_layout *l, int axis, int after) {
    int64_t n = 1;
    for (int b = after + 1; b < l->n_blocks; b++)
        if (l->block[b].axis == axis)
            n *= l->block[b].size;
    return n;
}

static void describe(const kiln_type *t, kiln_wire_operand *o) {
    const kiln_layout *l = &t->layout;
    for (int i = 0; i < t->rank; i++) {
        const int axis = l->n_order == 0 ? i : l->order[i];
        const int64_t size = held(l, axis, -1);
        o->step[o->n_steps++] =
            (kiln_wire_step){.axis = (uint32_t)axis,
                             .extent = (t->dim[axis] + size - 1) / size,
                             .size = size};
    }
    for (int b = 0; b < l->n_blocks; b++)
        o->step[o->n_steps++] = (kiln_wire_step){.axis = l->block[b].axis,
                                                 .extent = l->block[b].size,
                                                 .size = held(l, l->block[b].axis, b)};
}

/* Inputs are known by their names, outputs by their order. */
static kiln_status find_input(const kiln_wire_work *w, const char *name, uint32_t *out,
                              kiln_err *err) {
    for (uint32_t i = 0; i < w->n_values; i++)
        if (w->value[i].is_output == 0 && kiln_str_is(w->value[i].name, name)) {
            *out = i;
            return KILN_OK;
        }
    return kiln_fail(err, KILN_ERR_ARG, "the workload has no value '%s'", name);
}

static kiln_status find_output(const kiln_wire_work *w, size_t nth, uint32_t *out,
                               kiln_err *err) {
    for (uint32_t i = 0; i < w->n_values; i++)
        if (w->value[i].is_output != 0 && nth-- == 0) {
            *out = i;
            return KILN_OK;
        }
    return kiln_fail(err, KILN_ERR_ARG, "the workload has no such output");
}

kiln_status kiln_operands_describe(kiln_arena *a, kiln_packings *packings,
                                   const kiln_te_graph *te, const kiln_wire_work *w,
                                   kiln_wire_code *out, kiln_err *err) {
    _Static_assert(KILN_MAX_RANK + KILN_MAX_BLOCKS <= KILN_WIRE_MAX_STEPS,
                   "steps of a layout");
    if (te->n_args > KILN_WIRE_MAX_OPERANDS)
        return kiln_fail(err, KILN_ERR_LIMIT, "a kernel has at most %d arguments",
                         KILN_WIRE_MAX_OPERANDS);
    kiln_wire_operand *operand = kiln_array(a, kiln_wire_operand, te->n_args);
    for (size_t i = 0; i < te->n_args; i++) {
        KILN_TRY(i < te->n_inputs
                     ? find_input(w, te->arg_value[i]->name, &operand[i].value, err)
                     : find_output(w, i - te->n_inputs, &operand[i].value, err));
        if (te->arg_packing[i] != NULL) {
            const kiln_packing k = kiln_packing_of(
                &te->arg_value[i]->type, te->arg_packing[i], &te->arg_type[i]);
            KILN_TRY(kiln_packings_find(packings, &k, &operand[i].packing, err));
        } else {
            describe(&te->arg_type[i], &operand[i]);
        }
    }
    out->operand = operand;
    out->n_operands = (uint32_t)te->n_args;
    out->n_inputs = (uint32_t)te->n_inputs;
    return KILN_OK;
}
