/* The prover: a right run is proved in all its steps, and whatever is changed on its
 * way past is found at the step where it shows. Runs are this process's own, one trace
 * after another. */
#include "pipeline/network/network_prove.h"
#include "tests/support/kiln_test.h"
#include "tests/support/graph/network_open.h"
#include "tests/support/model/weighted_graph.h"
#include "compiler/reference/reference.h"

#include <string.h>

#define CONVOLUTIONS                                                                   \
    "graph \"g\" { input %x : f32[1,20,6,6] input %w : f32[17,20,3,3] "                \
    "input %v : f32[5,17,1,1] %a = conv(%x, %w) {pads=[1,1,1,1]} %b = relu(%a) "       \
    "%c = conv(%b, %v) %d = concat(%b, %c) {axis=1} %e = max_pool(%d) {kernel=[2,2]} " \
    "output %e }"
#define PARTS                                                                          \
    "graph \"g\" { input %x : f32[1,64,4,4] input %w : f32[32,64,1,1] "                \
    "%a = conv(%x, %w) %b, %c = split(%a) {axis=1, sizes=[16,16]} %d = tanh(%b) "      \
    "%e = concat(%d, %c) {axis=1} %f = relu(%e) %g = reshape(%f) {shape=[1,512]} "     \
    "output %g }"
#define BRANCHES                                                                       \
    "graph \"g\" { input %x : f32[8] input %c : bool[] %y = if(%c, %x, %x) "           \
    "{then_branch=graph \"t\" { input %x : f32[8] %z = tanh(%x) output %z }, "         \
    "else_branch=graph \"e\" { input %x : f32[8] %z = neg(%x) output %z }} "           \
    "%o = exp(%y) output %o }"
#define LOOPS                                                                          \
    "graph \"g\" { input %s : f32[4] input %x : f32[7,4] %t, %y = scan(%s, %x) "       \
    "{n_state=1, n_scan=1, body=graph \"b\" { input %h : f32[4] input %e : f32[4] "    \
    "%a = add(%h, %e) %b = tanh(%a) %q = neg(%b) output %b output %q }} "              \
    "%z = reduce_sum(%y) {axes=[0]} output %t output %z }"

/* What the loop stacked is read in another shape. */
#define RESHAPED_LOOP                                                                  \
    "graph \"g\" { input %s : f32[4] input %x : f32[7,4] input %w : f32[2,3] "         \
    "%t, %y = scan(%s, %x) {n_state=1, n_scan=1, body=graph \"b\" { "                  \
    "input %h : f32[4] input %e : f32[4] %a = add(%h, %e) %b = tanh(%a) output %b "    \
    "output %b }} %v = reshape(%y) {shape=[14,2]} %z = gemm(%v, %w) output %z }"
enum { SEEN = 3 };

/* What is done to a record on its way past; false: it is left out. */
typedef struct tampering {
    kiln_trace_kind kind;
    int step, operand; /* of the plan; -1: any. */
    size_t at;         /* byte of the operand */
    bool is_left_out;
} tampering;

typedef struct row {
    const char *name, *text;
    bool condition;
    tampering change; /* kind KILN_TRACE_END: none */
    const char *want; /* in the problem; "": it is proved */
} row;

#define NOTHING KILN_TRACE_END

static row rows[] = {
    {"convolutions", CONVOLUTIONS, false, {.kind = NOTHING}, ""},
    {"parts", PARTS, false, {.kind = NOTHING}, ""},
    {"one_branch", BRANCHES, true, {.kind = NOTHING}, ""},
    {"the_other_branch", BRANCHES, false, {.kind = NOTHING}, ""},
    {"loops", LOOPS, false, {.kind = NOTHING}, ""},
    {"a_loop_seen_in_part", RESHAPED_LOOP, false, {.kind = NOTHING}, ""},
    {"a_wrong_result",
     CONVOLUTIONS,
     false,
     {KILN_TRACE_WRITTEN, 1, -1, 3, false},
     "is wrong: output"},
    {"a_wrong_first_element",
     PARTS,
     false,
     {KILN_TRACE_WRITTEN, -1, -1, 3, false},
     "writes 'x' wrongly: element"},
    {"a_stale_value",
     CONVOLUTIONS,
     false,
     {KILN_TRACE_READ, 2, 0, 3, false},
     "reads 'b' wrongly: element"},
    {"a_step_that_did_not_run",
     CONVOLUTIONS,
     false,
     {KILN_TRACE_WRITTEN, 1, -1, 0, true},
     "which nobody made"},
    {"the_last_step_did_not_run",
     BRANCHES,
     true,
     {KILN_TRACE_WRITTEN, -2, -1, 0, true},
     "did not run"},
    {"the_wrong_branch", BRANCHES, true, {KILN_TRACE_READ, 0, 0, 0, false}, "'c'"},
    {"a_wrong_state", LOOPS, false, {KILN_TRACE_READ, 3, 0, 3, false}, "wrongly"},
};

typedef struct run {
    const row *r;
    kiln_prover *prover;
    const kiln_network *n;
    bool is_changed;
    kiln_status status;
    kiln_err err;
} run;

static bool is_meant(const run *t, const kiln_trace *x) {
    const tampering *c = &t->r->change;
    const int step = c->step == -2 ? t->n->n_steps - 1 : c->step;
    return c->kind != NOTHING && x->kind == c->kind && !x->is_parameter &&
           (step < 0 || (int)x->step == step) &&
           (c->operand < 0 || (int)x->operand == c->operand) && !t->is_changed &&
           c->at < x->bytes;
}

/* The first iterations of a loop alone, as runs of packages are recorded. */
static bool sees_few(const row *r) { return strcmp(r->text, RESHAPED_LOOP) == 0; }

static void pass_on(void *user, const kiln_trace *x) {
    run *t = user;
    kiln_prover_record r = {.kind = x->kind,
                            .step = (int)x->step,
                            .operand = (int)x->operand,
                            .iteration = x->iteration,
                            .data = x->data,
                            .bytes = x->is_parameter ? 0 : x->bytes};
    if (x->kind == KILN_TRACE_END ? !sees_few(t->r)
                                  : sees_few(t->r) && x->iteration >= SEEN)
        return;
    unsigned char *copy =
        x->bytes > 0 ? kiln_arena_dup(kiln_test_arena(), x->data, x->bytes) : NULL;
    if (is_meant(t, x)) {
        t->is_changed = true;
        if (t->r->change.is_left_out)
            return;
        copy[t->r->change.at] ^= 0x40;
    }
    r.data = copy;
    if (t->status == KILN_OK)
        t->status = kiln_prover_take(t->prover, &r, &t->err);
}

static bool stays(const kiln_value *v) {
    return strlen(v->name) == 1 && strchr("xsc", v->name[0]) != NULL;
}

static void proves(void **state) {
    const row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_profile p;
    kiln_network n;
    kiln_model *m = NULL;
    kiln_network_proof proof;
    kiln_tensor in[4];
    char error[KILN_ERROR_TEXT];
    kiln_graph *g = kiln_test_weighted_graph(a, r->text, stays);
    kiln_assert_status_ok(kiln_profile_detect(a, &p, &err), &err);
    kiln_assert_status_ok(kiln_network_compile(a, g, &p, NULL, &n, &err), &err);
    kiln_assert_status_ok(kiln_test_network_open(a, &n, NULL, &m, &err), &err);
    kiln_session *s = kiln_session_open(m, NULL, error);
    assert_non_null(s);
    for (size_t i = 0; i < g->inputs.n; i++) {
        in[i] = kiln_ref_random(a, &g->inputs.v[i]->type, kiln_test_seed() + i);
        if (in[i].type.dtype == KILN_BOOL)
            *(unsigned char *)in[i].data = r->condition;
        assert_int_equal(kiln_session_set_input(s, (int)i, in[i].data), 0);
    }
    run t = {.r = r, .n = &n};
    t.prover = kiln_prover_new(a, &n, in, 1, &proof);
    kiln_session_trace(s, pass_on, &t);
    assert_int_equal(kiln_session_run(s), 0);
    kiln_prover_end(t.prover);
    kiln_session_close(s);
    kiln_model_close(m);
    kiln_assert_status_ok(t.status, &t.err);
    print_message("%d steps, %d proved, %lld of %lld elements: %s\n", proof.n_steps,
                  proof.n_proved, (long long)proof.n_checked, (long long)proof.n_elems,
                  proof.problem);
    if (r->want[0] == '\0' && r->change.kind == NOTHING) {
        assert_string_equal(proof.problem, "");
        assert_int_equal(proof.n_unknown, 0);
        assert_true(proof.n_proved > 0 && proof.n_checked > 0);
        return;
    }
    assert_true(t.is_changed);
    if (strstr(proof.problem, r->want) == NULL || proof.problem[0] == '\0')
        fail_msg("'%s' does not say '%s'", proof.problem, r->want);
    assert_true(proof.step >= 0);
}

int main(void) {
    kiln_test_add_rows(proves, rows);
    return kiln_test_run("prove");
}
