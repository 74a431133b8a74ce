/* The verifier of steps: a network as it was made passes; with one thing changed in a
 * copy of it, the disagreement is found and both sides are named. */
#include "pipeline/network/network.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/weighted_graph.h"

#include <string.h>

/* Two convolutions with odd channels, whose results both live on, and a product. */
static const char text[] =
    "graph \"g\" { input %x : f32[1,20,6,6] input %w : f32[17,20,3,3] "
    "input %v : f32[17,17,1,1] input %m : f32[6,6] "
    "%a = conv(%x, %w) {pads=[1,1,1,1]} %b = conv(%a, %v) %c = add(%a, %b) "
    "%p, %q = split(%b) {axis=1, sizes=[16,1]} %y = matmul(%c, %m) "
    "output %y output %p output %q }";

typedef struct row {
    const char *name;
    void (*change)(kiln_net *n);
    const char *want; /* NULL: it passes */
} row;

static kiln_net_step *step_of(kiln_net *n, const char *op, int which) {
    for (size_t i = 0; i < n->step.n; i++)
        if (strcmp(n->step.v[i].op, op) == 0 && which-- == 0)
            return &n->step.v[i];
    fail_msg("there is no step '%s'", op);
    return n->step.v;
}

static kiln_net_slot *operand_of(kiln_net *n, const char *op, int which, int k) {
    const kiln_net_step *s = step_of(n, op, which);
    return &n->slot.v[s->operand[k < 0 ? s->n_operands + k : k]];
}

static void nothing(kiln_net *n) { (void)n; }

static void another_layout(kiln_net *n) {
    operand_of(n, "conv", 1, 0)->layout.n_blocks = 0;
}

static void another_block(kiln_net *n) {
    operand_of(n, "conv", 0, -1)->layout.block[0].size = 1;
}

static void no_zeros_behind(kiln_net *n) { operand_of(n, "conv", 1, 0)->facts = 0; }

static void too_few_bytes(kiln_net *n) { operand_of(n, "conv", 0, -1)->bytes -= 64; }

static void over_a_live_value(kiln_net *n) {
    operand_of(n, "conv", 0, -1)->offset = operand_of(n, "conv", 1, -1)->offset;
}

static void outside_of_the_arena(kiln_net *n) {
    operand_of(n, "conv", 0, -1)->offset = (uint64_t)n->arena_bytes;
}

static void another_operand(kiln_net *n) {
    kiln_net_step *s = step_of(n, "conv", 1);
    int *operand = kiln_array(n->arena, int, s->n_operands);
    memcpy(operand, s->operand, (size_t)s->n_operands * sizeof *operand);
    operand[0] = step_of(n, "conv", 0)->operand[0];
    s->operand = operand;
}

static void a_step_less(kiln_net *n) {
    kiln_net_step *s = step_of(n, "conv", 0);
    s->kind = KILN_NET_END;
    s->partner = (int)(s - n->step.v);
}

static void fewer_operands(kiln_net *n) { step_of(n, "conv", 0)->n_operands--; }

static void a_written_input(kiln_net *n) {
    operand_of(n, "conv", 0, -1)->place = KILN_NET_INPUT;
    operand_of(n, "conv", 0, -1)->offset = 0;
}

static kiln_net_slot *a_view(kiln_net *n) {
    for (size_t i = 0; i < n->step.n; i++)
        for (int k = 0; k < n->step.v[i].n_operands; k++) {
            kiln_net_slot *s = &n->slot.v[n->step.v[i].operand[k]];
            if (s->view_of >= 0 && s->view_offset > 0)
                return s;
        }
    fail_msg("there is no view that a step reads");
    return n->slot.v;
}

static void a_view_elsewhere(kiln_net *n) { a_view(n)->view_offset -= 64; }

static kiln_net_slot *packed(kiln_net *n, int which) {
    return &n->slot.v[n->open.v[which].operand[1]];
}

static void another_constant(kiln_net *n) {
    packed(n, 0)->value = packed(n, 1)->value;
    packed(n, 0)->bytes = packed(n, 1)->bytes;
    packed(n, 0)->layout = packed(n, 1)->layout;
    n->open.v[0].kernel = n->open.v[1].kernel;
}

static void another_packed_block(kiln_net *n) {
    packed(n, 0)->layout.block[0].size = 2;
}

static void packed_over(kiln_net *n) { packed(n, 1)->offset = packed(n, 0)->offset; }
static void packed_outside(kiln_net *n) { packed(n, 2)->offset = n->packed_bytes; }
static void never_packed(kiln_net *n) { n->open.n--; }
static void packed_in_the_archive(kiln_net *n) { packed(n, 0)->place = KILN_NET_PARAM; }

static row rows[] = {
    {"as_it_was_made", nothing, NULL},
    {"another_layout", another_layout, "has"},
    {"another_block", another_block, "has"},
    {"no_zeros_behind", no_zeros_behind, "reads it as f32[1,17,6,6]{block=1x"},
    {"too_few_bytes", too_few_bytes, "bytes from byte"},
    {"over_a_live_value", over_a_live_value,
     "step 'conv' writes 'a' over 'x', which it reads"},
    {"outside_of_the_arena", outside_of_the_arena, "'a', f32[1,17,6,6]"},
    {"another_operand", another_operand, "step 'conv.1' reads it as"},
    {"a_step_less", a_step_less, "step 'conv.1' reads 'a', of which nobody has made"},
    {"fewer_operands", fewer_operands, "operands"},
    {"a_written_input", a_written_input, "'a'"},
    {"a_view_elsewhere", a_view_elsewhere, "it is no part of it"},
    {"another_constant", another_constant, "by a kernel of"},
    {"another_packed_block", another_packed_block, "open step 'pack w' packs 'w'"},
    {"packed_over_another", packed_over, "over what the step before it has packed"},
    {"packed_outside", packed_outside, "bytes from byte"},
    {"never_packed", never_packed, "2 open steps for 3 packed constants"},
    {"packed_in_the_archive", packed_in_the_archive, "open step 'pack w' packs 'w'"},
};

static bool stays(const kiln_value *v) { return strcmp(v->name, "x") == 0; }

static void checks(void **state) {
    const row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_profile p;
    kiln_network n;
    kiln_graph *g = kiln_test_weighted_graph(a, text, stays);
    kiln_assert_status_ok(kiln_profile_find(a, "x86-avx2", &p, &err), &err);
    const kiln_network_options o = {.pack_at_open = true};
    kiln_assert_status_ok(kiln_network_compile(a, g, &p, &o, &n, &err), &err);
    kiln_net copy = *n.net;
    copy.open.v = kiln_arena_dup(a, copy.open.v, copy.open.n * sizeof *copy.open.v);
    copy.slot.v = kiln_arena_dup(a, copy.slot.v, copy.slot.n * sizeof *copy.slot.v);
    copy.step.v = kiln_arena_dup(a, copy.step.v, copy.step.n * sizeof *copy.step.v);
    r->change(&copy);
    if (r->want == NULL)
        kiln_assert_status_ok(kiln_net_check(&copy, &err), &err);
    else
        kiln_assert_fails(kiln_net_check(&copy, &err), KILN_ERR_BUG, &err, r->want);
    if (r->want != NULL)
        print_message("%s\n", err.text);
}

int main(void) {
    kiln_test_add_rows(checks, rows);
    return kiln_test_run("check");
}
