/* Files beside an ONNX model that hold its weights ("external data"): where they may
 * lie, and which there are. A location comes from an untrusted file, and so may links
 * beside it that came with it in one archive. */
#include "compiler/frontend/onnx/import_core.h"

#include <stdlib.h>
#include <string.h>

enum { EXTERNAL = 1, SHOWN_BYTES = 80 };

static bool is_below(const char *path, const char *folder) {
    const size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 &&
           (n == 1 || path[n] == '/'); /* "/" holds everything */
}

/* Caches keep a model and its data as links into one folder: what lies where the model
 * itself lies is as near to it. */
static bool is_beside_model(kiln_arena *scratch, const char *real, const char *model) {
    const char *there = NULL;
    return model != NULL && kiln_path_real(scratch, model, &there, NULL) == KILN_OK &&
           is_below(real, kiln_path_dir(scratch, there));
}

static kiln_status check_links(kiln_arena *scratch, const char *path,
                               const kiln_onnx_files *files, kiln_err *err) {
    const char *real = NULL, *home = NULL;
    KILN_TRY(kiln_path_real(scratch, path, &real, err));
    KILN_TRY(kiln_path_real(scratch, files->dir, &home, err));
    if (is_below(real, home) || is_beside_model(scratch, real, files->model))
        return KILN_OK;
    return kiln_fail(
        err, KILN_ERR_PARSE,
        "external data: '%s' is a link out of the model's folder, to '%s'; "
        "put a copy there if that is meant",
        path, kiln_str_printable(scratch, kiln_str_from(real), 200));
}

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
    /* Where there is none, mapping says so. */
    if (st == KILN_OK && kiln_file_exists(path))
        st = check_links(&scratch, path, files, err);
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
