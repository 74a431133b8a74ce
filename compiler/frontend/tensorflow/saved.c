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

/* The signature that the caller names, of whatever graph has it, that for serving
 * first. */
static kiln_status find_named(kiln_tf_cx *cx, const kiln_tf_saved *saved,
                              const char *name, const kiln_tf_meta **meta) {
    kiln_buf known;
    kiln_buf_init(&known, &cx->common.scratch);
    for (size_t i = 0; i < saved->n_meta; i++)
        for (size_t k = 0; k < saved->meta[i].n_signature; k++) {
            const kiln_tf_signature *const s = &saved->meta[i].signature[k];
            if (saved->meta[i].graph == NULL || s->n_output == 0)
                continue;
            kiln_buf_printf(&known, " '%s'", kiln_tf_show(cx, s->key));
            if (!kiln_str_is(s->key, name) ||
                (*meta != NULL && !is_serving(&saved->meta[i])))
                continue;
            *meta = &saved->meta[i];
            cx->signature = s;
        }
    if (*meta != NULL)
        return KILN_OK;
    return kiln_tf_fail(cx, KILN_ERR_ARG,
                        "--signature names '%s', which the model has not; it has:%s",
                        kiln_tf_show(cx, kiln_str_from(name)),
                        known.n == 0 ? " none" : kiln_buf_str(&known).p);
}

/* Where there are several, people are told of all. */
static void note_signatures(kiln_tf_cx *cx, const kiln_tf_meta *meta) {
    kiln_buf text;
    size_t n = 0;
    kiln_buf_init(&text, cx->common.arena);
    for (size_t i = 0; i < meta->n_signature; i++) {
        const kiln_tf_signature *const s = &meta->signature[i];
        if (s->n_output == 0)
            continue;
        kiln_buf_printf(&text, "%s%s%s", n++ == 0 ? "" : ", ",
                        kiln_str_printable(cx->common.arena, s->key, 80),
                        s == cx->signature ? " (this one)" : "");
    }
    const kiln_model_note note = {"signatures",
                                  text.n == 0 ? "" : kiln_buf_str(&text).p};
    if (n > 1 && cx->report != NULL)
        kiln_vec_push(cx->common.arena, &cx->report->notes, note);
}

kiln_status kiln_tf_open_saved(kiln_tf_cx *cx, const kiln_tf_saved *saved) {
    const char *const name = cx->options != NULL ? cx->options->signature : NULL;
    const kiln_tf_meta *meta = NULL;
    if (name != NULL)
        KILN_TRY(find_named(cx, saved, name, &meta));
    for (size_t i = 0; i < saved->n_meta && name == NULL; i++)
        if (saved->meta[i].graph != NULL && find_signature(&saved->meta[i]) != NULL &&
            (meta == NULL || (is_serving(&saved->meta[i]) && !is_serving(meta))))
            meta = &saved->meta[i];
    if (meta == NULL)
        return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                            "the model has no signature: nothing says what goes in and "
                            "comes out; save it with signatures");
    cx->graph = meta->graph;
    if (name == NULL)
        cx->signature = find_signature(meta);
    note_signatures(cx, meta);
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
        KILN_TRY(kiln_tf_open_saved(cx, &saved));
        return kiln_tf_lift_loops(cx);
    }
    if (cx->options != NULL && cx->options->signature != NULL)
        return kiln_tf_fail(cx, KILN_ERR_ARG,
                            "--signature: a graph alone has none; give a SavedModel");
    cx->graph = kiln_new(a, kiln_tf_graph);
    KILN_TRY(kiln_tf_decode_graph(a, bytes, cx->graph, cx->common.err));
    return kiln_tf_lift_loops(cx);
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
