/* Activations that exporters write out become the operators that they are.
 *
 *   gelu        x (1 + erf(x / sqrt 2)) / 2
 *   gelu, tanh  x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, or with the logistic
 *               function of twice that
 *   swish       x sigmoid(k x), also called SiLU and quick GELU
 *   hard_swish  x clip(x + 3, 0, 6) / 6, x clip(x / 6 + 1/2, 0, 1), or by hard_sigmoid
 *
 * Sums and products of them are written in any order and with constants anywhere. So what
 * is written is multiplied out, as a polynomial in x whose terms may have one factor F, a
 * call of one of these functions, and F's argument as a polynomial in x; the table says
 * which polynomials are which operator.
 *
 * Rounds anew: within an operator less is rounded than between several. */
#include "compiler/pass/pass_internal.h"

#include <math.h>
#include <string.h>

enum { CUBIC = 4, MOST_VISITS = 64, MOST_CANDIDATES = 16, MOST_DEPTH = 8 };

/* c[i][j] F^i x^j */
typedef struct form {
    double c[2][CUBIC];
} form;

typedef struct reading {
    const kiln_value *x;
    const kiln_node *f; /* the call; NULL: none so far */
    form arg;
    int visits; /* that are left */
} reading;

/* ---- operators --------------------------------------------------------------------- */

#define SQRT_HALF 0.70710678118654752440
#define SQRT_2_OVER_PI 0.79788456080286535588
#define CUBE 0.044715

typedef struct activation {
    const kiln_op_def *f;
    double arg[CUBIC];
    double factor, factor_f; /* of x, of F x */
    double low, high;        /* of clip: its limits; of hard_sigmoid: alpha, beta */
    const kiln_op_def *op;
    const char *approximate; /* gelu's attribute */
} activation;

static const activation activations[] = {
    {&kiln_op_erf, {0, SQRT_HALF}, 0.5, 0.5, 0, 0, &kiln_op_gelu, "none"},
    {&kiln_op_tanh,
     {0, SQRT_2_OVER_PI, 0, SQRT_2_OVER_PI *CUBE},
     0.5,
     0.5,
     0,
     0,
     &kiln_op_gelu,
     "tanh"},
    {&kiln_op_sigmoid,
     {0, 2 * SQRT_2_OVER_PI, 0, 2 * SQRT_2_OVER_PI *CUBE},
     0,
     1,
     0,
     0,
     &kiln_op_gelu,
     "tanh"},
    {&kiln_op_clip, {3, 1}, 0, 1.0 / 6, 0, 6, &kiln_op_hard_swish, NULL},
    {&kiln_op_clip, {0.5, 1.0 / 6}, 0, 1, 0, 1, &kiln_op_hard_swish, NULL},
    {&kiln_op_hard_sigmoid, {0, 1}, 0, 1, 1.0 / 6, 0.5, &kiln_op_hard_swish, NULL},
};
enum { N_ACTIVATIONS = sizeof activations / sizeof activations[0] };

static bool is_function(const kiln_op_def *op) {
    for (int i = 0; i < N_ACTIVATIONS; i++)
        if (activations[i].f == op)
            return true;
    return false;
}

static bool is_arithmetic(const kiln_op_def *op) {
    return op == &kiln_op_add || op == &kiln_op_sub || op == &kiln_op_mul ||
           op == &kiln_op_div || op == &kiln_op_neg || op == &kiln_op_pow;
}

/* ---- multiplying out --------------------------------------------------------------- */

static bool read_form(reading *r, const kiln_value *v, form *out);

static bool is_constant(const form *f) {
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < CUBIC; j++)
            if (f->c[i][j] != 0 && i + j > 0)
                return false;
    return true;
}

static form sum(const form *a, const form *b, double sign) {
    form out = *a;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < CUBIC; j++)
            out.c[i][j] += sign * b->c[i][j];
    return out;
}

/* False: a term is of too high a power. */
static bool product(const form *a, const form *b, form *out) {
    form p = {0};
    for (int i = 0; i < 4 * CUBIC * CUBIC; i++) {
        const int fa = i & 1, fb = i >> 1 & 1, xa = i / 4 % CUBIC, xb = i / 4 / CUBIC;
        const double c = a->c[fa][xa] * b->c[fb][xb];
        if (c == 0)
            continue;
        if (fa + fb > 1 || xa + xb >= CUBIC)
            return false;
        p.c[fa + fb][xa + xb] += c;
    }
    *out = p;
    return true;
}

static bool read_power(const form *a, const form *exponent, form *out) {
    const double n = exponent->c[0][0];
    if (!is_constant(exponent) || (n != 2 && n != 3))
        return false;
    return product(a, a, out) && (n == 2 || product(a, out, out));
}

static bool read_arithmetic(reading *r, const kiln_node *n, form *out) {
    form a, b = {0};
    if (!read_form(r, n->in[0], &a) || (n->n_in > 1 && !read_form(r, n->in[1], &b)))
        return false;
    if (n->op == &kiln_op_mul)
        return product(&a, &b, out);
    if (n->op == &kiln_op_pow)
        return read_power(&a, &b, out);
    if (n->op == &kiln_op_div) {
        if (!is_constant(&b) || b.c[0][0] == 0)
            return false;
        return product(&a, &(form){.c = {{1 / b.c[0][0]}}}, out);
    }
    *out = n->op == &kiln_op_neg ? sum(&b, &a, -1)
                                 : sum(&a, &b, n->op == &kiln_op_sub ? -1 : 1);
    return true;
}

/* One call for all of it. */
static bool read_call(reading *r, const kiln_node *n, form *out) {
    *out = (form){.c = {{0}, {1}}};
    if (r->f == n)
        return true;
    if (r->f != NULL)
        return false;
    r->f = n;
    if (!read_form(r, n->in[0], &r->arg))
        return false;
    for (int j = 0; j < CUBIC; j++)
        if (r->arg.c[1][j] != 0)
            return false;
    return true;
}

static bool read_form(reading *r, const kiln_value *v, form *out) {
    *out = (form){0};
    if (r->visits-- <= 0)
        return false;
    if (v == r->x) {
        out->c[0][1] = 1;
        return true;
    }
    if (kiln_pass_number(v, &out->c[0][0]))
        return true;
    const kiln_node *n = v->def;
    if (n == NULL || n->n_out != 1 || v->count != NULL)
        return false;
    return is_arithmetic(n->op) ? read_arithmetic(r, n, out)
                                : is_function(n->op) && read_call(r, n, out);
}

/* ---- which operator ---------------------------------------------------------------- */

/* Constants are rounded to the dtype, and so is what was computed of them. */
static bool is_near(double got, double want, kiln_dtype dtype) {
    return fabs(got - want) <=
           ldexp(fabs(want), 2 - kiln_dtype_get(dtype)->mantissa_bits);
}

static bool has_terms(const double *got, const double *want, kiln_dtype dtype) {
    for (int j = 0; j < CUBIC; j++)
        if (!is_near(got[j], want[j], dtype))
            return false;
    return true;
}

static bool has_attrs(const kiln_node *f, const activation *a, kiln_dtype dtype) {
    if (f->op == &kiln_op_clip)
        return kiln_node_attr(f, "min")->f == a->low &&
               kiln_node_attr(f, "max")->f == a->high;
    return f->op != &kiln_op_hard_sigmoid ||
           (is_near(kiln_node_attr(f, "alpha")->f, a->low, dtype) &&
            is_near(kiln_node_attr(f, "beta")->f, a->high, dtype));
}

static const activation *activation_of(const reading *r, const form *root,
                                       kiln_dtype dtype) {
    for (int i = 0; i < N_ACTIVATIONS; i++) {
        const activation *a = &activations[i];
        const double alone[CUBIC] = {0, a->factor}, times[CUBIC] = {0, a->factor_f};
        if (a->f == r->f->op && has_attrs(r->f, a, dtype) &&
            has_terms(r->arg.c[0], a->arg, dtype) &&
            has_terms(root->c[0], alone, dtype) && has_terms(root->c[1], times, dtype))
            return a;
    }
    return NULL;
}

/* x sigmoid(k x) for any k. */
static bool is_swish(const reading *r, const form *root, kiln_dtype dtype) {
    const double nothing[CUBIC] = {0}, x[CUBIC] = {0, 1};
    const double linear[CUBIC] = {0, r->arg.c[0][1]};
    return r->f->op == &kiln_op_sigmoid && linear[1] != 0 &&
           has_terms(r->arg.c[0], linear, dtype) &&
           has_terms(root->c[0], nothing, dtype) && has_terms(root->c[1], x, dtype);
}

/* ---- rewriting --------------------------------------------------------------------- */

static kiln_status replace(kiln_sweep *s, const kiln_node *n, const reading *r,
                           const form *root, kiln_value **same) {
    const kiln_dtype dtype = n->out[0]->type.dtype;
    kiln_value *x = (kiln_value *)(uintptr_t)r->x;
    if (is_swish(r, root, dtype)) {
        const kiln_attr_arg alpha = kiln_arg_float("alpha", r->arg.c[0][1]);
        return kiln_sweep_add(s, &kiln_op_swish, n, &x, 1, &alpha, 1, same);
    }
    const activation *a = activation_of(r, root, dtype);
    if (a == NULL)
        return KILN_OK;
    const char *word = a->approximate;
    const kiln_attr_arg form_of =
        kiln_arg_word("approximate", word != NULL ? word : "");
    return kiln_sweep_add(s, a->op, n, &x, 1, &form_of, word != NULL ? 1 : 0, same);
}

/* What x may be: what is read below the node through arithmetic and one function. */
typedef struct candidates {
    const kiln_value *v[MOST_CANDIDATES];
    int n;
    bool has_function;
} candidates;

static void collect(candidates *c, const kiln_value *v, int depth) {
    const kiln_node *n = v->def;
    if (n == NULL || n->n_out != 1 || depth == 0)
        return;
    const bool calls = is_function(n->op);
    c->has_function = c->has_function || calls;
    for (int i = 0; (calls || is_arithmetic(n->op)) && i < n->n_in; i++) {
        const kiln_value *in = n->in[i];
        bool is_known = in == NULL || kiln_value_is_const(in);
        for (int k = 0; k < c->n && !is_known; k++)
            is_known = c->v[k] == in;
        if (is_known || c->n == MOST_CANDIDATES)
            continue;
        c->v[c->n++] = in;
        collect(c, in, depth - 1);
    }
}

/* A function that others read, too, would be computed twice. */
static kiln_status merge(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    candidates c = {.n = 0};
    const bool is_last =
        n->op == &kiln_op_mul || n->op == &kiln_op_div || n->op == &kiln_op_add;
    if (!is_last || !kiln_dtype_is_float(n->out[0]->type.dtype))
        return KILN_OK;
    collect(&c, n->out[0], MOST_DEPTH);
    for (int i = 0; c.has_function && i < c.n && *same == NULL; i++) {
        reading r = {.x = c.v[i], .visits = MOST_VISITS};
        form root;
        if (kiln_type_eq(&r.x->type, &n->out[0]->type) &&
            read_form(&r, n->out[0], &root) && r.f != NULL &&
            kiln_sweep_uses(s, r.f->out[0]) == 1)
            KILN_TRY(replace(s, n, &r, &root, same));
    }
    return KILN_OK;
}

static kiln_status run(kiln_graph *g, kiln_pass_cx *cx) {
    return kiln_sweep_by(g, cx, merge);
}

const kiln_pass kiln_pass_merge_activations = {
    .name = "merge_activations",
    .doc = "activations that are written out become one operator each",
    .needs = KILN_TYPED | KILN_CONSTS_FOLDED | KILN_INFERENCE_ONLY,
    .keeps = KILN_TYPED | KILN_SHAPES_FOLDED | KILN_CONSTS_FOLDED | KILN_INFERENCE_ONLY,
    .run = run,
};
