/* One NodeProto after the other. Source: onnx.proto (NodeProto, AttributeProto). */
#include "compiler/export/onnx/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    ATTR_FLOAT = 1,
    ATTR_INT,
    ATTR_STRING,
    ATTR_GRAPH = 5,
    ATTR_FLOATS,
    ATTR_INTS,
    ATTR_STRINGS
};

/* ---- what the node has ----------------------------------------------------------- */

bool kiln_say_has_in(kiln_say *s, int i) {
    return i < s->node->n_in && s->node->in[i] != NULL;
}

const char *kiln_say_in(kiln_say *s, int i) {
    if (!kiln_say_has_in(s, i))
        return "";
    const char *const name = s->scope->name[s->node->in[i]->id];
    KILN_ASSERT(name != NULL, "value '%s' has no name yet", s->node->in[i]->name);
    return name;
}

const char *kiln_say_out(kiln_say *s, int i) {
    KILN_ASSERT(i < s->node->n_out, "output %d of '%s'", i, s->node->name);
    return s->scope->name[s->node->out[i]->id];
}

const kiln_type *kiln_say_in_type(kiln_say *s, int i) {
    KILN_ASSERT(kiln_say_has_in(s, i), "input %d of '%s'", i, s->node->name);
    return &s->node->in[i]->type;
}

const kiln_attr *kiln_say_attr(kiln_say *s, const char *name) {
    return kiln_node_attr(s->node, name);
}

const char *kiln_say_word(kiln_say *s, const char *name) {
    const kiln_op_def *op = s->node->op;
    for (size_t i = 0; i < op->n_attr; i++)
        if (strcmp(op->attr[i].name, name) == 0)
            return op->attr[i].choices[s->node->attr[i].i];
    KILN_ASSERT(false, "operator '%s' has no attribute '%s'", op->name, name);
    return "";
}

const char *kiln_say_temp(kiln_say *s, const char *what) {
    const char *const of = s->node != NULL ? s->node->name : "value";
    return kiln_say_fresh(s, kiln_format(s->arena, "%s/%s", of, what));
}

void kiln_say_needs(kiln_say *s, int64_t opset) {
    KILN_ASSERT(opset <= KILN_SAY_MAX_OPSET, "opset %d is not written", (int)opset);
    if (opset > s->opset)
        s->opset = opset;
}

/* ---- writing --------------------------------------------------------------------- */

void kiln_say_begin(kiln_say *s, const char *op, int64_t opset) {
    KILN_ASSERT(s->op == NULL, "'%s' begins inside of '%s'", op, s->op);
    kiln_buf_init(&s->in_out, s->arena);
    kiln_buf_init(&s->attrs, s->arena);
    s->op = op;
    kiln_say_needs(s, opset);
}

void kiln_say_take(kiln_say *s, const char *value) {
    kiln_pb_put_text(&s->in_out, 1, value);
}

void kiln_say_give(kiln_say *s, const char *value) {
    kiln_pb_put_text(&s->in_out, 2, value);
}

static kiln_buf begin_attr(kiln_say *s, const char *name) {
    kiln_buf b;
    kiln_buf_init(&b, s->arena);
    kiln_pb_put_text(&b, 1, name);
    return b;
}

static void end_attr(kiln_say *s, kiln_buf *b, int type) {
    kiln_pb_put_int(b, 20, type);
    kiln_pb_put_bytes(&s->attrs, 5, kiln_buf_str(b));
}

void kiln_say_int(kiln_say *s, const char *name, int64_t v) {
    kiln_buf b = begin_attr(s, name);
    kiln_pb_put_int(&b, 3, v);
    end_attr(s, &b, ATTR_INT);
}

/* Attributes are f32. What f32 does not hold changes results of f64, and of integers:
 * of all others by less than they are rounded by. */
static float narrow(kiln_say *s, const char *name, double v) {
    const float f = (float)v;
    if ((double)f != v && v == v)
        s->lost = name;
    return f;
}

void kiln_say_float(kiln_say *s, const char *name, double v) {
    kiln_buf b = begin_attr(s, name);
    kiln_pb_put_float(&b, 2, narrow(s, name, v));
    end_attr(s, &b, ATTR_FLOAT);
}

void kiln_say_text(kiln_say *s, const char *name, const char *v) {
    kiln_buf b = begin_attr(s, name);
    kiln_pb_put_text(&b, 4, v);
    end_attr(s, &b, ATTR_STRING);
}

void kiln_say_ints(kiln_say *s, const char *name, const int64_t *v, size_t n) {
    kiln_buf b = begin_attr(s, name);
    for (size_t i = 0; i < n; i++)
        kiln_pb_put_int(&b, 8, v[i]);
    end_attr(s, &b, ATTR_INTS);
}

void kiln_say_floats(kiln_say *s, const char *name, const double *v, size_t n) {
    kiln_buf b = begin_attr(s, name);
    for (size_t i = 0; i < n; i++)
        kiln_pb_put_float(&b, 7, narrow(s, name, v[i]));
    end_attr(s, &b, ATTR_FLOATS);
}

void kiln_say_texts(kiln_say *s, const char *name, const char *const *v, size_t n) {
    kiln_buf b = begin_attr(s, name);
    for (size_t i = 0; i < n; i++)
        kiln_pb_put_text(&b, 9, v[i]);
    end_attr(s, &b, ATTR_STRINGS);
}

void kiln_say_graph(kiln_say *s, const char *name, kiln_str graph) {
    kiln_buf b = begin_attr(s, name);
    kiln_pb_put_bytes(&b, 6, graph);
    end_attr(s, &b, ATTR_GRAPH);
}

/* The first of a node's parts has its name, the others a longer one. */
static const char *node_name(kiln_say *s) {
    const char *const of = s->node != NULL ? s->node->name : "output";
    const char *name = of;
    if (kiln_map_has(&s->node_names, kiln_str_from(of)))
        name = kiln_format(s->arena, "%s/%s", of, s->op);
    for (int i = 1; kiln_map_has(&s->node_names, kiln_str_from(name)); i++)
        name = kiln_format(s->arena, "%s/%s.%d", of, s->op, i);
    kiln_map_set(s->arena, &s->node_names, kiln_str_from(name), s);
    return kiln_utf8_valid(kiln_str_from(name))
               ? name
               : kiln_str_printable(s->arena, kiln_str_from(name), 200);
}

void kiln_say_end(kiln_say *s) {
    KILN_ASSERT(s->op != NULL, "no node was begun");
    kiln_pb_put_text(&s->in_out, 3, node_name(s));
    kiln_pb_put_text(&s->in_out, 4, s->op);
    kiln_pb_put_head(&s->scope->nodes, 1, s->in_out.n + s->attrs.n);
    kiln_buf_add(&s->scope->nodes, s->in_out.p, s->in_out.n);
    if (s->attrs.n > 0)
        kiln_buf_add(&s->scope->nodes, s->attrs.p, s->attrs.n);
    s->op = NULL;
    s->n_nodes++;
}

void kiln_say_own_attrs(kiln_say *s) {
    const kiln_node *n = s->node;
    for (size_t i = 0; i < n->op->n_attr; i++) {
        const kiln_attr_def *def = &n->op->attr[i];
        const kiln_attr *v = &n->attr[i];
        if (def->kind == KILN_ATTR_INT || def->kind == KILN_ATTR_BOOL)
            kiln_say_int(s, def->name, v->i);
        else if (def->kind == KILN_ATTR_WORD)
            kiln_say_text(s, def->name, def->choices[v->i]);
        else if (def->kind != KILN_ATTR_FLOAT)
            KILN_ASSERT(false, "attribute '%s' of '%s' needs a writer of its own",
                        def->name, n->op->name);
        else if (v->f != def->default_f)
            kiln_say_float(s, def->name, v->f);
    }
}

/* ---- whole nodes ----------------------------------------------------------------- */

static const char *one(kiln_say *s, const char *op, const char *const *in, int n,
                       const char *out) {
    if (out == NULL)
        out = kiln_say_temp(s, op);
    kiln_say_begin(s, op, KILN_SAY_BASE_OPSET);
    for (int i = 0; i < n; i++)
        kiln_say_take(s, in[i]);
    kiln_say_give(s, out);
    kiln_say_end(s);
    return out;
}

const char *kiln_say_1(kiln_say *s, const char *op, const char *x, const char *out) {
    return one(s, op, &x, 1, out);
}

const char *kiln_say_2(kiln_say *s, const char *op, const char *x, const char *y,
                       const char *out) {
    return one(s, op, (const char *const[]){x, y}, 2, out);
}

const char *kiln_say_3(kiln_say *s, const char *op, const char *x, const char *y,
                       const char *z, const char *out) {
    return one(s, op, (const char *const[]){x, y, z}, 3, out);
}

const char *kiln_say_cast(kiln_say *s, const char *x, kiln_dtype to, const char *out) {
    if (out == NULL)
        out = kiln_say_temp(s, "Cast");
    kiln_say_begin(s, "Cast", kiln_say_dtype_opset(to));
    kiln_say_take(s, x);
    kiln_say_int(s, "to", kiln_say_dtype(to));
    if (kiln_dtype_is_in(to, KILN_DT_LOW_FLOAT))
        kiln_say_int(s, "saturate", 0); /* infinities stay */
    kiln_say_give(s, out);
    kiln_say_end(s);
    return out;
}

const char *kiln_say_reshape(kiln_say *s, const char *x, int rank, const int64_t *dim,
                             const char *out) {
    bool is_empty = false;
    for (int i = 0; i < rank; i++)
        is_empty = is_empty || dim[i] == 0;
    if (out == NULL)
        out = kiln_say_temp(s, "Reshape");
    const char *const shape = kiln_say_list(s, dim, (size_t)rank);
    kiln_say_begin(s, "Reshape", KILN_SAY_BASE_OPSET);
    kiln_say_take(s, x);
    kiln_say_take(s, shape);
    if (is_empty)
        kiln_say_int(s, "allowzero", 1);
    kiln_say_give(s, out);
    kiln_say_end(s);
    return out;
}

const char *kiln_say_transpose(kiln_say *s, const char *x, int rank,
                               const int64_t *perm, const char *out) {
    if (out == NULL)
        out = kiln_say_temp(s, "Transpose");
    kiln_say_begin(s, "Transpose", KILN_SAY_BASE_OPSET);
    kiln_say_take(s, x);
    if (rank > 0)
        kiln_say_ints(s, "perm", perm, (size_t)rank);
    kiln_say_give(s, out);
    kiln_say_end(s);
    return out;
}

const char *kiln_say_index_in(kiln_say *s, int i) {
    const kiln_dtype dtype = kiln_say_in_type(s, i)->dtype;
    const char *const x = kiln_say_in(s, i);
    return dtype == KILN_I32 || dtype == KILN_I64 ? x
                                                  : kiln_say_cast(s, x, KILN_I64, NULL);
}

kiln_status kiln_say_refuse(kiln_say *s, const char *fmt, ...) {
    char why[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    return kiln_fail(s->err, KILN_ERR_UNSUPPORTED, "operator '%s': %s",
                     s->node->op->name, why);
}
