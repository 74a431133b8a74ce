/* Vector registers of bodies: see registers.h. */
#include "compiler/schedule/registers.h"

enum {
    /* Values of a body that are looked at, at most half as many as there are places. */
    PLACES = 1 << 13,
    /* Larger ones are memory whatever their scope says (codegen/llvm_cpu/llvm_cpu_memory.c). */
    MOST_REGISTER_BYTES = 4096
};

/* What a body has of one place in memory, or of a register tile. */
typedef struct value {
    uint64_t key;
    int first, last, n_uses;
    int vectors;
    bool is_operand; /* where it is used once */
    bool is_stored;  /* last: whoever comes behind the body wants it */
} value;

typedef struct body {
    const kiln_profile *p;
    value *place; /* open addressing */
    int n_values, time, guards;
    bool has_sums;
} body;

typedef struct walk {
    kiln_arena *scratch;
    const kiln_profile *p;
    value *place;
    kiln_registers most;
} walk;

/* ---- values ---------------------------------------------------------------------- */

static bool is_constant(const kiln_expr *index) {
    if (index->kind == KILN_EXPR_RAMP)
        return is_constant(index->arg[0]) && is_constant(index->arg[1]);
    return index->kind == KILN_EXPR_INT ||
           (index->kind == KILN_EXPR_BROADCAST && is_constant(index->arg[0]));
}

/* As the code generator keeps it: small, of its own, and never at an index that is only
 * known when it runs. */
static bool is_register(const kiln_buffer *b, const kiln_expr *index) {
    return b->arg < 0 &&
           (b->scope == KILN_SCOPE_REGISTER || b->scope == KILN_SCOPE_LOCAL) &&
           kiln_buffer_dim(b, 0) * (int64_t)kiln_dtype_bytes(b->dtype) <=
               MOST_REGISTER_BYTES &&
           is_constant(index);
}

static int vectors_of(const body *b, kiln_dtype t, int lanes) {
    enum { LEAST = 4 }; /* halves are computed in single */
    const int bytes = (int)kiln_dtype_bytes(t);
    const int all = lanes * (bytes > LEAST ? bytes : LEAST);
    return (all + b->p->vector_bytes - 1) / b->p->vector_bytes;
}

static value *value_of(body *b, uint64_t key) {
    size_t at = (size_t)(key >> 32) & (PLACES - 1);
    while (b->place[at].n_uses > 0 && b->place[at].key != key)
        at = (at + 1) & (PLACES - 1);
    return &b->place[at];
}

/* Its first use makes it; NULL: the body has more than are looked at. */
static value *use(body *b, const kiln_buffer *buffer, const kiln_expr *index,
                  int lanes) {
    const uint64_t mix = UINT64_C(0x9E3779B97F4A7C15);
    const uint64_t key = (kiln_expr_hash(index) ^ (uint64_t)(uintptr_t)buffer) * mix;
    value *v = value_of(b, key);
    if (v->n_uses == 0) {
        if (2 * b->n_values >= PLACES)
            return NULL;
        b->n_values++;
        *v = (value){.key = key,
                     .first = b->time,
                     .vectors = vectors_of(b, buffer->dtype, lanes)};
    }
    v->last = b->time;
    v->n_uses++;
    return v;
}

static void load(body *b, const kiln_expr *e, bool fills) {
    const kiln_buffer *buffer = e->u.load.buffer;
    const bool is_tile = is_register(buffer, e->arg[0]);
    value *v = use(b, buffer, e->arg[0], e->lanes);
    if (v == NULL)
        return;
    if (is_tile && v->n_uses == 1)
        v->first = 0; /* it was there before the body */
    v->is_operand = !is_tile && !fills;
    v->is_stored = false;
}

static void read_all(body *b, const kiln_expr *e) {
    if (e->kind == KILN_EXPR_LOAD) {
        load(b, e, false);
        return;
    }
    for (int i = 0; i < e->n_arg; i++)
        if (e->kind == KILN_EXPR_BROADCAST && e->arg[i]->kind == KILN_EXPR_LOAD)
            load(b, e->arg[i], true);
        else
            read_all(b, e->arg[i]);
}

/* ---- bodies ---------------------------------------------------------------------- */

/* A sum in registers: what is stored is read, and has a product beside it. */
static bool adds(const kiln_expr *e, const kiln_buffer *to) {
    if (e->kind == KILN_EXPR_LOAD)
        return e->u.load.buffer == to;
    for (int i = 0; i < e->n_arg; i++)
        if (adds(e->arg[i], to))
            return true;
    return false;
}

static bool multiplies(const kiln_expr *e) {
    if (e->kind == KILN_EXPR_MUL && e->dtype != KILN_I64)
        return true;
    if (e->kind == KILN_EXPR_LOAD)
        return false;
    if (e->kind == KILN_EXPR_CALL)
        return true;
    for (int i = 0; i < e->n_arg; i++)
        if (multiplies(e->arg[i]))
            return true;
    return false;
}

static void store(body *b, const kiln_stmt *s) {
    const kiln_buffer *to = s->u.store.buffer;
    const kiln_expr *index = s->u.store.index[0], *v = s->u.store.value;
    read_all(b, v);
    b->has_sums = b->has_sums || (adds(v, to) && multiplies(v));
    if (is_register(to, index)) {
        value *kept = use(b, to, index, v->lanes);
        if (kept != NULL)
            kept->is_stored = true;
    }
    b->time++;
}

static void walk_body(body *b, const kiln_stmt *s) {
    const kiln_stmt *part;
    if (s->kind == KILN_STMT_STORE)
        store(b, s);
    b->guards += s->kind == KILN_STMT_IF;
    for (int i = 0; (part = kiln_stmt_part(s, i)) != NULL; i++)
        walk_body(b, part);
}

static int most_alive(const body *b, kiln_arena *scratch) {
    int *change = kiln_array(scratch, int, b->time + 2), alive = 0, most = 0;
    for (int i = 0; i < PLACES; i++) {
        const value *v = &b->place[i];
        if (v->n_uses == 0 || (v->n_uses == 1 && v->is_operand))
            continue;
        change[v->first] += v->vectors;
        change[v->is_stored ? b->time : v->last + 1] -= v->vectors;
    }
    for (int t = 0; t < b->time; t++) {
        alive += change[t];
        most = alive > most ? alive : most;
    }
    return most;
}

/* ---- the program ----------------------------------------------------------------- */

static void look_at(walk *w, const kiln_stmt *loop) {
    body b = {.p = w->p, .place = w->place};
    for (int i = 0; i < PLACES; i++)
        w->place[i].n_uses = 0;
    walk_body(&b, loop->u.loop.body);
    if (!b.has_sums)
        return;
    const int n = most_alive(&b, w->scratch);
    w->most.vectors = n > w->most.vectors ? n : w->most.vectors;
    w->most.guards = b.guards > w->most.guards ? b.guards : w->most.guards;
}

/* Is there a loop in it? */
static bool walk_loops(walk *w, const kiln_stmt *s) {
    const kiln_stmt *part;
    bool has_loop = false;
    for (int i = 0; (part = kiln_stmt_part(s, i)) != NULL; i++)
        has_loop = walk_loops(w, part) || has_loop;
    if (s->kind == KILN_STMT_FOR && !has_loop)
        look_at(w, s);
    return has_loop || s->kind == KILN_STMT_FOR;
}

kiln_registers kiln_registers_of(kiln_arena *scratch, const kiln_profile *p,
                                 const kiln_program *program) {
    KILN_ASSERT(program->is_flat, "registers of '%s', which is not flat",
                program->name);
    walk w = {.scratch = scratch, .p = p, .place = kiln_array(scratch, value, PLACES)};
    (void)walk_loops(&w, program->body);
    return w.most;
}
