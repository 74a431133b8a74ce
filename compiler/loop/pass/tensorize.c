/* tensorize: marked loop nests become a tensor intrinsic's statements.
 *
 * A nest is what kiln_tensorize marked: loops of the declared extents, in the declared
 * order, around one update. Expression and addresses must be the declared ones: each
 * operand's address moves by the declared strides along every loop. */
#include "compiler/loop/linear.h"
#include "compiler/loop/tensor_intrin.h"
#include "compiler/loop/walk.h"

#include <inttypes.h>

typedef struct tensorizing {
    const kiln_program *p;
    kiln_status status;
    kiln_err *err;
} tensorizing;

/* One nest against one declaration. */
typedef struct nest {
    kiln_arena *arena;
    const kiln_tensor_intrin *intrin;
    const kiln_te *te;
    int n; /* loops: axes, then reduction axes */
    const kiln_axis *axis[2 * KILN_MAX_AXES];
    const kiln_var *var[2 * KILN_MAX_AXES];
    kiln_err *err;
} nest;

#define REFUSED(n, ...)                                                                \
    (kiln_fail((n)->err, KILN_ERR_ARG, __VA_ARGS__),                                   \
     kiln_note((n)->err, "tensorize: '%s'", (n)->intrin->name), KILN_ERR_ARG)

static int64_t extent_of(const kiln_axis *axis) {
    int64_t v = 0;
    return kiln_x_is_int(axis->extent, &v) ? v : -1;
}

/* The loops, outermost first; *body receives what they hold. */
static kiln_status read_loops(nest *n, const kiln_stmt *s, const kiln_stmt **body) {
    for (int i = 0; i < n->n; i++) {
        int64_t extent = 0, min = 0;
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
    *body = s;
    return KILN_OK;
}

static int64_t factor_of(const kiln_linear *l, const kiln_var *v) {
    for (int i = 0; i < l->n; i++)
        if (l->term[i].expr->kind == KILN_EXPR_VAR && l->term[i].expr->u.var == v)
            return l->term[i].factor;
    return 0;
}

/* Declared address of an operand: row-major over the placeholder's axes. */
static bool declared_address(const kiln_te *of, const kiln_expr *const *index,
                             kiln_linear *out) {
    int64_t stride = 1;
    out->n = 0;
    out->constant = 0;
    for (int i = of->rank; i-- > 0;) {
        kiln_linear part;
        if (!kiln_linear_of(index[i], &part) || !kiln_linear_add(out, &part, stride))
            return false;
        stride *= kiln_te_dim(of, i);
    }
    return true;
}

/* The operand's first element, loops of the nest at 0. */
static kiln_status read_operand(nest *n, const char *name, const kiln_expr *at,
                                const kiln_buffer *b, const kiln_linear *declared,
                                kiln_tensor_operand *out) {
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
    for (int k = 0; k < n->n; k++) {
        const int64_t is = factor_of(&l, n->var[k]),
                      must = factor_of(declared, n->axis[k]->var);
        if (is != must)
            return REFUSED(n,
                           "'%s' must move by %" PRId64 " elements along '%s', but "
                           "buffer '%s' moves by %" PRId64
                           ": pack it in blocks of the intrinsic's shape",
                           name, must, n->axis[k]->name, b->name, is);
    }
    *out = (kiln_tensor_operand){b, kiln_linear_expr(n->arena, &base)};
    return KILN_OK;
}

static kiln_status read_operands(nest *n, const kiln_expr *const *found,
                                 kiln_tensor_operand *in) {
    const kiln_expr *source = kiln_tensor_source(n->te);
    const kiln_expr *declared[KILN_MAX_TE_OUTS] = {NULL};
    const bool is_own = kiln_tensor_match(n->te, source, source, declared);
    KILN_ASSERT(is_own, "'%s' does not match itself", n->intrin->name);
    for (int i = 0; i < n->te->n_in; i++) {
        kiln_linear address;
        const kiln_te *of = n->te->in[i];
        const bool is_linear = declared_address(of, declared[i]->arg, &address);
        KILN_ASSERT(is_linear, "'%s' is declared with no linear reads",
                    n->intrin->name);
        KILN_TRY(read_operand(n, of->name, found[i]->arg[0], found[i]->u.load.buffer,
                              &address, &in[i]));
    }
    return KILN_OK;
}

static kiln_status replaced(nest *n, int lanes, const kiln_stmt *s,
                            const kiln_stmt **out) {
    const kiln_te *te = n->te;
    const kiln_stmt *body = NULL;
    const kiln_expr *found[KILN_MAX_TE_OUTS] = {NULL}, *index[KILN_MAX_AXES];
    kiln_tensor_operand in[KILN_MAX_TE_OUTS], to;
    kiln_linear address;
    for (int i = 0; i < te->rank; i++)
        n->axis[n->n++] = te->axis[i];
    for (int i = 0; i < te->n_reduce; i++)
        n->axis[n->n++] = te->reduce[i];
    KILN_TRY(read_loops(n, s, &body));
    const kiln_expr *v = body->kind == KILN_STMT_STORE ? body->u.store.value : NULL;
    if (v == NULL || v->kind != KILN_EXPR_ADD || v->arg[0]->kind != KILN_EXPR_LOAD ||
        v->arg[0]->u.load.buffer != body->u.store.buffer ||
        !kiln_expr_eq(v->arg[0]->arg[0], body->u.store.index[0]) ||
        !kiln_tensor_match(te, kiln_tensor_source(te), v->arg[1], found))
        return REFUSED(n, "the marked nest must hold one update, without guards, that "
                          "computes what the intrinsic declares");
    KILN_TRY(read_operands(n, found, in));
    for (int i = 0; i < te->rank; i++)
        index[i] = kiln_te_var(te, i);
    const bool is_linear = declared_address(te, index, &address);
    KILN_ASSERT(is_linear, "axes are not linear in themselves");
    KILN_TRY(read_operand(n, te->name, body->u.store.index[0], body->u.store.buffer,
                          &address, &to));
    *out = n->intrin->update(n->arena, lanes, in, &to);
    return KILN_OK;
}

static const kiln_stmt *visit(void *user, kiln_arena *a, const kiln_stmt *s) {
    tensorizing *t = user;
    if (s->kind != KILN_STMT_ATTR || s->u.attr.key != KILN_STMT_ATTR_TENSORIZE ||
        t->status != KILN_OK)
        return s;
    int64_t lanes = 0;
    const kiln_tensor_intrin *intrin =
        kiln_tensor_intrin_find(kiln_str_from(s->u.attr.text));
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
              .err = t->err};
    const kiln_stmt *out = s;
    t->status = replaced(&n, (int)lanes, s->u.attr.body, &out);
    return out;
}

static kiln_status run(kiln_program *p, const kiln_loop_options *o, kiln_err *err) {
    (void)o;
    tensorizing t = {.p = p, .status = KILN_OK, .err = err};
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
