/* Messages' fields: one list each, walked to write and to read it. */
#include "pipeline/measure/wire/wire.h"

#include <string.h>

enum { LONGEST_OBJECT = 48 * 1024 * 1024 };

typedef struct codec {
    kiln_buf *out; /* writing; else reading: */
    kiln_arena *arena;
    const unsigned char *p;
    size_t n;
    bool is_bad;
} codec;

static bool is_writing(const codec *c) { return c->out != NULL; }

static void number(codec *c, uint64_t *v, size_t bytes) {
    unsigned char b[8];
    if (is_writing(c)) {
        for (size_t i = 0; i < bytes; i++)
            b[i] = (unsigned char)(*v >> (8 * i));
        kiln_buf_add(c->out, b, bytes);
        return;
    }
    *v = 0;
    if (c->is_bad || c->n < bytes) {
        c->is_bad = true;
        return;
    }
    for (size_t i = 0; i < bytes; i++)
        *v |= (uint64_t)c->p[i] << (8 * i);
    c->p += bytes;
    c->n -= bytes;
}

static void u64(codec *c, uint64_t *v) { number(c, v, 8); }

static void u32(codec *c, uint32_t *v) {
    uint64_t wide = *v;
    number(c, &wide, 4);
    *v = (uint32_t)wide;
}

static void i64(codec *c, int64_t *v) {
    uint64_t bits;
    memcpy(&bits, v, sizeof bits);
    u64(c, &bits);
    memcpy(v, &bits, sizeof bits);
}

static void i32(codec *c, int32_t *v) {
    uint32_t bits;
    memcpy(&bits, v, sizeof bits);
    u32(c, &bits);
    memcpy(v, &bits, sizeof bits);
}

static void f64(codec *c, double *v) {
    uint64_t bits;
    memcpy(&bits, v, sizeof bits);
    u64(c, &bits);
    memcpy(v, &bits, sizeof bits);
}

/* A number that must be below `end`, such as an enumerator; and a count. */
static void below(codec *c, uint32_t *v, uint32_t end) {
    u32(c, v);
    if (*v >= end) {
        KILN_ASSERT(!is_writing(c), "a field holds %u, must be below %u", *v, end);
        c->is_bad = true;
        *v = 0;
    }
}

static void text_upto(codec *c, kiln_str *s, uint32_t limit) {
    uint32_t n = (uint32_t)s->n;
    KILN_ASSERT(!is_writing(c) || s->n <= limit, "a text of %zu bytes", s->n);
    below(c, &n, limit + 1);
    if (is_writing(c)) {
        kiln_buf_add(c->out, s->p, s->n);
        return;
    }
    *s = (kiln_str){NULL, 0};
    if (c->is_bad || c->n < n) {
        c->is_bad = true;
        return;
    }
    *s = (kiln_str){(const char *)c->p, n};
    c->p += n;
    c->n -= n;
}

static void text(codec *c, kiln_str *s) { text_upto(c, s, KILN_WIRE_MAX_TEXT); }
static void object(codec *c, kiln_str *s) { text_upto(c, s, LONGEST_OBJECT); }

/* A list's storage, when reading. Its elements are small and few: `max` limits them. */
#define list(c, v, count, max)                                                         \
    do {                                                                               \
        below((c), (count), (max) + 1);                                                \
        if (!is_writing(c))                                                            \
            *(v) = kiln_arena_array((c)->arena, *(count), sizeof **(v));               \
    } while (0)

/* ---- parts ----------------------------------------------------------------------- */

static void blob(codec *c, kiln_wire_blob *b) {
    u64(c, &b->bytes);
    if (b->bytes > KILN_WIRE_MAX_BLOB_BYTES) {
        KILN_ASSERT(!is_writing(c), "a blob is too large");
        c->is_bad = true;
        b->bytes = 0;
    }
    if (is_writing(c)) {
        kiln_buf_add(c->out, b->sha256, sizeof b->sha256);
        return;
    }
    if (c->is_bad || c->n < sizeof b->sha256) {
        c->is_bad = true;
        return;
    }
    memcpy(b->sha256, c->p, sizeof b->sha256);
    c->p += sizeof b->sha256;
    c->n -= sizeof b->sha256;
}

static void value(codec *c, kiln_wire_value *v) {
    text(c, &v->name);
    below(c, &v->dtype, KILN_WIRE_N_DTYPES);
    below(c, &v->rank, KILN_WIRE_MAX_RANK + 1);
    for (uint32_t i = 0; i < v->rank; i++)
        i64(c, &v->dim[i]);
    below(c, &v->is_output, 2);
    below(c, &v->is_weight, 2);
    for (int s = 0; s < KILN_WIRE_MAX_SEEDS; s++) {
        if (v->is_output == 0) {
            blob(c, &v->data[s]);
            continue;
        }
        blob(c, &v->expected[s].value);
        blob(c, &v->expected[s].bound);
        blob(c, &v->expected[s].pick);
    }
}

/* Nothing but the empty object where there is none. */
static void packing(codec *c, kiln_wire_packing *k) {
    object(c, &k->object);
    if (k->object.n == 0)
        return;
    text(c, &k->name);
    u64(c, &k->workspace_bytes);
    u64(c, &k->scratch_bytes);
    u64(c, &k->bytes);
}

static void operand(codec *c, kiln_wire_operand *o) {
    u32(c, &o->value);
    packing(c, &o->packing);
    below(c, &o->n_steps, KILN_WIRE_MAX_STEPS + 1);
    for (uint32_t i = 0; i < o->n_steps; i++) {
        below(c, &o->step[i].axis, KILN_WIRE_MAX_RANK);
        i64(c, &o->step[i].extent);
        i64(c, &o->step[i].size);
    }
}

static void code(codec *c, kiln_wire_code *k) {
    object(c, &k->object);
    text(c, &k->name);
    u64(c, &k->workspace_bytes);
    u64(c, &k->scratch_bytes);
    f64(c, &k->least_flops);
    list(c, &k->operand, &k->n_operands, KILN_WIRE_MAX_OPERANDS);
    below(c, &k->n_inputs, k->n_operands + 1);
    f64(c, &k->amplification);
    for (uint32_t i = 0; i < k->n_operands; i++)
        operand(c, &k->operand[i]);
}

static void meter(codec *c, kiln_wire_meter *m) {
    object(c, &m->fma);
    object(c, &m->chain);
    text(c, &m->fma_name);
    text(c, &m->chain_name);
    f64(c, &m->fma_flops);
    f64(c, &m->chain_steps);
    f64(c, &m->lanes);
    f64(c, &m->fma_unit);
}

/* ---- messages -------------------------------------------------------------------- */

static void hello(codec *c, void *p) {
    kiln_wire_hello *m = p;
    text(c, &m->role);
    text(c, &m->machine);
}

static void lease(codec *c, void *p) {
    kiln_wire_lease *m = p;
    text(c, &m->owner);
    i64(c, &m->ms);
    if (m->ms < KILN_WIRE_LEAST_LEASE_MS || m->ms > KILN_WIRE_MOST_LEASE_MS) {
        KILN_ASSERT(!is_writing(c), "a lease of %lld ms", (long long)m->ms);
        c->is_bad = true;
    }
}

static void leased(codec *c, void *p) { i64(c, &((kiln_wire_leased *)p)->ms); }

static void lent(codec *c, void *p) {
    kiln_wire_lent *m = p;
    text(c, &m->owner);
    i64(c, &m->left_ms);
}

static void failed(codec *c, void *p) { text(c, &((kiln_wire_failed *)p)->text); }
static void meter_message(codec *c, void *p) { meter(c, p); }

/* Sums and multiples of limits are nanoseconds. */
static void limit_ms(codec *c, int64_t *ms) {
    i64(c, ms);
    if (!is_writing(c) && (*ms < 0 || *ms > KILN_WIRE_MOST_LIMIT_MS))
        c->is_bad = true;
}

static void builder(codec *c, void *p) {
    kiln_wire_builder *m = p;
    text(c, &m->profile);
    u64(c, &m->data_limit_bytes);
    limit_ms(c, &m->time_limit_ms);
}

static void runner(codec *c, void *p) {
    kiln_wire_runner *m = p;
    meter(c, &m->meter);
    u32(c, &m->threads);
    i32(c, &m->cpu);
    u64(c, &m->last_cache_bytes);
    u64(c, &m->data_limit_bytes);
    limit_ms(c, &m->time_limit_ms);
    f64(c, &m->precision);
    f64(c, &m->loser);
    text(c, &m->device);
    f64(c, &m->device_gflops);
    f64(c, &m->device_gbs);
    limit_ms(c, &m->driver_limit_ms);
}

static void ready(codec *c, void *p) {
    kiln_wire_ready *m = p;
    f64(c, &m->peak_gflops);
    f64(c, &m->clock_ghz);
    f64(c, &m->fma_per_cycle);
    f64(c, &m->memory_gbs);
    below(c, &m->is_confined, 2);
    text(c, &m->not_confined);
    text(c, &m->device);
}

static void work(codec *c, void *p) {
    kiln_wire_work *m = p;
    u32(c, &m->id);
    blob(c, &m->graph);
    f64(c, &m->flops);
    below(c, &m->n_seeds, KILN_WIRE_MAX_SEEDS + 1);
    below(c, &m->weights_cold, 2);
    list(c, &m->value, &m->n_values, KILN_WIRE_MAX_OPERANDS);
    for (uint32_t i = 0; i < m->n_values; i++)
        value(c, &m->value[i]);
}

static void drop(codec *c, void *p) { u32(c, &((kiln_wire_drop *)p)->work); }

static void need(codec *c, void *p) {
    kiln_wire_need *m = p;
    list(c, &m->blob, &m->n, KILN_WIRE_MAX_NEEDS);
    for (uint32_t i = 0; i < m->n; i++)
        blob(c, &m->blob[i]);
}

static void piece(codec *c, void *p) {
    kiln_wire_piece *m = p;
    blob(c, &m->of);
    u64(c, &m->at);
    text_upto(c, &m->bytes, KILN_WIRE_PIECE_BYTES);
    if (m->bytes.n == 0 || m->bytes.n > m->of.bytes ||
        m->at > m->of.bytes - m->bytes.n) {
        KILN_ASSERT(!is_writing(c), "a piece is outside its blob");
        c->is_bad = true;
    }
}

static void build(codec *c, void *p) {
    kiln_wire_build *m = p;
    u64(c, &m->id);
    u32(c, &m->work);
    text(c, &m->tmpl);
    u64(c, &m->config);
    below(c, &m->takes_spills, 2);
}

static void facts(codec *c, kiln_code_facts *f) {
    u64(c, &f->operand_bytes);
    u32(c, &f->n_loops);
    f64(c, &f->lower_ms);
    f64(c, &f->codegen_ms);
    i64(c, &f->forks);
    i64(c, &f->iterations);
    f64(c, &f->work);
    f64(c, &f->serial);
    f64(c, &f->longest);
}

static void built(codec *c, void *p) {
    kiln_wire_built *m = p;
    u64(c, &m->id);
    below(c, &m->error, KILN_N_TRIAL_ERRORS);
    text(c, &m->text);
    text(c, &m->layouts);
    facts(c, &m->facts);
    u32(c, &m->spills);
    u32(c, &m->vector_registers);
    u32(c, &m->hot_fma);
    u32(c, &m->hot_instructions);
    f64(c, &m->build_ms);
    code(c, &m->code);
}

static void run(codec *c, void *p) {
    kiln_wire_run *m = p;
    u64(c, &m->id);
    u32(c, &m->work);
    f64(c, &m->best_ns);
    f64(c, &m->budget_ms);
    below(c, &m->takes_turns, 2);
    code(c, &m->code);
}

static void ran(codec *c, void *p) {
    kiln_wire_ran *m = p;
    u64(c, &m->id);
    below(c, &m->error, KILN_N_TRIAL_ERRORS);
    text(c, &m->text);
    u32(c, &m->n_seeds);
    double *const numbers[] = {
        &m->worst,  &m->median_ns,   &m->low_ns,      &m->high_ns,      &m->peak_share,
        &m->run_ms, &m->peak_gflops, &m->least_flops, &m->limit_gflops, &m->max_abs};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        f64(c, numbers[i]);
    u64(c, &m->n_compared);
    u64(c, &m->n_elems);
    u64(c, &m->n_runs);
    below(c, &m->is_noisy, 2);
    u32(c, &m->n_disturbed);
    list(c, &m->slice, &m->n_slices, KILN_WIRE_MAX_SLICES);
    for (uint32_t i = 0; i < m->n_slices; i++) {
        uint32_t disturbed = m->slice[i].disturbed;
        uint32_t throttled = m->slice[i].is_throttled;
        f64(c, &m->slice[i].ns);
        f64(c, &m->slice[i].peak_gflops);
        below(c, &disturbed, 2);
        m->slice[i].disturbed = disturbed != 0;
        below(c, &throttled, 2);
        m->slice[i].is_throttled = throttled != 0;
        u32(c, &m->slice[i].clock_mhz);
        u32(c, &m->slice[i].degrees);
    }
}

static void flag(codec *c, bool *v) {
    uint32_t wide = *v;
    below(c, &wide, 2);
    *v = wide != 0;
}

static void peak_slice(codec *c, kiln_peak_slice *p) {
    f64(c, &p->gflops);
    f64(c, &p->clock_ghz);
}

static void turn(codec *c, void *p) {
    kiln_wire_turn *m = p;
    u64(c, &m->id);
    below(c, &m->is_last, 2);
    below(c, &m->has_peak, 2);
    u32(c, &m->n_ahead);
    below(c, &m->has_slice, 2);
}

static void turned(codec *c, void *p) {
    kiln_wire_turned *m = p;
    u64(c, &m->id);
    peak_slice(c, &m->turn.peak);
    f64(c, &m->turn.ns);
    u64(c, &m->turn.runs);
    flag(c, &m->turn.is_disturbed);
}

static void limits(codec *c, void *p) {
    kiln_wire_limits *m = p;
    u32(c, &m->n_peaks);
    list(c, &m->level, &m->n_levels, KILN_WIRE_MAX_LEVELS);
    for (uint32_t i = 0; i < m->n_levels; i++) {
        object(c, &m->level[i].copy);
        object(c, &m->level[i].read);
        u64(c, &m->level[i].copy_bytes);
        u64(c, &m->level[i].read_bytes);
    }
}

static void limited(codec *c, void *p) {
    kiln_wire_limited *m = p;
    text(c, &m->problem);
    peak_slice(c, &m->peak);
    below(c, &m->n_levels, KILN_WIRE_MAX_LEVELS + 1);
    for (uint32_t i = 0; i < m->n_levels; i++)
        f64(c, &m->gbs[i]);
}

static void place(codec *c, kiln_wire_place *p) {
    u64(c, &p->at);
    u64(c, &p->bytes);
}

static void function(codec *c, kiln_wire_function *f) {
    text(c, &f->symbol);
    place(c, &f->object);
}

static void network(codec *c, void *p) {
    kiln_wire_network *m = p;
    below(c, &m->guest, KILN_WIRE_MAX_GUESTS);
    text(c, &m->folder);
    list(c, &m->part, &m->n_parts, KILN_WIRE_MAX_PARTS);
    for (uint32_t i = 0; i < m->n_parts && !c->is_bad; i++)
        blob(c, &m->part[i]);
    place(c, &m->plan);
    place(c, &m->params);
    list(c, &m->kernel, &m->n_kernels, KILN_WIRE_MAX_KERNELS);
    for (uint32_t i = 0; i < m->n_kernels && !c->is_bad; i++)
        function(c, &m->kernel[i]);
    list(c, &m->module, &m->n_modules, KILN_WIRE_MAX_MODULES);
    for (uint32_t i = 0; i < m->n_modules && !c->is_bad; i++)
        function(c, &m->module[i]);
    text(c, &m->driver);
    list(c, &m->input, &m->n_inputs, KILN_WIRE_MAX_INPUTS);
    for (uint32_t i = 0; i < m->n_inputs && !c->is_bad; i++)
        place(c, &m->input[i]);
    meter(c, &m->meter);
    u64(c, &m->data_limit_bytes);
}

static void packs(codec *c, void *p) {
    kiln_wire_packs *m = p;
    list(c, &m->packer, &m->n_packers, KILN_WIRE_MAX_KERNELS);
    for (uint32_t i = 0; i < m->n_packers && !c->is_bad; i++) {
        function(c, &m->packer[i].function);
        u64(c, &m->packer[i].workspace_bytes);
        u64(c, &m->packer[i].scratch_bytes);
    }
    list(c, &m->constant, &m->n_constants, KILN_WIRE_MAX_CONSTANTS);
    for (uint32_t i = 0; i < m->n_constants && !c->is_bad; i++) {
        below(c, &m->constant[i].packer, m->n_packers);
        place(c, &m->constant[i].from);
        u64(c, &m->constant[i].bytes);
        if (m->constant[i].bytes > KILN_WIRE_MAX_BLOB_BYTES) {
            KILN_ASSERT(!is_writing(c), "a constant is too large");
            c->is_bad = true;
        }
    }
    u64(c, &m->data_limit_bytes);
}

static void ended(codec *c, void *p) {
    kiln_wire_ended *m = p;
    text(c, &m->text);
    below(c, &m->guest, KILN_WIRE_MAX_GUESTS);
}

static void ask(codec *c, void *p) {
    kiln_wire_ask *m = p;
    below(c, &m->guest, KILN_WIRE_MAX_GUESTS);
    below(c, &m->what, KILN_N_QUESTIONS);
    u32(c, &m->session);
    u32(c, &m->index);
    u32(c, &m->n);
    u32(c, &m->n_ahead);
    below(c, &m->has_steps, 2);
    u64(c, &m->runs);
    u64(c, &m->at);
    u64(c, &m->bytes);
    i64(c, &m->time_ns);
}

static void told(codec *c, void *p) {
    kiln_wire_told *m = p;
    below(c, &m->guest, KILN_WIRE_MAX_GUESTS);
    text(c, &m->problem);
    f64(c, &m->open_ms);
    u64(c, &m->bytes);
    below(c, &m->is_full, 2);
    i64(c, &m->wall_ns);
    i64(c, &m->cpu_ns);
    i64(c, &m->preempted);
    peak_slice(c, &m->peak);
    u32(c, &m->clock_mhz);
    u32(c, &m->degrees);
    below(c, &m->is_throttled, 2);
    list(c, &m->step_ns, &m->n_steps, KILN_WIRE_MAX_STEPS_TOLD);
    for (uint32_t i = 0; i < m->n_steps && !c->is_bad; i++)
        u64(c, &m->step_ns[i]);
    text_upto(c, &m->data, KILN_WIRE_MAX_DATA);
}

static void borrow(codec *c, void *p) {
    kiln_wire_borrow *m = p;
    text(c, &m->owner);
    text(c, &m->profile);
    u32(c, &m->threads);
    below(c, &m->priority, KILN_WIRE_MAX_PRIORITY + 1);
    i64(c, &m->keeps_ms);
    c->is_bad = c->is_bad || m->keeps_ms < 0 || m->keeps_ms > KILN_WIRE_MOST_KEPT_MS;
}

static void queued(codec *c, void *p) {
    kiln_wire_queued *m = p;
    u32(c, &m->n_waiting);
    u32(c, &m->n_fit);
}

static void granted(codec *c, void *p) { text(c, &((kiln_wire_granted *)p)->device); }
static void recall(codec *c, void *p) { i64(c, &((kiln_wire_recall *)p)->within_ms); }

static void gone(codec *c, void *p) {
    kiln_wire_gone *m = p;
    text(c, &m->text);
    below(c, &m->is_hung, 2);
}

static void registered(codec *c, void *p) {
    kiln_wire_register *m = p;
    text(c, &m->name);
    text(c, &m->address);
    u32(c, &m->degrees);
}

static void list_devices(codec *c, void *p) { u32(c, &((kiln_wire_list *)p)->n_notes); }

static void listed(codec *c, void *p) {
    text_upto(c, &((kiln_wire_listed *)p)->json, KILN_WIRE_MAX_DATA);
}

static const struct {
    const char *name;
    void (*fields)(codec *c, void *message);
    size_t bytes; /* of the struct */
} messages[KILN_WIRE_N_KINDS] = {
    [KILN_WIRE_HELLO] = {"hello", hello, sizeof(kiln_wire_hello)},
    [KILN_WIRE_FAILED] = {"failed", failed, sizeof(kiln_wire_failed)},
    [KILN_WIRE_LEASE] = {"lease", lease, sizeof(kiln_wire_lease)},
    [KILN_WIRE_LEASED] = {"leased", leased, sizeof(kiln_wire_leased)},
    [KILN_WIRE_LENT] = {"lent", lent, sizeof(kiln_wire_lent)},
    [KILN_WIRE_BUILDER] = {"builder", builder, sizeof(kiln_wire_builder)},
    [KILN_WIRE_METER] = {"meter", meter_message, sizeof(kiln_wire_meter)},
    [KILN_WIRE_RUNNER] = {"runner", runner, sizeof(kiln_wire_runner)},
    [KILN_WIRE_READY] = {"ready", ready, sizeof(kiln_wire_ready)},
    [KILN_WIRE_WORK] = {"work", work, sizeof(kiln_wire_work)},
    [KILN_WIRE_DROP] = {"drop", drop, sizeof(kiln_wire_drop)},
    [KILN_WIRE_NEED] = {"need", need, sizeof(kiln_wire_need)},
    [KILN_WIRE_BLOB] = {"blob", piece, sizeof(kiln_wire_piece)},
    [KILN_WIRE_BUILD] = {"build", build, sizeof(kiln_wire_build)},
    [KILN_WIRE_BUILT] = {"built", built, sizeof(kiln_wire_built)},
    [KILN_WIRE_RUN] = {"run", run, sizeof(kiln_wire_run)},
    [KILN_WIRE_RAN] = {"ran", ran, sizeof(kiln_wire_ran)},
    [KILN_WIRE_TURN] = {"turn", turn, sizeof(kiln_wire_turn)},
    [KILN_WIRE_TURNED] = {"turned", turned, sizeof(kiln_wire_turned)},
    [KILN_WIRE_LIMITS] = {"limits", limits, sizeof(kiln_wire_limits)},
    [KILN_WIRE_LIMITED] = {"limited", limited, sizeof(kiln_wire_limited)},
    [KILN_WIRE_NETWORK] = {"network", network, sizeof(kiln_wire_network)},
    [KILN_WIRE_ASK] = {"ask", ask, sizeof(kiln_wire_ask)},
    [KILN_WIRE_TOLD] = {"told", told, sizeof(kiln_wire_told)},
    [KILN_WIRE_PACKS] = {"packs", packs, sizeof(kiln_wire_packs)},
    [KILN_WIRE_ENDED] = {"ended", ended, sizeof(kiln_wire_ended)},
    [KILN_WIRE_BORROW] = {"borrow", borrow, sizeof(kiln_wire_borrow)},
    [KILN_WIRE_QUEUED] = {"queued", queued, sizeof(kiln_wire_queued)},
    [KILN_WIRE_GRANTED] = {"granted", granted, sizeof(kiln_wire_granted)},
    [KILN_WIRE_RECALL] = {"recall", recall, sizeof(kiln_wire_recall)},
    [KILN_WIRE_GONE] = {"gone", gone, sizeof(kiln_wire_gone)},
    [KILN_WIRE_REGISTER] = {"register", registered, sizeof(kiln_wire_register)},
    [KILN_WIRE_LIST] = {"list", list_devices, sizeof(kiln_wire_list)},
    [KILN_WIRE_LISTED] = {"listed", listed, sizeof(kiln_wire_listed)},
};

const char *kiln_wire_kind_name(kiln_wire_kind k) {
    KILN_ASSERT((size_t)k < sizeof messages / sizeof messages[0],
                "no kind %d of messages", (int)k);
    return messages[k].name;
}

void kiln_wire_put(kiln_buf *out, kiln_wire_kind kind, const void *message) {
    static const unsigned char magic[] = {
        'K', 'L', 'N', 'W', KILN_WIRE_VERSION, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    const size_t at = out->n;
    kiln_arena scratch = {0};
    codec c = {.out = out};
    kiln_buf_add(out, magic, sizeof magic);
    messages[kind].fields(&c, kiln_arena_dup(&scratch, message, messages[kind].bytes));
    kiln_arena_fini(&scratch);
    const size_t bytes = out->n - at - KILN_WIRE_HEADER_BYTES;
    KILN_ASSERT(bytes <= KILN_WIRE_MAX_BYTES, "a message of %zu bytes", bytes);
    for (size_t i = 0; i < 4; i++) {
        out->p[at + 8 + i] = (char)((unsigned)kind >> (8 * i) & 0xFF);
        out->p[at + 12 + i] = (char)(bytes >> (8 * i) & 0xFF);
    }
}

kiln_status kiln_wire_get(kiln_arena *a, const kiln_wire_frame *f, void *message,
                          kiln_err *err) {
    KILN_ASSERT(f->kind < KILN_WIRE_N_KINDS, "no kind %d of messages", (int)f->kind);
    codec c = {.arena = a, .p = (const unsigned char *)f->body.p, .n = f->body.n};
    memset(message, 0, messages[f->kind].bytes);
    messages[f->kind].fields(&c, message);
    if (c.is_bad || c.n > 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "a worker's message '%s' of %zu bytes is broken",
                         kiln_wire_kind_name(f->kind), f->body.n);
    return KILN_OK;
}

kiln_status kiln_wire_expect(kiln_arena *a, const kiln_wire_frame *f,
                             kiln_wire_kind kind, void *message, kiln_err *err) {
    if (f->kind == kind)
        return kiln_wire_get(a, f, message, err);
    return kiln_fail(err, KILN_ERR_PARSE, "a worker sent '%s' where '%s' was expected",
                     kiln_wire_kind_name(f->kind), kiln_wire_kind_name(kind));
}
