/* Inputs of a Core ML network and what the file does to them first. Images are [N, C,
 * H, W], lists of the old mapping [N, C]: the file declares no batch, so that N is 1
 * unless the caller says otherwise. All are f32, as the network computes. Source:
 * FeatureTypes.proto; NeuralNetwork.proto, NeuralNetworkPreprocessing. */
#include "compiler/frontend/coreml/coreml_internal.h"

#include <inttypes.h>
#include <string.h>

#include "compiler/frontend/frontend_inputs.h"

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
static bool may_have(const void *user, size_t i, int rank, const int64_t *dim) {
    const kiln_coreml_model *const m = user;
    const kiln_coreml_feature *const f = &m->description->input[i];
    const int first = f->image != NULL || !m->is_exact ? 1 : 0; /* the batch */
    int64_t declared[KILN_MAX_RANK] = {0};
    int declared_rank = 0;
    declared_shape(m, f, &declared_rank, declared);
    for (int k = 0; k < rank; k++)
        if (dim[k] < 1)
            return false;
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

static kiln_status check_declared(kiln_coreml_cx *cx, const kiln_coreml_feature *f,
                                  const kiln_declared_input *d) {
    if (f->name.n == 0)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE, "it must have a name");
    if (!d->has_type)
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "it must be an image or an array, is %s", kind_of(f));
    for (int i = 0; i < d->rank; i++)
        if (d->dim[i] < 1)
            return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                             "its axes must have 1 element at least, is %s",
                             kiln_shape_text(&cx->common.scratch, d->rank, d->dim));
    return KILN_OK;
}

/* What the layers read by the input's name. */
static kiln_status add_input(kiln_coreml_cx *cx, const kiln_coreml_feature *f,
                             kiln_value *v) {
    if (f->image != NULL)
        KILN_TRY(preprocess(cx, f, &v));
    else if (!cx->model.is_exact && v->type.rank == 2) {
        const int64_t wide[] = {v->type.dim[0], v->type.dim[1], 1, 1};
        KILN_TRY(kiln_import_reshape(&cx->common, NULL, v, 4, wide, &v));
    }
    kiln_map_set(&cx->common.scratch, &cx->values, f->name, v);
    return KILN_OK;
}

static kiln_status of_input(kiln_coreml_cx *cx, kiln_status st, size_t i) {
    if (st != KILN_OK)
        kiln_note(cx->common.err, "binding graph input '%s' (#%zu)",
                  kiln_import_show(&cx->common, cx->model.description->input[i].name),
                  i);
    return st;
}

kiln_status kiln_coreml_bind_inputs(kiln_coreml_cx *cx) {
    const kiln_coreml_description *const d = cx->model.description;
    const kiln_input_rules rules = {
        .may_have = may_have,
        .user = &cx->model,
        .remedy = "only the batch in front and what the file leaves open may differ"};
    kiln_arena *const a = &cx->common.scratch;
    kiln_declared_input *const in = kiln_array(a, kiln_declared_input, d->n_input);
    kiln_value **const v = kiln_array(a, kiln_value *, d->n_input);
    for (size_t i = 0; i < d->n_input; i++) {
        kiln_coreml_declare(a, &cx->model, &d->input[i], &in[i]);
        KILN_TRY(of_input(cx, check_declared(cx, &d->input[i], &in[i]), i));
    }
    KILN_TRY(kiln_import_bind_by(&cx->common, cx->options, in, d->n_input, &rules,
                                 cx->report, v));
    for (size_t i = 0; i < d->n_input; i++)
        KILN_TRY(of_input(cx, add_input(cx, &d->input[i], v[i]), i));
    return KILN_OK;
}
