/* Networks whose constants are packed when the model is opened, beside the same ones
 * packed as they are compiled: what open steps make is the same bytes, and so outputs
 * are, bit by bit; constants lie row-major in the plan's parameters, each once. */
#include "compiler/reference/reference.h"
#include "pipeline/network/network.h"
#include "runtime/model_internal.h"
#include "tests/support/kiln_test.h"
#include "tests/support/graph/network_open.h"
#include "tests/support/model/weighted_graph.h"
#include "compiler/pass/pass.h"

#include <string.h>

typedef struct row {
    const char *name, *text;
    int n_open;   /* steps that pack, at least */
    int winograd; /* constants among them that are packed for it, at least */
    int n_shared; /* constants that are packed in more than one way, at least */
} row;

static row rows[] = {
    {"winograd",
     "graph \"g\" { input %x : f32[1,64,28,28] input %w : f32[64,64,3,3] "
     "input %v : f32[64,64,3,3] input %b : f32[64] %a = conv(%x, %w, %b) "
     "{pads=[1,1,1,1]} %r = relu(%a) %c = conv(%r, %v) {pads=[1,1,1,1]} "
     "%d = add(%c, %x) output %d }",
     2, 2, 0},
    {"winograd_with_tails",
     "graph \"g\" { input %x : f32[1,41,28,28] input %w : f32[67,41,3,3] "
     "%a = conv(%x, %w) {pads=[1,1,1,1]} %r = relu(%a) output %r }",
     1, 1, 0},
    {"weights_that_two_read_in_two_ways",
     "graph \"g\" { input %x : f32[1,64,28,28] input %w : f32[64,64,3,3] "
     "%a = conv(%x, %w) {pads=[1,1,1,1]} %b = conv(%a, %w) {strides=[2,2]} "
     "%c = conv(%b, %w) {dilations=[2,2]} output %c }",
     2, 1, 1},
    {"odd_channels",
     "graph \"g\" { input %x : f32[1,3,9,7] input %w : f32[17,3,3,3] "
     "input %v : f32[5,17,1,1] input %b : f32[17] %a = conv(%x, %w, %b) "
     "{strides=[2,2]} %s = sigmoid(%a) %c = conv(%s, %v) output %c }",
     2, 0, 0},
    {"depthwise",
     "graph \"g\" { input %x : f32[1,24,12,12] input %w : f32[24,1,3,3] "
     "input %v : f32[40,24,1,1] input %b : f32[24] %a = conv(%x, %w, %b) "
     "{groups=24, pads=[1,1,1,1]} %r = relu(%a) %c = conv(%r, %v) output %c }",
     2, 0, 0},
    {"products",
     "graph \"g\" { input %x : f32[33,96] input %w : f32[96,203] input %b : f32[203] "
     "input %v : f32[203,70] %a = matmul(%x, %w) %c = add(%a, %b) %d = relu(%c) "
     "%e = matmul(%d, %v) output %e }",
     1, 0, 0},
    {"dense",
     "graph \"g\" { input %x : f32[1,96] input %w : f32[203,96] input %b : f32[203] "
     "%a = gemm(%x, %w, %b) {trans_b=true} output %a }",
     1, 0, 0},
    {"half_floats",
     "graph \"g\" { input %x : f16[1,16,10,10] input %w : f16[20,16,3,3] "
     "input %m : f16[8,40] %a = conv(%x, %w) %b = relu(%a) %c = matmul(%b, %m) "
     "output %c }",
     1, 0, 0},
    {"brain_floats",
     "graph \"g\" { input %x : bf16[1,16,10,10] input %w : bf16[20,16,3,3] "
     "%a = conv(%x, %w) %b = relu(%a) output %b }",
     1, 0, 0},
    {"bytes",
     "graph \"g\" { input %x : u8[1,16,10,10] input %w : i8[20,16,3,3] "
     "%p = cast(%x) {to=i32} %q = cast(%w) {to=i32} %a = conv(%p, %q) "
     "{pads=[1,1,1,1]} output %a }",
     1, 0, 0},
    {"products_of_bytes",
     "graph \"g\" { input %x : u8[20,64] input %w : i8[64,72] %p = cast(%x) {to=i32} "
     "%q = cast(%w) {to=i32} %a = matmul(%p, %q) output %a }",
     1, 0, 0},
    {"nothing_to_pack",
     "graph \"g\" { input %x : f32[7,5] input %b : f32[5] input %s : f32[] "
     "%a = add(%x, %b) %c = mul(%a, %s) %d = tanh(%c) output %d }",
     0, 0, 0},
    {"both_branches",
     "graph \"g\" { input %x : f32[1,16,8,8] input %c : bool[] input %w : "
     "f32[16,16,3,3] "
     "%a = conv(%x, %w) {pads=[1,1,1,1]} "
     "%y, %q = if(%c, %a, %w, %x, %a) {then_branch=graph \"then\" { "
     "input %a : f32[1,16,8,8] input %w : f32[16,16,3,3] "
     "const %k : f32[16,16,1,1] = {0x1p-1 x 256} "
     "%b = conv(%a, %w) {pads=[1,1,1,1]} %d = conv(%b, %k) output %d output %a }, "
     "else_branch=graph \"else\" { input %p : f32[1,16,8,8] input %a : f32[1,16,8,8] "
     "%d = neg(%a) %e = mul(%d, %p) output %e output %d }} "
     "%z = add(%y, %a) output %z output %q }",
     2, 0, 0},
    {"a_constant_that_is_an_output",
     "graph \"g\" { input %x : f32[1,17,6,6] input %w : f32[20,17,1,1] "
     "%a = conv(%x, %w) output %a output %w }",
     1, 0, 0},
};

static bool stays(const kiln_value *v) {
    return strcmp(v->name, "x") == 0 || v->type.dtype == KILN_BOOL;
}

typedef struct pair {
    kiln_arena *a;
    kiln_graph *g;
    kiln_network built, opened;
    kiln_model *of_built, *of_opened;
} pair;

static void compile(pair *p, const row *r, const kiln_profile *profile) {
    kiln_err err = {0};
    const kiln_network_options at_open = {.pack_at_open = true};
    p->g = kiln_test_weighted_graph(p->a, r->text, stays);
    kiln_assert_status_ok(kiln_graph_optimize(p->g, NULL, &err), &err);
    kiln_assert_status_ok(
        kiln_network_compile(p->a, p->g, profile, NULL, &p->built, &err), &err);
    kiln_assert_status_ok(
        kiln_network_compile(p->a, p->g, profile, &at_open, &p->opened, &err), &err);
}

/* ---- bytes -------------------------------------------------------------------------
 */

static uint64_t padded(int64_t bytes) {
    return ((uint64_t)bytes + KILN_PLAN_ALIGN - 1) / KILN_PLAN_ALIGN * KILN_PLAN_ALIGN;
}

/* Constants as they are, one behind the other, nothing twice. */
static void check_params(const pair *p) {
    uint64_t at = 0;
    for (size_t i = 0; i < p->opened.param.n; i++) {
        const kiln_network_param *x = &p->opened.param.v[i];
        assert_true(kiln_layout_is_plain(&x->type.layout));
        assert_int_equal(x->offset, at);
        at += padded(kiln_type_bytes(&x->type));
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(x->name, p->opened.param.v[k].name);
    }
    assert_int_equal(p->opened.param_bytes, at);
    assert_true(p->opened.param_bytes <= p->built.param_bytes);
}

static const kiln_net_slot *param_like(const kiln_net *n, const kiln_net_slot *like) {
    for (size_t i = 0; i < n->slot.n; i++) {
        const kiln_net_slot *s = &n->slot.v[i];
        if (s->place == KILN_NET_PARAM && s->view_of < 0 &&
            s->value->data == like->value->data && s->packing == like->packing &&
            kiln_layout_eq(&s->layout, &like->layout))
            return s;
    }
    fail_msg("'%s' is packed in a way that nobody else does", like->value->name);
    return n->slot.v;
}

/* What was packed, against what is packed ahead. */
static void check_packed(const pair *p, const char *packed, const row *r) {
    const kiln_net *open = p->opened.net, *built = p->built.net;
    int n_winograd = 0, n_shared = 0;
    for (size_t i = 0; i < open->open.n; i++) {
        const kiln_net_slot *s = &open->slot.v[open->open.v[i].operand[1]];
        const kiln_net_slot *want = param_like(built, s);
        assert_int_equal(s->bytes, want->bytes);
        if (memcmp(packed + s->offset, (const char *)p->built.params + want->offset,
                   (size_t)s->bytes) != 0)
            fail_msg("'%s' is packed into other bytes", s->value->name);
        n_winograd += s->packing != NULL;
        for (size_t k = 0; k < i; k++)
            n_shared += open->open.v[k].operand[0] == open->open.v[i].operand[0];
    }
    print_message("%s: %zu packed, %d for Winograd, %d again; %zu bytes instead of "
                  "%zu, %lld packed\n",
                  r->name, open->open.n, n_winograd, n_shared, p->opened.param_bytes,
                  p->built.param_bytes, (long long)p->opened.packed_bytes);
    assert_true((int)open->open.n >= r->n_open);
    assert_true(n_winograd >= r->winograd);
    assert_true(n_shared >= r->n_shared);
}

/* ---- outputs -----------------------------------------------------------------------
 */

static kiln_session *run(kiln_model *m, const kiln_graph *g, int n_threads,
                         int condition) {
    kiln_arena *a = kiln_test_arena();
    char error[KILN_ERROR_TEXT];
    const kiln_session_options o = {.n_threads = n_threads};
    kiln_session *s = kiln_session_open(m, &o, error);
    assert_non_null(s);
    for (size_t i = 0; i < g->inputs.n; i++) {
        kiln_tensor in = kiln_ref_random(a, &g->inputs.v[i]->type, kiln_test_seed());
        if (in.type.dtype == KILN_BOOL)
            *(unsigned char *)in.data = (unsigned char)condition;
        assert_int_equal(kiln_session_set_input(s, (int)i, in.data), 0);
    }
    if (kiln_session_run(s) != 0)
        fail_msg("%s", kiln_session_error(s));
    return s;
}

static void check_outputs(const pair *p, int n_threads, int condition) {
    kiln_session *x = run(p->of_built, p->g, n_threads, condition);
    kiln_session *y = run(p->of_opened, p->g, n_threads, condition);
    for (size_t i = 0; i < p->g->outputs.n; i++)
        if (memcmp(kiln_session_output(x, (int)i), kiln_session_output(y, (int)i),
                   (size_t)kiln_type_bytes(&p->g->outputs.v[i]->type)) != 0)
            fail_msg("output '%s' has other bits on %d threads",
                     p->g->output_names.v[i], n_threads);
    kiln_session_close(x);
    kiln_session_close(y);
}

/* Memory that holds NaN: what is read and was never packed shows. */
static void *poisoned(void *arena, size_t bytes) {
    unsigned char *block = kiln_arena_alloc_raw(arena, bytes + 64);
    memset(block, 0xFF, bytes);
    return block;
}

static void kept(void *arena, void *block) {
    (void)arena;
    (void)block;
}

static void packs_the_same(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_profile profile;
    pair p = {.a = &a};
    const kiln_allocator allocator = {poisoned, kept, &a};
    const kiln_model_options o = {.allocator = &allocator};
    kiln_assert_status_ok(kiln_profile_detect(&a, &profile, &err), &err);
    compile(&p, r, &profile);
    check_params(&p);
    kiln_assert_status_ok(kiln_test_network_open(&a, &p.built, &o, &p.of_built, &err),
                          &err);
    kiln_assert_status_ok(kiln_test_network_open(&a, &p.opened, &o, &p.of_opened, &err),
                          &err);
    check_packed(&p, p.of_opened->packed[0], r);
    for (int i = 0; i < 4; i++)
        check_outputs(&p, 1 + i / 2, i % 2);
    kiln_model_close(p.of_built);
    kiln_model_close(p.of_opened);
    kiln_arena_fini(&a);
}

/* For every profile there is: plans that pack pass the verifier and the runtime's
 * check; kernels that only pack are compiled once for all weights of a shape. */
static void packs_for_every_profile(void **state) {
    (void)state;
    static const row r = {
        .name = "same_shapes",
        .text = "graph \"g\" { input %x : f32[1,32,20,20] input %w : f32[32,32,3,3] "
                "input %v : f32[32,32,3,3] input %u : f32[32,32,3,3] "
                "%a = conv(%x, %w) {pads=[1,1,1,1]} %b = conv(%a, %v) "
                "{pads=[1,1,1,1]} %c = conv(%b, %u) {pads=[1,1,1,1]} output %c }"};
    for (int i = 0; kiln_profile_at(i) != NULL; i++) {
        kiln_arena a = {0};
        pair p = {.a = &a};
        compile(&p, &r, kiln_profile_at(i));
        check_params(&p);
        assert_true(p.opened.open.n >= 3);
        for (size_t k = 1; k < p.opened.open.n; k++) {
            assert_int_equal(p.opened.open.v[k].kernel, p.opened.open.v[0].kernel);
            assert_string_equal(p.opened.open.v[k].op, "pack");
        }
        assert_string_equal(p.opened.open.v[0].name, "pack w");
        assert_int_equal(p.built.open.n, 0);
        assert_int_equal(p.built.packed_bytes, 0);
        kiln_arena_fini(&a);
    }
}

int main(void) {
    kiln_test_add_rows(packs_the_same, rows);
    kiln_test_add("packs_for_every_profile", packs_for_every_profile, NULL);
    return kiln_test_run("packing at open");
}
