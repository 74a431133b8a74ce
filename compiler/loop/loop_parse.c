/* Loop programs out of text (docs/program-text.md).
 *
 * One name is one variable or one buffer in the whole text, as printing has it:
 * siblings that share a name share the thing. The text is untrusted: nesting, sizes and
 * ranks are limited; what is still wrong with a program that parses, the verifier says.
 */
#include "compiler/loop/loop.h"

#include "compiler/loop/loop_words.h"
#include "compiler/tensor/text.h"

/* Elements of a buffer, padding included; beyond any memory. */
static const int64_t max_elems = (int64_t)1 << 40;

/* A variable or a buffer, and whether the place read is inside its scope. */
typedef struct entry {
    const void *thing;
    bool is_live;
} entry;

/* A host launches programs that call instructions. Deeper, what a program does to its
 * arguments would take ever longer to tell. */
enum { MAX_CALL_DEPTH = 2 };

typedef struct known_program {
    const kiln_program *program;
    int depth; /* of calls in it */
} known_program;

typedef struct reader {
    kiln_expr_reader x;
    kiln_map vars, buffers; /* name -> entry, of one program */
    kiln_map programs;      /* name -> known_program */
    int depth;              /* of calls in the program that is read */
} reader;

#define fail(r, at, status, ...) kiln_lex_fail(&(r)->x.lex, (at), (status), __VA_ARGS__)

static kiln_status read_block(reader *r, const kiln_stmt **out);

/* ---- names ----------------------------------------------------------------------- */

static entry *find(const kiln_map *m, const char *name) {
    return kiln_map_get(m, kiln_str_from(name));
}

static const kiln_var *find_var(void *user, kiln_str name) {
    const reader *r = user;
    const entry *e = kiln_map_get(&r->vars, name);
    return e != NULL && e->is_live ? e->thing : NULL;
}

static const kiln_buffer *find_buffer(const reader *r, const char *name) {
    const entry *e = find(&r->buffers, name);
    return e != NULL && e->is_live ? e->thing : NULL;
}

static entry *add(reader *r, kiln_map *m, const char *name, const void *thing) {
    entry *e = kiln_new(r->x.lex.arena, entry);
    *e = (entry){thing, true};
    kiln_map_set(r->x.lex.arena, m, kiln_str_from(name), e);
    return e;
}

/* The variable that a loop or let binds; its scope is open until the caller says. */
static kiln_status bind(reader *r, const char *at, const char *name, kiln_dtype dtype,
                        int lanes, entry **out) {
    entry *e = find(&r->vars, name);
    if (e == NULL) {
        *out =
            add(r, &r->vars, name, kiln_var_vector(r->x.lex.arena, name, dtype, lanes));
        return KILN_OK;
    }
    const kiln_var *v = e->thing;
    if (e->is_live || v->dtype != dtype || v->lanes != lanes)
        return fail(r, at, KILN_ERR_PARSE,
                    e->is_live ? "variable '%s' must not be bound inside its own scope"
                    : v->dtype != dtype
                        ? "variable '%s' must have the dtype that it had before"
                        : "variable '%s' must have the lanes that it had before",
                    kiln_text_shown(&r->x, name));
    e->is_live = true;
    *out = e;
    return KILN_OK;
}

static kiln_status bind_in_expr(kiln_expr_reader *x, const char *at, const char *name,
                                kiln_dtype dtype, int lanes, const kiln_var **out) {
    entry *e;
    KILN_TRY(bind(x->user, at, name, dtype, lanes, &e));
    *out = e->thing;
    return KILN_OK;
}

static void unbind_in_expr(kiln_expr_reader *x, const kiln_var *v) {
    const reader *r = x->user;
    find(&r->vars, v->name)->is_live = false;
}

static kiln_status read_load(kiln_expr_reader *x, const kiln_text_access *what,
                             const kiln_expr **out) {
    const reader *r = x->user;
    const kiln_buffer *b = what->out < 0 ? find_buffer(r, what->name) : NULL;
    if (b == NULL)
        return kiln_lex_fail(&x->lex, what->at, KILN_ERR_PARSE,
                             "there is no buffer '%s' here",
                             kiln_text_shown(x, what->name));
    if (what->n != b->rank)
        return kiln_lex_fail(&x->lex, what->at, KILN_ERR_PARSE,
                             "buffer '%s' must have %d indexes, has %d",
                             kiln_text_shown(x, what->name), b->rank, what->n);
    *out = kiln_x_load(x->lex.arena, b, what->index, what->n, what->mask);
    return KILN_OK;
}

/* ---- buffers --------------------------------------------------------------------- */

/* n [align(factor, offset)] */
static kiln_status read_dim(reader *r, kiln_buffer *b) {
    kiln_lexer *const l = &r->x.lex;
    int64_t n, factor, offset;
    if (b->rank == KILN_MAX_AXES)
        return fail(r, kiln_lex_here(l), KILN_ERR_LIMIT, "a buffer may have %d axes",
                    KILN_MAX_AXES);
    KILN_TRY(kiln_lex_int(l, "an extent", 0, max_elems, &n));
    b->dim[b->rank] = kiln_x_index(l->arena, n);
    if (kiln_lex_word(l, "align")) {
        KILN_TRY(kiln_lex_expect(l, "("));
        KILN_TRY(kiln_lex_int(l, "a factor", 2, INT32_MAX / 2, &factor));
        KILN_TRY(kiln_lex_expect(l, ","));
        KILN_TRY(kiln_lex_int(l, "an offset", 0, factor - 1, &offset));
        KILN_TRY(kiln_lex_expect(l, ")"));
        b->align[b->rank] = (kiln_dim_align){(int32_t)factor, (int32_t)offset};
    }
    b->rank++;
    return KILN_OK;
}

/* Strides that kiln_buffer_strides can compute. */
static kiln_status check_size(reader *r, const char *at, const kiln_buffer *b) {
    int64_t s = 1;
    for (int i = b->rank; i-- > 0;) {
        const int64_t n = kiln_buffer_dim(b, i);
        s += b->align[i].factor;
        if (n > 0 && s > max_elems / n)
            return fail(r, at, KILN_ERR_LIMIT, "a buffer may have 2^40 elements");
        s *= n > 0 ? n : 1;
    }
    return KILN_OK;
}

/* One word behind the shape; false when none comes. */
static kiln_status read_property(reader *r, kiln_buffer *b, bool *found) {
    kiln_lexer *const l = &r->x.lex;
    kiln_lexer probe = *l;
    kiln_str word;
    int64_t bytes;
    *found = kiln_lex_bare(&probe, &word);
    if (!*found)
        return KILN_OK;
    const char *const at = kiln_lex_here(l);
    l->rest = probe.rest;
    if (kiln_scope_find(word, &b->scope))
        return KILN_OK;
    if (!kiln_str_is(word, "bytes"))
        return fail(r, at, KILN_ERR_PARSE, "there is no scope '%s'",
                    kiln_str_printable(l->arena, word, 60));
    KILN_TRY(kiln_lex_expect(l, "("));
    KILN_TRY(kiln_lex_int(l, "an alignment", 1, 1 << 20, &bytes));
    b->align_bytes = (int)bytes;
    return kiln_lex_expect(l, ")");
}

/* : dtype[dims] properties */
static kiln_status read_buffer(reader *r, const char *name, kiln_buffer **out) {
    kiln_lexer *const l = &r->x.lex;
    const char *const at = kiln_lex_here(l);
    kiln_dtype dtype;
    bool found = true;
    KILN_TRY(kiln_lex_expect(l, ":"));
    KILN_TRY(kiln_text_dtype(&r->x, &dtype));
    KILN_TRY(kiln_lex_expect(l, "["));
    kiln_buffer *b = kiln_buffer_new(l->arena, name, dtype, 0, NULL, KILN_SCOPE_GLOBAL);
    while (kiln_lex_peek(l, 0) != ']') {
        KILN_TRY(read_dim(r, b));
        if (!kiln_lex_accept(l, ","))
            break;
    }
    KILN_TRY(kiln_lex_expect(l, "]"));
    KILN_TRY(check_size(r, at, b));
    while (found)
        KILN_TRY(read_property(r, b, &found));
    *out = b;
    return KILN_OK;
}

static bool same_buffer(const kiln_buffer *x, const kiln_buffer *y) {
    bool same = x->dtype == y->dtype && x->rank == y->rank && x->scope == y->scope &&
                x->align_bytes == y->align_bytes && y->arg < 0;
    for (int i = 0; same && i < x->rank; i++)
        same = kiln_buffer_dim(x, i) == kiln_buffer_dim(y, i) &&
               x->align[i].factor == y->align[i].factor &&
               x->align[i].offset == y->align[i].offset;
    return same;
}

static kiln_status read_alloc(reader *r, const kiln_stmt **out) {
    const char *const at = kiln_lex_here(&r->x.lex), *name;
    kiln_buffer *b;
    const kiln_stmt *body;
    KILN_TRY(kiln_lex_name(&r->x.lex, "a buffer", &name));
    KILN_TRY(read_buffer(r, name, &b));
    entry *e = find(&r->buffers, name);
    if (e == NULL)
        e = add(r, &r->buffers, name, b);
    else if (e->is_live)
        return fail(r, at, KILN_ERR_PARSE,
                    "buffer '%s' must not be allocated inside its own scope",
                    kiln_text_shown(&r->x, name));
    else if (!same_buffer(b, e->thing))
        return fail(r, at, KILN_ERR_PARSE,
                    "buffer '%s' must be what it was before; give it another name",
                    kiln_text_shown(&r->x, name));
    e->is_live = true;
    KILN_TRY(read_block(r, &body));
    e->is_live = false;
    *out = kiln_s_alloc(r->x.lex.arena, e->thing, body);
    return KILN_OK;
}

/* ---- statements ------------------------------------------------------------------ */

static kiln_status read_scalar(reader *r, kiln_dtype dtype, const char *what,
                               const kiln_expr **out) {
    const char *const at = kiln_lex_here(&r->x.lex);
    KILN_TRY(kiln_text_expr(&r->x, out));
    if ((*out)->dtype == dtype && (*out)->lanes == 1)
        return KILN_OK;
    return fail(r, at, KILN_ERR_PARSE, "%s must be one %s, is %d lanes of %s", what,
                kiln_dtype_name(dtype), (*out)->lanes, kiln_dtype_name((*out)->dtype));
}

/* Behind the word: ["tag"] name in min .. +extent { } */
static kiln_status read_for(reader *r, kiln_loop_kind kind, const kiln_stmt **out) {
    kiln_lexer *const l = &r->x.lex;
    const char *tag = NULL, *name;
    const kiln_expr *min, *extent;
    const kiln_stmt *body;
    entry *v;
    if (kind == KILN_LOOP_THREAD || kind == KILN_LOOP_VTHREAD) {
        /* A quoted tag, then a name that may be quoted too. */
        kiln_lexer probe = *l;
        kiln_err unused = {0};
        const char *z;
        probe.err = &unused;
        if (kiln_lex_quoted(&probe, &z) == KILN_OK && !kiln_lex_word(&probe, "in"))
            KILN_TRY(kiln_lex_quoted(l, &tag));
    }
    const char *const at = kiln_lex_here(l);
    KILN_TRY(kiln_lex_name(l, "a variable", &name));
    if (!kiln_lex_word(l, "in"))
        return kiln_lex_expected(l, "'in'");
    KILN_TRY(read_scalar(r, KILN_I64, "the first value of a loop", &min));
    KILN_TRY(kiln_lex_expect(l, ".."));
    KILN_TRY(kiln_lex_expect(l, "+"));
    KILN_TRY(read_scalar(r, KILN_I64, "the extent of a loop", &extent));
    KILN_TRY(bind(r, at, name, KILN_I64, 1, &v));
    KILN_TRY(read_block(r, &body));
    v->is_live = false;
    *out = kiln_s_for(l->arena, v->thing, min, extent, kind, tag, body);
    return KILN_OK;
}

static kiln_status read_if(reader *r, const kiln_stmt **out) {
    const kiln_expr *cond;
    const kiln_stmt *then, *otherwise = NULL;
    KILN_TRY(read_scalar(r, KILN_BOOL, "the condition of a branch", &cond));
    KILN_TRY(read_block(r, &then));
    if (kiln_lex_word(&r->x.lex, "else"))
        KILN_TRY(read_block(r, &otherwise));
    *out = kiln_s_if(r->x.lex.arena, cond, then, otherwise);
    return KILN_OK;
}

static kiln_status read_let(reader *r, const kiln_stmt **out) {
    kiln_lexer *const l = &r->x.lex;
    const char *const at = kiln_lex_here(l), *name;
    kiln_dtype dtype;
    const kiln_expr *value;
    const kiln_stmt *body;
    entry *v;
    KILN_TRY(kiln_lex_name(l, "a variable", &name));
    KILN_TRY(kiln_lex_expect(l, ":"));
    KILN_TRY(kiln_text_dtype(&r->x, &dtype));
    KILN_TRY(kiln_lex_expect(l, "="));
    KILN_TRY(read_scalar(r, dtype, "the value", &value));
    KILN_TRY(bind(r, at, name, dtype, 1, &v));
    KILN_TRY(read_block(r, &body));
    v->is_live = false;
    *out = kiln_s_let(l->arena, v->thing, value, body);
    return KILN_OK;
}

/* Behind '@': word ["text"] [on buffer] [= value] { } */
static kiln_status read_attr(reader *r, const kiln_stmt **out) {
    kiln_lexer *const l = &r->x.lex;
    const char *const at = kiln_lex_here(l), *text = NULL, *name;
    const kiln_buffer *b = NULL;
    const kiln_expr *value = NULL;
    const kiln_stmt *body;
    kiln_str word;
    int key = 0;
    if (!kiln_lex_bare(l, &word))
        return kiln_lex_expected(l, "an attribute");
    while (key < KILN_N_ATTR_WORDS && !kiln_str_is(word, kiln_attr_words[key]))
        key++;
    if (key == KILN_N_ATTR_WORDS)
        return fail(r, at, KILN_ERR_PARSE, "there is no attribute '%s'",
                    kiln_str_printable(l->arena, word, 60));
    if (kiln_lex_peek(l, 0) == '"')
        KILN_TRY(kiln_lex_quoted(l, &text));
    if (kiln_lex_word(l, "on")) {
        const char *const here = kiln_lex_here(l);
        KILN_TRY(kiln_lex_name(l, "a buffer", &name));
        b = find_buffer(r, name);
        if (b == NULL)
            return fail(r, here, KILN_ERR_PARSE, "there is no buffer '%s' here",
                        kiln_text_shown(&r->x, name));
    }
    if (kiln_lex_accept(l, "="))
        KILN_TRY(kiln_text_expr(&r->x, &value));
    KILN_TRY(read_block(r, &body));
    *out = kiln_s_attr(l->arena, (kiln_attr_key)key, text, b, value, body);
    return KILN_OK;
}

/* Behind the word: the scope whose stores all threads see from here on. */
static kiln_status read_barrier(reader *r, const kiln_stmt **out) {
    kiln_lexer *const l = &r->x.lex;
    if (kiln_lex_word(l, kiln_scope_name(KILN_SCOPE_SHARED)))
        *out = kiln_s_barrier(l->arena, KILN_SCOPE_SHARED);
    else if (kiln_lex_word(l, kiln_scope_name(KILN_SCOPE_GLOBAL)))
        *out = kiln_s_barrier(l->arena, KILN_SCOPE_GLOBAL);
    else
        return kiln_lex_expected(l, "'shared' or 'global'");
    return KILN_OK;
}

/* name [[indexes]]: without, its first element. */
static kiln_status read_place(reader *r, const kiln_expr **out) {
    kiln_lexer *const l = &r->x.lex;
    const char *const at = kiln_lex_here(l), *name;
    const kiln_expr *index[KILN_MAX_AXES];
    int n = 0;
    KILN_TRY(kiln_lex_name(l, "a buffer", &name));
    const kiln_buffer *b = find_buffer(r, name);
    if (b == NULL)
        return fail(r, at, KILN_ERR_PARSE, "there is no buffer '%s' here",
                    kiln_text_shown(&r->x, name));
    const bool has_indexes = kiln_lex_accept(l, "[");
    for (n = 0; n < b->rank; n++) {
        index[n] = kiln_x_index(l->arena, 0);
        if (has_indexes && n > 0)
            KILN_TRY(kiln_lex_expect(l, ","));
        if (has_indexes)
            KILN_TRY(read_scalar(r, KILN_I64, "an index", &index[n]));
    }
    if (has_indexes)
        KILN_TRY(kiln_lex_expect(l, "]"));
    *out = kiln_x_load(l->arena, b, index, b->rank, NULL);
    return KILN_OK;
}

/* Behind the word: name [[x, y, z; x, y, z]] (places, values) */
static kiln_status read_call(reader *r, bool is_launch, const kiln_stmt **out) {
    kiln_lexer *const l = &r->x.lex;
    const char *const at = kiln_lex_here(l), *name;
    const kiln_expr *grid[KILN_N_AXES];
    KILN_TRY(kiln_lex_name(l, "a program", &name));
    const known_program *known = kiln_map_get(&r->programs, kiln_str_from(name));
    if (known == NULL)
        return fail(r, at, KILN_ERR_PARSE, "there is no program '%s' before this one",
                    kiln_text_shown(&r->x, name));
    const kiln_program *p = known->program;
    if (known->depth == MAX_CALL_DEPTH)
        return fail(r, at, KILN_ERR_LIMIT, "calls may be %d deep", MAX_CALL_DEPTH);
    r->depth = known->depth + 1 > r->depth ? known->depth + 1 : r->depth;
    for (int i = 0; i < KILN_N_AXES && is_launch; i++) {
        KILN_TRY(kiln_lex_expect(l, i == 0                    ? "["
                                    : i == KILN_AXIS_THREAD_X ? ";"
                                                              : ","));
        KILN_TRY(read_scalar(r, KILN_I64, "the extent of a grid", &grid[i]));
    }
    if (is_launch)
        KILN_TRY(kiln_lex_expect(l, "]"));
    KILN_TRY(kiln_lex_expect(l, "("));
    const int n = p->n_args + p->n_params;
    const kiln_expr **arg = kiln_array(l->arena, const kiln_expr *, n);
    for (int i = 0; i < n; i++) {
        if (i > 0)
            KILN_TRY(kiln_lex_expect(l, ","));
        if (i < p->n_args)
            KILN_TRY(read_place(r, &arg[i]));
        else
            KILN_TRY(
                read_scalar(r, p->param[i - p->n_args]->dtype, "a parameter", &arg[i]));
    }
    KILN_TRY(kiln_lex_expect(l, ")"));
    *out = is_launch ? kiln_s_launch(l->arena, p, arg, grid)
                     : kiln_s_call(l->arena, p, arg);
    return KILN_OK;
}

/* Behind the word: place from place : elements */
static kiln_status read_copy(reader *r, const kiln_stmt **out) {
    kiln_lexer *const l = &r->x.lex;
    const char *const at = kiln_lex_here(l);
    const kiln_expr *to, *from;
    int64_t n;
    KILN_TRY(read_place(r, &to));
    if (!kiln_lex_word(l, "from"))
        return kiln_lex_expected(l, "'from'");
    KILN_TRY(read_place(r, &from));
    KILN_TRY(kiln_lex_expect(l, ":"));
    KILN_TRY(kiln_lex_int(l, "a number of elements", 1, max_elems, &n));
    if (to->dtype != from->dtype)
        return fail(r, at, KILN_ERR_PARSE, "%s must not be copied to %s",
                    kiln_dtype_name(from->dtype), kiln_dtype_name(to->dtype));
    *out = kiln_s_copy(l->arena, to, from, n);
    return KILN_OK;
}

/* One more lane count that must be 1 or the largest so far. */
static bool fits(int lanes, int *all) {
    if (*all == 1)
        *all = lanes;
    return lanes == 1 || lanes == *all;
}

/* buffer[index] [where mask] = value, or an expression for its effect. */
static kiln_status read_store(reader *r, const kiln_stmt **out) {
    kiln_lexer *const l = &r->x.lex;
    const char *const at = kiln_lex_here(l);
    const kiln_expr *to, *value;
    KILN_TRY(kiln_text_unary(&r->x, &to));
    if (to->kind != KILN_EXPR_LOAD && to->kind != KILN_EXPR_CALL)
        return fail(r, at, KILN_ERR_PARSE, "a statement must store or call");
    if (to->kind == KILN_EXPR_CALL) {
        *out = kiln_s_eval(l->arena, to);
        return KILN_OK;
    }
    KILN_TRY(kiln_lex_expect(l, "="));
    KILN_TRY(kiln_text_expr(&r->x, &value));
    const kiln_buffer *b = to->u.load.buffer;
    int lanes = to->lanes;
    if (value->dtype != b->dtype)
        return fail(r, at, KILN_ERR_PARSE, "buffer '%s' of %s must not store %s",
                    kiln_text_shown(&r->x, b->name), kiln_dtype_name(b->dtype),
                    kiln_dtype_name(value->dtype));
    if (!fits(value->lanes, &lanes))
        return fail(r, at, KILN_ERR_PARSE, "%d lanes must not be stored to %d",
                    value->lanes, to->lanes);
    *out = kiln_s_store(l->arena, b, to->arg, value, to->u.load.mask);
    return KILN_OK;
}

static kiln_status read_stmt(reader *r, const kiln_stmt **out) {
    kiln_lexer *const l = &r->x.lex;
    kiln_lexer probe = *l;
    kiln_str word;
    if (kiln_lex_accept(l, "@"))
        return read_attr(r, out);
    const bool is_word = kiln_lex_bare(&probe, &word);
    const char next = kiln_lex_peek(&probe, 0);
    /* A condition may begin with a parenthesis; a call has another name. */
    if (!is_word || next == '[' || (next == '(' && !kiln_str_is(word, "if")))
        return read_store(r, out);
    l->rest = probe.rest;
    for (int i = 0; i < KILN_N_LOOP_WORDS; i++)
        if (kiln_str_is(word, kiln_loop_words[i]))
            return read_for(r, (kiln_loop_kind)i, out);
    if (kiln_str_is(word, "let"))
        return read_let(r, out);
    if (kiln_str_is(word, "alloc"))
        return read_alloc(r, out);
    if (kiln_str_is(word, "if"))
        return read_if(r, out);
    if (kiln_str_is(word, "barrier"))
        return read_barrier(r, out);
    if (kiln_str_is(word, "copy"))
        return read_copy(r, out);
    if (kiln_str_is(word, "call") || kiln_str_is(word, "launch"))
        return read_call(r, kiln_str_is(word, "launch"), out);
    return fail(r, word.p, KILN_ERR_PARSE, "there is no statement '%s'",
                kiln_str_printable(l->arena, word, 60));
}

static kiln_status read_block(reader *r, const kiln_stmt **out) {
    kiln_arena *const a = r->x.lex.arena;
    KILN_VEC(const kiln_stmt *) list = {0};
    KILN_TRY(kiln_lex_expect(&r->x.lex, "{"));
    KILN_TRY(kiln_text_enter(&r->x));
    while (!kiln_lex_accept(&r->x.lex, "}")) {
        const kiln_stmt *s = NULL;
        KILN_TRY(read_stmt(r, &s));
        kiln_vec_push(a, &list, s);
    }
    kiln_text_leave(&r->x);
    if (list.n > INT32_MAX)
        return fail(r, r->x.lex.rest.p, KILN_ERR_LIMIT,
                    "a block may have 2^31 statements");
    *out = kiln_s_seq(a, list.v, (int)list.n);
    return KILN_OK;
}

/* ---- the whole ------------------------------------------------------------------- */

/* [out] name: dtype[dims] */
static kiln_status read_arg(reader *r, kiln_program *p, kiln_buffer **out) {
    kiln_lexer *const l = &r->x.lex;
    kiln_lexer probe = *l;
    const char *name;
    /* An argument may be called out. */
    const bool is_out = kiln_lex_word(&probe, "out") && kiln_lex_peek(&probe, 0) != ':';
    if (is_out)
        l->rest = probe.rest;
    const char *const at = kiln_lex_here(l);
    KILN_TRY(kiln_lex_name(l, "an argument", &name));
    if (find(&r->buffers, name) != NULL)
        return fail(r, at, KILN_ERR_PARSE, "argument '%s' must be named once",
                    kiln_text_shown(&r->x, name));
    KILN_TRY(read_buffer(r, name, out));
    if (!is_out && p->n_inputs < p->n_args)
        return fail(r, at, KILN_ERR_PARSE, "inputs stand before outputs");
    (*out)->arg = p->n_args++;
    (*out)->is_written = is_out;
    p->n_inputs += is_out ? 0 : 1;
    add(r, &r->buffers, name, *out);
    return KILN_OK;
}

/* name: dtype, ... */
static kiln_status read_params(reader *r, kiln_program *p) {
    kiln_lexer *const l = &r->x.lex;
    KILN_VEC(const kiln_var *) params = {0};
    do {
        const char *const at = kiln_lex_here(l), *name;
        kiln_dtype dtype;
        entry *v;
        if (params.n == INT16_MAX)
            return fail(r, at, KILN_ERR_LIMIT, "a program may have %d parameters",
                        INT16_MAX);
        KILN_TRY(kiln_lex_name(l, "a parameter", &name));
        KILN_TRY(kiln_lex_expect(l, ":"));
        KILN_TRY(kiln_text_dtype(&r->x, &dtype));
        KILN_TRY(bind(r, at, name, dtype, 1, &v));
        kiln_vec_push(l->arena, &params, (const kiln_var *)v->thing);
    } while (kiln_lex_accept(l, ","));
    p->param = params.v;
    p->n_params = (int)params.n;
    return KILN_OK;
}

static kiln_status read_program(reader *r, kiln_program *p) {
    kiln_lexer *const l = &r->x.lex;
    KILN_VEC(const kiln_buffer *) args = {0};
    if (!kiln_lex_word(l, "program"))
        return kiln_lex_expected(l, "'program'");
    const char *const at = kiln_lex_here(l);
    KILN_TRY(kiln_lex_name(l, "a program's name", &p->name));
    if (kiln_map_get(&r->programs, kiln_str_from(p->name)) != NULL)
        return fail(r, at, KILN_ERR_PARSE, "program '%s' must be named once",
                    kiln_text_shown(&r->x, p->name));
    r->vars = r->buffers = (kiln_map){0};
    r->depth = 0;
    KILN_TRY(kiln_lex_expect(l, "("));
    while (kiln_lex_peek(l, 0) != ')' && kiln_lex_peek(l, 0) != ';') {
        kiln_buffer *b;
        if (p->n_args == INT16_MAX)
            return fail(r, kiln_lex_here(l), KILN_ERR_LIMIT,
                        "a program may have %d arguments", INT16_MAX);
        KILN_TRY(read_arg(r, p, &b));
        kiln_vec_push(l->arena, &args, (const kiln_buffer *)b);
        if (!kiln_lex_accept(l, ","))
            break;
    }
    p->arg = args.v;
    if (kiln_lex_accept(l, ";"))
        KILN_TRY(read_params(r, p));
    KILN_TRY(kiln_lex_expect(l, ")"));
    p->is_flat = kiln_lex_word(l, "flat");
    return read_block(r, &p->body);
}

static bool is_program_here(const reader *r) {
    kiln_lexer probe = r->x.lex;
    return kiln_lex_word(&probe, "program");
}

kiln_status kiln_program_parse(kiln_arena *a, kiln_str text, const char *file,
                               kiln_program **out, kiln_err *err) {
    reader r = {.x = {.lex = kiln_lexer_make(a, text, file, err),
                      .has_vectors = true,
                      .var = find_var,
                      .bind = bind_in_expr,
                      .unbind = unbind_in_expr,
                      .access = read_load}};
    kiln_program *p = NULL;
    r.x.user = &r;
    do {
        p = kiln_new(a, kiln_program);
        p->arena = a;
        KILN_TRY(read_program(&r, p));
        known_program *known = kiln_new(a, known_program);
        *known = (known_program){p, r.depth};
        kiln_map_set(a, &r.programs, kiln_str_from(p->name), known);
    } while (is_program_here(&r));
    const char *const at = kiln_lex_here(&r.x.lex);
    if (r.x.lex.rest.n > 0)
        return fail(&r, at, KILN_ERR_PARSE, "expected nothing behind the program");
    *out = p;
    return KILN_OK;
}
