/* A model as layers that call each other: Sequential, and Functional with its nodes,
 * shared layers and models inside models. Source: keras, Functional.get_config and
 * reconstruct_from_config of Keras 2 and 3. */
#include "compiler/frontend/keras/keras_internal.h"
#include "base/numbers.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

bool kiln_keras_is_model(const char *class_name) {
    return strcmp(class_name, "Sequential") == 0 ||
           strcmp(class_name, "Functional") == 0 || strcmp(class_name, "Model") == 0;
}

static bool is_input(const char *class_name) {
    return strcmp(class_name, "InputLayer") == 0;
}

/* ---- where weights are ----------------------------------------------------------- */

/* The class itself, where Keras has it by another name too: weights are by the first. */
static const char *own_name(const char *class_name) {
    return strcmp(class_name, "GroupQueryAttention") == 0 ? "GroupedQueryAttention"
                                                          : class_name;
}

typedef struct model {
    kiln_keras_cx *cx;
    const char *name;
    kiln_keras_layer *layer;
    const kiln_json **next_node; /* of each layer: not called yet; NULL: all are */
    int64_t *n_called, *first;   /* and the number of its first call */
    size_t n;
    kiln_map values; /* "layer/node/tensor" */
    int depth;
} model;

/* Of the model `around`; NULL: the whole. Layers of one class are numbered. */
static void place_layers(model *m, const kiln_keras_layer *around) {
    kiln_arena *const a = &m->cx->common.scratch;
    const bool has_root =
        m->cx->weights != NULL && kiln_hdf5_has(m->cx->weights, "/model_weights");
    kiln_numbers counts = {0};
    for (size_t i = 0; i < m->n; i++) {
        kiln_keras_layer *const l = &m->layer[i];
        const char *const name = kiln_keras_snake_case(a, own_name(l->class_name));
        const size_t n = kiln_numbers_get(&counts, kiln_str_from(name));
        kiln_numbers_set(a, &counts, kiln_str_from(name), n + 1);
        const char *const numbered = n == 0 ? name : kiln_format(a, "%s_%zu", name, n);
        const char *const path =
            kiln_format(a, "%s%slayers/%s", around != NULL ? around->place.path : "",
                        around != NULL ? "/" : "", numbered);
        const char *const group =
            around != NULL
                ? around->place.group
                : kiln_format(a, "%s/%s", has_root ? "/model_weights" : "", l->name);
        l->place = (kiln_keras_place){
            .group = group, .owner = around != NULL ? l->name : NULL, .path = path};
    }
}

static kiln_status read_layers(model *m, const kiln_json *config) {
    const kiln_json *const list = kiln_keras_layers(config);
    kiln_arena *const a = &m->cx->common.scratch;
    m->n = kiln_json_size(list);
    if (!kiln_json_is_array(list) || m->n == 0 || m->n > KILN_KERAS_MAX_LAYERS)
        return kiln_fail(m->cx->common.err, KILN_ERR_PARSE,
                         "model '%s' must have 1 to %d layers, has %zu",
                         kiln_import_show(&m->cx->common, kiln_str_from(m->name)),
                         KILN_KERAS_MAX_LAYERS, m->n);
    m->layer = kiln_array(a, kiln_keras_layer, m->n);
    m->next_node = kiln_array(a, const kiln_json *, m->n);
    m->n_called = kiln_array(a, int64_t, m->n);
    m->first = kiln_array(a, int64_t, m->n);
    const kiln_json *j = kiln_json_first(list);
    for (size_t i = 0; i < m->n; i++, j = kiln_json_next(j))
        KILN_TRY(kiln_keras_read_layer(a, j, &m->layer[i], m->cx->common.err));
    return KILN_OK;
}

/* ---- calls that wait -------------------------------------------------------------- */

/* What a call is given: of functions that layers do, too ("args") each a tensor of the
 * model or a number; others look for their numbers themselves. */
static kiln_status collect_operands(model *m, const kiln_keras_layer *l,
                                    const kiln_json *node, kiln_keras_refs *out) {
    kiln_arena *const a = &m->cx->common.scratch;
    const kiln_json *const args = kiln_json_get(node, "args");
    if (l->is_lambda)
        return kiln_keras_collect_lambda(m->cx, node, out);
    if (!l->is_function || kiln_keras_is_of_ops(l->class_name) ||
        kiln_json_is_array(kiln_json_first(args))) {
        kiln_keras_collect_values(a, node, out);
        return KILN_OK;
    }
    size_t n = 0;
    for (const kiln_json *i = kiln_json_first(args); i != NULL; i = kiln_json_next(i)) {
        const kiln_keras_ref r = {.number = kiln_json_number(i, 0),
                                  .is_real = kiln_json_is_real(i)};
        if (kiln_json_is_number(i))
            kiln_vec_push(a, out, r);
        else
            kiln_keras_collect_values(a, i, out);
        if (out->n != ++n)
            break;
    }
    if (n == out->n && n > 1 && kiln_json_size(kiln_json_get(node, "kwargs")) == 0)
        return KILN_OK;
    return kiln_fail(m->cx->common.err, KILN_ERR_UNSUPPORTED,
                     "function '%s' (%s) must be called with tensors of the model, "
                     "arrays and numbers, by place",
                     kiln_import_show(&m->cx->common, kiln_str_from(l->name)),
                     kiln_import_show(&m->cx->common, kiln_str_from(l->class_name)));
}

static kiln_str key_of(kiln_arena *a, const char *layer, int64_t node, int64_t tensor) {
    return kiln_str_from(
        kiln_format(a, "%s/%" PRId64 "/%" PRId64, layer, node, tensor));
}

/* Calls are numbered from 0, those of a model from the number that its own inputs have
 * not taken: 0 or 1, by the version of Keras. All calls are used by something, so the
 * smallest number that anything uses is the first. */
static void number_calls(model *m, const kiln_json *config) {
    kiln_arena *const a = &m->cx->common.scratch;
    kiln_numbers at = {0};
    kiln_keras_refs all = {0};
    for (size_t i = 0; i < m->n; i++) {
        kiln_numbers_set(a, &at, kiln_str_from(m->layer[i].name), i + 1);
        kiln_keras_collect(a, m->layer[i].nodes, &all);
        m->first[i] = -1;
    }
    kiln_keras_collect(a, kiln_json_get(config, "output_layers"), &all);
    for (size_t r = 0; r < all.n; r++) {
        const size_t i = kiln_numbers_get(&at, kiln_str_from(all.v[r].layer));
        KILN_ASSERT(i <= m->n, "layer %zu of %zu", i - 1, m->n);
        if (i != 0 && (m->first[i - 1] < 0 || all.v[r].node < m->first[i - 1]))
            m->first[i - 1] = all.v[r].node;
    }
    for (size_t i = 0; i < m->n; i++)
        if (m->first[i] < 0 || !kiln_keras_is_model(m->layer[i].class_name))
            m->first[i] = 0;
}

static kiln_value *value_of(model *m, const kiln_keras_ref *r) {
    kiln_arena *const a = &m->cx->common.scratch;
    return kiln_map_get(&m->values, key_of(a, r->layer, r->node, r->tensor));
}

/* ---- calls ----------------------------------------------------------------------- */

static kiln_status run_model(kiln_keras_cx *cx, const kiln_keras_layer *l,
                             bool is_whole, int depth, kiln_value *const *in,
                             size_t n_in, kiln_value ***out, const char *const **names,
                             size_t *n_out);

static kiln_status call(model *m, const kiln_keras_layer *l, kiln_value *const *in,
                        size_t n_in, kiln_value ***out, size_t *n_out) {
    kiln_keras_cx *const cx = m->cx;
    const char *const *names = NULL;
    kiln_status st;
    if (--cx->calls_left < 0)
        return kiln_fail(cx->common.err, KILN_ERR_LIMIT,
                         "its layers are called too often; is the file damaged?");
    if (kiln_keras_is_model(l->class_name))
        st = run_model(cx, l, false, m->depth + 1, in, n_in, out, &names, n_out);
    else if (is_input(l->class_name) && n_in == 1) {
        *n_out = 1;
        *out = kiln_array(&cx->common.scratch, kiln_value *, 1);
        (*out)[0] = in[0];
        st = KILN_OK;
    } else
        st = kiln_keras_run_all(cx, l, in, (int)n_in, out, n_out);
    if (st == KILN_ERR_ARG) /* what the file asked for: nobody else's fault */
        st = cx->common.err->status = KILN_ERR_PARSE;
    if (st != KILN_OK)
        kiln_note(cx->common.err, "importing layer '%s' (%s)",
                  kiln_import_show(&cx->common, kiln_str_from(l->name)),
                  kiln_import_show(&cx->common, kiln_str_from(l->class_name)));
    cx->report->n_imported += st == KILN_OK;
    return st;
}

static kiln_status run_sequence(model *m, kiln_value *const *in, size_t n_in,
                                kiln_value ***out, const char *const **names,
                                size_t *n_out) {
    kiln_arena *const a = &m->cx->common.scratch;
    const char **const name = kiln_array(a, const char *, 1);
    kiln_value *const *x = in;
    size_t n = n_in;
    if (n_in != 1)
        return kiln_fail(m->cx->common.err, KILN_ERR_PARSE,
                         "model '%s' is Sequential and takes one value, is given %zu",
                         kiln_import_show(&m->cx->common, kiln_str_from(m->name)),
                         n_in);
    for (size_t i = 0; i < m->n; i++) {
        kiln_value **y = NULL;
        if (is_input(m->layer[i].class_name))
            continue;
        KILN_TRY(call(m, &m->layer[i], x, n, &y, &n));
        if (n != 1)
            return kiln_fail(
                m->cx->common.err, KILN_ERR_PARSE,
                "layer '%s' of a Sequential model must have one result, has %zu",
                kiln_import_show(&m->cx->common, kiln_str_from(m->layer[i].name)), n);
        x = y;
    }
    *out = kiln_array(a, kiln_value *, n);
    memcpy(*out, x, n * sizeof *x);
    *n_out = n;
    name[0] = m->layer[m->n - 1].name;
    *names = name;
    return KILN_OK;
}

/* The type that numbers have beside tensors of integers: that of the tensors, and of bools i32,
 * unless one is written as a fraction (2.0), or who reads the result says that it is of floats.
 * Beside floats: f32, or f64 where one is of that. */
static kiln_dtype type_of_numbers(const model *m, size_t i, const kiln_keras_refs *from,
                                  kiln_value *const *in) {
    kiln_dtype dtype = KILN_I32;
    bool is_real = false, is_wide = false;
    for (size_t k = 0; k < from->n; k++) {
        const kiln_dtype own = in[k] != NULL ? in[k]->type.dtype : KILN_BOOL;
        is_wide = is_wide || own == KILN_F64;
        is_real = is_real || kiln_dtype_is_float(own) ||
                  (in[k] == NULL &&
                   (from->v[k].is_real || !(fabs(from->v[k].number) <= 0x1p31)));
        if (own != KILN_BOOL)
            dtype = own;
    }
    if (is_real)
        return is_wide ? KILN_F64 : KILN_F32;
    const char *said = NULL;
    for (size_t l = 0; l < m->n && said == NULL; l++)
        said = kiln_keras_said_dtype(m->layer[l].nodes, m->layer[i].name,
                                     m->first[i] + m->n_called[i]);
    return said != NULL && strncmp(said, "float", 5) == 0 ? KILN_F32 : dtype;
}

/* What the call of layer i is given; beside fractions integers are floats, too. */
static kiln_status gather_operands(model *m, size_t i, const kiln_keras_refs *from,
                                   kiln_value **in) {
    kiln_import_cx *const cx = &m->cx->common;
    bool has_numbers = false;
    const kiln_keras_layer *const l = &m->layer[i];
    for (size_t k = 0; k < from->n; k++) {
        in[k] = from->v[k].layer == NULL ? NULL : value_of(m, &from->v[k]);
        if (from->v[k].list != NULL && !l->is_lambda)
            KILN_TRY(kiln_keras_array_of(m->cx, l, &from->v[k], &in[k]));
        has_numbers = has_numbers || in[k] == NULL;
    }
    if (!has_numbers)
        return KILN_OK;
    if (l->is_lambda)
        return kiln_keras_lambda_numbers(m->cx, l, from, in);
    const kiln_dtype dtype = type_of_numbers(m, i, from, in);
    for (size_t k = 0; k < from->n; k++) {
        if (in[k] == NULL)
            in[k] = kiln_import_scalar(cx, dtype, from->v[k].number);
        else if (in[k]->type.dtype != KILN_BOOL)
            KILN_TRY(kiln_import_cast(cx, &m->layer[i], in[k], dtype, &in[k]));
    }
    return KILN_OK;
}

/* Calls the next node of layer i where its operands are there. */
static kiln_status try_node(model *m, size_t i, bool *done) {
    kiln_arena *const a = &m->cx->common.scratch;
    kiln_keras_layer *const l = &m->layer[i];
    const kiln_arena_mark mark = kiln_arena_save(a);
    kiln_keras_refs from = {0};
    *done = false;
    KILN_TRY(collect_operands(m, l, m->next_node[i], &from));
    bool is_ready = from.n > 0;
    for (size_t k = 0; is_ready && k < from.n; k++)
        is_ready = from.v[k].layer == NULL || value_of(m, &from.v[k]) != NULL;
    if (!is_ready) {
        kiln_arena_rewind(a, mark);
        return KILN_OK;
    }
    kiln_value **const in = kiln_array(a, kiln_value *, from.n), **out = NULL;
    size_t n_out = 0;
    l->node = m->next_node[i];
    if (l->is_lambda)
        l->config = kiln_keras_keywords(l->node);
    KILN_TRY(gather_operands(m, i, &from, in));
    KILN_TRY(call(m, l, in, from.n, &out, &n_out));
    for (size_t t = 0; t < n_out; t++)
        kiln_map_set(a, &m->values,
                     key_of(a, l->name, m->first[i] + m->n_called[i], (int64_t)t),
                     out[t]);
    m->n_called[i]++;
    m->next_node[i] = kiln_json_next(m->next_node[i]);
    *done = true;
    return KILN_OK;
}

static kiln_status run_nodes(model *m) {
    bool again = true;
    for (size_t i = 0; i < m->n; i++)
        m->next_node[i] = is_input(m->layer[i].class_name)
                              ? NULL
                              : kiln_json_first(m->layer[i].nodes);
    while (again) {
        again = false;
        for (size_t i = 0; i < m->n; i++) {
            bool done = true;
            while (done && m->next_node[i] != NULL) {
                KILN_TRY(try_node(m, i, &done));
                again = again || done;
            }
        }
    }
    return KILN_OK;
}

static kiln_status take_outputs(model *m, const kiln_json *config, kiln_value ***out,
                                const char *const **names, size_t *n_out) {
    kiln_arena *const a = &m->cx->common.scratch;
    kiln_keras_refs to = {0};
    kiln_keras_collect(a, kiln_json_get(config, "output_layers"), &to);
    if (to.n == 0)
        return kiln_fail(m->cx->common.err, KILN_ERR_PARSE,
                         "'output_layers' must name the model's outputs");
    const char **const name = kiln_array(a, const char *, to.n);
    *out = kiln_array(a, kiln_value *, to.n);
    for (size_t i = 0; i < to.n; i++) {
        name[i] = to.v[i].layer;
        (*out)[i] = value_of(m, &to.v[i]);
        if ((*out)[i] == NULL)
            return kiln_fail(
                m->cx->common.err, KILN_ERR_PARSE,
                "output '%s' is not computed: a layer before it is missing "
                "or waits for itself",
                kiln_import_show(&m->cx->common, kiln_str_from(name[i])));
    }
    *names = name;
    *n_out = to.n;
    return KILN_OK;
}

static kiln_status run_graph(model *m, const kiln_json *config, kiln_value *const *in,
                             size_t n_in, kiln_value ***out, const char *const **names,
                             size_t *n_out) {
    kiln_arena *const a = &m->cx->common.scratch;
    kiln_keras_refs from = {0};
    kiln_keras_collect(a, kiln_json_get(config, "input_layers"), &from);
    if (from.n != n_in)
        return kiln_fail(m->cx->common.err, KILN_ERR_PARSE,
                         "model '%s' has %zu inputs, and is given %zu",
                         kiln_import_show(&m->cx->common, kiln_str_from(m->name)),
                         from.n, n_in);
    for (size_t i = 0; i < n_in; i++)
        kiln_map_set(a, &m->values,
                     key_of(a, from.v[i].layer, from.v[i].node, from.v[i].tensor),
                     in[i]);
    number_calls(m, config);
    KILN_TRY(run_nodes(m));
    return take_outputs(m, config, out, names, n_out);
}

static kiln_status run_model(kiln_keras_cx *cx, const kiln_keras_layer *l,
                             bool is_whole, int depth, kiln_value *const *in,
                             size_t n_in, kiln_value ***out, const char *const **names,
                             size_t *n_out) {
    model m = {.cx = cx, .name = l->name, .depth = depth};
    if (depth > KILN_KERAS_MAX_DEPTH)
        return kiln_fail(cx->common.err, KILN_ERR_LIMIT,
                         "models may lie %d deep in models", KILN_KERAS_MAX_DEPTH);
    KILN_TRY(read_layers(&m, l->config));
    place_layers(&m, is_whole ? NULL : l);
    return strcmp(l->class_name, "Sequential") == 0
               ? run_sequence(&m, in, n_in, out, names, n_out)
               : run_graph(&m, l->config, in, n_in, out, names, n_out);
}

kiln_status kiln_keras_build(kiln_keras_cx *cx, kiln_value **in, size_t n_in) {
    kiln_keras_layer whole = {0};
    kiln_value **out = NULL;
    const char *const *names = NULL;
    size_t n_out = 0;
    kiln_map seen = {0};
    KILN_TRY(kiln_keras_read_layer(&cx->common.scratch, cx->file.model, &whole,
                                   cx->common.err));
    KILN_TRY(run_model(cx, &whole, true, 0, in, n_in, &out, &names, &n_out));
    for (size_t i = 0; i < n_out; i++) {
        const char *name = kiln_str_dup(cx->common.arena, names[i]);
        for (int n = 1; kiln_map_has(&seen, kiln_str_from(name)); n++)
            name = kiln_format(cx->common.arena, "%s.%d", names[i], n);
        kiln_map_set(&cx->common.scratch, &seen, kiln_str_from(name), NULL);
        kiln_graph_add_output(cx->common.graph, out[i], name);
    }
    return KILN_OK;
}

kiln_status kiln_keras_run(kiln_keras_cx *cx, const kiln_keras_layer *l,
                           kiln_value *const *in, int n_in, kiln_value **out) {
    kiln_value **all = NULL;
    size_t n = 0;
    KILN_TRY(kiln_keras_run_all(cx, l, in, n_in, &all, &n));
    *out = all[0];
    return KILN_OK;
}

kiln_status kiln_keras_run_all(kiln_keras_cx *cx, const kiln_keras_layer *l,
                               kiln_value *const *in, int n_in, kiln_value ***out,
                               size_t *n_out) {
    const kiln_keras_row *const row = kiln_keras_find(l->class_name);
    if (row == NULL)
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "layer '%s' is not read here",
                         kiln_import_show(&cx->common, kiln_str_from(l->class_name)));
    const int max_in = row->max_in > 0 ? row->max_in : KILN_KERAS_MAX_INPUTS;
    if (n_in < row->min_in || n_in > max_in)
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "it must be called with %d to %d values, is with %d",
                         row->min_in, max_in, n_in);
    if (!kiln_json_is_object(l->config))
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "its config must be an object");
    kiln_keras_call k = {.cx = cx,
                         .layer = l,
                         .op = row->op,
                         .c = {.cx = &cx->common, .site = l},
                         .n_in = n_in};
    memcpy(k.in, in, (size_t)n_in * sizeof *in);
    for (int i = 0; i < n_in && !l->is_function; i++) /* layers compute in float32 */
        if (k.in[i]->type.dtype == KILN_F64)
            k.in[i] = kiln_compose_cast(&k.c, k.in[i], KILN_F32);
    KILN_TRY(row->import(&k));
    KILN_TRY(k.c.status);
    KILN_ASSERT(k.out != NULL, "'%s' gives nothing", row->class_name);
    KILN_TRY(kiln_keras_hand_on_masks(&k));
    *n_out = 1 + k.n_more;
    *out = kiln_array(&cx->common.scratch, kiln_value *, *n_out);
    (*out)[0] = k.out;
    for (size_t i = 0; i < k.n_more; i++)
        (*out)[1 + i] = k.more[i];
    return KILN_OK;
}
