/* Drawing values, adding nodes, choosing families: see random_graph.h. */
#include "tests/support/random/random_graph_internal.h"

#include <math.h>
#include <string.h>

/* ---- drawing --------------------------------------------------------------------- */

int64_t draw(maker *m, int64_t lo, int64_t hi) {
    return kiln_rng_range(&m->rng, lo, hi);
}

bool one_in(maker *m, int64_t n) { return draw(m, 1, n) == 1; }

static int64_t draw_long(maker *m) {
    static const int64_t dims[] = {48, 63, 64, 65, 96, 100, 127, 128, 129};
    return dims[draw(m, 0, sizeof dims / sizeof dims[0] - 1)];
}

int64_t draw_dim(maker *m) {
    static const int64_t dims[] = {1,  2,  3,  3,  4,  5,  5,  7,  8,  9,
                                   11, 12, 13, 15, 16, 17, 20, 24, 31, 33};
    return m->is_large && one_in(m, 3)
               ? draw_long(m)
               : dims[draw(m, 0, sizeof dims / sizeof dims[0] - 1)];
}

int64_t draw_channels(maker *m) {
    static const int64_t dims[] = {1,  2,  3,  4,  5,  6,  7,  8, 12,
                                   16, 16, 17, 20, 24, 32, 33, 40};
    return m->is_large && one_in(m, 3)
               ? draw_long(m)
               : dims[draw(m, 0, sizeof dims / sizeof dims[0] - 1)];
}

double term_scale(int64_t n) { return sqrt(3.0 / (double)(n > 0 ? n : 1)); }

/* ---- tensors --------------------------------------------------------------------- */

static void *draw_data(maker *m, const kiln_type *t, double scale) {
    const kiln_tensor x = kiln_ref_random(m->g->arena, t, kiln_rng_next(&m->rng));
    const int64_t n = kiln_type_elems(t);
    kiln_wide w = kiln_wide_new(m->g->arena, t);
    kiln_widen(t, x.data, &w);
    const int64_t kind = draw(m, 0, 15); /* one value everywhere, sometimes neutral */
    for (int64_t i = 0; i < n; i++) {
        if (w.f != NULL)
            w.f[i] = kind == 0   ? 0
                     : kind == 1 ? 1
                     : kind == 2 ? scale / 2
                                 : w.f[i] * scale;
        else if (t->dtype != KILN_BOOL)
            w.i[i] = kind < 2                                     ? kind
                     : kiln_dtype_is_in(t->dtype, KILN_DT_SIGNED) ? draw(m, -7, 8)
                                                                  : draw(m, 0, 9);
    }
    kiln_narrow(&w, x.data);
    return x.data;
}

kiln_value *draw_input(maker *m, kiln_dtype dtype, int rank, const int64_t *dim) {
    const kiln_type t = kiln_type_make(dtype, rank, dim);
    kiln_value *v = kiln_graph_add_input(m->g, "x", &t);
    const kiln_tensor x = kiln_ref_random(m->g->arena, &t, kiln_rng_next(&m->rng));
    graph_values_set(&m->values, v, x.data);
    kiln_vec_push(m->g->arena, &m->pool, v);
    return v;
}

static kiln_value *new_const(maker *m, const kiln_type *t, const void *data) {
    kiln_value *v = kiln_graph_add_const(m->g, "k", t, data);
    kiln_vec_push(m->g->arena, &m->consts, v);
    return v;
}

kiln_value *draw_const(maker *m, kiln_dtype dtype, int rank, const int64_t *dim,
                       double scale) {
    const kiln_type t = kiln_type_make(dtype, rank, dim);
    for (size_t i = 0; i < m->consts.n && one_in(m, 3); i++)
        if (kiln_type_eq(&m->consts.v[i]->type, &t))
            return m->consts.v[i];
    return new_const(m, &t, draw_data(m, &t, scale));
}

kiln_value *const_ints(maker *m, kiln_dtype dtype, int rank, const int64_t *dim,
                       const int64_t *v) {
    const kiln_type t = kiln_type_make(dtype, rank, dim);
    const kiln_tensor x = kiln_tensor_new(m->g->arena, &t);
    kiln_wide w = kiln_wide_new(m->g->arena, &t);
    for (int64_t i = 0; i < kiln_type_elems(&t); i++)
        w.i[i] = v[i];
    kiln_narrow(&w, x.data);
    return kiln_graph_add_const(m->g, "i", &t, x.data);
}

kiln_value *draw_indices(maker *m, kiln_dtype dtype, int rank, const int64_t *dim,
                         int64_t lo, int64_t hi) {
    const kiln_type t = kiln_type_make(dtype, rank, dim);
    const int64_t n = kiln_type_elems(&t);
    int64_t *v = kiln_array(m->g->arena, int64_t, n);
    for (int64_t i = 0; i < n; i++)
        v[i] = draw(m, lo, hi);
    kiln_value *c = const_ints(m, dtype, rank, dim, v);
    if (!one_in(m, 3))
        return c;
    kiln_value *x = kiln_graph_add_input(m->g, "at", &t);
    graph_values_set(&m->values, x, c->data);
    return x;
}

kiln_value *draw_known(maker *m, kiln_dtype dtype, int rank, const int64_t *dim,
                       const double *v) {
    const kiln_type t = kiln_type_make(dtype, rank, dim);
    const kiln_tensor x = kiln_tensor_new(m->g->arena, &t);
    kiln_wide w = kiln_wide_new(m->g->arena, &t);
    for (int64_t i = 0; i < kiln_type_elems(&t); i++)
        w.f[i] = v[i];
    kiln_narrow(&w, x.data);
    if (one_in(m, 2))
        return kiln_graph_add_const(m->g, "known", &t, x.data);
    kiln_value *in = kiln_graph_add_input(m->g, "known", &t);
    graph_values_set(&m->values, in, x.data);
    return in;
}

/* ---- old values ------------------------------------------------------------------ */

kiln_value *find_value(maker *m, value_test is_wanted, const void *user) {
    kiln_value *found = NULL;
    int64_t n = 0;
    for (size_t i = m->pool.n; i-- > 0;) {
        if (!is_wanted(m->pool.v[i], user))
            continue;
        if (found == NULL && n == 0 && (m->is_chain || one_in(m, 2)))
            return m->pool.v[i]; /* the newest */
        if (one_in(m, ++n))
            found = m->pool.v[i];
    }
    return found;
}

typedef struct wanted {
    unsigned dtypes;
    int lo, hi;
} wanted;

static bool is_wanted(const kiln_value *v, const void *user) {
    const wanted *w = user;
    return kiln_dtype_is_in(v->type.dtype, w->dtypes) && v->type.rank >= w->lo &&
           v->type.rank <= w->hi && kiln_type_elems(&v->type) > 0;
}

static kiln_dtype draw_dtype(maker *m, unsigned dtypes) {
    if (kiln_dtype_is_in(m->dtype, dtypes))
        return m->dtype;
    if (kiln_dtype_is_in(KILN_F32, dtypes))
        return KILN_F32;
    for (;;) {
        const kiln_dtype d = (kiln_dtype)draw(m, 0, KILN_N_DTYPES - 1);
        if (kiln_dtype_is_in(d, dtypes))
            return d;
    }
}

kiln_value *draw_value(maker *m, unsigned dtypes, int lo, int hi) {
    const wanted w = {dtypes, lo, hi};
    kiln_value *v = !m->is_chain && one_in(m, 12) ? NULL : find_value(m, is_wanted, &w);
    if (v != NULL)
        return v;
    int64_t dim[KILN_MAX_RANK], elems = 1;
    const int rank = (int)draw(m, lo, hi > 4 ? (lo > 4 ? lo : 4) : hi);
    for (int i = 0; i < rank; i++) {
        dim[i] = i == 0 && rank == 4 ? draw(m, 1, 2) : draw_dim(m);
        while (elems * dim[i] > m->max_elems / 2)
            dim[i] = (dim[i] + 1) / 2;
        elems *= dim[i];
    }
    const kiln_dtype dtype = draw_dtype(m, dtypes);
    return one_in(m, 6) ? draw_const(m, dtype, rank, dim, 1)
                        : draw_input(m, dtype, rank, dim);
}

static bool has_type(const kiln_value *v, const void *user) {
    return kiln_type_eq(&v->type, user);
}

kiln_value *draw_operand(maker *m, kiln_dtype dtype, int rank, const int64_t *dim,
                         double scale) {
    const kiln_type t = kiln_type_make(dtype, rank, dim);
    const int64_t kind = draw(m, 0, 9);
    kiln_value *old = kind < 4 ? find_value(m, has_type, &t) : NULL;
    return old != NULL ? old
           : kind == 9 ? draw_input(m, dtype, rank, dim)
                       : draw_const(m, dtype, rank, dim, scale);
}

/* ---- nodes ----------------------------------------------------------------------- */

/* Is it of use to what comes behind it, and can it be compared? */
static bool is_tame(maker *m, const kiln_value *v) {
    enum { LARGEST = 2000 };
    const graph_value *x = graph_values_get(&m->values, v);
    const graph_spread s = graph_value_spread(x);
    if (s.n > 2 * m->max_elems || !s.is_finite || 10 * s.n_loose > s.n)
        return false;
    return !kiln_dtype_is_float(v->type.dtype) ||
           kiln_dtype_is_in(v->type.dtype, KILN_DT_LOW_FLOAT) ||
           (s.max <= LARGEST && s.noise_rms <= 0.01 * s.rms + 1e-30);
}

typedef struct mark {
    size_t n_nodes, n_values;
} mark;

static void drop(maker *m, mark to) {
    m->g->nodes.n = to.n_nodes;
    m->g->values.n = to.n_values;
    if (m->values.of.n > to.n_values)
        m->values.of.n = to.n_values;
}

kiln_node *add_node(maker *m, const kiln_op_def *op, kiln_value *const *in, int n_in,
                    int n_out, const kiln_attr_arg *args, size_t n_args) {
    const mark before = {m->g->nodes.n, m->g->values.n};
    kiln_err err = {.status = KILN_OK};
    kiln_node *n = NULL;
    const kiln_node_spec spec = {.op = op,
                                 .in = in,
                                 .n_in = n_in,
                                 .n_out = n_out,
                                 .args = args,
                                 .n_args = n_args};
    for (int i = 0; i < n_in; i++)
        if (i < op->n_in_min && in[i] == NULL)
            return NULL;
    bool is_good = kiln_graph_add_node(m->g, &spec, &n, &err) == KILN_OK;
    for (int k = 0; is_good && k < n->n_out; k++)
        is_good = kiln_type_elems(&n->out[k]->type) <= 2 * m->max_elems;
    is_good = is_good && graph_values_node(&m->values, n, &err) == KILN_OK;
    for (int k = 0; is_good && k < n->n_out; k++)
        is_good = is_tame(m, n->out[k]);
    if (!is_good) {
        KILN_LOG(DEBUG, "random", "%s is not taken: %s", op->name, err.text);
        drop(m, before);
        return NULL;
    }
    for (int k = 0; k < n->n_out; k++)
        kiln_vec_push(m->g->arena, &m->pool, n->out[k]);
    return n;
}

kiln_value *add_op(maker *m, const kiln_op_def *op, kiln_value *const *in, int n_in,
                   const kiln_attr_arg *args, size_t n_args) {
    const kiln_node *n = add_node(m, op, in, n_in, 0, args, n_args);
    return n != NULL ? n->out[0] : NULL;
}

kiln_value *add_unary(maker *m, const kiln_op_def *op, kiln_value *x) {
    return add_op(m, op, &x, 1, NULL, 0);
}

kiln_value *add_reshape(maker *m, kiln_value *x, int rank, const int64_t *dim) {
    const kiln_attr_arg shape = kiln_arg_ints("shape", dim, (size_t)rank);
    return add_op(m, &kiln_op_reshape, &x, 1, &shape, 1);
}

kiln_value *add_transpose(maker *m, kiln_value *x, const int64_t *perm) {
    if (x == NULL)
        return NULL;
    const kiln_attr_arg order = kiln_arg_ints("perm", perm, (size_t)x->type.rank);
    return add_op(m, &kiln_op_transpose, &x, 1, &order, 1);
}

kiln_value *add_cast(maker *m, kiln_value *x, kiln_dtype to) {
    const kiln_attr_arg arg = kiln_arg_dtype("to", to);
    return add_op(m, &kiln_op_cast, &x, 1, &arg, 1);
}

kiln_value *add_widened(maker *m, kiln_value *x) {
    const kiln_dtype d = x->type.dtype;
    if (d != KILN_I8 && d != KILN_U8)
        return x;
    x = add_cast(m, x, KILN_I32);
    if (x == NULL || one_in(m, 2))
        return x;
    kiln_value *in[2] = {x, draw_indices(m, KILN_I32, 0, NULL, 0, 5)};
    return in[1] != NULL ? add_op(m, &kiln_op_sub, in, 2, NULL, 0) : NULL;
}

/* Bounds lie on both sides of zero, everything else between a quarter and 1.5. */
static double draw_number(maker *m, const char *name) {
    const double unit = kiln_rng_unit(&m->rng);
    return strcmp(name, "min") == 0   ? -1 + unit
           : strcmp(name, "max") == 0 ? 0.125 + unit
                                      : 0.25 + 1.25 * unit;
}

size_t draw_attrs(maker *m, const kiln_op_def *op, kiln_attr_arg *args) {
    size_t n = 0;
    for (size_t i = 0; i < op->n_attr; i++) {
        const kiln_attr_def *def = &op->attr[i];
        int64_t n_words = 0;
        if (!def->is_required && one_in(m, 2))
            continue;
        if (def->kind == KILN_ATTR_FLOAT)
            args[n++] = kiln_arg_float(def->name, draw_number(m, def->name));
        if (def->kind == KILN_ATTR_BOOL)
            args[n++] = kiln_arg_bool(def->name, one_in(m, 2));
        while (def->kind == KILN_ATTR_WORD && def->choices[n_words] != NULL)
            n_words++;
        if (def->kind == KILN_ATTR_WORD)
            args[n++] = kiln_arg_word(def->name, def->choices[draw(m, 0, n_words - 1)]);
    }
    return n;
}

/* ---- graphs ---------------------------------------------------------------------- */

enum { N_THEMES = 5 };
typedef struct family {
    bool (*add)(maker *m);
    int weight[N_THEMES];
} family;

static const family families[] = {
#define FAMILY(name, ...) {random_graph_##name, {__VA_ARGS__}},
#include "tests/support/random/random_graph.def"
#undef FAMILY
};
enum { N_FAMILIES = sizeof families / sizeof families[0] };

static const family *draw_family(maker *m, int theme) {
    int64_t sum = 0;
    for (int i = 0; i < N_FAMILIES; i++)
        sum += families[i].weight[theme];
    int64_t at = draw(m, 0, sum - 1);
    for (int i = 0;; i++) {
        at -= families[i].weight[theme];
        if (at < 0)
            return &families[i];
    }
}

static kiln_dtype draw_base(maker *m, int theme) {
    static const kiln_dtype ints[] = {KILN_I8,  KILN_U8,  KILN_I32, KILN_I64,
                                      KILN_I16, KILN_U16, KILN_U32, KILN_U64};
    const int64_t kind = draw(m, 0, 19);
    if (theme == 3)
        return ints[draw(m, 0, 7)];
    return kind == 0   ? KILN_F64
           : kind == 1 ? KILN_BF16
           : kind < 4  ? KILN_F16
                       : KILN_F32;
}

/* What nobody reads, up to a few; some of the others, an input, one value twice. */
static void choose_outputs(maker *m) {
    const int *uses = kiln_graph_count_uses(m->g, m->g->arena);
    size_t n_out = (size_t)draw(m, 1, 4);
    for (size_t i = m->pool.n; i-- > 0 && m->g->outputs.n < n_out;)
        if (uses[m->pool.v[i]->id] == 0)
            kiln_graph_add_output(m->g, m->pool.v[i], "y");
    while (one_in(m, 3))
        kiln_graph_add_output(m->g, m->pool.v[draw(m, 0, (int64_t)m->pool.n - 1)],
                              "kept");
    if (one_in(m, 12) && m->consts.n > 0)
        kiln_graph_add_output(m->g, m->consts.v[0], "constant");
    if (m->g->outputs.n == 0 || one_in(m, 12))
        kiln_graph_add_output(m->g, m->pool.v[m->pool.n - 1], "last");
}

/* Names of outputs are the model's: different ones. */
static void name_outputs(kiln_graph *g) {
    for (size_t i = 0; i < g->outputs.n; i++)
        g->output_names.v[i] = kiln_format(g->arena, "%s%zu", g->output_names.v[i], i);
}

void random_graph_make(kiln_arena *a, uint64_t seed, random_graph *out) {
    maker m = {
        .g = kiln_graph_new(a, kiln_format(a, "seed_%llu", (unsigned long long)seed))};
    kiln_rng_init(&m.rng, seed);
    (void)kiln_rng_next(&m.rng); /* neighbours' first numbers are alike */
    graph_values_init(&m.values, a, seed);
    const int theme = (int)draw(&m, 0, N_THEMES - 1);
    const int64_t n_nodes = draw(&m, 2, one_in(&m, 4) ? 22 : 9);
    m.dtype = draw_base(&m, theme);
    m.is_large = one_in(&m, 12);
    m.max_elems = m.is_large ? 40000 : 6000;
    for (int tries = 0; (int64_t)m.g->nodes.n < n_nodes && tries < 60; tries++)
        (void)draw_family(&m, theme)->add(&m);
    if (m.pool.n == 0)
        (void)draw_value(&m, KILN_DT_ANY, 0, 4);
    kiln_graph_renumber(m.g);
    choose_outputs(&m);
    name_outputs(m.g);
    *out = (random_graph){m.g, m.values};
}

const random_graph_gap *random_graph_gap_at(int i) {
    static const random_graph_gap gaps[] = {
        {NULL, NULL},
    };
    return gaps[i].op != NULL ? &gaps[i] : NULL;
}
