/* Memory plans of random programs with branches and loops, run: whatever branches are
 * taken, each step finds in memory what the plan said would be there. */
#include "compiler/graph/graph_memory.h"
#include "tests/support/kiln_test.h"

#include <string.h>

enum { UNIT = 64, MAX_SLOTS = 256, MAX_STEPS = 512, MAX_DEPTH = 3, ROUNDS = 400 };

typedef enum kind { WORK, PUT, IF, ELSE, LOOP, END } kind;

typedef struct program {
    kiln_arena *arena;
    kiln_rng *rng;
    kiln_slot slot[MAX_SLOTS];
    kiln_flow_step step[MAX_STEPS];
    kind kind[MAX_STEPS];
    int partner[MAX_STEPS], count[MAX_STEPS];
    kiln_flow_loop loop[MAX_STEPS];
    int n_slots, n_steps, n_loops;
} program;

/* ---- random programs ------------------------------------------------------------- */

/* Slots that a step at hand may read. */
typedef struct scope {
    int slot[MAX_SLOTS];
    int n;
} scope;

static int pick(program *p, int64_t low, int64_t high) {
    return (int)kiln_rng_range(p->rng, low, high);
}

static int add_slot(program *p, int units) {
    KILN_ASSERT(p->n_slots < MAX_SLOTS, "too many slots");
    p->slot[p->n_slots] = (kiln_slot){.bytes = units * UNIT, .view_of = -1};
    return p->n_slots++;
}

static int add_step(program *p, kind k, int partner) {
    KILN_ASSERT(p->n_steps < MAX_STEPS, "too many steps");
    p->kind[p->n_steps] = k;
    p->partner[p->n_steps] = partner;
    return p->n_steps++;
}

static int *one(program *p, int slot) {
    int *list = kiln_array(p->arena, int, 1);
    list[0] = slot;
    return list;
}

static int any(program *p, const scope *s) { return s->slot[pick(p, 0, s->n - 1)]; }

/* Reads one or two slots and writes `to`; in place where it may. */
static void add_work(program *p, const scope *s, kind k, int to, bool may_take) {
    kiln_flow_step *step = &p->step[add_step(p, k, 0)];
    int *read = kiln_array(p->arena, int, 2), *take = kiln_array(p->arena, int, 2);
    step->n_read = pick(p, 1, 2);
    step->n_write = 1;
    for (int i = 0; i < step->n_read; i++) {
        read[i] = any(p, s);
        if (may_take && p->slot[read[i]].bytes == p->slot[to].bytes)
            take[step->n_takeable++] = read[i];
    }
    step->read = read;
    step->write = one(p, to);
    step->takeable = take;
}

static void add_block(program *p, scope *s, int depth);

static void add_branch(program *p, scope inside, int depth, int result) {
    add_block(p, &inside, depth + 1);
    add_work(p, &inside, WORK, result, true);
}

static int add_if(program *p, scope *s, int depth) {
    const int result = add_slot(p, pick(p, 1, 4)), begin = add_step(p, IF, 0);
    p->step[begin].read = one(p, any(p, s));
    p->step[begin].n_read = 1;
    add_branch(p, *s, depth, result);
    const int other = add_step(p, ELSE, 0);
    p->partner[begin] = other;
    add_branch(p, *s, depth, result);
    const int end = add_step(p, END, begin);
    p->partner[other] = end;
    return result;
}

/* A state that is written before and in each iteration, and a result in parts. */
static void add_loop(program *p, scope *s, int depth) {
    const int count = pick(p, 1, 4);
    const int state = add_slot(p, pick(p, 1, 4)), stack = add_slot(p, count);
    add_work(p, s, WORK, state, true);
    const int begin = add_step(p, LOOP, 0);
    p->count[begin] = count;
    scope inside = *s;
    inside.slot[inside.n++] = state;
    add_block(p, &inside, depth + 1);
    add_work(p, &inside, PUT, stack, false);
    add_work(p, &inside, WORK, state, true);
    const int end = add_step(p, END, begin);
    p->partner[begin] = end;
    p->loop[p->n_loops++] = (kiln_flow_loop){begin, end};
    s->slot[s->n++] = state;
    s->slot[s->n++] = stack;
}

/* What a block makes is seen behind it, in it and in the blocks inside. */
static void add_block(program *p, scope *s, int depth) {
    for (int n = pick(p, 0, depth == 0 ? 8 : 4); n > 0; n--) {
        const int what = depth < MAX_DEPTH ? pick(p, 0, 5) : 5;
        if (what == 0) {
            s->slot[s->n] = add_if(p, s, depth);
            s->n++;
        } else if (what == 1) {
            add_loop(p, s, depth);
        } else {
            const int to = add_slot(p, pick(p, 1, 4));
            add_work(p, s, WORK, to, true);
            s->slot[s->n++] = to;
        }
    }
}

/* ---- running them ---------------------------------------------------------------- */

typedef struct machine {
    const program *p;
    const kiln_flow_plan *plan;
    kiln_rng *rng;
    int *owner; /* by unit of the arena: the slot that was written there last */
    int iteration[MAX_DEPTH + 1], depth;
} machine;

static void check_read(const machine *m, int slot, int step) {
    const int64_t at = m->plan->offset[slot];
    for (int64_t i = 0; at >= 0 && i < m->p->slot[slot].bytes / UNIT; i++)
        if (m->owner[at / UNIT + i] != slot)
            fail_msg("step %d reads slot %d, but there is slot %d", step, slot,
                     m->owner[at / UNIT + i]);
}

static void work(machine *m, int at) {
    const kiln_flow_step *step = &m->p->step[at];
    for (int i = 0; i < step->n_read; i++)
        check_read(m, step->read[i], at);
    for (int i = 0; i < step->n_write; i++) {
        const int slot = step->write[i];
        int *owner = m->owner + m->plan->offset[slot] / UNIT;
        if (m->p->kind[at] == PUT)
            owner[m->iteration[m->depth - 1]] = slot;
        else
            for (int64_t k = 0; k < m->p->slot[slot].bytes / UNIT; k++)
                owner[k] = slot;
    }
}

static int next(machine *m, int at) {
    const int partner = m->p->partner[at];
    switch (m->p->kind[at]) {
    case WORK:
    case PUT:
        break;
    case IF:
        return kiln_rng_range(m->rng, 0, 1) == 1 ? at + 1 : partner + 1;
    case ELSE:
        return partner;
    case LOOP:
        m->iteration[m->depth++] = 0;
        break;
    case END:
        if (m->p->kind[partner] != LOOP)
            break;
        if (++m->iteration[m->depth - 1] < m->p->count[partner])
            return partner + 1;
        m->depth--;
        break;
    }
    return at + 1;
}

static void run(const program *p, const kiln_flow_plan *plan, kiln_rng *rng) {
    machine m = {.p = p,
                 .plan = plan,
                 .rng = rng,
                 .owner = kiln_array(p->arena, int, plan->peak / UNIT + 1)};
    memset(m.owner, 0xFF, (size_t)(plan->peak / UNIT + 1) * sizeof *m.owner);
    for (int at = 0; at < p->n_steps; at = next(&m, at))
        work(&m, at);
}

static void steps_find_what_they_read(void **state) {
    (void)state;
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    int64_t in_place = 0, loops = 0, peak = 0, all = 0;
    for (int round = 0; round < ROUNDS; round++) {
        kiln_arena a = {0};
        program *p = kiln_new(&a, program);
        p->arena = &a;
        p->rng = &rng;
        scope s = {.n = 1};
        p->slot[add_slot(p, 1)].is_fixed = true;
        add_block(p, &s, 0);
        const kiln_flow flow = {p->slot,    p->step,    p->loop,
                                p->n_slots, p->n_steps, p->n_loops};
        kiln_flow_plan plan;
        kiln_plan_flow(&a, &flow, UNIT, &plan);
        assert_true(plan.peak >= plan.lower_bound);
        for (int i = 0; i < 6; i++)
            run(p, &plan, &rng);
        in_place += plan.n_in_place;
        loops += p->n_loops;
        peak += plan.peak;
        for (int i = 0; i < p->n_slots; i++)
            all += p->slot[i].bytes;
        kiln_arena_fini(&a);
    }
    print_message("%lld loops, %lld in place, peaks are %.2f of all bytes\n",
                  (long long)loops, (long long)in_place, (double)peak / (double)all);
    assert_true(loops > 100 && in_place > 100 && peak < all / 2);
}

int main(void) {
    kiln_test_add("steps_find_what_they_read", steps_find_what_they_read, NULL);
    return kiln_test_run("memory plan of branches and loops");
}
