/* kiln inspect: what is in a model, what it costs, and what kiln cannot do with it; or
 * what a package says about itself. */
#include "cli/options/op_options.h"
#include "cli/model/verb_survey.h"
#include "compiler/network/executable.h"
#include "packager/packager.h"
#include "pipeline/pipeline.h"
#include "compiler/pass/pass.h"

#include <inttypes.h>
#include <string.h>

enum {
    OPT_GRAPH,
    OPT_DATA,
    OPT_NO_PASSES,
    OPT_PRINT_AFTER,
    OPT_PROFILE,
    OPT_LAYOUTS,
    OPT_CHECK_PASSES,
    OPT_SHAPE,
    OPT_BIND,
    OPT_SIGNATURE,
    OPT_STATE,
    OPT_ROUNDING,
    OPT_JSON,
    N_OPTIONS
};

static const kiln_option options[N_OPTIONS] = {
    [OPT_GRAPH] = {"--graph", NULL, "print the graph as text too", false},
    [OPT_DATA] = {"--data", NULL, "with --graph: all constants in full", false},
    [OPT_NO_PASSES] = {"--no-passes", NULL, "the graph as imported", false},
    [OPT_PRINT_AFTER] = {"--print-after", "PASS",
                         "print the graph after a pass, or 'all'; or the executable "
                         "graph after one of the driver's passes",
                         false},
    [OPT_PROFILE] = {"--profile", "P",
                     "with --print-after: the driver compiles for this profile "
                     "(default: this machine's)",
                     false},
    [OPT_LAYOUTS] = KILN_LAYOUTS_OPTION,
    [OPT_CHECK_PASSES] = {"--check-passes", NULL,
                          "compare each graph pass with the reference; the driver's "
                          "texts must read back",
                          false},
    [OPT_SHAPE] = {"--shape", "NAME:DIMS", "bind an input's dynamic dimensions", true},
    [OPT_BIND] = {"--bind", "NAME=VALUE", "fix an input: a number, FILE.npy or FILE.pb",
                  true},
    [OPT_SIGNATURE] = KILN_SIGNATURE_OPTION,
    [OPT_STATE] = KILN_STATE_OPTION,
    [OPT_ROUNDING] = KILN_ROUNDING_OPTION,
    [OPT_JSON] = {"--json", "FILE", "write the findings as JSON ('-': standard output)",
                  false},
};

static const kiln_cli_import_at import_at = {OPT_SHAPE, OPT_BIND, OPT_SIGNATURE,
                                             OPT_STATE, OPT_ROUNDING};

enum { MAX_NAME_SHOWN = 200 }; /* bytes */

static const kiln_print_options for_people = {.elide_data = true, .elide_above = 16};

typedef struct parameters {
    int64_t elems, bytes;
} parameters;

/* Floating-point constants that the graph uses, each once: what papers count as
 * parameters. */
static parameters count_parameters(kiln_arena *a, const kiln_graph *g) {
    parameters p = {0, 0};
    const int *uses = kiln_graph_count_uses(g, a);
    for (size_t i = 0; i < g->values.n; i++) {
        const kiln_value *v = g->values.v[i];
        if (!kiln_value_is_const(v) || uses[v->id] == 0)
            continue;
        p.bytes += kiln_type_bytes(&v->type);
        KILN_ASSERT(p.bytes >= 0, "constants up to '%s' have %" PRId64 " bytes",
                    v->name, p.bytes);
        if (kiln_dtype_is_float(v->type.dtype))
            p.elems += kiln_type_elems(&v->type);
    }
    for (size_t i = 0; i < g->nodes.n; i++) {
        const kiln_node *n = g->nodes.v[i];
        for (size_t k = 0; k < n->op->n_attr; k++) {
            if (n->op->attr[k].kind != KILN_ATTR_GRAPH || n->attr[k].graph == NULL)
                continue;
            const parameters inner = count_parameters(a, n->attr[k].graph);
            p.elems += inner.elems;
            p.bytes += inner.bytes;
        }
    }
    return p;
}

static int64_t sum_of(const int64_t count[KILN_N_OPS]) {
    int64_t sum = 0;
    for (int k = 0; k < KILN_N_OPS; k++)
        sum += count[k];
    return sum;
}

/* Nodes per operator, in order of the table; regions included. */
static void count_ops(const kiln_graph *g, int64_t count[KILN_N_OPS]) {
    for (size_t i = 0; i < g->nodes.n; i++) {
        const kiln_node *n = g->nodes.v[i];
        const int64_t before = sum_of(count);
        for (int k = 0; k < KILN_N_OPS; k++)
            count[k] += kiln_op_at(k) == n->op;
        KILN_ASSERT(sum_of(count) == before + 1, "'%s' is in the table once",
                    n->op->name);
        for (size_t k = 0; k < n->op->n_attr; k++)
            if (n->op->attr[k].kind == KILN_ATTR_GRAPH && n->attr[k].graph != NULL)
                count_ops(n->attr[k].graph, count);
    }
}

static int64_t activation_bytes(const kiln_graph *g) {
    int64_t bytes = 0;
    for (size_t i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.v[i]->n_out; k++)
            bytes += kiln_type_bytes(&g->nodes.v[i]->out[k]->type);
    return bytes;
}

typedef struct findings {
    const char *path;
    const kiln_import_report *report;
    const kiln_graph *graph;
    parameters parameters;
    kiln_cost cost;
    int64_t activations; /* bytes that all nodes write */
    int64_t op_count[KILN_N_OPS];
} findings;

static void text_values(kiln_buf *out, const char *what, const kiln_graph *g,
                        bool inputs) {
    const size_t n = inputs ? g->inputs.n : g->outputs.n;
    for (size_t i = 0; i < n; i++) {
        const kiln_value *v = inputs ? g->inputs.v[i] : g->outputs.v[i];
        const char *name = inputs ? v->name : g->output_names.v[i];
        kiln_buf_printf(
            out, "%-16s %s: %s\n", i == 0 ? what : "",
            kiln_str_printable(out->arena, kiln_str_from(name), MAX_NAME_SHOWN),
            kiln_type_text(out->arena, &v->type));
    }
}

static void write_text(const findings *f, kiln_buf *out) {
    kiln_buf_printf(
        out, "%-16s %s (%s%s%s%s)\n", "model", f->path, f->report->format,
        kiln_cli_versions(out->arena, f->report->ir_version, f->report->opset),
        f->report->producer[0] != '\0' ? ", by " : "", f->report->producer);
    text_values(out, "inputs", f->graph, true);
    text_values(out, "outputs", f->graph, false);
    kiln_buf_printf(out, "%-16s %zu\n", "nodes", f->graph->nodes.n);
    for (int i = 0, first = 1; i < KILN_N_OPS; i++) {
        if (f->op_count[i] == 0)
            continue;
        kiln_buf_printf(out, "%-16s %-20s %" PRId64 "\n", first ? "operators" : "",
                        kiln_op_at(i)->name, f->op_count[i]);
        first = 0;
    }
    kiln_buf_printf(out, "%-16s %" PRId64 " (%" PRId64 " bytes of constants)\n",
                    "parameters", f->parameters.elems, f->parameters.bytes);
    kiln_buf_printf(out, "%-16s %" PRId64 "\n", "multiply-adds", f->cost.muladds);
    kiln_buf_printf(out, "%-16s %" PRId64 "\n", "flops", f->cost.flops);
    kiln_buf_printf(out,
                    "%-16s %" PRId64 " read and written, %" PRId64 " of activations\n",
                    "bytes", f->cost.bytes, f->activations);
    kiln_cli_text_notes(out, f->report);
}

static void json_values(kiln_json_writer *w, const char *key, const kiln_graph *g,
                        bool inputs) {
    kiln_json_name(w, key);
    kiln_json_begin_array(w);
    const size_t n = inputs ? g->inputs.n : g->outputs.n;
    for (size_t i = 0; i < n; i++) {
        const kiln_value *v = inputs ? g->inputs.v[i] : g->outputs.v[i];
        kiln_json_begin_object(w);
        kiln_json_member_str(w, "name", inputs ? v->name : g->output_names.v[i]);
        kiln_json_member_str(w, "dtype", kiln_dtype_name(v->type.dtype));
        kiln_json_name(w, "shape");
        kiln_json_begin_row(w);
        for (int k = 0; k < v->type.rank; k++)
            kiln_json_put_i64(w, v->type.dim[k]);
        kiln_json_end_array(w);
        kiln_json_end_object(w);
    }
    kiln_json_end_array(w);
}

static void json_graph(kiln_json_writer *w, const findings *f) {
    json_values(w, "inputs", f->graph, true);
    json_values(w, "outputs", f->graph, false);
    kiln_json_member_i64(w, "nodes", (int64_t)f->graph->nodes.n);
    kiln_json_name(w, "operators");
    kiln_json_begin_object(w);
    for (int i = 0; i < KILN_N_OPS; i++)
        if (f->op_count[i] > 0)
            kiln_json_member_i64(w, kiln_op_at(i)->name, f->op_count[i]);
    kiln_json_end_object(w);
    kiln_json_member_i64(w, "parameters", f->parameters.elems);
    kiln_json_member_i64(w, "constant_bytes", f->parameters.bytes);
    kiln_json_member_i64(w, "multiply_adds", f->cost.muladds);
    kiln_json_member_i64(w, "flops", f->cost.flops);
    kiln_json_member_i64(w, "bytes", f->cost.bytes);
    kiln_json_member_i64(w, "activation_bytes", f->activations);
}

static void write_json(const findings *f, kiln_buf *out) {
    kiln_json_writer w;
    kiln_json_writer_init(&w, out);
    kiln_json_begin_object(&w);
    kiln_json_member_str(&w, "model", f->path);
    kiln_json_member_str(&w, "format", f->report->format);
    kiln_json_member_str(&w, "producer", f->report->producer);
    kiln_json_member_i64(&w, "ir_version", f->report->ir_version);
    kiln_json_member_i64(&w, "opset", f->report->opset);
    kiln_cli_put_unsupported(&w, f->report);
    kiln_cli_put_notes(&w, f->report);
    json_graph(&w, f);
    kiln_json_end_object(&w);
    kiln_buf_puts(out, "\n");
}

/* ---- passes ---------------------------------------------------------------------- */

/* Where kiln_graph_optimize sends --print-after. */
static void print_after(void *user, const char *pass_name, const kiln_graph *g) {
    kiln_buf *out = user;
    kiln_buf_printf(out, "# after %s\n", pass_name);
    kiln_graph_print(out, g, &for_people);
}

/* And where kiln_compile does. */
static void print_net_after(void *user, const char *pass_name, const kiln_net *n) {
    kiln_buf *out = user;
    kiln_buf_printf(out, "# after %s: ", pass_name);
    kiln_net_summary(out, n);
    kiln_buf_puts(out, "\n");
    kiln_net_print(out, n);
}

static kiln_status check_pass(const kiln_cli_args *args, const char *after,
                              kiln_err *err) {
    kiln_buf names;
    if (after == NULL || strcmp(after, "all") == 0 ||
        kiln_pass_find(kiln_str_from(after)) != NULL ||
        kiln_net_pass_find(kiln_str_from(after)) != NULL)
        return KILN_OK;
    kiln_buf_init(&names, args->arena);
    for (int i = 0; kiln_pass_at(i) != NULL; i++)
        kiln_buf_printf(&names, " %s", kiln_pass_at(i)->name);
    for (int i = 0; kiln_net_pass_at(i) != NULL; i++)
        kiln_buf_printf(&names, " %s", kiln_net_pass_at(i)->name);
    return kiln_fail(err, KILN_ERR_ARG, "--print-after: no pass '%s'; passes: all%s",
                     after, names.p);
}

static kiln_status optimize(const kiln_cli_args *args, kiln_graph *g, kiln_buf *text,
                            kiln_err *err) {
    const kiln_pass_options o = {.print_after =
                                     kiln_args_get(args, OPT_PRINT_AFTER, NULL),
                                 .print = print_after,
                                 .user = text,
                                 .verify = true,
                                 .check = kiln_args_has(args, OPT_CHECK_PASSES),
                                 .check_seed = 1};
    return kiln_graph_optimize(g, &o, err);
}

/* The driver's passes: where one is asked for by name, or all and a profile. */
static kiln_status compile(const kiln_cli_args *args, kiln_graph *g, kiln_buf *text,
                           kiln_err *err) {
    const char *after = kiln_args_get(args, OPT_PRINT_AFTER, NULL);
    const char *name = kiln_args_get(args, OPT_PROFILE, NULL);
    kiln_profile profile;
    kiln_network_options o = {.print_after = after,
                              .print = print_net_after,
                              .printer = text,
                              .check_text = kiln_args_has(args, OPT_CHECK_PASSES)};
    kiln_net net;
    KILN_TRY(kiln_cli_layouts(args, OPT_LAYOUTS, &o.chooser, err));
    if (name != NULL && after == NULL)
        return kiln_fail(err, KILN_ERR_ARG, "--profile needs --print-after");
    if (after == NULL || (kiln_net_pass_find(kiln_str_from(after)) == NULL &&
                          (strcmp(after, "all") != 0 || name == NULL)))
        return KILN_OK;
    KILN_TRY(kiln_cli_profile(args->arena, name, &profile, err));
    kiln_graph_renumber(g);
    KILN_TRY(kiln_compile(args->arena, g, &profile, &o, &net, err));
    if (net.forecast != NULL)
        kiln_net_forecast_text(text, net.forecast, net.n_conversions);
    return KILN_OK;
}

/* ---- answers --------------------------------------------------------------------- */

static kiln_status print(const kiln_cli_args *args, const findings *f,
                         kiln_cli_answer *answer, kiln_err *err) {
    write_json(f, &answer->json);
    write_text(f, &answer->text);
    if (kiln_args_has(args, OPT_GRAPH))
        kiln_graph_print(&answer->text, f->graph,
                         kiln_args_has(args, OPT_DATA) ? NULL : &for_people);
    return kiln_cli_answer_give(answer, args, OPT_JSON, err);
}

/* What a package says about itself, by its manifest. */
static kiln_status inspect_package(const kiln_cli_args *args, const char *path,
                                   kiln_err *err) {
    kiln_arena *a = args->arena;
    kiln_package_facts f;
    kiln_cli_answer answer;
    for (int i = 0; i < N_OPTIONS; i++)
        if (i != OPT_JSON && kiln_args_has(args, i))
            return kiln_fail(err, KILN_ERR_ARG,
                             "option '%s' is for models; '%s' is a "
                             "package",
                             options[i].name, path);
    KILN_TRY(kiln_package_is_folder(path)
                 ? kiln_package_inspect_folder(a, path, &f, err)
                 : kiln_package_inspect(a, path, &f, err));
    kiln_cli_answer_init(&answer, a);
    kiln_package_print(&answer.text, &f);
    kiln_package_manifest(&answer.json, &f);
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}

/* The import failed: for shapes that are not known, which is no error where nobody
 * asked for the graph, or for operators that kiln does not read. */
static kiln_status show_survey(const kiln_cli_args *args, const char *path,
                               const kiln_import_options *o,
                               const kiln_import_report *report, kiln_status why,
                               kiln_err *err) {
    static const int of_graphs[] = {OPT_GRAPH, OPT_PRINT_AFTER, OPT_CHECK_PASSES};
    const bool is_dynamic = report->n_unbound > 0;
    kiln_suggestion suggestion;
    kiln_cli_answer answer;
    kiln_cli_survey s = {.path = args->pos[0],
                         .report = report,
                         .suggestion = is_dynamic ? &suggestion : NULL,
                         .shape = args->value[OPT_SHAPE],
                         .n_shapes = args->n_value[OPT_SHAPE],
                         .bind = args->value[OPT_BIND],
                         .n_binds = args->n_value[OPT_BIND]};
    bool wants_graph = false;
    for (size_t i = 0; i < sizeof of_graphs / sizeof of_graphs[0]; i++)
        wants_graph = wants_graph || kiln_args_has(args, of_graphs[i]);
    kiln_cli_answer_init(&answer, args->arena);
    KILN_TRY(kiln_import_survey(args->arena, path, &s.model, NULL));
    if (is_dynamic)
        KILN_TRY(kiln_import_suggest(args->arena, path, o, &suggestion, NULL));
    kiln_cli_survey_put(&s, &answer);
    if (!is_dynamic || wants_graph) {
        KILN_TRY(kiln_cli_answer_give(&answer, args, OPT_JSON, NULL));
        return why; /* and its text */
    }
    kiln_err_clear(err);
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}

static kiln_status show_graph(const kiln_cli_args *args,
                              const kiln_import_report *report, kiln_graph *g,
                              kiln_err *err) {
    kiln_cli_answer answer;
    findings *f = kiln_new(args->arena, findings);
    kiln_cli_answer_init(&answer, args->arena);
    if (!kiln_args_has(args, OPT_NO_PASSES))
        KILN_TRY(optimize(args, g, &answer.text, err));
    KILN_TRY(compile(args, g, &answer.text, err));
    f->path = args->pos[0];
    f->report = report;
    f->graph = g;
    f->parameters = count_parameters(args->arena, g);
    f->activations = activation_bytes(g);
    kiln_graph_cost(g, &f->cost);
    count_ops(g, f->op_count);
    return print(args, f, &answer, err);
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    (void)exit_code;
    const char *model = args->pos[0], *path = NULL;
    kiln_import_options o;
    if (kiln_package_is_archive(model) || kiln_package_is_folder(model))
        return inspect_package(args, model, err);
    kiln_interrupt_catch();
    KILN_TRY(check_pass(args, kiln_args_get(args, OPT_PRINT_AFTER, NULL), err));
    KILN_TRY(kiln_source_path(args->arena, model, &path, err));
    KILN_TRY(kiln_cli_import_options(args, path, &import_at, &o, err));
    kiln_import_report report = {0};
    kiln_graph *g = NULL;
    KILN_TRY(kiln_interrupt_check(err));
    const kiln_status st = kiln_import(args->arena, path, &o, &g, &report, err);
    if (st == KILN_OK)
        return show_graph(args, &report, g, err);
    /* A survey speaks of the signature that nobody has to name. */
    if (o.signature == NULL && (report.unsupported.n > 0 || report.n_unbound > 0))
        return show_survey(args, path, &o, &report, st, err);
    return st;
}

const kiln_verb kiln_verb_inspect = {
    .name = "inspect",
    .summary =
        "show a model (types, operators, costs, what is unsupported) or a package",
    .usage = "MODEL|PKG [options]",
    .example = "  kiln inspect model.onnx --shape x:1x3x224x224\n"
               "  kiln inspect model.onnx --graph --print-after simplify_inference\n"
               "  kiln inspect zoo:dqn --print-after lay_out --profile x86-avx2\n"
               "  kiln inspect model.onnx --json -\n"
               "  kiln inspect zoo:resnet18\n"
               "  kiln inspect model-1-native.kiln.tar.zst\n",
    .n_pos_min = 1,
    .n_pos_max = 1,
    .takes_oci = true,
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
