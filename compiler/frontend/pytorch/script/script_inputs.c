/* forward's parameters as inputs of the Graph, and what it gives as outputs.
 *
 * The file says neither shapes nor element types of tensors. Shapes are the caller's; an
 * element type is that of a value the caller gives, or 32-bit float, unless an operator
 * needs another (indices of an embedding): then the run begins again with that. */
#include "compiler/frontend/pytorch/script/script_internal.h"

#include <string.h>

enum { MAX_INPUTS = 64, MAX_OUTPUTS = 1000, MAX_DEPTH = 16 };

/* ---- types of parameters -------------------------------------------------------------- */

static bool is_name(const kiln_script_expr *e, const char *name) {
    return e != NULL && e->kind == KILN_SCRIPT_NAME && kiln_str_is(e->text, name);
}

static bool is_tensor_type(const kiln_script_expr *e) {
    return e == NULL || is_name(e, "Tensor");
}

/* Optional[T] -> T */
static const kiln_script_expr *without_optional(const kiln_script_expr *e) {
    return e != NULL && e->kind == KILN_SCRIPT_INDEX && e->n == 2 &&
                   is_name(e->arg[0], "Optional")
               ? e->arg[1]
               : e;
}

static bool is_list_of_tensors(const kiln_script_expr *e) {
    return e != NULL && e->kind == KILN_SCRIPT_INDEX && e->n == 2 &&
           is_name(e->arg[0], "List") && is_tensor_type(e->arg[1]);
}

static bool is_tuple_of_tensors(const kiln_script_expr *e) {
    if (e == NULL || e->kind != KILN_SCRIPT_INDEX || !is_name(e->arg[0], "Tuple"))
        return false;
    for (size_t i = 1; i < e->n; i++)
        if (!is_tensor_type(e->arg[i]))
            return false;
    return true;
}

/* Does the caller speak of this input, or of a part of it ("x.0")? */
static bool is_spoken_of(const kiln_import_options *o, const char *name) {
    const size_t n = strlen(name);
#define SAID(list, count)                                                              \
    for (size_t i = 0; i < (count); i++)                                               \
        if (strncmp((list)[i].name, name, n) == 0 &&                                   \
            ((list)[i].name[n] == '\0' || (list)[i].name[n] == '.'))                   \
            return true;
    SAID(o->shapes, o->n_shapes)
    SAID(o->values, o->n_values)
    SAID(o->hints, o->n_hints)
#undef SAID
    return false;
}

/* ---- declared inputs ------------------------------------------------------------------- */

typedef KILN_VEC(kiln_declared_input) inputs;

static const kiln_tensor *value_of(const kiln_import_options *o, const char *name) {
    for (size_t i = 0; i < o->n_values; i++)
        if (strcmp(o->values[i].name, name) == 0)
            return &o->values[i].value;
    for (size_t i = 0; i < o->n_hints; i++)
        if (strcmp(o->hints[i].name, name) == 0)
            return &o->hints[i].value;
    return NULL;
}

static kiln_status declare(kiln_script_cx *cx, const char *name, inputs *out) {
    kiln_declared_input in = {
        .name = name, .has_type = true, .dtype = KILN_F32, .rank = -1};
    const kiln_tensor *const given = value_of(cx->options, name);
    const size_t at = out->n;
    if (at >= MAX_INPUTS)
        return kiln_fail(cx->common.err, KILN_ERR_LIMIT,
                         "forward has more than %d tensors", MAX_INPUTS);
    if (given != NULL) {
        in.dtype = given->type.dtype;
        cx->is_input_fixed[at] = true;
    }
    if (cx->is_input_fixed[at] && given == NULL)
        in.dtype = cx->input_dtype[at];
    kiln_vec_push(&cx->common.scratch, out, in);
    return KILN_OK;
}

static const char *part_name(kiln_script_cx *cx, const char *name, size_t i) {
    return kiln_format(cx->kept, "%s.%zu", name, i);
}

/* Parts of a list are as many as the caller speaks of. */
static kiln_status declare_param(kiln_script_cx *cx, const kiln_script_param *p,
                                 inputs *out) {
    const char *const name = kiln_str_dupv(cx->kept, p->name);
    const kiln_script_expr *const type = without_optional(p->type);
    if (p->otherwise != NULL && !is_spoken_of(cx->options, name))
        return KILN_OK;
    if (is_tensor_type(type))
        return declare(cx, name, out);
    if (is_tuple_of_tensors(type)) {
        for (size_t i = 0; i + 1 < type->n; i++)
            KILN_TRY(declare(cx, part_name(cx, name, i), out));
        return KILN_OK;
    }
    if (is_list_of_tensors(type)) {
        size_t n = 0;
        while (n < MAX_INPUTS && is_spoken_of(cx->options, part_name(cx, name, n)))
            n++;
        for (size_t i = 0; i < (n > 0 ? n : 1); i++)
            KILN_TRY(declare(cx, part_name(cx, name, i), out));
        return KILN_OK;
    }
    return kiln_fail(
        cx->common.err, KILN_ERR_UNSUPPORTED,
        "argument '%s' of forward is neither a tensor nor a list or tuple of "
        "tensors; give it a default, or save a traced model",
        kiln_import_show(&cx->common, p->name));
}

kiln_status kiln_script_declared(kiln_script_cx *cx, const kiln_script_function *fn,
                                 kiln_declared_input **out, size_t *n) {
    inputs list = {0};
    if (cx->input_dtype == NULL) {
        cx->input_dtype = kiln_array(cx->kept, kiln_dtype, MAX_INPUTS);
        cx->is_input_fixed = kiln_array(cx->kept, bool, MAX_INPUTS);
    }
    for (size_t i = 1; i < fn->n_params; i++)
        KILN_TRY(declare_param(cx, &fn->param[i], &list));
    *out = list.v;
    *n = list.n;
    return KILN_OK;
}

/* ---- arguments ---------------------------------------------------------------------- */

static void add_arg(kiln_script_args *args, kiln_str name, kiln_script_value v) {
    args->v[args->n] = v;
    args->name[args->n++] = name;
}

/* The tensors of one parameter: itself, or as a list or tuple. */
static void bind_param(kiln_script_cx *cx, const kiln_script_param *p,
                       const kiln_declared_input *in, kiln_value **v, size_t *at,
                       kiln_script_args *out) {
    const kiln_script_expr *const type = without_optional(p->type);
    const size_t n_name = p->name.n;
    if (p->otherwise != NULL &&
        !is_spoken_of(cx->options, kiln_str_dupv(&cx->common.scratch, p->name)))
        return;
    if (is_tensor_type(type)) {
        add_arg(out, p->name, kiln_script_of_tensor(cx, v[(*at)++]));
        return;
    }
    kiln_script_value list = kiln_script_new_list(
        cx, is_list_of_tensors(type) ? KILN_SCRIPT_V_LIST : KILN_SCRIPT_V_TUPLE);
    while (*at < cx->n_inputs && strlen(in[*at].name) > n_name &&
           memcmp(in[*at].name, p->name.p, n_name) == 0 && in[*at].name[n_name] == '.')
        kiln_script_push(cx, &list, kiln_script_of_tensor(cx, v[(*at)++]));
    add_arg(out, p->name, list);
}

kiln_status kiln_script_bind(kiln_script_cx *cx, const kiln_script_function *fn,
                             kiln_script_args *out) {
    kiln_arena *const a = &cx->common.scratch;
    kiln_declared_input *in = NULL;
    size_t at = 0;
    KILN_TRY(kiln_script_declared(cx, fn, &in, &cx->n_inputs));
    cx->input = kiln_array(a, kiln_value *, cx->n_inputs);
    KILN_TRY(kiln_import_bind_inputs(&cx->common, cx->options, in, cx->n_inputs, false,
                                     cx->report, cx->input));
    *out = (kiln_script_args){kiln_array(a, kiln_script_value, fn->n_params),
                              kiln_array(a, kiln_str, fn->n_params), 0};
    for (size_t i = 1; i < fn->n_params; i++)
        bind_param(cx, &fn->param[i], in, cx->input, &at, out);
    return KILN_OK;
}

/* ---- element types ------------------------------------------------------------------- */

/* The input that a value is made of, through operators of one operand that matters. */
static size_t leads_to(const kiln_script_cx *cx, const kiln_value *v) {
    enum { MAX_STEPS = 32 };
    for (int i = 0; i < MAX_STEPS && v->def != NULL && v->def->n_in > 0; i++)
        v = v->def->in[0];
    for (size_t i = 0; i < cx->n_inputs; i++)
        if (cx->input[i] == v)
            return i;
    return cx->n_inputs;
}

kiln_status kiln_script_need_dtype(kiln_script_cx *cx, kiln_value *v,
                                   kiln_dtype dtype) {
    if (!kiln_dtype_is_float(v->type.dtype))
        return KILN_OK;
    const size_t at = leads_to(cx, v);
    if (at == cx->n_inputs || cx->is_input_fixed[at])
        return KILN_OK; /* the operator says what it must be */
    cx->input_dtype[at] = dtype;
    cx->is_input_fixed[at] = true;
    cx->is_again = true;
    return kiln_fail(cx->common.err, KILN_ERR_SHAPE, "an input of another type");
}

/* ---- outputs ------------------------------------------------------------------------- */

static const char *join(kiln_script_cx *cx, const char *path, const char *part) {
    return path[0] == '\0' ? part
                           : kiln_format(&cx->common.scratch, "%s.%s", path, part);
}

static kiln_status add_output(kiln_script_cx *cx, const kiln_script_value *v,
                              const char *path, int depth);

static kiln_status add_item(kiln_script_cx *cx, const kiln_script_value *list, size_t i,
                            const char *path, int depth) {
    kiln_arena *const a = &cx->common.scratch;
    const char *const name =
        list->list->named != NULL && i < list->list->named->member.n
            ? kiln_str_dupv(a, list->list->named->member.v[i].name)
        : path[0] == '\0' ? kiln_format(a, "output%zu", i)
                          : kiln_format(a, "%zu", i);
    return add_output(cx, &list->list->item.v[i], join(cx, path, name), depth + 1);
}

static kiln_status add_output(kiln_script_cx *cx, const kiln_script_value *v,
                              const char *path, int depth) {
    kiln_graph *const g = cx->common.graph;
    kiln_value *t;
    KILN_TRY(kiln_script_spend(cx, 1));
    if (depth > MAX_DEPTH || g->outputs.n >= MAX_OUTPUTS)
        return kiln_fail(cx->common.err, KILN_ERR_LIMIT,
                         "forward gives more than %d tensors, or nested deeper than %d",
                         MAX_OUTPUTS, MAX_DEPTH);
    switch (v->kind) {
    case KILN_SCRIPT_V_TENSOR:
        KILN_TRY(kiln_script_read_tensor(cx, v->tensor, &t));
        KILN_TRY(kiln_aten_settle(&cx->common,
                                  kiln_script_site_of(cx, KILN_STR_LIT("output")), &t));
        kiln_graph_add_output(
            g, t, kiln_str_dup(cx->common.arena, path[0] != '\0' ? path : "output"));
        return KILN_OK;
    case KILN_SCRIPT_V_TUPLE:
    case KILN_SCRIPT_V_LIST:
        for (size_t i = 0; i < v->list->item.n; i++)
            KILN_TRY(add_item(cx, v, i, path, depth));
        return KILN_OK;
    case KILN_SCRIPT_V_DICT:
        for (size_t i = 0; i + 1 < v->list->item.n; i += 2) {
            kiln_buf key;
            kiln_buf_init(&key, &cx->common.scratch);
            kiln_buf_puts(&key, "");
            kiln_script_show(&key, &v->list->item.v[i], 0);
            KILN_TRY(add_output(cx, &v->list->item.v[i + 1],
                                join(cx, path, kiln_buf_str(&key).p), depth + 1));
        }
        return KILN_OK;
    case KILN_SCRIPT_V_UNSET:
    case KILN_SCRIPT_V_NONE:
    case KILN_SCRIPT_V_BOOL:
    case KILN_SCRIPT_V_INT:
    case KILN_SCRIPT_V_FLOAT:
    case KILN_SCRIPT_V_TEXT:
    case KILN_SCRIPT_V_DEVICE:
    case KILN_SCRIPT_V_OBJECT:
    case KILN_SCRIPT_V_NAME:
        break; /* no tensors: nothing to compute */
    }
    return KILN_OK;
}

kiln_status kiln_script_add_outputs(kiln_script_cx *cx, const kiln_script_value *v) {
    KILN_TRY(add_output(cx, v, "", 0));
    if (cx->common.graph->outputs.n > 0) {
        kiln_import_add_counts(&cx->common, cx->common.graph);
        return KILN_OK;
    }
    return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                     "forward gives no tensor for these inputs");
}
