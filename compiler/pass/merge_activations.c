/* Activations that exporters write out become the operators that they are.
 *
 *   gelu        x (1 + erf(x / sqrt 2)) / 2
 *   gelu, tanh  x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, or with the logistic
 *               function of twice that
 *   swish       x sigmoid(k x), also called SiLU and quick GELU, or x / (1 + exp(-k x))
 *   hard_swish  x clip(x + 3, 0, 6) / 6, x clip(x / 6 + 1/2, 0, 1), or by hard_sigmoid;
 *               clip also as the min of a max
 *   mish        x tanh(softplus(x)), or with ln(1 + exp(x))
 *
 * Sums and products of them are written in any order and with constants anywhere. So what
 * is written is multiplied out (activation_form.h); the table says which forms are which
 * operator.
 *
 * Rounds anew: within an operator less is rounded than between several. */
#include "compiler/pass/activation_form.h"

#include <math.h>

enum { MOST_CANDIDATES = 16, MOST_DEPTH = 8 };

/* ---- operators --------------------------------------------------------------------- */

#define SQRT_HALF 0.70710678118654752440
#define SQRT_2_OVER_PI 0.79788456080286535588
#define CUBE 0.044715

typedef struct activation {
    kiln_form_function f;
    double arg[KILN_FORM_POWERS];
    double factor, factor_f; /* of x, of F x */
    double low, high;        /* of clip: its limits; of hard_sigmoid: alpha, beta */
    const kiln_op_def *op;
    const char *approximate; /* gelu's attribute */
} activation;

static const activation activations[] = {
    {KILN_FORM_ERF, {0, SQRT_HALF}, 0.5, 0.5, 0, 0, &kiln_op_gelu, "none"},
    {KILN_FORM_TANH,
     {0, SQRT_2_OVER_PI, 0, SQRT_2_OVER_PI *CUBE},
     0.5,
     0.5,
     0,
     0,
     &kiln_op_gelu,
     "tanh"},
    {KILN_FORM_LOGISTIC,
     {0, 2 * SQRT_2_OVER_PI, 0, 2 * SQRT_2_OVER_PI *CUBE},
     0,
     1,
     0,
     0,
     &kiln_op_gelu,
     "tanh"},
    {KILN_FORM_CLIP, {3, 1}, 0, 1.0 / 6, 0, 6, &kiln_op_hard_swish, NULL},
    {KILN_FORM_CLIP, {0.5, 1.0 / 6}, 0, 1, 0, 1, &kiln_op_hard_swish, NULL},
    {KILN_FORM_HARD_SIGMOID, {0, 1}, 0, 1, 1.0 / 6, 0.5, &kiln_op_hard_swish, NULL},
    {KILN_FORM_TANH_SOFTPLUS, {0, 1}, 0, 1, 0, 0, &kiln_op_mish, NULL},
};
enum { N_ACTIVATIONS = sizeof activations / sizeof activations[0] };

/* ---- which operator ---------------------------------------------------------------- */

/* Constants are rounded to the dtype, and so is what was computed of them. */
static bool is_near(double got, double want, kiln_dtype dtype) {
    return fabs(got - want) <=
           ldexp(fabs(want), 2 - kiln_dtype_get(dtype)->mantissa_bits);
}

static bool has_terms(const double *got, const double *want, kiln_dtype dtype) {
    for (int j = 0; j < KILN_FORM_POWERS; j++)
        if (!is_near(got[j], want[j], dtype))
            return false;
    return true;
}

static bool has_limits(const kiln_form_reading *r, const activation *a,
                       kiln_dtype dtype) {
    if (a->f == KILN_FORM_CLIP)
        return r->low == a->low && r->high == a->high;
    return a->f != KILN_FORM_HARD_SIGMOID ||
           (is_near(r->low, a->low, dtype) && is_near(r->high, a->high, dtype));
}

static const activation *activation_of(const kiln_form_reading *r,
                                       const kiln_form *root, kiln_dtype dtype) {
    double arg[KILN_FORM_POWERS];
    kiln_form_argument(r, root, arg);
    for (int i = 0; i < N_ACTIVATIONS; i++) {
        const activation *a = &activations[i];
        const double alone[KILN_FORM_POWERS] = {0, a->factor};
        const double times[KILN_FORM_POWERS] = {0, a->factor_f};
        if (a->f == root->f && has_limits(r, a, dtype) &&
            has_terms(arg, a->arg, dtype) && has_terms(root->c[0], alone, dtype) &&
            has_terms(root->c[1], times, dtype))
            return a;
    }
    return NULL;
}

/* x sigmoid(k x) for any k. */
static bool is_swish(const kiln_form_reading *r, const kiln_form *root,
                     kiln_dtype dtype, double *k) {
    const double nothing[KILN_FORM_POWERS] = {0}, x[KILN_FORM_POWERS] = {0, 1};
    double arg[KILN_FORM_POWERS];
    kiln_form_argument(r, root, arg);
    const double linear[KILN_FORM_POWERS] = {0, arg[1]};
    *k = arg[1];
    return root->f == KILN_FORM_LOGISTIC && *k != 0 && has_terms(arg, linear, dtype) &&
           has_terms(root->c[0], nothing, dtype) && has_terms(root->c[1], x, dtype);
}

/* ---- rewriting --------------------------------------------------------------------- */

static kiln_status replace(kiln_sweep *s, const kiln_node *n,
                           const kiln_form_reading *r, const kiln_form *root,
                           kiln_value **same) {
    const kiln_dtype dtype = n->out[0]->type.dtype;
    kiln_value *x = (kiln_value *)(uintptr_t)r->x;
    double k = 0;
    if (is_swish(r, root, dtype, &k)) {
        const kiln_attr_arg alpha = kiln_arg_float("alpha", k);
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
    const bool calls = kiln_form_is_function(n->op);
    c->has_function = c->has_function || calls;
    for (int i = 0; (calls || kiln_form_is_arithmetic(n->op)) && i < n->n_in; i++) {
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

static kiln_status merge(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    candidates c = {.n = 0};
    const bool is_last =
        n->op == &kiln_op_mul || n->op == &kiln_op_div || n->op == &kiln_op_add;
    if (!is_last || !kiln_dtype_is_float(n->out[0]->type.dtype))
        return KILN_OK;
    collect(&c, n->out[0], MOST_DEPTH);
    for (int i = 0; c.has_function && i < c.n && *same == NULL; i++) {
        kiln_form_reading r = {.sweep = s, .x = c.v[i]};
        kiln_form root;
        if (kiln_type_eq(&r.x->type, &n->out[0]->type) &&
            kiln_form_read(&r, n->out[0], &root) && r.call != NULL)
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
