/* Inputs of a Core ML network and what the file does to them first. Images are [N, C,
 * H, W], lists of the old mapping [N, C]: the file declares no batch, so that N is 1
 * unless the caller says otherwise. All are f32, as the network computes. Source:
 * FeatureTypes.proto; NeuralNetwork.proto, NeuralNetworkPreprocessing. */
#include "compiler/frontend/coreml/coreml_internal.h"

#include <inttypes.h>
#include <string.h>

enum { GRAYSCALE = 10, RGB = 20, BGR = 30, GRAYSCALE_F16 = 40 }; /* ColorSpace */

/* ---- declared -------------------------------------------------------------------- */

static bool is_gray(const kiln_coreml_image *i) {
    return i->color_space == GRAYSCALE || i->color_space == GRAYSCALE_F16;
}

static const char *kind_of(const kiln_coreml_feature *f) {
    return f->text != NULL         ? "a string"
           : f->dictionary != NULL ? "a dictionary"
           : f->sequence != NULL   ? "a sequence"
           : f->array != NULL      ? "an array of more axes than kiln has"
                                   : "of no type";
}

/* False: not a tensor. */
static bool declared_shape(const kiln_coreml_model *m, const kiln_coreml_feature *f,
                           int *rank, int64_t *dim) {
    *rank = 0;
    if (f->image != NULL) {
        *rank = 4;
        dim[0] = 1;
        dim[1] = is_gray(f->image) ? 1 : 3;
        dim[2] = f->image->height;
        dim[3] = f->image->width;
        return true;
    }
    if (f->array == NULL && f->number == NULL && f->integer == NULL)
        return false;
    if (!m->is_exact)
        dim[(*rank)++] = 1;
    if (f->array == NULL) {
        dim[(*rank)++] = 1;
        return true;
    }
    const kiln_coreml_array *const a = f->array;
    enum { OLD_FULL = 5 }; /* [S, B, C, H, W] */
    if (!m->is_exact && a->n_dim == OLD_FULL) {
        *rank = 4;
        dim[0] =
            a->dim[0] < 0 || a->dim[1] < 0 ? -1 : kiln_coreml_mul(a->dim[0], a->dim[1]);
        memcpy(dim + 1, a->dim + 2, 3 * sizeof *dim);
        return true;
    }
    if (a->n_dim + (size_t)*rank > KILN_MAX_RANK ||
        (!m->is_exact && a->n_dim != 1 && a->n_dim != 3 && a->n_dim != 0))
        return false;
    for (size_t i = 0; i < a->n_dim; i++)
        dim[(*rank)++] = a->dim[i];
    return true;
}

void kiln_coreml_declare(kiln_arena *a, const kiln_coreml_model *m,
                         const kiln_coreml_feature *f, kiln_declared_input *d) {
    KILN_ASSERT(m != NULL && f != NULL, "a feature of no model");
    *d = (kiln_declared_input){.name = kiln_str_dupv(a, f->name), .dtype = KILN_F32};
    d->has_type = declared_shape(m, f, &d->rank, d->dim);
    if (!d->has_type)
        d->what = kind_of(f);
    if (!d->has_type || (f->array != NULL && f->array->n_dim == 0))
        d->rank = -1;
    for (int i = 0; i < d->rank; i++)
        if (d->dim[i] < 0)
            d->dim[i] = -1;
}

kiln_status kiln_coreml_list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                                    kiln_declared_input **out, size_t *n,
                                    kiln_err *err) {
    kiln_coreml_model m;
    (void)path;
    KILN_TRY(kiln_coreml_decode(a, bytes, &m, err));
    const kiln_coreml_description *const d = m.description;
    *n = d->n_input;
    *out = kiln_array(a, kiln_declared_input, d->n_input);
    for (size_t i = 0; i < d->n_input; i++)
        kiln_coreml_declare(a, &m, &d->input[i], &(*out)[i]);
    return KILN_OK;
}

/* ---- given ----------------------------------------------------------------------- */

static const kiln_tensor *find_value(const kiln_value_binding *v, size_t n,
                                     kiln_str name) {
    for (size_t i = 0; i < n; i++)
        if (kiln_str_is(name, v[i].name))
            return &v[i].value;
    return NULL;
}

static kiln_status check_name(kiln_coreml_cx *cx, const char *name, const char *flag) {
    const kiln_coreml_description *const d = cx->model.description;
    kiln_buf b;
    kiln_buf_init(&b, &cx->common.scratch);
    for (size_t i = 0; i < d->n_input; i++) {
        if (kiln_str_is(d->input[i].name, name))
            return KILN_OK;
        kiln_buf_printf(&b, " '%s'", kiln_import_show(&cx->common, d->input[i].name));
    }
    return kiln_fail(cx->common.err, KILN_ERR_ARG,
                     "%s names '%s', which is no input of the model; the inputs are:%s",
                     flag, name, b.n == 0 ? " none" : kiln_buf_str(&b).p);
}

static bool in_range(const kiln_coreml_range *r, int64_t v) {
    return v >= r->lower && (r->upper < 0 || v <= r->upper);
}

static bool is_size(const kiln_coreml_image *i, int64_t height, int64_t width) {
    bool ok = height == i->height && width == i->width;
    for (size_t k = 0; k < i->n_enumerated; k++)
        ok = ok ||
             (i->enumerated[k].height == height && i->enumerated[k].width == width);
    return ok || (i->height_range != NULL && i->width_range != NULL &&
                  in_range(i->height_range, height) && in_range(i->width_range, width));
}

/* dim: without the batch. */
static bool is_shape(const kiln_coreml_array *a, int rank, const int64_t *dim) {
    const size_t bytes = (size_t)rank * sizeof *dim;
    bool ok =
        a->n_dim == 0 || (a->n_dim == (size_t)rank && memcmp(a->dim, dim, bytes) == 0);
    for (size_t k = 0; k < a->n_enumerated; k++)
        ok = ok || (a->enumerated[k].n_dim == (size_t)rank && rank > 0 &&
                    memcmp(a->enumerated[k].dim, dim, bytes) == 0);
    bool fits = a->n_range > 0 && a->n_range == (size_t)rank;
    for (int i = 0; fits && i < rank; i++)
        fits = in_range(&a->range[i], dim[i]);
    return ok || fits;
}

/* May an input have that shape? */
static bool is_allowed(const kiln_coreml_model *m, const kiln_coreml_feature *f,
                       int declared_rank, const int64_t *declared, int rank,
                       const int64_t *dim) {
    const bool has_batch = f->image != NULL || !m->is_exact;
    const int first = has_batch ? 1 : 0;
    if (rank <= first ||
        (declared_rank != rank && (f->array == NULL || f->array->n_dim != 0)))
        return false;
    if (f->image != NULL)
        return dim[1] == declared[1] && is_size(f->image, dim[2], dim[3]);
    if (f->array != NULL && (m->is_exact || f->array->n_dim <= 3))
        return is_shape(f->array, rank - first, dim + first);
    return memcmp(dim + first, declared + first,
                  (size_t)(rank - first) * sizeof *dim) == 0;
}

static kiln_status refuse_shape(kiln_coreml_cx *cx, int declared_rank,
                                const int64_t *declared, int rank, const int64_t *dim) {
    return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                     "its shape is declared as %s, but %s is given; only the batch in "
                     "front and what the file leaves open may differ",
                     kiln_shape_text(&cx->common.scratch, declared_rank, declared),
                     kiln_shape_text(&cx->common.scratch, rank, dim));
}

/* The shape an input gets: what the caller says, else what the file declares. */
static kiln_status shape_for(kiln_coreml_cx *cx, const kiln_coreml_feature *f,
                             int *rank, int64_t *dim) {
    const kiln_import_options *const o = cx->options;
    int64_t declared[KILN_MAX_RANK] = {0};
    int declared_rank = 0;
    if (!declared_shape(&cx->model, f, &declared_rank, declared))
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "it must be an image or an array, is %s", kind_of(f));
    *rank = declared_rank;
    memcpy(dim, declared, sizeof declared);
    for (size_t i = 0; i < o->n_shapes; i++)
        if (kiln_str_is(f->name, o->shapes[i].name)) {
            *rank = o->shapes[i].rank;
            memcpy(dim, o->shapes[i].dim, sizeof o->shapes[i].dim);
            if (is_allowed(&cx->model, f, declared_rank, declared, *rank, dim))
                return KILN_OK;
            return refuse_shape(cx, declared_rank, declared, *rank, dim);
        }
    if (f->array == NULL || f->array->n_dim > 0)
        return KILN_OK;
    cx->report->n_unbound++;
    return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                     "its shape must be known, and the file gives none; bind it, for "
                     "example --shape %s:1x16",
                     kiln_import_show(&cx->common, f->name));
}

/* ---- what the file does to images first ------------------------------------------ */

static kiln_value *scaled(kiln_compose *c, kiln_value *x, const kiln_coreml_image *i,
                          const kiln_coreml_scaler *s) {
    const bool is_bgr = i->color_space == BGR;
    const double color[] = {(double)(is_bgr ? s->blue : s->red), (double)s->green,
                            (double)(is_bgr ? s->red : s->blue)};
    const double gray[] = {(double)s->gray};
    const int64_t dim[] = {is_gray(i) ? 1 : 3, 1, 1};
    const double *const bias = is_gray(i) ? gray : color;
    bool is_zero = true;
    for (int64_t k = 0; k < dim[0]; k++)
        is_zero = is_zero && !(bias[k] < 0) && !(bias[k] > 0);
    if (s->has_scale && (s->scale < 1 || s->scale > 1))
        x = kiln_compose_scalar(c, &kiln_op_mul, x, (double)s->scale);
    return is_zero ? x
                   : kiln_compose_2(c, &kiln_op_add, x,
                                    kiln_compose_floats(c, KILN_F32, 3, dim, bias));
}

static kiln_status less_mean(kiln_coreml_cx *cx, kiln_compose *c,
                             const kiln_coreml_mean *m, kiln_value **x) {
    const int64_t *const d = (*x)->type.dim;
    const kiln_type t = kiln_type_make(KILN_F32, 3, d + 1);
    if (m->values.n != (size_t)kiln_type_bytes(&t))
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "its mean image must have %" PRId64 " bytes, has %zu",
                         kiln_type_bytes(&t), m->values.n);
    *x =
        kiln_compose_2(c, &kiln_op_sub, *x,
                       kiln_graph_add_const(cx->common.graph, "mean", &t, m->values.p));
    return c->status;
}

static kiln_status preprocess(kiln_coreml_cx *cx, const kiln_coreml_feature *f,
                              kiln_value **x) {
    const kiln_coreml_network *const n = cx->model.network;
    kiln_compose c = {.cx = &cx->common};
    for (size_t i = 0; i < n->n_preprocessing; i++) {
        const kiln_coreml_preprocessing *const p = &n->preprocessing[i];
        if (p->feature.n > 0 && !kiln_str_eq(p->feature, f->name))
            continue;
        if (p->scaler != NULL)
            *x = scaled(&c, *x, f->image, p->scaler);
        KILN_TRY(c.status);
        if (p->mean != NULL)
            KILN_TRY(less_mean(cx, &c, p->mean, x));
    }
    return c.status;
}

/* ---- all ------------------------------------------------------------------------- */

static kiln_status fixed(kiln_coreml_cx *cx, const kiln_tensor *given,
                         const kiln_type *t, const char *name, kiln_value **out) {
    if (!kiln_type_eq(&given->type, t))
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "it is %s, but the value given is %s",
                         kiln_type_text(&cx->common.scratch, t),
                         kiln_type_text(&cx->common.scratch, &given->type));
    *out = kiln_graph_add_const(cx->common.graph, name, t, given->data);
    return KILN_OK;
}

static kiln_status add_input(kiln_coreml_cx *cx, const kiln_coreml_feature *f) {
    const kiln_import_options *const o = cx->options;
    const char *const name = kiln_str_dupv(cx->common.arena, f->name);
    int64_t dim[KILN_MAX_RANK] = {0};
    int rank = 0;
    KILN_TRY(shape_for(cx, f, &rank, dim));
    for (int i = 0; i < rank; i++)
        if (dim[i] < 1)
            return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                             "its axes must have 1 element at least, is %s",
                             kiln_shape_text(&cx->common.scratch, rank, dim));
    const kiln_type t = kiln_type_make(KILN_F32, rank, dim);
    KILN_TRY(kiln_type_check(&t, cx->common.err));
    const kiln_tensor *const given = find_value(o->values, o->n_values, f->name);
    kiln_value *v = NULL;
    if (given != NULL)
        KILN_TRY(fixed(cx, given, &t, name, &v));
    else
        v = kiln_graph_add_input(cx->common.graph, name, &t);
    if (f->image != NULL)
        KILN_TRY(preprocess(cx, f, &v));
    else if (!cx->model.is_exact && rank == 2) {
        const int64_t wide[] = {dim[0], dim[1], 1, 1};
        KILN_TRY(kiln_import_reshape(&cx->common, NULL, v, 4, wide, &v));
    }
    kiln_map_set(&cx->common.scratch, &cx->values, f->name, v);
    return KILN_OK;
}

kiln_status kiln_coreml_bind_inputs(kiln_coreml_cx *cx) {
    const kiln_import_options *const o = cx->options;
    const kiln_coreml_description *const d = cx->model.description;
    for (size_t i = 0; i < o->n_shapes; i++)
        KILN_TRY(check_name(cx, o->shapes[i].name, "--shape"));
    for (size_t i = 0; i < o->n_values; i++)
        KILN_TRY(check_name(cx, o->values[i].name, "--bind"));
    for (size_t i = 0; i < d->n_input; i++) {
        kiln_status st = KILN_OK;
        if (d->input[i].name.n == 0 || kiln_map_has(&cx->values, d->input[i].name))
            st = kiln_fail(cx->common.err, KILN_ERR_PARSE,
                           "it must have a name of its own");
        if (st == KILN_OK)
            st = add_input(cx, &d->input[i]);
        if (st != KILN_OK) {
            kiln_note(cx->common.err, "binding input '%s' (#%zu)",
                      kiln_import_show(&cx->common, d->input[i].name), i);
            return st;
        }
    }
    return KILN_OK;
}
