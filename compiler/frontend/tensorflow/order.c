/* Which nodes the outputs need, and in which order. A depth-first walk with an explicit
 * stack (chains of 10^5 nodes are normal): Tarjan, "Depth-first search and linear graph
 * algorithms", 1972. Control inputs say when, not what, and are not followed. */
#include "compiler/frontend/tensorflow/tf_internal.h"

kiln_status kiln_tf_frame_init(kiln_tf_cx *cx, kiln_tf_frame *f,
                               const kiln_tf_node *node, size_t n) {
    kiln_arena *const a = &cx->common.scratch;
    *f = (kiln_tf_frame){.node = node, .n_node = n, .prefix = ""};
    f->out = kiln_array(a, kiln_tf_outs, n);
    for (size_t i = 0; i < n; i++) {
        if (node[i].name.n == 0)
            return kiln_tf_fail(cx, KILN_ERR_PARSE, "node #%zu must have a name", i);
        if (!kiln_numbers_set(a, &f->by_name, node[i].name, i + 1))
            return kiln_tf_fail(cx, KILN_ERR_PARSE,
                                "node '%s' is given twice; give one of them another "
                                "name",
                                kiln_tf_show(cx, node[i].name));
    }
    return KILN_OK;
}

/* ---- references ------------------------------------------------------------------- */

/* Where output `name` of an operator begins among all of its outputs; -1: nowhere. */
static int output_offset(kiln_tf_cx *cx, const kiln_tf_node *n, kiln_str name) {
    const kiln_tf_function *const called = kiln_tf_find_function(cx, n);
    const kiln_tf_op *const row = kiln_tf_find_op(cx, n->op);
    if (called != NULL || row == NULL || row->outputs == NULL)
        return 0;
    kiln_str rest = kiln_str_from(row->outputs), word;
    for (int i = 0; kiln_str_cut(&rest, ' ', &word); i++)
        if (kiln_str_eq(word, name))
            return i;
    return -1;
}

/* Who reads: for messages. */
static const char *reader_of(kiln_tf_cx *cx, const kiln_tf_node *n) {
    return n == NULL
               ? "a result"
               : kiln_format(&cx->common.scratch, "node %s", kiln_tf_show_node(cx, n));
}

/* "name", "name:1", in functions also "name:output:1". */
kiln_status kiln_tf_resolve(kiln_tf_cx *cx, const kiln_tf_frame *f,
                            const kiln_tf_node *n, kiln_str input, size_t *node,
                            int *k) {
    enum { MAX_OUTPUTS = 1 << 20 };
    kiln_str rest = input, name = input, output = {0};
    int64_t number = 0;
    bool is_good = true;
    int offset = 0;
    kiln_str_cut(&rest, ':', &name);
    for (size_t i = 0; f->function != NULL && i < f->function->n_input; i++)
        if (kiln_str_eq(f->function->input[i].name, input)) {
            *node = 0;
            *k = (int)i;
            return KILN_OK;
        }
    const size_t at = kiln_numbers_get(&f->by_name, name);
    if (at == 0)
        return kiln_tf_fail(cx, KILN_ERR_PARSE,
                            "%s reads '%s', but no node has this name; is the "
                            "file complete?",
                            reader_of(cx, n), kiln_tf_show(cx, input));
    if (rest.n > 0 && (rest.p[0] < '0' || rest.p[0] > '9')) {
        kiln_str_cut(&rest, ':', &output);
        offset = output_offset(cx, &f->node[at - 1], output);
    }
    if (rest.n > 0)
        is_good = kiln_parse_i64(rest, &number);
    if (!is_good || offset < 0 || number < 0 || number > MAX_OUTPUTS)
        return kiln_tf_fail(cx, KILN_ERR_PARSE,
                            "%s reads '%s', which names no output of node %s",
                            reader_of(cx, n), kiln_tf_show(cx, input),
                            kiln_tf_show_node(cx, &f->node[at - 1]));
    KILN_ASSERT(at <= f->n_node, "node %zu of %zu", at - 1, f->n_node);
    *node = at;
    *k = offset + (int)number;
    return KILN_OK;
}

/* ---- outputs ---------------------------------------------------------------------- */

/* What no one reads and is no result either. */
static bool is_result(const kiln_tf_node *n) {
    static const char *const no[] = {"Const",       "NoOp",        "Assert",
                                     "Placeholder", "VarHandleOp", "Print"};
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        if (kiln_str_is(n->op, no[i]))
            return false;
    return true;
}

kiln_status kiln_tf_find_outputs(kiln_tf_cx *cx, const kiln_tf_frame *f,
                                 const size_t **out, size_t *n) {
    kiln_arena *const a = &cx->common.scratch;
    bool *const is_read = kiln_array(a, bool, f->n_node);
    size_t *const list = kiln_array(a, size_t, f->n_node);
    for (size_t i = 0; i < f->n_node; i++) {
        const kiln_tf_node *const node = &f->node[i];
        size_t at;
        int k;
        for (int x = 0; x < node->n_in; x++) {
            KILN_TRY(kiln_tf_resolve(cx, f, node, node->input[x], &at, &k));
            if (at > 0)
                is_read[at - 1] = true;
        }
        for (size_t x = (size_t)node->n_in; x < node->n_input; x++) {
            const kiln_str name = {node->input[x].p + 1, node->input[x].n - 1};
            at = kiln_numbers_get(&f->by_name, name);
            if (at > 0)
                is_read[at - 1] = true;
        }
    }
    size_t count = 0;
    for (size_t i = 0; i < f->n_node; i++)
        if (!is_read[i] && is_result(&f->node[i]))
            list[count++] = i;
    *out = list;
    *n = count;
    if (count == 0)
        return kiln_tf_fail(cx, KILN_ERR_PARSE,
                            "the graph has no outputs: every node is read by another "
                            "one; is it a graph for training?");
    return KILN_OK;
}

/* ---- branches --- */

static const kiln_tf_node *producer_of(const kiln_tf_frame *f, kiln_str input) {
    kiln_str rest = input, name = input;
    kiln_str_cut(&rest, ':', &name);
    const size_t at = kiln_numbers_get(&f->by_name, name);
    return at == 0 ? NULL : &f->node[at - 1];
}

/* Control flow of old: what runs on a branch only waits for an Identity of its Switch. */
size_t kiln_tf_pivot(const kiln_tf_frame *f, const kiln_tf_node *n, size_t input) {
    const kiln_str name = {n->input[input].p + 1, n->input[input].n - 1};
    const size_t at = kiln_numbers_get(&f->by_name, name);
    const kiln_tf_node *from = at == 0 ? NULL : &f->node[at - 1];
    if (from != NULL && kiln_str_is(from->op, "Identity") && from->n_in == 1)
        from = producer_of(f, from->input[0]);
    return from != NULL && kiln_str_is(from->op, "Switch") ? at : 0;
}

/* The innermost of branches that lie in each other. */
static void narrow(kiln_tf_slot *to, const kiln_tf_slot *from) {
    to->is_dead = to->is_dead || from->is_dead;
    if (from->branch != NULL &&
        (to->branch == NULL || from->branch->depth > to->branch->depth))
        to->branch = from->branch;
}

kiln_status kiln_tf_find_branch(kiln_tf_cx *cx, const kiln_tf_node *n,
                                kiln_tf_slot *out) {
    const kiln_tf_frame *const f = cx->frame;
    kiln_tf_slot slot;
    *out = (kiln_tf_slot){0};
    for (int i = 0; i < n->n_in && !out->is_dead; i++) {
        KILN_TRY(kiln_tf_operand(cx, n, i, &slot));
        narrow(out, &slot);
    }
    for (size_t i = (size_t)n->n_in; i < n->n_input && !out->is_dead; i++) {
        const size_t at = kiln_tf_pivot(f, n, i);
        if (at == 0 || kiln_str_is(f->node[at - 1].op, "Switch"))
            continue;
        KILN_TRY(kiln_tf_slot_of(cx, f, n, f->node[at - 1].name, &slot));
        narrow(out, &slot);
    }
    return KILN_OK;
}

/* ---- order ------------------------------------------------------------------------ */

/* The walk's stack: a node and how many of its operands are done. */
typedef struct step {
    size_t node, next;
} step;

typedef struct walk {
    kiln_tf_cx *cx;
    kiln_tf_frame *f;
    unsigned char *state; /* per node: 0 not seen, 1 on the stack, 2 done */
    KILN_VEC(step) stack;
    size_t *order;
    size_t n_done;
} walk;

static void push(walk *w, size_t i) {
    const step s = {.node = i};
    w->state[i] = 1;
    kiln_vec_push(&w->cx->common.scratch, &w->stack, s);
}

static kiln_status refuse_cycle(walk *w, size_t first) {
    enum { MAX_NAMES = 8 };
    kiln_buf text;
    kiln_buf_init(&text, &w->cx->common.scratch);
    size_t i = 0;
    while (w->stack.v[i].node != first)
        i++;
    const size_t len = w->stack.n - i;
    for (size_t k = 0; k < len && k < MAX_NAMES; k++)
        kiln_buf_printf(&text, "%s%s", k == 0 ? "" : ", ",
                        kiln_tf_show_node(w->cx, &w->f->node[w->stack.v[i + k].node]));
    return kiln_tf_fail(w->cx, KILN_ERR_PARSE,
                        "nodes must not form a cycle, but these %zu do: %s%s", len,
                        kiln_buf_str(&text).p, len > MAX_NAMES ? ", ..." : "");
}

static kiln_status visit(walk *w, size_t root) {
    push(w, root);
    while (w->stack.n > 0) {
        step *const s = &w->stack.v[w->stack.n - 1];
        const kiln_tf_node *const node = &w->f->node[s->node];
        if (s->next == node->n_input) {
            w->state[s->node] = 2;
            w->order[w->n_done++] = s->node;
            w->stack.n--;
            continue;
        }
        size_t at = 0;
        int k;
        const size_t i = s->next++;
        if (i < (size_t)node->n_in)
            KILN_TRY(kiln_tf_resolve(w->cx, w->f, node, node->input[i], &at, &k));
        else
            at = kiln_tf_pivot(w->f, node, i);
        if (at == 0)
            continue;
        if (w->state[at - 1] == 1)
            return refuse_cycle(w, at - 1);
        if (w->state[at - 1] == 0)
            push(w, at - 1);
    }
    return KILN_OK;
}

kiln_status kiln_tf_order(kiln_tf_cx *cx, kiln_tf_frame *f, const size_t *root,
                          size_t n_root, const size_t **order, size_t *n) {
    walk w = {.cx = cx, .f = f};
    w.state = kiln_array(&cx->common.scratch, unsigned char, f->n_node);
    w.order = kiln_array(&cx->common.scratch, size_t, f->n_node);
    for (size_t i = 0; i < n_root; i++)
        if (w.state[root[i]] == 0)
            KILN_TRY(visit(&w, root[i]));
    *order = w.order;
    *n = w.n_done;
    return KILN_OK;
}
