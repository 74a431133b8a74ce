/* Calls in TorchScript: methods, functions of the file, forms of the language, and what
 * torch has. */
#include "compiler/frontend/pytorch/script/script_internal.h"

#include <string.h>

/* ---- arguments -------------------------------------------------------------------- */

static kiln_status eval_args(kiln_script_cx *cx, kiln_script_frame *f,
                             const kiln_script_expr *e, kiln_script_args *out) {
    KILN_ASSERT(e->n > 0, "a call of nothing");
    kiln_arena *const a = &cx->common.scratch;
    out->n = e->n - 1;
    out->v = kiln_array(a, kiln_script_value, out->n);
    out->name = e->keyword + 1;
    for (size_t i = 0; i < out->n; i++)
        KILN_TRY(kiln_script_eval(cx, f, e->arg[1 + i], &out->v[i]));
    return KILN_OK;
}

/* ---- forms of the language --------------------------------------------------------- */

static bool is_of_type(kiln_script_cx *cx, const kiln_script_value *v,
                       const kiln_script_expr *type) {
    static const struct {
        const char *name;
        kiln_script_kind kind;
    } types[] = {
        {"Tensor", KILN_SCRIPT_V_TENSOR}, {"int", KILN_SCRIPT_V_INT},
        {"float", KILN_SCRIPT_V_FLOAT},   {"bool", KILN_SCRIPT_V_BOOL},
        {"str", KILN_SCRIPT_V_TEXT},      {"List", KILN_SCRIPT_V_LIST},
        {"list", KILN_SCRIPT_V_LIST},     {"Tuple", KILN_SCRIPT_V_TUPLE},
        {"tuple", KILN_SCRIPT_V_TUPLE},   {"Dict", KILN_SCRIPT_V_DICT},
        {"NoneType", KILN_SCRIPT_V_NONE}, {"Device", KILN_SCRIPT_V_DEVICE},
    };
    kiln_buf path;
    if (type->kind == KILN_SCRIPT_TUPLE || type->kind == KILN_SCRIPT_LIST) {
        for (size_t i = 0; i < type->n; i++)
            if (is_of_type(cx, v, type->arg[i]))
                return true;
        return false;
    }
    if (type->kind == KILN_SCRIPT_NONE)
        return v->kind == KILN_SCRIPT_V_NONE;
    if (type->kind == KILN_SCRIPT_INDEX && type->arg[0]->kind == KILN_SCRIPT_NAME) {
        if (kiln_str_is(type->arg[0]->text, "Optional"))
            return v->kind == KILN_SCRIPT_V_NONE || is_of_type(cx, v, type->arg[1]);
        type = type->arg[0];
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (type->kind == KILN_SCRIPT_NAME && kiln_str_is(type->text, types[i].name))
            return v->kind == types[i].kind;
    kiln_buf_init(&path, &cx->common.scratch);
    return v->kind == KILN_SCRIPT_V_OBJECT && kiln_script_dotted(cx, type, &path) &&
           kiln_str_eq(kiln_buf_str(&path), v->object->type);
}

static kiln_status form_value(kiln_script_cx *cx, kiln_script_frame *f,
                              const kiln_script_expr *e, kiln_script_value *out) {
    return kiln_script_eval(cx, f, e->arg[e->n - 1], out);
}

static kiln_status form_unset(kiln_script_cx *cx, kiln_script_frame *f,
                              const kiln_script_expr *e, kiln_script_value *out) {
    (void)cx;
    (void)f;
    (void)e;
    *out = (kiln_script_value){.kind = KILN_SCRIPT_V_UNSET};
    return KILN_OK;
}

static kiln_status form_isinstance(kiln_script_cx *cx, kiln_script_frame *f,
                                   const kiln_script_expr *e, kiln_script_value *out) {
    kiln_script_value v;
    KILN_TRY(kiln_script_eval(cx, f, e->arg[1], &v));
    *out = kiln_script_of_bool(is_of_type(cx, &v, e->arg[2]));
    return KILN_OK;
}

static kiln_status form_getattr(kiln_script_cx *cx, kiln_script_frame *f,
                                const kiln_script_expr *e, kiln_script_value *out) {
    kiln_script_value of, name;
    KILN_TRY(kiln_script_eval(cx, f, e->arg[1], &of));
    KILN_TRY(kiln_script_eval(cx, f, e->arg[2], &name));
    return kiln_script_get_attr(cx, &of, name.s, out);
}

/* annotate(List[int], x) of a number that was traced as a tensor: an integer. */
static kiln_status form_annotate(kiln_script_cx *cx, kiln_script_frame *f,
                                 const kiln_script_expr *e, kiln_script_value *out) {
    kiln_script_value v;
    KILN_TRY(form_value(cx, f, e, &v));
    const kiln_script_expr *const type = e->arg[1];
    if (v.kind == KILN_SCRIPT_V_TENSOR && type->kind == KILN_SCRIPT_NAME &&
        !kiln_str_is(type->text, "Tensor"))
        return kiln_script_number(cx, v.tensor, "a number", out);
    *out = v;
    return KILN_OK;
}

static const struct {
    const char *name;
    size_t n; /* arguments */
    kiln_status (*eval)(kiln_script_cx *cx, kiln_script_frame *f,
                        const kiln_script_expr *e, kiln_script_value *out);
} forms[] = {
    {"annotate", 2, form_annotate},
    {"unchecked_cast", 2, form_value},
    {"unchecked_unwrap_optional", 1, form_value},
    {"uninitialized", 1, form_unset},
    {"isinstance", 2, form_isinstance},
    {"getattr", 2, form_getattr},
};

/* ---- functions and classes of the file ---------------------------------------------- */

static kiln_status new_object(kiln_script_cx *cx, kiln_str type,
                              kiln_script_value *out) {
    kiln_script_object *const o = kiln_new(&cx->common.scratch, kiln_script_object);
    o->type = type;
    o->path = cx->path;
    *out = (kiln_script_value){.kind = KILN_SCRIPT_V_OBJECT, .object = o};
    return KILN_OK;
}

static kiln_status new_named_tuple(kiln_script_cx *cx, const kiln_script_class *c,
                                   const kiln_script_args *args,
                                   kiln_script_value *out) {
    kiln_script_value v = kiln_script_new_list(cx, KILN_SCRIPT_V_TUPLE);
    v.list->named = c;
    for (size_t i = 0; i < args->n; i++)
        kiln_script_push(cx, &v, args->v[i]);
    *out = v;
    return KILN_OK;
}

/* torch's own switch between one operator that is its encoder layer and the code behind
 * it, which is the same: the code is read. */
static bool is_fastpath_switch(kiln_str name) {
    return kiln_str_is(name, "__torch__.torch.backends.mha.get_fastpath_enabled");
}

static kiln_status call_own(kiln_script_cx *cx, kiln_str name,
                            const kiln_script_args *args, kiln_script_value *out) {
    const kiln_script_function *fn = NULL;
    const kiln_script_class *type = NULL;
    kiln_str of = name;
    if (is_fastpath_switch(name)) {
        *out = kiln_script_of_bool(false);
        return KILN_OK;
    }
    if (kiln_str_ends(name, ".__new__")) {
        of.n -= strlen(".__new__");
        return new_object(cx, of, out);
    }
    if (kiln_str_starts(name, "__torch__.torch.classes."))
        return kiln_script_fail(cx, KILN_ERR_UNSUPPORTED,
                                "custom class '%s' is not read: its code is not in the "
                                "file; export the model without it",
                                kiln_import_show(&cx->common, name));
    KILN_TRY(kiln_script_find(cx, name, &fn, &type));
    if (fn != NULL)
        return kiln_script_run(cx, fn, args, out);
    if (kiln_str_is(type->base, "NamedTuple"))
        return new_named_tuple(cx, type, args, out);
    kiln_script_value made, ignored;
    KILN_TRY(new_object(cx, name, &made));
    KILN_TRY(
        kiln_script_call_method(cx, &made, KILN_STR_LIT("__init__"), args, &ignored));
    *out = made;
    return KILN_OK;
}

kiln_status kiln_script_call_method(kiln_script_cx *cx, const kiln_script_value *self,
                                    kiln_str name, const kiln_script_args *args,
                                    kiln_script_value *out) {
    const kiln_script_class *type = NULL;
    kiln_arena *const a = &cx->common.scratch;
    KILN_TRY(kiln_script_find_class(cx, self->object->type, &type));
    const kiln_script_function *const fn = kiln_script_method(type, name);
    if (fn == NULL)
        return kiln_script_fail(cx, KILN_ERR_PARSE, "class '%s' has no method '%s'",
                                kiln_import_show(&cx->common, self->object->type),
                                kiln_import_show(&cx->common, name));
    const kiln_script_args all = {kiln_array(a, kiln_script_value, args->n + 1),
                                  kiln_array(a, kiln_str, args->n + 1), args->n + 1};
    all.v[0] = *self;
    for (size_t i = 0; i < args->n; i++) {
        all.v[1 + i] = args->v[i];
        all.name[1 + i] = args->name[i];
    }
    const char *const around = cx->path;
    cx->path = self->object->path;
    const kiln_status st = kiln_script_run(cx, fn, &all, out);
    cx->path = around;
    return st;
}

kiln_status kiln_script_call_name(kiln_script_cx *cx, kiln_str name,
                                  const kiln_script_args *args,
                                  kiln_script_value *out) {
    bool is_done = false;
    if (kiln_str_starts(name, "__torch__."))
        return call_own(cx, name, args, out);
    if (kiln_str_starts(name, "ops.quantized.") ||
        kiln_str_starts(name, "torch.quantize_per") ||
        kiln_str_is(name, "torch.dequantize"))
        return kiln_script_fail(cx, KILN_ERR_UNSUPPORTED,
                                "quantized operator '%s' is not read; save the float "
                                "model, or export the quantized one as ONNX",
                                kiln_import_show(&cx->common, name));
    KILN_TRY(kiln_script_builtin(cx, name, args, out, &is_done));
    return is_done ? KILN_OK : kiln_script_aten(cx, name, args, out);
}

/* ---- the call ---------------------------------------------------------------------- */

static kiln_status call_member(kiln_script_cx *cx, kiln_script_frame *f,
                               const kiln_script_expr *e, kiln_script_value *out) {
    kiln_script_value of;
    kiln_script_args args;
    KILN_TRY(kiln_script_eval(cx, f, e->arg[0]->arg[0], &of));
    KILN_TRY(eval_args(cx, f, e, &args));
    if (of.kind == KILN_SCRIPT_V_OBJECT)
        return kiln_script_call_method(cx, &of, e->arg[0]->text, &args, out);
    if (of.kind == KILN_SCRIPT_V_NAME && kiln_str_is(e->arg[0]->text, "__new__"))
        return new_object(cx, of.s, out);
    /* x.tolist() and others: torch.tolist(x) */
    const kiln_script_args all = {
        kiln_array(&cx->common.scratch, kiln_script_value, args.n + 1),
        kiln_array(&cx->common.scratch, kiln_str, args.n + 1), args.n + 1};
    all.v[0] = of;
    for (size_t i = 0; i < args.n; i++) {
        all.v[1 + i] = args.v[i];
        all.name[1 + i] = args.name[i];
    }
    return kiln_script_call_name(
        cx,
        kiln_str_from(kiln_format(&cx->common.scratch, "torch.%.*s",
                                  KILN_STR_ARG(e->arg[0]->text))),
        &all, out);
}

kiln_status kiln_script_eval_call(kiln_script_cx *cx, kiln_script_frame *f,
                                  const kiln_script_expr *e, kiln_script_value *out) {
    const kiln_script_expr *const callee = e->arg[0];
    kiln_script_args args;
    kiln_buf path;
    kiln_buf_init(&path, &cx->common.scratch);
    if (kiln_script_dotted(cx, callee, &path)) {
        KILN_TRY(eval_args(cx, f, e, &args));
        return kiln_script_call_name(cx, kiln_buf_str(&path), &args, out);
    }
    if (callee->kind == KILN_SCRIPT_ATTR)
        return call_member(cx, f, e, out);
    if (callee->kind != KILN_SCRIPT_NAME)
        return kiln_script_fail(cx, KILN_ERR_UNSUPPORTED,
                                "only names and methods are called");
    const kiln_script_value *const local = kiln_map_get(&f->names, callee->text);
    if (local == NULL)
        for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
            if (kiln_str_is(callee->text, forms[i].name) && e->n == forms[i].n + 1)
                return forms[i].eval(cx, f, e, out);
    KILN_TRY(eval_args(cx, f, e, &args));
    if (local != NULL && local->kind == KILN_SCRIPT_V_NAME)
        return kiln_script_call_name(cx, local->s, &args, out);
    if (local != NULL && local->kind == KILN_SCRIPT_V_OBJECT)
        return kiln_script_call_method(cx, local, KILN_STR_LIT("__call__"), &args, out);
    return kiln_script_call_name(
        cx,
        kiln_str_from(
            kiln_format(&cx->common.scratch, "torch.%.*s", KILN_STR_ARG(callee->text))),
        &args, out);
}
