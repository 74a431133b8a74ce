/* What no lane can compute by itself: lanes that are mixed, and loops that turn while
 * any lane has to. Arrays hold these before the loop over the lanes begins; what is
 * under a guard is computed where that holds, and is 0 elsewhere. */
#include "compiler/codegen/c/print.h"

#include <string.h>

/* ---- shuffles -------------------------------------------------------------------- */

/* lane[k] = first + step * (k % period)? */
static bool is_regular(const kiln_expr *e, int *step, int *period) {
    const int *lane = e->u.lane;
    *step = e->lanes > 1 ? lane[1] - lane[0] : 0;
    *period = e->lanes;
    for (int k = 1; k < e->lanes; k++)
        if (lane[k] != lane[0] + *step * k) {
            *period = k;
            break;
        }
    for (int k = 0; k < e->lanes; k++)
        if (lane[k] != lane[0] + *step * (k % *period))
            return false;
    return true;
}

static bool is_simple(const kiln_expr *e) {
    int step = 0, period = 0;
    return e->lanes == 1 || (e->n_arg == 1 && is_regular(e, &step, &period));
}

const char *kiln_c_shuffled(kiln_c_printer *p, const kiln_expr *e, const char *lane) {
    int step = 0, period = 0;
    int64_t known = 0;
    if (!is_simple(e) || !is_regular(e, &step, &period))
        return NULL;
    const int first = e->u.lane[0];
    if (kiln_parse_i64(kiln_str_from(lane), &known))
        return kiln_format(p->arena, "%d", e->u.lane[known]);
    const char *at =
        period < e->lanes ? kiln_format(p->arena, "%s %% %d", lane, period) : lane;
    if (step == 0)
        return kiln_format(p->arena, "%d", first);
    if (step != 1)
        at = kiln_format(p->arena, "%d * (%s)", step, at);
    return first == 0 ? kiln_format(p->arena, "(%s)", at)
                      : kiln_format(p->arena, "(%d + %s)", first, at);
}

static bool is_mixed(const kiln_expr *e) {
    return (e->kind == KILN_EXPR_SHUFFLE && !is_simple(e)) ||
           (e->kind == KILN_EXPR_LOOP && e->lanes > 1);
}

static void find_mixed(void *user, const kiln_expr *e) {
    bool *found = user;
    *found = *found || is_mixed(e);
    if (e->kind == KILN_EXPR_LOAD && e->u.load.mask != NULL)
        kiln_expr_visit(e->u.load.mask, find_mixed, user);
}

static bool holds_mixed(const kiln_expr *e) {
    bool found = false;
    kiln_expr_visit(e, find_mixed, &found);
    return found;
}

static void find_mixed_in(void *user, const kiln_expr *e) {
    bool *found = user;
    *found = *found || holds_mixed(e);
}

bool kiln_c_is_mixed(const kiln_stmt *s) {
    bool found = false;
    kiln_stmt_exprs(s, find_mixed_in, &found);
    return found;
}

/* ---- guards ---------------------------------------------------------------------- */

/* Where something is computed: name[lane] of so many lanes, or name. */
typedef struct guard {
    const char *name; /* NULL: everywhere */
    int lanes;
} guard;

static const char *holds(kiln_c_printer *p, guard g, const char *lane) {
    return g.lanes > 1 ? kiln_format(p->arena, "%s[%s]", g.name, lane) : g.name;
}

/* The guard for what has so many lanes: another number of them is computed where any
 * holds. */
static guard fitted(kiln_c_printer *p, guard g, int lanes) {
    const char *lane = NULL;
    if (g.name == NULL || g.lanes == 1 || g.lanes == lanes)
        return g;
    const guard any = {kiln_c_name(p, "any"), 1};
    kiln_c_line(p, "int %s = 0;", any.name);
    const kiln_c_block b = kiln_c_lanes(p, g.lanes, &lane);
    kiln_c_line(p, "%s |= %s;", any.name, holds(p, g, lane));
    kiln_c_close(p, b);
    return any;
}

static guard narrowed(kiln_c_printer *p, guard g, const kiln_expr *cond, bool is_not) {
    const char *lane = NULL;
    const guard f = fitted(p, g, cond->lanes);
    const guard out = {kiln_c_name(p, "on"), cond->lanes};
    const char *not_ = is_not ? "!" : "";
    if (cond->lanes > 1)
        kiln_c_line(p, "int %s[%d];", out.name, cond->lanes);
    else
        kiln_c_line(p, "int %s;", out.name);
    kiln_c_block b = {0};
    if (cond->lanes > 1)
        b = kiln_c_lanes(p, cond->lanes, &lane);
    const char *to = holds(p, out, lane);
    kiln_c_line(p, "%s = 0;", to);
    if (f.name != NULL)
        kiln_c_line(p, "if (%s) {", holds(p, f, lane));
    else
        kiln_c_line(p, "{");
    const kiln_c_block inner = kiln_c_open(p);
    const kiln_c_text c = kiln_c_expr(p, cond, lane);
    kiln_c_line(p, "%s = %s%s;", to, not_, kiln_c_in(p, c, KILN_C_PRIMARY));
    kiln_c_close(p, inner);
    if (cond->lanes > 1)
        kiln_c_close(p, b);
    return out;
}

/* array[offset + lane] = e, or array = e where it has one lane. */
static void fill(kiln_c_printer *p, const char *array, bool is_array, int offset,
                 const kiln_expr *e, guard g) {
    const char *lane = NULL;
    const guard f = fitted(p, g, e->lanes);
    kiln_c_block b = {0}, inner = {0};
    if (e->lanes > 1)
        b = kiln_c_lanes(p, e->lanes, &lane);
    const char *to = !is_array       ? array
                     : e->lanes == 1 ? kiln_format(p->arena, "%s[%d]", array, offset)
                     : offset == 0
                         ? kiln_format(p->arena, "%s[%s]", array, lane)
                         : kiln_format(p->arena, "%s[%d + %s]", array, offset, lane);
    if (f.name != NULL) {
        kiln_c_line(p, "%s = 0;", to);
        kiln_c_line(p, "if (%s) {", holds(p, f, lane));
        inner = kiln_c_open(p);
    }
    kiln_c_line(p, "%s = %s;", to, kiln_c_expr(p, e, lane).text);
    if (f.name != NULL)
        kiln_c_close(p, inner);
    if (e->lanes > 1)
        kiln_c_close(p, b);
}

static const char *declared(kiln_c_printer *p, const char *wanted, kiln_dtype dtype,
                            int lanes) {
    const char *name = kiln_c_name(p, wanted);
    if (lanes > 1)
        kiln_c_line(p, "%s %s[%d];", kiln_c_value_type(dtype), name, lanes);
    else
        kiln_c_line(p, "%s %s;", kiln_c_value_type(dtype), name);
    return name;
}

static void bind_array(kiln_c_printer *p, const kiln_var *v, const char *name,
                       int lanes) {
    kiln_c_bind(p, v, kiln_c_put(p, KILN_C_PRIMARY, "%s", name));
    p->vars.v[p->vars.n - 1].is_array = lanes > 1;
}

static void ready(kiln_c_printer *p, const kiln_expr *e, const char *array,
                  const char *pick) {
    const kiln_c_ready r = {e, array, pick};
    kiln_vec_push(p->arena, &p->ready, r);
}

/* ---- preparing ------------------------------------------------------------------- */

static void prepare(kiln_c_printer *p, const kiln_expr *e, guard g);

static void prepare_let(kiln_c_printer *p, const kiln_expr *e, guard g) {
    for (int i = 0; i + 1 < e->n_arg; i++) {
        const kiln_expr *x = e->arg[i];
        const kiln_var *v = e->u.bound[i];
        prepare(p, x, g);
        const char *name = declared(p, v->name, x->dtype, x->lanes);
        fill(p, name, x->lanes > 1, 0, x, g);
        bind_array(p, v, name, x->lanes);
    }
    prepare(p, e->arg[e->n_arg - 1], g);
    ready(p, e, NULL, NULL);
}

static void prepare_shuffle(kiln_c_printer *p, const kiln_expr *e, guard g) {
    int total = 0, at = 0;
    int64_t *pick = kiln_array(p->arena, int64_t, e->lanes);
    for (int i = 0; i < e->n_arg; i++) {
        prepare(p, e->arg[i], fitted(p, g, e->arg[i]->lanes));
        total += e->arg[i]->lanes;
    }
    const char *name = declared(p, "mixed", e->dtype, total > 1 ? total : 2);
    for (int i = 0; i < e->n_arg; i++) {
        /* All or nothing: lanes are others than the guard's. */
        guard all = g.lanes > 1 ? fitted(p, g, 0) : g;
        fill(p, name, true, at, e->arg[i], all);
        at += e->arg[i]->lanes;
    }
    for (int k = 0; k < e->lanes; k++) {
        pick[k] = e->u.lane[k];
        if (pick[k] < 0 || pick[k] >= total)
            kiln_c_fail(p, KILN_ERR_ARG, "a shuffle takes lane %d of %d", e->u.lane[k],
                        total);
    }
    ready(p, e, name, kiln_c_table(p, "int16_t", pick, e->lanes));
}

typedef struct turning {
    kiln_loop_parts l;
    const char **state, **next;
    guard g;
} turning;

/* Lanes whose condition does not hold go on with the others; lanes that are off ask for
 * no turn. */
static void put_test(kiln_c_printer *p, const turning *t) {
    const char *lane = NULL;
    const kiln_expr *cond = t->l.cond;
    const guard f = fitted(p, t->g, cond->lanes);
    const char *any = kiln_c_name(p, "turns");
    kiln_c_line(p, "int %s = 0;", any);
    prepare(p, cond, t->g);
    kiln_c_block b = {0};
    if (cond->lanes > 1)
        b = kiln_c_lanes(p, cond->lanes, &lane);
    const kiln_c_text c = kiln_c_expr(p, cond, lane);
    const char *in = kiln_c_in(p, c, KILN_C_PRIMARY);
    if (f.name != NULL)
        kiln_c_line(p, "%s |= %s && %s;", any, holds(p, f, lane), in);
    else
        kiln_c_line(p, "%s |= %s;", any, in);
    if (cond->lanes > 1)
        kiln_c_close(p, b);
    kiln_c_line(p, "if (!%s)", any);
    kiln_c_line(p, "    break;");
}

static void put_turn(kiln_c_printer *p, const turning *t) {
    const kiln_loop_parts *l = &t->l;
    for (int i = 0; i < l->turns.n_local; i++) {
        const kiln_expr *x = l->local[i];
        prepare(p, x, t->g);
        const char *name = declared(p, l->turns.local[i]->name, x->dtype, x->lanes);
        fill(p, name, x->lanes > 1, 0, x, t->g);
        bind_array(p, l->turns.local[i], name, x->lanes);
    }
    for (int i = 0; i < l->turns.n_state; i++) {
        const kiln_expr *x = l->next[i];
        prepare(p, x, t->g);
        t->next[i] = declared(p, "next", x->dtype, x->lanes);
        fill(p, t->next[i], x->lanes > 1, 0, x, t->g);
    }
    for (int i = 0; i < l->turns.n_state; i++) {
        const char *lane = NULL;
        const int lanes = l->next[i]->lanes;
        kiln_c_block b = {0};
        if (lanes > 1)
            b = kiln_c_lanes(p, lanes, &lane);
        const char *at = lanes > 1 ? kiln_format(p->arena, "[%s]", lane) : "";
        kiln_c_line(p, "%s%s = %s%s;", t->state[i], at, t->next[i], at);
        if (lanes > 1)
            kiln_c_close(p, b);
    }
}

static void prepare_loop(kiln_c_printer *p, const kiln_expr *e, guard g) {
    turning t = {.l = kiln_x_loop_parts(e), .g = g};
    const int n = t.l.turns.n_state;
    t.state = kiln_array(p->arena, const char *, n + 1);
    t.next = kiln_array(p->arena, const char *, n + 1);
    for (int i = 0; i < n; i++) {
        const kiln_expr *x = t.l.init[i];
        prepare(p, x, g);
        t.state[i] =
            declared(p, t.l.turns.state[i]->name, x->dtype, t.l.turns.state[i]->lanes);
        fill(p, t.state[i], x->lanes > 1, 0, x, g);
    }
    for (int i = 0; i < n; i++)
        bind_array(p, t.l.turns.state[i], t.state[i], t.l.turns.state[i]->lanes);
    kiln_c_line(p, "for (;;) {");
    const kiln_c_block b = kiln_c_open(p);
    put_test(p, &t);
    put_turn(p, &t);
    kiln_c_close(p, b);
    prepare(p, t.l.value, g);
    const char *name = declared(p, "turned", e->dtype, e->lanes);
    fill(p, name, true, 0, t.l.value, g);
    ready(p, e, name, NULL);
}

static void prepare(kiln_c_printer *p, const kiln_expr *e, guard g) {
    if (!holds_mixed(e) || kiln_c_find_ready(p, e) != NULL)
        return;
    if (e->kind == KILN_EXPR_LET) {
        prepare_let(p, e, g);
        return;
    }
    if (e->kind == KILN_EXPR_SHUFFLE && !is_simple(e)) {
        prepare_shuffle(p, e, g);
        return;
    }
    if (e->kind == KILN_EXPR_LOOP) {
        if (e->lanes > 1)
            prepare_loop(p, e, g);
        else
            kiln_c_fail(p, KILN_ERR_UNSUPPORTED,
                        "the C printer mixes no lanes in a loop of one lane");
        return;
    }
    if (e->kind == KILN_EXPR_SELECT) {
        prepare(p, e->arg[0], g);
        for (int i = 1; i < 3; i++)
            if (holds_mixed(e->arg[i]))
                prepare(p, e->arg[i], narrowed(p, g, e->arg[0], i == 2));
        return;
    }
    guard inside = g;
    if (e->kind == KILN_EXPR_LOAD && e->u.load.mask != NULL) {
        prepare(p, e->u.load.mask, g);
        inside = narrowed(p, g, e->u.load.mask, false);
    }
    for (int i = 0; i < e->n_arg; i++)
        prepare(p, e->arg[i], inside);
}

void kiln_c_prepare(kiln_c_printer *p, const kiln_expr *e) {
    prepare(p, e, (guard){NULL, 1});
}

void kiln_c_prepare_where(kiln_c_printer *p, const kiln_expr *e,
                          const kiln_expr *mask) {
    if (holds_mixed(e))
        prepare(p, e, narrowed(p, (guard){NULL, 1}, mask, false));
}
