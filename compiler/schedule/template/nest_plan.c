/* Which axis of a stage becomes vectors, which its rows, and how many: what
 * kiln_nest_apply does, by the profile's ports, latencies, rates and registers. */
#include "compiler/schedule/template/template_nest.h"

enum {
    TRANSPOSE_ROWS = 16, /* at most: a body, not a machine */
    COPIED_VECTORS = 4,  /* the same */
    MAX_CANDIDATES = 32
};

static int lanes_of(const kiln_nester *n, const kiln_accesses *x, int axis,
                    int64_t extent) {
    int lanes = n->choice.lanes;
    if (lanes == 0) {
        lanes = n->profile->vector_bytes / kiln_accesses_lane_bytes(x, axis);
        if (lanes < 1)
            lanes = 1;
    }
    return extent < lanes ? (int)extent : lanes;
}

static bool is_tuple(const kiln_te *te) {
    return te->n_out > 1 || (te->body[0]->kind == KILN_EXPR_REDUCE &&
                             te->body[0]->u.reduce->reducer->n > 1);
}

static bool may_be_vectors(const kiln_accesses *x, const int64_t *extent, int i,
                           uint64_t allowed) {
    return (allowed >> i & 1) != 0 && kiln_nest_extent(x, extent, i) > 1 &&
           !is_tuple(x->te);
}

/* The axis that is `rank`-th in cost; scalar code takes part. */
static int pick_axis(const kiln_nester *n, const kiln_accesses *x,
                     const int64_t *extent, uint64_t allowed) {
    double cost[MAX_CANDIDATES + 1];
    int axis[MAX_CANDIDATES + 1], n_axes = 0;
    if (n->choice.vector == 2)
        return -1;
    for (int i = x->n_axes - 1; i >= -1; i--) {
        if (i >= 0 && !may_be_vectors(x, extent, i, allowed))
            continue;
        const int lanes = i < 0 ? 1 : lanes_of(n, x, i, kiln_nest_extent(x, extent, i));
        const double c = kiln_accesses_cost(x, extent, i, lanes);
        int at = n_axes++;
        for (; at > 0 && cost[at - 1] > c; at--) {
            cost[at] = cost[at - 1];
            axis[at] = axis[at - 1];
        }
        cost[at] = c;
        axis[at] = i;
    }
    return axis[n->choice.vector < n_axes ? n->choice.vector : n_axes - 1];
}

static int pick_rows(const kiln_accesses *x, const int64_t *extent, int axis,
                     int lanes) {
    int best = -1;
    double most = 0;
    for (int i = x->n_spatial; i-- > 0;) {
        if (i == axis || kiln_nest_extent(x, extent, i) < 2)
            continue;
        const double saved = kiln_accesses_reuse(x, i, axis, lanes);
        if (saved > most) {
            most = saved;
            best = i;
        }
    }
    return best;
}

/* The largest tile not above `most` that wastes least of `extent`. */
static int fit_rows(int64_t extent, int most) {
    int best = 1;
    int64_t least = INT64_MAX;
    if (extent <= most)
        return (int)extent;
    for (int r = most; r >= 1 && r * 2 >= most; r--) {
        const int64_t waste = (extent + r - 1) / r * r - extent;
        if (waste < least) {
            least = waste;
            best = r;
        }
    }
    return best;
}

/* Rows by so many vectors: registers hold their sums, the vectors of one operand, a
 * broadcast of the other and what LLVM loads ahead. For one or two vectors a few rows
 * less, as long as the sums hide the latency: longer bodies gain nothing. */
static int most_rows(const kiln_profile *p, int n_vectors) {
    const int room = (p->vector_registers - 4) / n_vectors;
    const int few = p->vector_registers * 3 / 8, sums = kiln_sums_to_hide_latency(p);
    const int most = few > sums ? few : sums;
    return room < most ? room : most;
}

/* Vectors beside rows: two, or as many more as let loads keep up with multiply-adds. */
static int vectors_beside_rows(const kiln_profile *p) {
    const kiln_core *c = &p->core;
    for (int v = 2; v < 4; v++) {
        const int rows = most_rows(p, v);
        if ((rows + v) * c->fma_ports <= rows * v * c->load_ports)
            return v;
    }
    return 2;
}

static void plan_reduction(const kiln_nester *n, const kiln_accesses *x,
                           const int64_t *extent, kiln_nest_plan *p) {
    const int64_t wide = p->axis >= 0 ? kiln_nest_extent(x, extent, p->axis) : 1;
    const int64_t all = (wide + p->lanes - 1) / p->lanes;
    p->rows = pick_rows(x, extent, p->axis, p->lanes);
    p->n_vectors =
        p->rows >= 0 ? vectors_beside_rows(n->profile) : kiln_sums_of_loads(n->profile);
    if (p->n_vectors > all)
        p->n_vectors = (int)all;
    if (p->n_vectors > 1 && all % p->n_vectors != 0 && all < 8)
        p->n_vectors = all % 3 == 0 ? 3 : all % 2 == 0 ? 2 : 1;
    if (p->rows >= 0)
        p->n_rows = fit_rows(kiln_nest_extent(x, extent, p->rows),
                             most_rows(n->profile, p->n_vectors));
}

/* Rows of what is transposed: elements of a cache line, so that each is read once. */
static int transposed_rows(const kiln_nester *n, const kiln_accesses *x) {
    const int64_t line = kiln_line_bytes(n->profile);
    const int64_t rows = line / (x->max_bytes > 0 ? x->max_bytes : 1);
    return rows < TRANSPOSE_ROWS ? (int)rows : TRANSPOSE_ROWS;
}

/* Vectors as long as there are rows: squares, which are turned in registers (loop pass
 * turn_tiles). They need as many of these twice. */
static int square_side(const kiln_nester *n, const kiln_accesses *x,
                       const int64_t *extent, const kiln_nest_plan *p) {
    const int registers = n->profile->vector_registers / 2;
    const int most = registers < TRANSPOSE_ROWS ? registers : TRANSPOSE_ROWS;
    const int64_t rows = kiln_nest_extent(x, extent, p->rows);
    if (!kiln_accesses_turned(x, p->rows, p->axis))
        return 1;
    return kiln_power_below(rows < p->lanes ? rows : p->lanes, most);
}

/* So many squares of an axis that a tile has `lines` lines of it, or fewer: `most`, and
 * such that nothing is left over. */
static int squares_of(const kiln_nester *n, const kiln_accesses *x, int side,
                      int64_t extent, int lines, int64_t most) {
    const int64_t line = kiln_line_bytes(n->profile) / ((int64_t)side * x->max_bytes);
    const int64_t all = extent / side, wanted = (line > 1 ? line : 1) * lines;
    most = wanted < most ? wanted : most;
    while (most > 1 && (most > all || all % most != 0))
        most--;
    return (int)most;
}

/* Elements as they are, of one place or another. */
static bool is_moved(const kiln_expr *e) {
    if (e->kind == KILN_EXPR_SELECT)
        return is_moved(e->arg[1]) && is_moved(e->arg[2]);
    return e->kind == KILN_EXPR_READ || e->kind == KILN_EXPR_FLOAT ||
           e->kind == KILN_EXPR_INT;
}

/* Vectors of a row that is copied, one behind the other: a loop of one load and one store
 * is mostly counting, and where a row is found costs as much again. */
static int copied_vectors(const kiln_accesses *x, const int64_t *extent,
                          const kiln_nest_plan *p) {
    for (int k = 0; k < x->te->n_out; k++)
        if (!is_moved(x->te->body[k]))
            return 1;
    return kiln_power_below(kiln_nest_extent(x, extent, p->axis) / p->lanes,
                            COPIED_VECTORS);
}

static void plan_injective(const kiln_nester *n, const kiln_accesses *x,
                           const int64_t *extent, kiln_nest_plan *p) {
    if (p->axis < 0)
        return;
    if (!kiln_accesses_strided(x, p->axis)) {
        p->n_vectors = copied_vectors(x, extent, p);
        return;
    }
    for (int i = x->n_spatial; i-- > 0 && p->rows < 0;)
        if (i != p->axis && kiln_nest_extent(x, extent, i) > 1 &&
            kiln_accesses_contiguous(x, i))
            p->rows = i;
    if (p->rows < 0)
        return;
    const int64_t rows = kiln_nest_extent(x, extent, p->rows);
    const int side = square_side(n, x, extent, p);
    p->n_rows = fit_rows(rows, transposed_rows(n, x));
    if (side < KILN_LEAST_TURNED || (n->choice.lanes > 0 && side != p->lanes))
        return;
    p->lanes = side;
    const int64_t room = kiln_nest_most_vectors(n);
    p->n_rows = side * squares_of(n, x, side, rows, 1, room / side);
    p->n_vectors = squares_of(n, x, side, kiln_nest_extent(x, extent, p->axis),
                              KILN_LINES_OF_ROW, room / p->n_rows);
    p->is_turned = true;
}

kiln_nest_plan kiln_nest_plan_of(const kiln_nester *n, const kiln_accesses *x,
                                 const int64_t *extent, uint64_t allowed) {
    kiln_nest_plan p = {.axis = pick_axis(n, x, extent, allowed),
                        .rows = -1,
                        .lanes = 1,
                        .n_vectors = 1,
                        .n_rows = 1};
    if (p.axis >= 0)
        p.lanes = lanes_of(n, x, p.axis, kiln_nest_extent(x, extent, p.axis));
    if (p.axis >= x->n_spatial) {
        const int64_t all = kiln_nest_extent(x, extent, p.axis) / p.lanes;
        p.n_vectors = n->choice.accumulators > 0 ? n->choice.accumulators
                                                 : kiln_sums_of_loads(n->profile);
        p.n_vectors = kiln_power_below(all, p.n_vectors);
        return p;
    }
    if (kiln_accesses_reduce(x))
        plan_reduction(n, x, extent, &p);
    else
        plan_injective(n, x, extent, &p);
    if (n->choice.vectors > 0 && p.axis >= 0)
        p.n_vectors = n->choice.vectors;
    if (n->choice.rows > 0 && p.rows >= 0)
        p.n_rows = n->choice.rows;
    return p;
}
