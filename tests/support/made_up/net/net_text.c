#include "tests/support/made_up/net/net_text.h"

#include "compiler/frontend/import_cx.h"
#include "compiler/frontend/spatial.h"

enum { MAX_SIZE = 1 << 20 };

double kiln_test_net_weight(int64_t i) { return (double)(i * 7 % 11) / 8 - 0.625; }
double kiln_test_net_bias(int64_t i) { return (double)(i % 3) / 4; }

/* What is being made: the site of its nodes. */
typedef struct line {
    kiln_str name;
    int number;
} line;

typedef struct net {
    kiln_import_cx cx; /* first */
    kiln_lexer l;
    kiln_map values;
    line at;
} net;

/* ---- names ----------------------------------------------------------------------- */

static const char *node_name(kiln_import_cx *cx, const void *site) {
    const line *at = site;
    return kiln_format(&cx->scratch, "line%d", at->number);
}

static const char *out_name(kiln_import_cx *cx, const void *site, int i) {
    const line *at = site;
    (void)i;
    return kiln_format(&cx->scratch, "%.*s", KILN_STR_ARG(at->name));
}

/* No regions, and every operator reads every value. */
static const kiln_import_format format = {.node_name = node_name, .out_name = out_name};

/* ---- words ----------------------------------------------------------------------- */

static kiln_status value_of(net *n, kiln_value **out) {
    kiln_str name;
    const char *at = kiln_lex_here(&n->l);
    if (!kiln_lex_bare(&n->l, &name))
        return kiln_lex_expected(&n->l, "a value");
    *out = kiln_map_get(&n->values, name);
    if (*out == NULL)
        return kiln_lex_fail(&n->l, at, KILN_ERR_PARSE, "there is no value '%.*s'",
                             KILN_STR_ARG(name));
    return KILN_OK;
}

/* Numbers until something else comes. */
static kiln_status numbers(net *n, int64_t *v, int *count) {
    for (*count = 0; *count < KILN_MAX_RANK; (*count)++) {
        const char *at = kiln_lex_here(&n->l);
        const char c = at < n->l.text.p + n->l.text.n ? *at : '\0';
        if (c != '-' && (c < '0' || c > '9'))
            break;
        KILN_TRY(kiln_lex_int(&n->l, "a number", -1, MAX_SIZE, &v[*count]));
    }
    return KILN_OK;
}

/* ---- lines ----------------------------------------------------------------------- */

/* By a formula; as many as the file asks for, within what an import may compute. */
static kiln_value *weights(kiln_compose *c, int rank, const int64_t *dim,
                           double (*of)(int64_t i)) {
    const kiln_type t = kiln_type_make(KILN_F32, rank, dim);
    kiln_compose_fail(c, kiln_type_check(&t, c->cx->err));
    const int64_t n = c->status == KILN_OK ? kiln_type_elems(&t) : 0;
    if (c->status == KILN_OK)
        kiln_compose_fail(c, kiln_import_spend(c->cx, 8 * n));
    if (c->status != KILN_OK)
        return kiln_import_scalar(c->cx, KILN_F32, 0);
    double *v = kiln_array(c->cx->arena, double, n);
    for (int64_t i = 0; i < n; i++)
        v[i] = of(i);
    return kiln_compose_floats(c, KILN_F32, rank, dim, v);
}

/* x, then m kernel stride (of a pool without m). */
static kiln_status read_window(net *n, kiln_value **x, int n_numbers, int64_t *v,
                               kiln_spatial *s) {
    KILN_TRY(value_of(n, x));
    for (int i = 0; i < n_numbers; i++)
        KILN_TRY(kiln_lex_int(&n->l, "a size", 1, MAX_SIZE, &v[i]));
    if ((*x)->type.rank != 4)
        return kiln_fail(n->cx.err, KILN_ERR_SHAPE,
                         "a window slides over [N, C, H, W], not over %s",
                         kiln_type_text(&n->cx.scratch, &(*x)->type));
    const int64_t kernel[] = {v[n_numbers - 2], v[n_numbers - 2]};
    kiln_spatial_init(s, *x, kernel);
    s->strides[0] = s->strides[1] = v[n_numbers - 1];
    s->is_same = s->is_upper = true;
    return KILN_OK;
}

static kiln_status conv(net *n, kiln_compose *c, kiln_value **out) {
    kiln_value *x;
    kiln_spatial s;
    int64_t v[3];
    KILN_TRY(read_window(n, &x, 3, v, &s));
    const int64_t dim[] = {v[0], x->type.dim[1], v[1], v[1]};
    kiln_value *const in[] = {x, weights(c, 4, dim, kiln_test_net_weight),
                              weights(c, 1, dim, kiln_test_net_bias)};
    *out = kiln_compose_conv(c, in, &s, 1);
    return c->status;
}

static kiln_status pool(net *n, kiln_compose *c, kiln_value **out) {
    kiln_value *x;
    kiln_spatial s;
    int64_t v[2];
    KILN_TRY(read_window(n, &x, 2, v, &s));
    *out = kiln_compose_pool(c, &kiln_op_avg_pool, x, &s, false, NULL, 0);
    return c->status;
}

static kiln_status list(net *n, kiln_compose *c, kiln_value **out) {
    int64_t v[KILN_MAX_RANK];
    int count = 0;
    KILN_TRY(numbers(n, v, &count));
    const int64_t dim = count;
    *out = kiln_compose_ints(c, 1, &dim, v);
    return c->status;
}

static kiln_status sum(net *n, kiln_compose *c, kiln_value **out) {
    kiln_value *x, *y;
    KILN_TRY(value_of(n, &x));
    KILN_TRY(value_of(n, &y));
    *out = kiln_compose_2(c, &kiln_op_add, x, y);
    return c->status;
}

static kiln_status relu(net *n, kiln_compose *c, kiln_value **out) {
    kiln_value *x;
    KILN_TRY(value_of(n, &x));
    *out = kiln_compose_1(c, &kiln_op_relu, x);
    return c->status;
}

/* The list decides a shape, so it must be constant. */
static kiln_status shape(net *n, kiln_compose *c, kiln_value **out) {
    kiln_value *x, *want;
    const int64_t *dim;
    size_t rank;
    KILN_TRY(value_of(n, &x));
    KILN_TRY(value_of(n, &want));
    KILN_TRY(kiln_import_const_ints(&n->cx, want, "LIST", &dim, &rank));
    if (rank > KILN_MAX_RANK)
        return kiln_fail(n->cx.err, KILN_ERR_SHAPE, "a shape of %zu axes", rank);
    *out = kiln_compose_reshape(c, x, (int)rank, dim);
    return c->status;
}

/* Without dimensions: a list of two numbers. */
static kiln_status input(net *n, kiln_compose *c, kiln_value **out) {
    static const int64_t two = 2;
    int64_t dim[KILN_MAX_RANK];
    int rank = 0;
    (void)c;
    KILN_TRY(numbers(n, dim, &rank));
    const kiln_type t = rank == 0 ? kiln_type_make(KILN_I64, 1, &two)
                                  : kiln_type_make(KILN_F32, rank, dim);
    KILN_TRY(kiln_type_check(&t, n->cx.err));
    *out =
        kiln_graph_add_input(n->cx.graph, kiln_str_dupv(n->cx.arena, n->at.name), &t);
    return KILN_OK;
}

static const struct {
    const char *word;
    kiln_status (*make)(net *n, kiln_compose *c, kiln_value **out);
} words[] = {{"input", input}, {"list", list}, {"sum", sum},    {"conv", conv},
             {"pool", pool},   {"relu", relu}, {"shape", shape}};

static kiln_status read_line(net *n) {
    const char *at = kiln_lex_here(&n->l);
    kiln_value *v = NULL;
    n->at.number++;
    if (kiln_lex_word(&n->l, "output")) {
        KILN_TRY(value_of(n, &v));
        kiln_graph_add_output(n->cx.graph, v, v->name);
        return KILN_OK;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (!kiln_lex_word(&n->l, words[i].word))
            continue;
        kiln_compose c = {.cx = &n->cx, .site = &n->at};
        if (!kiln_lex_bare(&n->l, &n->at.name))
            return kiln_lex_expected(&n->l, "a name");
        KILN_TRY(kiln_lex_note(&n->l, at, words[i].make(n, &c, &v)));
        kiln_map_set(&n->cx.scratch, &n->values, n->at.name, v);
        return KILN_OK;
    }
    return kiln_lex_expected(&n->l, "a line");
}

static kiln_status read_net(net *n) {
    const char *name;
    if (!kiln_lex_word(&n->l, "net"))
        return kiln_lex_expected(&n->l, "'net'");
    KILN_TRY(kiln_lex_quoted(&n->l, &name));
    n->cx.graph = kiln_graph_new(n->cx.arena, name);
    while (kiln_lex_here(&n->l) < n->l.text.p + n->l.text.n)
        KILN_TRY(read_line(n));
    n->cx.graph->facts |= KILN_TYPED;
    return KILN_OK;
}

static kiln_status import(kiln_arena *a, kiln_str bytes, const char *name,
                          const char *dir, const kiln_import_options *o,
                          kiln_graph **out, kiln_import_report *report, kiln_err *err) {
    net n = {.at = {.number = 1}};
    (void)dir;
    (void)o;
    if (report != NULL)
        *report = (kiln_import_report){.format = "net", .producer = ""};
    kiln_import_begin(&n.cx, &format, a, err);
    n.l = kiln_lexer_make(&n.cx.scratch, bytes, name, err);
    const kiln_status st = read_net(&n);
    if (st == KILN_OK)
        *out = n.cx.graph;
    kiln_import_end(&n.cx);
    return st;
}

static bool sniff(kiln_str bytes) { return kiln_str_starts(bytes, "net \""); }

static const char *const extensions[] = {".net", NULL};

const kiln_frontend kiln_test_net_text = {
    .name = "net",
    .doc = "a line for each layer",
    .extensions = extensions,
    .sniff = sniff,
    .import = import,
};
