/* A lowered program as numbers: AutoTVM's context features of each loop and their
 * relation form (Chen et al., NIPS'18, section 4 and supplement A). docs/features.md
 * has the layout; another layout is another KILN_FEATURE_VERSION.
 *
 * Magnitudes are log2; -1 says that there is none. */
#include "compiler/tuner/features.h"

#include <math.h>

#include "compiler/tuner/roles.h"

enum { N_THRESHOLDS = 14, CONTEXT_LOOPS = 12 };

/* Relations of one role: the largest `of` among loops whose `by` is below a threshold.
 */
typedef enum relation {
    WORK_IN_TOUCHED,  /* operations that one run of a loop does within a working set */
    REUSE_IN_TOUCHED, /* accesses for each different element */
    TOUCHED_IN_WORK,  /* working set of loops with so many operations */
    N_RELATIONS
} relation;

static const char *const relation_name[] = {"work_in_touched", "reuse_in_touched",
                                            "touched_in_work"};
static const char *const role_name[] = {"all",     "vector", "broadcast",
                                        "written", "copied", "registers"};
_Static_assert(sizeof role_name / sizeof *role_name == KILN_N_ROLES, "a name each");
_Static_assert(sizeof relation_name / sizeof *relation_name == N_RELATIONS,
               "a name each");

#define SCALARS                                                                        \
    X(work)            /* operations of the hot statement that guards let through */   \
    X(useful_share)    /* of its operations, as a fraction */                          \
    X(other_work)      /* operations of all other statements */                        \
    X(lanes)           /* extent of the vectorised loop around it */                   \
    X(body)            /* copies that the unrolled loops around it make */             \
    X(accumulators)    /* vectors that one body stores, as a count */                  \
    X(vector_loads)    /* vectors that it reads, as a count */                         \
    X(broadcast_loads) /* different elements of the other operand, as a count */       \
    X(work_per_load)   /* copies for each of these loads */                            \
    X(steps)           /* extent of the loop around the body */                        \
    X(registers)       /* bytes of all register tiles */                               \
    X(parallel)        /* iterations of the parallel loop around it */                 \
    X(parallel_work)   /* operations of each of these */                               \
    X(n_parallel)      /* parallel loops, as a count */                                \
    X(guards)          /* branches, as a count */                                      \
    X(selects)         /* guards in the hot value, as a count */                       \
    X(copied)          /* bytes of memory allocated inside that are written */         \
    X(memory)          /* bytes that the whole program touches */                      \
    X(n_stmts)         /* statements, as a count */                                    \
    X(n_loops)         /* loops, as a count */                                         \
    X(vector_step)     /* elements between lanes of the vector operand */              \
    X(broadcast_step)  /* between neighbours in the body of the other operand */       \
    X(written_step)    /* between lanes of the stores to outputs */                    \
    X(copied_step)     /* between lanes of the stores to memory inside */

typedef enum scalar {
#define X(name) SCALAR_##name,
    SCALARS
#undef X
        N_SCALARS
} scalar;

static const char *const scalar_name[] = {
#define X(name) #name,
    SCALARS
#undef X
};

/* Of each of the hot statement's innermost loops. */
enum { CONTEXT_HEAD = 7, CONTEXT_PER_ROLE = 3, CONTEXT_ROLES = 3 };
enum { CONTEXT_ROW = CONTEXT_HEAD + CONTEXT_ROLES * CONTEXT_PER_ROLE };
static const char *const context_head[CONTEXT_HEAD] = {
    "length", "parallel", "vectorized", "unrolled", "topdown", "work", "depth"};
static const char *const context_role[CONTEXT_ROLES] = {"stored", "vector",
                                                        "broadcast"};
static const char *const context_of[CONTEXT_PER_ROLE] = {"touched", "reuse", "step"};

enum {
    N_CURVES = KILN_N_ROLES * N_RELATIONS * N_THRESHOLDS,
    N_RELATION = N_SCALARS + N_CURVES,
    N_ALL = N_RELATION + CONTEXT_LOOPS * CONTEXT_ROW
};

size_t kiln_n_relation_features(void) { return N_RELATION; }
size_t kiln_n_features(void) { return N_ALL; }

void kiln_feature_name(kiln_buf *out, size_t i) {
    KILN_ASSERT(i < N_ALL, "feature %zu of %d", i, (int)N_ALL);
    if (i < N_SCALARS) {
        kiln_buf_puts(out, scalar_name[i]);
    } else if (i < N_RELATION) {
        const size_t curve = (i - N_SCALARS) / N_THRESHOLDS;
        kiln_buf_printf(out, "%s.%s[%zu]", role_name[curve / N_RELATIONS],
                        relation_name[curve % N_RELATIONS],
                        (i - N_SCALARS) % N_THRESHOLDS);
    } else {
        const size_t at = (i - N_RELATION) % CONTEXT_ROW;
        kiln_buf_printf(out, "loop[%zu].", (i - N_RELATION) / CONTEXT_ROW);
        if (at < CONTEXT_HEAD)
            kiln_buf_puts(out, context_head[at]);
        else
            kiln_buf_printf(out, "%s.%s",
                            context_role[(at - CONTEXT_HEAD) / CONTEXT_PER_ROLE],
                            context_of[(at - CONTEXT_HEAD) % CONTEXT_PER_ROLE]);
    }
}

static const kiln_nest_stmt *hot_of(const kiln_nest *k) { return &k->stmts.v[k->hot]; }

/* ---- relations ------------------------------------------------------------------- */

/* The first threshold that is above: 4, 16, 64, ... */
static int threshold_above(float log2_value) {
    const int t = (int)floorf(log2_value / 2);
    return t < N_THRESHOLDS ? t : N_THRESHOLDS;
}

static void take(float *curve, float by, float of) {
    for (int t = threshold_above(by); t < N_THRESHOLDS; t++) {
        if (curve[t] >= of)
            return; /* and so are those behind it */
        curve[t] = of;
    }
}

static void relate(const kiln_nest *k, const kiln_role_use *p, float *out) {
    for (int i = 0; i < N_RELATIONS * N_THRESHOLDS; i++)
        out[i] = -1;
    for (size_t l = 0; l < k->loops.n; l++) {
        if (p[l].touched <= 0)
            continue;
        const float touched = kiln_magnitude(p[l].touched);
        const float work = kiln_magnitude(k->loops.v[l].work);
        take(out + WORK_IN_TOUCHED * (size_t)N_THRESHOLDS, touched, work);
        take(out + REUSE_IN_TOUCHED * (size_t)N_THRESHOLDS, touched,
             kiln_magnitude(p[l].accesses / p[l].touched));
        take(out + TOUCHED_IN_WORK * (size_t)N_THRESHOLDS, work, touched);
    }
}

/* ---- scalars --------------------------------------------------------------------- */

/* The innermost loops around a statement that become copies or lanes: from this one on.
 * -1: none. */
static int body_loop(const kiln_nest *k, const kiln_nest_stmt *s) {
    int body = -1;
    for (int l = s->loop; l >= 0; l = k->loops.v[l].parent) {
        const kiln_loop_kind kind = k->loops.v[l].kind;
        if (kind != KILN_LOOP_UNROLLED && kind != KILN_LOOP_VECTORIZED)
            break;
        body = l;
    }
    return body;
}

static double in_body(const kiln_nest *k, int access, int body) {
    if (access < 0)
        return 0;
    const kiln_nest_access *x = &k->accesses.v[access];
    return body < 0 ? 1 : x->touched[k->loops.v[body].depth];
}

/* Steps of stores with a role, along the innermost loop around each. */
static float store_step(const kiln_nest *k, int role) {
    float most = -1;
    for (size_t i = 0; i < k->accesses.n; i++) {
        const kiln_nest_access *x = &k->accesses.v[i];
        const int l = k->stmts.v[x->stmt].loop;
        if ((x->roles >> role & 1) != 0 && l >= 0)
            most = fmaxf(most,
                         kiln_step_magnitude(kiln_nest_step(x, k->loops.v[l].depth)));
    }
    return most;
}

/* Of the other operand, along the innermost loop of the body that moves it. */
static float broadcast_step(const kiln_nest *k) {
    if (k->broadcast < 0)
        return -1;
    const kiln_nest_access *x = &k->accesses.v[k->broadcast];
    for (int l = hot_of(k)->loop; l >= 0; l = k->loops.v[l].parent) {
        const int64_t step = kiln_nest_step(x, k->loops.v[l].depth);
        if (step != 0)
            return kiln_step_magnitude(step);
    }
    return 0;
}

static void body_scalars(const kiln_nest *k, float *out) {
    const kiln_nest_stmt *s = hot_of(k);
    const int body = body_loop(k, s);
    const int around = body < 0 ? s->loop : k->loops.v[body].parent;
    const bool is_vector =
        k->vector_loop >= 0 && k->loops.v[k->vector_loop].kind == KILN_LOOP_VECTORIZED;
    const double lanes = is_vector ? (double)k->loops.v[k->vector_loop].extent : 1;
    const double copies = body < 0 ? 1 : s->runs / k->loops.v[body].topdown / lanes;
    const double stored = s->has_store ? in_body(k, s->first, body) / lanes : 0;
    const double vectors = in_body(k, k->vector, body) / lanes;
    const double broadcasts = in_body(k, k->broadcast, body);
    const double loads = vectors + broadcasts;
    out[SCALAR_lanes] = kiln_magnitude(lanes);
    out[SCALAR_body] = kiln_magnitude(copies);
    out[SCALAR_accumulators] = (float)stored;
    out[SCALAR_vector_loads] = (float)vectors;
    out[SCALAR_broadcast_loads] = (float)broadcasts;
    out[SCALAR_work_per_load] = loads > 0 ? (float)(copies / loads) : -1;
    out[SCALAR_steps] =
        around < 0 ? -1 : kiln_magnitude((double)k->loops.v[around].extent);
    out[SCALAR_vector_step] =
        k->vector < 0
            ? -1
            : kiln_step_magnitude(kiln_nest_step(&k->accesses.v[k->vector],
                                                 k->loops.v[k->vector_loop].depth));
    out[SCALAR_broadcast_step] = broadcast_step(k);
}

static void loop_scalars(const kiln_nest *k, float *out) {
    const kiln_nest_stmt *s = hot_of(k);
    double others = 0;
    for (size_t i = 0; i < k->stmts.n; i++)
        others += (int)i == k->hot ? 0 : k->stmts.v[i].runs * k->stmts.v[i].ops;
    out[SCALAR_work] = kiln_magnitude(s->runs * s->ops * s->share);
    out[SCALAR_useful_share] = (float)s->share;
    out[SCALAR_other_work] = kiln_magnitude(others);
    out[SCALAR_selects] = (float)s->n_selects;
    out[SCALAR_parallel] = out[SCALAR_parallel_work] = -1;
    for (int l = s->loop; l >= 0; l = k->loops.v[l].parent)
        if (k->loops.v[l].kind == KILN_LOOP_PARALLEL) {
            const double n = (double)k->loops.v[l].extent;
            out[SCALAR_parallel] = kiln_magnitude(n);
            out[SCALAR_parallel_work] = kiln_magnitude(k->loops.v[l].work / n);
        }
}

static void scalars(const kiln_nest *k, float *out) {
    float n_parallel = 0;
    for (size_t l = 0; l < k->loops.n; l++)
        n_parallel += k->loops.v[l].kind == KILN_LOOP_PARALLEL ? 1 : 0;
    out[SCALAR_n_parallel] = n_parallel;
    out[SCALAR_guards] = (float)k->n_guards;
    out[SCALAR_registers] = kiln_magnitude(kiln_role_bytes(k, KILN_ROLE_REGISTERS));
    out[SCALAR_copied] = kiln_magnitude(kiln_role_bytes(k, KILN_ROLE_COPIED));
    out[SCALAR_memory] = kiln_magnitude(kiln_role_bytes(k, KILN_ROLE_ALL));
    out[SCALAR_n_stmts] = (float)k->stmts.n;
    out[SCALAR_n_loops] = (float)k->loops.n;
    out[SCALAR_written_step] = store_step(k, KILN_ROLE_WRITTEN);
    out[SCALAR_copied_step] = store_step(k, KILN_ROLE_COPIED);
    if (k->hot >= 0) {
        loop_scalars(k, out);
        body_scalars(k, out);
    }
}

/* ---- launches -------------------------------------------------------------------- */

static float fraction(double of, double all) {
    return all > 0 ? (float)(of / all) : -1;
}

/* Where threads are a grid, what says how a CPU's are used and how its vectors move says
 * so of the grid: no program has both. */
static void launch_scalars(const kiln_nest *k, int warp, float *out) {
    kiln_nest_warps w;
    kiln_nest_warps_of(k, warp, &w);
    if (w.threads <= 0)
        return;
    out[SCALAR_parallel] = kiln_magnitude(w.blocks);
    out[SCALAR_parallel_work] =
        k->hot < 0 ? -1 : kiln_magnitude(hot_of(k)->runs * hot_of(k)->ops / w.blocks);
    out[SCALAR_n_parallel] = kiln_magnitude(w.threads);
    out[SCALAR_copied] = kiln_magnitude(w.shared_bytes);
    out[SCALAR_written_step] = kiln_magnitude(w.sectors);
    out[SCALAR_vector_step] = fraction(w.least_sectors, w.sectors);
    out[SCALAR_copied_step] = kiln_magnitude(w.turns);
    out[SCALAR_broadcast_step] = fraction(w.least_turns, w.turns);
}

/* ---- context --------------------------------------------------------------------- */

static void context_row(const kiln_nest *k, int l, float *row) {
    const kiln_nest_loop *loop = &k->loops.v[l];
    const kiln_nest_stmt *s = hot_of(k);
    const float head[CONTEXT_HEAD] = {kiln_magnitude((double)loop->extent),
                                      loop->kind == KILN_LOOP_PARALLEL ? 1 : 0,
                                      loop->kind == KILN_LOOP_VECTORIZED ? 1 : 0,
                                      loop->kind == KILN_LOOP_UNROLLED ? 1 : 0,
                                      kiln_magnitude(loop->topdown),
                                      kiln_magnitude(loop->work),
                                      (float)loop->depth};
    for (int i = 0; i < CONTEXT_HEAD; i++)
        row[i] = head[i];
    const int access[CONTEXT_ROLES] = {s->has_store ? s->first : -1, k->vector,
                                       k->broadcast};
    for (int i = 0; i < CONTEXT_ROLES; i++) {
        float *to = row + CONTEXT_HEAD + (size_t)i * CONTEXT_PER_ROLE;
        if (access[i] < 0) {
            to[0] = to[1] = to[2] = -1;
            continue;
        }
        const kiln_nest_access *x = &k->accesses.v[access[i]];
        const double touched = x->touched[loop->depth];
        to[0] = kiln_magnitude(touched);
        to[1] = kiln_magnitude(s->runs / loop->topdown / touched);
        to[2] = kiln_step_magnitude(kiln_nest_step(x, loop->depth));
    }
}

static void context(const kiln_nest *k, float *out) {
    for (int i = 0; i < CONTEXT_LOOPS * CONTEXT_ROW; i++)
        out[i] = -1;
    int l = k->hot < 0 ? -1 : hot_of(k)->loop;
    for (int i = 0; i < CONTEXT_LOOPS && l >= 0; i++, l = k->loops.v[l].parent)
        context_row(k, l, out + (size_t)i * CONTEXT_ROW);
}

void kiln_program_features(kiln_arena *scratch, const kiln_program *p, int warp,
                           float *out) {
    kiln_nest k;
    kiln_nest_of(scratch, p, &k);
    for (int i = 0; i < N_SCALARS; i++)
        out[i] = -1;
    scalars(&k, out);
    launch_scalars(&k, warp, out);
    kiln_role_use *uses = kiln_array(scratch, kiln_role_use, k.loops.n);
    for (int role = 0; role < KILN_N_ROLES; role++) {
        kiln_role_uses(scratch, &k, role, uses);
        relate(&k, uses, out + N_SCALARS + (size_t)role * N_RELATIONS * N_THRESHOLDS);
    }
    context(&k, out + N_RELATION);
}

void kiln_features_encode(kiln_arena *scratch, const kiln_candidate *c, kiln_buf *out) {
    float row[N_ALL];
    kiln_program_features(scratch, c->program, c->task->profile->gpu.warp, row);
    kiln_buf_add(out, row, sizeof row);
}
