/* Functions and statements of TorchScript, run at import. */
#include "compiler/frontend/pytorch/script/script_internal.h"

#include <inttypes.h>
#include <string.h>

/* What a statement does to those behind it. */
typedef struct outcome {
    bool is_return;
    kiln_script_value value;
} outcome;

static kiln_status run_block(kiln_script_cx *cx, kiln_script_frame *f,
                             const kiln_script_block *b, outcome *o);

kiln_status kiln_script_step(kiln_script_cx *cx, int line) {
    cx->line = line;
    return kiln_script_spend(cx, 1);
}

kiln_status kiln_script_enter(kiln_script_cx *cx) {
    if (++cx->depth <= KILN_SCRIPT_MAX_DEPTH)
        return KILN_OK;
    return kiln_script_fail(cx, KILN_ERR_LIMIT,
                            "expressions, blocks and calls are nested deeper than %d",
                            KILN_SCRIPT_MAX_DEPTH);
}

kiln_status kiln_script_spend(kiln_script_cx *cx, size_t n) {
    if (n <= (size_t)cx->steps_left) {
        cx->steps_left -= (int64_t)n;
        return KILN_OK;
    }
    return kiln_script_fail(cx, KILN_ERR_LIMIT,
                            "the code takes more than %d steps; does it have a loop "
                            "that does not end for these shapes?",
                            KILN_SCRIPT_MAX_STEPS);
}

static void set_name(kiln_script_cx *cx, kiln_script_frame *f, kiln_str name,
                     kiln_script_value v) {
    kiln_arena *const a = &cx->common.scratch;
    kiln_script_value *at = kiln_map_get(&f->names, name);
    if (at == NULL) {
        at = kiln_new(a, kiln_script_value);
        kiln_map_set(a, &f->names, name, at);
    }
    *at = v;
}

static kiln_status assign(kiln_script_cx *cx, kiln_script_frame *f,
                          const kiln_script_expr *to, kiln_script_value v) {
    kiln_script_value of;
    if (to->kind == KILN_SCRIPT_NAME) {
        set_name(cx, f, to->text, v);
        return KILN_OK;
    }
    if (to->kind != KILN_SCRIPT_ATTR)
        return kiln_script_fail(cx, KILN_ERR_UNSUPPORTED,
                                "only names and members are assigned to");
    KILN_TRY(kiln_script_eval(cx, f, to->arg[0], &of));
    if (of.kind != KILN_SCRIPT_V_OBJECT)
        return kiln_script_fail(cx, KILN_ERR_PARSE, "only objects have members");
    kiln_script_set_attr(cx, of.object, to->text, v);
    return KILN_OK;
}

/* A tuple or list, or a tensor along its first axis, to several names. */
static kiln_status unpack(kiln_script_cx *cx, kiln_script_frame *f,
                          const kiln_script_stmt *s, const kiln_script_value *v) {
    const bool is_list =
        v->kind == KILN_SCRIPT_V_TUPLE || v->kind == KILN_SCRIPT_V_LIST;
    if (!is_list || v->list->item.n != s->n_targets)
        return kiln_script_fail(cx, KILN_ERR_PARSE,
                                "%zu values are expected on the right, there are %zu",
                                s->n_targets, is_list ? v->list->item.n : 1);
    for (size_t i = 0; i < s->n_targets; i++)
        KILN_TRY(assign(cx, f, s->target[i], v->list->item.v[i]));
    return KILN_OK;
}

static kiln_status run_for(kiln_script_cx *cx, kiln_script_frame *f,
                           const kiln_script_stmt *s, outcome *o) {
    const kiln_script_expr *const e = s->value;
    kiln_script_value v;
    int64_t bounds[3] = {0, 0, 1};
    const bool is_range =
        e->kind == KILN_SCRIPT_CALL && e->arg[0]->kind == KILN_SCRIPT_NAME &&
        kiln_str_is(e->arg[0]->text, "range") && e->n >= 2 && e->n <= 4;
    if (is_range) {
        for (size_t i = 1; i < e->n; i++) {
            KILN_TRY(kiln_script_eval(cx, f, e->arg[i], &v));
            if (v.kind != KILN_SCRIPT_V_INT)
                return kiln_script_fail(cx, KILN_ERR_PARSE,
                                        "a range is of integers only");
            bounds[e->n == 2 ? 1 : i - 1] = v.i;
        }
        if (bounds[2] == 0)
            return kiln_script_fail(cx, KILN_ERR_PARSE, "a range must have a step");
        for (int64_t i = bounds[0]; bounds[2] > 0 ? i < bounds[1] : i > bounds[1];) {
            KILN_TRY(kiln_script_step(cx, s->line));
            set_name(cx, f, s->target[0]->text, kiln_script_of_int(i));
            KILN_TRY(run_block(cx, f, &s->body, o));
            if (o->is_return || __builtin_add_overflow(i, bounds[2], &i))
                break;
        }
        return KILN_OK;
    }
    KILN_TRY(kiln_script_eval(cx, f, e, &v));
    if (v.kind != KILN_SCRIPT_V_LIST && v.kind != KILN_SCRIPT_V_TUPLE)
        return kiln_script_fail(cx, KILN_ERR_UNSUPPORTED,
                                "loops are over ranges and lists only");
    for (size_t i = 0; i < v.list->item.n && !o->is_return; i++) {
        KILN_TRY(kiln_script_step(cx, s->line));
        set_name(cx, f, s->target[0]->text, v.list->item.v[i]);
        KILN_TRY(run_block(cx, f, &s->body, o));
    }
    return KILN_OK;
}

static kiln_status run_while(kiln_script_cx *cx, kiln_script_frame *f,
                             const kiln_script_stmt *s, outcome *o) {
    while (!o->is_return) {
        kiln_script_value v;
        bool goes_on;
        KILN_TRY(kiln_script_step(cx, s->line));
        KILN_TRY(kiln_script_eval(cx, f, s->value, &v));
        KILN_TRY(kiln_script_truth(cx, &v, &goes_on));
        if (!goes_on)
            break;
        KILN_TRY(run_block(cx, f, &s->body, o));
    }
    return KILN_OK;
}

static kiln_status run_stmt(kiln_script_cx *cx, kiln_script_frame *f,
                            const kiln_script_stmt *s, outcome *o) {
    kiln_script_value v = kiln_script_none();
    bool is_true = false;
    KILN_TRY(kiln_script_step(cx, s->line));
    switch (s->kind) {
    case KILN_SCRIPT_ASSIGN:
        KILN_TRY(kiln_script_eval(cx, f, s->value, &v));
        return s->is_unpacking || s->n_targets > 1 ? unpack(cx, f, s, &v)
                                                   : assign(cx, f, s->target[0], v);
    case KILN_SCRIPT_DO:
        return kiln_script_eval(cx, f, s->value, &v);
    case KILN_SCRIPT_IF:
        KILN_TRY(kiln_script_eval(cx, f, s->value, &v));
        KILN_TRY(kiln_script_truth(cx, &v, &is_true));
        return run_block(cx, f, is_true ? &s->body : &s->orelse, o);
    case KILN_SCRIPT_FOR:
        return run_for(cx, f, s, o);
    case KILN_SCRIPT_WHILE:
        return run_while(cx, f, s, o);
    case KILN_SCRIPT_RETURN:
        if (s->value != NULL)
            KILN_TRY(kiln_script_eval(cx, f, s->value, &v));
        *o = (outcome){true, v};
        return KILN_OK;
    case KILN_SCRIPT_RAISE:
        break;
    }
    return kiln_script_fail(cx, KILN_ERR_SHAPE,
                            "the model refuses these inputs (it raises an exception)");
}

static kiln_status run_block(kiln_script_cx *cx, kiln_script_frame *f,
                             const kiln_script_block *b, outcome *o) {
    KILN_TRY(kiln_script_enter(cx));
    for (size_t i = 0; i < b->n && !o->is_return; i++)
        KILN_TRY(run_stmt(cx, f, &b->stmt[i], o));
    KILN_ASSERT(cx->depth > 0, "a block ends that nobody entered");
    cx->depth--;
    return KILN_OK;
}

/* ---- functions ------------------------------------------------------------------- */

static size_t find_param(const kiln_script_function *fn, kiln_str name) {
    size_t i = 0;
    while (i < fn->n_params && !kiln_str_eq(fn->param[i].name, name))
        i++;
    return i;
}

static kiln_status bind_args(kiln_script_cx *cx, kiln_script_frame *f,
                             const kiln_script_function *fn,
                             const kiln_script_args *args) {
    for (size_t i = 0; i < args->n; i++) {
        const size_t at = args->name[i].p != NULL ? find_param(fn, args->name[i]) : i;
        if (at >= fn->n_params)
            return kiln_script_fail(
                cx, KILN_ERR_PARSE, "'%s' has %zu parameters, the call does not fit",
                kiln_import_show(&cx->common, fn->name), fn->n_params);
        set_name(cx, f, fn->param[at].name, args->v[i]);
    }
    for (size_t i = 0; i < fn->n_params; i++) {
        kiln_script_value v;
        if (kiln_map_has(&f->names, fn->param[i].name))
            continue;
        if (fn->param[i].otherwise == NULL)
            return kiln_script_fail(cx, KILN_ERR_PARSE,
                                    "argument '%s' of '%s' is missing",
                                    kiln_import_show(&cx->common, fn->param[i].name),
                                    kiln_import_show(&cx->common, fn->name));
        KILN_TRY(kiln_script_eval(cx, f, fn->param[i].otherwise, &v));
        set_name(cx, f, fn->param[i].name, v);
    }
    return KILN_OK;
}

/* The innermost functions that fail are named, with their lines. */
static void note_place(kiln_script_cx *cx, const kiln_script_function *fn) {
    enum { SHOWN_CALLS = 4 };
    if (cx->is_again || cx->n_noted++ >= SHOWN_CALLS)
        return;
    kiln_note(cx->common.err, "running '%s' (%s, line %d)",
              kiln_import_show(&cx->common, fn->name), fn->file, cx->line);
}

kiln_status kiln_script_run(kiln_script_cx *cx, const kiln_script_function *fn,
                            const kiln_script_args *args, kiln_script_value *out) {
    const kiln_script_function *const around = cx->in;
    const int line = cx->line;
    kiln_script_frame f = {.names = {.n_slots = 0}};
    outcome o = {.value = kiln_script_none()};
    if (cx->n_calls >= KILN_SCRIPT_MAX_CALLS)
        return kiln_script_fail(
            cx, KILN_ERR_LIMIT,
            "calls are nested deeper than %d; does '%s' call itself?",
            KILN_SCRIPT_MAX_CALLS, kiln_import_show(&cx->common, fn->name));
    cx->n_calls++;
    cx->in = fn;
    kiln_status st = bind_args(cx, &f, fn, args);
    if (st == KILN_OK)
        st = run_block(cx, &f, &fn->body, &o);
    if (st != KILN_OK)
        note_place(cx, fn);
    cx->in = around;
    cx->line = line;
    cx->n_calls--;
    if (st == KILN_OK)
        *out = o.value;
    return st;
}
