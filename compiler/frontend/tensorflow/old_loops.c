/* Loops of TensorFlow 1 become While: what lies between their Merge, Switch and
 * NextIteration nodes becomes two functions, each of which keeps its nodes as they are,
 * as arguments are named as these nodes read them. A loop in a loop goes first. Source:
 * "Implementation of Control Flow in TensorFlow" (white paper, 2017). */
#include "base/numbers.h"
#include "compiler/frontend/tensorflow/tf_internal.h"

#include <string.h>

enum { NOWHERE = -1 };

/* What a loop carries, or only reads (`enter` alone). Indexes of nodes. */
typedef struct carried {
    int64_t enter, merge, next, choice, exit;
} carried;

typedef struct old_loop {
    kiln_str name;
    KILN_VEC(carried) var;
    int64_t cond; /* LoopCond */
    bool is_done;
} old_loop;

typedef struct lifting {
    kiln_tf_cx *cx;
    kiln_tf_node *node;
    size_t n; /* nodes, those that were added too */
    kiln_numbers by_name;
    KILN_VEC(old_loop) loops;
    kiln_numbers loop_of; /* frame's name -> index + 1 */
    size_t *var_of;       /* per Merge or Switch of a loop: its variable + 1 */
    size_t *frame_of;     /* per node that a loop is made of: the loop + 1 */
    size_t *owner;        /* per node inside: the loop + 1 */
    bool *is_gone;        /* part of a loop that is lifted */
    KILN_VEC(kiln_tf_function) functions;
    int64_t
        visits_left; /* of nodes, as loops in loops are gone through more than once */
} lifting;

static bool has_op(const kiln_tf_node *n, const char *op) {
    return kiln_str_is(n->op, op) ||
           (kiln_str_starts(n->op, "Ref") &&
            kiln_str_is((kiln_str){n->op.p + 3, n->op.n - 3}, op));
}

static int64_t find(const lifting *l, kiln_str input) {
    kiln_str rest = input, name = input;
    if (input.n > 0 && input.p[0] == '^')
        rest = name = (kiln_str){input.p + 1, input.n - 1};
    kiln_str_cut(&rest, ':', &name);
    return (int64_t)kiln_numbers_get(&l->by_name, name) - 1;
}

static const kiln_tf_attr *attr_of(const kiln_tf_node *n, const char *name) {
    for (size_t i = 0; i < n->n_attr; i++)
        if (kiln_str_is(n->attr[i].name, name))
            return &n->attr[i];
    return NULL;
}

static kiln_status refuse(lifting *l, const kiln_tf_node *n, const char *what) {
    return kiln_tf_fail(l->cx, KILN_ERR_UNSUPPORTED,
                        "node %s: %s; export the model with control flow of TensorFlow "
                        "2 (functions)",
                        kiln_tf_show_node(l->cx, n), what);
}

/* ---- what loops there are --------------------------------------------------------- */

static old_loop *loop_named(lifting *l, kiln_str name) {
    kiln_arena *const a = &l->cx->common.scratch;
    const size_t at = kiln_numbers_get(&l->loop_of, name);
    if (at > 0)
        return &l->loops.v[at - 1];
    const old_loop loop = {.name = name, .cond = NOWHERE};
    kiln_vec_push(a, &l->loops, loop);
    kiln_numbers_set(a, &l->loop_of, name, l->loops.n);
    return &l->loops.v[l->loops.n - 1];
}

static void read_enter(lifting *l, size_t i) {
    const kiln_tf_node *const n = &l->node[i];
    const kiln_tf_attr *const frame = attr_of(n, "frame_name");
    const kiln_tf_attr *const fixed = attr_of(n, "is_constant");
    if (frame == NULL || frame->s.n == 0 || n->n_in != 1)
        return; /* it is listed among what is not read */
    old_loop *const loop = loop_named(l, frame->s);
    l->frame_of[i] = (size_t)(loop - l->loops.v) + 1;
    const carried v = {(int64_t)i, NOWHERE, NOWHERE, NOWHERE, NOWHERE};
    if (fixed != NULL && fixed->b)
        kiln_vec_push(&l->cx->common.scratch, &loop->var, v);
}

/* A Merge of a loop has an Enter and a NextIteration. */
static void read_merge(lifting *l, size_t i) {
    const kiln_tf_node *const n = &l->node[i];
    carried v = {NOWHERE, (int64_t)i, NOWHERE, NOWHERE, NOWHERE};
    for (int k = 0; k < n->n_in && n->n_in == 2; k++) {
        const int64_t from = find(l, n->input[k]);
        if (from >= 0 && has_op(&l->node[from], "Enter"))
            v.enter = from;
        else if (from >= 0 && has_op(&l->node[from], "NextIteration"))
            v.next = from;
    }
    if (v.enter < 0 || v.next < 0 || l->node[v.next].n_in != 1 ||
        l->frame_of[v.enter] == 0)
        return;
    const size_t frame = l->frame_of[v.enter];
    old_loop *const loop = &l->loops.v[frame - 1];
    kiln_vec_push(&l->cx->common.scratch, &loop->var, v);
    l->frame_of[i] = l->frame_of[v.next] = frame;
    l->var_of[i] = loop->var.n;
}

static void read_switch(lifting *l, size_t i) {
    const kiln_tf_node *const n = &l->node[i];
    const int64_t from = n->n_in == 2 ? find(l, n->input[0]) : NOWHERE;
    const int64_t cond = n->n_in == 2 ? find(l, n->input[1]) : NOWHERE;
    if (from < 0 || l->var_of[from] == 0 || cond < 0 ||
        !has_op(&l->node[from], "Merge") || !has_op(&l->node[cond], "LoopCond"))
        return;
    old_loop *const loop = &l->loops.v[l->frame_of[from] - 1];
    loop->var.v[l->var_of[from] - 1].choice = (int64_t)i;
    loop->cond = cond;
    l->var_of[i] = l->var_of[from];
    l->frame_of[i] = l->frame_of[cond] = l->frame_of[from];
}

static void read_exit(lifting *l, size_t i) {
    const kiln_tf_node *const n = &l->node[i];
    const int64_t from = n->n_in == 1 ? find(l, n->input[0]) : NOWHERE;
    if (from < 0 || l->var_of[from] == 0 || !has_op(&l->node[from], "Switch"))
        return;
    l->loops.v[l->frame_of[from] - 1].var.v[l->var_of[from] - 1].exit = (int64_t)i;
}

static void read_loops(lifting *l) {
    for (size_t i = 0; i < l->n; i++)
        if (has_op(&l->node[i], "Enter"))
            read_enter(l, i);
    for (size_t i = 0; i < l->n && l->loops.n > 0; i++)
        if (has_op(&l->node[i], "Merge"))
            read_merge(l, i);
    for (size_t i = 0; i < l->n && l->loops.n > 0; i++)
        if (has_op(&l->node[i], "Switch"))
            read_switch(l, i);
    for (size_t i = 0; i < l->n && l->loops.n > 0; i++)
        if (has_op(&l->node[i], "Exit"))
            read_exit(l, i);
}

/* ---- a loop's functions ----------------------------------------------------------- */

/* As nodes of the condition or of the body read it. */
static kiln_str arg_name(lifting *l, const carried *v, bool is_body) {
    if (v->merge < 0)
        return l->node[v->enter].name;
    if (!is_body)
        return l->node[v->merge].name;
    return kiln_str_from(kiln_format(l->cx->common.arena, "%.*s:1",
                                     KILN_STR_ARG(l->node[v->choice].name)));
}

typedef struct gathering {
    lifting *l;
    size_t loop; /* + 1 */
    kiln_numbers args, seen;
    KILN_VEC(size_t) stack;
    bool waits; /* for a loop inside */
} gathering;

static kiln_status reach(gathering *g, kiln_str input, bool is_control) {
    lifting *const l = g->l;
    kiln_arena *const a = &l->cx->common.scratch;
    if (kiln_numbers_get(&g->args, input) > 0)
        return KILN_OK;
    const int64_t at = find(l, input);
    if (--l->visits_left < 0)
        return kiln_tf_fail(l->cx, KILN_ERR_LIMIT,
                            "loops lie in loops too often for a graph of its size");
    if (at < 0 && !is_control)
        return kiln_tf_fail(l->cx, KILN_ERR_PARSE,
                            "a loop reads '%s', but no node has this name",
                            kiln_tf_show(l->cx, input));
    if (at < 0 || (is_control && !has_op(&l->node[at], "Identity")))
        return KILN_OK;
    if (l->frame_of[at] == g->loop)
        return is_control ? KILN_OK
                          : refuse(l, &l->node[at],
                                   "its loop reads it where it may not be read");
    if (l->frame_of[at] > 0 || has_op(&l->node[at], "Exit")) {
        g->waits = g->waits || !is_control;
        return KILN_OK;
    }
    if (l->owner[at] > 0 && l->owner[at] != g->loop)
        return refuse(l, &l->node[at], "two loops have it");
    if (kiln_numbers_set(a, &g->seen, l->node[at].name, (size_t)at + 1))
        kiln_vec_push(a, &g->stack, (size_t)at);
    return KILN_OK;
}

static kiln_status gather(gathering *g, const kiln_str *root, size_t n_root) {
    for (size_t i = 0; i < n_root; i++)
        KILN_TRY(reach(g, root[i], false));
    while (g->stack.n > 0 && !g->waits) {
        const kiln_tf_node *const n = &g->l->node[g->stack.v[--g->stack.n]];
        for (size_t i = 0; i < n->n_input; i++)
            KILN_TRY(reach(g, n->input[i], i >= (size_t)n->n_in));
    }
    return KILN_OK;
}

/* root: what the function gives, as its nodes name it. */
static kiln_status make_function(lifting *l, size_t at, bool is_body,
                                 const kiln_str *root, size_t n_root,
                                 kiln_tf_function *out, bool *waits) {
    kiln_arena *const a = l->cx->common.arena;
    const old_loop *const loop = &l->loops.v[at];
    gathering g = {.l = l, .loop = at + 1};
    kiln_tf_arg *const in = kiln_array(a, kiln_tf_arg, loop->var.n + 1);
    for (size_t i = 0; i < loop->var.n; i++) {
        in[i].name = arg_name(l, &loop->var.v[i], is_body);
        kiln_numbers_set(&l->cx->common.scratch, &g.args, in[i].name, i + 1);
    }
    KILN_TRY(gather(&g, root, n_root));
    *waits = g.waits;
    if (g.waits)
        return KILN_OK;
    *out = (kiln_tf_function){
        .name = kiln_str_from(kiln_format(a, "%s of %.*s", is_body ? "body" : "cond",
                                          KILN_STR_ARG(loop->name))),
        .input = in,
        .n_input = loop->var.n,
        .n_output = n_root,
        .n_ret = n_root,
        .node = kiln_array(a, kiln_tf_node, g.seen.map.entries.n + 1),
        .n_node = g.seen.map.entries.n,
    };
    for (size_t i = 0; i < out->n_node; i++) {
        const size_t k = kiln_numbers_get(&g.seen, g.seen.map.entries.v[i].key) - 1;
        out->node[i] = l->node[k];
        l->owner[k] = at + 1;
    }
    kiln_tf_arg *const y = kiln_array(a, kiln_tf_arg, n_root + 1);
    kiln_tf_pair *const ret = kiln_array(a, kiln_tf_pair, n_root + 1);
    for (size_t i = 0; i < n_root; i++) {
        ret[i].key = y[i].name = kiln_str_from(kiln_format(a, "%zu", i));
        ret[i].value = root[i];
    }
    out->output = y;
    out->ret = ret;
    return KILN_OK;
}

/* ---- the loop as a node ----------------------------------------------------------- */

static void add_node(lifting *l, const old_loop *loop, kiln_str cond, kiln_str body) {
    kiln_arena *const a = l->cx->common.arena;
    const size_t n = loop->var.n;
    kiln_tf_node *const w = &l->node[l->n];
    kiln_str *const input = kiln_array(a, kiln_str, n + 1);
    kiln_tf_attr *const attr = kiln_array(a, kiln_tf_attr, 2);
    attr[0] = (kiln_tf_attr){KILN_STR_LIT("cond"), .func = cond, .has_func = true};
    attr[1] = (kiln_tf_attr){KILN_STR_LIT("body"), .func = body, .has_func = true};
    const char *const name =
        kiln_format(a, "%.*s/While", KILN_STR_ARG(l->node[loop->cond].name));
    *w = (kiln_tf_node){.name = kiln_str_from(name),
                        .op = KILN_STR_LIT("While"),
                        .input = input,
                        .n_input = n,
                        .n_in = (int)n,
                        .attr = attr,
                        .n_attr = 2};
    for (size_t i = 0; i < n; i++) {
        const carried *const v = &loop->var.v[i];
        input[i] = l->node[v->enter].input[0];
        if (v->exit < 0)
            continue;
        kiln_str *const from = kiln_new(a, kiln_str);
        *from = kiln_str_from(kiln_format(a, "%s:%zu", name, i));
        kiln_tf_node *const e = &l->node[v->exit];
        e->op = KILN_STR_LIT("Identity");
        e->input = from;
        e->n_input = 1;
        e->n_in = 1;
    }
    kiln_numbers_set(&l->cx->common.scratch, &l->by_name, w->name, ++l->n);
}

static kiln_status lift(lifting *l, size_t at, bool *waits) {
    kiln_arena *const a = l->cx->common.arena;
    old_loop *const loop = &l->loops.v[at];
    kiln_tf_function f[2];
    if (loop->cond < 0 || l->node[loop->cond].n_in != 1)
        return kiln_tf_fail(l->cx, KILN_ERR_PARSE,
                            "loop '%s' must have a LoopCond of one operand",
                            kiln_tf_show(l->cx, loop->name));
    kiln_str *const root = kiln_array(a, kiln_str, loop->var.n + 1);
    for (size_t i = 0; i < loop->var.n; i++) {
        const carried *const v = &loop->var.v[i];
        if (v->merge >= 0 && v->choice < 0)
            return refuse(l, &l->node[v->merge], "its loop has no Switch for it");
        root[i] = v->merge < 0 ? arg_name(l, v, true) : l->node[v->next].input[0];
    }
    KILN_TRY(make_function(l, at, false, l->node[loop->cond].input, 1, &f[0], waits));
    if (!*waits)
        KILN_TRY(make_function(l, at, true, root, loop->var.n, &f[1], waits));
    if (*waits)
        return KILN_OK;
    for (int i = 0; i < 2; i++)
        kiln_vec_push(&l->cx->common.scratch, &l->functions, f[i]);
    add_node(l, loop, f[0].name, f[1].name);
    loop->is_done = true;
    return KILN_OK;
}

/* ---- what is left of the graph ---------------------------------------------------- */

/* Results of a loop that nobody reads are none of the graph's, unless all are. first:
 * per node where its readers begin. */
static void drop_idle_exits(lifting *l, const old_loop *loop, const size_t *first) {
    bool is_read = false;
    for (size_t i = 0; i < loop->var.n; i++) {
        const int64_t e = loop->var.v[i].exit;
        is_read = is_read || (e >= 0 && first[e] < first[e + 1]);
    }
    for (size_t i = 0; i < loop->var.n && is_read; i++) {
        const int64_t e = loop->var.v[i].exit;
        if (e >= 0 && first[e] == first[e + 1])
            l->is_gone[e] = true;
    }
}

/* Nodes of loops, and those that read them, are no part of the graph any more. */
static void mark_gone(lifting *l) {
    kiln_arena *const a = &l->cx->common.scratch;
    size_t *const first = kiln_array(a, size_t, l->n + 2); /* of i's readers */
    KILN_VEC(size_t) stack = {0};
    for (size_t i = 0; i < l->n; i++)
        for (int k = 0; k < l->node[i].n_in; k++) {
            const int64_t from = find(l, l->node[i].input[k]);
            first[from + 2] += from >= 0;
        }
    for (size_t i = 0; i < l->n; i++)
        first[i + 2] += first[i + 1];
    size_t *const reader = kiln_array(a, size_t, first[l->n + 1] + 1);
    for (size_t i = 0; i < l->n; i++)
        for (int k = 0; k < l->node[i].n_in; k++) {
            const int64_t from = find(l, l->node[i].input[k]);
            if (from >= 0)
                reader[first[from + 1]++] = i;
        }
    for (size_t i = 0; i < l->loops.n; i++)
        drop_idle_exits(l, &l->loops.v[i], first);
    for (size_t i = 0; i < l->n; i++)
        if (l->is_gone[i] || l->frame_of[i] > 0 || l->owner[i] > 0) {
            l->is_gone[i] = true;
            kiln_vec_push(a, &stack, i);
        }
    while (stack.n > 0) {
        const size_t i = stack.v[--stack.n];
        for (size_t k = first[i]; k < first[i + 1]; k++)
            if (!l->is_gone[reader[k]]) {
                l->is_gone[reader[k]] = true;
                kiln_vec_push(a, &stack, reader[k]);
            }
    }
}

static void rebuild(lifting *l) {
    kiln_arena *const a = l->cx->common.arena;
    kiln_tf_graph *const g = l->cx->graph;
    size_t n = 0;
    mark_gone(l);
    for (size_t i = 0; i < l->n; i++)
        if (!l->is_gone[i])
            l->node[n++] = l->node[i];
    kiln_tf_function *const all =
        kiln_array(a, kiln_tf_function, g->n_function + l->functions.n + 1);
    if (g->n_function > 0)
        memcpy(all, g->function, g->n_function * sizeof *all);
    if (l->functions.n > 0)
        memcpy(all + g->n_function, l->functions.v, l->functions.n * sizeof *all);
    g->node = l->node;
    g->n_node = n;
    g->function = all;
    g->n_function += l->functions.n;
}

/* Copies of the nodes, with room for one more of each loop. */
static void copy_nodes(lifting *l) {
    kiln_arena *const a = &l->cx->common.scratch;
    const kiln_tf_graph *const g = l->cx->graph;
    const size_t n = 2 * g->n_node + 1;
    l->node = kiln_array(l->cx->common.arena, kiln_tf_node, n);
    if (g->n_node > 0)
        memcpy(l->node, g->node, g->n_node * sizeof *l->node);
    l->n = g->n_node;
    l->var_of = kiln_array(a, size_t, n);
    l->frame_of = kiln_array(a, size_t, n);
    l->owner = kiln_array(a, size_t, n);
    l->is_gone = kiln_array(a, bool, n);
    for (size_t i = 0; i < l->n; i++)
        kiln_numbers_set(a, &l->by_name, l->node[i].name, i + 1);
}

static bool has_loops(const kiln_tf_graph *g) {
    for (size_t i = 0; i < g->n_node; i++)
        if (has_op(&g->node[i], "Enter"))
            return true;
    return false;
}

kiln_status kiln_tf_lift_loops(kiln_tf_cx *cx) {
    lifting l = {.cx = cx, .visits_left = 1000000 + 64 * (int64_t)cx->graph->n_node};
    if (!has_loops(cx->graph))
        return KILN_OK;
    copy_nodes(&l);
    read_loops(&l);
    for (size_t n_done = 0, before; n_done < l.loops.n;) {
        before = n_done;
        for (size_t i = 0; i < l.loops.n; i++) {
            bool waits = false;
            if (l.loops.v[i].is_done)
                continue;
            KILN_TRY(lift(&l, i, &waits));
            n_done += !waits;
        }
        if (n_done == before)
            return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                                "loops of the graph wait for each other; export the "
                                "model with control flow of TensorFlow 2 (functions)");
    }
    rebuild(&l);
    return KILN_OK;
}
