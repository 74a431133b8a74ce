/* Running a whole graph, node by node, in topological order.
 *
 * Between nodes a value is kept in its own dtype and released after its last use; it is
 * wide only while a node reads or writes it, so the peak is the live set plus one
 * node's operands in 64 bits. Everything the driver does is linear in the graph's size
 * and the bytes that nodes touch.
 */
#include "compiler/reference/reference_internal.h"

#include <math.h>
#include <string.h>

/* ---- storage of live values ----
 *
 * Small values come from free lists by size, since a graph may hold 100k scalars; large
 * ones have an arena each, so that their memory goes back to the system. */
enum { MIN_CLASS = 6, MAX_CLASS = 16 }; /* 64 bytes to 64 KiB, in powers of two */

typedef struct cell {
    struct cell *next;
} cell;

typedef struct slot {
    void *native;          /* bytes in the value's dtype; NULL: not there */
    const kiln_wide *wide; /* a region's input, as its caller holds it; NULL: none */
    int n_uses;            /* still to come */
    int size_class;        /* of owned small storage; 0: not owned */
    bool is_large;
    void *storage; /* owned small storage */
    kiln_arena large;
} slot;

typedef struct frame {
    const kiln_graph *g;
    slot *slots;      /* by value id */
    kiln_arena table; /* slots and small values */
    kiln_arena node;  /* reset after each node */
    kiln_arena *out;  /* where graph outputs are made */
    cell *free_cells[MAX_CLASS + 1];
    int depth;
    bool is_noisy;
    kiln_rng noise;
} frame;

static void *value_alloc(frame *f, slot *s, size_t bytes) {
    int c = MIN_CLASS;
    while (c <= MAX_CLASS && ((size_t)1 << c) < bytes)
        c++;
    if (c > MAX_CLASS) {
        s->is_large = true;
        return kiln_arena_alloc_raw(&s->large, bytes);
    }
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
        kiln_arena_fini(&s->large);
        s->is_large = false;
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

static const void *native_of(frame *f, const kiln_value *v) {
    return kiln_value_is_const(v) ? v->data : slot_of(f, v)->native;
}

static kiln_status widen_value(frame *f, const kiln_value *v, kiln_wide *out,
                               kiln_err *err) {
    const slot *s = slot_of(f, v);
    if (s->wide != NULL) {
        *out = *s->wide;
        return KILN_OK;
    }
    KILN_TRY(kiln_ref_check_type(&v->type, "value", v->name, err));
    const void *data = native_of(f, v);
    KILN_ASSERT(data != NULL, "value '%s' is used before it is made", v->name);
    *out = kiln_wide_new(&f->node, &v->type);
    kiln_widen(&v->type, data, out);
    return KILN_OK;
}

static void drop_use(frame *f, const kiln_value *v) {
    for (; v != NULL; v = v->count) { /* a use of a bounded value is one of its count */
        slot *s = slot_of(f, v);
        if (--s->n_uses == 0)
            value_release(f, s);
    }
}

/* Where output v lives from now on; an output of the graph is made where the caller
 * wants it. */
static void store_value(frame *f, const kiln_value *v, const kiln_wide *w,
                        bool is_output) {
    slot *s = slot_of(f, v);
    if (s->n_uses == 0)
        return;
    const size_t bytes = (size_t)kiln_type_bytes(&v->type);
    void *data =
        is_output ? kiln_arena_alloc_raw(f->out, bytes) : value_alloc(f, s, bytes);
    kiln_narrow(w, data);
    s->native = data;
}

/* As f32 arithmetic might err: a sum by some units of its typical terms, anything else
 * by a unit of its own. Operators that only move or compare are exact in any
 * arithmetic. */
static void add_noise(frame *f, const kiln_node *n, kiln_wide *w) {
    static const double of_value = 0x1p-22, of_rms = 0x1p-22;
    const kiln_bound_kind kind = n->op->error_bound(n).kind;
    if (w->f == NULL || kind == KILN_BOUND_EXACT)
        return;
    const int64_t count = kiln_type_elems(&w->type);
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += isfinite(w->f[i]) ? w->f[i] * w->f[i] : 0;
    const double rms =
        kind == KILN_BOUND_DOT && count > 0 ? sqrt(sum / (double)count) : 0;
    for (int64_t i = 0; i < count; i++)
        w->f[i] += (2 * kiln_rng_unit(&f->noise) - 1) *
                   (of_value * fabs(w->f[i]) + of_rms * rms);
}

static kiln_status run_node(frame *f, const kiln_node *n, const bool *is_output,
                            kiln_err *err) {
    kiln_wide *in = kiln_array(&f->node, kiln_wide, n->n_in);
    for (int k = 0; k < n->n_in; k++) {
        if (n->in[k] == NULL)
            continue;
        in[k].type = n->in[k]->type;
        if (!n->op->types_only)
            KILN_TRY(widen_value(f, n->in[k], &in[k], err));
    }
    kiln_ref_eval e = {.scratch = &f->node,
                       .in = in,
                       .out = kiln_array(&f->node, kiln_wide, n->n_out),
                       .depth = f->depth};
    KILN_TRY(kiln_ref_eval_wide(n, &e, err));
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] != NULL)
            drop_use(f, n->in[k]);
    for (int k = 0; k < n->n_out && f->is_noisy; k++)
        add_noise(f, n, &e.out[k]);
    for (int k = 0; k < n->n_out; k++)
        store_value(f, n->out[k], &e.out[k], is_output[n->out[k]->id]);
    kiln_arena_reset(&f->node);
    return KILN_OK;
}

/* ---- a graph ---- */

static void frame_init(frame *f, const kiln_graph *g, kiln_arena *out, int depth) {
    *f = (frame){.g = g, .out = out, .depth = depth};
    f->slots = kiln_array(&f->table, slot, g->values.n);
    const int *n_uses = kiln_graph_count_uses(g, &f->table);
    for (size_t i = 0; i < g->values.n; i++)
        f->slots[i].n_uses = n_uses[i];
}

static void frame_fini(frame *f) {
    for (size_t i = 0; i < f->g->values.n; i++)
        if (f->slots[i].is_large)
            kiln_arena_fini(&f->slots[i].large);
    kiln_arena_fini(&f->node);
    kiln_arena_fini(&f->table);
}

/* Runs all nodes; afterwards the outputs' slots hold their values. */
static kiln_status frame_run(frame *f, kiln_err *err) {
    const kiln_graph *g = f->g;
    bool *is_output = kiln_array(&f->table, bool, g->values.n);
    for (size_t i = 0; i < g->outputs.n; i++)
        is_output[g->outputs.v[i]->id] = true;
    for (size_t i = 0; i < g->nodes.n; i++)
        KILN_TRY(run_node(f, g->nodes.v[i], is_output, err));
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

static kiln_status run(kiln_arena *a, const kiln_graph *g, const kiln_tensor *in,
                       size_t n_in, const uint64_t *noise_seed, kiln_tensor *out,
                       kiln_err *err) {
    KILN_TRY(check_inputs(g, in, n_in, err));
    frame f;
    frame_init(&f, g, a, 0);
    f.is_noisy = noise_seed != NULL;
    if (f.is_noisy)
        kiln_rng_init(&f.noise, *noise_seed);
    for (size_t i = 0; i < n_in; i++)
        slot_of(&f, g->inputs.v[i])->native = in[i].data;
    /* Inputs stay the caller's and there until the end: an extra use keeps them. */
    for (size_t i = 0; i < n_in; i++)
        slot_of(&f, g->inputs.v[i])->n_uses++;
    const kiln_status st = frame_run(&f, err);
    for (size_t i = 0; st == KILN_OK && i < g->outputs.n; i++) {
        const kiln_value *v = g->outputs.v[i];
        if (v->def != NULL) {
            out[i] = (kiln_tensor){.type = v->type, .data = slot_of(&f, v)->native};
            continue;
        }
        const size_t bytes = (size_t)kiln_type_bytes(&v->type);
        out[i] = (kiln_tensor){.type = v->type,
                               .data = kiln_arena_dup(a, native_of(&f, v), bytes)};
    }
    frame_fini(&f);
    return st;
}

kiln_status kiln_ref_run(kiln_arena *a, const kiln_graph *g, const kiln_tensor *in,
                         size_t n_in, kiln_tensor *out, kiln_err *err) {
    return run(a, g, in, n_in, NULL, out, err);
}

kiln_status kiln_ref_run_noisy(kiln_arena *a, const kiln_graph *g,
                               const kiln_tensor *in, size_t n_in, uint64_t seed,
                               kiln_tensor *out, kiln_err *err) {
    return run(a, g, in, n_in, &seed, out, err);
}

kiln_status kiln_ref_run_region(kiln_arena *a, const kiln_graph *region,
                                const kiln_wide *in, kiln_wide *out, int depth,
                                kiln_err *err) {
    for (size_t i = 0; i < region->inputs.n; i++) {
        const kiln_value *v = region->inputs.v[i];
        KILN_TRY(
            kiln_ref_check_same(&v->type, &in[i].type, "region input", v->name, err));
    }
    frame f;
    frame_init(&f, region, a, depth);
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
            kiln_widen(&v->type, native_of(&f, v), &out[i]);
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
