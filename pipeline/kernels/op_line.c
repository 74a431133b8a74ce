/* A line of an ops file becomes a graph (docs/ops-file.md): short forms for
 * convolutions and matrix products, any operator by its name in the table, or a graph
 * text. */
#include "pipeline/kernels/kernels_internal.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_WORDS = 64, MAX_INPUTS = 16, SHOWN = 60, MAX_GRAPH_BYTES = 256 << 20 };
/* Of all constants of a line together. */
static const int64_t max_const_bytes = INT64_C(1) << 30;

typedef struct pair {
    kiln_str key, value;
    bool is_used;
} pair;

typedef struct reader {
    kiln_arena *arena;
    kiln_graph *graph;
    kiln_str kind;
    kiln_str number[8]; /* of lines without keys */
    int n_numbers;
    pair pair[MAX_WORDS];
    int n_pairs;
    uint64_t seed;
    int64_t const_bytes;
    kiln_err *err;
} reader;

static kiln_status split_words(reader *r, kiln_str text) {
    kiln_str word, name;
    (void)kiln_op_word(&text, &r->kind);
    (void)kiln_op_word(&text, &name);
    while (kiln_op_word(&text, &word)) {
        kiln_str value = word, key;
        if (!kiln_str_cut(&value, '=', &key) || key.n == word.n) {
            if (r->n_pairs > 0 || r->n_numbers == 8)
                return kiln_fail(r->err, KILN_ERR_PARSE, "'%.*s' is not key=value",
                                 KILN_STR_ARG(word));
            r->number[r->n_numbers++] = word;
            continue;
        }
        if (r->n_pairs == MAX_WORDS || r->n_numbers > 0)
            return kiln_fail(r->err, KILN_ERR_PARSE,
                             "'%.*s': a line has numbers or key=value, at most %d",
                             KILN_STR_ARG(word), MAX_WORDS);
        r->pair[r->n_pairs++] = (pair){.key = key, .value = value};
    }
    return KILN_OK;
}

/* The last value given; NULL: none. Keys that may repeat are read in a loop instead. */
static pair *find(reader *r, const char *key) {
    pair *found = NULL;
    for (int i = 0; i < r->n_pairs; i++)
        if (kiln_str_is(r->pair[i].key, key)) {
            found = &r->pair[i];
            found->is_used = true;
        }
    return found;
}

static kiln_status refuse_value(reader *r, const pair *p, const char *what) {
    return kiln_fail(r->err, KILN_ERR_PARSE, "%.*s must be %s, is '%s'",
                     KILN_STR_ARG(p->key), what,
                     kiln_str_printable(r->arena, p->value, SHOWN));
}

/* Sizes that a person writes; products of them are checked with the type. */
enum { MAX_SIZE = 1 << 24 };

static kiln_status get_int(reader *r, const char *key, int64_t least, int64_t otherwise,
                           int64_t *out) {
    const pair *p = find(r, key);
    if (p == NULL && otherwise < least)
        return kiln_fail(r->err, KILN_ERR_PARSE,
                         "%.*s needs %s=", KILN_STR_ARG(r->kind), key);
    int64_t v = otherwise;
    if (p != NULL && (!kiln_parse_i64(p->value, &v) || v < least || v > MAX_SIZE))
        return refuse_value(
            r, p,
            kiln_format(r->arena, "a number from %" PRId64 " to %d", least, MAX_SIZE));
    *out = v;
    return KILN_OK;
}

static kiln_status get_yes(reader *r, const char *key, bool *out) {
    const pair *p = find(r, key);
    *out = p != NULL && kiln_str_is(p->value, "yes");
    if (p != NULL && !*out && !kiln_str_is(p->value, "no"))
        return refuse_value(r, p, "yes or no");
    return KILN_OK;
}

static kiln_status get_dtype(reader *r, kiln_dtype *out) {
    const pair *p = find(r, "dtype");
    *out = KILN_F32;
    if (p != NULL && !kiln_dtype_parse(p->value, out))
        return refuse_value(r, p, kiln_dtype_set_text(r->arena, KILN_DT_ANY));
    return KILN_OK;
}

/* ---- values ---------------------------------------------------------------------- */

static kiln_status add_value(reader *r, const char *name, const kiln_type *t,
                             bool is_const, kiln_value **out) {
    KILN_TRY(kiln_type_check(t, r->err));
    if (!is_const) {
        *out = kiln_graph_add_input(r->graph, name, t);
        return KILN_OK;
    }
    r->const_bytes += kiln_type_bytes(t);
    if (r->const_bytes > max_const_bytes)
        return kiln_fail(r->err, KILN_ERR_LIMIT,
                         "constants of more than %" PRId64 " bytes", max_const_bytes);
    const kiln_tensor data = kiln_ref_random(r->arena, t, ++r->seed);
    *out = kiln_graph_add_const(r->graph, name, t, data.data);
    return KILN_OK;
}

static kiln_status add_node(reader *r, const kiln_op_def *op, kiln_value *const *in,
                            int n_in, const kiln_attr_arg *args, size_t n_args,
                            kiln_node **out) {
    const kiln_node_spec spec = {
        .op = op, .in = in, .n_in = n_in, .args = args, .n_args = n_args};
    return kiln_graph_add_node(r->graph, &spec, out, r->err);
}

static kiln_status add_binary(reader *r, kiln_value *x, const kiln_type *t,
                              const char *name, bool is_const, kiln_value **out) {
    kiln_value *in[2] = {x, NULL};
    kiln_node *n;
    KILN_TRY(add_value(r, name, t, is_const, &in[1]));
    KILN_TRY(add_node(r, &kiln_op_add, in, 2, NULL, 0, &n));
    *out = n->out[0];
    return KILN_OK;
}

/* add=yes, act=OPERATOR: what is fused behind. */
static kiln_status add_epilogue(reader *r, kiln_value **y) {
    bool has_add;
    KILN_TRY(get_yes(r, "add", &has_add));
    if (has_add)
        KILN_TRY(add_binary(r, *y, &(*y)->type, "residual", false, y));
    const pair *act = find(r, "act");
    if (act == NULL)
        return KILN_OK;
    const kiln_op_def *op = kiln_op_find(act->value);
    if (op == NULL || op->n_in_min != 1 || op->f1 == NULL)
        return refuse_value(r, act,
                            "an element-wise operator of one input, such as relu");
    kiln_node *n;
    KILN_TRY(add_node(r, op, y, 1, NULL, 0, &n));
    *y = n->out[0];
    return KILN_OK;
}

/* ---- convolutions ---------------------------------------------------------------- */

typedef struct conv_shape {
    int64_t n, h, w, ic, oc, kh, kw, sh, sw, dh, dw, groups;
    int64_t pad[4]; /* top, left, bottom, right */
    bool has_bias;
    kiln_dtype dtype;
} conv_shape;

/* Padding that gives ceil(in / stride) outputs, the odd one behind. */
static void pad_same(int64_t in, int64_t k, int64_t stride, int64_t dilation,
                     int64_t *begin, int64_t *end) {
    const int64_t out = (in + stride - 1) / stride;
    const int64_t need = (out - 1) * stride + (k - 1) * dilation + 1 - in;
    const int64_t total = need > 0 ? need : 0;
    *begin = total / 2;
    *end = total - total / 2;
}

static kiln_status get_pad(reader *r, conv_shape *c) {
    const pair *p = find(r, "pad");
    if (p == NULL || kiln_str_is(p->value, "same")) {
        pad_same(c->h, c->kh, c->sh, c->dh, &c->pad[0], &c->pad[2]);
        pad_same(c->w, c->kw, c->sw, c->dw, &c->pad[1], &c->pad[3]);
        return KILN_OK;
    }
    if (kiln_str_is(p->value, "valid"))
        return KILN_OK;
    kiln_str rest = p->value, word;
    int n = 0;
    while (n < 4 && kiln_str_cut(&rest, ',', &word)) {
        if (!kiln_parse_i64(word, &c->pad[n]) || c->pad[n] < 0 || c->pad[n] > MAX_SIZE)
            break;
        n++;
    }
    if (n == 1 && rest.n == 0) {
        c->pad[1] = c->pad[2] = c->pad[3] = c->pad[0];
        return KILN_OK;
    }
    if (n != 4 || rest.n > 0)
        return refuse_value(r, p, "same, valid, a number, or top,left,bottom,right");
    return KILN_OK;
}

static kiln_status get_square(reader *r, const char *both, const char *high,
                              const char *wide, int64_t otherwise, int64_t *h,
                              int64_t *w) {
    int64_t v;
    KILN_TRY(get_int(r, both, 1, find(r, high) != NULL ? 1 : otherwise, &v));
    KILN_TRY(get_int(r, high, 1, v, h));
    return get_int(r, wide, 1, find(r, both) != NULL ? v : *h, w);
}

static kiln_status read_conv(reader *r, bool is_depthwise, conv_shape *c) {
    KILN_TRY(get_int(r, "n", 1, 1, &c->n));
    KILN_TRY(get_int(r, "h", 1, 0, &c->h));
    KILN_TRY(get_int(r, "w", 1, c->h, &c->w));
    if (is_depthwise) {
        int64_t multiplier;
        KILN_TRY(get_int(r, "c", 1, 0, &c->ic));
        KILN_TRY(get_int(r, "m", 1, 1, &multiplier));
        c->oc = c->ic * multiplier;
        c->groups = c->ic;
    } else {
        KILN_TRY(get_int(r, "ic", 1, 0, &c->ic));
        KILN_TRY(get_int(r, "oc", 1, 0, &c->oc));
        KILN_TRY(get_int(r, "groups", 1, 1, &c->groups));
    }
    KILN_TRY(get_square(r, "k", "kh", "kw", 0, &c->kh, &c->kw));
    KILN_TRY(get_square(r, "s", "sh", "sw", 1, &c->sh, &c->sw));
    KILN_TRY(get_square(r, "d", "dh", "dw", 1, &c->dh, &c->dw));
    KILN_TRY(get_yes(r, "bias", &c->has_bias));
    KILN_TRY(get_dtype(r, &c->dtype));
    return get_pad(r, c);
}

static kiln_status add_conv(reader *r, const conv_shape *c, kiln_value **out) {
    if (c->ic % c->groups != 0)
        return kiln_fail(r->err, KILN_ERR_PARSE,
                         "groups=%" PRId64 " must divide ic=%" PRId64, c->groups,
                         c->ic);
    const kiln_type x =
        kiln_type_make(c->dtype, 4, (int64_t[]){c->n, c->ic, c->h, c->w});
    const kiln_type w = kiln_type_make(
        c->dtype, 4, (int64_t[]){c->oc, c->ic / c->groups, c->kh, c->kw});
    const kiln_type b = kiln_type_make(c->dtype, 1, &c->oc);
    kiln_value *in[3] = {NULL};
    KILN_TRY(add_value(r, "x", &x, false, &in[0]));
    KILN_TRY(add_value(r, "w", &w, true, &in[1]));
    if (c->has_bias)
        KILN_TRY(add_value(r, "bias", &b, true, &in[2]));
    const kiln_attr_arg args[] = {
        kiln_arg_ints("strides", (int64_t[]){c->sh, c->sw}, 2),
        kiln_arg_ints("pads", c->pad, 4),
        kiln_arg_ints("dilations", (int64_t[]){c->dh, c->dw}, 2),
        kiln_arg_int("groups", c->groups),
    };
    kiln_node *n;
    KILN_TRY(add_node(r, &kiln_op_conv, in, c->has_bias ? 3 : 2, args, 4, &n));
    *out = n->out[0];
    return KILN_OK;
}

/* ---- matrix products ------------------------------------------------------------- */

static kiln_status add_matmul(reader *r, kiln_value **out) {
    int64_t m, k, n, batch;
    bool has_bias;
    kiln_dtype dtype;
    KILN_TRY(get_int(r, "m", 1, 0, &m));
    KILN_TRY(get_int(r, "k", 1, 0, &k));
    KILN_TRY(get_int(r, "n", 1, 0, &n));
    KILN_TRY(get_int(r, "batch", 0, 0, &batch));
    KILN_TRY(get_yes(r, "bias", &has_bias));
    KILN_TRY(get_dtype(r, &dtype));
    const pair *b = find(r, "b");
    if (b != NULL && !kiln_str_is(b->value, "const") && !kiln_str_is(b->value, "input"))
        return refuse_value(r, b, "const or input");
    const bool is_const = b == NULL || kiln_str_is(b->value, "const");
    /* Weights are shared by a batch, activations have one each. */
    const int skip = batch == 0 ? 1 : 0;
    const int64_t x_dim[] = {batch, m, k}, y_dim[] = {batch, k, n};
    const int y_skip = is_const ? 1 : skip;
    const kiln_type x = kiln_type_make(dtype, 3 - skip, x_dim + skip);
    const kiln_type y = kiln_type_make(dtype, 3 - y_skip, y_dim + y_skip);
    kiln_value *in[2];
    KILN_TRY(add_value(r, "a", &x, false, &in[0]));
    KILN_TRY(add_value(r, "b", &y, is_const, &in[1]));
    kiln_node *node;
    KILN_TRY(add_node(r, &kiln_op_matmul, in, 2, NULL, 0, &node));
    *out = node->out[0];
    const kiln_type bias = kiln_type_make(dtype, 1, &n);
    return has_bias ? add_binary(r, *out, &bias, "bias", true, out) : KILN_OK;
}

/* ---- any operator ---------------------------------------------------------------- */

static kiln_status read_attr(reader *r, const kiln_attr_def *def, const pair *p,
                             kiln_attr_arg *out) {
    kiln_attr_arg arg = {.name = def->name, .kind = def->kind};
    kiln_str rest = p->value, word;
    int64_t *ints = kiln_array(r->arena, int64_t, p->value.n + 1);
    double *floats = kiln_array(r->arena, double, p->value.n + 1);
    switch (def->kind) {
    case KILN_ATTR_INT:
        if (!kiln_parse_i64(p->value, &arg.value.i))
            return refuse_value(r, p, "a whole number");
        break;
    case KILN_ATTR_BOOL:
        arg.value.i = kiln_str_is(p->value, "yes");
        if (arg.value.i == 0 && !kiln_str_is(p->value, "no"))
            return refuse_value(r, p, "yes or no");
        break;
    case KILN_ATTR_FLOAT:
        if (!kiln_parse_f64(p->value, &arg.value.f))
            return refuse_value(r, p, "a number");
        break;
    case KILN_ATTR_WORD:
        arg.word = kiln_str_dupv(r->arena, p->value);
        break;
    case KILN_ATTR_DTYPE: {
        kiln_dtype dtype;
        if (!kiln_dtype_parse(p->value, &dtype))
            return refuse_value(r, p, kiln_dtype_set_text(r->arena, KILN_DT_ANY));
        arg.value.i = (int64_t)dtype;
        break;
    }
    case KILN_ATTR_INTS:
    case KILN_ATTR_FLOATS:
        for (; kiln_str_cut(&rest, ',', &word); arg.value.n++)
            if (def->kind == KILN_ATTR_INTS
                    ? !kiln_parse_i64(word, &ints[arg.value.n])
                    : !kiln_parse_f64(word, &floats[arg.value.n]))
                return refuse_value(r, p, "a list of numbers such as 1,2");
        arg.value.ints = ints;
        arg.value.floats = floats;
        break;
    case KILN_ATTR_WORDS:
    case KILN_ATTR_GRAPH:
        return kiln_fail(r->err, KILN_ERR_UNSUPPORTED,
                         "attribute '%s' cannot be written here: use 'graph NAME "
                         "file=TEXT'",
                         def->name);
    }
    *out = arg;
    return KILN_OK;
}

static kiln_status read_inputs(reader *r, kiln_value **in, int *n_in) {
    for (int i = 0; i < r->n_pairs; i++) {
        pair *p = &r->pair[i];
        const bool is_const = kiln_str_is(p->key, "const");
        if (!is_const && !kiln_str_is(p->key, "in"))
            continue;
        p->is_used = true;
        if (*n_in == MAX_INPUTS)
            return kiln_fail(r->err, KILN_ERR_LIMIT, "more than %d inputs", MAX_INPUTS);
        if (kiln_str_is(p->value, "_")) {
            in[(*n_in)++] = NULL;
            continue;
        }
        kiln_str rest = p->value;
        kiln_type t;
        KILN_TRY(kiln_type_parse(&rest, &t, r->err));
        if (rest.n > 0 || !kiln_layout_is_plain(&t.layout))
            return refuse_value(r, p, "a type such as f32[1,64,56,56]");
        KILN_TRY(add_value(r, is_const ? "w" : "x", &t, is_const, &in[(*n_in)++]));
    }
    return KILN_OK;
}

static kiln_status add_any(reader *r, kiln_value **out) {
    const kiln_op_def *op = kiln_op_find(r->kind);
    if (op == NULL)
        return kiln_fail(r->err, KILN_ERR_PARSE,
                         "kind '%s' is not known; there are conv, dw, matmul (mm), "
                         "graph, and every operator by its name in graph text",
                         kiln_str_printable(r->arena, r->kind, SHOWN));
    kiln_value *in[MAX_INPUTS];
    int n_in = 0;
    KILN_TRY(read_inputs(r, in, &n_in));
    kiln_attr_arg args[MAX_WORDS];
    size_t n_args = 0;
    for (size_t i = 0; i < op->n_attr; i++) {
        const pair *p = find(r, op->attr[i].name);
        if (p != NULL)
            KILN_TRY(read_attr(r, &op->attr[i], p, &args[n_args++]));
    }
    kiln_node *n;
    KILN_TRY(add_node(r, op, in, n_in, args, n_args, &n));
    for (int k = 1; k < n->n_out; k++)
        kiln_graph_add_output(r->graph, n->out[k], n->out[k]->name);
    *out = n->out[0];
    return KILN_OK;
}

static kiln_status read_graph(reader *r) {
    const pair *p = find(r, "file");
    if (p == NULL)
        return kiln_fail(r->err, KILN_ERR_PARSE, "graph needs file=PATH");
    const char *path = kiln_str_dupv(r->arena, p->value);
    kiln_str text;
    KILN_TRY(kiln_file_map(r->arena, path, MAX_GRAPH_BYTES, &text, r->err));
    return kiln_graph_parse(r->arena, text, path, &r->graph, r->err);
}

/* ---- lines ----------------------------------------------------------------------- */

/* "conv C2 56 64 64 3 1" is "conv C2 h=56 ic=64 oc=64 k=3 s=1". */
static kiln_status name_numbers(reader *r) {
    static const char *const conv_keys[] = {"h", "ic", "oc", "k", "s"};
    static const char *const dw_keys[] = {"h", "c", NULL, "k", "s"};
    static const char *const mm_keys[] = {"m", "k", "n", NULL, NULL};
    const bool is_conv = kiln_str_is(r->kind, "conv"),
               is_dw = kiln_str_is(r->kind, "dw");
    const bool is_mm = kiln_str_is(r->kind, "mm") || kiln_str_is(r->kind, "matmul");
    const char *const *key = is_conv ? conv_keys : is_dw ? dw_keys : mm_keys;
    if ((!is_conv && !is_dw && !is_mm) ||
        (r->n_numbers != 5 && !(is_mm && r->n_numbers == 3)))
        return kiln_fail(r->err, KILN_ERR_PARSE,
                         "'%s' takes no %d numbers; the short forms are conv NAME H IC "
                         "OC K S, dw NAME H C C K S, and mm NAME M K N",
                         kiln_str_printable(r->arena, r->kind, SHOWN), r->n_numbers);
    for (int i = 0; i < r->n_numbers; i++)
        if (key[i] != NULL)
            r->pair[r->n_pairs++] =
                (pair){.key = kiln_str_from(key[i]), .value = r->number[i]};
    return KILN_OK;
}

static bool has_key(const reader *r, const char *key) {
    for (int i = 0; i < r->n_pairs; i++)
        if (kiln_str_is(r->pair[i].key, key))
            return true;
    return false;
}

static kiln_status read_line(reader *r, const kiln_op_line *line) {
    KILN_TRY(split_words(r, kiln_str_from(line->text)));
    if (r->n_numbers > 0)
        KILN_TRY(name_numbers(r));
    const bool is_dw = kiln_str_is(r->kind, "dw");
    kiln_value *y = NULL;
    if (kiln_str_is(r->kind, "graph")) {
        KILN_TRY(read_graph(r));
    } else if (is_dw || (kiln_str_is(r->kind, "conv") && !has_key(r, "in"))) {
        conv_shape c = {.n = 1};
        KILN_TRY(read_conv(r, is_dw, &c));
        KILN_TRY(add_conv(r, &c, &y));
    } else if (kiln_str_is(r->kind, "mm") ||
               (kiln_str_is(r->kind, "matmul") && !has_key(r, "in"))) {
        KILN_TRY(add_matmul(r, &y));
    } else {
        KILN_TRY(add_any(r, &y));
    }
    if (y != NULL) {
        KILN_TRY(add_epilogue(r, &y));
        kiln_graph_add_output(r->graph, y, "y");
    }
    for (int i = 0; i < r->n_pairs; i++)
        if (!r->pair[i].is_used)
            return kiln_fail(r->err, KILN_ERR_PARSE, "%s has no key '%s'",
                             kiln_str_printable(r->arena, r->kind, SHOWN),
                             kiln_str_printable(r->arena, r->pair[i].key, SHOWN));
    return KILN_OK;
}

kiln_status kiln_op_work_make(kiln_arena *a, const kiln_op_line *line,
                              kiln_op_work *out, kiln_err *err) {
    KILN_ASSERT(line->name != NULL && line->where != NULL,
                "a line of an ops file without a name, or from nowhere");
    reader r = {.arena = a, .graph = kiln_graph_new(a, line->name), .err = err};
    kiln_status st = read_line(&r, line);
    if (st == KILN_OK)
        st = kiln_op_work_of(a, line->name, r.graph, out, err);
    if (st != KILN_OK)
        kiln_note(err, "reading '%s' (%s)", line->name, line->where);
    return st;
}
