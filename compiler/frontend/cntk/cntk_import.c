/* Import of a CNTK model: variables, functions after what they read, what the root
 * gives. */
#include "compiler/frontend/cntk/cntk_internal.h"
#include "compiler/frontend/frontend_internal.h"

#include <inttypes.h>
#include <string.h>

static const kiln_cntk_row rows[] = {
#define KILN_CNTK(number, op, importer, emits, n_in)                                   \
    {number, op, kiln_cntk_import_##importer, emits, n_in},
#define KILN_CNTK_REFUSED(number, op) {number, op, NULL, NULL, 0},
#include "compiler/frontend/cntk/cntk_ops.def"
#undef KILN_CNTK_REFUSED
#undef KILN_CNTK
};

const kiln_cntk_row *kiln_cntk_find(uint64_t op) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (op == rows[i].number)
            return &rows[i];
    return NULL;
}

const char *kiln_cntk_op_name(kiln_arena *a, uint64_t op) {
    const kiln_cntk_row *const row = kiln_cntk_find(op);
    return row != NULL ? row->op : kiln_format(a, "function %" PRIu64, op);
}

/* ---- names ----------------------------------------------------------------------- */

static const char *show(kiln_cntk_cx *cx, kiln_str name) {
    return kiln_import_show(&cx->common, name);
}

static const char *node_name(kiln_import_cx *cx, const void *site) {
    const kiln_cntk_function *const f = site;
    return f == NULL ? "input" : kiln_str_dupv(&cx->scratch, f->name);
}

static const char *out_name(kiln_import_cx *cx, const void *site, int i) {
    (void)i;
    return node_name(cx, site);
}

static const kiln_import_format format = {.node_name = node_name, .out_name = out_name};

const char *kiln_cntk_shape_text(kiln_cntk_cx *cx, const kiln_cntk_value *x) {
    return kiln_shape_text(&cx->common.scratch, kiln_cntk_rank(x), kiln_cntk_dim(x));
}

/* ---- for importers --------------------------------------------------------------- */

kiln_value *kiln_cntk_reshape(kiln_compose *c, const kiln_cntk_value *x, int rank,
                              const int64_t *dim) {
    KILN_ASSERT(rank >= 0, "a reshape to %d axes", rank);
    int64_t all[KILN_MAX_RANK + 1];
    int n = 0;
    if (x->has_batch)
        all[n++] = x->v->type.dim[0];
    if (n + rank > KILN_MAX_RANK) {
        kiln_compose_fail(c, kiln_fail(c->cx->err, KILN_ERR_LIMIT,
                                       "it makes %d axes, at most %d are read",
                                       n + rank, KILN_MAX_RANK));
        return x->v;
    }
    for (int i = 0; i < rank; i++)
        all[n++] = dim[i];
    return kiln_compose_reshape(c, x->v, n, all);
}

kiln_value *kiln_cntk_widen(kiln_compose *c, const kiln_cntk_value *x, int rank) {
    const int own = kiln_cntk_rank(x);
    int64_t dim[KILN_MAX_RANK];
    if (!x->has_batch || own >= rank)
        return x->v; /* without a batch, missing axes are in front in a Graph too */
    for (int i = 0; i < rank; i++)
        dim[i] = i < rank - own ? 1 : kiln_cntk_dim(x)[i - (rank - own)];
    return kiln_cntk_reshape(c, x, rank, dim);
}

/* ---- variables ------------------------------------------------------------------- */

static kiln_status constant_of(kiln_cntk_cx *cx, const kiln_cntk_variable *v,
                               kiln_value **out) {
    enum { DENSE = 0 };
    const kiln_cntk_array *const t = v->array;
    int rank;
    int64_t dim[KILN_MAX_RANK];
    kiln_dtype dtype;
    if (!kiln_cntk_dtype(t->dtype, &dtype) || t->storage != DENSE)
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "its value must be dense, of 16, 32 or 64 bit floats");
    KILN_TRY(kiln_cntk_turn_shape(t->shape, &rank, dim, cx->common.err));
    for (int i = 0; i < rank; i++)
        if (dim[i] < 0)
            return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                             "its value has an axis of no size");
    const kiln_type type = kiln_type_make(dtype, rank, dim);
    const kiln_str from = dtype == KILN_F32   ? t->f32
                          : dtype == KILN_F64 ? t->f64
                                              : t->bytes;
    KILN_TRY(kiln_type_check(&type, cx->common.err));
    if ((uint64_t)kiln_type_bytes(&type) != from.n)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "its value has %zu bytes, which is not %s", from.n,
                         kiln_shape_text(&cx->common.scratch, rank, dim));
    *out =
        kiln_graph_add_const(cx->common.graph, kiln_str_dupv(cx->common.arena, v->name),
                             &type, from.n > 0 ? from.p : "");
    return KILN_OK;
}

static void keep(kiln_cntk_cx *cx, const kiln_cntk_variable *v, kiln_value *made) {
    kiln_cntk_value *const to = kiln_new(&cx->common.scratch, kiln_cntk_value);
    *to = (kiln_cntk_value){made, v->has_batch};
    kiln_map_set(&cx->common.scratch, &cx->values, v->uid, to);
}

static kiln_status add_constants(kiln_cntk_cx *cx) {
    for (size_t i = 0; i < cx->model.n_variable; i++) {
        const kiln_cntk_variable *const v = &cx->model.variable[i];
        kiln_value *made = NULL;
        if (v->role != KILN_CNTK_PARAMETER && v->role != KILN_CNTK_CONSTANT)
            continue;
        const kiln_status st = constant_of(cx, v, &made);
        if (st != KILN_OK) {
            kiln_note(cx->common.err, "reading variable '%s'", show(cx, v->name));
            return st;
        }
        keep(cx, v, made);
    }
    return KILN_OK;
}

/* The batch may be any, and what the file leaves open. */
static bool may_have(const void *user, size_t i, int rank, const int64_t *dim) {
    const kiln_cntk_cx *const cx = user;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_declared_input d;
    bool ok = false;
    for (size_t k = 0; k < cx->model.n_variable; k++) {
        const kiln_cntk_variable *const v = &cx->model.variable[k];
        if (v->role != KILN_CNTK_INPUT || i-- > 0)
            continue;
        ok = kiln_cntk_declare(&a, v, &d, &err) == KILN_OK && d.rank == rank;
        for (int j = 0; ok && j < rank; j++)
            ok = (j == 0 && v->has_batch) || d.dim[j] < 0 || d.dim[j] == dim[j];
        break;
    }
    kiln_arena_fini(&a);
    return ok;
}

static kiln_status add_inputs(kiln_cntk_cx *cx) {
    const kiln_cntk_model *const m = &cx->model;
    const kiln_input_rules rules = {
        .may_have = may_have,
        .user = cx,
        .remedy = "only the batch in front and what the file leaves open may differ"};
    kiln_declared_input *const in =
        kiln_array(&cx->common.scratch, kiln_declared_input, m->n_variable);
    kiln_value **const v = kiln_array(&cx->common.scratch, kiln_value *, m->n_variable);
    size_t n = 0, at = 0;
    for (size_t i = 0; i < m->n_variable; i++) {
        if (m->variable[i].role != KILN_CNTK_INPUT)
            continue;
        KILN_TRY(kiln_cntk_declare(cx->common.arena, &m->variable[i], &in[n],
                                   cx->common.err));
        if (!in[n++].has_type)
            return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                             "input '%s' is of no float type",
                             show(cx, m->variable[i].name));
    }
    KILN_TRY(
        kiln_import_bind_by(&cx->common, cx->options, in, n, &rules, cx->report, v));
    for (size_t i = 0; i < m->n_variable; i++)
        if (m->variable[i].role == KILN_CNTK_INPUT)
            keep(cx, &m->variable[i], v[at++]);
    return KILN_OK;
}

/* ---- functions ------------------------------------------------------------------- */

static kiln_status value_of(kiln_cntk_cx *cx, kiln_str uid, kiln_cntk_value *out) {
    kiln_cntk_source from;
    KILN_TRY(kiln_cntk_resolve(&cx->model, uid, &from, cx->common.err));
    if (from.function != NULL) {
        *out = cx->made[from.function->index];
        KILN_ASSERT(out->v != NULL, "function %zu is read before it is there",
                    from.function->index);
        return KILN_OK;
    }
    const kiln_cntk_value *const known = kiln_map_get(&cx->values, from.variable->uid);
    if (known == NULL)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "placeholder '%s' stands for nothing; replace it before the "
                         "model is saved",
                         show(cx, from.variable->name));
    *out = *known;
    return KILN_OK;
}

static kiln_status run_importer(kiln_cntk_cx *cx, const kiln_cntk_function *f) {
    kiln_cntk_value *const out = &cx->made[f->index];
    if (f->n_in < cx->row->n_in)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "it must have %zu inputs at least, has %zu", cx->row->n_in,
                         f->n_in);
    kiln_cntk_value *const in =
        kiln_array(&cx->common.scratch, kiln_cntk_value, f->n_in + 1);
    for (size_t i = 0; i < f->n_in; i++) {
        KILN_TRY(value_of(cx, f->in[i], &in[i]));
        out->has_batch = out->has_batch || in[i].has_batch;
    }
    cx->attr_err = (kiln_err){0};
    const kiln_status st = cx->row->import(cx, f, in, out);
    if (cx->attr_err.status != KILN_OK) {
        *cx->common.err = cx->attr_err; /* the cause of what came after */
        return cx->attr_err.status;
    }
    KILN_ASSERT(st != KILN_OK || out->v != NULL, "the importer of '%s' made nothing",
                cx->row->op);
    return st;
}

static kiln_status import_function(kiln_cntk_cx *cx, const kiln_cntk_function *f) {
    cx->row = kiln_cntk_find(f->op);
    KILN_ASSERT(cx->row != NULL && cx->row->import != NULL,
                "check_support let a function pass");
    kiln_status st = run_importer(cx, f);
    if (st == KILN_ERR_ARG) /* a call that the file asked for: nobody else's fault */
        st = cx->common.err->status = KILN_ERR_PARSE;
    if (st != KILN_OK)
        kiln_note(cx->common.err, "importing function '%s' (%s)", show(cx, f->name),
                  cx->row->op);
    cx->report->n_imported += st == KILN_OK;
    return st;
}

/* Functions that are read, each after what it reads: depth first, with a stack of our
 * own, for chains are long. */
typedef struct step {
    size_t function, next; /* next input */
} step;

typedef struct ordering {
    kiln_cntk_cx *cx;
    KILN_VEC(step) stack;
    KILN_VEC(size_t) order;
    enum { UNSEEN, OPEN, DONE } * state; /* by function */
} ordering;

static kiln_status enter(ordering *o, kiln_str uid) {
    kiln_cntk_cx *const cx = o->cx;
    kiln_cntk_source from;
    KILN_TRY(kiln_cntk_resolve(&cx->model, uid, &from, cx->common.err));
    if (from.function == NULL || o->state[from.function->index] == DONE)
        return KILN_OK;
    const size_t at = from.function->index;
    if (o->state[at] == OPEN)
        return kiln_fail(
            cx->common.err, KILN_ERR_UNSUPPORTED,
            "function '%s' reads what follows from it: recurrences "
            "(PastValue, FutureValue) are not read; save the model by CNTK "
            "as ONNX, or one step of it",
            show(cx, from.function->name));
    o->state[at] = OPEN;
    const step s = {at, 0};
    kiln_vec_push(&cx->common.scratch, &o->stack, s);
    return KILN_OK;
}

static kiln_status order_from(ordering *o, kiln_str uid) {
    KILN_TRY(enter(o, uid));
    while (o->stack.n > 0) {
        step *const top = &o->stack.v[o->stack.n - 1];
        const kiln_cntk_function *const f = &o->cx->model.function[top->function];
        if (top->next < f->n_in) {
            KILN_TRY(enter(o, f->in[top->next++]));
            continue;
        }
        o->state[top->function] = DONE;
        kiln_vec_push(&o->cx->common.scratch, &o->order, top->function);
        o->stack.n--;
    }
    return KILN_OK;
}

static kiln_status check_support(kiln_cntk_cx *cx, const ordering *o) {
    for (size_t i = 0; i < o->order.n; i++) {
        const kiln_cntk_function *const f = &cx->model.function[o->order.v[i]];
        const kiln_cntk_row *const row = kiln_cntk_find(f->op);
        if (row == NULL || row->import == NULL)
            kiln_import_add_unread(&cx->common, cx->report,
                                   kiln_cntk_op_name(cx->common.arena, f->op),
                                   show(cx, f->name));
    }
    return kiln_import_check_unread(
        &cx->common, cx->report, "function",
        "save what comes before them (a model without its loss: z.save(...)), or save "
        "it by CNTK as ONNX");
}

/* ---- the model ------------------------------------------------------------------- */

static kiln_status add_outputs(kiln_cntk_cx *cx, const kiln_str *root, size_t n) {
    kiln_map seen = {0};
    for (size_t i = 0; i < n; i++) {
        kiln_cntk_source from;
        kiln_cntk_value v;
        KILN_TRY(kiln_cntk_resolve(&cx->model, root[i], &from, cx->common.err));
        KILN_TRY(value_of(cx, root[i], &v));
        kiln_str name =
            from.function != NULL ? from.function->name : from.variable->name;
        if (!kiln_map_set(&cx->common.scratch, &seen, name, cx))
            name = root[i];
        kiln_graph_add_output(cx->common.graph, v.v,
                              kiln_str_dupv(cx->common.arena, name));
    }
    return KILN_OK;
}

static kiln_status import_model(kiln_cntk_cx *cx, kiln_str bytes, kiln_graph **out) {
    kiln_arena *const scratch = &cx->common.scratch;
    kiln_str *root;
    size_t n_root;
    /* Numbers that do not lie aligned in the file are copied where the Graph lives. */
    KILN_TRY(kiln_cntk_read_model(cx->common.arena, bytes, &cx->model, cx->common.err));
    KILN_TRY(kiln_cntk_roots(scratch, &cx->model, &root, &n_root, cx->common.err));
    ordering o = {.cx = cx};
    o.state = kiln_arena_alloc(scratch, cx->model.n_function * sizeof *o.state + 1);
    memset(o.state, 0, cx->model.n_function * sizeof *o.state);
    for (size_t i = 0; i < n_root; i++)
        KILN_TRY(order_from(&o, root[i]));
    KILN_TRY(check_support(cx, &o));
    cx->common.graph = kiln_graph_new(cx->common.arena, "cntk");
    cx->made = kiln_array(scratch, kiln_cntk_value, cx->model.n_function);
    KILN_TRY(add_inputs(cx));
    KILN_TRY(add_constants(cx));
    for (size_t i = 0; i < o.order.n; i++)
        KILN_TRY(import_function(cx, &cx->model.function[o.order.v[i]]));
    KILN_TRY(add_outputs(cx, root, n_root));
    cx->common.graph->facts |= KILN_TYPED;
    *out = cx->common.graph;
    return KILN_OK;
}

static kiln_status import(kiln_arena *a, kiln_str bytes, const char *name,
                          const char *dir, const kiln_import_options *o,
                          kiln_graph **out, kiln_import_report *report, kiln_err *err) {
    static const kiln_import_options none = {0};
    kiln_import_report unused = {0};
    kiln_err own = {0};
    (void)dir;
    report = report != NULL ? report : &unused;
    err = err != NULL ? err : &own;
    *report = (kiln_import_report){.format = "cntk", .producer = ""};
    kiln_cntk_cx cx = {.options = o == NULL ? &none : o, .report = report};
    kiln_import_begin(&cx.common, &format, a, err);
    const kiln_status st = import_model(&cx, bytes, out);
    if (st != KILN_OK)
        kiln_note(err, "importing '%s'", name);
    kiln_import_make_printable(err);
    kiln_import_end(&cx.common);
    return st;
}

static const char *const extensions[] = {".model", ".dnn", ".cntkmodel", NULL};

const kiln_frontend kiln_frontend_cntk = {
    .name = "cntk",
    .doc = "CNTK 2 models, without recurrences",
    .extensions = extensions,
    .sniff = kiln_cntk_is_model,
    .import = import,
    .list_inputs = kiln_cntk_list_inputs,
    .survey = kiln_cntk_survey,
};
