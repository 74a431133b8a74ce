/* Random plans for three devices, each with memory and a queue of its own, two of them
 * in threads: what the compiler's waits (compiler/network/waits.c) put in order is all
 * that is. They must compute what the steps do one after another, and under `make tsan`
 * no two queues may touch memory at once.
 *
 *   KILN_SEED=N    the first plan's seed; each plan has the seed after the last one's
 *   KILN_SOAK=1    more plans
 *
 * Steps read and write the same few places over and over, on purpose: nothing is placed
 * so that queues keep out of one another's way. */
#include "compiler/network/executable_internal.h"
#include "runtime/arch.h"
#include "runtime/kiln.h"
#include "runtime/plan.h"
#include "tests/support/kiln_test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE = 64,   /* bytes of a place */
    LENGTH = 3,  /* lines of a sequence; the most iterations of a loop */
    N_LINES = 6, /* of each device's memory */
    N_DEVICES = 3,
    N_INPUTS = 2,
    N_OUTPUTS = N_DEVICES * N_LINES,
    MAX_DEPTH = 3,
    MAX_OPERANDS = 3
};

/* Slots: lines of each device, sequences of each, inputs, outputs. */
enum { N_PLACES = N_LINES + N_LINES - LENGTH + 1 };
enum { INPUTS = N_DEVICES * N_PLACES, OUTPUTS = INPUTS + N_INPUTS };
enum { N_SLOTS = OUTPUTS + N_OUTPUTS };

typedef struct trial {
    kiln_arena arena;
    kiln_rng rng;
    kiln_net net;
    int depth;
    bool is_in_loop;
} trial;

static int draw(trial *t, int low, int high) {
    return (int)kiln_rng_range(&t->rng, low, high);
}

/* ---- what a kernel does ----------------------------------------------------------- */

/* The first byte, by which branches are chosen, is 0 or 1. */
static void mix(const uint32_t *x, const uint32_t *y, uint32_t *z) {
    for (int i = 0; i < LINE / 4; i++) {
        const uint32_t h = x[i] * 2654435761U + y[i] + 1;
        z[i] = i > 0 ? h : (h & ~0xFFU) | (h >> 9 & 1);
    }
}

static int mix_kernel(const kiln_args *args, kiln_ctx *ctx) {
    (void)ctx;
    mix(args->tensor[0], args->tensor[1], args->tensor[2]);
    return 0;
}

static kiln_kernel_fn *find_kernel(void *user, const char *symbol) {
    (void)user;
    (void)symbol;
    return mix_kernel;
}

/* ---- random steps ----------------------------------------------------------------- */

static void add_slot(trial *t, kiln_net_place place, int device, uint32_t index,
                     int line, int n_lines) {
    const kiln_net_slot s = {.place = place,
                             .device = device,
                             .index = index,
                             .offset = (uint64_t)line * LINE,
                             .bytes = (int64_t)n_lines * LINE,
                             .view_of = -1};
    kiln_vec_push(&t->arena, &t->net.slot, s);
}

static void add_slots(trial *t) {
    for (int d = 0; d < N_DEVICES; d++) {
        for (int i = 0; i < N_LINES; i++)
            add_slot(t, KILN_NET_ARENA, d, 0, i, 1);
        for (int i = 0; i + LENGTH <= N_LINES; i++)
            add_slot(t, KILN_NET_ARENA, d, 0, i, LENGTH);
    }
    for (int i = 0; i < N_INPUTS; i++)
        add_slot(t, KILN_NET_INPUT, 0, (uint32_t)i, 0, 1);
    for (int i = 0; i < N_OUTPUTS; i++)
        add_slot(t, KILN_NET_OUTPUT, 0, (uint32_t)i, 0, 1);
}

static int line_of(int device, int line) { return device * N_PLACES + line; }
static int any_line(trial *t, int device) {
    return line_of(device, draw(t, 0, N_LINES - 1));
}
static int any_sequence(trial *t, int device) {
    return line_of(device, N_LINES + draw(t, 0, N_LINES - LENGTH));
}

static int add_step(trial *t, kiln_net_step_kind kind, int device, int n_read,
                    const int *operand, int n_operands) {
    const kiln_net_step s = {
        .kind = kind,
        .device = device,
        .operand = kiln_arena_dup(&t->arena, operand, (size_t)n_operands * sizeof(int)),
        .n_operands = n_operands,
        .n_read = n_read,
        .name = "step",
        .op = "op"};
    kiln_vec_push(&t->arena, &t->net.step, s);
    return (int)t->net.step.n - 1;
}

static void add_move(trial *t, kiln_net_step_kind kind, int device, int from, int to) {
    const int operand[] = {from, to};
    add_step(t, kind, device, 1, operand, 2);
}

/* Between a device's memory and the host's, or inside either. */
static void move(trial *t) {
    const int device = draw(t, 0, N_DEVICES - 1);
    const int from = draw(t, 0, 1) * device, to = draw(t, 0, 1) * device;
    const int kind = draw(t, 0, t->is_in_loop ? 3 : 1);
    if (kind == 0)
        add_move(t, KILN_NET_COPY, device, any_line(t, from), any_line(t, to));
    else if (kind == 1)
        add_move(t, KILN_NET_COPY, device, any_sequence(t, from), any_sequence(t, to));
    else if (kind == 2)
        add_move(t, KILN_NET_TAKE, device, any_sequence(t, from), any_line(t, to));
    else
        add_move(t, KILN_NET_PUT, device, any_line(t, from), any_sequence(t, to));
}

static void call(trial *t) {
    const int device = draw(t, 0, N_DEVICES - 1);
    const int operand[MAX_OPERANDS] = {any_line(t, device), any_line(t, device),
                                       any_line(t, device)};
    add_step(t, KILN_NET_CALL, device, 2, operand, MAX_OPERANDS);
}

static void block(trial *t);

static void choose(trial *t) {
    const int condition =
        draw(t, 0, 2) == 0 ? INPUTS + draw(t, 0, N_INPUTS - 1) : any_line(t, 0);
    const int begin = add_step(t, KILN_NET_IF, 0, 1, &condition, 1);
    block(t);
    const int other = add_step(t, KILN_NET_ELSE, 0, 0, &condition, 0);
    block(t);
    const int end = add_step(t, KILN_NET_END, 0, 0, &condition, 0);
    t->net.step.v[begin].partner = other;
    t->net.step.v[other].partner = end;
    t->net.step.v[end].partner = begin;
}

static void repeat(trial *t) {
    const bool was_in_loop = t->is_in_loop;
    const int begin = add_step(t, KILN_NET_LOOP, 0, 0, &begin, 0);
    t->net.step.v[begin].count = draw(t, 0, LENGTH);
    t->is_in_loop = true;
    block(t);
    t->is_in_loop = was_in_loop;
    const int end = add_step(t, KILN_NET_END, 0, 0, &begin, 0);
    t->net.step.v[begin].partner = end;
    t->net.step.v[end].partner = begin;
}

static void block(trial *t) {
    t->depth++;
    for (int i = draw(t, 1, 8); i-- > 0;) {
        const int kind = draw(t, 0, 9);
        if (kind == 0 && t->depth <= MAX_DEPTH)
            choose(t);
        else if (kind == 1 && t->depth <= MAX_DEPTH)
            repeat(t);
        else if (kind < 6)
            call(t);
        else
            move(t);
    }
    t->depth--;
}

/* All memory is written before, and shown afterwards. */
static void make(trial *t, uint64_t seed) {
    static const kiln_net_device kind[N_DEVICES] = {
        {.kind = "host"}, {.kind = "host2"}, {.kind = "host2"}};
    t->net = (kiln_net){.arena = &t->arena};
    kiln_rng_init(&t->rng, seed);
    for (int d = 0; d < N_DEVICES; d++)
        kiln_vec_push(&t->arena, &t->net.device, kind[d]);
    add_slots(t);
    for (int i = 0; i < N_OUTPUTS; i++)
        add_move(t, KILN_NET_COPY, i / N_LINES, INPUTS + i % N_INPUTS,
                 line_of(i / N_LINES, i % N_LINES));
    for (int i = 0; i < 3; i++)
        block(t);
    for (int i = 0; i < N_OUTPUTS; i++)
        add_move(t, KILN_NET_COPY, i / N_LINES, line_of(i / N_LINES, i % N_LINES),
                 OUTPUTS + i);
}

/* ---- one after another ------------------------------------------------------------ */

typedef struct memory {
    uint32_t arena[N_DEVICES][N_LINES][LINE / 4], in[N_INPUTS][LINE / 4],
        out[N_OUTPUTS][LINE / 4];
} memory;

static char *at(memory *m, const kiln_net *n, int slot) {
    const kiln_net_slot *s = &n->slot.v[slot];
    return s->place == KILN_NET_INPUT    ? (char *)m->in[s->index]
           : s->place == KILN_NET_OUTPUT ? (char *)m->out[s->index]
                                         : (char *)m->arena[s->device] + s->offset;
}

static void interpret(memory *m, const kiln_net *n, int begin, int end, int t) {
    for (int i = begin; i < end; i++) {
        const kiln_net_step *s = &n->step.v[i];
        if (s->kind == KILN_NET_IF) {
            const int other = s->partner, last = n->step.v[other].partner;
            const bool is_first = *at(m, n, s->operand[0]) != 0;
            interpret(m, n, is_first ? i + 1 : other + 1, is_first ? other : last, t);
            i = last;
        } else if (s->kind == KILN_NET_LOOP) {
            for (int k = 0; k < s->count; k++)
                interpret(m, n, i + 1, s->partner, k);
            i = s->partner;
        } else if (s->kind == KILN_NET_CALL) {
            mix((uint32_t *)(void *)at(m, n, s->operand[0]),
                (uint32_t *)(void *)at(m, n, s->operand[1]),
                (uint32_t *)(void *)at(m, n, s->operand[2]));
        } else {
            const char *from = at(m, n, s->operand[0]);
            char *to = at(m, n, s->operand[1]);
            const bool is_copy = s->kind == KILN_NET_COPY;
            from += s->kind == KILN_NET_TAKE ? (size_t)t * LINE : 0;
            to += s->kind == KILN_NET_PUT ? (size_t)t * LINE : 0;
            memmove(to, from,
                    is_copy ? (size_t)n->slot.v[s->operand[0]].bytes : (size_t)LINE);
        }
    }
}

/* ---- as a plan -------------------------------------------------------------------- */

static uint64_t append(kiln_buf *out, const void *table, size_t bytes) {
    static const char zeros[8] = {0};
    kiln_buf_add(out, zeros, (8 - out->n % 8) % 8);
    const uint64_t begin = out->n;
    kiln_buf_add(out, table, bytes);
    return begin;
}

/* Strings; each begins at its number. */
static const char strings[] = "host\0host2\0lib.so\0lib1.so\0lib2.so\0mix\0u32\0a\0b";
enum { HOST = 0, HOST2 = 5, LIB = 11, LIB1 = 18, LIB2 = 26, MIX = 34, U32 = 38 };

static void write_steps(const kiln_net *n, kiln_buf *steps, kiln_buf *operands) {
    for (size_t i = 0; i < n->step.n; i++) {
        const kiln_net_step *s = &n->step.v[i];
        const kiln_plan_step step = {
            .kind = (uint32_t)s->kind,
            .kernel = s->kind == KILN_NET_CALL ? (uint32_t)s->device : 0,
            .partner = (uint32_t)s->partner,
            .count = (uint32_t)s->count,
            .first_operand = (uint32_t)(operands->n / sizeof(uint32_t)),
            .n_operands = (uint32_t)s->n_operands,
            .name = MIX,
            .op = MIX,
            .queue = (uint32_t)s->device};
        kiln_buf_add(steps, &step, sizeof step);
        for (int k = 0; k < s->n_operands; k++) {
            const uint32_t slot = (uint32_t)s->operand[k];
            kiln_buf_add(operands, &slot, sizeof slot);
        }
    }
}

static void write_tensors(const kiln_net *n, kiln_buf *tensors, kiln_buf *ports) {
    for (size_t i = 0; i < n->slot.n; i++) {
        const kiln_net_slot *s = &n->slot.v[i];
        const bool is_port = s->place != KILN_NET_ARENA;
        const kiln_plan_tensor tensor = {(uint32_t)s->place,
                                         is_port ? s->index : (uint32_t)s->device,
                                         s->offset, (uint64_t)s->bytes};
        const kiln_plan_port port = {.name = MIX,
                                     .tensor = (uint32_t)i,
                                     .dtype = U32,
                                     .rank = 1,
                                     .dim = {LINE / 4},
                                     .bytes = LINE};
        kiln_buf_add(tensors, &tensor, sizeof tensor);
        if (is_port)
            kiln_buf_add(ports, &port, sizeof port);
    }
}

static kiln_str write_plan(trial *t) {
    static const uint64_t size[MAX_OPERANDS] = {LINE, LINE, LINE};
    static const uint32_t kind[N_DEVICES] = {HOST, HOST2, HOST2};
    static const uint32_t file[N_DEVICES] = {LIB, LIB1, LIB2};
    kiln_plan_kernel kernel[N_DEVICES];
    kiln_plan_device device[N_DEVICES];
    kiln_plan_space space[N_DEVICES];
    kiln_plan_queue queue[N_DEVICES];
    kiln_plan_module module[N_DEVICES];
    kiln_buf all, steps, operands, tensors, ports;
    kiln_buf *const buf[] = {&all, &steps, &operands, &tensors, &ports};
    for (size_t i = 0; i < sizeof buf / sizeof buf[0]; i++)
        kiln_buf_init(buf[i], &t->arena);
    for (uint32_t d = 0; d < N_DEVICES; d++) {
        kernel[d] = (kiln_plan_kernel){MIX, d, MAX_OPERANDS, 1, 0, 0, 0, 0};
        device[d].kind = kind[d];
        space[d] = (kiln_plan_space){d, 0, (uint64_t)N_LINES * LINE, 0};
        queue[d].device = d;
        module[d] = (kiln_plan_module){d, file[d]};
    }
    write_steps(&t->net, &steps, &operands);
    write_tensors(&t->net, &tensors, &ports);
    kiln_plan_header h = {.version = KILN_PLAN_VERSION,
                          .header_bytes = sizeof h,
                          .arch = (uint32_t)kiln_runtime_arch_here()->machine,
                          .n_tensors = N_SLOTS,
                          .n_inputs = N_INPUTS,
                          .n_outputs = N_OUTPUTS,
                          .n_kernels = N_DEVICES,
                          .n_sizes = MAX_OPERANDS,
                          .n_steps = (uint32_t)t->net.step.n,
                          .n_operands = (uint32_t)(operands.n / sizeof(uint32_t)),
                          .devices = {.n = N_DEVICES},
                          .spaces = {.n = N_DEVICES},
                          .queues = {.n = N_DEVICES},
                          .modules = {.n = N_DEVICES}};
    memcpy(h.magic, KILN_PLAN_MAGIC, sizeof h.magic);
    kiln_buf_add(&all, &h, sizeof h);
    h.tensors = append(&all, tensors.p, tensors.n);
    h.ports = append(&all, ports.p, ports.n);
    h.kernels = append(&all, kernel, sizeof kernel);
    h.sizes = append(&all, size, sizeof size);
    h.devices.at = append(&all, device, sizeof device);
    h.spaces.at = append(&all, space, sizeof space);
    h.queues.at = append(&all, queue, sizeof queue);
    h.modules.at = append(&all, module, sizeof module);
    h.steps = append(&all, steps.p, steps.n);
    h.open.at = append(&all, "", 0);
    h.operands = append(&all, operands.p, operands.n);
    h.strings = append(&all, strings, sizeof strings);
    h.string_bytes = sizeof strings;
    h.total_bytes = all.n;
    memcpy(all.p, &h, sizeof h);
    return (kiln_str){kiln_arena_dup(&t->arena, all.p, all.n), all.n};
}

/* ---- trials ----------------------------------------------------------------------- */

static void run(trial *t, uint64_t seed, memory *want, kiln_session *s) {
    for (int again = 0; again < 3; again++) {
        for (int i = 0; i < N_INPUTS; i++) {
            for (int k = 0; k < LINE / 4; k++)
                want->in[i][k] = (uint32_t)kiln_rng_next(&t->rng);
            want->in[i][0] &= ~0xFFU;
            want->in[i][0] |= (uint32_t)draw(t, 0, 1);
            assert_int_equal(kiln_session_set_input(s, i, want->in[i]), 0);
        }
        if (kiln_session_run(s) != 0)
            fail_msg("KILN_SEED=%" PRIu64 ": %s", seed, kiln_session_error(s));
    }
}

static void check_plan(uint64_t seed, int64_t *n_steps, int64_t *n_waits) {
    trial t = {.depth = 0};
    memory want;
    char error[KILN_ERROR_TEXT] = "";
    make(&t, seed);
    const kiln_net before = t.net;
    kiln_net_add_waits(&t.net);
    const kiln_str plan = write_plan(&t);
    const void *params = kiln_arena_alloc(&t.arena, LINE);
    const kiln_model_parts parts = {plan.p, plan.n, params, LINE, find_kernel, NULL};
    kiln_model *m = kiln_model_from_parts(&parts, NULL, error);
    kiln_session *s = m != NULL ? kiln_session_open(m, NULL, error) : NULL;
    if (s == NULL)
        fail_msg("KILN_SEED=%" PRIu64 ": %s", seed, error);
    run(&t, seed, &want, s);
    interpret(&want, &before, 0, (int)before.step.n, 0);
    for (int i = 0; i < N_OUTPUTS; i++)
        if (memcmp(kiln_session_output(s, i), want.out[i], LINE) != 0)
            fail_msg("KILN_SEED=%" PRIu64 ": line %d of device %d is another one", seed,
                     i % N_LINES, i / N_LINES);
    *n_steps += (int64_t)before.step.n;
    *n_waits += (int64_t)(t.net.step.n - before.step.n);
    kiln_session_close(s);
    kiln_model_close(m);
    kiln_arena_fini(&t.arena);
}

static void queues_keep_the_order_of_steps(void **state) {
    const int64_t n = kiln_test_cases(getenv("KILN_SOAK") != NULL ? 10000 : 300);
    const uint64_t first = kiln_test_seed();
    int64_t n_steps = 0, n_waits = 0;
    (void)state;
    for (uint64_t seed = first; seed < first + (uint64_t)n; seed++)
        check_plan(seed, &n_steps, &n_waits);
    kiln_test_tally("%" PRId64 " random plans of %d queues kept the order of %" PRId64
                    " steps by %" PRId64 " waits",
                    n, (int)N_DEVICES, n_steps, n_waits);
}

int main(void) {
    kiln_test_add("queues_keep_the_order_of_steps", queues_keep_the_order_of_steps,
                  NULL);
    return kiln_test_run("placed plans");
}
