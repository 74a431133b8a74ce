/* A lowered program as a tree: its loops, the statements in them, and the program itself
 * as the root, each with context features. Only what AutoTVM's context vectors say
 * (NIPS'18, supplement A), so that programs of other workloads are of the same kind:
 * nothing is named.
 *
 * Magnitudes are log2 (roles.h); -1 says that there is none. */
#include "compiler/tuner/model/treegru/treegru.h"

#include <math.h>
#include <string.h>

#include "compiler/tuner/roles.h"

/* Loops and statements past these are left out: programs of templates have a fifth. */
enum { MOST_LOOPS = 127, MOST_STMTS = KILN_TREEGRU_NODES - 1 - MOST_LOOPS };

typedef struct tree {
    const kiln_nest *nest;
    kiln_role_use *use[KILN_N_ROLES]; /* of each loop */
    double work;                      /* of all statements */
} tree;

/* The features of one node, one after another. */
typedef struct row {
    kiln_treegru_node node;
    int n;
} row;

static void put(row *r, float x) {
    KILN_ASSERT(r->n < KILN_TREEGRU_X, "%d features of a node", r->n + 1);
    r->node.x[r->n++] = x;
}

static void put_flag(row *r, bool is) { put(r, is ? 1 : 0); }

static void finish(row *r, int parent, kiln_treegru_kind kind, kiln_buf *out) {
    r->node.parent = parent;
    r->node.kind = (int32_t)kind;
    kiln_buf_add(out, &r->node, sizeof r->node);
}

/* ---- accesses -------------------------------------------------------------------- */

/* Accesses by how far one iteration moves them. */
typedef struct steps {
    int still, near, far;
} steps;

static void count_step(const kiln_nest_access *x, int depth, steps *out) {
    const int64_t step = kiln_nest_step(x, depth);
    if (step == 0)
        out->still++;
    else if (step == 1 || step == -1)
        out->near++;
    else
        out->far++;
}

static void put_steps(row *r, const steps *s) {
    put(r, kiln_magnitude(1 + s->still));
    put(r, kiln_magnitude(1 + s->near));
    put(r, kiln_magnitude(1 + s->far));
}

static bool is_inside(const kiln_nest *k, int inner, int outer) {
    while (inner > outer)
        inner = k->loops.v[inner].parent;
    return inner == outer;
}

/* ---- nodes ----------------------------------------------------------------------- */

static void put_program(const tree *t, kiln_buf *out) {
    const kiln_nest *k = t->nest;
    row r = {.n = 0};
    int n_parallel = 0;
    for (size_t l = 0; l < k->loops.n; l++)
        n_parallel += k->loops.v[l].kind == KILN_LOOP_PARALLEL;
    put(&r, kiln_magnitude(t->work));
    put(&r, kiln_magnitude(kiln_role_bytes(k, KILN_ROLE_ALL)));
    put(&r, kiln_magnitude(kiln_role_bytes(k, KILN_ROLE_COPIED)));
    put(&r, kiln_magnitude(kiln_role_bytes(k, KILN_ROLE_REGISTERS)));
    put(&r, (float)k->loops.n);
    put(&r, (float)k->stmts.n);
    put(&r, (float)k->n_guards);
    put(&r, (float)n_parallel);
    finish(&r, -1, KILN_TREEGRU_PROGRAM, out);
}

static void put_uses(const tree *t, int l, row *r) {
    for (int role = 0; role < KILN_N_ROLES; role++) {
        const kiln_role_use u = t->use[role][l];
        put(r, u.touched > 0 ? kiln_magnitude(u.touched) : -1);
        put(r, u.touched > 0 ? kiln_magnitude(u.accesses / u.touched) : -1);
    }
}

/* How one iteration moves what the hot statement stores and reads. */
static void put_hot_steps(const kiln_nest *k, bool is_hot, int depth, row *r) {
    const kiln_nest_stmt *s = k->hot >= 0 ? &k->stmts.v[k->hot] : NULL;
    const int access[] = {s != NULL && s->has_store ? s->first : -1, k->vector,
                          k->broadcast};
    for (size_t i = 0; i < sizeof access / sizeof access[0]; i++)
        put(r,
            is_hot && access[i] >= 0
                ? kiln_step_magnitude(kiln_nest_step(&k->accesses.v[access[i]], depth))
                : -1);
}

static void put_loop(const tree *t, int l, kiln_buf *out) {
    const kiln_nest *k = t->nest;
    const kiln_nest_loop *loop = &k->loops.v[l];
    const bool is_hot = k->hot >= 0 && is_inside(k, k->stmts.v[k->hot].loop, l);
    row r = {.n = 0};
    steps moves = {0};
    int n_stmts = 0;
    for (size_t i = 0; i < k->stmts.n; i++)
        n_stmts += is_inside(k, k->stmts.v[i].loop, l);
    for (size_t i = 0; i < k->accesses.n; i++)
        if (is_inside(k, k->stmts.v[k->accesses.v[i].stmt].loop, l))
            count_step(&k->accesses.v[i], loop->depth, &moves);
    put(&r, kiln_magnitude((double)loop->extent));
    put_flag(&r, loop->kind == KILN_LOOP_SERIAL);
    put_flag(&r, loop->kind == KILN_LOOP_PARALLEL);
    put_flag(&r, loop->kind == KILN_LOOP_VECTORIZED);
    put_flag(&r, loop->kind == KILN_LOOP_UNROLLED);
    put_flag(&r, is_hot);
    put(&r, kiln_magnitude(loop->topdown));
    put(&r, kiln_magnitude(loop->work));
    put(&r, (float)loop->depth);
    put(&r, (float)n_stmts);
    put_uses(t, l, &r);
    put_hot_steps(k, is_hot, loop->depth, &r);
    put_steps(&r, &moves);
    int parent = loop->parent;
    KILN_ASSERT(parent < l, "loop %d is in loop %d", l, parent);
    finish(&r, 1 + parent, KILN_TREEGRU_LOOP, out);
}

static void put_store(const kiln_nest *k, const kiln_nest_stmt *s, row *r) {
    const kiln_nest_access *x = s->has_store ? &k->accesses.v[s->first] : NULL;
    const unsigned roles = x != NULL ? x->roles : 0;
    put_flag(r, s->has_store);
    put_flag(r, (roles >> KILN_ROLE_WRITTEN & 1) != 0);
    put_flag(r, (roles >> KILN_ROLE_COPIED & 1) != 0);
    put_flag(r, (roles >> KILN_ROLE_REGISTERS & 1) != 0);
    put(r, x != NULL ? kiln_magnitude(x->touched[0]) : -1);
    put(r, x != NULL && s->loop >= 0
               ? kiln_step_magnitude(kiln_nest_step(x, k->loops.v[s->loop].depth))
               : -1);
}

static void put_loads(const kiln_nest *k, const kiln_nest_stmt *s, row *r) {
    steps moves = {0};
    double bytes = 0, registers = 0, farthest = 0;
    for (int i = s->first + (s->has_store ? 1 : 0); i < s->first + s->n; i++) {
        const kiln_nest_access *x = &k->accesses.v[i];
        const double size = x->touched[0] * (double)kiln_dtype_bytes(x->buffer->dtype);
        *((x->roles >> KILN_ROLE_REGISTERS & 1) != 0 ? &registers : &bytes) += size;
        if (s->loop < 0)
            continue;
        const int depth = k->loops.v[s->loop].depth;
        count_step(x, depth, &moves);
        farthest = fmax(farthest, fabs((double)kiln_nest_step(x, depth)));
    }
    put(r, kiln_magnitude(bytes));
    put(r, kiln_magnitude(registers));
    put(r, kiln_magnitude(1 + farthest));
    put_steps(r, &moves);
}

static void put_stmt(const tree *t, int i, kiln_buf *out) {
    const kiln_nest *k = t->nest;
    const kiln_nest_stmt *s = &k->stmts.v[i];
    row r = {.n = 0};
    put(&r, kiln_magnitude(s->runs));
    put(&r, kiln_magnitude(s->runs * s->ops));
    put(&r, (float)(s->runs * s->ops / t->work));
    put(&r, kiln_magnitude(s->ops));
    put(&r, (float)s->share);
    put(&r, (float)s->n_selects);
    put(&r, (float)s->n);
    put_flag(&r, k->hot == i);
    put_store(k, s, &r);
    put_loads(k, s, &r);
    int parent = s->loop;
    while (parent >= MOST_LOOPS)
        parent = k->loops.v[parent].parent;
    finish(&r, 1 + parent, KILN_TREEGRU_STMT, out);
}

void kiln_treegru_encode(kiln_arena *scratch, const kiln_candidate *c, kiln_buf *out) {
    kiln_nest k;
    tree t = {.nest = &k};
    kiln_nest_of(scratch, c->program, &k);
    for (size_t i = 0; i < k.stmts.n; i++)
        t.work += k.stmts.v[i].runs * k.stmts.v[i].ops;
    for (int role = 0; role < KILN_N_ROLES; role++) {
        t.use[role] = kiln_array(scratch, kiln_role_use, k.loops.n);
        kiln_role_uses(scratch, &k, role, t.use[role]);
    }
    put_program(&t, out);
    for (int l = 0; l < (int)k.loops.n && l < MOST_LOOPS; l++)
        put_loop(&t, l, out);
    for (int i = 0; i < (int)k.stmts.n && i < MOST_STMTS; i++)
        put_stmt(&t, i, out);
}

/* ---- read ------------------------------------------------------------------------ */

static size_t count_of(kiln_str encoding) {
    const size_t n = encoding.n / sizeof(kiln_treegru_node);
    KILN_ASSERT(n > 0 && n <= KILN_TREEGRU_NODES &&
                    n * sizeof(kiln_treegru_node) == encoding.n,
                "%zu bytes are no tree", encoding.n);
    return n;
}

typedef struct sums {
    double n, of[KILN_TREEGRU_X], squares[KILN_TREEGRU_X];
} sums;

void kiln_treegru_scale_of(kiln_arena *scratch, const kiln_encodings *e,
                           kiln_treegru_scale *out) {
    static const double least_spread = 1e-3; /* below: rounding, or nothing */
    sums *of = kiln_array(scratch, sums, KILN_TREEGRU_KINDS);
    for (size_t i = 0; i < e->n; i++) {
        const kiln_str bytes = kiln_encodings_at(e, i);
        for (size_t k = 0, n = count_of(bytes); k < n; k++) {
            kiln_treegru_node node;
            memcpy(&node, bytes.p + k * sizeof node, sizeof node);
            sums *s = &of[node.kind];
            s->n++;
            for (int x = 0; x < KILN_TREEGRU_X; x++) {
                s->of[x] += (double)node.x[x];
                s->squares[x] += (double)node.x[x] * (double)node.x[x];
            }
        }
    }
    *out = (kiln_treegru_scale){0};
    for (int kind = 0; kind < KILN_TREEGRU_KINDS; kind++)
        for (int x = 0; x < KILN_TREEGRU_X && of[kind].n > 0; x++) {
            const double mean = of[kind].of[x] / of[kind].n;
            const double spread =
                sqrt(fmax(0, of[kind].squares[x] / of[kind].n - mean * mean));
            out->mean[kind][x] = (float)mean;
            out->factor[kind][x] = spread > least_spread ? (float)(1 / spread) : 0;
        }
}

size_t kiln_treegru_read(const kiln_treegru_scale *scale, kiln_str encoding,
                         kiln_treegru_node *out) {
    /* In standard deviations: beyond nothing was learned. For work of the corpus that it
     * has not seen a model's choice takes 1.06 of the rule's time, 2.0 with 4 here. */
    static const float most = 2;
    const size_t n = count_of(encoding);
    memcpy(out, encoding.p, encoding.n);
    for (size_t i = 0; i < n; i++) {
        const float *mean = scale->mean[out[i].kind],
                    *factor = scale->factor[out[i].kind];
        for (int x = 0; x < KILN_TREEGRU_X; x++)
            out[i].x[x] =
                fmaxf(-most, fminf(most, (out[i].x[x] - mean[x]) * factor[x]));
    }
    return n;
}
