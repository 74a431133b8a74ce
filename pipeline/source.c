/* A model's file, or a network of the zoo, as a graph. */
#include "pipeline/pipeline.h"
#include "compiler/pass/pass.h"

#include <string.h>

#include "zoo/zoo.h"

static const char zoo_prefix[] = "zoo:";

/* The zoo writes a file, as `kiln zoo make` does, so that both ways give one archive.
 */
static kiln_status zoo_file(kiln_arena *a, const char *name, const char **path,
                            kiln_err *err) {
    const kiln_zoo_network *n = NULL;
    const char *dir = NULL;
    KILN_TRY(kiln_zoo_find(name, &n, err));
    KILN_TRY(kiln_dir_temp(a, &dir, err));
    *path = kiln_path_join(a, dir, kiln_format(a, "%s.onnx", name));
    return kiln_zoo_write(n, 1, *path, err);
}

kiln_status kiln_source_path(kiln_arena *a, const char *model, const char **path,
                             kiln_err *err) {
    if (kiln_str_starts(kiln_str_from(model), zoo_prefix))
        return zoo_file(a, model + sizeof zoo_prefix - 1, path, err);
    *path = model;
    return KILN_OK;
}

/* "a/resnet18.v2.onnx": "resnet18.v2"; of a folder, "a/saved/": "saved". */
static const char *name_of(kiln_arena *a, const char *path) {
    char *const whole = kiln_str_dup(a, path);
    for (size_t n = strlen(whole); n > 1 && whole[n - 1] == '/'; n--)
        whole[n - 1] = '\0';
    char *name = kiln_str_dup(a, kiln_path_base(whole));
    char *dot = strrchr(name, '.');
    if (dot != NULL && dot != name)
        *dot = '\0';
    return name;
}

static kiln_status hash_file(const char *path, char hex[KILN_SHA256_HEX],
                             kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_str bytes;
    const kiln_status st = kiln_file_map(&scratch, path, 0, &bytes, err);
    if (st == KILN_OK)
        kiln_sha256_of(bytes.p, bytes.n, hex);
    kiln_arena_fini(&scratch);
    return st;
}

/* Of a file beside the model: one that cannot be read is the import's to refuse. */
static void put_data(kiln_buf *out, const char *folder, const char *location) {
    char hex[KILN_SHA256_HEX] = "absent";
    if (kiln_path_is_contained(kiln_str_from(location)))
        (void)hash_file(kiln_path_join(out->arena, folder, location), hex, NULL);
    kiln_buf_printf(out, "%s  %s\n", hex, location);
}

/* What no frontend can read has no files beside it: importing it says what is wrong. */
static kiln_status hash_model(const char *path, char of_file[KILN_SHA256_HEX],
                              char hex[KILN_SHA256_HEX], kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_import_locations data = {.n = 0};
    kiln_buf text;
    const char *const file = kiln_import_file(&scratch, path);
    const kiln_status st = hash_file(file, of_file, err);
    memcpy(hex, of_file, KILN_SHA256_HEX);
    if (st == KILN_OK &&
        kiln_import_list_data(&scratch, file, &data, NULL) == KILN_OK && data.n > 0) {
        kiln_buf_init(&text, &scratch);
        kiln_buf_printf(&text, "%s\n", of_file);
        for (size_t i = 0; i < data.n; i++)
            put_data(&text, kiln_path_dir(&scratch, file), data.v[i]);
        kiln_sha256_of(text.p, text.n, hex);
    }
    kiln_arena_fini(&scratch);
    return st;
}

kiln_status kiln_source_hash(const char *path, char hex[KILN_SHA256_HEX],
                             kiln_err *err) {
    char of_file[KILN_SHA256_HEX] = "";
    return hash_model(path, of_file, hex, err);
}

kiln_status kiln_source_import(kiln_arena *a, const char *model,
                               const kiln_import_options *o, kiln_source *out,
                               kiln_err *err) {
    kiln_import_report report = {0};
    const char *path = NULL;
    kiln_source s = {.name = NULL};
    KILN_TRY(kiln_source_path(a, model, &path, err));
    s.name = name_of(a, path);
    s.path = kiln_str_dup(a, path);
    KILN_TRY(hash_model(path, s.file_sha256, s.sha256, err));
    *out = s;
    KILN_TRY(kiln_interrupt_check(err));
    KILN_TRY(kiln_import(a, path, o, &s.imported, &report, err));
    KILN_TRY(kiln_interrupt_check(err));
    s.format = report.format;
    s.data = report.data.v;
    s.n_data = report.data.n;
    *out = s;
    return KILN_OK;
}

kiln_status kiln_source_read(kiln_arena *a, const char *model,
                             const kiln_import_options *o, kiln_source *out,
                             kiln_err *err) {
    const kiln_pass_options passes = {.verify = true};
    kiln_source s = {.name = NULL};
    const kiln_status imported = kiln_source_import(a, model, o, &s, err);
    *out = s;
    if (imported != KILN_OK)
        return imported;
    s.graph = kiln_graph_clone(a, s.imported);
    const kiln_status st = kiln_graph_optimize(s.graph, &passes, err);
    if (st != KILN_OK) {
        kiln_note(err, "simplifying '%s'", model);
        return st;
    }
    kiln_graph_renumber(s.graph);
    s.graph->name = s.name; /* what plan and package call it */
    kiln_graph_cost(s.graph, &s.cost);
    *out = s;
    return KILN_OK;
}
