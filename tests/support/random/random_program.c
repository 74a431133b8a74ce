#include "tests/support/random/random_program.h"

#include "tests/support/kiln_test.h"

enum { MAX_SCOPE = 64, MAX_DEPTH = 3, N_STATES = 2, LENGTH = 3 };
#define VECTOR "f32[16]"
#define WHOLE "f32[32]"
#define SEQUENCE "f32[3,16]"

/* Numbers of values, each written %vN. */
typedef struct scope {
    int value[MAX_SCOPE], sequence[MAX_SCOPE], condition[MAX_SCOPE];
    int n_values, n_sequences, n_conditions;
} scope;

typedef struct program {
    kiln_buf text;
    kiln_rng rng;
    int n_names, depth;
} program;

static int draw(program *p, int low, int high) {
    return (int)kiln_rng_range(&p->rng, low, high);
}

static void add_value(scope *s, int name) {
    if (s->n_values < MAX_SCOPE)
        s->value[s->n_values++] = name;
}

/* The newest ones more often. */
static int any(program *p, const scope *s) {
    const int from = draw(p, 0, 2) > 0 && s->n_values > 4 ? s->n_values - 4 : 0;
    return s->value[draw(p, from, s->n_values - 1)];
}

static void block(program *p, scope *s, int n_least);

/* ---- what computes --------------------------------------------------------------- */

static void compute(program *p, scope *s) {
    static const char *const one[] = {"neg", "tanh", "sigmoid", "relu", "softmax"};
    static const char *const two[] = {"add", "sub", "mul"};
    const int x = any(p, s), y = any(p, s), name = p->n_names++, k = draw(p, 0, 7);
    if (k < 5)
        kiln_buf_printf(&p->text, "%%v%d = %s(%%v%d)\n", name, one[k], x);
    else
        kiln_buf_printf(&p->text, "%%v%d = %s(%%v%d, %%v%d)\n", name, two[k - 5], x, y);
    add_value(s, name);
}

/* Parts of a whole, which may be made in their places, and are read there. */
static void join(program *p, scope *s) {
    const int x = any(p, s), y = any(p, s), whole = p->n_names++, part = p->n_names++;
    kiln_buf_printf(&p->text,
                    "%%v%d = concat(%%v%d, %%v%d) {axis=0}\n"
                    "%%v%d = slice(%%v%d) {starts=[%d], steps=[1], sizes=[16]}\n",
                    whole, x, y, part, whole, 16 * draw(p, 0, 1));
    add_value(s, part);
}

/* ---- what chooses and repeats ---------------------------------------------------- */

/* Values that a region takes from outside: the first ones of its scope, by the order
 * in which `list` names them. */
static void capture(program *p, const scope *around, scope *in, kiln_buf *list) {
    *in = (scope){.n_values = 0};
    for (int i = draw(p, 1, 3); i-- > 0;) {
        const int v = any(p, around);
        kiln_buf_printf(list, ", %%v%d", v);
        add_value(in, p->n_names++);
    }
    for (int i = 0; i < around->n_sequences && p->depth < MAX_DEPTH; i++) {
        kiln_buf_printf(list, ", %%v%d", around->sequence[i]);
        in->sequence[in->n_sequences++] = p->n_names++;
    }
    for (int i = 0; i < around->n_conditions && p->depth < MAX_DEPTH; i++) {
        kiln_buf_printf(list, ", %%v%d", around->condition[i]);
        in->condition[in->n_conditions++] = p->n_names++;
    }
}

static void declare(program *p, const scope *in) {
    for (int i = 0; i < in->n_values; i++)
        kiln_buf_printf(&p->text, "input %%v%d : " VECTOR "\n", in->value[i]);
    for (int i = 0; i < in->n_sequences; i++)
        kiln_buf_printf(&p->text, "input %%v%d : " SEQUENCE "\n", in->sequence[i]);
    for (int i = 0; i < in->n_conditions; i++)
        kiln_buf_printf(&p->text, "input %%v%d : bool[]\n", in->condition[i]);
}

static void branch(program *p, const char *attr, scope *in, int n_out) {
    kiln_buf_printf(&p->text, "%s=graph \"%s\" {\n", attr, attr);
    declare(p, in);
    block(p, in, 1);
    for (int i = 0; i < n_out; i++)
        kiln_buf_printf(&p->text, "output %%v%d\n", any(p, in));
    kiln_buf_puts(&p->text, "}");
}

static void choose(program *p, scope *s) {
    const int c = s->condition[draw(p, 0, s->n_conditions - 1)];
    const int first = p->n_names, n_out = draw(p, 1, 2);
    scope then_in, else_in;
    kiln_buf list;
    kiln_buf_init(&list, kiln_test_arena());
    p->n_names += n_out;
    p->depth++;
    capture(p, s, &then_in, &list);
    capture(p, s, &else_in, &list);
    for (int i = 0; i < n_out; i++)
        kiln_buf_printf(&p->text, "%s%%v%d", i > 0 ? ", " : "", first + i);
    kiln_buf_printf(&p->text, " = if(%%v%d%s) {", c, list.p);
    branch(p, "then_branch", &then_in, n_out);
    kiln_buf_puts(&p->text, ", ");
    branch(p, "else_branch", &else_in, n_out);
    kiln_buf_puts(&p->text, "}\n");
    p->depth--;
    for (int i = 0; i < n_out; i++)
        add_value(s, first + i);
}

/* States, an element of a sequence, what is captured; next states, two that are
 * stacked. */
static void repeat(program *p, scope *s) {
    const int first = p->n_names, element = first + N_STATES + 1;
    int state[N_STATES];
    scope in;
    kiln_buf list;
    kiln_buf_init(&list, kiln_test_arena());
    p->n_names = element + 1;
    p->depth++;
    for (int i = 0; i < N_STATES; i++)
        state[i] = p->n_names++;
    const int sequence = s->sequence[draw(p, 0, s->n_sequences - 1)];
    capture(p, s, &in, &list);
    for (int i = 0; i <= N_STATES; i++)
        kiln_buf_printf(&p->text, "%s%%v%d", i > 0 ? ", " : "", first + i);
    kiln_buf_printf(&p->text, " = scan(%%v%d, %%v%d, %%v%d%s) {n_state=2, n_scan=1, ",
                    any(p, s), any(p, s), sequence, list.p);
    kiln_buf_puts(&p->text, "body=graph \"body\" {\n");
    for (int i = 0; i < N_STATES; i++)
        kiln_buf_printf(&p->text, "input %%v%d : " VECTOR "\n", state[i]);
    kiln_buf_printf(&p->text, "input %%v%d : " VECTOR "\n", element);
    declare(p, &in);
    for (int i = 0; i < N_STATES; i++)
        add_value(&in, state[i]);
    add_value(&in, element);
    block(p, &in, 2);
    for (int i = 0; i <= N_STATES; i++)
        kiln_buf_printf(&p->text, "output %%v%d\n", any(p, &in));
    kiln_buf_puts(&p->text, "}}\n");
    p->depth--;
    for (int i = 0; i < N_STATES; i++)
        add_value(s, first + i);
    if (s->n_sequences < MAX_SCOPE)
        s->sequence[s->n_sequences++] = first + N_STATES;
}

/* ---- all ------------------------------------------------------------------------- */

static void block(program *p, scope *s, int n_least) {
    for (int i = draw(p, n_least, n_least + 5); i-- > 0;) {
        const int k = draw(p, 0, 7);
        if (k == 0 && p->depth < MAX_DEPTH && s->n_conditions > 0)
            choose(p, s);
        else if (k == 1 && p->depth < MAX_DEPTH && s->n_sequences > 0)
            repeat(p, s);
        else if (k == 2)
            join(p, s);
        else
            compute(p, s);
    }
}

kiln_graph *random_program(kiln_arena *a, uint64_t seed) {
    program p = {.depth = 0};
    scope s = {.n_values = 0};
    kiln_err err = {.status = KILN_OK};
    kiln_graph *g = NULL;
    kiln_buf_init(&p.text, a);
    kiln_rng_init(&p.rng, seed);
    kiln_buf_puts(&p.text, "graph \"program\" {\n");
    for (int i = 0; i < 2; i++) {
        add_value(&s, p.n_names++);
        s.sequence[s.n_sequences++] = p.n_names++;
        s.condition[s.n_conditions++] = p.n_names++;
    }
    declare(&p, &s);
    block(&p, &s, 4);
    for (int i = 0; i < 3; i++)
        kiln_buf_printf(&p.text, "output %%v%d\n", s.value[s.n_values - 1 - i]);
    kiln_buf_printf(&p.text, "output %%v%d\n}\n", s.sequence[s.n_sequences - 1]);
    kiln_status st = kiln_graph_parse(a, kiln_buf_str(&p.text), "program", &g, &err);
    if (st == KILN_OK)
        st = kiln_graph_verify(g, &err);
    if (st != KILN_OK)
        fail_msg("%s in\n%s", err.text, p.text.p);
    return g;
}
