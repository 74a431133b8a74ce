/* Evaluates tensor expressions as they stand, with no schedule: the second witness for
 * lowering.
 *
 * Every stage is computed whole, in double or int64_t, and rounded to its dtype.
 * Arithmetic inside a body rounds after each operation, except in sums of products,
 * which are kept in double until the end: the exact value that every order of summation
 * approximates.
 */
#include "compiler/tensor/tensor.h"

#include <inttypes.h>
#include <math.h>

typedef struct scalar {
    double f;
    int64_t i;
} scalar;

typedef struct evaluation {
    kiln_arena *arena;
    const kiln_te **te; /* in topological order */
    size_t n;
    kiln_wide **value; /* per stage, per output; of more axes than a type may have: as
                          one axis */
    int64_t **dim;     /* per stage: extents of its axes */
    const kiln_te *now;
    int64_t coord[2 * KILN_MAX_AXES]; /* spatial axes, then reduction axes, of the stage
                                         being computed */
    const kiln_reducer
        *reducer; /* its variables stand for these while a combination is evaluated */
    scalar lhs[KILN_MAX_TE_OUTS], rhs[KILN_MAX_TE_OUTS];
    bool exact; /* no rounding inside: within a reduction */
    kiln_status status;
    kiln_err *err;
} evaluation;

static scalar eval(evaluation *v, const kiln_expr *e);

static bool is_float(const kiln_expr *e) { return kiln_dtype_is_float(e->dtype); }

static scalar rounded(const evaluation *v, const kiln_expr *e, scalar x) {
    if (is_float(e) && !v->exact)
        x.f = kiln_round_f64(e->dtype, x.f);
    return x;
}

static scalar eval_var(evaluation *v, const kiln_var *var) {
    const kiln_te *te = v->now;
    for (int i = 0; i < te->rank; i++)
        if (te->axis[i]->var == var)
            return (scalar){.i = v->coord[i]};
    for (int i = 0; i < te->n_reduce; i++)
        if (te->reduce[i]->var == var)
            return (scalar){.i = v->coord[KILN_MAX_AXES + i]};
    for (int i = 0; v->reducer != NULL && i < v->reducer->n; i++) {
        if (v->reducer->lhs[i] == var)
            return v->lhs[i];
        if (v->reducer->rhs[i] == var)
            return v->rhs[i];
    }
    KILN_ASSERT(false, "stage '%s': '%s' has no value", te->name, var->name);
    return (scalar){0, 0};
}

static scalar eval_read(evaluation *v, const kiln_expr *e) {
    size_t s = 0;
    while (v->te[s] != e->u.read.te)
        s++;
    const kiln_wide *w = &v->value[s][e->u.read.out];
    const int64_t *dim = v->dim[s];
    int64_t at = 0;
    for (int i = 0; i < e->n_arg; i++) {
        const int64_t x = eval(v, e->arg[i]).i;
        if ((x < 0 || x >= dim[i]) && v->status == KILN_OK)
            v->status =
                kiln_fail(v->err, KILN_ERR_SHAPE,
                          "stage '%s' reads '%s': index %d must be in [0, %" PRId64
                          "), is %" PRId64,
                          v->now->name, v->te[s]->name, i, dim[i], x);
        if (v->status != KILN_OK)
            return (scalar){0, 0};
        at = at * dim[i] + x;
    }
    const scalar f = {.f = w->f != NULL ? w->f[at] : 0};
    const scalar i = {.i = w->i != NULL ? w->i[at] : 0};
    return w->f != NULL ? f : i;
}

static scalar eval_binary(evaluation *v, const kiln_expr *e) {
    const scalar x = eval(v, e->arg[0]), y = eval(v, e->arg[1]);
    scalar out = {0, 0};
    bool is_bool = false;
    if (is_float(e->arg[0])) {
        kiln_x_fold_float(e->kind, x.f, y.f, &out.f, &is_bool);
        out.i = is_bool ? out.f != 0 : 0;
    } else if (!kiln_x_fold_int(e->kind, e->arg[0]->dtype, x.i, y.i, &out.i) &&
               v->status == KILN_OK) {
        v->status = kiln_fail(v->err, KILN_ERR_ARG,
                              "stage '%s': %" PRId64 " and %" PRId64
                              " have no quotient, remainder or shift",
                              v->now->name, x.i, y.i);
    }
    return rounded(v, e, out);
}

static int64_t to_int(kiln_dtype dtype, double f) {
    const kiln_dtype_info *info = kiln_dtype_get(dtype);
    if (dtype == KILN_BOOL)
        return f != 0; /* NaN is true */
    if (isnan(f))
        return 0;
    if (dtype == KILN_U64)
        return f <= 0 ? 0 : (f >= 0x1p64 ? -1 : (int64_t)(uint64_t)f);
    if (f <= (double)info->min_i)
        return info->min_i;
    return f >= (double)info->max_i ? info->max_i : (int64_t)f;
}

static scalar eval_cast(evaluation *v, const kiln_expr *e) {
    const scalar x = eval(v, e->arg[0]);
    scalar out = {0, 0};
    if (is_float(e->arg[0]))
        out = (scalar){.f = x.f, .i = is_float(e) ? 0 : to_int(e->dtype, x.f)};
    else if (is_float(e))
        out.f = kiln_f64_from_int(e->arg[0]->dtype, e->dtype, x.i);
    else
        out.i = e->dtype == KILN_BOOL ? x.i != 0 : kiln_wrap_i64(e->dtype, x.i);
    if (is_float(e)) /* a cast rounds, wherever it stands */
        out.f = kiln_round_f64(e->dtype, out.f);
    return out;
}

/* Through the native bytes: narrowed as one dtype, widened as the other. */
static scalar eval_bitcast(evaluation *v, const kiln_expr *e) {
    scalar x = eval(v, e->arg[0]), out = {0, 0};
    const bool was_float = is_float(e->arg[0]);
    uint64_t bytes = 0;
    const kiln_wide from = {.type = kiln_type_scalar(e->arg[0]->dtype),
                            .f = was_float ? &x.f : NULL,
                            .i = was_float ? NULL : &x.i};
    kiln_wide to = {.type = kiln_type_scalar(e->dtype),
                    .f = is_float(e) ? &out.f : NULL,
                    .i = is_float(e) ? NULL : &out.i};
    kiln_narrow(&from, &bytes);
    kiln_widen(&to.type, &bytes, &to);
    return out;
}

static scalar eval_call(evaluation *v, const kiln_expr *e) {
    double x[3] = {0, 0, 0};
    int64_t k[3] = {0, 0, 0};
    scalar out = {0, 0};
    for (int i = 0; i < e->n_arg; i++) {
        const scalar s = eval(v, e->arg[i]);
        x[i] = s.f;
        k[i] = s.i;
    }
    if (is_float(e->arg[0])) {
        out.f = kiln_intrin_eval(e->u.intrin, x);
        out.i = is_float(e) ? 0 : out.f != 0; /* isnan */
    } else if (!kiln_intrin_eval_int(e->u.intrin, e->arg[0]->dtype, k, &out.i) &&
               v->status == KILN_OK) {
        v->status = kiln_fail(v->err, KILN_ERR_ARG,
                              "stage '%s': intrinsic '%s' has no meaning for %s",
                              v->now->name, kiln_intrin_get(e->u.intrin)->name,
                              kiln_dtype_name(e->arg[0]->dtype));
    }
    return rounded(v, e, out);
}

static scalar eval(evaluation *v, const kiln_expr *e) {
    scalar x;
    switch (e->kind) {
    case KILN_EXPR_INT:
        return (scalar){.i = e->u.i};
    case KILN_EXPR_FLOAT:
        return (scalar){.f = e->u.f};
    case KILN_EXPR_VAR:
        return eval_var(v, e->u.var);
    case KILN_EXPR_NOT:
        x = eval(v, e->arg[0]);
        return (scalar){.i = e->dtype == KILN_BOOL ? !x.i
                                                   : kiln_wrap_i64(e->dtype, ~x.i)};
    case KILN_EXPR_CAST:
        return eval_cast(v, e);
    case KILN_EXPR_SELECT:
        return eval(v, e->arg[eval(v, e->arg[0]).i != 0 ? 1 : 2]);
    case KILN_EXPR_CALL:
        return eval_call(v, e);
    case KILN_EXPR_READ:
        return eval_read(v, e);
    case KILN_EXPR_BITCAST:
        return eval_bitcast(v, e);
    case KILN_EXPR_REDUCE:
    case KILN_EXPR_LOAD:
    case KILN_EXPR_RAMP:
    case KILN_EXPR_BROADCAST:
    case KILN_EXPR_SHUFFLE:
    case KILN_EXPR_LET:
    case KILN_EXPR_LOOP:
    case KILN_EXPR_TABLE:
        if (v->status == KILN_OK)
            v->status = kiln_fail(v->err, KILN_ERR_UNSUPPORTED,
                                  "stage '%s' holds an expression of loop programs",
                                  v->now->name);
        return (scalar){0, 0};
    case KILN_EXPRS_ARITHMETIC:
    case KILN_EXPRS_LOGICAL:
        break;
    }
    return eval_binary(v, e);
}

/* ---- one element ----------------------------------------------------------------- */

static bool next(int n, const kiln_axis *const *axis, int64_t *coord) {
    for (int i = n; i-- > 0;) {
        int64_t extent = 0;
        kiln_x_is_int(axis[i]->extent, &extent);
        if (++coord[i] < extent)
            return true;
        coord[i] = 0;
    }
    return false;
}

static void combine(evaluation *v, const kiln_reduction *r, scalar *acc) {
    scalar source[KILN_MAX_TE_OUTS];
    if (r->cond != NULL && eval(v, r->cond).i == 0)
        return;
    for (int i = 0; i < r->reducer->n; i++)
        source[i] = eval(v, r->source[i]);
    for (int i = 0; i < r->reducer->n; i++) {
        v->lhs[i] = acc[i];
        v->rhs[i] = source[i];
    }
    v->reducer = r->reducer;
    for (int i = 0; i < r->reducer->n; i++)
        acc[i] = eval(v, r->reducer->result[i]);
    v->reducer = NULL;
}

static void reduce(evaluation *v, const kiln_te *te, scalar *out) {
    const kiln_reduction *r = te->body[0]->u.reduce;
    scalar acc[KILN_MAX_TE_OUTS];
    for (int i = 0; i < r->reducer->n; i++)
        acc[i] = eval(v, r->reducer->identity[i]);
    bool is_empty = false;
    for (int i = 0; i < te->n_reduce; i++) {
        int64_t extent = 0;
        kiln_x_is_int(te->reduce[i]->extent, &extent);
        is_empty = is_empty || extent == 0;
        v->coord[KILN_MAX_AXES + i] = 0;
    }
    v->exact = true;
    if (!is_empty) {
        do
            combine(v, r, acc);
        while (v->status == KILN_OK &&
               next(te->n_reduce, te->reduce, v->coord + KILN_MAX_AXES));
    }
    v->exact = false;
    for (int i = 0; i < te->n_out; i++)
        out[i] = acc[te->body[i]->u.reduce->index];
}

static void compute(evaluation *v, const kiln_te *te, kiln_wide *to) {
    const int64_t n = kiln_te_elems(te);
    v->now = te;
    for (int i = 0; i < te->rank; i++)
        v->coord[i] = 0;
    for (int64_t at = 0; at < n && v->status == KILN_OK; at++) {
        scalar out[KILN_MAX_TE_OUTS];
        if (te->body[0]->kind == KILN_EXPR_REDUCE)
            reduce(v, te, out);
        else
            for (int i = 0; i < te->n_out; i++)
                out[i] = eval(v, te->body[i]);
        for (int i = 0; i < te->n_out; i++) {
            if (to[i].f != NULL)
                to[i].f[at] = out[i].f;
            else
                to[i].i[at] = out[i].i;
        }
        next(te->rank, te->axis, v->coord);
    }
    for (int i = 0; i < te->n_out; i++)
        kiln_wide_round(&to[i]);
}

static kiln_type type_of(const kiln_te *te, int out, const int64_t *dim) {
    if (te->rank <= KILN_MAX_RANK)
        return kiln_type_make(te->dtype[out], te->rank, dim);
    const int64_t n = kiln_te_elems(te);
    return kiln_type_make(te->dtype[out], 1, &n);
}

kiln_status kiln_te_eval(kiln_arena *a, const kiln_te *const *outs, size_t n_outs,
                         const kiln_wide *in, size_t n_in, kiln_wide *out,
                         kiln_err *err) {
    evaluation *v = kiln_new(a, evaluation);
    v->arena = a;
    v->err = err;
    v->te = kiln_te_topo(a, outs, n_outs, &v->n);
    v->value = kiln_array(a, kiln_wide *, v->n);
    v->dim = kiln_array(a, int64_t *, v->n);
    size_t taken = 0;
    for (size_t s = 0; s < v->n; s++) {
        const kiln_te *te = v->te[s];
        v->value[s] = kiln_array(a, kiln_wide, te->n_out);
        v->dim[s] = kiln_array(a, int64_t, te->rank);
        for (int i = 0; i < te->rank; i++)
            v->dim[s][i] = kiln_te_dim(te, i);
        if (te->kind == KILN_TE_EXTERN)
            return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                             "stage '%s' is extern: only a loop program computes it",
                             te->name);
        if (te->kind == KILN_TE_PLACEHOLDER) {
            if (taken == n_in)
                return kiln_fail(err, KILN_ERR_ARG, "no value is given for '%s'",
                                 te->name);
            v->value[s][0] = in[taken++];
            continue;
        }
        for (int i = 0; i < te->n_out; i++) {
            const kiln_type t = type_of(te, i, v->dim[s]);
            v->value[s][i] = kiln_wide_new(a, &t);
        }
        compute(v, te, v->value[s]);
        if (v->status != KILN_OK)
            return v->status;
    }
    size_t k = 0;
    for (size_t o = 0; o < n_outs; o++)
        for (size_t s = 0; s < v->n; s++)
            for (int i = 0; v->te[s] == outs[o] && i < outs[o]->n_out; i++)
                out[k++] = v->value[s][i];
    return KILN_OK;
}
