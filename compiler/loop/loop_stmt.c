/* Statements: building and rewriting. */
#include "compiler/loop/loop.h"

#include <inttypes.h>

/* ---- statements ---------------------------------------------------------------- */

static kiln_stmt *make(kiln_arena *a, kiln_stmt_kind kind) {
    kiln_stmt *s = kiln_new(a, kiln_stmt);
    s->kind = kind;
    return s;
}

static bool is_nothing(const kiln_stmt *s) {
    return s->kind == KILN_STMT_SEQ && s->u.seq.n == 0;
}

const kiln_stmt *kiln_s_nothing(kiln_arena *a) { return make(a, KILN_STMT_SEQ); }

const kiln_stmt *kiln_s_for(kiln_arena *a, const kiln_var *v, const kiln_expr *min,
                            const kiln_expr *extent, kiln_loop_kind kind,
                            const char *tag, const kiln_stmt *body) {
    KILN_ASSERT(min->dtype == v->dtype && extent->dtype == v->dtype &&
                    min->lanes == 1 && extent->lanes == 1,
                "loop '%s' of %s runs over %s", v->name, kiln_dtype_name(v->dtype),
                kiln_dtype_name(extent->dtype));
    int64_t n = 0;
    if (is_nothing(body) || (kiln_x_is_int(extent, &n) && n <= 0))
        return kiln_s_nothing(a);
    kiln_stmt *s = make(a, KILN_STMT_FOR);
    s->u.loop.var = v;
    s->u.loop.min = min;
    s->u.loop.extent = extent;
    s->u.loop.kind = kind;
    s->u.loop.tag = tag;
    s->u.loop.body = body;
    return s;
}

const kiln_stmt *kiln_s_seq(kiln_arena *a, const kiln_stmt *const *stmt, int n) {
    int total = 0;
    for (int i = 0; i < n; i++)
        total += stmt[i]->kind == KILN_STMT_SEQ ? stmt[i]->u.seq.n : 1;
    const kiln_stmt **flat = kiln_array(a, const kiln_stmt *, total);
    int k = 0;
    for (int i = 0; i < n; i++) {
        if (stmt[i]->kind != KILN_STMT_SEQ) {
            flat[k++] = stmt[i];
            continue;
        }
        for (int j = 0; j < stmt[i]->u.seq.n; j++)
            flat[k++] = stmt[i]->u.seq.stmt[j];
    }
    if (total == 1)
        return flat[0];
    kiln_stmt *s = make(a, KILN_STMT_SEQ);
    s->u.seq.stmt = flat;
    s->u.seq.n = total;
    return s;
}

const kiln_stmt *kiln_s_if(kiln_arena *a, const kiln_expr *cond, const kiln_stmt *then,
                           const kiln_stmt *otherwise) {
    KILN_ASSERT(cond->dtype == KILN_BOOL && cond->lanes == 1,
                "a branch on %d lanes of %s", cond->lanes,
                kiln_dtype_name(cond->dtype));
    int64_t v = 0;
    if (kiln_x_is_int(cond, &v))
        return v != 0 ? then : (otherwise != NULL ? otherwise : kiln_s_nothing(a));
    if (otherwise != NULL && is_nothing(otherwise))
        otherwise = NULL;
    if (is_nothing(then) && otherwise == NULL)
        return then;
    kiln_stmt *s = make(a, KILN_STMT_IF);
    s->u.branch.cond = cond;
    s->u.branch.then = then;
    s->u.branch.otherwise = otherwise;
    return s;
}

const kiln_stmt *kiln_s_let(kiln_arena *a, const kiln_var *v, const kiln_expr *value,
                            const kiln_stmt *body) {
    KILN_ASSERT(value->dtype == v->dtype && value->lanes == v->lanes,
                "'%s' of %s is let be %s", v->name, kiln_dtype_name(v->dtype),
                kiln_dtype_name(value->dtype));
    if (is_nothing(body))
        return body;
    kiln_stmt *s = make(a, KILN_STMT_LET);
    s->u.let.var = v;
    s->u.let.value = value;
    s->u.let.body = body;
    return s;
}

const kiln_stmt *kiln_s_alloc(kiln_arena *a, const kiln_buffer *b,
                              const kiln_stmt *body) {
    KILN_ASSERT(b->arg < 0, "buffer '%s' is an argument: it is not allocated", b->name);
    if (is_nothing(body))
        return body;
    kiln_stmt *s = make(a, KILN_STMT_ALLOC);
    s->u.alloc.buffer = b;
    s->u.alloc.body = body;
    return s;
}

const kiln_stmt *kiln_s_store(kiln_arena *a, const kiln_buffer *b,
                              const kiln_expr *const *index, const kiln_expr *value,
                              const kiln_expr *mask) {
    KILN_ASSERT(value->dtype == b->dtype, "buffer '%s' of %s stores %s", b->name,
                kiln_dtype_name(b->dtype), kiln_dtype_name(value->dtype));
    kiln_stmt *s = make(a, KILN_STMT_STORE);
    int lanes = value->lanes;
    for (int i = 0; i < b->rank; i++)
        lanes = index[i]->lanes > lanes ? index[i]->lanes : lanes;
    s->u.store.buffer = b;
    s->u.store.index = kiln_array(a, const kiln_expr *, b->rank);
    for (int i = 0; i < b->rank; i++)
        s->u.store.index[i] = kiln_x_broadcast(a, index[i], lanes);
    s->u.store.value = kiln_x_broadcast(a, value, lanes);
    s->u.store.mask = mask != NULL ? kiln_x_broadcast(a, mask, lanes) : NULL;
    return s;
}

const kiln_stmt *kiln_s_eval(kiln_arena *a, const kiln_expr *e) {
    kiln_stmt *s = make(a, KILN_STMT_EVAL);
    s->u.eval = e;
    return s;
}

const kiln_stmt *kiln_s_barrier(kiln_arena *a, kiln_scope scope) {
    KILN_ASSERT(scope == KILN_SCOPE_SHARED || scope == KILN_SCOPE_GLOBAL,
                "threads share no memory of scope %d", (int)scope);
    kiln_stmt *s = make(a, KILN_STMT_BARRIER);
    s->u.barrier = scope;
    return s;
}

static const kiln_stmt *make_call(kiln_arena *a, kiln_stmt_kind kind,
                                  const kiln_program *p, const kiln_expr *const *arg,
                                  const kiln_expr *const *grid) {
    kiln_stmt *s = make(a, kind);
    const int n = p->n_args + p->n_params;
    s->u.call.program = p;
    s->u.call.arg = kiln_array(a, const kiln_expr *, n);
    for (int i = 0; i < n; i++) {
        KILN_ASSERT(i >= p->n_args || arg[i]->kind == KILN_EXPR_LOAD,
                    "argument %d of '%s' is no place in a buffer", i, p->name);
        s->u.call.arg[i] = arg[i];
    }
    if (kind == KILN_STMT_LAUNCH) {
        s->u.call.grid = kiln_array(a, const kiln_expr *, KILN_N_AXES);
        for (int i = 0; i < KILN_N_AXES; i++)
            s->u.call.grid[i] = grid[i];
    }
    return s;
}

const kiln_stmt *kiln_s_call(kiln_arena *a, const kiln_program *p,
                             const kiln_expr *const *arg) {
    return make_call(a, KILN_STMT_CALL, p, arg, NULL);
}

const kiln_stmt *kiln_s_launch(kiln_arena *a, const kiln_program *p,
                               const kiln_expr *const *arg,
                               const kiln_expr *const *grid) {
    return make_call(a, KILN_STMT_LAUNCH, p, arg, grid);
}

/* to[i] = from[i] */
static const kiln_program *copying(kiln_arena *a, const kiln_buffer *to,
                                   const kiln_buffer *from, int64_t n) {
    kiln_program *p = kiln_new(a, kiln_program);
    kiln_buffer *in = kiln_buffer_new(a, "from", from->dtype, 1, &n, KILN_SCOPE_GLOBAL);
    kiln_buffer *out = kiln_buffer_new(a, "to", to->dtype, 1, &n, KILN_SCOPE_GLOBAL);
    const kiln_var *i = kiln_var_new(a, "i", KILN_I64);
    const kiln_expr *at = kiln_x_ref(a, i);
    in->arg = 0;
    out->arg = 1;
    out->is_written = true;
    p->name = "copy";
    p->arena = a;
    p->arg = kiln_array(a, const kiln_buffer *, 2);
    p->arg[p->n_args++] = in;
    p->arg[p->n_args++] = out;
    p->n_inputs = 1;
    p->is_flat = true;
    p->body =
        kiln_s_for(a, i, kiln_x_index(a, 0), kiln_x_index(a, n), KILN_LOOP_SERIAL, NULL,
                   kiln_s_store(a, out, &at, kiln_x_load(a, in, &at, 1, NULL), NULL));
    return p;
}

const kiln_stmt *kiln_s_copy(kiln_arena *a, const kiln_expr *to, const kiln_expr *from,
                             int64_t n) {
    KILN_ASSERT(to->kind == KILN_EXPR_LOAD && from->kind == KILN_EXPR_LOAD && n > 0,
                "%" PRId64 " elements are copied between what are no places", n);
    KILN_ASSERT(to->dtype == from->dtype, "%s is copied to %s",
                kiln_dtype_name(from->dtype), kiln_dtype_name(to->dtype));
    const kiln_expr *arg[] = {from, to};
    return make_call(a, KILN_STMT_COPY,
                     copying(a, to->u.load.buffer, from->u.load.buffer, n), arg, NULL);
}

bool kiln_stmt_is_call(const kiln_stmt *s) {
    return s->kind == KILN_STMT_CALL || s->kind == KILN_STMT_LAUNCH ||
           s->kind == KILN_STMT_COPY;
}

const kiln_stmt *kiln_s_attr(kiln_arena *a, kiln_attr_key key, const char *text,
                             const kiln_buffer *b, const kiln_expr *value,
                             const kiln_stmt *body) {
    if (is_nothing(body) && key != KILN_STMT_ATTR_ASYNC &&
        key != KILN_STMT_ATTR_PRODUCTS) /* barriers count empty groups */
        return body;
    kiln_stmt *s = make(a, KILN_STMT_ATTR);
    s->u.attr.key = key;
    s->u.attr.text = text;
    s->u.attr.buffer = b;
    s->u.attr.value = value;
    s->u.attr.body = body;
    return s;
}

/* ---- walking ------------------------------------------------------------------- */

const kiln_stmt *kiln_stmt_part(const kiln_stmt *s, int i) {
    switch (s->kind) {
    case KILN_STMT_FOR:
        return i == 0 ? s->u.loop.body : NULL;
    case KILN_STMT_SEQ:
        return i < s->u.seq.n ? s->u.seq.stmt[i] : NULL;
    case KILN_STMT_IF:
        return i == 0 ? s->u.branch.then : (i == 1 ? s->u.branch.otherwise : NULL);
    case KILN_STMT_LET:
        return i == 0 ? s->u.let.body : NULL;
    case KILN_STMT_ALLOC:
        return i == 0 ? s->u.alloc.body : NULL;
    case KILN_STMT_ATTR:
        return i == 0 ? s->u.attr.body : NULL;
    case KILN_STMT_STORE:
    case KILN_STMT_EVAL:
    case KILN_STMT_BARRIER:
    case KILN_STMT_CALL:
    case KILN_STMT_COPY:
    case KILN_STMT_LAUNCH:
        return NULL;
    }
    return NULL;
}

static int n_call_args(const kiln_stmt *s) {
    return s->u.call.program->n_args + s->u.call.program->n_params;
}

void kiln_stmt_exprs(const kiln_stmt *s, void (*fn)(void *user, const kiln_expr *e),
                     void *user) {
    switch (s->kind) {
    case KILN_STMT_FOR:
        fn(user, s->u.loop.min);
        fn(user, s->u.loop.extent);
        return;
    case KILN_STMT_IF:
        fn(user, s->u.branch.cond);
        return;
    case KILN_STMT_LET:
        fn(user, s->u.let.value);
        return;
    case KILN_STMT_STORE:
        for (int i = 0; i < s->u.store.buffer->rank; i++)
            fn(user, s->u.store.index[i]);
        fn(user, s->u.store.value);
        if (s->u.store.mask != NULL)
            fn(user, s->u.store.mask);
        return;
    case KILN_STMT_EVAL:
        fn(user, s->u.eval);
        return;
    case KILN_STMT_ATTR:
        if (s->u.attr.value != NULL)
            fn(user, s->u.attr.value);
        return;
    case KILN_STMT_CALL:
    case KILN_STMT_COPY:
    case KILN_STMT_LAUNCH:
        for (int i = 0; i < n_call_args(s); i++)
            fn(user, s->u.call.arg[i]);
        for (int i = 0; i < KILN_N_AXES && s->u.call.grid != NULL; i++)
            fn(user, s->u.call.grid[i]);
        return;
    case KILN_STMT_SEQ:
    case KILN_STMT_ALLOC:
    case KILN_STMT_BARRIER:
        return;
    }
}

void kiln_stmt_writes(const kiln_stmt *s, void (*fn)(void *user, const kiln_buffer *b),
                      void *user) {
    if (s->kind == KILN_STMT_STORE)
        fn(user, s->u.store.buffer);
    if (!kiln_stmt_is_call(s))
        return;
    for (int i = 0; i < s->u.call.program->n_args; i++)
        if (kiln_program_effect(s->u.call.program, i).writes)
            fn(user, s->u.call.arg[i]->u.load.buffer);
}

typedef struct effect_search {
    const kiln_buffer *of;
    kiln_effect found;
    bool is_filled; /* what is loaded from here on, the program itself has stored */
} effect_search;

static void find_effect_load(void *user, const kiln_expr *e) {
    effect_search *x = user;
    if (e->kind == KILN_EXPR_LOAD && e->u.load.buffer == x->of && !x->is_filled)
        x->found.reads = true;
}

static void find_effect_expr(void *user, const kiln_expr *e) {
    kiln_expr_visit(e, find_effect_load, user);
}

static void find_effect_write(void *user, const kiln_buffer *b) {
    effect_search *x = user;
    x->found.writes = x->found.writes || b == x->of;
}

static void find_call_effect(effect_search *x, const kiln_stmt *s) {
    for (int i = 0; i < n_call_args(s); i++) {
        const kiln_expr *e = s->u.call.arg[i];
        const bool is_place = i < s->u.call.program->n_args;
        if (is_place && e->u.load.buffer == x->of && !x->is_filled &&
            kiln_program_effect(s->u.call.program, i).reads)
            x->found.reads = true;
        for (int k = 0; is_place && k < e->n_arg; k++)
            find_effect_expr(x, e->arg[k]);
        if (!is_place)
            find_effect_expr(x, e);
    }
}

static void find_effect(effect_search *x, const kiln_stmt *s, bool is_sure) {
    const kiln_stmt *part = NULL;
    int64_t n = 0;
    if (kiln_stmt_is_call(s))
        find_call_effect(x, s);
    else
        kiln_stmt_exprs(s, find_effect_expr, x);
    kiln_stmt_writes(s, find_effect_write, x);
    is_sure =
        is_sure && s->kind != KILN_STMT_IF &&
        (s->kind != KILN_STMT_FOR || (kiln_x_is_int(s->u.loop.extent, &n) && n > 0));
    if (s->kind == KILN_STMT_STORE && is_sure && s->u.store.buffer == x->of)
        x->is_filled = true;
    for (int i = 0; (part = kiln_stmt_part(s, i)) != NULL; i++)
        find_effect(x, part, is_sure);
}

kiln_effect kiln_program_effect(const kiln_program *p, int arg) {
    effect_search x = {.of = p->arg[arg]};
    find_effect(&x, p->body, true);
    return x.found;
}

void kiln_stmt_visit(const kiln_stmt *s, void (*fn)(void *user, const kiln_stmt *s),
                     void *user) {
    const kiln_stmt *part = NULL;
    fn(user, s);
    for (int i = 0; (part = kiln_stmt_part(s, i)) != NULL; i++)
        kiln_stmt_visit(part, fn, user);
}

/* ---- rewriting ----------------------------------------------------------------- */

static const kiln_expr *expr(kiln_arena *a, const kiln_expr *e,
                             const kiln_stmt_rewrite *r) {
    return e == NULL || r->expr == NULL ? e : r->expr(r->user, a, e);
}

static const kiln_stmt *part(kiln_arena *a, const kiln_stmt *s,
                             const kiln_stmt_rewrite *r) {
    return s == NULL || r->stmt == NULL ? s : r->stmt(r->user, a, s);
}

static const kiln_stmt *map_store(kiln_arena *a, const kiln_stmt *s,
                                  const kiln_stmt_rewrite *r) {
    const kiln_expr *index[KILN_MAX_AXES];
    const kiln_buffer *b = s->u.store.buffer;
    bool changed = false;
    for (int i = 0; i < b->rank; i++) {
        index[i] = expr(a, s->u.store.index[i], r);
        changed = changed || index[i] != s->u.store.index[i];
    }
    const kiln_expr *value = expr(a, s->u.store.value, r),
                    *mask = expr(a, s->u.store.mask, r);
    if (!changed && value == s->u.store.value && mask == s->u.store.mask)
        return s;
    return kiln_s_store(a, b, index, value, mask);
}

static const kiln_stmt *map_seq(kiln_arena *a, const kiln_stmt *s,
                                const kiln_stmt_rewrite *r) {
    const int n = s->u.seq.n;
    const kiln_stmt **made = kiln_array(a, const kiln_stmt *, n);
    bool changed = false;
    for (int i = 0; i < n; i++) {
        made[i] = part(a, s->u.seq.stmt[i], r);
        changed = changed || made[i] != s->u.seq.stmt[i];
    }
    return changed ? kiln_s_seq(a, made, n) : s;
}

static const kiln_stmt *map_for(kiln_arena *a, const kiln_stmt *s,
                                const kiln_stmt_rewrite *r) {
    const kiln_expr *min = expr(a, s->u.loop.min, r),
                    *extent = expr(a, s->u.loop.extent, r);
    const kiln_stmt *body = part(a, s->u.loop.body, r);
    if (min == s->u.loop.min && extent == s->u.loop.extent && body == s->u.loop.body)
        return s;
    return kiln_s_for(a, s->u.loop.var, min, extent, s->u.loop.kind, s->u.loop.tag,
                      body);
}

static const kiln_stmt *map_if(kiln_arena *a, const kiln_stmt *s,
                               const kiln_stmt_rewrite *r) {
    const kiln_expr *cond = expr(a, s->u.branch.cond, r);
    const kiln_stmt *then = part(a, s->u.branch.then, r);
    const kiln_stmt *otherwise = part(a, s->u.branch.otherwise, r);
    if (cond == s->u.branch.cond && then == s->u.branch.then &&
        otherwise == s->u.branch.otherwise)
        return s;
    return kiln_s_if(a, cond, then, otherwise);
}

static const kiln_stmt *map_call(kiln_arena *a, const kiln_stmt *s,
                                 const kiln_stmt_rewrite *r) {
    const int n = n_call_args(s);
    const kiln_expr **arg = kiln_array(a, const kiln_expr *, n);
    const kiln_expr *grid[KILN_N_AXES];
    bool changed = false;
    for (int i = 0; i < n; i++) {
        arg[i] = expr(a, s->u.call.arg[i], r);
        changed = changed || arg[i] != s->u.call.arg[i];
    }
    for (int i = 0; i < KILN_N_AXES && s->u.call.grid != NULL; i++) {
        grid[i] = expr(a, s->u.call.grid[i], r);
        changed = changed || grid[i] != s->u.call.grid[i];
    }
    return changed ? make_call(a, s->kind, s->u.call.program, arg, grid) : s;
}

const kiln_stmt *kiln_stmt_map(kiln_arena *a, const kiln_stmt *s,
                               const kiln_stmt_rewrite *r) {
    const kiln_expr *e = NULL;
    const kiln_stmt *body = NULL;
    switch (s->kind) {
    case KILN_STMT_FOR:
        return map_for(a, s, r);
    case KILN_STMT_SEQ:
        return map_seq(a, s, r);
    case KILN_STMT_IF:
        return map_if(a, s, r);
    case KILN_STMT_STORE:
        return map_store(a, s, r);
    case KILN_STMT_LET:
        e = expr(a, s->u.let.value, r);
        body = part(a, s->u.let.body, r);
        return e == s->u.let.value && body == s->u.let.body
                   ? s
                   : kiln_s_let(a, s->u.let.var, e, body);
    case KILN_STMT_ALLOC:
        body = part(a, s->u.alloc.body, r);
        return body == s->u.alloc.body ? s : kiln_s_alloc(a, s->u.alloc.buffer, body);
    case KILN_STMT_EVAL:
        e = expr(a, s->u.eval, r);
        return e == s->u.eval ? s : kiln_s_eval(a, e);
    case KILN_STMT_ATTR:
        e = expr(a, s->u.attr.value, r);
        body = part(a, s->u.attr.body, r);
        return e == s->u.attr.value && body == s->u.attr.body
                   ? s
                   : kiln_s_attr(a, s->u.attr.key, s->u.attr.text, s->u.attr.buffer, e,
                                 body);
    case KILN_STMT_CALL:
    case KILN_STMT_COPY:
    case KILN_STMT_LAUNCH:
        return map_call(a, s, r);
    case KILN_STMT_BARRIER:
        return s;
    }
    return s;
}

static const kiln_stmt *deep_stmt(void *user, kiln_arena *a, const kiln_stmt *s) {
    return kiln_stmt_rewritten(a, s, user);
}

static const kiln_expr *deep_expr(void *user, kiln_arena *a, const kiln_expr *e) {
    const kiln_stmt_rewrite *r = user;
    return kiln_expr_rewrite(a, e, r->expr, r->user);
}

const kiln_stmt *kiln_stmt_rewritten(kiln_arena *a, const kiln_stmt *s,
                                     const kiln_stmt_rewrite *r) {
    kiln_stmt_rewrite each = *r;
    s = kiln_stmt_map(a, s,
                      &(kiln_stmt_rewrite){.stmt = deep_stmt,
                                           .expr = r->expr != NULL ? deep_expr : NULL,
                                           .user = &each});
    return r->stmt != NULL ? r->stmt(r->user, a, s) : s;
}

const kiln_stmt *kiln_stmt_substitute(kiln_arena *a, const kiln_stmt *s,
                                      const kiln_subst *m, size_t n) {
    kiln_subst_list list = {m, n};
    return kiln_stmt_rewritten(
        a, s, &(kiln_stmt_rewrite){.expr = kiln_subst_var, .user = &list});
}
