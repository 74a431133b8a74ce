/* What a Caffe net says of itself before it is imported: its inputs, layers, weights.
 * A net's inputs are its own ('input', with a shape or four dimensions each) and the tops
 * of its Input layers. Shapes are of the file, and a caller may give others: Caffe
 * reshapes a net to what it is fed. */
#include "compiler/frontend/caffe/caffe_internal.h"

#include <string.h>

enum { MAX_SHOWN = 120 };

static kiln_status declare_one(kiln_arena *a, kiln_str name, const kiln_caffe_shape *s,
                               kiln_declared_input *out, kiln_err *err) {
    *out = (kiln_declared_input){.name = kiln_str_dupv(a, name),
                                 .has_type = true,
                                 .dtype = KILN_F32,
                                 .rank = (int)s->n_dim};
    const char *const shown = kiln_str_printable(a, name, MAX_SHOWN);
    if (name.n == 0)
        return kiln_fail(err, KILN_ERR_PARSE, "an input of the net has no name");
    if (s->n_dim > KILN_MAX_RANK)
        return kiln_fail(err, KILN_ERR_LIMIT, "input '%s' may have %d axes, has %zu",
                         shown, KILN_MAX_RANK, s->n_dim);
    for (size_t i = 0; i < s->n_dim; i++) {
        if (s->dim[i] < 0)
            return kiln_fail(err, KILN_ERR_PARSE,
                             "input '%s': a dimension must be 0 or more, is %lld",
                             shown, (long long)s->dim[i]);
        out->dim[i] = s->dim[i];
    }
    return KILN_OK;
}

static size_t count_inputs(const kiln_caffe_net *net) {
    size_t n = net->n_input;
    for (size_t i = 0; i < net->n_layer; i++)
        if (kiln_str_is(net->layer[i].type, "Input") &&
            kiln_caffe_is_included(&net->layer[i]))
            n += net->layer[i].n_top;
    return n;
}

/* 'input', of old. */
static kiln_status declare_own(kiln_arena *a, const kiln_caffe_net *net,
                               kiln_declared_input *list, kiln_err *err) {
    const bool has_shapes = net->n_input_shape == net->n_input;
    if (!has_shapes && net->n_input_dim != 4 * net->n_input)
        return kiln_fail(
            err, KILN_ERR_PARSE,
            "%zu inputs of the net must have as many 'input_shape' or four "
            "times as many 'input_dim', have %zu and %zu",
            net->n_input, net->n_input_shape, net->n_input_dim);
    for (size_t i = 0; i < net->n_input; i++) {
        const kiln_caffe_shape old = {has_shapes ? NULL : net->input_dim + 4 * i, 4};
        KILN_TRY(declare_one(a, net->input[i], has_shapes ? &net->input_shape[i] : &old,
                             &list[i], err));
    }
    return KILN_OK;
}

static kiln_status declare_layer(kiln_arena *a, const kiln_caffe_layer *l,
                                 kiln_declared_input *list, kiln_err *err) {
    const size_t n = l->p.n_shape;
    if (l->n_top == 0 || (n != 1 && n != l->n_top))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "layer '%s' (Input) of %zu tops must have one 'shape' or one "
                         "for each, has %zu",
                         kiln_str_printable(a, l->name, MAX_SHOWN), l->n_top, n);
    for (size_t i = 0; i < l->n_top; i++)
        KILN_TRY(declare_one(a, l->top[i], &l->p.shape[n == 1 ? 0 : i], &list[i], err));
    return KILN_OK;
}

kiln_status kiln_caffe_declare(kiln_arena *a, const kiln_caffe_net *net,
                               kiln_declared_input **out, size_t *n, kiln_err *err) {
    const size_t count = count_inputs(net);
    kiln_declared_input *const list = kiln_array(a, kiln_declared_input, count);
    kiln_map seen = {0};
    size_t at = net->n_input;
    if (net->n_input > 0)
        KILN_TRY(declare_own(a, net, list, err));
    for (size_t i = 0; i < net->n_layer; i++) {
        const kiln_caffe_layer *const l = &net->layer[i];
        if (!kiln_str_is(l->type, "Input") || !kiln_caffe_is_included(l))
            continue;
        KILN_TRY(declare_layer(a, l, list + at, err));
        at += l->n_top;
    }
    for (size_t i = 0; i < count; i++)
        if (!kiln_map_set(a, &seen, kiln_str_from(list[i].name), NULL))
            return kiln_fail(
                err, KILN_ERR_PARSE,
                "input '%s' is given twice; give one of them another name",
                kiln_str_printable(a, kiln_str_from(list[i].name), MAX_SHOWN));
    *out = list;
    *n = count;
    return KILN_OK;
}

kiln_status kiln_caffe_list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                                   kiln_declared_input **out, size_t *n,
                                   kiln_err *err) {
    kiln_caffe_files f;
    kiln_caffe_net net;
    KILN_TRY(kiln_caffe_open(a, bytes, path, &f, err));
    KILN_TRY(kiln_caffe_decode_text(a, f.text, f.text_name, &net, err));
    return kiln_caffe_declare(a, &net, out, n, err);
}

/* ---- survey ---------------------------------------------------------------------- */

static void survey_weights(kiln_arena *a, const kiln_caffe_net *net,
                           kiln_model_survey *s) {
    for (size_t i = 0; i < net->n_layer; i++)
        for (size_t k = 0; k < net->layer[i].n_blobs; k++) {
            kiln_type t;
            if (kiln_caffe_blob_type(&net->layer[i].blobs[k], &t, NULL) != KILN_OK)
                continue;
            s->n_params += kiln_type_elems(&t);
            s->const_bytes += kiln_type_bytes(&t);
            for (int d = 0; d < t.rank; d++)
                kiln_survey_add_size(a, s, t.dim[d]);
        }
}

static void survey_layers(kiln_arena *a, const kiln_caffe_net *net,
                          kiln_model_survey *s) {
    enum { MAX_STRIDE = 1 << 16 };
    for (size_t i = 0; i < net->n_layer; i++) {
        const kiln_caffe_layer *const l = &net->layer[i];
        if (!kiln_caffe_is_included(l) || kiln_str_is(l->type, "Input"))
            continue;
        kiln_survey_add_op(a, s, kiln_str_printable(a, l->type, MAX_SHOWN),
                           kiln_caffe_find(l->type) != NULL);
        const int64_t stride = l->p.n_stride > 0 ? l->p.stride[0] : l->p.stride_h;
        if (stride > 1 && stride <= MAX_STRIDE && s->stride * stride <= MAX_STRIDE)
            s->stride *= stride;
    }
    kiln_survey_sort_ops(s);
}

kiln_status kiln_caffe_survey(kiln_arena *a, kiln_str bytes, const char *path,
                              kiln_model_survey *out, kiln_err *err) {
    kiln_caffe_files f;
    kiln_caffe_net net, trained;
    *out = (kiln_model_survey){.format = "caffe", .producer = "", .stride = 1};
    KILN_TRY(kiln_caffe_open(a, bytes, path, &f, err));
    KILN_TRY(kiln_caffe_decode_text(a, f.text, f.text_name, &net, err));
    KILN_TRY(kiln_caffe_decode_weights(a, f.weights, &trained, err));
    survey_layers(a, &net, out);
    survey_weights(a, &trained, out);
    return kiln_caffe_declare(a, &net, &out->input, &out->n_inputs, err);
}
