/* Import of exported programs: what torch.export.save writes (.pt2). */
#include <string.h>

#include "compiler/frontend/pytorch/pt2/pt2_internal.h"

/* ---- names ------------------------------------------------------------------------ */

static const char *node_name(kiln_import_cx *cx, const void *site) {
    const kiln_pt2_site *const s = site;
    (void)cx;
    return s != NULL ? s->name : "input";
}

static const char *out_name(kiln_import_cx *cx, const void *site, int i) {
    (void)i;
    return node_name(cx, site);
}

static const kiln_import_format format = {
    .node_name = node_name, .out_name = out_name, .may_read = kiln_aten_may_read};

/* ---- import ----------------------------------------------------------------------- */

static const char *bare(const char *target) {
    static const char before[] = "torch.ops.";
    return strncmp(target, before, sizeof before - 1) == 0 ? target + sizeof before - 1
                                                           : target;
}

static void add_unread(void *user, const char *target, const char *name) {
    kiln_pt2_cx *const cx = user;
    if (!kiln_pt2_is_read(target))
        kiln_import_add_unread(
            &cx->common, cx->report,
            kiln_import_show(&cx->common, kiln_str_from(bare(target))),
            kiln_import_show(&cx->common, kiln_str_from(name)));
}

static kiln_status run(kiln_pt2_cx *cx, const char *name) {
    kiln_import_cx *const common = &cx->common;
    KILN_TRY(kiln_pt2_walk(cx->file->graph, 0, add_unread, cx, common->err));
    KILN_TRY(kiln_import_check_unread(
        common, cx->report, "operator",
        "export the model again after ep = ep.run_decompositions(), which leaves fewer "
        "operators, or export it as ONNX"));
    common->graph = kiln_graph_new(common->arena, kiln_path_base(name));
    KILN_TRY(kiln_pt2_bind_inputs(cx));
    KILN_TRY(kiln_pt2_run_nodes(cx, cx->file->graph, 0));
    KILN_TRY(kiln_pt2_set_outputs(cx));
    common->graph->facts |= KILN_TYPED;
    return KILN_OK;
}

kiln_status kiln_pt2_import(kiln_arena *a, kiln_str bytes, const char *name,
                            const kiln_import_options *o, kiln_graph **out,
                            kiln_import_report *report, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_pt2_file f;
    kiln_pt2_cx cx = {
        .file = &f, .options = o, .report = report, .nodes_left = KILN_PT2_MAX_NODES};
    kiln_status st = kiln_pt2_open(&scratch, bytes, &f, err);
    if (st == KILN_OK) {
        report->producer =
            f.version[0] != '\0' ? kiln_format(a, "PyTorch %s", f.version) : "PyTorch";
        kiln_import_begin(&cx.common, &format, a, err);
        st = run(&cx, name);
        if (st == KILN_OK)
            *out = cx.common.graph;
        kiln_import_end(&cx.common);
    }
    kiln_arena_fini(&scratch);
    return st;
}

kiln_status kiln_pt2_list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                                 kiln_declared_input **out, size_t *n, kiln_err *err) {
    kiln_pt2_file f;
    (void)path;
    KILN_TRY(kiln_pt2_open(a, bytes, &f, err));
    return kiln_pt2_declared(a, &f, out, n, err);
}

/* ---- survey ----------------------------------------------------------------------- */

typedef struct survey {
    kiln_arena *arena;
    kiln_model_survey *out;
} survey;

static void count_node(void *user, const char *target, const char *name) {
    survey *const s = user;
    (void)name;
    kiln_survey_add_op(s->arena, s->out,
                       kiln_str_printable(s->arena, kiln_str_from(bare(target)), 100),
                       kiln_pt2_is_read(target));
}

static void count_weight(survey *s, const kiln_json *meta) {
    kiln_dtype d;
    int rank;
    int64_t dim[KILN_MAX_RANK];
    if (kiln_pt2_tensor_meta(s->arena, meta, &d, &rank, dim, NULL, NULL) != KILN_OK)
        return;
    const kiln_type t = kiln_type_make(d, rank, dim);
    if (kiln_type_check(&t, NULL) != KILN_OK)
        return;
    for (int i = 0; rank > 1 && i < rank; i++)
        kiln_survey_add_size(s->arena, s->out, dim[i]);
    s->out->const_bytes += kiln_type_bytes(&t);
    if (kiln_dtype_is_float(d))
        s->out->n_params += kiln_type_elems(&t);
}

static void add_outputs(survey *s, const kiln_pt2_file *f) {
    const kiln_json *const specs = kiln_json_get(f->signature, "output_specs");
    s->out->output = kiln_array(s->arena, kiln_declared_input, kiln_json_size(specs));
    for (const kiln_json *j = kiln_json_first(specs); j != NULL;
         j = kiln_json_next(j)) {
        const kiln_json *const arg =
            kiln_json_get(kiln_json_get(j, "user_output"), "arg");
        const char *const name = kiln_json_string(
            kiln_json_get(kiln_json_get(arg, "as_tensor"), "name"), NULL);
        if (name == NULL)
            continue;
        kiln_declared_input *const d = &s->out->output[s->out->n_outputs++];
        *d = (kiln_declared_input){.name = kiln_str_dup(s->arena, name),
                                   .has_type = true};
        const kiln_json *const meta =
            kiln_json_get(kiln_json_get(f->graph, "tensor_values"), name);
        if (kiln_pt2_tensor_meta(s->arena, meta, &d->dtype, &d->rank, d->dim, d->symbol,
                                 NULL) != KILN_OK)
            *d = (kiln_declared_input){
                .name = d->name, .what = "of no type", .rank = -1};
    }
}

kiln_status kiln_pt2_survey(kiln_arena *a, kiln_str bytes, const char *path,
                            kiln_model_survey *out, kiln_err *err) {
    kiln_pt2_file f;
    kiln_pt2_input *in;
    size_t n;
    survey s = {.arena = a, .out = out};
    (void)path;
    *out = (kiln_model_survey){.format = "pytorch", .producer = "PyTorch", .stride = 1};
    KILN_TRY(kiln_pt2_open(a, bytes, &f, err));
    if (f.version[0] != '\0')
        out->producer = kiln_format(a, "PyTorch %s", f.version);
    KILN_TRY(kiln_pt2_walk(f.graph, 0, count_node, &s, err));
    kiln_survey_sort_ops(out);
    KILN_TRY(kiln_pt2_inputs(a, &f, &in, &n, err));
    const kiln_json *const values = kiln_json_get(f.graph, "tensor_values");
    for (size_t i = 0; i < n; i++)
        if (in[i].role == KILN_PT2_WEIGHT || in[i].role == KILN_PT2_CONSTANT)
            count_weight(&s, kiln_json_get(values, in[i].name));
    KILN_TRY(kiln_pt2_declared(a, &f, &out->input, &out->n_inputs, err));
    add_outputs(&s, &f);
    return KILN_OK;
}
