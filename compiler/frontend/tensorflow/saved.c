/* SavedModels: the graph that is for serving, its signature, and what the import begins
 * with. Source: saved_model.proto, meta_graph.proto. */
#include "compiler/frontend/tensorflow/tf_internal.h"

static bool is_serving(const kiln_tf_meta *m) {
    for (size_t i = 0; i < m->n_tag; i++)
        if (kiln_str_is(m->tag[i], "serve"))
            return true;
    return false;
}

/* serving_default, or the first that is no business of the loader. */
static const kiln_tf_signature *find_signature(const kiln_tf_meta *m) {
    for (size_t i = 0; i < m->n_signature; i++)
        if (kiln_str_is(m->signature[i].key, "serving_default") &&
            m->signature[i].n_output > 0)
            return &m->signature[i];
    for (size_t i = 0; i < m->n_signature; i++)
        if (!kiln_str_starts(m->signature[i].key, "__") && m->signature[i].n_output > 0)
            return &m->signature[i];
    return NULL;
}

/* The signature's names for the placeholders; all others stay out. */
static kiln_status label_inputs(kiln_tf_cx *cx) {
    kiln_map by_name = {0};
    kiln_tf_graph *const g = cx->graph;
    for (size_t i = 0; i < g->n_node; i++) {
        kiln_map_set(&cx->common.scratch, &by_name, g->node[i].name, &g->node[i]);
        g->node[i].is_hidden = true;
    }
    for (size_t i = 0; i < cx->signature->n_input; i++) {
        const kiln_tf_tensor_info *const info = &cx->signature->input[i];
        kiln_str rest = info->name, name = info->name;
        kiln_str_cut(&rest, ':', &name);
        kiln_tf_node *const n = kiln_map_get(&by_name, name);
        if (n == NULL || info->is_sparse)
            return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                                "input '%s' of signature '%s' must be a tensor of the "
                                "graph",
                                kiln_tf_show(cx, info->key),
                                kiln_tf_show(cx, cx->signature->key));
        n->label = info->key;
        n->is_hidden = false;
    }
    return KILN_OK;
}

kiln_status kiln_tf_open_saved(kiln_tf_cx *cx, const kiln_tf_saved *saved) {
    const kiln_tf_meta *meta = NULL;
    for (size_t i = 0; i < saved->n_meta; i++)
        if (saved->meta[i].graph != NULL && find_signature(&saved->meta[i]) != NULL &&
            (meta == NULL || (is_serving(&saved->meta[i]) && !is_serving(meta))))
            meta = &saved->meta[i];
    if (meta == NULL)
        return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                            "the model has no signature: nothing says what goes in and "
                            "comes out; save it with signatures");
    cx->graph = meta->graph;
    cx->signature = find_signature(meta);
    cx->producer = kiln_format(cx->common.arena, "tensorflow %s",
                               kiln_str_printable(cx->common.arena, meta->version, 80));
    return label_inputs(cx);
}

kiln_status kiln_tf_open(kiln_tf_cx *cx, kiln_str bytes) {
    kiln_arena *const a = cx->common.arena;
    kiln_tf_saved saved;
    cx->producer = "";
    if (kiln_tf_sniff_saved(bytes)) {
        KILN_TRY(kiln_tf_decode_saved(a, bytes, &saved, cx->common.err));
        return kiln_tf_open_saved(cx, &saved);
    }
    cx->graph = kiln_new(a, kiln_tf_graph);
    return kiln_tf_decode_graph(a, bytes, cx->graph, cx->common.err);
}

kiln_status kiln_tf_results(kiln_tf_cx *cx, kiln_tf_frame *f,
                            const kiln_tf_result **out, size_t *n) {
    const size_t *root;
    if (cx->signature == NULL) {
        KILN_TRY(kiln_tf_find_outputs(cx, f, &root, n));
        kiln_tf_result *const list =
            kiln_array(&cx->common.scratch, kiln_tf_result, *n);
        for (size_t i = 0; i < *n; i++)
            list[i] = (kiln_tf_result){f->node[root[i]].name, root[i], -1};
        *out = list;
        return KILN_OK;
    }
    const kiln_tf_signature *const s = cx->signature;
    kiln_tf_result *const list =
        kiln_array(&cx->common.scratch, kiln_tf_result, s->n_output);
    for (size_t i = 0; i < s->n_output; i++) {
        size_t at;
        int k;
        KILN_TRY(kiln_tf_resolve(cx, f, NULL, s->output[i].name, &at, &k));
        list[i] = (kiln_tf_result){s->output[i].key, at - 1, k};
    }
    *out = list;
    *n = s->n_output;
    return KILN_OK;
}
