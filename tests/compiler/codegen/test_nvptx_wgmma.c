/* Products of warpgroups as PTX: for sm_90a alone, one instruction for 64 rows of all columns
 * that a group has and 16 terms, nothing in local memory, few instructions beside them in the
 * hottest block; ptxas spills no register and finds nothing that it must wait for by itself.
 * Other back ends, and GPUs before sm_90, refuse by name. */
#include "compiler/codegen/codegen_gpu_module.h"
#include "tests/support/kiln_test.h"
#include "tests/support/gpu/ptxas.h"
#include "tests/support/kernel/template_check.h"
#include "tests/support/random/random_work.h"

#include <string.h>

enum { SIZE = 4096 };

typedef struct row {
    const char *name;
    kiln_dtype dtype;
    bool b_along_k;
    int64_t block[2], groups[2], stages;
    int products; /* of a step, by a warpgroup */
    bool is_one_step;
} row;

static row rows[] = {
    {"f16_128_256", KILN_F16, false, {128, 256}, {2, 1}, 4, 4, false},
    {"f16_256_128", KILN_F16, false, {256, 128}, {2, 1}, 4, 8, false},
    {"f16_of_rows_of_terms", KILN_F16, true, {128, 256}, {2, 1}, 4, 4, false},
    {"f16_two_blocks_a_processor", KILN_F16, false, {128, 128}, {2, 1}, 3, 4, false},
    {"bf16_side_by_side", KILN_BF16, false, {128, 256}, {1, 2}, 3, 8, false},
    {"bf16_of_rows_of_terms", KILN_BF16, true, {128, 128}, {2, 1}, 4, 4, false},
    {"f16_of_one_step", KILN_F16, false, {128, 128}, {2, 1}, 3, 4, true},
};

static kiln_profile profile_of(kiln_arena *a, const char *name) {
    kiln_profile p;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_profile_find(a, name, &p, &err), &err);
    return p;
}

static void set(const kiln_space *s, kiln_config *c, const char *knob,
                const int64_t *value) {
    int k = 0;
    while (k < s->n && strcmp(s->knob[k].name, knob) != 0)
        k++;
    assert_true(k < s->n);
    kiln_config_set(s, c, k, value);
}

typedef struct made {
    kiln_workload w;
    kiln_space s;
    kiln_config c;
} made;

static void make(kiln_arena *a, const row *r, const kiln_profile *p, made *out) {
    const kiln_template *tmpl = &kiln_template_gpu_matmul_mma;
    const int64_t step = 64, group = 8, k = r->is_one_step ? step : SIZE;
    const kiln_type ta = kiln_type_make(r->dtype, 2, (int64_t[]){SIZE, k});
    const kiln_type tb = kiln_type_make(
        r->dtype, 2, (int64_t[]){r->b_along_k ? SIZE : k, r->b_along_k ? k : SIZE});
    kiln_graph *g = kiln_graph_new(a, "product");
    kiln_value *in[2] = {kiln_graph_add_input(g, "a", &ta),
                         kiln_graph_add_input(g, "b", &tb)};
    const kiln_attr_arg turned = kiln_arg_bool("trans_b", r->b_along_k);
    const kiln_node_spec spec = {
        .op = &kiln_op_matmul, .in = in, .n_in = 2, .args = &turned, .n_args = 1};
    kiln_node *node = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_graph_add_node(g, &spec, &node, &err), &err);
    kiln_graph_add_output(g, node->out[0], "y");
    kiln_assert_status_ok(kiln_workload_of(g, &out->w, &err), &err);
    kiln_space_init(&out->s, a);
    assert_true(tmpl->fits(&out->w, p));
    kiln_assert_status_ok(tmpl->space(&out->w, p, &out->s, &err), &err);
    out->c = kiln_config_at(&out->s, 0);
    set(&out->s, &out->c, "block", r->block);
    set(&out->s, &out->c, "warps", r->groups);
    set(&out->s, &out->c, "step_k", &step);
    set(&out->s, &out->c, "stages", &r->stages);
    set(&out->s, &out->c, "group", &group);
    template_set_word(&out->s, &out->c, "by", "warpgroups");
}

static int count(const char *text, const char *word) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        n++;
    return n;
}

/* Instructions of the block that holds the products; lines inside one's braces are its. */
static int hottest(const char *text) {
    int n = 0, here = 0;
    bool has = false;
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n")) {
        line += *line == '\n';
        if (line[0] == '$') { /* a label */
            n = has ? here : n;
            has = false;
            here = 0;
        }
        has = has || strncmp(line, "\twgmma.mma", 10) == 0;
        here += line[0] == '\t' && line[1] != '.' && line[1] != '/' && line[1] != '}' &&
                line[1] != '{' && line[1] != '\t';
    }
    return n;
}

static void check(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    const kiln_profile p = profile_of(&a, "cuda-sm90");
    const template_check t = {.tmpl = &kiln_template_gpu_matmul_mma, .profile = &p};
    made x;
    make(&a, r, &p, &x);
    const kiln_str code = template_assembly(&a, &t, &x.w, &x.s, &x.c, &err);
    if (code.p == NULL)
        fail_msg("refused: %s", err.text);
    const char *text = kiln_format(&a, "%.*s", (int)code.n, code.p);
    print_message("%d products, %d instructions in the hottest block\n",
                  count(text, "wgmma.mma_async"), hottest(text));
    assert_non_null(strstr(text, ".target sm_90a"));
    assert_int_equal(count(text, "wgmma.mma_async"), r->products);
    /* One goes on until the next step where there are more than three stages; in the end
     * all are waited for. */
    assert_int_equal(count(text, "wgmma.wait_group.sync.aligned 1"), r->stages > 3);
    assert_int_equal(count(text, "wgmma.wait_group.sync.aligned 0"),
                     r->is_one_step  ? r->products
                     : r->stages > 3 ? 1
                                     : 2);
    assert_null(strstr(text, ".local"));
    if (ptxas_is_here()) {
        const char *said = ptxas_said(&a, &p, text), *used = strstr(said, "Used ");
        print_message("  %.*s\n", used == NULL ? 0 : (int)strcspn(used, "\n"), used);
        if (strstr(said, " 0 bytes spill stores, 0 bytes spill loads") == NULL ||
            strstr(said, "(C75") != NULL)
            fail_msg("%s", said);
    }
    kiln_arena_fini(&a);
    if (!ptxas_is_here())
        kiln_test_skip("no ptxas");
}

static kiln_program *program_of(kiln_arena *a, const made *x, const kiln_profile *p,
                                const char *name) {
    kiln_scheduled y;
    kiln_program *program = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_template_apply(a, &kiln_template_gpu_matmul_mma, &x->w,
                                              p, &x->s, &x->c, &y, &err),
                          &err);
    kiln_assert_status_ok(kiln_scheduled_program(a, &y, name, &program, &err), &err);
    return program;
}

/* A package's one text: with the heading of the kernel that asks for most. */
static void linked_with_what_others_run(void **state) {
    kiln_arena *a = kiln_test_arena();
    const kiln_profile p = profile_of(a, "cuda-sm90");
    kiln_str object[2], linked = {"", 0};
    kiln_gpu_module m;
    kiln_err err = {0};
    made x;
    (void)state;
    make(a, &rows[3], &p, &x);
    for (int i = 0; i < 2; i++) {
        kiln_object o = {.workspace_bytes = 0};
        template_set_word(&x.s, &x.c, "by", i == 0 ? "warps" : "warpgroups");
        set(&x.s, &x.c, "warps", i == 0 ? (int64_t[]){2, 4} : rows[3].groups);
        kiln_assert_status_ok(
            kiln_codegen(a, program_of(a, &x, &p, i == 0 ? "first" : "second"), &p,
                         NULL, &o, NULL, &err),
            &err);
        object[i] = o.bytes;
    }
    kiln_assert_status_ok(kiln_gpu_module_link(a, object, 2, &linked, &err), &err);
    kiln_assert_status_ok(kiln_gpu_object_open(a, linked, &m, &err), &err);
    assert_int_equal(count(m.code, ".target "), 1);
    assert_int_equal(count(m.code, ".version "), 1);
    assert_non_null(strstr(m.code, ".target sm_90a"));
    assert_int_equal(count(m.code, ".entry "), 2);
    if (!ptxas_is_here())
        kiln_test_skip("no ptxas");
    (void)ptxas_said(a, &p, m.code);
}

/* Code for another profile than the program was scheduled for. */
static void others_refuse(void **state) {
    static const char *const other[][2] = {
        {"cuda-sm80", "has no warpgroups' tensor cores for 'wgmma_f16.update'"},
        {"opencl-generic", "holds between its threads"},
        {"znver4", "llvm_cpu has no"}};
    kiln_arena *a = kiln_test_arena();
    const kiln_profile p = profile_of(a, "cuda-sm90");
    kiln_err err = {0};
    made x;
    (void)state;
    make(a, &rows[3], &p, &x);
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        const kiln_profile q = profile_of(a, other[i][0]);
        kiln_object o;
        const kiln_status st =
            kiln_codegen(a, program_of(a, &x, &p, "k"), &q, NULL, &o, NULL, &err);
        if (st != KILN_ERR_UNSUPPORTED || strstr(err.text, other[i][1]) == NULL)
            fail_msg("%s must say '%s', says '%s'", other[i][0], other[i][1], err.text);
    }
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add("linked_with_what_others_run", linked_with_what_others_run, NULL);
    kiln_test_add("others_refuse", others_refuse, NULL);
    return kiln_test_run("products of warpgroups as PTX");
}
