/* rnn, gru and lstm against their equations, one number at a time; their activations
 * against values by hand. */
#include "compiler/graph/graph.h"

#include <math.h>

#include "tests/support/graph/node_run.h"

typedef enum kind { RNN, GRU, LSTM } kind;
enum { X, W, R, BIAS, LENGTHS, INITIAL_H, INITIAL_C, PEEPHOLES };
enum { MAX_HIDDEN = 20 };

typedef struct row {
    const char *name;
    kind kind;
    int64_t steps, batch, in, hidden;
    const char *direction;
    bool has_bias, has_lengths, has_state, has_peepholes;
    bool is_linear_before_reset, is_coupled, is_special;
    double clip; /* 0: none */
} row;

#define EVERYTHING .has_bias = true, .has_lengths = true, .has_state = true

static row rows[] = {
    {"rnn_one", RNN, 1, 1, 1, 1, "forward", .has_bias = false},
    {"rnn_steps", RNN, 7, 3, 17, 5, "forward", .has_bias = true},
    {"rnn_reverse", RNN, 5, 4, 3, 20, "reverse", EVERYTHING},
    {"rnn_bidirectional", RNN, 5, 3, 4, 3, "bidirectional", EVERYTHING},
    {"rnn_clip", RNN, 4, 1, 17, 5, "forward", .clip = 0.5},
    {"rnn_no_steps", RNN, 0, 2, 3, 4, "forward", .has_state = true},
    {"rnn_no_images", RNN, 3, 0, 3, 4, "forward", .has_bias = false},
    {"rnn_special", RNN, 3, 3, 2, 3, "forward", .is_special = true},
    {"gru_steps", GRU, 5, 3, 3, 7, "forward", .has_bias = false},
    {"gru_bidirectional", GRU, 5, 3, 4, 3, "bidirectional", EVERYTHING},
    {"gru_linear_before_reset", GRU, 4, 2, 5, 3, "reverse", EVERYTHING,
     .is_linear_before_reset = true},
    {"gru_linear_without_bias", GRU, 4, 2, 5, 3, "forward",
     .is_linear_before_reset = true},
    {"gru_clip", GRU, 4, 2, 17, 3, "forward", EVERYTHING, .clip = 0.25},
    {"lstm_steps", LSTM, 5, 3, 3, 7, "forward", .has_bias = false},
    {"lstm_bidirectional", LSTM, 5, 3, 4, 3, "bidirectional", EVERYTHING,
     .has_peepholes = true},
    {"lstm_reverse", LSTM, 5, 3, 4, 3, "reverse", EVERYTHING},
    {"lstm_coupled", LSTM, 4, 2, 3, 3, "forward", EVERYTHING, .has_peepholes = true,
     .is_coupled = true},
    {"lstm_clip", LSTM, 4, 2, 17, 3, "forward", EVERYTHING, .clip = 0.25},
};

static int64_t n_gates(kind k) { return k == RNN ? 1 : k == GRU ? 3 : 4; }
static int64_t n_directions(const row *r) { return r->direction[0] == 'b' ? 2 : 1; }

static const char *text_of(kiln_arena *a, const row *r) {
    const long long d = n_directions(r), h = r->hidden, gh = n_gates(r->kind) * h;
    const long long n = r->batch;
    const char *op = r->kind == RNN ? "rnn" : r->kind == GRU ? "gru" : "lstm";
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_buf_printf(&b,
                    "input %%x : f32[%lld,%lld,%lld] input %%w : f32[%lld,%lld,%lld] ",
                    (long long)r->steps, n, (long long)r->in, d, gh, (long long)r->in);
    kiln_buf_printf(&b, "input %%r : f32[%lld,%lld,%lld] ", d, gh, h);
    if (r->has_bias)
        kiln_buf_printf(&b, "input %%b : f32[%lld,%lld] ", d, 2 * gh);
    if (r->has_lengths)
        kiln_buf_printf(&b, "input %%l : i32[%lld] ", n);
    if (r->has_state)
        kiln_buf_printf(&b, "input %%h : f32[%lld,%lld,%lld] ", d, n, h);
    if (r->has_state && r->kind == LSTM)
        kiln_buf_printf(&b, "input %%c : f32[%lld,%lld,%lld] ", d, n, h);
    if (r->has_peepholes)
        kiln_buf_printf(&b, "input %%p : f32[%lld,%lld] ", d, 3 * h);
    kiln_buf_printf(&b, "%%y, %%y_h%s = %s(%%x, %%w, %%r",
                    r->kind == LSTM ? ", %y_c" : "", op);
    if (r->has_bias || r->has_lengths || r->has_state)
        kiln_buf_printf(&b, ", %s, %s, %s", r->has_bias ? "%b" : "_",
                        r->has_lengths ? "%l" : "_", r->has_state ? "%h" : "_");
    if (r->kind == LSTM && r->has_state)
        kiln_buf_printf(&b, ", %%c%s", r->has_peepholes ? ", %p" : "");
    kiln_buf_printf(&b, ") {direction=%s", r->direction);
    if (r->is_linear_before_reset)
        kiln_buf_puts(&b, ", linear_before_reset=true");
    if (r->is_coupled)
        kiln_buf_puts(&b, ", input_forget=true");
    if (r->clip != 0)
        kiln_buf_printf(&b, ", clip=%g", r->clip);
    kiln_buf_puts(&b, "} output %y output %y_h");
    return kiln_format(a, "%.*s", (int)kiln_buf_str(&b).n, kiln_buf_str(&b).p);
}

/* One image in one direction at one step. */
typedef struct state {
    const kiln_test_node *t;
    const row *r;
    int64_t d, step, image;
    double h[MAX_HIDDEN], c[MAX_HIDDEN];
} state;

static double clipped(const row *r, double v) {
    if (r->clip == 0)
        return v;
    return v > r->clip ? r->clip : v < -r->clip ? -r->clip : v;
}
static double sigmoid(const row *r, double v) { return 1 / (1 + exp(-clipped(r, v))); }
static double tangent(const row *r, double v) { return tanh(clipped(r, v)); }

static double bias(const state *s, int64_t line) {
    const int64_t gh = n_gates(s->r->kind) * s->r->hidden;
    return s->r->has_bias ? s->t->in[BIAS].f[s->d * 2 * gh + line] : 0;
}

static double from_x(const state *s, int64_t gate, int64_t i) {
    const row *r = s->r;
    const int64_t gh = n_gates(r->kind) * r->hidden, line = gate * r->hidden + i;
    double v = bias(s, line);
    for (int64_t k = 0; k < r->in; k++)
        v += s->t->in[W].f[(s->d * gh + line) * r->in + k] *
             s->t->in[X].f[(s->step * r->batch + s->image) * r->in + k];
    return v;
}

static double from_h(const state *s, int64_t gate, int64_t i, const double *h) {
    const row *r = s->r;
    const int64_t gh = n_gates(r->kind) * r->hidden, line = gate * r->hidden + i;
    double v = bias(s, gh + line);
    for (int64_t k = 0; k < r->hidden; k++)
        v += s->t->in[R].f[(s->d * gh + line) * r->hidden + k] * h[k];
    return v;
}

static double gate(const state *s, int64_t g, int64_t i) {
    return from_x(s, g, i) + from_h(s, g, i, s->h);
}

static double peep(const state *s, int64_t which, int64_t i, double c) {
    const int64_t h = s->r->hidden;
    return s->r->has_peepholes ? s->t->in[PEEPHOLES].f[(s->d * 3 + which) * h + i] * c
                               : 0;
}

static void step_gru(state *s) {
    const row *r = s->r;
    double reset[MAX_HIDDEN], reset_h[MAX_HIDDEN], next[MAX_HIDDEN];
    for (int64_t i = 0; i < r->hidden; i++) {
        reset[i] = sigmoid(r, gate(s, 1, i));
        reset_h[i] = reset[i] * s->h[i];
    }
    for (int64_t i = 0; i < r->hidden; i++) {
        const double z = sigmoid(r, gate(s, 0, i));
        const double past = r->is_linear_before_reset ? reset[i] * from_h(s, 2, i, s->h)
                                                      : from_h(s, 2, i, reset_h);
        next[i] = (1 - z) * tangent(r, from_x(s, 2, i) + past) + z * s->h[i];
    }
    for (int64_t i = 0; i < r->hidden; i++)
        s->h[i] = next[i];
}

static void step_lstm(state *s) {
    const row *r = s->r;
    double next[MAX_HIDDEN];
    for (int64_t i = 0; i < r->hidden; i++) {
        const double c = s->c[i];
        const double in = sigmoid(r, gate(s, 0, i) + peep(s, 0, i, c));
        const double kept =
            r->is_coupled ? 1 - in : sigmoid(r, gate(s, 2, i) + peep(s, 2, i, c));
        s->c[i] = kept * c + in * tangent(r, gate(s, 3, i));
        next[i] =
            sigmoid(r, gate(s, 1, i) + peep(s, 1, i, s->c[i])) * tangent(r, s->c[i]);
    }
    for (int64_t i = 0; i < r->hidden; i++)
        s->h[i] = next[i];
}

static void step_rnn(state *s) {
    double next[MAX_HIDDEN];
    for (int64_t i = 0; i < s->r->hidden; i++)
        next[i] = tangent(s->r, gate(s, 0, i));
    for (int64_t i = 0; i < s->r->hidden; i++)
        s->h[i] = next[i];
}

static int64_t length_of(const kiln_test_node *t, const row *r, int64_t image) {
    return r->has_lengths ? t->in[LENGTHS].i[image] : r->steps;
}

/* The state after `n` steps of the direction. */
static state run(const kiln_test_node *t, const row *r, int64_t d, int64_t image,
                 int64_t n) {
    const bool is_back = r->direction[0] == 'r' || d == 1;
    const int64_t first = (d * r->batch + image) * r->hidden;
    state s = {.t = t, .r = r, .d = d, .image = image};
    for (int64_t i = 0; r->has_state && i < r->hidden; i++) {
        s.h[i] = t->in[INITIAL_H].f[first + i];
        s.c[i] = r->kind == LSTM ? t->in[INITIAL_C].f[first + i] : 0;
    }
    for (int64_t k = 0; k < n; k++) {
        s.step = is_back ? length_of(t, r, image) - 1 - k : k;
        if (r->kind == RNN)
            step_rnn(&s);
        else if (r->kind == GRU)
            step_gru(&s);
        else
            step_lstm(&s);
    }
    return s;
}

static kiln_test_element element(double v) {
    return (kiln_test_element){.f = v, .magnitude = 1 + fabs(v), .narrow = (float)v};
}

static kiln_test_element y_at(const kiln_test_node *t, const void *user,
                              int64_t index) {
    const row *r = user;
    int64_t at[4];
    kiln_test_unravel(index, 4, t->out[0].type.dim, at);
    const int64_t length = length_of(t, r, at[2]);
    const bool is_back = r->direction[0] == 'r' || at[1] == 1;
    if (at[0] >= length)
        return element(0);
    const state s = run(t, r, at[1], at[2], is_back ? length - at[0] : at[0] + 1);
    return element(s.h[at[3]]);
}

static void check_last(const kiln_test_node *t, const row *r) {
    for (int64_t i = 0; i < kiln_type_elems(&t->out[1].type); i++) {
        int64_t at[3];
        kiln_test_unravel(i, 3, t->out[1].type.dim, at);
        const state s = run(t, r, at[0], at[1], length_of(t, r, at[1]));
        kiln_assert_close_f64(&t->out[1].f[i], &s.h[at[2]], 1, 0x1p30, 1e-12);
        if (r->kind == LSTM)
            kiln_assert_close_f64(&t->out[2].f[i], &s.c[at[2]], 1, 0x1p30, 1e-12);
    }
}

static void check_row(void **test_state) {
    const row *r = *test_state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_test_node t;
    kiln_assert_status_ok(kiln_test_node_parse(&t, &a, text_of(&a, r), &err), &err);
    for (int64_t i = 0; r->has_lengths && i < r->batch; i++) /* to 0, if many enough */
        t.in[LENGTHS].i[i] = r->steps > 2 * i ? r->steps - 2 * i : 0;
    if (r->is_special) {
        t.in[X].f[0] = (double)INFINITY;
        t.in[X].f[kiln_type_elems(&t.in[X].type) - 1] = (double)NAN;
    }
    kiln_test_node_check(&t, y_at, r);
    check_last(&t, r);
    kiln_arena_fini(&a);
}

/* One step of one number through rnn, with w = 1 and r = 0. */
typedef struct activation_row {
    const char *name;
    const char *attrs;
    double x, want;
} activation_row;

static activation_row activation_rows[] = {
    {"relu_below_0", "activations=[relu]", -2, 0},
    {"relu_nan", "activations=[relu]", (double)NAN, (double)NAN},
    {"tanh", "activations=[tanh]", 0.5, 0.46211715726000975},
    {"sigmoid", "activations=[sigmoid]", -1, 0.2689414213699951},
    {"affine", "activations=[affine], alpha=[2.0], beta=[3.0]", 5, 13},
    {"affine_usual", "activations=[affine]", 5, 5},
    {"leaky_relu", "activations=[leaky_relu], alpha=[0.25]", -2, -0.5},
    {"leaky_relu_usual", "activations=[leaky_relu]", -2, -0.02},
    {"thresholded_relu_below", "activations=[thresholded_relu], alpha=[2.0]", 1.5, 0},
    {"thresholded_relu_at", "activations=[thresholded_relu], alpha=[2.0]", 2, 2},
    {"scaled_tanh", "activations=[scaled_tanh], alpha=[2.0], beta=[0.5]", 1,
     0.9242343145200195},
    {"hard_sigmoid", "activations=[hard_sigmoid]", 1, 0.7},
    {"hard_sigmoid_above", "activations=[hard_sigmoid]", 4, 1},
    {"hard_sigmoid_below", "activations=[hard_sigmoid]", -4, 0},
    {"elu", "activations=[elu], alpha=[2.0]", -1, -1.2642411176571153},
    {"softsign", "activations=[softsign]", -3, -0.75},
    {"softplus", "activations=[softplus]", 0, 0.6931471805599453},
    {"softplus_large", "activations=[softplus]", 800, 800},
    {"clip_above", "activations=[relu], clip=0.5", 3, 0.5},
};

static void check_activation(void **test_state) {
    const activation_row *r = *test_state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_test_node t;
    const char *body =
        kiln_format(&a,
                    "input %%x : f64[1,1,1] input %%w : f64[1,1,1] input %%r : "
                    "f64[1,1,1] %%y = rnn(%%x, %%w, %%r) {%s} output %%y",
                    r->attrs);
    kiln_assert_status_ok(kiln_test_node_parse(&t, &a, body, &err), &err);
    t.in[X].f[0] = r->x;
    t.in[W].f[0] = 1;
    t.in[R].f[0] = 0;
    kiln_test_node_run(&t);
    kiln_assert_close_f64(t.out[0].f, &r->want, 1, 4, 1e-16);
    kiln_arena_fini(&a);
}

static void check_lengths(void **test_state) {
    (void)test_state;
    kiln_arena a = {0};
    const row r = {"", RNN, 3, 2, 1, 1, "forward", .has_lengths = true};
    for (int64_t bad = -1; bad <= 4; bad += 5) {
        kiln_err err = {0};
        kiln_test_node t;
        kiln_tensor out[2];
        kiln_assert_status_ok(kiln_test_node_parse(&t, &a, text_of(&a, &r), &err),
                              &err);
        t.in[LENGTHS].i[1] = bad;
        kiln_narrow(&t.in[LENGTHS], t.native[LENGTHS].data);
        kiln_assert_fails(kiln_ref_eval_node(&a, t.node, t.native, out, &err),
                          KILN_ERR_SHAPE, &err,
                          bad < 0 ? "lengths must be in [0, 3], is -1 at 1"
                                  : "lengths must be in [0, 3], is 4 at 1");
    }
    kiln_arena_fini(&a);
}

#define XWR "input %x : f32[5,2,3] input %w : f32[1,16,3] input %r : f32[1,16,4] "

static kiln_test_refusal refusals[] = {
    {"sequence_of_rank_2",
     "input %x : f32[2,3] input %w : f32[1,4,3] input %r : f32[1,4,4] "
     "%y = rnn(%x, %w, %r) output %y",
     KILN_ERR_SHAPE, "input 'x' must have rank 3"},
    {"products_of_other_width", XWR "%y = lstm(%x, _, %r) output %y", KILN_ERR_SHAPE,
     "input 'x' must have shape [5,2,16], has [5,2,3]"},
    {"products_with_nothing", "input %x : f32[5,2,16] %y = lstm(%x) output %y",
     KILN_ERR_SHAPE, "input 'r' must be given"},
    {"weights_of_other_gates", XWR "%y = gru(%x, %w, %r) output %y", KILN_ERR_SHAPE,
     "input 'w' must have shape [1,12,3], has [1,16,3]"},
    {"one_direction_of_two",
     XWR "%y = lstm(%x, %w, %r) {direction=bidirectional} output %y", KILN_ERR_SHAPE,
     "input 'w' must have shape [2,16,3], has [1,16,3]"},
    {"bias_of_one_half", XWR "input %b : f32[1,16] %y = lstm(%x, %w, %r, %b) output %y",
     KILN_ERR_SHAPE, "input 'bias' must have shape [1,32], has [1,16]"},
    {"lengths_of_other_dtype",
     XWR "input %l : i64[2] %y = lstm(%x, %w, %r, _, %l) output %y", KILN_ERR_SHAPE,
     "'lengths'"},
    {"peepholes_of_four",
     XWR "input %p : f32[1,16] %y = lstm(%x, %w, %r, _, _, _, _, %p) output %y",
     KILN_ERR_SHAPE, "input 'peepholes' must have shape [1,12], has [1,16]"},
    {"state_of_other_batch",
     XWR "input %h : f32[1,3,4] %y = lstm(%x, %w, %r, _, _, %h) output %y",
     KILN_ERR_SHAPE, "input 'initial_h' must have shape [1,2,4], has [1,3,4]"},
    {"too_few_activations", XWR "%y = lstm(%x, %w, %r) {activations=[tanh]} output %y",
     KILN_ERR_SHAPE, "attribute 'activations' must have 3 values, has 1"},
    {"clip_below_0", XWR "%y = lstm(%x, %w, %r) {clip=-1.0} output %y", KILN_ERR_SHAPE,
     "attribute 'clip' must be >= 0, is -1"},
};

int main(void) {
    kiln_test_add_rows(check_row, rows);
    kiln_test_add_rows(check_activation, activation_rows);
    kiln_test_add("rejects_lengths_outside", check_lengths, NULL);
    kiln_test_add_rows(kiln_test_check_refusal, refusals);
    return kiln_test_run("rnn");
}
