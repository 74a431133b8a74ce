/* Expressions of TorchScript, but for calls. */
#include "compiler/frontend/pytorch/script/script_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

bool kiln_script_dotted(kiln_script_cx *cx, const kiln_script_expr *e, kiln_buf *out) {
    if (e->kind == KILN_SCRIPT_NAME) {
        static const char *const roots[] = {"torch", "ops", "__torch__", "CONSTANTS"};
        for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++)
            if (kiln_str_is(e->text, roots[i])) {
                kiln_buf_add(out, e->text.p, e->text.n);
                return true;
            }
        return false;
    }
    if (e->kind != KILN_SCRIPT_ATTR || !kiln_script_dotted(cx, e->arg[0], out))
        return false;
    kiln_buf_puts(out, ".");
    kiln_buf_add(out, e->text.p, e->text.n);
    return true;
}

kiln_status kiln_script_truth(kiln_script_cx *cx, const kiln_script_value *v,
                              bool *out) {
    kiln_script_value number;
    switch (v->kind) {
    case KILN_SCRIPT_V_BOOL:
    case KILN_SCRIPT_V_INT:
        *out = v->i != 0;
        return KILN_OK;
    case KILN_SCRIPT_V_FLOAT:
        *out = v->f != 0;
        return KILN_OK;
    case KILN_SCRIPT_V_NONE:
        *out = false;
        return KILN_OK;
    case KILN_SCRIPT_V_TENSOR:
        KILN_TRY(kiln_script_number(cx, v->tensor, "a condition", &number));
        return kiln_script_truth(cx, &number, out);
    case KILN_SCRIPT_V_TEXT:
        *out = v->s.n > 0;
        return KILN_OK;
    case KILN_SCRIPT_V_LIST:
    case KILN_SCRIPT_V_TUPLE:
    case KILN_SCRIPT_V_DICT:
        *out = v->list->item.n > 0;
        return KILN_OK;
    case KILN_SCRIPT_V_UNSET:
    case KILN_SCRIPT_V_DEVICE:
    case KILN_SCRIPT_V_OBJECT:
    case KILN_SCRIPT_V_NAME:
        break;
    }
    return kiln_script_fail(cx, KILN_ERR_PARSE, "a condition must be true or false");
}

static kiln_status eval_name(kiln_script_cx *cx, kiln_script_frame *f,
                             const kiln_script_expr *e, kiln_script_value *out) {
    const kiln_script_value *const v = kiln_map_get(&f->names, e->text);
    if (v != NULL)
        *out = *v;
    else if (kiln_str_is(e->text, "inf"))
        *out = kiln_script_of_float((double)INFINITY);
    else if (kiln_str_is(e->text, "nan"))
        *out = kiln_script_of_float((double)NAN);
    else
        return kiln_script_fail(cx, KILN_ERR_PARSE, "'%s' has no value here",
                                kiln_import_show(&cx->common, e->text));
    return KILN_OK;
}

static kiln_status eval_attr(kiln_script_cx *cx, kiln_script_frame *f,
                             const kiln_script_expr *e, kiln_script_value *out) {
    kiln_script_value of;
    kiln_buf path;
    kiln_buf_init(&path, &cx->common.scratch);
    if (kiln_script_dotted(cx, e, &path)) {
        const kiln_str name = kiln_buf_str(&path);
        if (kiln_str_starts(name, "CONSTANTS."))
            return kiln_script_constant(cx, e->text, out);
        *out = (kiln_script_value){.kind = KILN_SCRIPT_V_NAME, .s = name};
        return KILN_OK;
    }
    KILN_TRY(kiln_script_eval(cx, f, e->arg[0], &of));
    return kiln_script_get_attr(cx, &of, e->text, out);
}

static kiln_status eval_items(kiln_script_cx *cx, kiln_script_frame *f,
                              const kiln_script_expr *e, kiln_script_kind kind,
                              kiln_script_value *out) {
    kiln_script_value v, list = kiln_script_new_list(cx, kind);
    for (size_t i = 0; i < e->n; i++) {
        KILN_TRY(kiln_script_eval(cx, f, e->arg[i], &v));
        kiln_script_push(cx, &list, v);
    }
    *out = list;
    return KILN_OK;
}

/* ---- indexes --------------------------------------------------------------------- */

static kiln_status call(kiln_script_cx *cx, const char *name, kiln_script_value *v,
                        size_t n, kiln_script_value *out) {
    const kiln_script_args args = {v, kiln_array(&cx->common.scratch, kiln_str, n), n};
    return kiln_script_call_name(cx, kiln_str_from(name), &args, out);
}

static kiln_status eval_index(kiln_script_cx *cx, kiln_script_frame *f,
                              const kiln_script_expr *e, kiln_script_value *out) {
    kiln_script_value v[2];
    if (e->n != 2)
        return kiln_script_fail(cx, KILN_ERR_UNSUPPORTED,
                                "one index is read at a time, there are %zu", e->n - 1);
    KILN_TRY(kiln_script_eval(cx, f, e->arg[0], &v[0]));
    KILN_TRY(kiln_script_eval(cx, f, e->arg[1], &v[1]));
    return call(cx, "torch.__getitem__", v, 2, out);
}

static kiln_status eval_slice(kiln_script_cx *cx, kiln_script_frame *f,
                              const kiln_script_expr *e, kiln_script_value *out) {
    kiln_script_value v[4];
    for (size_t i = 0; i < 4; i++) {
        v[i] = kiln_script_none();
        if (e->arg[i] != NULL)
            KILN_TRY(kiln_script_eval(cx, f, e->arg[i], &v[i]));
    }
    if (v[3].kind == KILN_SCRIPT_V_NONE)
        v[3] = kiln_script_of_int(1);
    return call(cx, "torch.slice", v, 4, out);
}

/* ---- operators ------------------------------------------------------------------- */

static const struct {
    const char *op, *name;
} operators[] = {
    {"+", "torch.add"},         {"-", "torch.sub"},
    {"*", "torch.mul"},         {"/", "torch.div"},
    {"//", "torch.floordiv"},   {"%", "torch.remainder"},
    {"**", "torch.pow"},        {"@", "torch.matmul"},
    {"==", "torch.eq"},         {"!=", "torch.ne"},
    {"<", "torch.lt"},          {">", "torch.gt"},
    {"<=", "torch.le"},         {">=", "torch.ge"},
    {"is", "torch.__is__"},     {"is not", "torch.__isnot__"},
    {"&", "torch.__and__"},     {"|", "torch.__or__"},
    {"^", "torch.__xor__"},     {"<<", "torch.__lshift__"},
    {">>", "torch.__rshift__"},
};

static kiln_status eval_binary(kiln_script_cx *cx, kiln_script_frame *f,
                               const kiln_script_expr *e, kiln_script_value *out) {
    kiln_script_value v[2];
    const bool is_and = kiln_str_is(e->text, "and"), is_or = kiln_str_is(e->text, "or");
    KILN_TRY(kiln_script_eval(cx, f, e->arg[0], &v[0]));
    if (is_and || is_or) {
        bool left;
        KILN_TRY(kiln_script_truth(cx, &v[0], &left));
        if (left == is_or) {
            *out = v[0];
            return KILN_OK;
        }
        return kiln_script_eval(cx, f, e->arg[1], out);
    }
    KILN_TRY(kiln_script_eval(cx, f, e->arg[1], &v[1]));
    if (kiln_str_is(e->text, "in") || kiln_str_is(e->text, "not in")) {
        kiln_script_value turned[] = {v[1], v[0]};
        KILN_TRY(call(cx, "torch.__contains__", turned, 2, out));
        out->i = kiln_str_is(e->text, "in") ? out->i : !out->i;
        return KILN_OK;
    }
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
        if (kiln_str_is(e->text, operators[i].op))
            return call(cx, operators[i].name, v, 2, out);
    return kiln_script_fail(cx, KILN_ERR_UNSUPPORTED, "operator '%s' is not read",
                            kiln_import_show(&cx->common, e->text));
}

static kiln_status eval_unary(kiln_script_cx *cx, kiln_script_frame *f,
                              const kiln_script_expr *e, kiln_script_value *out) {
    kiln_script_value v;
    KILN_TRY(kiln_script_eval(cx, f, e->arg[0], &v));
    if (kiln_str_is(e->text, "not")) {
        bool is_true;
        KILN_TRY(kiln_script_truth(cx, &v, &is_true));
        *out = kiln_script_of_bool(!is_true);
        return KILN_OK;
    }
    return call(cx, kiln_str_is(e->text, "-") ? "torch.neg" : "torch.bitwise_not", &v,
                1, out);
}

static kiln_status eval_choice(kiln_script_cx *cx, kiln_script_frame *f,
                               const kiln_script_expr *e, kiln_script_value *out) {
    kiln_script_value v;
    bool is_true;
    KILN_TRY(kiln_script_eval(cx, f, e->arg[0], &v));
    KILN_TRY(kiln_script_truth(cx, &v, &is_true));
    return kiln_script_eval(cx, f, e->arg[is_true ? 1 : 2], out);
}

static kiln_status eval(kiln_script_cx *cx, kiln_script_frame *f,
                        const kiln_script_expr *e, kiln_script_value *out) {
    *out = kiln_script_none();
    switch (e->kind) {
    case KILN_SCRIPT_NONE:
        return KILN_OK;
    case KILN_SCRIPT_BOOL:
        *out = kiln_script_of_bool(e->i != 0);
        return KILN_OK;
    case KILN_SCRIPT_INT:
        *out = kiln_script_of_int(e->i);
        return KILN_OK;
    case KILN_SCRIPT_FLOAT:
        *out = kiln_script_of_float(e->f);
        return KILN_OK;
    case KILN_SCRIPT_TEXT:
        *out = (kiln_script_value){.kind = KILN_SCRIPT_V_TEXT, .s = e->text};
        return KILN_OK;
    case KILN_SCRIPT_NAME:
        return eval_name(cx, f, e, out);
    case KILN_SCRIPT_ATTR:
        return eval_attr(cx, f, e, out);
    case KILN_SCRIPT_CALL:
        return kiln_script_eval_call(cx, f, e, out);
    case KILN_SCRIPT_INDEX:
        return eval_index(cx, f, e, out);
    case KILN_SCRIPT_SLICE:
        return eval_slice(cx, f, e, out);
    case KILN_SCRIPT_LIST:
        return eval_items(cx, f, e, KILN_SCRIPT_V_LIST, out);
    case KILN_SCRIPT_TUPLE:
        return eval_items(cx, f, e, KILN_SCRIPT_V_TUPLE, out);
    case KILN_SCRIPT_DICT:
        return eval_items(cx, f, e, KILN_SCRIPT_V_DICT, out);
    case KILN_SCRIPT_UNARY:
        return eval_unary(cx, f, e, out);
    case KILN_SCRIPT_BINARY:
        return eval_binary(cx, f, e, out);
    case KILN_SCRIPT_CHOICE:
        return eval_choice(cx, f, e, out);
    }
    return KILN_OK;
}

kiln_status kiln_script_eval(kiln_script_cx *cx, kiln_script_frame *f,
                             const kiln_script_expr *e, kiln_script_value *out) {
    KILN_TRY(kiln_script_step(cx, e->line));
    KILN_TRY(kiln_script_enter(cx));
    KILN_TRY(eval(cx, f, e, out));
    cx->depth--;
    return KILN_OK;
}
