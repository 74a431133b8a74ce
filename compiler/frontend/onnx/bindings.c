/* Graph inputs: their types as the file declares them, dynamic dimensions as the caller
 * binds them. A symbolic dimension ("batch") that is bound once is bound everywhere.
 * Source: ONNX IR, "Static tensor shapes". */
#include "compiler/frontend/onnx/import_core.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_SYMBOL = 120 }; /* bytes shown of a symbolic dimension's name */

/* What a symbolic dimension is, and which input said so. */
typedef struct bound_dim {
    int64_t size;
    kiln_str input;
} bound_dim;

static bool is_initializer(const kiln_onnx_cx *cx, kiln_str name) {
    return kiln_map_has(&cx->scope->tensors, name);
}

static const kiln_tensor *find_value(const kiln_value_binding *v, size_t n,
                                     kiln_str name) {
    for (size_t i = 0; i < n; i++)
        if (kiln_str_is(name, v[i].name))
            return &v[i].value;
    return NULL;
}

static const kiln_shape_binding *find_shape(const kiln_import_options *o,
                                            kiln_str name) {
    for (size_t i = 0; i < o->n_shapes; i++)
        if (kiln_str_is(name, o->shapes[i].name))
            return &o->shapes[i];
    return NULL;
}

static bool is_static(const kiln_onnx_dim *d) { return d->has_value && d->value >= 0; }

/* "[batch,3,?,?]": the declared shape, for messages; in scratch. */
static const char *declared_text(kiln_onnx_cx *cx, const kiln_onnx_value_info *vi) {
    if (!vi->has_shape)
        return "of any rank";
    kiln_buf b;
    kiln_buf_init(&b, &cx->common.scratch);
    kiln_buf_puts(&b, "[");
    for (size_t i = 0; i < vi->n_dims && i < KILN_MAX_RANK; i++) {
        const kiln_onnx_dim *const d = &vi->dims[i];
        kiln_buf_puts(&b, i == 0 ? "" : ",");
        if (is_static(d))
            kiln_buf_printf(&b, "%" PRId64, d->value);
        else
            kiln_buf_puts(&b, d->param.n > 0 ? kiln_onnx_show(cx, d->param) : "?");
    }
    kiln_buf_puts(&b, "]");
    return kiln_buf_str(&b).p;
}

/* What kinds of values are no tensors, in ONNX's words. */
static const char *kind_of(const kiln_onnx_value_info *vi) {
    return vi->has_sequence_type   ? "a sequence"
           : vi->has_map_type      ? "a map"
           : vi->has_sparse_type   ? "a sparse tensor"
           : vi->has_optional_type ? "an optional"
                                   : "of no type";
}

static kiln_status check_declared(kiln_onnx_cx *cx, const kiln_onnx_value_info *vi,
                                  kiln_dtype *dtype) {
    if (!vi->has_tensor_type)
        return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                              "it must be a tensor, is %s; kiln has values of no other "
                              "kind",
                              kind_of(vi));
    if (vi->has_shape && vi->n_dims > KILN_MAX_RANK)
        return kiln_onnx_fail(cx, KILN_ERR_LIMIT, "rank must be at most %d, is %zu",
                              KILN_MAX_RANK, vi->n_dims);
    return kiln_onnx_dtype(vi->elem_type, dtype, cx->common.err);
}

/* ---- binding --------------------------------------------------------------------- */

/* One caller's shape against the declared one; symbolic dimensions are remembered. */
static kiln_status bind_dims(kiln_onnx_cx *cx, const kiln_onnx_value_info *vi, int rank,
                             const int64_t *dim) {
    const char *const given = kiln_shape_text(&cx->common.scratch, rank, dim);
    if (!vi->has_shape)
        return KILN_OK;
    if (vi->n_dims != (size_t)rank)
        return kiln_onnx_fail(
            cx, KILN_ERR_SHAPE,
            "its shape is declared as %s, but %s is given; ranks must "
            "be equal",
            declared_text(cx, vi), given);
    for (int i = 0; i < rank; i++) {
        const kiln_onnx_dim *const d = &vi->dims[i];
        if (is_static(d) && d->value != dim[i])
            return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                                  "its shape is declared as %s, but %s is given; only "
                                  "dynamic dimensions can be bound",
                                  declared_text(cx, vi), given);
        if (is_static(d) || d->param.n == 0)
            continue;
        bound_dim *const known = kiln_map_get(&cx->dim_params, d->param);
        if (known != NULL && known->size != dim[i])
            return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                                  "dimension '%s' is %" PRId64 " here, but %" PRId64
                                  " for input '%s'",
                                  kiln_onnx_show(cx, d->param), dim[i], known->size,
                                  kiln_onnx_show(cx, known->input));
        if (known != NULL)
            continue;
        bound_dim *const b = kiln_new(&cx->common.scratch, bound_dim);
        *b = (bound_dim){dim[i], vi->name};
        kiln_map_set(&cx->common.scratch, &cx->dim_params, d->param, b);
    }
    return KILN_OK;
}

/* The shape that the caller gives for an input, by shape, value or hint. */
static bool given_shape(const kiln_onnx_cx *cx, kiln_str name, int *rank,
                        const int64_t **dim) {
    const kiln_import_options *const o = cx->options;
    const kiln_shape_binding *const s = find_shape(o, name);
    const kiln_tensor *t = find_value(o->values, o->n_values, name);
    if (t == NULL)
        t = find_value(o->hints, o->n_hints, name);
    if (s != NULL) {
        *rank = s->rank;
        *dim = s->dim;
    } else if (t != NULL) {
        *rank = t->type.rank;
        *dim = t->type.dim;
    }
    return s != NULL || t != NULL;
}

/* False: a dimension is not bound. */
static bool resolve(const kiln_onnx_cx *cx, const kiln_onnx_value_info *vi, int *rank,
                    int64_t *dim) {
    const int64_t *given;
    if (given_shape(cx, vi->name, rank, &given)) {
        memcpy(dim, given, (size_t)*rank * sizeof *dim);
        return true;
    }
    if (!vi->has_shape)
        return false;
    *rank = (int)vi->n_dims;
    for (size_t i = 0; i < vi->n_dims; i++) {
        const kiln_onnx_dim *const d = &vi->dims[i];
        const bound_dim *const b = kiln_map_get(&cx->dim_params, d->param);
        if (!is_static(d) && (d->param.n == 0 || b == NULL))
            return false;
        dim[i] = is_static(d) ? d->value : b->size;
    }
    return true;
}

typedef struct unbound {
    kiln_buf names, remedy;
    kiln_map guesses; /* symbolic dimension -> plausible size */
    size_t n;
} unbound;

/* A plausible size where the file says none: the same for the same symbolic name. */
static int64_t guess_dim(kiln_onnx_cx *cx, unbound *u, const kiln_onnx_dim *d,
                         size_t axis, size_t rank) {
    const uintptr_t guess = axis == 0 ? 1 : rank == 4 ? 224 : 16;
    if (is_static(d))
        return d->value;
    const uintptr_t known = (uintptr_t)kiln_map_get(&u->guesses, d->param);
    if (known != 0)
        return (int64_t)known;
    if (d->param.n > 0)
        kiln_map_set(&cx->common.scratch, &u->guesses, d->param, (void *)guess);
    return (int64_t)guess;
}

/* "--shape x:1x3x224x224" */
static void add_remedy(kiln_onnx_cx *cx, unbound *u, const kiln_onnx_value_info *vi) {
    kiln_buf *const b = &u->remedy;
    kiln_buf_printf(b, " --shape %s:%s", kiln_onnx_show(cx, vi->name),
                    vi->has_shape ? "" : "1");
    for (size_t i = 0; vi->has_shape && i < vi->n_dims; i++)
        kiln_buf_printf(b, "%s%" PRId64, i == 0 ? "" : "x",
                        guess_dim(cx, u, &vi->dims[i], i, vi->n_dims));
}

static void add_unbound(kiln_onnx_cx *cx, unbound *u, const kiln_onnx_value_info *vi) {
    kiln_buf_printf(&u->names, "%s '%s' %s", u->n == 0 ? "" : ",",
                    kiln_onnx_show(cx, vi->name), declared_text(cx, vi));
    add_remedy(cx, u, vi);
    u->n++;
}

static kiln_status make_input(kiln_onnx_cx *cx, const kiln_onnx_value_info *vi,
                              const kiln_type *type) {
    const kiln_import_options *const o = cx->options;
    kiln_onnx_scope *const s = cx->scope;
    const char *const name = kiln_onnx_prefixed(cx, "", vi->name);
    const kiln_tensor *const given = find_value(o->values, o->n_values, vi->name);
    const kiln_tensor *const hint = find_value(o->hints, o->n_hints, vi->name);
    kiln_tensor bound, *const fixed = given != NULL ? &bound : NULL;
    if (given != NULL) {
        bound = *given;
        KILN_TRY(kiln_tensor_from_bytes(&bound, type->dtype, cx->common.err));
    }
    const kiln_tensor *const value = fixed != NULL ? fixed : hint;
    if (value != NULL && !kiln_type_eq(&value->type, type))
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE, "it is %s, but the value given is %s",
                              kiln_type_text(&cx->common.scratch, type),
                              kiln_type_text(&cx->common.scratch, &value->type));
    kiln_value *v;
    if (fixed != NULL) {
        v = kiln_graph_add_const(s->g, name, type, fixed->data);
    } else {
        v = kiln_graph_add_input(s->g, name, type);
        if (hint != NULL) {
            kiln_vec_push(&cx->common.scratch, &cx->common.hinted, v);
            kiln_vec_push(&cx->common.scratch, &cx->common.hints, hint);
        }
    }
    kiln_map_set(&cx->common.scratch, &s->values, vi->name, v);
    return KILN_OK;
}

static kiln_status bind_one(kiln_onnx_cx *cx, const kiln_onnx_value_info *vi,
                            unbound *u) {
    kiln_dtype dtype;
    int rank;
    int64_t dim[KILN_MAX_RANK];
    KILN_TRY(check_declared(cx, vi, &dtype));
    if (!resolve(cx, vi, &rank, dim)) {
        add_unbound(cx, u, vi);
        return KILN_OK;
    }
    const kiln_type type = kiln_type_make(dtype, rank, dim);
    KILN_TRY(kiln_type_check(&type, cx->common.err));
    return make_input(cx, vi, &type);
}

/* Names that the caller binds must be inputs. */
static kiln_status check_name(kiln_onnx_cx *cx, const char *name, const char *flag) {
    const kiln_onnx_graph *const g = cx->model->graph;
    kiln_buf b;
    kiln_buf_init(&b, &cx->common.scratch);
    for (size_t i = 0; i < g->n_input; i++) {
        if (is_initializer(cx, g->input[i].name))
            continue;
        if (kiln_str_is(g->input[i].name, name))
            return KILN_OK;
        kiln_buf_printf(&b, " '%s'", kiln_onnx_show(cx, g->input[i].name));
    }
    return kiln_onnx_fail(cx, KILN_ERR_ARG,
                          "%s names '%s', which is no graph input; the inputs are:%s",
                          flag, name, b.n == 0 ? " none" : kiln_buf_str(&b).p);
}

static kiln_status check_names(kiln_onnx_cx *cx) {
    const kiln_import_options *const o = cx->options;
    for (size_t i = 0; i < o->n_shapes; i++)
        KILN_TRY(check_name(cx, o->shapes[i].name, "--shape"));
    for (size_t i = 0; i < o->n_values; i++)
        KILN_TRY(check_name(cx, o->values[i].name, "--bind"));
    return KILN_OK;
}

static kiln_status check_input_names(kiln_onnx_cx *cx) {
    const kiln_onnx_graph *const g = cx->model->graph;
    kiln_map seen = {0};
    for (size_t i = 0; i < g->n_input; i++) {
        if (g->input[i].name.n == 0)
            return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                                  "graph input #%zu must have a name", i);
        if (!kiln_map_set(&cx->common.scratch, &seen, g->input[i].name, NULL))
            return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                                  "graph input '%s' is given twice; give one of them "
                                  "another name",
                                  kiln_onnx_show(cx, g->input[i].name));
    }
    return KILN_OK;
}

static kiln_status bind_given(kiln_onnx_cx *cx, const kiln_onnx_value_info *vi) {
    int rank;
    const int64_t *dim;
    if (!given_shape(cx, vi->name, &rank, &dim))
        return KILN_OK;
    return bind_dims(cx, vi, rank, dim);
}

kiln_status kiln_onnx_bind_inputs(kiln_onnx_cx *cx) {
    const kiln_onnx_graph *const g = cx->model->graph;
    unbound u = {.n = 0};
    kiln_buf_init(&u.names, &cx->common.scratch);
    kiln_buf_init(&u.remedy, &cx->common.scratch);
    KILN_TRY(check_input_names(cx));
    KILN_TRY(check_names(cx));
    for (int pass = 0; pass < 2; pass++) /* all symbolic names first, then their uses */
        for (size_t i = 0; i < g->n_input; i++) {
            const kiln_onnx_value_info *const vi = &g->input[i];
            if (is_initializer(cx, vi->name))
                continue;
            const kiln_status st =
                pass == 0 ? bind_given(cx, vi) : bind_one(cx, vi, &u);
            if (st != KILN_OK) {
                kiln_note(cx->common.err, "binding graph input '%s'",
                          kiln_onnx_show(cx, vi->name));
                return st;
            }
        }
    cx->report->n_unbound = u.n;
    if (u.n > 0)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "shapes must be known, but %zu graph input%s dynamic:%s; "
                              "bind them, for example%s ('kiln inspect' tries which "
                              "sizes fit)",
                              u.n, u.n == 1 ? " is" : "s are", kiln_buf_str(&u.names).p,
                              kiln_buf_str(&u.remedy).p);
    return KILN_OK;
}

/* ---- outputs --------------------------------------------------------------------- */

kiln_status kiln_onnx_check_output(kiln_onnx_cx *cx, const kiln_onnx_value_info *vi,
                                   const kiln_value *v) {
    if (!vi->has_type)
        return KILN_OK; /* exporters of subgraphs leave it out */
    kiln_dtype dtype;
    KILN_TRY(check_declared(cx, vi, &dtype));
    bool ok = dtype == v->type.dtype &&
              (!vi->has_shape || vi->n_dims == (size_t)v->type.rank);
    for (int i = 0; ok && vi->has_shape && i < v->type.rank; i++) {
        const kiln_onnx_dim *const d = &vi->dims[i];
        /* A bounded axis has at most the inferred size. */
        const bool is_bounded = v->count != NULL && v->bounded_axis == i;
        ok = !is_static(d) || d->value == v->type.dim[i] || is_bounded;
    }
    if (ok)
        return KILN_OK;
    return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                          "the file declares it as %s%s, but its nodes make %s; is the "
                          "declaration stale, or a node damaged?",
                          kiln_dtype_name(dtype), declared_text(cx, vi),
                          kiln_type_text(&cx->common.scratch, &v->type));
}

/* ---- listing --------------------------------------------------------------------- */

void kiln_onnx_declare(kiln_arena *a, const kiln_onnx_value_info *vi,
                       kiln_declared_input *d) {
    *d = (kiln_declared_input){.name = kiln_str_dupv(a, vi->name), .rank = -1};
    d->has_type = vi->has_tensor_type &&
                  kiln_onnx_dtype(vi->elem_type, &d->dtype, NULL) == KILN_OK;
    char buf[32];
    if (!vi->has_tensor_type)
        d->what = kind_of(vi);
    else if (!d->has_type)
        d->what =
            kiln_format(a, "a tensor of %s", kiln_onnx_type_name(vi->elem_type, buf));
    if (!vi->has_shape || vi->n_dims > KILN_MAX_RANK)
        return;
    d->rank = (int)vi->n_dims;
    for (size_t i = 0; i < vi->n_dims; i++) {
        const kiln_onnx_dim *const dim = &vi->dims[i];
        d->dim[i] = is_static(dim) ? dim->value : -1;
        if (!is_static(dim) && dim->param.n > 0)
            d->symbol[i] = kiln_str_printable(a, dim->param, MAX_SYMBOL);
    }
}

kiln_status kiln_onnx_list_inputs(kiln_arena *a, kiln_str bytes, const char *path,
                                  kiln_declared_input **out, size_t *n, kiln_err *err) {
    (void)path;
    kiln_onnx_model m;
    KILN_TRY(kiln_onnx_decode_model(a, bytes, &m, err));
    kiln_map weights = {0};
    for (size_t i = 0; i < m.graph->n_initializer; i++)
        kiln_map_set(a, &weights, m.graph->initializer[i].name, NULL);
    kiln_declared_input *const list =
        kiln_array(a, kiln_declared_input, m.graph->n_input);
    size_t count = 0;
    for (size_t i = 0; i < m.graph->n_input; i++)
        if (!kiln_map_has(&weights, m.graph->input[i].name))
            kiln_onnx_declare(a, &m.graph->input[i], &list[count++]);
    *out = list;
    *n = count;
    return KILN_OK;
}
