/* Random graphs of all operators, with any names, attributes and constants: they print,
 * parse back and print the same, and so do their copies. KILN_SEED=... replays. */
#include "compiler/graph/graph.h"
#include "tests/support/kiln_test.h"

typedef struct maker {
    kiln_arena *a;
    kiln_rng rng;
    kiln_graph *g;
} maker;

static int64_t pick(maker *m, int64_t lo, int64_t hi) {
    return kiln_rng_range(&m->rng, lo, hi);
}

/* Mostly plain, often taken, sometimes of any bytes. */
static const char *random_name(maker *m) {
    static const char *const common[] = {"x", "y", "conv", "a b", "", "x.1"};
    if (pick(m, 0, 3) > 0)
        return common[pick(m, 0, 5)];
    char *const name = kiln_array(m->a, char, 9);
    const int64_t n = pick(m, 1, 8);
    for (int64_t i = 0; i < n; i++)
        name[i] = (char)pick(m, 1, 255);
    return name;
}

static kiln_type random_type(maker *m) {
    static const int64_t extents[] = {0, 1, 1, 2, 3, 4, 7};
    const int rank = (int)pick(m, 0, 5);
    int64_t dim[KILN_MAX_RANK];
    for (int i = 0; i < rank; i++)
        dim[i] = extents[pick(m, 0, 6)];
    /* Half of them f32, so that operators find inputs that fit. */
    const kiln_dtype dtype =
        pick(m, 0, 1) == 0 ? KILN_F32 : (kiln_dtype)pick(m, 0, KILN_N_DTYPES - 1);
    return kiln_type_make(dtype, rank, dim);
}

static kiln_type random_layout(maker *m) {
    kiln_type t = random_type(m);
    const int blocks = t.rank == 0 ? 0 : (int)pick(m, 0, 2);
    for (int i = 0; i < blocks; i++)
        t.layout.block[t.layout.n_blocks++] =
            (kiln_block){(uint8_t)pick(m, 0, t.rank - 1), (int32_t)pick(m, 1, 5)};
    if (pick(m, 0, 1) == 0) {
        t.layout.n_order = (uint8_t)t.rank;
        for (int i = 0; i < t.rank; i++)
            t.layout.order[i] = (uint8_t)(t.rank - 1 - i);
    }
    t.place.device = (uint8_t)pick(m, 0, 2);
    t.place.space = (uint8_t)pick(m, 0, 1);
    t.facts = (unsigned)pick(m, 0, 1);
    return t;
}

/* A byte of an element. Bool and low-bit types use some of their byte's values only:
 * of an integer sign-extended, of a float its code. */
static unsigned char random_byte(maker *m, kiln_dtype dtype) {
    const kiln_dtype_info *info = kiln_dtype_get(dtype);
    if (kiln_dtype_is_in(dtype, KILN_DT_BOOL | KILN_DT_LOW_INT))
        return (unsigned char)pick(m, info->min_i, info->max_i);
    return (unsigned char)pick(m, 0, dtype == KILN_F4E2M1 ? 15 : 255);
}

static void add_random_const(maker *m) {
    const kiln_type t = pick(m, 0, 3) == 0 ? random_layout(m) : random_type(m);
    const size_t bytes = (size_t)kiln_type_bytes(&t);
    unsigned char *const data = kiln_array(m->a, unsigned char, bytes);
    const bool is_flat = pick(m, 0, 2) == 0;
    for (size_t i = 0; i < bytes && !is_flat; i++)
        data[i] = random_byte(m, t.dtype);
    kiln_value *const v = kiln_graph_add_const(m->g, random_name(m), &t, data);
    if (pick(m, 0, 4) == 0 && t.rank > 0) {
        v->count = kiln_graph_const_i64(m->g, "count", 1);
        v->bounded_axis = (int)pick(m, 0, t.rank - 1);
    }
}

static kiln_attr_arg random_attr(maker *m, const kiln_attr_def *def) {
    static const int64_t ints[] = {0, 1, 2, 3, 1, -1, -3, INT64_MAX, INT64_MIN};
    static const double floats[] = {0.5, -0.0, 3, 1e308, -1e-320, 2, 1};
    int64_t n_choices = 0;
    while (def->choices != NULL && def->choices[n_choices] != NULL)
        n_choices++;
    kiln_attr_arg arg = {.name = def->name, .kind = def->kind};
    const bool is_word = def->kind == KILN_ATTR_WORD || def->kind == KILN_ATTR_WORDS;
    const bool is_tame = pick(m, 0, 4) > 0;
    arg.value.i = is_word                        ? pick(m, 0, n_choices - 1)
                  : def->kind == KILN_ATTR_BOOL  ? pick(m, 0, 1)
                  : def->kind == KILN_ATTR_DTYPE ? pick(m, 0, KILN_N_DTYPES - 1)
                                                 : ints[pick(m, 0, is_tame ? 4 : 8)];
    arg.value.f = floats[pick(m, 0, 6)];
    if (def->kind == KILN_ATTR_GRAPH)
        arg.value.graph = kiln_graph_new(m->a, random_name(m));
    if (def->kind != KILN_ATTR_INTS && def->kind != KILN_ATTR_FLOATS &&
        def->kind != KILN_ATTR_WORDS)
        return arg;
    int64_t *const i_list = kiln_array(m->a, int64_t, 6);
    double *const f_list = kiln_array(m->a, double, 6);
    arg.value.n = (size_t)pick(m, 0, 5);
    for (size_t i = 0; i < arg.value.n; i++) {
        i_list[i] =
            is_word ? pick(m, 0, n_choices - 1) : ints[pick(m, 0, is_tame ? 4 : 8)];
        f_list[i] = floats[pick(m, 0, 6)];
    }
    arg.value.ints = def->kind == KILN_ATTR_FLOATS ? NULL : i_list;
    arg.value.floats = def->kind == KILN_ATTR_FLOATS ? f_list : NULL;
    return arg;
}

/* Any operator, inputs and attributes: most are refused, which is part of the test, as
 * inference must not trip over any of them. */
static bool add_random_node(maker *m) {
    const kiln_op_def *const op = kiln_op_at((int)pick(m, 0, (int)KILN_N_OPS - 1));
    enum { MAX_IN = 8, MAX_ARGS = 16 };
    kiln_value *in[MAX_IN];
    kiln_attr_arg args[MAX_ARGS];
    size_t n_args = 0;
    const int most = op->n_in_max > MAX_IN ? MAX_IN : op->n_in_max;
    const int n_in = (int)pick(m, op->n_in_min > most ? most : op->n_in_min, most);
    kiln_value *const same = m->g->values.v[pick(m, 0, (int64_t)m->g->values.n - 1)];
    const bool all_same = pick(m, 0, 1) == 0;
    for (int i = 0; i < n_in; i++)
        in[i] = all_same ? same
                : i >= op->n_in_min && pick(m, 0, 3) == 0
                    ? NULL
                    : m->g->values.v[pick(m, 0, (int64_t)m->g->values.n - 1)];
    for (size_t i = 0; i < op->n_attr && n_args < MAX_ARGS; i++) {
        if (op->attr[i].is_required || pick(m, 0, 2) == 0)
            args[n_args++] = random_attr(m, &op->attr[i]);
    }
    const int most_out = op->n_out_max == 0 ? 1 : op->n_out_max > 4 ? 4 : op->n_out_max;
    const kiln_node_spec spec = {.op = op,
                                 .name = random_name(m),
                                 .in = in,
                                 .n_in = n_in,
                                 .n_out = (int)pick(m, 0, most_out),
                                 .args = args,
                                 .n_args = n_args};
    kiln_err err = {0};
    const kiln_status st = kiln_graph_add_node(m->g, &spec, NULL, &err);
    if (st != KILN_OK && err.len == 0)
        fail_msg("operator '%s' refused without a message", op->name);
    return st == KILN_OK;
}

static void check_random_graph(uint64_t seed, int *n_nodes) {
    kiln_arena arena = {0};
    maker m = {.a = &arena};
    kiln_rng_init(&m.rng, seed);
    m.g = kiln_graph_new(&arena, random_name(&m));
    m.g->facts = (unsigned)pick(&m, 0, 63);
    for (int64_t i = pick(&m, 1, 4); i > 0; i--) {
        const kiln_type t = random_type(&m);
        kiln_graph_add_input(m.g, random_name(&m), &t);
    }
    for (int64_t i = pick(&m, 0, 4); i > 0; i--)
        add_random_const(&m);
    for (int64_t i = pick(&m, 0, 200); i > 0; i--)
        *n_nodes += add_random_node(&m) ? 1 : 0;
    const kiln_type laid_out = random_layout(&m);
    kiln_graph_add_input(m.g, random_name(&m), &laid_out);
    for (int64_t i = pick(&m, 0, 4); i > 0; i--)
        kiln_graph_add_output(m.g,
                              m.g->values.v[pick(&m, 0, (int64_t)m.g->values.n - 1)],
                              random_name(&m));
    kiln_err err = {0};
    kiln_graph *again;
    kiln_buf first, second;
    kiln_buf_init(&first, &arena);
    kiln_buf_init(&second, &arena);
    kiln_assert_status_ok(kiln_graph_verify(m.g, &err), &err);
    kiln_graph_print(&first, m.g, NULL);
    kiln_assert_status_ok(
        kiln_graph_parse(&arena, kiln_buf_str(&first), "first", &again, &err), &err);
    kiln_assert_status_ok(kiln_graph_verify(again, &err), &err);
    kiln_graph_print(&second, again, NULL);
    kiln_assert_text_equal(kiln_buf_str(&second), kiln_buf_str(&first));
    kiln_buf_init(&second, &arena);
    kiln_graph_print(&second, kiln_graph_clone(&arena, m.g), NULL);
    kiln_assert_text_equal(kiln_buf_str(&second), kiln_buf_str(&first));
    kiln_arena_fini(&arena);
}

static void check_round_trip(void **state) {
    (void)state;
    const uint64_t seed = kiln_test_seed();
    int n_nodes = 0;
    enum { N_GRAPHS = 300 };
    for (uint64_t i = 0; i < N_GRAPHS; i++)
        check_random_graph(seed + i, &n_nodes);
    /* Else the property says little. */
    assert_in_range(n_nodes, N_GRAPHS, INT32_MAX);
}

int main(void) {
    kiln_test_add("random_graphs_survive_the_round_trip", check_round_trip, NULL);
    return kiln_test_run("text_property");
}
