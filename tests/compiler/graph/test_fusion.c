/* Fusion by golden files: a graph, and its groups, "*" behind the anchor. And the
 * groups, each a graph of its own, run one after another by the reference, compute what
 * the whole graph does, to the bit. */
#include "compiler/graph/fusion.h"
#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"

#include <string.h>

/* Every group's inputs exist by the time it runs: tensors by value id of the whole. */
static void run_groups(kiln_arena *a, const kiln_graph *g, const kiln_fusion *f,
                       kiln_tensor *tensor) {
    for (int i = 0; i < f->n; i++) {
        const kiln_value **from = NULL;
        kiln_graph *own = kiln_group_graph(a, g, &f->group[i], &from);
        kiln_err err = {0};
        kiln_assert_status_ok(kiln_graph_verify(own, &err), &err);
        kiln_tensor *in = kiln_array(a, kiln_tensor, own->inputs.n);
        kiln_tensor *out = kiln_array(a, kiln_tensor, own->outputs.n);
        for (size_t k = 0; k < own->inputs.n; k++) {
            in[k] = tensor[from[own->inputs.v[k]->id]->id];
            if (in[k].data == NULL)
                fail_msg("group %d reads '%s' before it is made", i,
                         own->inputs.v[k]->name);
        }
        kiln_assert_status_ok(kiln_ref_run(a, own, in, own->inputs.n, out, &err), &err);
        for (size_t k = 0; k < own->outputs.n; k++)
            tensor[from[own->outputs.v[k]->id]->id] = out[k];
    }
}

static void check_meaning(kiln_arena *a, const kiln_graph *g, const kiln_fusion *f) {
    kiln_err err = {0};
    kiln_tensor *tensor = kiln_array(a, kiln_tensor, g->values.n);
    kiln_tensor *in = kiln_array(a, kiln_tensor, g->inputs.n);
    kiln_tensor *want = kiln_array(a, kiln_tensor, g->outputs.n);
    for (size_t i = 0; i < g->inputs.n; i++)
        tensor[g->inputs.v[i]->id] = in[i] =
            kiln_ref_random(a, &g->inputs.v[i]->type, kiln_test_seed() + i);
    kiln_assert_status_ok(kiln_ref_run(a, g, in, g->inputs.n, want, &err), &err);
    run_groups(a, g, f, tensor);
    for (size_t i = 0; i < g->outputs.n; i++)
        assert_memory_equal(tensor[g->outputs.v[i]->id].data, want[i].data,
                            (size_t)kiln_type_bytes(&want[i].type));
}

static void check_golden(void **state) {
    kiln_arena *a = kiln_test_arena();
    kiln_test_golden golden;
    kiln_test_golden_read(*state, &golden);
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(kiln_graph_parse(a, golden.input, golden.path, &g, &err),
                          &err);
    kiln_graph_renumber(g);
    kiln_fusion f, off;
    kiln_graph_fuse(a, g, NULL, &f);
    check_meaning(a, g, &f);
    kiln_graph_fuse(a, g, &(kiln_fusion_options){.is_off = true}, &off);
    assert_int_equal(off.n, g->nodes.n);
    check_meaning(a, g, &off);
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_fusion_print(&text, &f);
    kiln_test_golden_check(&golden, kiln_buf_str(&text));
}

int main(void) {
    kiln_test_add_golden("tests/compiler/graph/golden/fusion", check_golden);
    return kiln_test_run("fusion");
}
