/* Running a whole graph, node by node, in topological order.
 *
 * Between nodes a value is kept in its own dtype and released after its last use; it is
 * wide only while a node reads or writes it, so the peak is the live set plus one
 * node's operands in 64 bits, and what is kept for the next ones (KEEP_BYTES of each).
 * Everything the driver does is linear in the graph's size and the bytes that nodes
 * touch.
 */
#include "compiler/reference/reference_internal.h"

#include <math.h>
#include <string.h>

/* ---- storage of live values ----
 *
 * Small values come from free lists by size, since a graph may hold 100k scalars; large
 * ones have an arena each, so that their memory goes back to the system, but for some
 * that wait for the next: fresh pages cost more than the values of most nodes. */
enum { MIN_CLASS = 6, MAX_CLASS = 16 }; /* 64 bytes to 64 KiB, in powers of two */
static const size_t KEEP_BYTES = (size_t)128 << 20;

typedef struct cell {
    struct cell *next;
} cell;

/* At the beginning of a large value's memory, while nobody uses it. */
typedef struct large_cell {
    struct large_cell *next;
    size_t bytes;
    kiln_arena own; /* which it lies in */
} large_cell;

typedef struct slot {
    void *native;          /* bytes in the value's dtype; NULL: not there */
    size_t stride;         /* bytes from lane to lane; 0: all lanes are alike */
    const kiln_wide *wide; /* a region's input, as its caller holds it; NULL: none */
    int n_uses;            /* still to come */
    int size_class;        /* of owned small storage; 0: not owned */
    bool is_large;
    void *storage; /* owned */
    size_t large_bytes;
    kiln_arena large; /* which large storage lies in */
} slot;

typedef struct frame {
    const kiln_graph *g;
    slot *slots;      /* by value id */
    kiln_arena table; /* slots and small values */
    kiln_arena node;  /* reset after each node */
    kiln_arena *out;  /* where graph outputs are made */
    cell *free_cells[MAX_CLASS + 1];
    large_cell *free_large;
    size_t free_large_bytes;
    int depth;
    int n_lanes; /* run at once: the exact one, and those that err */
    int smooth; /* the lane in which nothing leaps: it tells what arithmetic alone does;
                   0: there is none */
    bool elsewhere;
    kiln_rng lane_noise[2 + KILN_REF_MAX_LANES];
    kiln_rng turn; /* of elements to be a step off, by node */
    uint64_t salt;
    kiln_rng *noise; /* of a region inside a lane: its only lane errs */
} frame;

static void *large_alloc(frame *f, slot *s, size_t bytes) {
    s->is_large = true;
    for (large_cell **at = &f->free_large; *at != NULL; at = &(*at)->next) {
        large_cell *c = *at;
        if (c->bytes < bytes || c->bytes / 2 > bytes)
            continue;
        *at = c->next;
        f->free_large_bytes -= c->bytes;
        s->large = c->own;
        s->large_bytes = c->bytes;
        return s->storage = c;
    }
    s->large_bytes = bytes;
    return s->storage = kiln_arena_alloc_raw(&s->large, bytes);
}

static void large_release(frame *f, slot *s) {
    s->is_large = false;
    if (f->free_large_bytes + s->large_bytes > KEEP_BYTES) {
        kiln_arena_fini(&s->large);
        return;
    }
    large_cell *c = s->storage;
    *c = (large_cell){f->free_large, s->large_bytes, s->large};
    f->free_large = c;
    f->free_large_bytes += c->bytes;
}

static void *value_alloc(frame *f, slot *s, size_t bytes) {
    int c = MIN_CLASS;
    while (c <= MAX_CLASS && ((size_t)1 << c) < bytes)
        c++;
    if (c > MAX_CLASS)
        return large_alloc(f, s, bytes);
    s->size_class = c;
    cell *reuse = f->free_cells[c];
    if (reuse != NULL)
        f->free_cells[c] = reuse->next;
    s->storage =
        reuse != NULL ? (void *)reuse : kiln_arena_alloc_raw(&f->table, (size_t)1 << c);
    return s->storage;
}

static void value_release(frame *f, slot *s) {
    if (s->is_large) {
        large_release(f, s);
    } else if (s->size_class != 0) {
        cell *c = s->storage;
        c->next = f->free_cells[s->size_class];
        f->free_cells[s->size_class] = c;
        s->size_class = 0;
    }
    s->native = NULL;
}

/* ---- one node ---- */

static slot *slot_of(frame *f, const kiln_value *v) {
    KILN_ASSERT(v->id >= 0 && (size_t)v->id < f->g->values.n &&
                    f->g->values.v[v->id] == v,
                "value '%s' is not of graph '%s'", v->name, f->g->name);
    return &f->slots[v->id];
}

static const void *native_of(frame *f, const kiln_value *v, int lane) {
    if (kiln_value_is_const(v))
        return v->data;
    const slot *s = slot_of(f, v);
    return s->native != NULL ? (char *)s->native + s->stride * (size_t)lane : NULL;
}

static kiln_status widen_value(frame *f, const kiln_value *v, int lane, kiln_wide *out,
                               kiln_err *err) {
    const slot *s = slot_of(f, v);
    if (s->wide != NULL) {
        *out = *s->wide;
        return KILN_OK;
    }
    KILN_TRY(kiln_ref_check_type(&v->type, "value", v->name, err));
    const void *data = native_of(f, v, lane);
    KILN_ASSERT(data != NULL, "value '%s' is used before it is made", v->name);
    *out = kiln_wide_new(&f->node, &v->type);
    kiln_widen(&v->type, data, out);
    return KILN_OK;
}

static void drop_use(frame *f, const kiln_value *v) {
    for (; v != NULL; v = v->count) { /* a bounded value is one use of its count */
        slot *s = slot_of(f, v);
        if (--s->n_uses > 0)
            return;
        value_release(f, s);
    }
}

/* Where output v lives from now on; an output of the graph is made where the caller
 * wants it. */
static void store_value(frame *f, const kiln_value *v, const kiln_wide *w,
                        bool is_output) {
    enum { ALIGN = 64 };
    slot *s = slot_of(f, v);
    if (s->n_uses == 0)
        return;
    const size_t one = (size_t)kiln_type_bytes(&v->type);
    s->stride = f->n_lanes > 1 ? (one + ALIGN - 1) / ALIGN * ALIGN : 0;
    const size_t bytes = one + s->stride * (size_t)(f->n_lanes - 1);
    void *data =
        is_output ? kiln_arena_alloc_raw(f->out, bytes) : value_alloc(f, s, bytes);
    kiln_narrow(w, data);
    s->native = data;
}

static void store_lane(frame *f, const kiln_value *v, const kiln_wide *w, int lane) {
    const slot *s = slot_of(f, v);
    if (s->n_uses > 0)
        kiln_narrow(w, (char *)s->native + s->stride * (size_t)lane);
}

/* Its inputs in one lane; `like` (may be NULL) has those that all lanes share. */
static kiln_status widen_inputs(frame *f, const kiln_node *n, int lane,
                                const kiln_wide *like, kiln_wide **out, kiln_err *err) {
    kiln_wide *in = kiln_array(&f->node, kiln_wide, n->n_in);
    for (int k = 0; k < n->n_in; k++) {
        if (n->in[k] == NULL)
            continue;
        in[k].type = n->in[k]->type;
        if (n->op->types_only)
            continue;
        if (like != NULL && slot_of(f, n->in[k])->stride == 0)
            in[k] = like[k];
        else
            KILN_TRY(widen_value(f, n->in[k], lane, &in[k], err));
    }
    *out = in;
    return KILN_OK;
}

static kiln_ref_eval eval_of(frame *f, const kiln_node *n, const kiln_wide *in) {
    return (kiln_ref_eval){.scratch = &f->node,
                           .in = in,
                           .out = kiln_array(&f->node, kiln_wide, n->n_out),
                           .depth = f->depth,
                           .noise = f->noise};
}

/* ---- lanes ---- */

/* Sums of absolute products, one for each output: NULL where the bound is of another
 * kind. */
static kiln_status magnitudes(frame *f, const kiln_node *n, const kiln_wide *in,
                              kiln_wide **out, kiln_err *err) {
    *out = NULL;
    if (n->op->error_bound(n).kind != KILN_BOUND_DOT)
        return KILN_OK;
    kiln_wide *absolute = kiln_array(&f->node, kiln_wide, n->n_in);
    for (int k = 0; k < n->n_in; k++) {
        absolute[k] = in[k];
        if (in[k].f == NULL)
            continue;
        const size_t bytes = (size_t)kiln_type_elems(&in[k].type) * sizeof(double);
        absolute[k].f = kiln_arena_dup(&f->node, in[k].f, bytes);
    }
    kiln_ref_make_absolute(n, absolute);
    kiln_ref_eval e = eval_of(f, n, absolute);
    e.is_magnitude = true;
    KILN_TRY(kiln_ref_eval_wide(n, &e, err));
    *out = e.out;
    return KILN_OK;
}

static bool leaps_at_all(const kiln_node *n, bool *always) {
    bool any = false;
    *always = true;
    for (int k = 0; k < n->n_out; k++) {
        const bool leaps = kiln_ref_leaps(n, k);
        any = any || leaps;
        *always = *always && leaps;
    }
    return any;
}

/* Inputs of all lanes, floats moved to both sides of where they may be. */
static kiln_status spread_inputs(frame *f, const kiln_node *n, const kiln_wide *in,
                                 kiln_wide *moved[], kiln_err *err) {
    kiln_wide *lane[KILN_REF_MAX_LANES];
    for (int j = 1; j < f->n_lanes; j++)
        KILN_TRY(widen_inputs(f, n, j, in, &moved[j], err));
    for (int k = 0; k < n->n_in; k++) {
        if (n->in[k] == NULL || in[k].f == NULL || moved[1][k].f == in[k].f)
            continue;
        for (int j = 1; j < f->smooth; j++)
            lane[j - 1] = &moved[j][k];
        kiln_ref_spread_lanes(&in[k], &moved[f->smooth][k], lane, f->smooth - 1,
                              f->salt);
    }
    return KILN_OK;
}

static kiln_status run_lane(frame *f, const kiln_node *n, int lane, const kiln_wide *in,
                            const kiln_wide *magnitude, bool leaping, kiln_err *err) {
    kiln_ref_eval e = eval_of(f, n, in);
    e.noise = &f->lane_noise[lane];
    KILN_TRY(kiln_ref_eval_wide(n, &e, err));
    for (int k = 0; k < n->n_out; k++) {
        if (kiln_ref_leaps(n, k) != leaping)
            continue;
        kiln_ref_add_noise(n, magnitude != NULL ? &magnitude[k] : NULL, f->elsewhere,
                           &e.out[k], e.noise);
        if (leaping && f->elsewhere) /* the state alone: the same for all lanes */
            kiln_ref_step_off(&e.out[k], lane - 1, f->turn.state + (uint64_t)k);
        store_lane(f, n->out[k], &e.out[k], lane);
    }
    return KILN_OK;
}

/* Where nothing leaps, what would leap is the exact lane's. */
static void copy_leaps(frame *f, const kiln_node *n) {
    for (int k = 0; k < n->n_out; k++) {
        const slot *s = slot_of(f, n->out[k]);
        if (kiln_ref_leaps(n, k) && s->n_uses > 0)
            memcpy((char *)s->native + s->stride * (size_t)f->smooth, s->native,
                   (size_t)kiln_type_bytes(&n->out[k]->type));
    }
}

/* All lanes but the exact one, `in` its inputs. */
static kiln_status run_lanes(frame *f, const kiln_node *n, const kiln_wide *in,
                             kiln_err *err) {
    kiln_wide *magnitude = NULL, *moved[2 + KILN_REF_MAX_LANES];
    bool always = false;
    const bool leaps = leaps_at_all(n, &always);
    KILN_TRY(magnitudes(f, n, in, &magnitude, err));
    if (leaps) {
        KILN_TRY(spread_inputs(f, n, in, moved, err));
        copy_leaps(f, n);
    }
    for (int j = 1; j < f->n_lanes; j++) {
        const kiln_arena_mark mark = kiln_arena_save(&f->node);
        kiln_wide *own = NULL;
        if (leaps && j != f->smooth)
            KILN_TRY(run_lane(f, n, j, moved[j], magnitude, true, err));
        if (!always) {
            KILN_TRY(widen_inputs(f, n, j, in, &own, err));
            KILN_TRY(run_lane(f, n, j, own, magnitude, false, err));
        }
        kiln_arena_rewind(&f->node, mark);
    }
    if (leaps)
        (void)kiln_rng_next(&f->turn);
    return KILN_OK;
}

static void drop_uses(frame *f, const kiln_node *n) {
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] != NULL)
            drop_use(f, n->in[k]);
}

static kiln_status run_node(frame *f, const kiln_node *n, const bool *is_output,
                            kiln_err *err) {
    kiln_wide *in = NULL;
    KILN_TRY(widen_inputs(f, n, 0, NULL, &in, err));
    kiln_ref_eval e = eval_of(f, n, in);
    KILN_TRY(kiln_ref_eval_wide(n, &e, err));
    if (f->n_lanes == 1) /* its inputs' memory may become its outputs' */
        drop_uses(f, n);
    for (int k = 0; k < n->n_out && f->noise != NULL; k++)
        kiln_ref_add_noise(n, NULL, f->elsewhere, &e.out[k], f->noise);
    for (int k = 0; k < n->n_out; k++)
        store_value(f, n->out[k], &e.out[k], is_output[n->out[k]->id]);
    if (f->n_lanes > 1) {
        KILN_TRY(run_lanes(f, n, in, err));
        drop_uses(f, n);
    }
    kiln_arena_reset(&f->node);
    return KILN_OK;
}

/* ---- a graph ---- */

static void frame_init(frame *f, const kiln_graph *g, kiln_arena *out, int depth) {
    *f = (frame){.g = g, .out = out, .depth = depth, .n_lanes = 1};
    kiln_arena_keep(&f->node, KEEP_BYTES);
    f->slots = kiln_array(&f->table, slot, g->values.n);
    const int *n_uses = kiln_graph_count_uses(g, &f->table);
    for (size_t i = 0; i < g->values.n; i++)
        f->slots[i].n_uses = n_uses[i];
}

static void frame_fini(frame *f) {
    for (size_t i = 0; i < f->g->values.n; i++)
        if (f->slots[i].is_large)
            kiln_arena_fini(&f->slots[i].large);
    while (f->free_large != NULL) {
        kiln_arena own = f->free_large->own; /* it lies in what this releases */
        f->free_large = f->free_large->next;
        kiln_arena_fini(&own);
    }
    kiln_arena_fini(&f->node);
    kiln_arena_fini(&f->table);
}

/* Whole networks take a while; single operators of a test, or of a region, do not. */
static kiln_status go_on(const frame *f, size_t i, kiln_err *err) {
    enum { LEAST_NODES = 8 };
    const kiln_graph *g = f->g;
    if (f->depth > 0 || g->nodes.n < LEAST_NODES)
        return KILN_OK;
    kiln_progress_step("asking the reference", "nodes", (double)i, (double)g->nodes.n,
                       g->nodes.v[i]->name);
    return kiln_interrupt_check(err);
}

/* Runs all nodes; afterwards the outputs' slots hold their values. */
static kiln_status frame_run(frame *f, kiln_err *err) {
    const kiln_graph *g = f->g;
    bool *is_output = kiln_array(&f->table, bool, g->values.n);
    for (size_t i = 0; i < g->outputs.n; i++)
        is_output[g->outputs.v[i]->id] = true;
    for (size_t i = 0; i < g->nodes.n; i++) {
        KILN_TRY(go_on(f, i, err));
        KILN_TRY(run_node(f, g->nodes.v[i], is_output, err));
    }
    return KILN_OK;
}

static kiln_status check_inputs(const kiln_graph *g, const kiln_tensor *in, size_t n_in,
                                kiln_err *err) {
    if (n_in != g->inputs.n)
        return kiln_fail(err, KILN_ERR_ARG,
                         "graph '%s' has %zu inputs, %zu tensors are given", g->name,
                         g->inputs.n, n_in);
    for (size_t i = 0; i < n_in; i++) {
        const kiln_value *v = g->inputs.v[i];
        KILN_TRY(kiln_ref_check_same(&v->type, &in[i].type, "input", v->name, err));
        KILN_TRY(kiln_ref_check_type(&v->type, "input", v->name, err));
        if (in[i].data == NULL)
            return kiln_fail(err, KILN_ERR_ARG, "input '%s' must have data, has none",
                             v->name);
    }
    return KILN_OK;
}

static kiln_tensor output_of(frame *f, const kiln_value *v, int lane) {
    void *data = (void *)(uintptr_t)native_of(f, v, lane);
    if (v->def == NULL) /* the caller's, or the graph's */
        data = kiln_arena_dup(f->out, data, (size_t)kiln_type_bytes(&v->type));
    return (kiln_tensor){.type = v->type, .data = data};
}

static void init_lanes(frame *f, const kiln_ref_lanes *o) {
    KILN_ASSERT(o->n >= 0 && o->n <= KILN_REF_MAX_LANES, "%d lanes", o->n);
    bool leaps = false, always = false;
    for (size_t i = 0; i < f->g->nodes.n; i++)
        leaps = leaps || leaps_at_all(f->g->nodes.v[i], &always);
    f->n_lanes = 1 + o->n;
    f->elsewhere = o->elsewhere;
    if (leaps && o->n > 0)
        f->smooth = f->n_lanes++;
    kiln_rng_init(&f->turn, o->seed);
    f->salt = kiln_rng_next(&f->turn);
    for (int j = 1; j < f->n_lanes; j++)
        kiln_rng_init(&f->lane_noise[j], kiln_rng_next(&f->turn));
}

kiln_status kiln_ref_run_lanes(kiln_arena *a, const kiln_graph *g,
                               const kiln_tensor *in, size_t n_in,
                               const kiln_ref_lanes *o, kiln_tensor *out,
                               kiln_tensor *lane, kiln_err *err) {
    KILN_TRY(check_inputs(g, in, n_in, err));
    frame f;
    frame_init(&f, g, a, 0);
    init_lanes(&f, o);
    for (size_t i = 0; i < n_in; i++)
        slot_of(&f, g->inputs.v[i])->native = in[i].data;
    /* Inputs stay the caller's and there until the end: an extra use keeps them. */
    for (size_t i = 0; i < n_in; i++)
        slot_of(&f, g->inputs.v[i])->n_uses++;
    const kiln_status st = frame_run(&f, err);
    for (size_t i = 0; st == KILN_OK && i < g->outputs.n; i++) {
        out[i] = output_of(&f, g->outputs.v[i], 0);
        for (int j = 0; j < o->n; j++)
            lane[(size_t)j * g->outputs.n + i] = output_of(&f, g->outputs.v[i], 1 + j);
    }
    frame_fini(&f);
    return st;
}

kiln_status kiln_ref_run(kiln_arena *a, const kiln_graph *g, const kiln_tensor *in,
                         size_t n_in, kiln_tensor *out, kiln_err *err) {
    const kiln_ref_lanes none = {.n = 0};
    return kiln_ref_run_lanes(a, g, in, n_in, &none, out, NULL, err);
}

kiln_status kiln_ref_run_region(kiln_arena *a, const kiln_graph *region,
                                const kiln_wide *in, kiln_wide *out, int depth,
                                kiln_rng *noise, kiln_err *err) {
    KILN_ASSERT(depth >= 0, "region '%s' is %d deep", region->name, depth);
    for (size_t i = 0; i < region->inputs.n; i++) {
        const kiln_value *v = region->inputs.v[i];
        KILN_TRY(
            kiln_ref_check_same(&v->type, &in[i].type, "region input", v->name, err));
    }
    frame f;
    frame_init(&f, region, a, depth);
    f.noise = noise;
    for (size_t i = 0; i < region->inputs.n; i++)
        slot_of(&f, region->inputs.v[i])->wide = &in[i];
    const kiln_status st = frame_run(&f, err);
    if (st != KILN_OK)
        kiln_note(err, "running region '%s'", region->name);
    for (size_t i = 0; st == KILN_OK && i < region->outputs.n; i++) {
        const kiln_value *v = region->outputs.v[i];
        const slot *s = slot_of(&f, v);
        out[i] = kiln_wide_new(a, &v->type);
        if (s->wide == NULL) {
            kiln_widen(&v->type, native_of(&f, v, 0), &out[i]);
            continue;
        }
        const size_t n = (size_t)kiln_type_elems(&v->type);
        if (out[i].f != NULL)
            memcpy(out[i].f, s->wide->f, n * sizeof(double));
        else
            memcpy(out[i].i, s->wide->i, n * sizeof(int64_t));
    }
    frame_fini(&f);
    return st;
}
