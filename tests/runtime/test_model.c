/* Models and sessions: what is refused, in which words; allocations that fail one after
 * another leave nothing behind; sessions share a model; memory may be the caller's. */
#include "compiler/reference/reference.h"
#include "pipeline/network/network.h"
#include "tests/support/kiln_test.h"
#include "tests/support/graph/network_open.h"
#include "tests/support/model/weighted_graph.h"

#include <string.h>

static const char graph_text[] =
    "graph \"small\" { input %x : f32[2,8] input %w : f32[8,4] %a = matmul(%x, %w) "
    "%b = relu(%a) %v = reshape(%b) {shape=[8]} output %b \"y\" output %v \"flat\" }";

/* With weights that are packed when a model is opened. */
static const char packing_text[] =
    "graph \"packing\" { input %x : f32[1,5,7,7] input %w : f32[17,5,3,3] "
    "input %v : f32[9,17,1,1] input %b : f32[9] %a = conv(%x, %w) %r = relu(%a) "
    "%c = conv(%r, %v, %b) output %c }";

static kiln_network network, packing;
static kiln_graph *graph;

static bool stays(const kiln_value *v) { return strcmp(v->name, "x") == 0; }

static void compile(void) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_profile *p = kiln_new(a, kiln_profile);
    kiln_assert_status_ok(
        kiln_graph_parse(a, kiln_str_from(graph_text), "test", &graph, &err), &err);
    kiln_graph_renumber(graph);
    kiln_assert_status_ok(kiln_profile_detect(a, p, &err), &err);
    kiln_assert_status_ok(kiln_network_compile(a, graph, p, NULL, &network, &err),
                          &err);
    const kiln_network_options o = {.pack_at_open = true};
    const kiln_graph *g = kiln_test_weighted_graph(a, packing_text, stays);
    kiln_assert_status_ok(kiln_network_compile(a, g, p, &o, &packing, &err), &err);
    assert_true(packing.open.n >= 2);
}

/* ---- plans ----------------------------------------------------------------------- */

typedef struct row {
    const char *name;
    size_t at; /* byte of the header */
    uint32_t value;
    const char *text;
} row;

#define FIELD(field) offsetof(kiln_plan_header, field)
#define REMEDY                                                                         \
    "this runtime reads version 4: build the package again, or use the runtime of "    \
    "the kiln that made it"
static row rows[] = {
    {"another_magic", FIELD(magic), 0, "does not begin with 'KILNPLAN'"},
    {"plan_1", FIELD(version), 1, "version 1, " REMEDY},
    {"plan_2", FIELD(version), 2, "version 2, " REMEDY},
    {"plan_3", FIELD(version), 3, "version 3, " REMEDY},
    {"a_plan_to_come", FIELD(version), 5, "version 5, " REMEDY},
    {"another_size", FIELD(total_bytes), 12, "must have 12 bytes"},
    {"a_table_outside", FIELD(steps), 1u << 30, "a table lies outside the file"},
    {"open_steps_outside", FIELD(open.n), 1u << 19, "a table lies outside the file"},
    {"too_many_open_steps", FIELD(open.n), 1u << 28, "a table lies outside the file"},
    {"open_steps_at_a_crooked_place", FIELD(open.at), 233,
     "a table lies outside the file"},
    {"too_many_entries", FIELD(n_tensors), 1u << 28, "a table lies outside the file"},
    {"a_crooked_table", FIELD(tensors), 161, "a table lies outside the file"},
    {"no_strings", FIELD(string_bytes), 0, "its strings do not end"},
    {"a_name_outside", FIELD(model), 1u << 20, "a name lies outside the strings"},
    {"fewer_inputs", FIELD(n_inputs), 0, "tensor 0 has no place"},
};

static void broken_headers_are_refused(void **state) {
    const row *r = *state;
    char error[KILN_PLAN_ERROR];
    kiln_plan plan;
    char *bytes = kiln_arena_dup(kiln_test_arena(), network.plan.p, network.plan.n);
    assert_int_equal(kiln_plan_check(bytes, network.plan.n, &plan, error), 0);
    memcpy(bytes + r->at, &r->value, sizeof r->value);
    const int st = kiln_plan_check(bytes, network.plan.n, &plan, error);
    assert_int_equal(st, -1);
    if (strstr(error, r->text) == NULL)
        fail_msg("'%s' does not say '%s'", error, r->text);
}

static void cut_plans_are_refused(void **state) {
    const kiln_str *whole = *state;
    char error[KILN_PLAN_ERROR];
    kiln_plan plan;
    for (size_t n = 0; n < whole->n; n += 7) {
        char *bytes = kiln_arena_dup(kiln_test_arena(), whole->p, n + 1);
        assert_int_equal(kiln_plan_check(bytes, n, &plan, error), -1);
        assert_true(error[0] != '\0');
    }
}

/* Whatever a plan says, reading it stays inside its bytes (held by ASan). */
static void changed_bytes_do_no_harm(void **state) {
    const kiln_str *whole = *state;
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    char error[KILN_PLAN_ERROR];
    kiln_plan plan;
    int refused = 0;
    /* Ends where the plan ends: what an arena has not given out is poisoned. */
    char *bytes = kiln_arena_alloc(kiln_test_arena(), whole->n);
    for (int i = 0; i < 20000; i++) {
        memcpy(bytes, whole->p, whole->n);
        for (int k = (int)kiln_rng_range(&rng, 1, 3); k > 0; k--)
            bytes[kiln_rng_range(&rng, 8, (int64_t)whole->n - 1)] =
                (char)kiln_rng_range(&rng, 0, 255);
        refused += kiln_plan_check(bytes, whole->n, &plan, error) != 0;
    }
    assert_true(refused > 5000);
}

/* ---- models ---------------------------------------------------------------------- */

typedef struct counting {
    int n, fail_at, live;
} counting;

/* 64-byte aligned, in the test's arena. */
static void *aligned(size_t bytes) {
    char *p = kiln_arena_alloc(kiln_test_arena(), bytes + 64);
    return p + (64 - (uintptr_t)p % 64) % 64;
}

static void *count_alloc(void *user, size_t bytes) {
    counting *c = user;
    if (c->n++ == c->fail_at)
        return NULL;
    c->live++;
    return aligned(bytes);
}

static void count_release(void *user, void *block) {
    ((counting *)user)->live--;
    (void)block; /* the arena's */
}

static kiln_kernel_fn *no_kernel(void *user, const char *symbol) {
    (void)user;
    (void)symbol;
    return NULL;
}

static int idle(const kiln_args *args, kiln_ctx *ctx) {
    (void)args;
    (void)ctx;
    return 3;
}

static kiln_kernel_fn *idle_kernel(void *user, const char *symbol) {
    (void)user;
    (void)symbol;
    return idle;
}

static kiln_model_parts parts_with(kiln_kernel_fn *(*kernel)(void *, const char *)) {
    return (kiln_model_parts){network.plan.p,      network.plan.n, network.params,
                              network.param_bytes, kernel,         NULL};
}

static void failing_allocations_leave_nothing(void **state) {
    (void)state;
    char error[KILN_ERROR_TEXT];
    const kiln_model_parts parts = parts_with(idle_kernel);
    int failures = 0;
    for (int i = 0;; i++) {
        counting c = {.fail_at = i};
        const kiln_allocator allocator = {count_alloc, count_release, &c};
        kiln_model *m = kiln_model_from_parts(
            &parts, &(kiln_model_options){.allocator = &allocator}, error);
        kiln_session *s = m != NULL ? kiln_session_open(m, NULL, error) : NULL;
        const bool is_open = s != NULL;
        if (!is_open && strstr(error, "no memory") == NULL)
            fail_msg("'%s' does not say what is missing", error);
        failures += !is_open;
        kiln_session_close(s);
        kiln_model_close(m);
        assert_int_equal(c.live, 0);
        if (is_open)
            break;
    }
    assert_true(failures >= 8);
}

static void wrong_parts_are_refused(void **state) {
    (void)state;
    char error[KILN_ERROR_TEXT];
    kiln_model_parts parts = parts_with(no_kernel);
    assert_null(kiln_model_from_parts(&parts, NULL, error));
    assert_non_null(strstr(error, "the library has no kernel 'k0'"));
    parts = parts_with(idle_kernel);
    kiln_plan_header *h =
        kiln_arena_dup(kiln_test_arena(), parts.plan, parts.plan_bytes);
    h->arch = 8;
    parts.plan = h;
    assert_null(kiln_model_from_parts(&parts, NULL, error));
    assert_non_null(strstr(error, "the package is for ELF machine 8"));
    parts = parts_with(idle_kernel);
    assert_null(kiln_model_open("/nowhere/at/all", NULL, error));
    assert_non_null(strstr(error, "plan.bin"));
}

static void kernels_that_fail_are_named(void **state) {
    (void)state;
    char error[KILN_ERROR_TEXT];
    const kiln_model_parts parts = parts_with(idle_kernel);
    const float x[16] = {0};
    kiln_model *m = kiln_model_from_parts(&parts, NULL, error);
    kiln_session *s = kiln_session_open(m, NULL, error);
    for (int i = 0; i < kiln_model_n_inputs(m); i++)
        assert_int_equal(kiln_session_bind_input(s, i, network.plan.p + 1), -1);
    assert_non_null(strstr(kiln_session_error(s), "64-byte aligned"));
    assert_int_equal(kiln_session_set_input(s, 7, x), -1);
    assert_int_equal(kiln_session_run(s), -1);
    assert_non_null(strstr(kiln_session_error(s), "an input was never set"));
    const float *w = aligned(128);
    assert_int_equal(kiln_session_set_input(s, 0, x), 0);
    assert_int_equal(kiln_session_bind_input(s, 1, w), 0);
    assert_int_equal(kiln_session_run(s), -1);
    assert_non_null(strstr(kiln_session_error(s), "failed with code 3"));
    kiln_session_close(s);
    kiln_model_close(m);
}

/* Inputs of 64 and 128 bytes, outputs of 32: who may share memory is asked when it
 * runs, so that buffers can be exchanged one after another. */
static void bound_outputs_lie_apart(void **state) {
    (void)state;
    kiln_err err = {0};
    char error[KILN_ERROR_TEXT];
    kiln_model *m = NULL;
    kiln_assert_status_ok(
        kiln_test_network_open(kiln_test_arena(), &network, NULL, &m, &err), &err);
    kiln_session *s = kiln_session_open(m, NULL, error);
    char *memory = aligned(1024);
    assert_non_null(s);
    for (int i = 0; i < 2; i++)
        assert_int_equal(kiln_session_bind_input(s, i, memory), 0); /* the same */
    assert_int_equal(kiln_session_bind_output(s, 0, memory + 512), 0);
    assert_int_equal(kiln_session_run(s), 0);
    assert_int_equal(kiln_session_bind_output(s, 0, memory), 0);
    assert_int_equal(kiln_session_run(s), -1);
    assert_non_null(strstr(kiln_session_error(s),
                           "the memory of output 0 overlaps that of input 0"));
    for (int i = 0; i < 2; i++)
        assert_int_equal(kiln_session_bind_input(s, i, memory + 256), 0);
    assert_int_equal(kiln_session_run(s), 0); /* exchanged */
    assert_int_equal(kiln_session_bind_output(s, 1, memory), 0);
    assert_int_equal(kiln_session_run(s), -1);
    assert_non_null(strstr(kiln_session_error(s),
                           "the memory of output 1 overlaps that of output 0"));
    assert_int_equal(kiln_session_bind_output(s, 1, NULL), 0);
    assert_int_equal(kiln_session_bind_input(s, 0, kiln_session_output(s, 1)), 0);
    assert_int_equal(kiln_session_run(s), -1);
    assert_non_null(strstr(kiln_session_error(s),
                           "the memory of output 1 overlaps that of input 0"));
    kiln_session_close(s);
    kiln_model_close(m);
}

/* ---- sessions -------------------------------------------------------------------- */

static void sessions_share_a_model(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    char error[KILN_ERROR_TEXT];
    kiln_model *m = NULL;
    kiln_session *s[2];
    kiln_tensor in[2][2], want[2][2];
    kiln_port_info info;
    kiln_assert_status_ok(kiln_test_network_open(a, &network, NULL, &m, &err), &err);
    assert_int_equal(kiln_model_find_output(m, "flat"), 1);
    assert_int_equal(kiln_model_find_input(m, "y"), -1);
    assert_int_equal(kiln_model_output(m, 1, &info), 0);
    assert_int_equal(info.rank, 1);
    assert_int_equal(info.dim[0], 8);
    assert_int_equal(kiln_model_output(m, 2, &info), -1);
    for (int k = 0; k < 2; k++) {
        s[k] = kiln_session_open(m, NULL, error);
        assert_non_null(s[k]);
        kiln_session_profile(s[k], 1);
        for (int i = 0; i < 2; i++) {
            in[k][i] = kiln_ref_random(a, &graph->inputs.v[i]->type,
                                       kiln_test_seed() + (uint64_t)(2 * k + i));
            assert_int_equal(kiln_session_set_input(s[k], i, in[k][i].data), 0);
        }
        kiln_assert_status_ok(kiln_ref_run(a, graph, in[k], 2, want[k], &err), &err);
    }
    float *own = aligned(64);
    assert_int_equal(kiln_session_bind_output(s[1], 0, own), 0);
    for (int k = 0; k < 2; k++)
        assert_int_equal(kiln_session_run(s[k]), 0);
    assert_ptr_equal(kiln_session_output(s[1], 0), own);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 2; i++)
            kiln_assert_close(kiln_session_output(s[k], i), want[k][i].data, 8, 16,
                              1e-6);
    kiln_step_info step;
    assert_true(kiln_session_n_steps(s[0]) >= 2);
    assert_int_equal(kiln_session_step(s[0], 0, &step), 0);
    assert_int_equal(step.runs, 1);
    assert_string_equal(step.op, "matmul");
    kiln_session_close(s[0]);
    kiln_session_close(s[1]);
    kiln_model_close(m);
}

int main(void) {
    compile();
    kiln_test_add_rows(broken_headers_are_refused, rows);
    kiln_test_add("cut_plans_are_refused", cut_plans_are_refused, &network.plan);
    kiln_test_add("cut_plans_that_pack_are_refused", cut_plans_are_refused,
                  &packing.plan);
    kiln_test_add("changed_bytes_do_no_harm", changed_bytes_do_no_harm, &network.plan);
    kiln_test_add("changed_bytes_of_what_packs_do_no_harm", changed_bytes_do_no_harm,
                  &packing.plan);
    kiln_test_add("failing_allocations_leave_nothing",
                  failing_allocations_leave_nothing, NULL);
    kiln_test_add("wrong_parts_are_refused", wrong_parts_are_refused, NULL);
    kiln_test_add("kernels_that_fail_are_named", kernels_that_fail_are_named, NULL);
    kiln_test_add("bound_outputs_lie_apart", bound_outputs_lie_apart, NULL);
    kiln_test_add("sessions_share_a_model", sessions_share_a_model, NULL);
    return kiln_test_run("models and sessions");
}
