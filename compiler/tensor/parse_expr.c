/* Expressions out of text (docs/program-text.md): operators by precedence, types
 * checked before the builders assert them. Nesting and height are limited, so that
 * whoever walks the result needs no care. */
#include "compiler/tensor/text.h"

/* An expression and the longest way down in it. */
typedef struct part {
    const kiln_expr *e;
    int height;
} part;

typedef struct parts {
    KILN_VEC(const kiln_expr *) list;
    int height; /* of the highest */
} parts;

static kiln_status binary(kiln_expr_reader *r, int level, part *out);

const char *kiln_text_shown(kiln_expr_reader *r, const char *name) {
    return kiln_str_printable(r->lex.arena, kiln_str_from(name), 60);
}

kiln_status kiln_text_enter(kiln_expr_reader *r) {
    if (r->depth == KILN_TEXT_MAX_DEPTH)
        return kiln_lex_fail(&r->lex, kiln_lex_here(&r->lex), KILN_ERR_LIMIT,
                             "text may nest %d deep", KILN_TEXT_MAX_DEPTH);
    r->depth++;
    return KILN_OK;
}

void kiln_text_leave(kiln_expr_reader *r) { r->depth--; }

/* ---- lists ----------------------------------------------------------------------- */

/* Expressions with commas between, up to `end`, which is taken. */
static kiln_status list_until(kiln_expr_reader *r, const char *end, parts *out) {
    *out = (parts){.height = 0};
    if (kiln_lex_accept(&r->lex, end))
        return KILN_OK;
    KILN_TRY(kiln_text_enter(r));
    do {
        part x;
        KILN_TRY(binary(r, KILN_LEVEL_OR, &x));
        kiln_vec_push(r->lex.arena, &out->list, x.e);
        out->height = x.height > out->height ? x.height : out->height;
    } while (kiln_lex_accept(&r->lex, ","));
    kiln_text_leave(r);
    return kiln_lex_expect(&r->lex, end);
}

static kiln_status set(kiln_expr_reader *r, const char *at, const kiln_expr *e,
                       int height, part *out) {
    if (height >= KILN_TEXT_MAX_HEIGHT)
        return kiln_lex_fail(&r->lex, at, KILN_ERR_LIMIT,
                             "an expression may be %d operations high",
                             KILN_TEXT_MAX_HEIGHT);
    *out = (part){e, height + 1};
    return KILN_OK;
}

/* Operands of one dtype and as many lanes each. */
static kiln_status check_alike(kiln_expr_reader *r, const char *at, const char *what,
                               const kiln_expr *x, const kiln_expr *y) {
    if (x->dtype != y->dtype)
        return kiln_lex_fail(&r->lex, at, KILN_ERR_PARSE,
                             "operands of '%s' must have one dtype, have %s and %s",
                             what, kiln_dtype_name(x->dtype),
                             kiln_dtype_name(y->dtype));
    if (x->lanes != y->lanes)
        return kiln_lex_fail(&r->lex, at, KILN_ERR_PARSE,
                             "operands of '%s' must have as many lanes each, have %d "
                             "and %d",
                             what, x->lanes, y->lanes);
    return KILN_OK;
}

static kiln_status check_count(kiln_expr_reader *r, const char *at, const char *what,
                               const parts *arg, size_t n) {
    if (arg->list.n == n)
        return KILN_OK;
    return kiln_lex_fail(&r->lex, at, KILN_ERR_PARSE,
                         "'%s' must have %zu arguments, has %zu", what, n, arg->list.n);
}

/* ---- calls ----------------------------------------------------------------------- */

static kiln_status call_cast(kiln_expr_reader *r, const char *at, kiln_dtype dtype,
                             part *out) {
    parts arg;
    const kiln_expr *literal;
    KILN_TRY(kiln_text_literal(r, dtype, &literal));
    if (literal != NULL) {
        *out = (part){literal, 1};
        return kiln_lex_expect(&r->lex, ")");
    }
    KILN_TRY(list_until(r, ")", &arg));
    KILN_TRY(check_count(r, at, kiln_dtype_name(dtype), &arg, 1));
    return set(r, at, kiln_x_cast(r->lex.arena, dtype, arg.list.v[0]), arg.height, out);
}

static kiln_status call_bits(kiln_expr_reader *r, const char *at, kiln_dtype dtype,
                             part *out) {
    parts arg;
    KILN_TRY(list_until(r, ")", &arg));
    KILN_TRY(check_count(r, at, "bits", &arg, 1));
    const kiln_dtype from = arg.list.v[0]->dtype;
    if (kiln_dtype_bytes(from) != kiln_dtype_bytes(dtype))
        return kiln_lex_fail(&r->lex, at, KILN_ERR_PARSE,
                             "bits of %s must be taken from as many, not from %s",
                             kiln_dtype_name(dtype), kiln_dtype_name(from));
    return set(r, at, kiln_x_bitcast(r->lex.arena, dtype, arg.list.v[0]), arg.height,
               out);
}

static kiln_status call_select(kiln_expr_reader *r, const char *at, part *out) {
    parts arg;
    KILN_TRY(list_until(r, ")", &arg));
    KILN_TRY(check_count(r, at, "select", &arg, 3));
    const kiln_expr *const *x = arg.list.v;
    if (x[0]->dtype != KILN_BOOL || x[0]->lanes != x[1]->lanes)
        return kiln_lex_fail(&r->lex, at, KILN_ERR_PARSE,
                             "'select' must choose by bool of %d lanes, has %s of %d",
                             x[1]->lanes, kiln_dtype_name(x[0]->dtype), x[0]->lanes);
    KILN_TRY(check_alike(r, at, "select", x[1], x[2]));
    return set(r, at, kiln_x_select(r->lex.arena, x[0], x[1], x[2]), arg.height, out);
}

static kiln_status call_extreme(kiln_expr_reader *r, const char *at,
                                kiln_expr_kind kind, part *out) {
    const char *const what = kind == KILN_EXPR_MIN ? "min" : "max";
    parts arg;
    KILN_TRY(list_until(r, ")", &arg));
    KILN_TRY(check_count(r, at, what, &arg, 2));
    KILN_TRY(check_alike(r, at, what, arg.list.v[0], arg.list.v[1]));
    return set(r, at, kiln_x_binary(r->lex.arena, kind, arg.list.v[0], arg.list.v[1]),
               arg.height, out);
}

/* dot4(sums, a, b): i32, and bytes of four times the lanes. */
static kiln_status check_dot4(kiln_expr_reader *r, const char *at, const parts *arg) {
    const kiln_expr *const *x = arg->list.v;
    bool fits = x[0]->dtype == KILN_I32;
    for (int k = 1; k < 3; k++)
        fits = fits && (x[k]->dtype == KILN_I8 || x[k]->dtype == KILN_U8) &&
               x[k]->lanes == 4 * x[0]->lanes;
    if (fits)
        return KILN_OK;
    return kiln_lex_fail(&r->lex, at, KILN_ERR_PARSE,
                         "'dot4' must add bytes of 4 times the lanes to i32");
}

static kiln_status call_intrinsic(kiln_expr_reader *r, const char *at, kiln_intrin i,
                                  part *out) {
    const kiln_intrin_info *const info = kiln_intrin_get(i);
    parts arg;
    KILN_TRY(list_until(r, ")", &arg));
    KILN_TRY(check_count(r, at, info->name, &arg, (size_t)info->n_args));
    if (i == KILN_INTRIN_dot4)
        KILN_TRY(check_dot4(r, at, &arg));
    for (size_t k = 1; i != KILN_INTRIN_dot4 && k < arg.list.n; k++)
        KILN_TRY(check_alike(r, at, info->name, arg.list.v[0], arg.list.v[k]));
    return set(r, at, kiln_x_call(r->lex.arena, i, arg.list.v), arg.height, out);
}

/* ---- vectors --------------------------------------------------------------------- */

static kiln_status check_scalar(kiln_expr_reader *r, const char *at, const char *what,
                                const kiln_expr *e) {
    if (e->lanes == 1)
        return KILN_OK;
    return kiln_lex_fail(&r->lex, at, KILN_ERR_PARSE,
                         "'%s' must have arguments of one lane, has %d", what,
                         e->lanes);
}

/* ramp(base, stride, lanes) */
static kiln_status call_ramp(kiln_expr_reader *r, const char *at, part *out) {
    parts arg;
    int64_t lanes = 0;
    KILN_TRY(list_until(r, ")", &arg));
    KILN_TRY(check_count(r, at, "ramp", &arg, 3));
    const kiln_expr *const *x = arg.list.v;
    if (!kiln_x_is_int(x[2], &lanes) || lanes < 1 || lanes > KILN_MAX_LANES)
        return kiln_lex_fail(&r->lex, at, KILN_ERR_PARSE,
                             "'ramp' must have 1 to %d lanes", KILN_MAX_LANES);
    KILN_TRY(check_alike(r, at, "ramp", x[0], x[1]));
    KILN_TRY(check_scalar(r, at, "ramp", x[0]));
    return set(r, at, kiln_x_ramp(r->lex.arena, x[0], x[1], (int)lanes), arg.height,
               out);
}

static kiln_status call_broadcast(kiln_expr_reader *r, const char *at, uint64_t lanes,
                                  part *out) {
    parts arg;
    KILN_TRY(list_until(r, ")", &arg));
    KILN_TRY(check_count(r, at, "x", &arg, 1));
    KILN_TRY(check_scalar(r, at, "x", arg.list.v[0]));
    if (lanes < 1 || lanes > KILN_MAX_LANES)
        return kiln_lex_fail(&r->lex, at, KILN_ERR_PARSE, "'x' must have 1 to %d lanes",
                             KILN_MAX_LANES);
    return set(r, at, kiln_x_broadcast(r->lex.arena, arg.list.v[0], (int)lanes),
               arg.height, out);
}

/* shuffle(a, b; 0, 3, 1): lanes of what is in a, then in b. */
static kiln_status call_shuffle(kiln_expr_reader *r, const char *at, part *out) {
    parts arg;
    KILN_VEC(int) lane = {0};
    KILN_TRY(list_until(r, ";", &arg));
    int64_t total = 0, v;
    for (size_t i = 0; i < arg.list.n; i++) {
        total += arg.list.v[i]->lanes;
        if (arg.list.v[i]->dtype != arg.list.v[0]->dtype)
            return kiln_lex_fail(&r->lex, at, KILN_ERR_PARSE,
                                 "vectors of 'shuffle' must have one dtype");
    }
    if (total < 1 || arg.list.n > KILN_MAX_LANES)
        return kiln_lex_fail(&r->lex, at, KILN_ERR_PARSE,
                             "'shuffle' must have 1 to %d vectors", KILN_MAX_LANES);
    do {
        KILN_TRY(kiln_lex_int(&r->lex, "a lane", 0, total - 1, &v));
        kiln_vec_push(r->lex.arena, &lane, (int)v);
    } while (kiln_lex_accept(&r->lex, ","));
    KILN_TRY(kiln_lex_expect(&r->lex, ")"));
    if (lane.n > KILN_MAX_LANES)
        return kiln_lex_fail(&r->lex, at, KILN_ERR_PARSE,
                             "'shuffle' must have 1 to %d lanes", KILN_MAX_LANES);
    return set(
        r, at,
        kiln_x_shuffle(r->lex.arena, arg.list.v, (int)arg.list.n, lane.v, (int)lane.n),
        arg.height, out);
}

/* Low-bit types are none of expressions: stages hold them as u8 or i8. */
static bool is_dtype(kiln_str word, kiln_dtype *out) {
    kiln_dtype dtype;
    if (!kiln_dtype_parse(word, &dtype) || !kiln_dtype_is_in(dtype, KILN_DT_ANY))
        return false;
    *out = dtype;
    return true;
}

/* let, loop and table_<dtype>: parse_bound.c. */
static kiln_status call_bound(kiln_expr_reader *r, const char *at, kiln_str name,
                              bool *is_one, part *out) {
    kiln_str rest = name;
    kiln_dtype dtype;
    const kiln_expr *e = NULL;
    int height = 0;
    *is_one = true;
    if (kiln_str_is(name, "let"))
        KILN_TRY(kiln_text_let(r, at, &e, &height));
    else if (kiln_str_is(name, "loop"))
        KILN_TRY(kiln_text_loop(r, at, &e, &height));
    else if (kiln_text_skip(&rest, "table_") && is_dtype(rest, &dtype))
        KILN_TRY(kiln_text_table(r, at, dtype, &e, &height));
    else
        *is_one = false;
    return *is_one ? set(r, at, e, height, out) : KILN_OK;
}

static kiln_status call_vector(kiln_expr_reader *r, const char *at, kiln_str name,
                               bool *is_one, part *out) {
    kiln_str rest = name;
    uint64_t lanes = 0;
    *is_one = true;
    if (kiln_str_is(name, "ramp"))
        return call_ramp(r, at, out);
    if (kiln_str_is(name, "shuffle"))
        return call_shuffle(r, at, out);
    if (kiln_text_skip(&rest, "x") && kiln_text_u64(&rest, &lanes) && rest.n == 0)
        return call_broadcast(r, at, lanes, out);
    *is_one = false;
    return KILN_OK;
}

/* Behind the parenthesis. */
static kiln_status call(kiln_expr_reader *r, kiln_str name, part *out) {
    const char *const at = name.p;
    kiln_str rest = name;
    kiln_dtype dtype;
    kiln_intrin intrin;
    if (is_dtype(name, &dtype))
        return call_cast(r, at, dtype, out);
    if (kiln_text_skip(&rest, "bits_") && is_dtype(rest, &dtype))
        return call_bits(r, at, dtype, out);
    if (kiln_str_is(name, "select"))
        return call_select(r, at, out);
    if (kiln_str_is(name, "min") || kiln_str_is(name, "max"))
        return call_extreme(
            r, at, kiln_str_is(name, "min") ? KILN_EXPR_MIN : KILN_EXPR_MAX, out);
    if (kiln_intrin_find(name, &intrin))
        return call_intrinsic(r, at, intrin, out);
    bool is_vector = false, is_bound = false;
    if (r->bind != NULL) {
        const kiln_status st = call_bound(r, at, name, &is_bound, out);
        if (is_bound)
            return st;
    }
    if (r->has_vectors) {
        const kiln_status st = call_vector(r, at, name, &is_vector, out);
        if (is_vector)
            return st;
    }
    return kiln_lex_fail(&r->lex, at, KILN_ERR_PARSE, "there is no function '%s'",
                         kiln_str_printable(r->lex.arena, name, 60));
}

/* ---- atoms ----------------------------------------------------------------------- */

static kiln_status unary(kiln_expr_reader *r, part *out);

static kiln_status access(kiln_expr_reader *r, const char *at, const char *name,
                          part *out) {
    kiln_text_access x = {.at = at, .name = name, .out = -1};
    parts index;
    part mask = {NULL, 0};
    int64_t k;
    if (kiln_lex_accept(&r->lex, ":")) {
        KILN_TRY(kiln_lex_int(&r->lex, "an output", 0, KILN_MAX_TE_OUTS - 1, &k));
        x.out = (int)k;
    }
    KILN_TRY(kiln_lex_expect(&r->lex, "["));
    KILN_TRY(list_until(r, "]", &index));
    if (index.list.n > KILN_MAX_AXES)
        return kiln_lex_fail(&r->lex, at, KILN_ERR_LIMIT, "at most %d indexes",
                             KILN_MAX_AXES);
    for (size_t i = 0; i < index.list.n; i++) {
        if (index.list.v[i]->dtype != KILN_I64)
            return kiln_lex_fail(
                &r->lex, at, KILN_ERR_PARSE, "index %zu of '%s' must be i64, is %s", i,
                kiln_text_shown(r, name), kiln_dtype_name(index.list.v[i]->dtype));
        KILN_TRY(check_alike(r, at, "[]", index.list.v[0], index.list.v[i]));
    }
    x.index = index.list.v;
    x.n = (int)index.list.n;
    if (r->has_vectors && kiln_lex_word(&r->lex, "where")) {
        KILN_TRY(unary(r, &mask));
        if (mask.e->dtype != KILN_BOOL ||
            (x.n > 0 && mask.e->lanes != x.index[0]->lanes))
            return kiln_lex_fail(&r->lex, at, KILN_ERR_PARSE,
                                 "the mask of '%s' must be bool, of as many lanes as "
                                 "its indexes",
                                 kiln_text_shown(r, name));
        x.mask = mask.e;
    }
    const kiln_expr *e;
    KILN_TRY(r->access(r, &x, &e));
    return set(r, at, e, index.height > mask.height ? index.height : mask.height, out);
}

static kiln_status named(kiln_expr_reader *r, part *out) {
    kiln_lexer *const l = &r->lex;
    const char *const at = kiln_lex_here(l);
    const char *name;
    kiln_str bare = {NULL, 0};
    if (kiln_lex_bare(l, &bare)) {
        if (kiln_lex_accept(l, "("))
            return call(r, bare, out);
        if (kiln_str_is(bare, "true") || kiln_str_is(bare, "false")) {
            *out = (part){kiln_x_int(l->arena, KILN_BOOL, bare.p[0] == 't'), 1};
            return KILN_OK;
        }
        name = kiln_str_dupv(l->arena, bare);
    } else {
        KILN_TRY(kiln_lex_quoted(l, &name));
    }
    if (kiln_lex_peek(l, 0) == '[' || kiln_lex_peek(l, 0) == ':')
        return access(r, at, name, out);
    const kiln_var *const v = r->var(r->user, kiln_str_from(name));
    if (v == NULL)
        return kiln_lex_fail(l, at, KILN_ERR_PARSE, "there is no variable '%s' here",
                             kiln_text_shown(r, name));
    *out = (part){kiln_x_ref(l->arena, v), 1};
    return KILN_OK;
}

static kiln_status atom(kiln_expr_reader *r, part *out) {
    kiln_lexer *const l = &r->lex;
    const char c = kiln_lex_peek(l, 0);
    kiln_str bare;
    kiln_lexer probe = *l;
    if ((c >= '0' && c <= '9') || c == '-') {
        out->height = 1;
        return kiln_text_number(r, &out->e);
    }
    if (kiln_lex_accept(l, "(")) {
        KILN_TRY(kiln_text_enter(r));
        KILN_TRY(binary(r, KILN_LEVEL_OR, out));
        kiln_text_leave(r);
        return kiln_lex_expect(l, ")");
    }
    if (c == '"' || kiln_lex_bare(&probe, &bare))
        return named(r, out);
    return kiln_lex_expected(l, "an expression");
}

static kiln_status unary(kiln_expr_reader *r, part *out) {
    const char *const at = kiln_lex_here(&r->lex);
    if (kiln_lex_peek(&r->lex, 0) != '!' || kiln_lex_peek(&r->lex, 1) == '=')
        return atom(r, out);
    part x;
    kiln_lex_advance(&r->lex, 1);
    KILN_TRY(kiln_text_enter(r));
    KILN_TRY(unary(r, &x));
    kiln_text_leave(r);
    if (kiln_dtype_is_float(x.e->dtype))
        return kiln_lex_fail(&r->lex, at, KILN_ERR_PARSE,
                             "'!' must have bool or an integer, has %s",
                             kiln_dtype_name(x.e->dtype));
    return set(r, at, kiln_x_not(r->lex.arena, x.e), x.height, out);
}

/* ---- operators ------------------------------------------------------------------- */

/* Which operators floats, and bool, do not have. */
static kiln_status check_operator(kiln_expr_reader *r, const char *at,
                                  const kiln_operator *op, const kiln_expr *x,
                                  const kiln_expr *y) {
    KILN_TRY(check_alike(r, at, op->text, x, y));
    const bool is_shift = op->kind == KILN_EXPR_SHL || op->kind == KILN_EXPR_SHR ||
                          op->kind == KILN_EXPR_FLOORDIV ||
                          op->kind == KILN_EXPR_FLOORMOD;
    const bool is_bits = op->kind == KILN_EXPR_AND || op->kind == KILN_EXPR_OR ||
                         op->kind == KILN_EXPR_XOR;
    const bool is_float = kiln_dtype_is_float(x->dtype);
    if ((is_float && (is_shift || is_bits)) || (x->dtype == KILN_BOOL && is_shift))
        return kiln_lex_fail(&r->lex, at, KILN_ERR_PARSE,
                             "'%s' must have integers, has %s", op->text,
                             kiln_dtype_name(x->dtype));
    return KILN_OK;
}

static kiln_status binary(kiln_expr_reader *r, int level, part *out) {
    KILN_TRY(unary(r, out));
    for (;;) {
        const char *const at = kiln_lex_here(&r->lex);
        const kiln_operator *const op = kiln_operator_here(&r->lex);
        if (op == NULL || op->level < level)
            return KILN_OK;
        part y;
        kiln_lex_advance(&r->lex, kiln_str_from(op->text).n);
        KILN_TRY(kiln_text_enter(r));
        KILN_TRY(binary(r, op->level + 1, &y));
        kiln_text_leave(r);
        KILN_TRY(check_operator(r, at, op, out->e, y.e));
        KILN_TRY(set(r, at, kiln_x_binary(r->lex.arena, op->kind, out->e, y.e),
                     out->height > y.height ? out->height : y.height, out));
    }
}

kiln_status kiln_text_part(kiln_expr_reader *r, const kiln_expr **out, int *height) {
    part x;
    KILN_TRY(binary(r, KILN_LEVEL_OR, &x));
    *out = x.e;
    *height = x.height;
    return KILN_OK;
}

kiln_status kiln_text_expr(kiln_expr_reader *r, const kiln_expr **out) {
    int height;
    return kiln_text_part(r, out, &height);
}

kiln_status kiln_text_unary(kiln_expr_reader *r, const kiln_expr **out) {
    part x;
    KILN_TRY(unary(r, &x));
    *out = x.e;
    return KILN_OK;
}

kiln_status kiln_text_dtype(kiln_expr_reader *r, kiln_dtype *out) {
    kiln_lexer probe = r->lex;
    kiln_str word;
    if (!kiln_lex_bare(&probe, &word) || !is_dtype(word, out))
        return kiln_lex_expected(&r->lex, "a dtype");
    r->lex.rest = probe.rest;
    return KILN_OK;
}
