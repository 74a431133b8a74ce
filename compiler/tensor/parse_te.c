/* Tensor expressions out of text (docs/program-text.md). The text is untrusted: shapes
 * and counts are limited, and every stage goes through kiln_te_end, which checks. */
#include "compiler/tensor/te_reader.h"

#include <inttypes.h>

/* Elements of a stage and of the axes that it reduces; beyond any memory. */
static const int64_t max_elems = (int64_t)1 << 40;

/* One line, as far as it was read. */
typedef struct line {
    const char *name, *at;
    int k; /* which output; -1: the only one */
    int rank;
    const char *axis[KILN_MAX_AXES];
    int64_t dim[KILN_MAX_AXES];
    kiln_dtype dtype;
    const char *tag;
} line;

static const kiln_var *find_var(void *user, kiln_str name) {
    const kiln_te_reader *r = user;
    return kiln_map_get(&r->vars, name);
}

static kiln_status read_stage(kiln_expr_reader *x, const kiln_text_access *what,
                              const kiln_expr **out) {
    kiln_te_reader *r = x->user;
    const kiln_te *te = kiln_map_get(&r->stages, kiln_str_from(what->name));
    const int k = what->out < 0 ? 0 : what->out;
    if (te == NULL)
        return kiln_te_fail(r, what->at, KILN_ERR_PARSE,
                            "stage '%s' must be defined before it is read",
                            kiln_text_shown(x, what->name));
    if (k >= te->n_out || (what->out < 0 && te->n_out > 1))
        return kiln_te_fail(r, what->at, KILN_ERR_PARSE,
                            "stage '%s' has %d outputs: '%s:0' reads the first",
                            kiln_text_shown(x, what->name), te->n_out,
                            kiln_text_shown(x, what->name));
    if (what->n != te->rank)
        return kiln_te_fail(r, what->at, KILN_ERR_SHAPE,
                            "stage '%s' must be read with %d indexes, has %d",
                            kiln_text_shown(x, what->name), te->rank, what->n);
    *out = kiln_x_read(r->x.lex.arena, te, k, what->index, what->n);
    return KILN_OK;
}

kiln_status kiln_te_add_var(kiln_te_reader *r, const char *at, const kiln_var *v) {
    if (kiln_map_has(&r->vars, kiln_str_from(v->name)))
        return kiln_te_fail(r, at, KILN_ERR_PARSE, "axis '%s' must be named once",
                            kiln_text_shown(&r->x, v->name));
    kiln_map_set(r->x.lex.arena, &r->vars, kiln_str_from(v->name), v);
    return KILN_OK;
}

/* ---- the left side --------------------------------------------------------------- */

/* name: extent; *total becomes the product. */
kiln_status kiln_te_read_axis(kiln_te_reader *r, const char **name, int64_t *extent,
                              int64_t *total) {
    KILN_TRY(kiln_lex_name(&r->x.lex, "an axis", name));
    KILN_TRY(kiln_lex_expect(&r->x.lex, ":"));
    const char *const at = kiln_lex_here(&r->x.lex);
    KILN_TRY(kiln_lex_int(&r->x.lex, "an extent", 0, max_elems, extent));
    if (*extent > 0 && *total > max_elems / *extent)
        return kiln_te_fail(r, at, KILN_ERR_LIMIT,
                            "axes may have 2^40 elements together");
    *total *= *extent > 0 ? *extent : 1;
    return KILN_OK;
}

/* name[:k][axis: n, ...] : dtype [@tag] */
static kiln_status read_left(kiln_te_reader *r, line *out) {
    kiln_lexer *const l = &r->x.lex;
    int64_t total = 1, k;
    *out = (line){.at = kiln_lex_here(l), .k = -1, .tag = ""};
    KILN_TRY(kiln_lex_name(l, "a stage", &out->name));
    if (kiln_lex_accept(l, ":")) {
        KILN_TRY(kiln_lex_int(l, "an output", 0, KILN_MAX_TE_OUTS - 1, &k));
        out->k = (int)k;
    }
    KILN_TRY(kiln_lex_expect(l, "["));
    while (kiln_lex_peek(l, 0) != ']') {
        if (out->rank == KILN_MAX_AXES)
            return kiln_te_fail(r, kiln_lex_here(l), KILN_ERR_LIMIT,
                                "a stage may have %d axes", KILN_MAX_AXES);
        KILN_TRY(
            kiln_te_read_axis(r, &out->axis[out->rank], &out->dim[out->rank], &total));
        out->rank++;
        if (!kiln_lex_accept(l, ","))
            break;
    }
    KILN_TRY(kiln_lex_expect(l, "]"));
    KILN_TRY(kiln_lex_expect(l, ":"));
    KILN_TRY(kiln_text_dtype(&r->x, &out->dtype));
    return kiln_lex_accept(l, "@") ? kiln_lex_name(l, "a tag", &out->tag) : KILN_OK;
}

/* `out` and `out2` in front of a stage; a stage may be called so too. */
static bool accept_out(kiln_te_reader *r, int64_t *index) {
    kiln_lexer probe = r->x.lex;
    kiln_str word, rest;
    if (!kiln_lex_bare(&probe, &word))
        return false;
    rest = word;
    *index = -1;
    if (!kiln_text_skip(&rest, "out") || (rest.n > 0 && !kiln_text_i64(&rest, index)) ||
        rest.n > 0 || kiln_lex_peek(&probe, 0) == '[' ||
        kiln_lex_peek(&probe, 0) == ':')
        return false;
    r->x.lex.rest = probe.rest;
    return true;
}

/* ---- stages ---------------------------------------------------------------------- */

static kiln_status check_same(kiln_te_reader *r, const line *first, const line *other) {
    bool same = kiln_str_is(kiln_str_from(first->name), other->name) &&
                first->rank == other->rank &&
                kiln_str_is(kiln_str_from(first->tag), other->tag);
    for (int i = 0; same && i < first->rank; i++)
        same = first->dim[i] == other->dim[i] &&
               kiln_str_is(kiln_str_from(first->axis[i]), other->axis[i]);
    if (same)
        return KILN_OK;
    return kiln_te_fail(r, other->at, KILN_ERR_PARSE,
                        "outputs of one stage must have its name, axes and tag");
}

/* first: body of output 0; NULL: this is it. */
static kiln_status read_body(kiln_te_reader *r, const line *l, kiln_te *te,
                             const kiln_expr *first, const kiln_expr **out) {
    const char *const at = kiln_lex_here(&r->x.lex);
    const bool is_reduce = kiln_te_is_reduction(r);
    if (first != NULL && is_reduce != (first->kind == KILN_EXPR_REDUCE))
        return kiln_te_fail(r, at, KILN_ERR_PARSE,
                            "all outputs of a stage or none must be reductions");
    if (is_reduce)
        KILN_TRY(
            kiln_te_read_reduction(r, te, first == NULL ? NULL : first->u.reduce, out));
    else
        KILN_TRY(kiln_text_expr(&r->x, out));
    if ((*out)->dtype != l->dtype)
        return kiln_te_fail(r, at, KILN_ERR_PARSE,
                            "stage '%s' must compute %s, computes %s",
                            kiln_text_shown(&r->x, l->name), kiln_dtype_name(l->dtype),
                            kiln_dtype_name((*out)->dtype));
    return KILN_OK;
}

static kiln_status name_axes(kiln_te_reader *r, const line *l, kiln_te *te) {
    r->vars = (kiln_map){0};
    for (int i = 0; i < l->rank; i++) {
        kiln_axis *axis = kiln_new(r->x.lex.arena, kiln_axis);
        *axis = *te->axis[i];
        axis->name = l->axis[i];
        axis->var = kiln_var_new(r->x.lex.arena, l->axis[i], KILN_I64);
        te->axis[i] = axis;
        KILN_TRY(kiln_te_add_var(r, l->at, axis->var));
    }
    return KILN_OK;
}

/* name:1[...], ... behind the first output. */
static kiln_status read_further(kiln_te_reader *r, const line *first, kiln_te *te,
                                int *n, const kiln_expr **body) {
    while (true) {
        kiln_lexer probe = r->x.lex;
        const char *name;
        kiln_err unused = {0};
        probe.err = &unused;
        if (kiln_lex_name(&probe, "a stage", &name) != KILN_OK ||
            !kiln_str_is(kiln_str_from(name), first->name) ||
            !kiln_lex_accept(&probe, ":"))
            return KILN_OK;
        line next;
        KILN_TRY(read_left(r, &next));
        KILN_TRY(check_same(r, first, &next));
        if (next.k != *n)
            return kiln_te_fail(r, next.at, KILN_ERR_PARSE,
                                "output %d of a stage must follow, not %d", *n, next.k);
        KILN_TRY(kiln_lex_expect(&r->x.lex, "="));
        KILN_TRY(read_body(r, &next, te, body[0], &body[(*n)++]));
    }
}

static kiln_status read_compute(kiln_te_reader *r, const line *l, const kiln_te **out) {
    const kiln_expr *body[KILN_MAX_TE_OUTS];
    kiln_te *te = kiln_te_begin(r->x.lex.arena, l->name, l->rank, l->dim);
    int n = 1;
    te->tag = l->tag;
    KILN_TRY(name_axes(r, l, te));
    KILN_TRY(read_body(r, l, te, NULL, &body[0]));
    if (l->k > 0)
        return kiln_te_fail(r, l->at, KILN_ERR_PARSE,
                            "output 0 of a stage comes first");
    if (l->k == 0)
        KILN_TRY(read_further(r, l, te, &n, body));
    if (l->k == 0 && n == 1)
        return kiln_te_fail(r, l->at, KILN_ERR_PARSE,
                            "a stage with one output is written without a number");
    const kiln_status st = kiln_te_end(te, n, body, r->x.lex.err);
    *out = te;
    return st == KILN_OK ? st : kiln_lex_note(&r->x.lex, l->at, st);
}

static kiln_status read_line(kiln_te_reader *r) {
    kiln_lexer *const lex = &r->x.lex;
    line l;
    int64_t index;
    const kiln_te *te = NULL;
    const size_t first_mark = r->outs.n;
    while (accept_out(r, &index)) {
        const kiln_te_mark m = {.index = index, .at = kiln_lex_here(lex)};
        kiln_vec_push(lex->arena, &r->outs, m);
    }
    KILN_TRY(read_left(r, &l));
    if (kiln_map_has(&r->stages, kiln_str_from(l.name)))
        return kiln_te_fail(r, l.at, KILN_ERR_PARSE, "stage '%s' must be defined once",
                            kiln_text_shown(&r->x, l.name));
    if (kiln_lex_accept(lex, "=")) {
        const char *const at = kiln_lex_here(lex);
        kiln_lexer probe = *lex;
        if (kiln_lex_word(&probe, "extern") && kiln_lex_peek(&probe, 0) != '[' &&
            kiln_lex_peek(&probe, 0) != ':')
            return kiln_te_fail(
                r, at, KILN_ERR_UNSUPPORTED,
                "an extern stage is a function and cannot be read from text");
        KILN_TRY(read_compute(r, &l, &te));
    } else {
        kiln_te *p = kiln_te_placeholder(lex->arena, l.name, l.dtype, l.rank, l.dim);
        if (l.k >= 0)
            return kiln_te_fail(r, l.at, KILN_ERR_PARSE,
                                "a placeholder has one output");
        p->tag = l.tag;
        KILN_TRY(name_axes(r, &l, p));
        te = p;
    }
    kiln_map_set(lex->arena, &r->stages, kiln_str_from(l.name), te);
    for (size_t i = first_mark; i < r->outs.n; i++)
        r->outs.v[i].te = te;
    return KILN_OK;
}

/* ---- the whole ------------------------------------------------------------------- */

static kiln_status collect_outputs(kiln_te_reader *r, const kiln_te ***outs,
                                   size_t *n_outs) {
    const size_t n = r->outs.n;
    const kiln_te **list = kiln_array(r->x.lex.arena, const kiln_te *, n);
    if (n == 0)
        return kiln_te_fail(r, kiln_lex_here(&r->x.lex), KILN_ERR_PARSE,
                            "some stage must be marked 'out'");
    for (size_t i = 0; i < n; i++) {
        const kiln_te_mark *m = &r->outs.v[i];
        const size_t at = m->index < 0 ? 0 : (size_t)m->index;
        if (at >= n || list[at] != NULL || (m->index < 0 && n > 1))
            return kiln_te_fail(
                r, m->at, KILN_ERR_PARSE,
                "%zu outputs must be marked 'out0' to 'out%zu', each once", n, n - 1);
        list[at] = m->te;
    }
    *outs = list;
    *n_outs = n;
    return KILN_OK;
}

kiln_status kiln_te_parse(kiln_arena *a, kiln_str text, const char *file,
                          const kiln_te ***outs, size_t *n_outs, kiln_err *err) {
    kiln_te_reader r = {.x = {.lex = kiln_lexer_make(a, text, file, err),
                              .var = find_var,
                              .access = read_stage}};
    r.x.user = &r;
    while (kiln_lex_peek(&r.x.lex, 0) != '\0')
        KILN_TRY(read_line(&r));
    if (r.x.lex.rest.n > 0)
        return kiln_lex_expected(&r.x.lex, "a stage");
    return collect_outputs(&r, outs, n_outs);
}
