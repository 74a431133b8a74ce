/* The kernels that measure a machine, made by kiln's own code generator.
 *
 * Ports: more independent chains of multiply-adds than latency times ports of today's
 * cores, in registers (pipeline/kernels/meter.c makes them). Latency: one chain.
 * Streams: exclusive ors of all vectors of a buffer, again and again; stores to all of
 * it. Memory's latency: a walk along one cycle of random order through all lines. */
#include "pipeline/machine/machine_internal.h"

#include "pipeline/kernels/meter.h"

enum {
    ROWS_AT_ONCE = 8, /* vectors of one step of a stream, each a chain of its own */
    LATENCY_STEPS = 16384,
    CHASE_STEPS = 4096,
    FMA_CALLS = 8,
    LATENCY_CALLS = 8,
    LOAD_TRIES = 2 /* slices apart: who disturbs one may be gone */
};
static const int64_t mib = INT64_C(1) << 20;
static const double stream_bytes = 2e6; /* of one call, where the buffer is smaller */

/* ---- streams --------------------------------------------------------------------- */

/* for rep: for row: for c: for l, with one statement. */
typedef struct loops {
    kiln_arena *arena;
    const kiln_var *rep, *row, *c, *l;
    int64_t reps, rows, lanes;
} loops;

static loops loops_of(kiln_arena *a, const kiln_profile *p, int64_t bytes) {
    const int64_t lanes = p->vector_bytes / 4;
    const int64_t rows = bytes / ((int64_t)p->vector_bytes * ROWS_AT_ONCE);
    const double reps = stream_bytes / (double)bytes;
    return (loops){.arena = a,
                   .rep = kiln_var_new(a, "rep", KILN_I64),
                   .row = kiln_var_new(a, "row", KILN_I64),
                   .c = kiln_var_new(a, "c", KILN_I64),
                   .l = kiln_var_new(a, "l", KILN_I64),
                   .reps = reps > 1 ? (int64_t)reps : 1,
                   .rows = rows > 1 ? rows : 1,
                   .lanes = lanes};
}

static const kiln_stmt *tile_loop(const loops *x, const kiln_stmt *s) {
    kiln_arena *a = x->arena;
    const kiln_expr *zero = kiln_x_index(a, 0);
    s = kiln_s_for(a, x->l, zero, kiln_x_index(a, x->lanes), KILN_LOOP_VECTORIZED, NULL,
                   s);
    return kiln_s_for(a, x->c, zero, kiln_x_index(a, ROWS_AT_ONCE), KILN_LOOP_UNROLLED,
                      NULL, s);
}

static const kiln_stmt *all_loops(const loops *x, const kiln_stmt *s) {
    kiln_arena *a = x->arena;
    const kiln_expr *zero = kiln_x_index(a, 0);
    s = kiln_s_for(a, x->row, zero, kiln_x_index(a, x->rows), KILN_LOOP_SERIAL, NULL,
                   tile_loop(x, s));
    return kiln_s_for(a, x->rep, zero, kiln_x_index(a, x->reps), KILN_LOOP_SERIAL, NULL,
                      s);
}

static kiln_status compile(kiln_arena *a, const kiln_profile *p, const char *name,
                           kiln_buffer *x, kiln_buffer *y, const kiln_stmt *body,
                           kiln_object *out, kiln_err *err) {
    const kiln_buffer *arg[] = {x, y};
    kiln_program prog = {.name = name,
                         .arena = a,
                         .arg = kiln_arena_dup(a, arg, sizeof arg),
                         .n_args = 2,
                         .n_inputs = 1,
                         .body = body};
    x->arg = 0;
    y->arg = 1;
    y->is_written = true;
    KILN_TRY(kiln_program_optimize(&prog, NULL, err));
    return kiln_codegen(a, &prog, p, NULL, out, NULL, err);
}

/* y[c, l] ^= x[row, c, l], in registers. */
static kiln_status make_read(kiln_arena *a, const kiln_profile *p,
                             kiln_machine_probe *probe, kiln_err *err) {
    const loops x = loops_of(a, p, probe->window);
    kiln_buffer *in =
        kiln_buffer_new(a, "x", KILN_I32, 3, (int64_t[]){x.rows, ROWS_AT_ONCE, x.lanes},
                        KILN_SCOPE_GLOBAL);
    kiln_buffer *out = kiln_buffer_new(
        a, "y", KILN_I32, 2, (int64_t[]){ROWS_AT_ONCE, x.lanes}, KILN_SCOPE_GLOBAL);
    const kiln_buffer *sum = kiln_buffer_new(
        a, "sum", KILN_I32, 2, (int64_t[]){ROWS_AT_ONCE, x.lanes}, KILN_SCOPE_REGISTER);
    const kiln_expr *at[] = {kiln_x_ref(a, x.row), kiln_x_ref(a, x.c),
                             kiln_x_ref(a, x.l)};
    const kiln_expr *next =
        kiln_x_binary(a, KILN_EXPR_XOR, kiln_x_load(a, sum, at + 1, 2, NULL),
                      kiln_x_load(a, in, at, 3, NULL));
    const kiln_stmt *const seq[] = {
        tile_loop(&x, kiln_s_store(a, sum, at + 1, kiln_x_int(a, KILN_I32, 0), NULL)),
        all_loops(&x, kiln_s_store(a, sum, at + 1, next, NULL)),
        tile_loop(&x, kiln_s_store(a, out, at + 1, kiln_x_load(a, sum, at + 1, 2, NULL),
                                   NULL))};
    probe->units = (double)(x.reps * x.rows * ROWS_AT_ONCE * x.lanes * 4);
    return compile(a, p, probe->name, in, out,
                   kiln_s_alloc(a, sum, kiln_s_seq(a, seq, 3)), &probe->code, err);
}

/* y[row, c, l] = x[l]. */
static kiln_status make_write(kiln_arena *a, const kiln_profile *p,
                              kiln_machine_probe *probe, kiln_err *err) {
    const loops x = loops_of(a, p, probe->window);
    kiln_buffer *in = kiln_buffer_new(a, "x", KILN_I32, 1, &x.lanes, KILN_SCOPE_GLOBAL);
    kiln_buffer *out =
        kiln_buffer_new(a, "y", KILN_I32, 3, (int64_t[]){x.rows, ROWS_AT_ONCE, x.lanes},
                        KILN_SCOPE_GLOBAL);
    const kiln_expr *at[] = {kiln_x_ref(a, x.row), kiln_x_ref(a, x.c),
                             kiln_x_ref(a, x.l)};
    const kiln_stmt *s =
        kiln_s_store(a, out, at, kiln_x_load(a, in, at + 2, 1, NULL), NULL);
    probe->units = (double)(x.reps * x.rows * ROWS_AT_ONCE * x.lanes * 4);
    return compile(a, p, probe->name, in, out, all_loops(&x, s), &probe->code, err);
}

/* at = x[at], over and over. */
static kiln_status make_chase(kiln_arena *a, const kiln_profile *p,
                              kiln_machine_probe *probe, kiln_err *err) {
    enum { UNROLL = 8 };
    const int64_t n = probe->bytes / 8, one = 1;
    kiln_buffer *x = kiln_buffer_new(a, "x", KILN_I64, 1, &n, KILN_SCOPE_GLOBAL);
    kiln_buffer *y = kiln_buffer_new(a, "y", KILN_I64, 1, &one, KILN_SCOPE_GLOBAL);
    const kiln_buffer *c =
        kiln_buffer_new(a, "at", KILN_I64, 1, &one, KILN_SCOPE_REGISTER);
    const kiln_var *outer = kiln_var_new(a, "i", KILN_I64);
    const kiln_var *inner = kiln_var_new(a, "j", KILN_I64);
    const kiln_expr *zero = kiln_x_index(a, 0);
    const kiln_expr *where = kiln_x_load(a, c, &zero, 1, NULL);
    const kiln_stmt *step =
        kiln_s_store(a, c, &zero, kiln_x_load(a, x, &where, 1, NULL), NULL);
    step = kiln_s_for(a, inner, zero, kiln_x_index(a, UNROLL), KILN_LOOP_UNROLLED, NULL,
                      step);
    const kiln_stmt *const seq[] = {
        kiln_s_store(a, c, &zero, kiln_x_load(a, y, &zero, 1, NULL), NULL),
        kiln_s_for(a, outer, zero, kiln_x_index(a, CHASE_STEPS / UNROLL),
                   KILN_LOOP_SERIAL, NULL, step),
        kiln_s_store(a, y, &zero, where, NULL)};
    probe->units = CHASE_STEPS;
    return compile(a, p, probe->name, x, y, kiln_s_alloc(a, c, kiln_s_seq(a, seq, 3)),
                   &probe->code, err);
}

/* ---- chains ---------------------------------------------------------------------- */

/* One vector of sums, each of which waits for the last: sum = sum * x + x, which is one
 * multiply-add and no other operation; where there is none, sum = sum + x. */
static kiln_status make_latency(kiln_arena *a, const kiln_profile *p,
                                kiln_machine_probe *probe, kiln_err *err) {
    enum { UNROLL = 16 };
    const int64_t lanes = p->vector_bytes / 4;
    kiln_buffer *in = kiln_buffer_new(a, "x", KILN_F32, 1, &lanes, KILN_SCOPE_GLOBAL);
    kiln_buffer *out = kiln_buffer_new(a, "y", KILN_F32, 1, &lanes, KILN_SCOPE_GLOBAL);
    const kiln_buffer *sum =
        kiln_buffer_new(a, "sum", KILN_F32, 1, &lanes, KILN_SCOPE_REGISTER);
    const kiln_var *outer = kiln_var_new(a, "i", KILN_I64);
    const kiln_var *inner = kiln_var_new(a, "j", KILN_I64);
    const kiln_var *l = kiln_var_new(a, "l", KILN_I64);
    const kiln_expr *zero = kiln_x_index(a, 0), *at = kiln_x_ref(a, l);
    const kiln_expr *x = kiln_x_load(a, in, &at, 1, NULL);
    const kiln_expr *now = kiln_x_load(a, sum, &at, 1, NULL);
    const kiln_expr *next = kiln_x_add(a, p->has_fma ? kiln_x_mul(a, now, x) : now, x);
    const kiln_stmt *part[3] = {kiln_s_store(a, sum, &at, x, NULL),
                                kiln_s_store(a, sum, &at, next, NULL),
                                kiln_s_store(a, out, &at, now, NULL)};
    for (int i = 0; i < 3; i++)
        part[i] = kiln_s_for(a, l, zero, kiln_x_index(a, lanes), KILN_LOOP_VECTORIZED,
                             NULL, part[i]);
    part[1] = kiln_s_for(a, inner, zero, kiln_x_index(a, UNROLL), KILN_LOOP_UNROLLED,
                         NULL, part[1]);
    part[1] = kiln_s_for(a, outer, zero, kiln_x_index(a, LATENCY_STEPS / UNROLL),
                         KILN_LOOP_SERIAL, NULL, part[1]);
    probe->units = LATENCY_STEPS;
    return compile(a, p, probe->name, in, out,
                   kiln_s_alloc(a, sum, kiln_s_seq(a, part, 3)), &probe->code, err);
}

/* ---- which ----------------------------------------------------------------------- */

static void add(kiln_machine_probes *out, kiln_machine_probe_kind kind, int level,
                int64_t bytes, int threads, int calls, const char *name) {
    KILN_ASSERT(out->n < KILN_MAX_PROBES, "more than %d probes", KILN_MAX_PROBES);
    /* What is read of memory in one slice: a few milliseconds, not all of it. */
    const int64_t most = 32 * mib;
    const bool is_stream = kind == KILN_PROBE_READ && level == KILN_PROBE_LEVELS - 1;
    out->probe[out->n++] =
        (kiln_machine_probe){.kind = kind,
                             .level = level,
                             .bytes = bytes,
                             .window = is_stream && bytes > most ? most : bytes,
                             .threads = threads,
                             .calls = calls,
                             .name = name};
}

static void add_read(kiln_machine_probes *out, int level, int64_t bytes, int threads) {
    add(out, KILN_PROBE_READ, level, bytes, threads, 1, "kiln_machine_read");
}

/* Four times the last cache, from 64 to 512 MiB; of all threads together. */
static int64_t memory_bytes(const kiln_profile *p) {
    const int64_t last = p->l3_bytes > 0 ? p->l3_bytes : p->l2_bytes;
    return last < 16 * mib ? 64 * mib : last > 128 * mib ? 512 * mib : 4 * last;
}

static int64_t share(int64_t bytes, int threads, int64_t least) {
    return bytes / threads > least ? bytes / threads : least;
}

/* Ports are counted by an eighth of L1: where another thread of the core is at work (a
 * neighbour of a virtual machine, say), half of L1 may be its own, and one port seemed
 * to load what came from L2. */
static void add_loads(kiln_machine_probes *out, const kiln_profile *p) {
    for (int i = 0; i < LOAD_TRIES && p->l1d_bytes > 0; i++)
        add(out, KILN_PROBE_LOAD, 0, p->l1d_bytes / 8, 1, 1, "kiln_machine_load");
}

/* L3 by what surely lies in it, and more and more up to a sixteenth of what the system
 * says: a core may reach little of it. */
static void add_near_l3(kiln_machine_probes *out, int64_t sure, int64_t l3) {
    for (int64_t bytes = sure; bytes < l3 / 16 || bytes == sure; bytes *= 2)
        add_read(out, 2, bytes, 1);
}

/* A level's rate by what surely lies in it, then more and more of what the system says
 * that it holds, up to all. A quarter of L2 is enough for its rate, if L1 holds little
 * of that: of half, a neighbour that shares the core often takes a part. */
static void add_levels(kiln_machine_probes *out, const kiln_profile *p) {
    const int64_t l1 = p->l1d_bytes, l2 = p->l2_bytes, l3 = p->l3_bytes;
    static const int eighths[] = {4, 6, 7, 8};
    for (int i = 0; i < 4 && l1 > 0; i++)
        add_read(out, 0, l1 / 8 * eighths[i], 1);
    if (l2 / 4 >= 4 * l1 && l1 > 0)
        add_read(out, 1, l2 / 4, 1);
    for (int i = 0; i < 4 && l2 > 2 * l1; i++)
        add_read(out, 1, l2 / 8 * eighths[i], 1);
    if (l3 > 2 * l2) {
        static const int sixteenths[] = {1, 2, 3, 5, 8, 12, 16};
        const int64_t sure = l3 / 4 >= 3 * l2      ? 3 * l2
                             : l3 / 4 > 3 * l2 / 2 ? l3 / 4
                                                   : 3 * l2 / 2;
        add_near_l3(out, sure, l3);
        for (size_t i = 0; i < sizeof sixteenths / sizeof sixteenths[0]; i++)
            if (l3 / 16 * sixteenths[i] > sure)
                add_read(out, 2, l3 / 16 * sixteenths[i], 1);
    }
}

static void list(kiln_machine_probes *out, const kiln_profile *p) {
    const int64_t l2 = p->l2_bytes, l3 = p->l3_bytes, memory = memory_bytes(p);
    add(out, KILN_PROBE_FMA, 0, 0, 1, FMA_CALLS, "kiln_meter_fma");
    add(out, KILN_PROBE_LATENCY, 0, 0, 1, LATENCY_CALLS, "kiln_machine_latency");
    if (p->l1d_bytes > 0)
        add(out, KILN_PROBE_WRITE, 0, p->l1d_bytes / 2, 1, 1, "kiln_machine_write");
    add_loads(out, p);
    add_levels(out, p);
    add_read(out, 3, memory, 1);
    if (p->cores > 1) {
        const int64_t each = share(l3 / 2, p->cores, 3 * l2 / 2);
        if (each * p->cores <= l3) /* not in L2, and no more of L3 than must be */
            add_read(out, 2, each < 3 * l2 ? each : 3 * l2, p->cores);
        add_read(out, 3, share(memory, p->cores, 8 * mib), p->cores);
    }
    add(out, KILN_PROBE_CHASE, 3, memory / 2, 1, 1, "kiln_machine_chase");
}

static kiln_status make(kiln_arena *a, const kiln_profile *p,
                        const kiln_machine_probes *all, int i,
                        kiln_machine_probe *probe, kiln_err *err) {
    switch (probe->kind) {
    case KILN_PROBE_FMA:
        return KILN_OK; /* with the chain */
    case KILN_PROBE_LATENCY:
        return make_latency(a, p, probe, err);
    case KILN_PROBE_READ:
    case KILN_PROBE_LOAD:
        for (int k = 0; k < i; k++)
            if (all->probe[k].kind == probe->kind &&
                all->probe[k].window == probe->window) {
                probe->code = all->probe[k].code;
                probe->units = all->probe[k].units;
                return KILN_OK;
            }
        return make_read(a, p, probe, err);
    case KILN_PROBE_WRITE:
        return make_write(a, p, probe, err);
    case KILN_PROBE_CHASE:
        return make_chase(a, p, probe, err);
    }
    return KILN_OK;
}

kiln_status kiln_machine_probes_make(kiln_arena *a, const kiln_profile *p,
                                     bool compiles, kiln_machine_probes *out,
                                     kiln_err *err) {
    kiln_meter_code code;
    *out = (kiln_machine_probes){.n = 0};
    list(out, p);
    if (!compiles)
        return KILN_OK;
    KILN_TRY(kiln_meter_code_make(a, p, &code, err));
    out->chain = code.chain;
    out->chain_name = code.chain_name;
    out->chain_cycles = code.chain_steps;
    for (int i = 0; i < out->n; i++) {
        kiln_machine_probe *x = &out->probe[i];
        if (x->kind == KILN_PROBE_FMA) {
            x->code = code.fma;
            x->name = code.fma_name;
            x->units = code.fma_flops / 2 / code.lanes;
        }
        const kiln_status st = make(a, p, out, i, x, err);
        if (st != KILN_OK) {
            kiln_note(err, "making the kernel '%s'", x->name);
            return st;
        }
    }
    return KILN_OK;
}
