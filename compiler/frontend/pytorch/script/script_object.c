/* Values of TorchScript: objects out of the pickle, their members, tensors by path. */
#include "compiler/frontend/pytorch/script/script_internal.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_SHOWN = 8 /* items of a list */, MAX_SHOWN_DEPTH = 3 };

kiln_script_value kiln_script_none(void) {
    return (kiln_script_value){.kind = KILN_SCRIPT_V_NONE};
}
kiln_script_value kiln_script_of_int(int64_t i) {
    return (kiln_script_value){.kind = KILN_SCRIPT_V_INT, .i = i};
}
kiln_script_value kiln_script_of_float(double f) {
    return (kiln_script_value){.kind = KILN_SCRIPT_V_FLOAT, .f = f};
}
kiln_script_value kiln_script_of_bool(bool b) {
    return (kiln_script_value){.kind = KILN_SCRIPT_V_BOOL, .i = b};
}

kiln_script_value kiln_script_of_tensor(kiln_script_cx *cx, kiln_value *v) {
    kiln_script_tensor *const t = kiln_new(&cx->common.scratch, kiln_script_tensor);
    t->v = v;
    return (kiln_script_value){.kind = KILN_SCRIPT_V_TENSOR, .tensor = t};
}

kiln_script_value kiln_script_new_list(kiln_script_cx *cx, kiln_script_kind kind) {
    return (kiln_script_value){.kind = kind,
                               .list = kiln_new(&cx->common.scratch, kiln_script_list)};
}

void kiln_script_push(kiln_script_cx *cx, kiln_script_value *list,
                      kiln_script_value item) {
    kiln_vec_push(&cx->common.scratch, &list->list->item, item);
}

/* ---- looking at values ------------------------------------------------------------- */

static void show_items(kiln_buf *b, const kiln_script_value *v, int depth) {
    const size_t n = v->list->item.n;
    kiln_buf_puts(b, v->kind == KILN_SCRIPT_V_LIST ? "[" : "(");
    for (size_t i = 0; i < n && depth < MAX_SHOWN_DEPTH; i++) {
        kiln_buf_puts(b, i > 0 ? ", " : "");
        if (i == MAX_SHOWN) {
            kiln_buf_puts(b, "...");
            break;
        }
        kiln_script_show(b, &v->list->item.v[i], depth + 1);
    }
    kiln_buf_puts(b, v->kind == KILN_SCRIPT_V_LIST ? "]" : ")");
}

void kiln_script_show(kiln_buf *b, const kiln_script_value *v, int depth) {
    switch (v->kind) {
    case KILN_SCRIPT_V_UNSET:
        kiln_buf_puts(b, "nothing");
        break;
    case KILN_SCRIPT_V_NONE:
        kiln_buf_puts(b, "None");
        break;
    case KILN_SCRIPT_V_BOOL:
        kiln_buf_puts(b, v->i != 0 ? "True" : "False");
        break;
    case KILN_SCRIPT_V_INT:
        kiln_buf_printf(b, "%" PRId64, v->i);
        break;
    case KILN_SCRIPT_V_FLOAT:
        kiln_buf_printf(b, "%g", v->f);
        break;
    case KILN_SCRIPT_V_TEXT:
    case KILN_SCRIPT_V_NAME:
        kiln_buf_puts(b, kiln_str_printable(b->arena, v->s, 200));
        break;
    case KILN_SCRIPT_V_DEVICE:
        kiln_buf_puts(b, "cpu");
        break;
    case KILN_SCRIPT_V_TENSOR:
        kiln_buf_puts(b, kiln_type_text(b->arena, &v->tensor->v->type));
        break;
    case KILN_SCRIPT_V_LIST:
    case KILN_SCRIPT_V_TUPLE:
    case KILN_SCRIPT_V_DICT:
        show_items(b, v, depth);
        break;
    case KILN_SCRIPT_V_OBJECT:
        kiln_buf_puts(b, kiln_str_printable(b->arena, v->object->type, 200));
        break;
    }
}

static bool is_number(const kiln_script_value *v) {
    return v->kind == KILN_SCRIPT_V_BOOL || v->kind == KILN_SCRIPT_V_INT ||
           v->kind == KILN_SCRIPT_V_FLOAT;
}

static bool equal(const kiln_script_value *x, const kiln_script_value *y, int depth,
                  int *left) {
    if (is_number(x) && is_number(y)) {
        if (x->kind != KILN_SCRIPT_V_FLOAT && y->kind != KILN_SCRIPT_V_FLOAT)
            return x->i == y->i;
        return (x->kind == KILN_SCRIPT_V_FLOAT ? x->f : (double)x->i) ==
               (y->kind == KILN_SCRIPT_V_FLOAT ? y->f : (double)y->i);
    }
    if (x->kind != y->kind || depth > KILN_SCRIPT_MAX_NESTING || --*left < 0)
        return false;
    switch (x->kind) {
    case KILN_SCRIPT_V_NONE:
    case KILN_SCRIPT_V_DEVICE:
        return true;
    case KILN_SCRIPT_V_TEXT:
    case KILN_SCRIPT_V_NAME:
        return kiln_str_eq(x->s, y->s);
    case KILN_SCRIPT_V_TENSOR:
        return x->tensor == y->tensor;
    case KILN_SCRIPT_V_OBJECT:
        return x->object == y->object;
    case KILN_SCRIPT_V_LIST:
    case KILN_SCRIPT_V_TUPLE:
    case KILN_SCRIPT_V_DICT:
        if (x->list->item.n != y->list->item.n)
            return false;
        for (size_t i = 0; i < x->list->item.n; i++)
            if (!equal(&x->list->item.v[i], &y->list->item.v[i], depth + 1, left))
                return false;
        return true;
    case KILN_SCRIPT_V_UNSET:
    case KILN_SCRIPT_V_BOOL:
    case KILN_SCRIPT_V_INT:
    case KILN_SCRIPT_V_FLOAT:
        break;
    }
    return false;
}

bool kiln_script_equal(const kiln_script_value *x, const kiln_script_value *y) {
    int left = 10000; /* lists may hold themselves */
    return equal(x, y, 0, &left);
}

/* ---- out of the pickle ------------------------------------------------------------- */

static kiln_str key_of(const kiln_pickle_value *const *p) {
    return (kiln_str){(const char *)p, sizeof *p};
}

/* "layer1.0" and "conv1" */
static const char *join(kiln_script_cx *cx, const char *path, kiln_str name) {
    if (path[0] == '\0')
        return kiln_str_dupv(&cx->common.scratch, name);
    return kiln_format(&cx->common.scratch, "%s.%.*s", path, KILN_STR_ARG(name));
}

static kiln_status read_tensor(kiln_script_cx *cx, const kiln_pickle_value *p,
                               const char *path, const char *folder,
                               kiln_script_value *out) {
    kiln_import_cx *const c = &cx->common;
    kiln_pickle_tensor t;
    const void *data = NULL;
    KILN_TRY(kiln_pickle_tensor_of(p, &t, c->err));
    const char *const entry =
        kiln_format(&c->scratch, "%s/%.*s", folder, KILN_STR_ARG(t.key));
    const kiln_str *const storage =
        kiln_map_get(&cx->archive->entry, kiln_str_from(entry));
    if (storage == NULL)
        return kiln_fail(c->err, KILN_ERR_PARSE,
                         "the archive has no '%s'; is it damaged?",
                         kiln_import_show(c, kiln_str_from(entry)));
    if (!t.is_contiguous)
        KILN_TRY(kiln_import_spend(c, kiln_type_bytes(&t.type)));
    KILN_TRY(kiln_pickle_tensor_data(c->arena, &t, *storage, &data, c->err));
    *out = kiln_script_of_tensor(
        cx, kiln_graph_add_const(c->graph, path[0] != '\0' ? path : "constant", &t.type,
                                 data));
    return KILN_OK;
}

/* Objects and tensors that several members share are made once. */
static kiln_status unpickle_tensor(kiln_script_cx *cx, const kiln_pickle_value *p,
                                   const char *path, const char *folder,
                                   kiln_script_value *out) {
    kiln_script_tensor *const known = kiln_map_get(&cx->tensors, key_of(&p));
    if (known != NULL) {
        *out = (kiln_script_value){.kind = KILN_SCRIPT_V_TENSOR, .tensor = known};
        return KILN_OK;
    }
    const kiln_status st = read_tensor(cx, p, path, folder, out);
    if (st != KILN_OK) {
        kiln_note(cx->common.err, "reading tensor '%s'",
                  kiln_import_show(&cx->common, kiln_str_from(path)));
        return st;
    }
    kiln_map_set(&cx->common.scratch, &cx->tensors, key_of(&p), out->tensor);
    return KILN_OK;
}

static void unpickle_object(kiln_script_cx *cx, const kiln_pickle_value *p,
                            const char *path, kiln_script_value *out) {
    kiln_arena *const a = &cx->common.scratch;
    kiln_script_object *o = kiln_map_get(&cx->objects, key_of(&p));
    if (o == NULL) {
        o = kiln_new(a, kiln_script_object);
        o->pickle = p;
        o->type = kiln_str_from(
            kiln_format(a, "%.*s.%.*s", KILN_STR_ARG(p->module), KILN_STR_ARG(p->s)));
        o->path = path;
        kiln_map_set(a, &cx->objects, key_of(&p), o);
    }
    *out = (kiln_script_value){.kind = KILN_SCRIPT_V_OBJECT, .object = o};
}

static kiln_status unpickle(kiln_script_cx *cx, const kiln_pickle_value *p,
                            const char *path, const char *folder,
                            kiln_script_value *out);

static kiln_status unpickle_items(kiln_script_cx *cx, const kiln_pickle_value *p,
                                  const char *path, const char *folder,
                                  kiln_script_kind kind, kiln_script_value *out) {
    kiln_script_value v, list = kiln_script_new_list(cx, kind);
    for (size_t i = 0; i < p->item.n; i++) {
        KILN_TRY(kiln_script_step(cx, cx->line));
        const char *const name = kiln_format(&cx->common.scratch, "%zu", i);
        KILN_TRY(unpickle(cx, p->item.v[i], join(cx, path, kiln_str_from(name)), folder,
                          &v));
        kiln_script_push(cx, &list, v);
    }
    *out = list;
    return KILN_OK;
}

static kiln_status unpickle(kiln_script_cx *cx, const kiln_pickle_value *p,
                            const char *path, const char *folder,
                            kiln_script_value *out) {
    *out = kiln_script_none();
    switch (p->kind) {
    case KILN_PICKLE_NONE:
        return KILN_OK;
    case KILN_PICKLE_BOOL:
        *out = kiln_script_of_bool(p->i != 0);
        return KILN_OK;
    case KILN_PICKLE_INT:
        *out = kiln_script_of_int(p->i);
        return KILN_OK;
    case KILN_PICKLE_FLOAT:
        *out = kiln_script_of_float(p->f);
        return KILN_OK;
    case KILN_PICKLE_STR:
    case KILN_PICKLE_BYTES:
        *out = (kiln_script_value){.kind = KILN_SCRIPT_V_TEXT, .s = p->s};
        return KILN_OK;
    case KILN_PICKLE_TUPLE:
        return unpickle_items(cx, p, path, folder, KILN_SCRIPT_V_TUPLE, out);
    case KILN_PICKLE_LIST:
        return unpickle_items(cx, p, path, folder, KILN_SCRIPT_V_LIST, out);
    case KILN_PICKLE_DICT:
        return unpickle_items(cx, p, path, folder, KILN_SCRIPT_V_DICT, out);
    case KILN_PICKLE_OBJECT:
        if (kiln_pickle_is_tensor(p))
            return unpickle_tensor(cx, p, path, folder, out);
        if (kiln_pickle_is_object(p, "torch", "device")) {
            out->kind = KILN_SCRIPT_V_DEVICE;
            return KILN_OK;
        }
        if (!kiln_str_starts(p->module, "__torch__") ||
            kiln_str_starts(p->module, "__torch__.torch.classes"))
            return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                             "custom class '%s.%s' is not read: its code is not in the "
                             "file; export the model without it",
                             kiln_import_show(&cx->common, p->module),
                             kiln_import_show(&cx->common, p->s));
        unpickle_object(cx, p, path, out);
        return KILN_OK;
    case KILN_PICKLE_GLOBAL:
    case KILN_PICKLE_STORAGE:
        break;
    }
    return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                     "'%s' is no value of TorchScript; is the archive damaged?",
                     kiln_import_show(&cx->common, kiln_str_from(path)));
}

kiln_status kiln_script_unpickle(kiln_script_cx *cx, const kiln_pickle_value *p,
                                 const char *path, kiln_script_value *out) {
    return unpickle(cx, p, path, "data", out);
}

/* "c12" */
kiln_status kiln_script_constant(kiln_script_cx *cx, kiln_str name,
                                 kiln_script_value *out) {
    int64_t at;
    const kiln_str digits = {name.p + 1, name.n > 0 ? name.n - 1 : 0};
    const kiln_pickle_value *const all = cx->constants;
    if (all == NULL ||
        (all->kind != KILN_PICKLE_TUPLE && all->kind != KILN_PICKLE_LIST) ||
        !kiln_parse_i64(digits, &at) || at < 0 || (uint64_t)at >= all->item.n)
        return kiln_script_fail(cx, KILN_ERR_PARSE,
                                "the archive has no constant '%s'; is it damaged?",
                                kiln_import_show(&cx->common, name));
    return unpickle(cx, all->item.v[at], kiln_str_dupv(&cx->common.scratch, name),
                    "constants", out);
}

/* ---- members ----------------------------------------------------------------------- */

void kiln_script_set_attr(kiln_script_cx *cx, kiln_script_object *o, kiln_str name,
                          kiln_script_value v) {
    kiln_arena *const a = &cx->common.scratch;
    kiln_map_set(a, &o->attr, name, kiln_arena_dup(a, &v, sizeof v));
}

/* `name : Final[int] = 3` of a class, or a method as a value. */
static kiln_status class_member(kiln_script_cx *cx, kiln_script_object *o,
                                kiln_str name, kiln_script_value *out) {
    const kiln_script_class *type = NULL;
    kiln_script_frame none = {.names = {.n_slots = 0}};
    KILN_TRY(kiln_script_find_class(cx, o->type, &type));
    for (size_t i = 0; i < type->member.n; i++)
        if (type->member.v[i].value != NULL &&
            kiln_str_eq(type->member.v[i].name, name))
            return kiln_script_eval(cx, &none, type->member.v[i].value, out);
    return kiln_script_fail(cx, KILN_ERR_PARSE, "an object of '%s' has no member '%s'",
                            kiln_import_show(&cx->common, o->type),
                            kiln_import_show(&cx->common, name));
}

static kiln_status object_attr(kiln_script_cx *cx, kiln_script_object *o, kiln_str name,
                               kiln_script_value *out) {
    const kiln_script_value *const known = kiln_map_get(&o->attr, name);
    if (known != NULL) {
        *out = *known;
        return KILN_OK;
    }
    const kiln_pickle_value *const p =
        o->pickle != NULL ? kiln_pickle_get(o->pickle, name) : NULL;
    if (p == NULL)
        return class_member(cx, o, name, out);
    KILN_TRY(kiln_script_unpickle(cx, p, join(cx, o->path, name), out));
    kiln_script_set_attr(cx, o, name, *out);
    return KILN_OK;
}

/* A field of a NamedTuple. */
static kiln_status named_field(kiln_script_cx *cx, const kiln_script_value *of,
                               kiln_str name, kiln_script_value *out) {
    const kiln_script_class *const c = of->list->named;
    for (size_t i = 0; i < c->member.n && i < of->list->item.n; i++)
        if (kiln_str_eq(c->member.v[i].name, name)) {
            *out = of->list->item.v[i];
            return KILN_OK;
        }
    return kiln_script_fail(cx, KILN_ERR_PARSE, "a tuple '%s' has no field '%s'",
                            kiln_import_show(&cx->common, c->name),
                            kiln_import_show(&cx->common, name));
}

/* Members of values that torch has: x.shape, x.dtype. */
static kiln_status value_attr(kiln_script_cx *cx, const kiln_script_value *of,
                              kiln_str name, kiln_script_value *out) {
    kiln_script_value v = *of;
    kiln_str no_name = {NULL, 0};
    const kiln_script_args args = {&v, &no_name, 1};
    return kiln_script_call_name(
        cx,
        kiln_str_from(
            kiln_format(&cx->common.scratch, "ops.prim.%.*s", KILN_STR_ARG(name))),
        &args, out);
}

kiln_status kiln_script_get_attr(kiln_script_cx *cx, const kiln_script_value *of,
                                 kiln_str name, kiln_script_value *out) {
    if (of->kind == KILN_SCRIPT_V_OBJECT)
        return object_attr(cx, of->object, name, out);
    if (of->kind == KILN_SCRIPT_V_TUPLE && of->list->named != NULL)
        return named_field(cx, of, name, out);
    if (of->kind == KILN_SCRIPT_V_NAME) {
        *out = (kiln_script_value){
            .kind = KILN_SCRIPT_V_NAME,
            .s = kiln_str_from(kiln_format(&cx->common.scratch, "%.*s.%.*s",
                                           KILN_STR_ARG(of->s), KILN_STR_ARG(name)))};
        return KILN_OK;
    }
    return value_attr(cx, of, name, out);
}
