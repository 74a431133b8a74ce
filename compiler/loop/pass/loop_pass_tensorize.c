/* tensorize: marked loop nests become a tensor intrinsic's statements.
 *
 * A nest is what kiln_tensorize marked: loops of the declared extents, in the declared
 * order, around one update; around what begins the reduction; or one of these after the
 * other. What an update with a rule is guarded by, the same for all of its loops, stays
 * around it. Expression and addresses must be the declared ones: each operand's address moves
 * by the declared strides along every loop. */
#include "compiler/loop/linear.h"
#include "compiler/loop/tensor_intrin.h"
#include "compiler/loop/loop_walk.h"

#include <inttypes.h>
#include <string.h>

typedef struct tensorizing {
    const kiln_loop_options *o;
    kiln_status status;
    kiln_err *err;
} tensorizing;

/* One nest against one declaration. */
typedef struct nest {
    kiln_arena *arena;
    const kiln_tensor_intrin *intrin;
    const kiln_te *te;
    int lanes;
    int n; /* loops: axes, then reduction axes */
    const kiln_axis *axis[2 * KILN_MAX_AXES];
    const kiln_var *var[2 * KILN_MAX_AXES];
    const kiln_expr *guard; /* of all that the loops do; NULL: none */
    kiln_err *err;
} nest;

#define REFUSED(n, ...)                                                                \
    (kiln_fail((n)->err, KILN_ERR_ARG, __VA_ARGS__),                                   \
     kiln_note((n)->err, "tensorize: '%s'", (n)->intrin->name), KILN_ERR_ARG)

static int64_t extent_of(const kiln_axis *axis) {
    int64_t v = 0;
    return kiln_x_is_int(axis->extent, &v) ? v : -1;
}

/* Guards in front of a statement: the nest's, where it may have some. */
static const kiln_stmt *unguarded(nest *n, const kiln_stmt *s) {
    while (n->intrin->update != NULL && s->kind == KILN_STMT_IF &&
           s->u.branch.otherwise == NULL) {
        n->guard = n->guard == NULL ? s->u.branch.cond
                                    : kiln_x_binary(n->arena, KILN_EXPR_AND, n->guard,
                                                    s->u.branch.cond);
        s = s->u.branch.then;
    }
    return s;
}

/* The loops, outermost first; *body receives what they hold. */
static kiln_status read_loops(nest *n, const kiln_stmt *s, const kiln_stmt **body) {
    for (int i = 0; i < n->n; i++) {
        int64_t extent = 0, min = 0;
        s = unguarded(n, s);
        if (s->kind != KILN_STMT_FOR || s->u.loop.kind != KILN_LOOP_SERIAL ||
            !kiln_x_is_int(s->u.loop.min, &min) || min != 0 ||
            !kiln_x_is_int(s->u.loop.extent, &extent) ||
            extent != extent_of(n->axis[i]))
            return REFUSED(n,
                           "loop %d of the marked nest must be a plain loop of %" PRId64
                           " iterations ('%s'); split by a factor that divides, and "
                           "keep guards out",
                           i, extent_of(n->axis[i]), n->axis[i]->name);
        n->var[i] = s->u.loop.var;
        s = s->u.loop.body;
    }
    *body = unguarded(n, s);
    for (int i = 0; i < n->n; i++)
        if (n->guard != NULL && kiln_expr_uses(n->guard, n->var[i]))
            return REFUSED(n, "a guard of the marked nest must be the same for all of "
                              "its loops");
    return KILN_OK;
}

static int64_t factor_of(const kiln_linear *l, const kiln_var *v) {
    for (int i = 0; i < l->n; i++)
        if (l->term[i].expr->kind == KILN_EXPR_VAR && l->term[i].expr->u.var == v)
            return l->term[i].factor;
    return 0;
}

/* Declared address of an operand over the placeholder's axes. */
static bool declared_address(const kiln_te *of, const kiln_expr *const *index,
                             const int64_t *stride, kiln_linear *out) {
    out->n = 0;
    out->constant = 0;
    for (int i = of->rank; i-- > 0;) {
        kiln_linear part;
        if (!kiln_linear_of(index[i], &part) || !kiln_linear_add(out, &part, stride[i]))
            return false;
    }
    return true;
}

static void dense_strides(const kiln_te *of, int64_t *stride) {
    int64_t next = 1;
    for (int i = of->rank; i-- > 0; next *= kiln_te_dim(of, i))
        stride[i] = next;
}

/* Leading dimensions: how far the address moves along the loop that an axis is read by. An
 * axis of one element has none. */
static kiln_status read_strides(nest *n, const kiln_te *of,
                                const kiln_expr *const *index, const kiln_buffer *b,
                                const kiln_linear *address, int64_t *stride) {
    int64_t least = 1;
    for (int i = of->rank; i-- > 0;) {
        const kiln_var *v = index[i]->kind == KILN_EXPR_VAR ? index[i]->u.var : NULL;
        for (int k = 0; k < n->n; k++)
            if (n->axis[k]->var == v && kiln_te_dim(of, i) > 1)
                stride[i] = factor_of(address, n->var[k]);
        if (v == NULL)
            return REFUSED(n,
                           "'%s' is declared to be read by more than plain axes, so "
                           "it has no leading dimensions",
                           of->name);
        if (kiln_te_dim(of, i) <= 1)
            stride[i] = least;
        if (stride[i] < least || (i == of->rank - 1 && stride[i] != 1))
            return REFUSED(n,
                           "rows of '%s' must lie in one piece, at least %" PRId64
                           " elements apart, but buffer '%s' moves by %" PRId64
                           " along '%s'",
                           of->name, least, b->name, stride[i], of->axis[i]->name);
        least = stride[i] * kiln_te_dim(of, i);
    }
    return KILN_OK;
}

/* The operand's first element, loops of the nest at 0. `index`: how the declaration reads
 * `of`. */
static kiln_status read_operand(nest *n, const kiln_te *of,
                                const kiln_expr *const *index, const kiln_expr *at,
                                const kiln_buffer *b, kiln_tensor_operand *out) {
    const char *name = of->name;
    kiln_linear l;
    if (!kiln_linear_of(at, &l))
        return REFUSED(n, "the address of '%s' in '%s' must be a sum of loops", name,
                       b->name);
    kiln_linear base = {.constant = l.constant};
    for (int i = 0; i < l.n; i++) {
        bool is_inner = false;
        for (int k = 0; k < n->n; k++)
            is_inner |= l.term[i].expr->kind == KILN_EXPR_VAR
                            ? l.term[i].expr->u.var == n->var[k]
                            : kiln_expr_uses(l.term[i].expr, n->var[k]);
        if (!is_inner)
            base.term[base.n++] = l.term[i];
        else if (l.term[i].expr->kind != KILN_EXPR_VAR)
            return REFUSED(n, "the address of '%s' in '%s' must be a sum of loops",
                           name, b->name);
    }
    *out = (kiln_tensor_operand){.buffer = b, .at = kiln_linear_expr(n->arena, &base)};
    dense_strides(of, out->stride);
    if (n->intrin->has_strides)
        KILN_TRY(read_strides(n, of, index, b, &l, out->stride));
    kiln_linear declared;
    const bool is_linear = declared_address(of, index, out->stride, &declared);
    KILN_ASSERT(is_linear, "'%s' is declared with no linear reads", n->intrin->name);
    for (int k = 0; k < n->n; k++) {
        const int64_t is = factor_of(&l, n->var[k]),
                      must = factor_of(&declared, n->axis[k]->var);
        if (is != must)
            return REFUSED(n,
                           "'%s' must move by %" PRId64 " elements along '%s', but "
                           "buffer '%s' moves by %" PRId64
                           ": pack it in blocks of the intrinsic's shape",
                           of->name, must, n->axis[k]->name, b->name, is);
    }
    return KILN_OK;
}

static kiln_status read_operands(nest *n, const kiln_expr *const *found,
                                 kiln_tensor_operand *in) {
    const kiln_expr *source = kiln_tensor_source(n->te);
    const kiln_expr *declared[KILN_MAX_TE_OUTS] = {NULL};
    const bool is_own = kiln_tensor_match(n->te, source, source, declared);
    KILN_ASSERT(is_own, "'%s' does not match itself", n->intrin->name);
    for (int i = 0; i < n->te->n_in; i++) {
        KILN_TRY(read_operand(n, n->te->in[i], declared[i]->arg, found[i]->arg[0],
                              found[i]->u.load.buffer, &in[i]));
    }
    return KILN_OK;
}

/* Where the output's block begins; loops read. */
static kiln_status read_output(nest *n, const kiln_stmt *store,
                               kiln_tensor_operand *to) {
    const kiln_te *te = n->te;
    const kiln_expr *index[KILN_MAX_AXES];
    for (int i = 0; i < te->rank; i++)
        index[i] = kiln_te_var(te, i);
    return read_operand(n, te, index, store->u.store.index[0], store->u.store.buffer,
                        to);
}

static kiln_status read_update(nest *n, const kiln_stmt *s, kiln_tensor_operand *in,
                               kiln_tensor_operand *to) {
    const kiln_te *te = n->te;
    const kiln_stmt *body = NULL;
    const kiln_expr *found[KILN_MAX_TE_OUTS] = {NULL};
    n->n = 0;
    for (int i = 0; i < te->rank; i++)
        n->axis[n->n++] = te->axis[i];
    for (int i = 0; i < te->n_reduce; i++)
        n->axis[n->n++] = te->reduce[i];
    KILN_TRY(read_loops(n, s, &body));
    const kiln_expr *v = body->kind == KILN_STMT_STORE ? body->u.store.value : NULL;
    if (v == NULL || (int)v->kind != kiln_tensor_combine(te) ||
        v->arg[0]->kind != KILN_EXPR_LOAD ||
        v->arg[0]->u.load.buffer != body->u.store.buffer ||
        !kiln_expr_eq(v->arg[0]->arg[0], body->u.store.index[0]) ||
        !kiln_tensor_match(te, kiln_tensor_source(te), v->arg[1], found))
        return REFUSED(n, "the marked nest must hold one update, without guards, that "
                          "computes what the intrinsic declares");
    KILN_TRY(read_operands(n, found, in));
    return read_output(n, body, to);
}

/* What a nest of loops stores in the end; NULL: it holds something else. */
static const kiln_stmt *store_in(const kiln_stmt *s) {
    while (s->kind == KILN_STMT_FOR)
        s = s->u.loop.body;
    return s->kind == KILN_STMT_STORE ? s : NULL;
}

static const kiln_expr *identity_of(const kiln_te *te) {
    return te->body[0]->u.reduce->reducer->identity[0];
}

static bool is_reset(const nest *n, const kiln_stmt *s) {
    const kiln_stmt *store = store_in(s);
    return store != NULL && kiln_expr_eq(store->u.store.value, identity_of(n->te));
}

static kiln_status read_reset(nest *n, const kiln_stmt *s, kiln_tensor_operand *to) {
    const kiln_stmt *body = NULL;
    n->n = 0;
    for (int i = 0; i < n->te->rank; i++)
        n->axis[n->n++] = n->te->axis[i];
    KILN_TRY(read_loops(n, s, &body));
    return read_output(n, body, to);
}

static const kiln_stmt *called(nest *n, kiln_tensor_part part,
                               const kiln_tensor_operand *in,
                               const kiln_tensor_operand *to) {
    const kiln_expr *arg[KILN_MAX_TE_OUTS + 1];
    const int n_in = part == KILN_TENSOR_RESET ? 0 : n->te->n_in;
    for (int i = 0; i <= n_in; i++) {
        const kiln_tensor_operand *o = i < n_in ? &in[i] : to;
        arg[i] = kiln_x_load(n->arena, o->buffer, &o->at, 1, NULL);
    }
    return kiln_s_call(
        n->arena, kiln_tensor_program(n->arena, n->intrin, n->te, part, in, to), arg);
}

static kiln_status check_part(nest *n, kiln_tensor_part part, const char *what) {
    return (n->intrin->parts & part) != 0
               ? KILN_OK
               : REFUSED(n, "it has no instruction for %s", what);
}

/* What begins the reduction, and the rest of it in the same nest. */
static kiln_status replace_body(nest *n, const kiln_stmt *s, const kiln_stmt **out) {
    kiln_tensor_operand in[KILN_MAX_TE_OUTS], to, also;
    KILN_TRY(check_part(n, KILN_TENSOR_BODY, "a whole reduction"));
    if (s->u.seq.n != 2 || !is_reset(n, s->u.seq.stmt[0]))
        return REFUSED(n, "the marked nests must begin a reduction, then do it");
    KILN_TRY(read_reset(n, s->u.seq.stmt[0], &to));
    KILN_TRY(read_update(n, s->u.seq.stmt[1], in, &also));
    if (to.buffer != also.buffer || !kiln_expr_eq(to.at, also.at) ||
        memcmp(to.stride, also.stride, sizeof to.stride) != 0)
        return REFUSED(n, "the marked nests must begin and do the same reduction");
    *out = called(n, KILN_TENSOR_BODY, in, &to);
    return KILN_OK;
}

static kiln_status replaced(nest *n, const kiln_stmt *s, const kiln_stmt **out) {
    kiln_tensor_operand in[KILN_MAX_TE_OUTS], to;
    if (s->kind == KILN_STMT_SEQ)
        return replace_body(n, s, out);
    if (is_reset(n, s)) {
        KILN_TRY(check_part(n, KILN_TENSOR_RESET, "the beginning of a reduction"));
        KILN_TRY(read_reset(n, s, &to));
        *out = called(n, KILN_TENSOR_RESET, NULL, &to);
        return KILN_OK;
    }
    KILN_TRY(read_update(n, s, in, &to));
    if (n->intrin->update == NULL)
        KILN_TRY(check_part(n, KILN_TENSOR_UPDATE, "a step of a reduction"));
    if (n->intrin->update == NULL) {
        *out = called(n, KILN_TENSOR_UPDATE, in, &to);
        return KILN_OK;
    }
    *out = n->intrin->update(n->arena, n->lanes, in, &to);
    if (n->guard != NULL)
        *out = kiln_s_if(n->arena, n->guard, *out, NULL);
    return KILN_OK;
}

static const kiln_tensor_intrin *find_intrin(const kiln_loop_options *o,
                                             const char *name) {
    for (int i = 0; o != NULL && o->intrins != NULL && o->intrins[i] != NULL; i++)
        if (strcmp(o->intrins[i]->name, name) == 0)
            return o->intrins[i];
    return kiln_tensor_intrin_find(kiln_str_from(name));
}

static const kiln_stmt *visit(void *user, kiln_arena *a, const kiln_stmt *s) {
    tensorizing *t = user;
    if (s->kind != KILN_STMT_ATTR || s->u.attr.key != KILN_STMT_ATTR_TENSORIZE ||
        t->status != KILN_OK)
        return s;
    int64_t lanes = 0;
    const kiln_tensor_intrin *intrin = find_intrin(t->o, s->u.attr.text);
    if (intrin == NULL || !kiln_x_is_int(s->u.attr.value, &lanes) || lanes < 1 ||
        lanes > KILN_MAX_LANES) {
        t->status = kiln_fail(t->err, KILN_ERR_ARG,
                              "tensorize: there is no intrinsic '%s' of that width",
                              s->u.attr.text);
        return s;
    }
    nest n = {.arena = a,
              .intrin = intrin,
              .te = intrin->declare(a, (int)lanes),
              .lanes = (int)lanes,
              .err = t->err};
    const kiln_stmt *out = s;
    t->status = replaced(&n, s->u.attr.body, &out);
    return out;
}

static kiln_status run(kiln_program *p, const kiln_loop_options *o, kiln_err *err) {
    tensorizing t = {.o = o, .status = KILN_OK, .err = err};
    const kiln_stmt *body = kiln_stmt_rewritten(
        p->arena, p->body, &(kiln_stmt_rewrite){.stmt = visit, .user = &t});
    if (t.status == KILN_OK)
        p->body = body;
    return t.status;
}

const kiln_loop_pass kiln_loop_pass_tensorize = {
    .name = "tensorize",
    .doc = "puts tensor intrinsics in the place of the loops marked for them",
    .run = run,
};
