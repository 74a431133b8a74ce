/* Reductions out of text: `sum(r: 3) x[r]`, `argmax(r: 3) (r, x[r])[0] where r < n`,
 * reducers that are written out. */
#include "compiler/tensor/te_reader.h"

/* {x: f32, y: f32 -> the variables of both sides. */
static kiln_status read_reducer_vars(kiln_te_reader *r, const kiln_var **v, int *n) {
    kiln_lexer *const l = &r->x.lex;
    const char *const begin = kiln_lex_here(l);
    *n = 0;
    KILN_TRY(kiln_lex_expect(l, "{"));
    do {
        const char *const at = kiln_lex_here(l), *name;
        kiln_dtype dtype;
        if (*n == 2 * KILN_MAX_TE_OUTS)
            return kiln_te_fail(r, at, KILN_ERR_LIMIT,
                                "a reducer may have %d variables",
                                2 * KILN_MAX_TE_OUTS);
        KILN_TRY(kiln_lex_name(l, "a variable", &name));
        KILN_TRY(kiln_lex_expect(l, ":"));
        KILN_TRY(kiln_text_dtype(&r->x, &dtype));
        v[*n] = kiln_var_new(l->arena, name, dtype);
        KILN_TRY(kiln_te_add_var(r, at, v[(*n)++]));
    } while (kiln_lex_accept(l, ","));
    for (int i = 0; 2 * i < *n; i++)
        if (*n % 2 != 0 || v[i]->dtype != v[*n / 2 + i]->dtype)
            return kiln_te_fail(r, begin, KILN_ERR_PARSE,
                                "a reducer must combine pairs of one dtype");
    return kiln_lex_expect(l, "->");
}

/* Behind `reduce`: name {x: f32, y: f32 -> x + y; 0f} */
static kiln_status read_reducer(kiln_te_reader *r, const kiln_reducer **out) {
    kiln_lexer *const l = &r->x.lex;
    kiln_arena *const a = l->arena;
    const kiln_map outer = r->vars;
    kiln_reducer *red = kiln_new(a, kiln_reducer);
    const kiln_var *v[2 * KILN_MAX_TE_OUTS];
    int n;
    r->vars = (kiln_map){0};
    KILN_TRY(kiln_lex_name(l, "a reducer", &red->name));
    KILN_TRY(read_reducer_vars(r, v, &n));
    red->n = n / 2;
    red->lhs = kiln_arena_dup(a, v, (size_t)red->n * sizeof *v);
    red->rhs = kiln_arena_dup(a, v + red->n, (size_t)red->n * sizeof *v);
    red->result = kiln_array(a, const kiln_expr *, red->n);
    red->identity = kiln_array(a, const kiln_expr *, red->n);
    for (int i = 0; i < n; i++) {
        if (i > 0)
            KILN_TRY(kiln_lex_expect(l, i == red->n ? ";" : ","));
        if (i == red->n)
            r->vars = (kiln_map){0}; /* identities are constants */
        const char *const at = kiln_lex_here(l);
        const kiln_expr *e;
        KILN_TRY(kiln_text_expr(&r->x, &e));
        if (e->dtype != v[i]->dtype)
            return kiln_te_fail(r, at, KILN_ERR_PARSE, "this must be %s, is %s",
                                kiln_dtype_name(v[i]->dtype),
                                kiln_dtype_name(e->dtype));
        if (i < red->n)
            red->result[i] = e;
        else
            red->identity[i - red->n] = e;
    }
    r->vars = outer;
    *out = red;
    return kiln_lex_expect(l, "}");
}

/* `name(axis: n` or `name()`: a reduction, not a call; min and max are both. Nothing is
 * taken. */
bool kiln_te_is_reduction(const kiln_te_reader *r) {
    kiln_lexer l = r->x.lex;
    kiln_str name;
    const char *axis;
    kiln_err unused = {0};
    int64_t extent;
    l.err = &unused;
    if (!kiln_lex_bare(&l, &name))
        return false;
    const char next = kiln_lex_peek(&l, 0);
    if (kiln_str_is(name, "reduce") && next != '(' && next != '[' && next != ':')
        return true;
    if (!kiln_lex_accept(&l, "("))
        return false;
    if (kiln_lex_accept(&l, ")"))
        return true;
    return kiln_lex_name(&l, "an axis", &axis) == KILN_OK && kiln_lex_accept(&l, ":") &&
           kiln_lex_int(&l, "an extent", 0, INT64_MAX, &extent) == KILN_OK &&
           kiln_lex_peek(&l, 0) != '[';
}

/* (r: 3, s: 5): new axes of the stage, or for further outputs those that it has. */
static kiln_status read_reduce_axes(kiln_te_reader *r, kiln_te *te, bool is_first) {
    kiln_lexer *const l = &r->x.lex;
    int64_t total = 1, extent;
    const char *name;
    int n = 0;
    while (kiln_lex_peek(l, 0) != ')') {
        const char *const at = kiln_lex_here(l);
        KILN_TRY(kiln_te_read_axis(r, &name, &extent, &total));
        if (n == KILN_MAX_AXES)
            return kiln_te_fail(r, at, KILN_ERR_LIMIT, "a stage may reduce %d axes",
                                KILN_MAX_AXES);
        if (is_first) {
            KILN_TRY(
                kiln_te_add_var(r, at, kiln_te_reduce_axis(te, name, extent)->var));
        } else {
            int64_t v = 0;
            const bool is_same =
                n < te->n_reduce && kiln_x_is_int(te->reduce[n]->extent, &v) &&
                v == extent && kiln_str_is(kiln_str_from(name), te->reduce[n]->name);
            if (!is_same)
                return kiln_te_fail(r, at, KILN_ERR_PARSE,
                                    "outputs of one stage must reduce the same axes");
        }
        n++;
        if (!kiln_lex_accept(l, ","))
            break;
    }
    if (n != te->n_reduce)
        return kiln_te_fail(r, kiln_lex_here(l), KILN_ERR_PARSE,
                            "outputs of one stage must reduce the same axes");
    return kiln_lex_expect(l, ")");
}

/* What is reduced: one expression, or (a, b)[k]. */
static kiln_status read_sources(kiln_te_reader *r, int n, const kiln_expr **source,
                                int64_t *index) {
    *index = 0;
    if (n == 1)
        return kiln_text_expr(&r->x, source);
    KILN_TRY(kiln_lex_expect(&r->x.lex, "("));
    for (int i = 0; i < n; i++) {
        if (i > 0)
            KILN_TRY(kiln_lex_expect(&r->x.lex, ","));
        KILN_TRY(kiln_text_expr(&r->x, &source[i]));
    }
    KILN_TRY(kiln_lex_expect(&r->x.lex, ")"));
    KILN_TRY(kiln_lex_expect(&r->x.lex, "["));
    KILN_TRY(kiln_lex_int(&r->x.lex, "a result", 0, n - 1, index));
    return kiln_lex_expect(&r->x.lex, "]");
}

/* Do both combine in the same way? Their variables differ. */
static bool same_reducer(kiln_arena *a, const kiln_reducer *x, const kiln_reducer *y) {
    kiln_subst map[2 * KILN_MAX_TE_OUTS];
    size_t n = 0;
    bool same = x->n == y->n && kiln_str_is(kiln_str_from(x->name), y->name);
    for (int i = 0; same && i < x->n; i++) {
        same = x->lhs[i]->dtype == y->lhs[i]->dtype;
        map[n++] = (kiln_subst){y->lhs[i], kiln_x_ref(a, x->lhs[i])};
        map[n++] = (kiln_subst){y->rhs[i], kiln_x_ref(a, x->rhs[i])};
    }
    for (int i = 0; same && i < x->n; i++)
        same =
            kiln_expr_eq(x->identity[i], y->identity[i]) &&
            kiln_expr_eq(x->result[i], kiln_expr_substitute(a, y->result[i], map, n));
    return same;
}

/* Results of one stage are results of one reduction. */
static kiln_status check_same_reduction(kiln_te_reader *r, const char *at,
                                        const kiln_reduction *x,
                                        const kiln_reduction *y) {
    bool same = same_reducer(r->x.lex.arena, x->reducer, y->reducer) &&
                (x->cond == NULL) == (y->cond == NULL) &&
                (x->cond == NULL || kiln_expr_eq(x->cond, y->cond));
    for (int i = 0; same && i < x->reducer->n; i++)
        same = kiln_expr_eq(x->source[i], y->source[i]);
    if (same)
        return KILN_OK;
    return kiln_te_fail(r, at, KILN_ERR_PARSE,
                        "outputs of one stage must be results of one reduction");
}

kiln_status kiln_te_read_reduction(kiln_te_reader *r, kiln_te *te,
                                   const kiln_reduction *first, const kiln_expr **out) {
    kiln_lexer *const l = &r->x.lex;
    kiln_arena *const a = l->arena;
    const char *const at = kiln_lex_here(l), *name;
    const kiln_reducer *reducer = NULL;
    const kiln_expr *source[KILN_MAX_TE_OUTS], *cond = NULL;
    int64_t index;
    if (kiln_lex_word(l, "reduce"))
        KILN_TRY(read_reducer(r, &reducer));
    else
        KILN_TRY(kiln_lex_name(l, "a reducer", &name));
    if (reducer == NULL && !kiln_reducer_is_known(name))
        return kiln_te_fail(r, at, KILN_ERR_PARSE, "there is no reducer '%s'",
                            kiln_text_shown(&r->x, name));
    KILN_TRY(kiln_lex_expect(l, "("));
    KILN_TRY(read_reduce_axes(r, te, first == NULL));
    /* A reducer known by name has its dtype from what it reduces. */
    const int n =
        reducer != NULL ? reducer->n : kiln_reducer_find(a, name, KILN_F32)->n;
    KILN_TRY(read_sources(r, n, source, &index));
    if (reducer == NULL)
        reducer = kiln_reducer_find(a, name, source[n - 1]->dtype);
    for (int i = 0; i < n; i++)
        if (source[i]->dtype != reducer->identity[i]->dtype)
            return kiln_te_fail(r, at, KILN_ERR_PARSE, "'%s' must reduce %s, has %s",
                                kiln_text_shown(&r->x, reducer->name),
                                kiln_dtype_name(reducer->identity[i]->dtype),
                                kiln_dtype_name(source[i]->dtype));
    if (kiln_lex_word(l, "where")) {
        KILN_TRY(kiln_text_expr(&r->x, &cond));
        if (cond->dtype != KILN_BOOL)
            return kiln_te_fail(r, at, KILN_ERR_PARSE,
                                "a condition must be bool, is %s",
                                kiln_dtype_name(cond->dtype));
    }
    *out =
        kiln_x_reduce(a, reducer, source, te->reduce, te->n_reduce, cond, (int)index);
    if (first == NULL)
        return KILN_OK;
    KILN_TRY(check_same_reduction(r, at, first, (*out)->u.reduce));
    *out = kiln_x_reduce(a, first->reducer, first->source, first->axis, first->n_axes,
                         first->cond, (int)index);
    return KILN_OK;
}
