/* What each operator means, by example: tests/compiler/op/golden/<name>.txt holds
 * graph text whose inputs are constants, and behind `---` the outputs that the
 * reference computes. Each row of the operator table must have one, each file a row.
 * KILN_GOLDEN_UPDATE=1 writes the second part. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "compiler/graph/graph.h"
#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"

#define FOLDER "tests/compiler/op/golden"

static void put_element(kiln_buf *b, const kiln_wide *w, int64_t i) {
    const kiln_dtype dtype = w->type.dtype;
    if (w->f != NULL && w->f[i] != w->f[i])
        kiln_buf_puts(b, "nan");
    else if (w->f != NULL)
        kiln_buf_printf(b, "%.*g", dtype == KILN_F64 ? 17 : 9, w->f[i]);
    else if (dtype == KILN_U64)
        kiln_buf_printf(b, "%" PRIu64, (uint64_t)w->i[i]);
    else
        kiln_buf_printf(b, "%" PRId64, w->i[i]);
}

/* "y" f32[2,3], then one line for each run of the last axis. */
static void put_tensor(kiln_buf *b, const char *name, const kiln_tensor *t) {
    kiln_arena *const a = kiln_test_arena();
    kiln_wide w = kiln_wide_new(a, &t->type);
    kiln_widen(&t->type, t->data, &w);
    kiln_buf_printf(b, "\"%s\" %s\n", name, kiln_type_text(a, &t->type));
    const int64_t n = kiln_type_elems(&t->type);
    const int64_t row = t->type.rank == 0 ? 1 : t->type.dim[t->type.rank - 1];
    for (int64_t i = 0; i < n; i++) {
        put_element(b, &w, i);
        kiln_buf_puts(b, (i + 1) % row == 0 ? "\n" : " ");
    }
}

static bool uses_op(const kiln_graph *g, const kiln_op_def *op) {
    for (size_t i = 0; i < g->nodes.n; i++) {
        if (g->nodes.v[i]->op == op)
            return true;
    }
    return false;
}

static void check_round_trip(const kiln_graph *g) {
    kiln_arena *const a = kiln_test_arena();
    kiln_err err = {0};
    kiln_buf first, second;
    kiln_buf_init(&first, a);
    kiln_buf_init(&second, a);
    kiln_graph_print(&first, g, NULL);
    kiln_graph *again;
    kiln_assert_status_ok(
        kiln_graph_parse(a, kiln_buf_str(&first), "printed", &again, &err), &err);
    kiln_graph_print(&second, again, NULL);
    kiln_assert_text_equal(kiln_buf_str(&second), kiln_buf_str(&first));
}

static void check_op(void **state) {
    const kiln_op_def *const op = *state;
    kiln_arena *const a = kiln_test_arena();
    kiln_err err = {0};
    kiln_test_golden golden;
    const char *const path = kiln_format(a, FOLDER "/%s.txt", op->name);
    if (!kiln_file_exists(path))
        fail_msg("operator '%s' must have a golden file '%s'", op->name, path);
    kiln_test_golden_read(path, &golden);
    kiln_graph *g;
    kiln_assert_status_ok(kiln_graph_parse(a, golden.input, path, &g, &err), &err);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    check_round_trip(g);
    if (!uses_op(g, op))
        fail_msg("'%s' must hold a node '%s'", path, op->name);
    if (g->inputs.n != 0 || g->outputs.n == 0)
        fail_msg("'%s' must have constants only, and outputs", path);
    kiln_tensor *const out = kiln_array(a, kiln_tensor, g->outputs.n);
    kiln_assert_status_ok(kiln_ref_run(a, g, NULL, 0, out, &err), &err);
    kiln_buf got;
    kiln_buf_init(&got, a);
    for (size_t i = 0; i < g->outputs.n; i++)
        put_tensor(&got, g->output_names.v[i], &out[i]);
    kiln_test_golden_check(&golden, kiln_buf_str(&got));
}

static void check_no_stray_files(void **state) {
    (void)state;
    char **names;
    size_t n;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_dir_list(kiln_test_arena(), FOLDER, &names, &n, &err),
                          &err);
    for (size_t i = 0; i < n; i++) {
        kiln_str name = kiln_str_from(names[i]);
        if (!kiln_str_ends(name, ".txt"))
            fail_msg("'" FOLDER "/%s' is no golden file", names[i]);
        name.n -= strlen(".txt");
        if (kiln_op_find(name) == NULL)
            fail_msg("'" FOLDER "/%s' has no operator", names[i]);
    }
}

int main(void) {
    kiln_test_add("each_golden_file_has_its_operator", check_no_stray_files, NULL);
    for (int i = 0; i < (int)KILN_N_OPS; i++) {
        const kiln_op_def *const op = kiln_op_at(i);
        /* cmocka hands the pointer through as it is; check_op only reads. */
        kiln_test_add(op->name, check_op, (void *)(uintptr_t)op);
    }
    return kiln_test_run("op_golden");
}
