/* Import of a Caffe net: the layers of its description in their order, each with the
 * weights that the layer of its name has. Source: BVLC Caffe 1.0, Net::Init,
 * Net::FilterNet, Net::CopyTrainedLayersFrom. */
#include "compiler/frontend/caffe/caffe.h"
#include "compiler/frontend/caffe/caffe_internal.h"
#include "compiler/frontend/frontend_internal.h"

#include <inttypes.h>
#include <string.h>

static const kiln_caffe_row rows[] = {
#define KILN_CAFFE(type, use, importer, op, min_in, max_in, n_out)                     \
    {type, KILN_CAFFE_##use, kiln_caffe_import_##importer, op, min_in, max_in, n_out},
#include "compiler/frontend/caffe/caffe_layers.def"
#undef KILN_CAFFE
};

/* Layers that read what a net is trained with. */
static const char *const data_types[] = {"Data",       "ImageData",    "HDF5Data",
                                         "MemoryData", "WindowData",   "DummyData",
                                         "Python",     "AnnotatedData"};

const kiln_caffe_row *kiln_caffe_find(kiln_str type) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (kiln_str_is(type, rows[i].type))
            return &rows[i];
    return NULL;
}

/* ---- phases ---------------------------------------------------------------------- */

/* The state of use: phase TEST, level 0, no stage. */
static bool is_met(const kiln_caffe_rule *r) {
    return (!r->has_phase || r->phase == KILN_CAFFE_TEST) &&
           (!r->has_min_level || r->min_level <= 0) &&
           (!r->has_max_level || r->max_level >= 0) && r->n_stage == 0;
}

bool kiln_caffe_is_included(const kiln_caffe_layer *l) {
    for (size_t i = 0; i < l->n_include; i++)
        if (is_met(&l->include[i]))
            return true;
    for (size_t i = 0; i < l->n_exclude; i++)
        if (is_met(&l->exclude[i]))
            return false;
    return l->n_include == 0;
}

/* ---- names ----------------------------------------------------------------------- */

static const char *show(kiln_caffe_cx *cx, kiln_str name) {
    return kiln_import_show(&cx->common, name);
}

static const char *show_layer(kiln_caffe_cx *cx, const kiln_caffe_layer *l) {
    if (l->name.n == 0)
        return kiln_format(&cx->common.scratch, "#%zu (%s)", l->index,
                           show(cx, l->type));
    return kiln_format(&cx->common.scratch, "'%s' (%s)", show(cx, l->name),
                       show(cx, l->type));
}

static const char *node_name(kiln_import_cx *cx, const void *site) {
    const kiln_caffe_layer *const l = site;
    return kiln_str_dupv(&cx->scratch, l->name);
}

static const char *out_name(kiln_import_cx *cx, const void *site, int i) {
    const kiln_caffe_layer *const l = site;
    KILN_ASSERT(i >= 0, "top %d", i);
    const size_t at = (size_t)i < l->n_top ? (size_t)i : 0;
    return kiln_str_dupv(&cx->scratch, l->n_top > 0 ? l->top[at] : l->name);
}

static const kiln_import_format format = {.node_name = node_name, .out_name = out_name};

/* ---- for importers --------------------------------------------------------------- */

kiln_status kiln_caffe_axis(kiln_caffe_cx *cx, const char *what, int64_t given,
                            int limit, int *out) {
    KILN_ASSERT(what != NULL && limit >= 0, "an axis of %d", limit);
    const int64_t axis = given < 0 ? given + limit : given;
    if (axis < 0 || axis >= limit)
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "'%s' must be in [-%d, %d), is %" PRId64, what, limit, limit,
                         given);
    *out = (int)axis;
    return KILN_OK;
}

kiln_status kiln_caffe_need_rank(kiln_caffe_cx *cx, const kiln_value *x, int min_rank) {
    if (x->type.rank >= min_rank)
        return KILN_OK;
    return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                     "its bottom must have %d axes at least, has shape %s", min_rank,
                     kiln_shape_text(&cx->common.scratch, x->type.rank, x->type.dim));
}

/* ---- blobs ----------------------------------------------------------------------- */

static kiln_status find_blob(kiln_caffe_cx *cx, kiln_str name,
                             kiln_caffe_blob_value **out) {
    *out = kiln_map_get(&cx->blobs, name);
    if (*out == NULL)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "bottom '%s' is no input and no top of a layer before it",
                         show(cx, name));
    return KILN_OK;
}

static void set_blob(kiln_caffe_cx *cx, kiln_str name, kiln_value *v) {
    KILN_ASSERT(v != NULL, "a blob of nothing");
    kiln_caffe_blob_value *const b =
        kiln_new(&cx->common.scratch, kiln_caffe_blob_value);
    *b = (kiln_caffe_blob_value){.name = name, .value = v};
    kiln_map_set(&cx->common.scratch, &cx->blobs, name, b);
    kiln_vec_push(&cx->common.scratch, &cx->made, b);
}

/* A top that exists is made again by layers in place only. */
static kiln_status check_top(kiln_caffe_cx *cx, const kiln_caffe_layer *l,
                             kiln_str top) {
    if (!kiln_map_has(&cx->blobs, top))
        return KILN_OK;
    for (size_t i = 0; i < l->n_bottom; i++)
        if (kiln_str_eq(l->bottom[i], top))
            return KILN_OK;
    return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                     "top '%s' is made by an earlier layer too; give one of them "
                     "another name",
                     show(cx, top));
}

/* ---- layers ---------------------------------------------------------------------- */

static kiln_status check_layer(kiln_caffe_cx *cx, const kiln_caffe_layer *l) {
    size_t n_params = 0;
    KILN_ASSERT(cx->row != NULL && cx->row->min_in <= cx->row->max_in,
                "a row of %zu to %zu bottoms", cx->row->min_in, cx->row->max_in);
    for (size_t i = 0; i < KILN_CAFFE_N_PARAMS; i++)
        n_params += l->has_params[i];
    if (l->n_other > 0)
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "it has parameters of a kind that kiln does not know for its "
                         "type; take them out if they do not matter");
    if (n_params > 1)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "it has parameters of %zu types; leave those of its own",
                         n_params);
    if (l->n_bottom < cx->row->min_in || l->n_bottom > cx->row->max_in)
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "it is read with %zu to %zu bottoms, has %zu", cx->row->min_in,
                         cx->row->max_in, l->n_bottom);
    if (cx->row->n_out != 0 && l->n_top != cx->row->n_out)
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "it is read with %zu top, has %zu", cx->row->n_out, l->n_top);
    return KILN_OK;
}

static kiln_status run_importer(kiln_caffe_cx *cx, const kiln_caffe_layer *l) {
    kiln_value **const in = kiln_array(&cx->common.scratch, kiln_value *, l->n_bottom);
    kiln_value **const out = kiln_array(&cx->common.scratch, kiln_value *, l->n_top);
    const bool judges = cx->row->use == KILN_CAFFE_JUDGES;
    if (!judges)
        KILN_TRY(check_layer(cx, l));
    for (size_t i = 0; i < l->n_bottom; i++) {
        kiln_caffe_blob_value *b;
        if (judges && !kiln_map_has(&cx->blobs, l->bottom[i]))
            continue; /* labels, of which use knows nothing */
        KILN_TRY(find_blob(cx, l->bottom[i], &b));
        b->is_used = b->is_used || cx->row->use == KILN_CAFFE_LAYER ||
                     cx->row->use == KILN_CAFFE_ENDS || i > 0;
        in[i] = b->value;
    }
    KILN_TRY(cx->row->import(cx, l, in, out));
    if (cx->row->use != KILN_CAFFE_LAYER)
        return KILN_OK;
    for (size_t i = 0; i < l->n_top; i++) {
        KILN_ASSERT(out[i] != NULL, "an importer of '%s' made no top", cx->row->type);
        KILN_TRY(check_top(cx, l, l->top[i]));
        set_blob(cx, l->top[i], out[i]);
    }
    return KILN_OK;
}

static kiln_status import_layer(kiln_caffe_cx *cx, const kiln_caffe_layer *l) {
    if (kiln_str_is(l->type, "Input"))
        return KILN_OK; /* made before all layers */
    cx->row = kiln_caffe_find(l->type);
    KILN_ASSERT(cx->row != NULL, "check_support let a layer pass");
    kiln_status st = run_importer(cx, l);
    if (st == KILN_ERR_ARG) /* a call that the file asked for: nobody else's fault */
        st = cx->common.err->status = KILN_ERR_PARSE;
    if (st != KILN_OK)
        kiln_note(cx->common.err, "importing layer %s", show_layer(cx, l));
    cx->report->n_imported += st == KILN_OK;
    return st;
}

static kiln_status refuse_data(kiln_caffe_cx *cx, const kiln_caffe_layer *l) {
    for (size_t i = 0; i < sizeof data_types / sizeof data_types[0]; i++)
        if (kiln_str_is(l->type, data_types[i]) && l->n_bottom == 0)
            return kiln_fail(
                cx->common.err, KILN_ERR_UNSUPPORTED,
                "layer %s reads what the net was trained with; put an Input layer with "
                "a shape in its place, as a deploy.prototxt has",
                show_layer(cx, l));
    return KILN_OK;
}

static kiln_status check_support(kiln_caffe_cx *cx) {
    for (size_t i = 0; i < cx->net->n_layer; i++) {
        const kiln_caffe_layer *const l = &cx->net->layer[i];
        if (!kiln_caffe_is_included(l) || kiln_caffe_find(l->type) != NULL)
            continue;
        KILN_TRY(refuse_data(cx, l));
        const char *const name = l->name.n > 0
                                     ? show(cx, l->name)
                                     : kiln_format(&cx->common.scratch, "#%zu", i);
        kiln_import_add_unread(&cx->common, cx->report, show(cx, l->type), name);
    }
    return kiln_import_check_unread(
        &cx->common, cx->report, "layer type",
        "cut the net before them, or export the model as ONNX from a framework that "
        "has them");
}

/* ---- the net --------------------------------------------------------------------- */

static void index_weights(kiln_caffe_cx *cx) {
    for (size_t i = 0; i < cx->trained->n_layer; i++) {
        kiln_caffe_layer *const l = &cx->trained->layer[i];
        if (l->n_blobs > 0)
            kiln_map_set(&cx->common.scratch, &cx->weights, l->name, l);
    }
}

/* A file whose damage no layer meets is named as one all the same. */
static kiln_status check_weights(kiln_caffe_cx *cx) {
    for (size_t i = 0; i < cx->trained->n_layer; i++) {
        const kiln_caffe_layer *const l = &cx->trained->layer[i];
        for (size_t k = 0; k < l->n_blobs; k++) {
            kiln_type t;
            const kiln_status st =
                kiln_caffe_blob_type(&l->blobs[k], &t, cx->common.err);
            if (st == KILN_OK)
                continue;
            kiln_note(cx->common.err, "reading blob %zu of layer %s in '%s'", k,
                      show_layer(cx, l), cx->weights_name);
            return st;
        }
    }
    return KILN_OK;
}

static kiln_status add_inputs(kiln_caffe_cx *cx) {
    kiln_declared_input *in;
    size_t n;
    KILN_TRY(kiln_caffe_declare(&cx->common.scratch, cx->net, &in, &n, cx->common.err));
    kiln_value **const v = kiln_array(&cx->common.scratch, kiln_value *, n);
    KILN_TRY(
        kiln_import_bind_inputs(&cx->common, cx->options, in, n, true, cx->report, v));
    for (size_t i = 0; i < n; i++)
        set_blob(cx, kiln_str_from(in[i].name), v[i]);
    cx->n_inputs = n;
    return KILN_OK;
}

/* Blobs that no layer uses. */
static kiln_status add_outputs(kiln_caffe_cx *cx) {
    kiln_graph *const g = cx->common.graph;
    for (size_t i = 0; i < cx->made.n; i++) {
        const kiln_caffe_blob_value *const b = cx->made.v[i];
        if (!b->is_used && i >= cx->n_inputs)
            kiln_graph_add_output(g, b->value,
                                  kiln_str_dupv(cx->common.arena, b->name));
    }
    if (g->outputs.n == 0)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "the net must have a top that no layer uses: its output");
    return KILN_OK;
}

static kiln_status import_net(kiln_caffe_cx *cx, kiln_graph **out) {
    KILN_TRY(check_support(cx));
    KILN_TRY(check_weights(cx));
    cx->common.graph = kiln_graph_new(cx->common.arena,
                                      kiln_str_dupv(cx->common.arena, cx->net->name));
    index_weights(cx);
    KILN_TRY(add_inputs(cx));
    for (size_t i = 0; i < cx->net->n_layer; i++)
        if (kiln_caffe_is_included(&cx->net->layer[i]))
            KILN_TRY(import_layer(cx, &cx->net->layer[i]));
    KILN_TRY(add_outputs(cx));
    cx->common.graph->facts |= KILN_TYPED;
    *out = cx->common.graph;
    return KILN_OK;
}

static kiln_status import_files(kiln_arena *a, const kiln_caffe_files *f,
                                const kiln_import_options *o, kiln_graph **out,
                                kiln_import_report *report, kiln_err *err) {
    static const kiln_import_options none = {0};
    kiln_caffe_net net, trained;
    kiln_caffe_cx cx = {.net = &net,
                        .trained = &trained,
                        .weights_name = f->weights_name,
                        .options = o == NULL ? &none : o,
                        .report = report};
    kiln_import_begin(&cx.common, &format, a, err);
    kiln_status st =
        kiln_caffe_decode_text(&cx.common.scratch, f->text, f->text_name, &net, err);
    if (st == KILN_OK) {
        st = kiln_caffe_decode_weights(&cx.common.scratch, f->weights, &trained, err);
        if (st != KILN_OK)
            kiln_note(err, "reading '%s'", f->weights_name);
    }
    if (st == KILN_OK)
        st = import_net(&cx, out);
    if (st != KILN_OK)
        kiln_note(err, "importing '%s'", f->text_name);
    kiln_import_make_printable(err);
    kiln_import_end(&cx.common);
    return st;
}

kiln_status kiln_import_caffe_bytes(kiln_arena *a, kiln_str text, kiln_str weights,
                                    const char *name, const kiln_import_options *o,
                                    kiln_graph **out, kiln_import_report *report,
                                    kiln_err *err) {
    kiln_import_report unused = {0};
    kiln_err own = {0};
    const kiln_caffe_files f = {.text = text,
                                .weights = weights,
                                .text_name = name,
                                .weights_name = "the weights"};
    report = report != NULL ? report : &unused;
    *report = (kiln_import_report){.format = "caffe", .producer = ""};
    return import_files(a, &f, o, out, report, err != NULL ? err : &own);
}

static kiln_status import(kiln_arena *a, kiln_str bytes, const char *name,
                          const char *dir, const kiln_import_options *o,
                          kiln_graph **out, kiln_import_report *report, kiln_err *err) {
    kiln_import_report unused = {0};
    kiln_err own = {0};
    kiln_caffe_files f;
    (void)dir; /* `name` is the path */
    report = report != NULL ? report : &unused;
    err = err != NULL ? err : &own;
    *report = (kiln_import_report){.format = "caffe", .producer = ""};
    KILN_TRY(kiln_caffe_open(a, bytes, name, &f, err));
    const kiln_import_data data = {f.other, f.text.p == bytes.p ? f.weights : f.text};
    kiln_vec_push(a, &report->data, data);
    return import_files(a, &f, o, out, report, err);
}

static kiln_status list_data(kiln_arena *a, kiln_str bytes, const char *path,
                             kiln_import_locations *out, kiln_err *err) {
    (void)err;
    kiln_vec_push(a, out, kiln_caffe_other(a, bytes, path));
    return KILN_OK;
}

static bool sniff(kiln_str bytes) {
    return kiln_caffe_is_text(bytes) || kiln_caffe_is_weights(bytes);
}

static const char *const extensions[] = {".prototxt", ".caffemodel", NULL};

const kiln_frontend kiln_frontend_caffe = {
    .name = "caffe",
    .doc = "Caffe NetParameter: a .prototxt and its .caffemodel, layers of V1 too",
    .extensions = extensions,
    .sniff = sniff,
    .import = import,
    .list_inputs = kiln_caffe_list_inputs,
    .survey = kiln_caffe_survey,
    .list_data = list_data,
};
