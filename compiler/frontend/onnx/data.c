/* Files beside an ONNX model that hold its weights ("external data"): where they may
 * lie, and which there are. A location comes from an untrusted file. */
#include "compiler/frontend/frontend_beside.h"
#include "compiler/frontend/onnx/import_core.h"

#include <stdlib.h>
#include <string.h>

enum { EXTERNAL = 1, SHOWN_BYTES = 80 };

kiln_status kiln_onnx_data_map(kiln_arena *a, const kiln_onnx_files *files,
                               kiln_str location, kiln_str *out, kiln_err *err) {
    kiln_arena scratch = {0};
    KILN_ASSERT(files != NULL && files->dir != NULL, "external data of no folder");
    const char *path = kiln_path_join(a, files->dir, kiln_str_dupv(&scratch, location));
    kiln_status st = KILN_OK;
    if (!kiln_path_is_contained(location))
        st = kiln_fail(err, KILN_ERR_PARSE,
                       "external data: location '%s' must be a relative path inside "
                       "the model's folder",
                       kiln_str_printable(&scratch, location, SHOWN_BYTES));
    if (st == KILN_OK)
        st = kiln_import_check_link(&scratch, path, files->dir, files->model, err);
    if (st == KILN_OK)
        st = kiln_file_map(a, path, 0, out, err);
    kiln_arena_fini(&scratch);
    return st;
}

/* ---- all that a file names ------------------------------------------------------- */

typedef struct search {
    kiln_arena *arena;
    kiln_map seen;
    kiln_import_locations *out;
} search;

static void add_tensor(search *s, const kiln_onnx_tensor *t) {
    for (size_t i = 0; i < t->n_external_data && t->data_location == EXTERNAL; i++) {
        const kiln_onnx_pair *e = &t->external_data[i];
        if (!kiln_str_is(e->key, "location") ||
            kiln_map_get(&s->seen, e->value) != NULL)
            continue;
        kiln_map_set(s->arena, &s->seen, e->value, s);
        kiln_vec_push(s->arena, s->out, kiln_str_dupv(s->arena, e->value));
    }
}

static void add_graph(search *s, const kiln_onnx_graph *g);

static void add_nodes(search *s, const kiln_onnx_node *node, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < node[i].n_attribute; k++) {
            const kiln_onnx_attr *at = &node[i].attribute[k];
            if (at->t != NULL)
                add_tensor(s, at->t);
            if (at->g != NULL)
                add_graph(s, at->g);
        }
}

/* Nesting is bounded where messages are decoded. */
static void add_graph(search *s, const kiln_onnx_graph *g) {
    KILN_ASSERT(g->n_initializer == 0 || g->initializer != NULL,
                "%zu initializers that were not decoded", g->n_initializer);
    for (size_t i = 0; i < g->n_initializer; i++)
        add_tensor(s, &g->initializer[i]);
    add_nodes(s, g->node, g->n_node);
}

static int by_bytes(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

kiln_status kiln_onnx_list_data(kiln_arena *a, kiln_str bytes, const char *path,
                                kiln_import_locations *out, kiln_err *err) {
    (void)path;
    kiln_onnx_model model;
    kiln_import_locations list = {.n = 0};
    search s = {.arena = a, .out = &list};
    KILN_TRY(kiln_onnx_decode_model(a, bytes, &model, err));
    if (model.graph != NULL)
        add_graph(&s, model.graph);
    for (size_t i = 0; i < model.n_function; i++)
        add_nodes(&s, model.function[i].node, model.function[i].n_node);
    if (list.n > 0)
        qsort(list.v, list.n, sizeof *list.v, by_bytes);
    *out = list;
    return KILN_OK;
}
