/* The table of networks; writing, importing, counting: see zoo.h. */
#include "zoo/zoo_internal.h"

#include <string.h>

#include "compiler/frontend/frontend.h"

static const kiln_zoo_network *const networks[] = {
#define KILN_ZOO(name) &kiln_zoo_##name,
#include "zoo/networks.def"
#undef KILN_ZOO
};
enum { N_NETWORKS = sizeof networks / sizeof networks[0] };

const kiln_zoo_network *kiln_zoo_at(int index) {
    return index >= 0 && index < N_NETWORKS ? networks[index] : NULL;
}

kiln_status kiln_zoo_find(const char *name, const kiln_zoo_network **out,
                          kiln_err *err) {
    for (int i = 0; i < N_NETWORKS; i++) {
        if (strcmp(networks[i]->name, name) == 0) {
            *out = networks[i];
            return KILN_OK;
        }
    }
    kiln_arena scratch = {0};
    kiln_buf names;
    kiln_buf_init(&names, &scratch);
    for (int i = 0; i < N_NETWORKS; i++)
        kiln_buf_printf(&names, " %s", networks[i]->name);
    const kiln_status st =
        kiln_fail(err, KILN_ERR_ARG, "the zoo has no network '%s'; it has:%s",
                  kiln_str_printable(&scratch, kiln_str_from(name), 64), names.p);
    kiln_arena_fini(&scratch);
    return st;
}

static kiln_zoo_net *build(kiln_arena *a, const kiln_zoo_network *network,
                           uint64_t seed) {
    kiln_zoo_net *const net = kiln_new(a, kiln_zoo_net);
    net->arena = a;
    kiln_onnx_writer_init(&net->w, a, network->name);
    kiln_rng_init(&net->seeds, seed);
    network->build(net);
    return net;
}

kiln_status kiln_zoo_write(const kiln_zoo_network *network, uint64_t seed,
                           const char *path, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_zoo_net *const net = build(&scratch, network, seed);
    const kiln_status st =
        kiln_onnx_write_model(&net->w, KILN_ZOO_IR_VERSION, KILN_ZOO_OPSET, path, err);
    if (st != KILN_OK)
        kiln_note(err, "writing the network '%s'", network->name);
    kiln_arena_fini(&scratch);
    return st;
}

kiln_status kiln_zoo_import(kiln_arena *a, const kiln_zoo_network *network,
                            uint64_t seed, kiln_zoo_weights weights, kiln_graph **out,
                            kiln_err *err) {
    kiln_zoo_net *const net = build(a, network, seed);
    const kiln_str bytes =
        weights == KILN_ZOO_FILLED
            ? kiln_onnx_finish_model(&net->w, KILN_ZOO_IR_VERSION, KILN_ZOO_OPSET)
            : kiln_onnx_finish_outline(&net->w, KILN_ZOO_IR_VERSION, KILN_ZOO_OPSET);
    kiln_import_report report = {0};
    return kiln_import_onnx_bytes(a, bytes, network->name, NULL, NULL, out, &report,
                                  err);
}

enum { BATCH_NORM_MEAN = 3, BATCH_NORM_VAR = 4 };

/* Running statistics are measured and anchors chosen, not trained: nobody counts them as
 * parameters. */
static void mark_fixed(const kiln_graph *g, bool *is_fixed) {
    for (size_t i = 0; i < g->values.n; i++)
        is_fixed[g->values.v[i]->id] =
            kiln_str_ends(kiln_str_from(g->values.v[i]->name), ".fixed");
    for (size_t i = 0; i < g->nodes.n; i++) {
        const kiln_node *n = g->nodes.v[i];
        if (n->op != &kiln_op_batch_norm)
            continue;
        is_fixed[n->in[BATCH_NORM_MEAN]->id] = true;
        is_fixed[n->in[BATCH_NORM_VAR]->id] = true;
    }
}

void kiln_zoo_count(kiln_arena *scratch, const kiln_graph *g, kiln_zoo_facts *out) {
    const kiln_arena_mark mark = kiln_arena_save(scratch);
    const int *uses = kiln_graph_count_uses(g, scratch);
    bool *is_fixed = kiln_array(scratch, bool, g->values.n);
    kiln_cost cost;
    mark_fixed(g, is_fixed);
    kiln_graph_cost(g, &cost);
    *out = (kiln_zoo_facts){.muladds = cost.muladds};
    for (size_t i = 0; i < g->values.n; i++) {
        const kiln_value *v = g->values.v[i];
        if (!kiln_value_is_const(v) || uses[v->id] == 0)
            continue;
        out->constant_bytes += kiln_type_bytes(&v->type);
        if (v->type.rank > 0 && kiln_dtype_is_float(v->type.dtype) && !is_fixed[v->id])
            out->n_params += kiln_type_elems(&v->type);
    }
    kiln_arena_rewind(scratch, mark);
}
