/* kiln export: what kiln holds of a model after its import, as a file of a format that
 * others read. */
#include "cli/cli.h"
#include "compiler/export/export.h"
#include "compiler/pass/pass.h"
#include "pipeline/pipeline.h"

#include <inttypes.h>
#include <string.h>

enum {
    OPT_TO,
    OPT_OUT,
    OPT_PASSES,
    OPT_EXTERNAL,
    OPT_SHAPE,
    OPT_BIND,
    OPT_SIGNATURE,
    OPT_STATE,
    OPT_ROUNDING,
    OPT_JSON,
    N_OPTIONS
};

static const kiln_option options[N_OPTIONS] = {
    [OPT_TO] = {"--to", "FORMAT", "format to write (onnx)", false},
    [OPT_OUT] = {"-o", "FILE", "the file (MODEL.onnx, here)", false},
    [OPT_PASSES] = {"--passes", NULL, "run the graph passes before", false},
    [OPT_EXTERNAL] = {"--external-data", NULL,
                      "weights in FILE.data beside it; else only of models above 2 GB",
                      false},
    [OPT_SHAPE] = {"--shape", "NAME:DIMS", "bind an input's dynamic dimensions", true},
    [OPT_BIND] = {"--bind", "NAME=VALUE", "fix an input: a number, FILE.npy or FILE.pb",
                  true},
    [OPT_SIGNATURE] = KILN_SIGNATURE_OPTION,
    [OPT_STATE] = KILN_STATE_OPTION,
    [OPT_ROUNDING] = KILN_ROUNDING_OPTION,
    [OPT_JSON] = {"--json", "FILE",
                  "write what was written as JSON ('-': standard "
                  "output)",
                  false},
};

static const kiln_cli_import_at import_at = {OPT_SHAPE, OPT_BIND, OPT_SIGNATURE,
                                             OPT_STATE, OPT_ROUNDING};

/* The model itself, and the files of its weights, are read while the others are
 * written, and are nobody's to lose. */
static kiln_status check_not_same(kiln_arena *a, const char *path, const char *from,
                                  kiln_err *err) {
    const char *mine = NULL, *theirs = NULL;
    if (!kiln_file_exists(path) || !kiln_file_exists(from))
        return KILN_OK;
    KILN_TRY(kiln_path_real(a, path, &mine, err));
    KILN_TRY(kiln_path_real(a, from, &theirs, err));
    if (strcmp(mine, theirs) != 0)
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_ARG,
                     "'%s' is the model's own file; name another one with -o", path);
}

static kiln_status check_out(kiln_arena *a, const char *path, const kiln_source *source,
                             kiln_err *err) {
    const char *const data = kiln_format(a, "%s.data", path);
    KILN_TRY(check_not_same(a, path, source->path, err));
    for (size_t i = 0; i < source->n_data; i++) {
        const char *const from =
            kiln_path_join(a, kiln_path_dir(a, source->path), source->data[i].location);
        KILN_TRY(check_not_same(a, path, from, err));
        KILN_TRY(check_not_same(a, data, from, err));
    }
    return KILN_OK;
}

static void put_answer(kiln_cli_answer *r, const kiln_exporter *to, const char *path,
                       const kiln_graph *g, const kiln_exported *x) {
    KILN_ASSERT(x->n_nodes >= 0 && x->model.n > 0, "'%s' was not written", path);
    kiln_json_writer *const w = &r->w;
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "file", path);
    kiln_json_member_str(w, "format", to->name);
    kiln_json_member_i64(w, "opset", x->version);
    kiln_json_member_i64(w, "nodes", (int64_t)g->nodes.n);
    kiln_json_member_i64(w, "nodes_written", x->n_nodes);
    kiln_json_member_i64(w, "bytes", (int64_t)x->model.n);
    kiln_json_member_i64(w, "data_bytes", (int64_t)x->data.n);
    kiln_json_end_object(w);
    kiln_buf_printf(&r->text,
                    "%s: %s, opset %" PRId64 ", %" PRId64 " nodes, %" PRIu64 " bytes\n",
                    path, to->name, x->version, x->n_nodes, x->model.n);
    if (x->data.n > 0)
        kiln_buf_printf(&r->text, "%s.data: %" PRIu64 " bytes\n", path, x->data.n);
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    (void)exit_code;
    kiln_arena *a = args->arena;
    const char *model = args->pos[0];
    const kiln_exporter *to = NULL;
    kiln_import_options import;
    kiln_source source;
    kiln_exported written;
    kiln_cli_answer answer;
    const kiln_export_options o = {.is_external = kiln_args_has(args, OPT_EXTERNAL)};
    KILN_TRY(kiln_exporter_find(kiln_args_get(args, OPT_TO, kiln_exporter_at(0)->name),
                                &to, err));
    KILN_TRY(kiln_cli_import_options(args, model, &import_at, &import, err));
    kiln_interrupt_catch();
    KILN_TRY(kiln_source_import(a, model, &import, &source, err));
    const char *const path = kiln_args_get(
        args, OPT_OUT, kiln_format(a, "%s%s", source.name, to->extension));
    KILN_TRY(check_out(a, path, &source, err));
    kiln_graph *const g = source.imported;
    const kiln_pass_options passes = {.verify = true};
    if (kiln_args_has(args, OPT_PASSES))
        KILN_TRY(kiln_graph_optimize(g, &passes, err));
    const kiln_status st = kiln_export(a, g, to, path, &o, &written, err);
    if (st != KILN_OK) {
        kiln_note(err, "exporting '%s' to %s", model, to->name);
        return st;
    }
    kiln_cli_answer_init(&answer, a);
    put_answer(&answer, to, path, g, &written);
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}

const kiln_verb kiln_verb_export = {
    .name = "export",
    .summary = "write a model of any format as ONNX, as kiln holds it",
    .usage = "MODEL [options]",
    .example = "  kiln export model.onnx --shape x:1x3x224x224 -o static.onnx\n"
               "  kiln export zoo:resnet18 --passes -o resnet18_passes.onnx\n"
               "  kiln export model.kgraph --to onnx --external-data -o model.onnx\n",
    .n_pos_min = 1,
    .n_pos_max = 1,
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
