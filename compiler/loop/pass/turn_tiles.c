/* turn_tiles: what is read across rows is read by rows, and turned in registers.
 *
 * Unrolled rows of a transposition are stores side by side, each of a vector whose lanes
 * lie in as many rows of what is read, and the next of which are one element further:
 *
 *     y[i + ramp(0, 1, n)] = x[j + ramp(0, step, n)]
 *     y[...] = x[j + 1 + ramp(0, step, n)]                       n of them
 *
 * Their loads are a square of n by n elements. It is loaded by rows, and becomes the
 * vectors of the stores in log2(n) steps of n shuffles of two vectors each: neighbours
 * meet within pieces of 16 bytes, then pieces change places, since that is what vector
 * units do in one instruction (unpack and shuffle of pieces on x86, zip on AArch64; the
 * network is Eklundh's, "A fast computer method for matrix transposing", IEEE ToC 21(7),
 * 1972, by interleaving).
 *
 * Few rows (the three colours of an image, channels first, that become channels last) make
 * stores of few lanes, one behind the other. They are woven: whole vectors of each row are
 * loaded, shuffles pick the elements of whole vectors of the result. */
#include "compiler/loop/linear.h"

enum {
    PIECE_BYTES = 16, /* what instructions interleave within */
    MAX_SIDE = 16,    /* no more vectors than half of the most registers there are */
    MAX_SQUARES = 4,  /* that one store reads */
    MAX_THREADS = 8,  /* rows that are woven: each costs a shuffle for each vector */
    LEAST_WOVEN = 4   /* stores */
};

typedef struct turning {
    kiln_arena *arena;
    int n_tiles; /* for names */
} turning;

/* ---- what is read across rows ---------------------------------------------------- */

typedef struct strided {
    const kiln_expr *load[MAX_SQUARES];
    int n;
} strided;

static int64_t step_of(const kiln_expr *load) {
    int64_t step = 0;
    return kiln_x_is_int(load->arg[0]->arg[1], &step) ? step : 0;
}

/* Lanes apart, all of them read; no bytes of truth values, which are no numbers. */
static bool is_strided(const kiln_expr *e) {
    if (e->kind != KILN_EXPR_LOAD || e->u.load.mask != NULL || e->n_arg != 1 ||
        e->arg[0]->kind != KILN_EXPR_RAMP || e->dtype == KILN_BOOL ||
        e->u.load.buffer->scope == KILN_SCOPE_REGISTER)
        return false;
    const int64_t step = step_of(e);
    return e->lanes >= 2 && e->lanes <= MAX_SIDE && (e->lanes & (e->lanes - 1)) == 0 &&
           (step > 1 || step < -1);
}

/* What is read whatever happens: neither in branches of selects nor where variables are
 * bound. */
static void find_strided(const kiln_expr *e, strided *out) {
    if (is_strided(e) && out->n < MAX_SQUARES)
        out->load[out->n++] = e;
    if (e->kind == KILN_EXPR_LOAD || e->kind == KILN_EXPR_LET ||
        e->kind == KILN_EXPR_LOOP || e->kind == KILN_EXPR_TABLE)
        return;
    for (int i = 0; i < (e->kind == KILN_EXPR_SELECT ? 1 : e->n_arg); i++)
        find_strided(e->arg[i], out);
}

/* Does it read where `load` does, `by` elements further? */
static bool is_shifted(const kiln_expr *e, const kiln_expr *load, int64_t by) {
    kiln_linear x, y;
    return e->u.load.buffer == load->u.load.buffer && e->lanes == load->lanes &&
           step_of(e) == step_of(load) && kiln_linear_of(e->arg[0]->arg[0], &x) &&
           kiln_linear_of(load->arg[0]->arg[0], &y) && kiln_linear_add(&x, &y, -1) &&
           x.n == 0 && x.constant == by;
}

static const kiln_expr *find_shifted(const kiln_stmt *store, const kiln_expr *load,
                                     int64_t by) {
    strided s = {.n = 0};
    find_strided(store->u.store.value, &s);
    for (int i = 0; i < s.n; i++)
        if (is_shifted(s.load[i], load, by))
            return s.load[i];
    return NULL;
}

/* ---- the network ----------------------------------------------------------------- */

/* Vectors of a tile: row k is elements k * side to (k + 1) * side. */
typedef struct tile {
    const kiln_buffer *buffer;
    int side;
} tile;

static const kiln_expr *row_index(kiln_arena *a, const tile *t, int k) {
    return kiln_x_ramp(a, kiln_x_index(a, (int64_t)k * t->side), kiln_x_index(a, 1),
                       t->side);
}

static const kiln_expr *row_of(kiln_arena *a, const tile *t, int k) {
    const kiln_expr *index = row_index(a, t, k);
    return kiln_x_load(a, t->buffer, &index, 1, NULL);
}

static const kiln_stmt *set_row(kiln_arena *a, const tile *t, int k,
                                const kiln_expr *v) {
    const kiln_expr *index = row_index(a, t, k);
    return kiln_s_store(a, t->buffer, &index, v, NULL);
}

static tile tile_new(turning *t, kiln_dtype dtype, int side) {
    const int64_t n = (int64_t)side * side;
    const char *name = kiln_format(t->arena, "turned%d", t->n_tiles++);
    return (tile){kiln_buffer_new(t->arena, name, dtype, 1, &n, KILN_SCOPE_REGISTER),
                  side};
}

/* Which lanes of two vectors, one behind the other. In pieces of `piece` lanes: their
 * first or second halves, element by element in turns. */
static void interleave(int side, int piece, bool is_high, int *lane) {
    for (int k = 0; k < side; k++) {
        const int at = k % piece;
        lane[k] =
            k - at + at / 2 + (is_high ? piece / 2 : 0) + (at % 2 == 1 ? side : 0);
    }
}

/* Every second piece of the first vector, then of the second. */
static void pick_pieces(int side, int piece, bool is_odd, int *lane) {
    const int half = side / piece / 2;
    for (int k = 0; k < side; k++) {
        const int at = k / piece;
        const int from = 2 * (at % half) + (is_odd ? 1 : 0);
        lane[k] = from * piece + k % piece + (at >= half ? side : 0);
    }
}

/* One step: where each row of `to` comes from. The rows lie in blocks of `piece`, and
 * row q of each block belongs to the pieces' step of its own. */
typedef struct source {
    int row[2], lane[MAX_SIDE];
} source;

static source interleaved(int side, int piece, int row) {
    const int block = row / piece * piece, at = row - block;
    source s = {.row = {block + at / 2, block + at / 2 + piece / 2}};
    interleave(side, piece, at % 2 == 1, s.lane);
    return s;
}

static source exchanged(int side, int piece, int row) {
    const int half = side / piece / 2, at = row / piece, q = row % piece;
    source s = {
        .row = {2 * (at % half) * piece + q, (2 * (at % half) + 1) * piece + q}};
    pick_pieces(side, piece, at >= half, s.lane);
    return s;
}

typedef struct square {
    const kiln_expr *load[MAX_SIDE]; /* of each store */
    tile turned;                     /* row k is what load k reads */
} square;

typedef struct statements {
    KILN_VEC(const kiln_stmt *) list;
    KILN_VEC(const kiln_buffer *) tiles;
} statements;

static tile add_step(turning *t, const tile *from, int piece, bool is_exchange,
                     statements *out) {
    kiln_arena *a = t->arena;
    const tile to = tile_new(t, from->buffer->dtype, from->side);
    kiln_vec_push(a, &out->tiles, to.buffer);
    for (int k = 0; k < to.side; k++) {
        const source s =
            is_exchange ? exchanged(to.side, piece, k) : interleaved(to.side, piece, k);
        KILN_ASSERT(s.row[0] < s.row[1] && s.row[1] < to.side,
                    "row %d comes of rows %d and %d of %d", k, s.row[0], s.row[1],
                    to.side);
        const kiln_expr *in[] = {row_of(a, from, s.row[0]), row_of(a, from, s.row[1])};
        kiln_vec_push(a, &out->list,
                      set_row(a, &to, k, kiln_x_shuffle(a, in, 2, s.lane, to.side)));
    }
    return to;
}

static void turn(turning *t, square *q, int side, statements *out) {
    kiln_arena *a = t->arena;
    const kiln_expr *first = q->load[0];
    const kiln_buffer *b = first->u.load.buffer;
    KILN_ASSERT(side >= 2 && side <= MAX_SIDE && (side & (side - 1)) == 0,
                "a square of '%s' has %d rows", b->name, side);
    tile now = tile_new(t, b->dtype, side);
    const int most = PIECE_BYTES / (int)kiln_dtype_bytes(b->dtype);
    const int piece = side < most ? side : most;
    kiln_vec_push(a, &out->tiles, now.buffer);
    for (int k = 0; k < side; k++) {
        const kiln_expr *base =
            kiln_x_add(a, first->arg[0]->arg[0], kiln_x_index(a, k * step_of(first)));
        const kiln_expr *index = kiln_x_ramp(a, base, kiln_x_index(a, 1), side);
        kiln_vec_push(a, &out->list,
                      set_row(a, &now, k, kiln_x_load(a, b, &index, 1, NULL)));
    }
    for (int n = 1; n < piece; n *= 2)
        now = add_step(t, &now, piece, false, out);
    for (int n = piece; n < side; n *= 2)
        now = add_step(t, &now, piece, true, out);
    q->turned = now;
}

/* ---- stores side by side --------------------------------------------------------- */

static bool is_plain_store(const kiln_stmt *s, const kiln_buffer *not_to) {
    return s->kind == KILN_STMT_STORE && s->u.store.mask == NULL &&
           s->u.store.buffer != not_to;
}

/* The square that begins with a load of stmt[0]; false: it is none. */
static bool find_square(const kiln_stmt *const *stmt, int n, const kiln_expr *load,
                        square *out) {
    if (load->lanes > n)
        return false;
    for (int k = 0; k < load->lanes; k++) {
        if (!is_plain_store(stmt[k], load->u.load.buffer))
            return false;
        out->load[k] = find_shifted(stmt[k], load, k);
        if (out->load[k] == NULL)
            return false;
    }
    return true;
}

typedef struct replacing {
    kiln_arena *arena;
    const square *q;
    int n, row;
} replacing;

static const kiln_expr *replaced(void *user, kiln_arena *a, const kiln_expr *e) {
    const replacing *r = user;
    if (e->kind != KILN_EXPR_LOAD)
        return e;
    for (int i = 0; i < r->n; i++)
        if (kiln_expr_eq(e, r->q[i].load[r->row]))
            return row_of(a, &r->q[i].turned, r->row);
    return e;
}

/* The stores from stmt[0] on that squares are read for, with these; 0: there are none.
 */
static int turn_stores(turning *t, const kiln_stmt *const *stmt, int n,
                       statements *out) {
    square q[MAX_SQUARES];
    strided s = {.n = 0};
    int n_squares = 0, side = 0;
    if (!is_plain_store(stmt[0], NULL))
        return 0;
    find_strided(stmt[0]->u.store.value, &s);
    for (int i = 0; i < s.n; i++)
        if ((side == 0 || s.load[i]->lanes == side) &&
            find_square(stmt, n, s.load[i], &q[n_squares])) {
            side = s.load[i]->lanes;
            n_squares++;
        }
    KILN_ASSERT(side <= n && n_squares <= MAX_SQUARES,
                "%d squares of %d rows for %d stores", n_squares, side, n);
    for (int i = 0; i < n_squares; i++)
        turn(t, &q[i], side, out);
    for (int k = 0; k < side; k++) {
        replacing r = {t->arena, q, n_squares, k};
        const kiln_stmt *store = stmt[k];
        kiln_vec_push(
            t->arena, &out->list,
            kiln_s_store(
                t->arena, store->u.store.buffer, store->u.store.index,
                kiln_expr_rewrite(t->arena, store->u.store.value, replaced, &r), NULL));
    }
    return side;
}

/* ---- weaving --------------------------------------------------------------------- */

/* Stores of few lanes that only move what they read across rows, and that fill no piece:
 * others are squares. */
static bool is_thread(const kiln_stmt *s) {
    if (!is_plain_store(s, NULL) || s->u.store.buffer->rank != 1 ||
        s->u.store.value->kind != KILN_EXPR_LOAD)
        return false;
    const kiln_expr *e = s->u.store.value, *to = s->u.store.index[0];
    int64_t step = 0;
    const int n = e->lanes, bytes = n * (int)kiln_dtype_bytes(e->dtype);
    return n >= 2 && n <= MAX_THREADS && e->u.load.mask == NULL && e->n_arg == 1 &&
           e->arg[0]->kind == KILN_EXPR_RAMP && e->dtype != KILN_BOOL &&
           e->u.load.buffer->scope != KILN_SCOPE_REGISTER &&
           s->u.store.buffer->scope != KILN_SCOPE_REGISTER &&
           s->u.store.buffer != e->u.load.buffer && step_of(e) >= MAX_SIDE &&
           ((n & (n - 1)) != 0 || bytes < PIECE_BYTES) && to->kind == KILN_EXPR_RAMP &&
           kiln_x_is_int(to->arg[1], &step) && step == 1;
}

/* Is it the store that comes `by` places behind `first`? */
static bool is_next_thread(const kiln_stmt *s, const kiln_stmt *first, int by) {
    kiln_linear x, y;
    const int n = first->u.store.value->lanes;
    return is_thread(s) && s->u.store.buffer == first->u.store.buffer &&
           is_shifted(s->u.store.value, first->u.store.value, by) &&
           kiln_linear_of(s->u.store.index[0]->arg[0], &x) &&
           kiln_linear_of(first->u.store.index[0]->arg[0], &y) &&
           kiln_linear_add(&x, &y, -1) && x.n == 0 && x.constant == (int64_t)by * n;
}

/* Vector `at` of the result, which takes the rows' elements in turns. */
static const kiln_expr *woven(kiln_arena *a, const tile *t, int n_rows, int at) {
    int lane[MAX_SIDE];
    const kiln_expr *v = row_of(a, t, 0);
    for (int r = 1; r < n_rows; r++) {
        for (int k = 0; k < t->side; k++) {
            const int elem = at * t->side + k, of = elem % n_rows;
            lane[k] = of == r             ? t->side + elem / n_rows
                      : of == 0 && r == 1 ? elem / n_rows
                                          : k;
        }
        const kiln_expr *in[] = {v, row_of(a, t, r)};
        v = kiln_x_shuffle(a, in, 2, lane, t->side);
    }
    return v;
}

/* The stores from stmt[0] on that are woven, with these; 0: there are none. */
static int weave_stores(turning *t, const kiln_stmt *const *stmt, int n,
                        statements *out) {
    kiln_arena *a = t->arena;
    int n_same = 1, side = MAX_SIDE;
    if (!is_thread(stmt[0]))
        return 0;
    while (n_same < n && n_same < MAX_SIDE &&
           is_next_thread(stmt[n_same], stmt[0], n_same))
        n_same++;
    while (side > n_same)
        side /= 2;
    if (side < LEAST_WOVEN)
        return 0;
    const kiln_expr *load = stmt[0]->u.store.value, *from = load->arg[0]->arg[0];
    const kiln_expr *to = stmt[0]->u.store.index[0]->arg[0];
    const int n_rows = load->lanes;
    const int64_t elems = (int64_t)n_rows * side;
    const tile rows = {kiln_buffer_new(a, kiln_format(a, "woven%d", t->n_tiles++),
                                       load->dtype, 1, &elems, KILN_SCOPE_REGISTER),
                       side};
    kiln_vec_push(a, &out->tiles, rows.buffer);
    for (int k = 0; k < n_rows; k++) {
        const kiln_expr *base = kiln_x_add(a, from, kiln_x_index(a, k * step_of(load)));
        const kiln_expr *index = kiln_x_ramp(a, base, kiln_x_index(a, 1), side);
        const kiln_expr *row = kiln_x_load(a, load->u.load.buffer, &index, 1, NULL);
        kiln_vec_push(a, &out->list, set_row(a, &rows, k, row));
    }
    for (int k = 0; k < n_rows; k++) {
        const kiln_expr *base = kiln_x_add(a, to, kiln_x_index(a, (int64_t)k * side));
        const kiln_expr *index = kiln_x_ramp(a, base, kiln_x_index(a, 1), side);
        kiln_vec_push(a, &out->list,
                      kiln_s_store(a, stmt[0]->u.store.buffer, &index,
                                   woven(a, &rows, n_rows, k), NULL));
    }
    return side;
}

static const kiln_stmt *rewritten(void *user, kiln_arena *a, const kiln_stmt *s) {
    turning *t = user;
    statements all = {.list = {0}};
    bool has_changed = false;
    if (s->kind != KILN_STMT_SEQ)
        return s;
    for (int i = 0; i < s->u.seq.n;) {
        statements one = {.list = {0}};
        int n = weave_stores(t, s->u.seq.stmt + i, s->u.seq.n - i, &one);
        if (n == 0)
            n = turn_stores(t, s->u.seq.stmt + i, s->u.seq.n - i, &one);
        if (n == 0) {
            kiln_vec_push(a, &all.list, s->u.seq.stmt[i++]);
            continue;
        }
        const kiln_stmt *turned = kiln_s_seq(a, one.list.v, (int)one.list.n);
        for (size_t k = one.tiles.n; k-- > 0;)
            turned = kiln_s_alloc(a, one.tiles.v[k], turned);
        kiln_vec_push(a, &all.list, turned);
        has_changed = true;
        i += n;
    }
    return has_changed ? kiln_s_seq(a, all.list.v, (int)all.list.n) : s;
}

static kiln_status run(kiln_program *p, const kiln_loop_options *o, kiln_err *err) {
    (void)o;
    (void)err;
    turning t = {.arena = p->arena};
    p->body = kiln_stmt_rewritten(p->arena, p->body,
                                  &(kiln_stmt_rewrite){.stmt = rewritten, .user = &t});
    return KILN_OK;
}

const kiln_loop_pass kiln_loop_pass_turn_tiles = {
    .name = "turn_tiles",
    .doc = "reads squares of a transposition by rows and turns them in registers",
    .run = run,
};
