/* Import of a Keras model: HDF5 (.h5, .hdf5) and archives (.keras). */
#include "compiler/frontend/keras/keras_internal.h"

/* ---- names ----------------------------------------------------------------------- */

static const char *node_name(kiln_import_cx *cx, const void *site) {
    const kiln_keras_layer *const l = site;
    (void)cx;
    return l != NULL ? l->name : "input";
}

static const char *out_name(kiln_import_cx *cx, const void *site, int i) {
    (void)i;
    return node_name(cx, site);
}

/* No regions, and every operator reads every value. */
static const kiln_import_format format = {.node_name = node_name, .out_name = out_name};

static kiln_status run(kiln_keras_cx *cx, const char *name) {
    kiln_arena *const a = cx->common.arena;
    kiln_value **in = NULL;
    size_t n_in = 0;
    cx->report->producer = kiln_str_dup(
        a, cx->file.version[0] != '\0'
               ? kiln_format(&cx->common.scratch, "Keras %s", cx->file.version)
               : "");
    KILN_TRY(kiln_keras_check_support(cx));
    if (cx->file.weights.p != NULL)
        KILN_TRY(kiln_hdf5_open(&cx->common.scratch, cx->file.weights, &cx->weights,
                                cx->common.err));
    cx->common.graph = kiln_graph_new(a, kiln_path_base(name));
    KILN_TRY(kiln_keras_bind_inputs(cx, &in, &n_in));
    KILN_TRY(kiln_keras_build(cx, in, n_in));
    cx->common.graph->facts |= KILN_TYPED;
    return KILN_OK;
}

kiln_status kiln_keras_import_file(kiln_arena *a, const kiln_keras_file *f,
                                   const char *name, const kiln_import_options *o,
                                   kiln_graph **out, kiln_import_report *report,
                                   kiln_err *err) {
    enum { MAX_CALLS = 100000 };
    static const kiln_import_options none = {.n_shapes = 0};
    kiln_keras_cx cx = {.file = *f,
                        .options = o != NULL ? o : &none,
                        .report = report,
                        .calls_left = MAX_CALLS};
    kiln_import_begin(&cx.common, &format, a, err);
    const kiln_status st = run(&cx, name);
    if (st == KILN_OK)
        *out = cx.common.graph;
    kiln_import_end(&cx.common);
    return st;
}

static kiln_status import(kiln_arena *a, kiln_str bytes, const char *name,
                          const char *dir, const kiln_import_options *o,
                          kiln_graph **out, kiln_import_report *report, kiln_err *err) {
    kiln_import_report own_report;
    kiln_err own_err = {0};
    kiln_keras_file f;
    kiln_arena scratch = {0};
    (void)dir; /* weights are in the file */
    report = report != NULL ? report : &own_report;
    err = err != NULL ? err : &own_err;
    *report = (kiln_import_report){.format = "keras", .producer = ""};
    kiln_status st = kiln_keras_open(&scratch, bytes, &f, err);
    if (st == KILN_OK)
        st = kiln_keras_import_file(a, &f, name, o, out, report, err);
    if (st != KILN_OK)
        kiln_note(err, "importing '%s'", name);
    kiln_arena_fini(&scratch);
    return st;
}

static const char *const extensions[] = {".h5", ".hdf5", ".keras", NULL};

const kiln_frontend kiln_frontend_keras = {
    .name = "keras",
    .doc = "Keras model, HDF5 or archive",
    .extensions = extensions,
    .sniff = kiln_keras_sniff,
    .import = import,
    .list_inputs = kiln_keras_list_inputs,
    .survey = kiln_keras_survey,
};
