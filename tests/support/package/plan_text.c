/* Steps from words, tables in a row. */
#include "tests/support/package/plan_text.h"

#include "runtime/arch.h"

#include <stdlib.h>
#include <string.h>

enum { X, V, C, Y, Z, W, S, E, B, T, NONE, P, Q, A, D, F, G, R, N_TENSORS };
enum { N_HOST_TENSORS = A };
static const char *const tensor_name[N_TENSORS] = {"x", "v", "c", "y", "z",    "w",
                                                   "s", "e", "b", "t", "none", "p",
                                                   "q", "a", "d", "f", "g",    "r"};
static const char *const kernel_name[] = {"add", "big", "add2"};
static const char *const kind_name[KILN_PLAN_N_KINDS] = {
    [KILN_PLAN_LAUNCH] = "call", [KILN_PLAN_COPY] = "copy", [KILN_PLAN_IF] = "if",
    [KILN_PLAN_ELSE] = "else",   [KILN_PLAN_LOOP] = "loop", [KILN_PLAN_END] = "end",
    [KILN_PLAN_TAKE] = "take",   [KILN_PLAN_PUT] = "put",   [KILN_PLAN_WAIT] = "wait"};

/* Strings: names of the inputs and outputs, types, kernels; "step" names all steps. */
static const char strings[] = "x\0v\0c\0y\0z\0f32\0bool\0add\0big\0step\0"
                              "host\0host2\0lib.so\0two.so\0";
enum { NAME_X, F32 = 10, BOOL = 14, ADD = 19, BIG = 23, STEP = 27 };
enum { HOST = 32, HOST2 = 37, LIB = 43, TWO = 50 };

static void set_tables(kiln_test_plan *p) {
    static const kiln_plan_tensor tensors[N_TENSORS] = {
        [X] = {KILN_PLAN_INPUT, 0, 0, 256},    [V] = {KILN_PLAN_INPUT, 1, 0, 64},
        [C] = {KILN_PLAN_INPUT, 2, 0, 1},      [Y] = {KILN_PLAN_OUTPUT, 0, 0, 256},
        [Z] = {KILN_PLAN_OUTPUT, 1, 0, 64},    [W] = {KILN_PLAN_PARAM, 0, 0, 64},
        [S] = {KILN_PLAN_ARENA, 0, 0, 64},     [E] = {KILN_PLAN_ARENA, 0, 64, 64},
        [B] = {KILN_PLAN_ARENA, 0, 128, 256},  [T] = {KILN_PLAN_ARENA, 0, 384, 1},
        [NONE] = {KILN_PLAN_ARENA, 0, 448, 0}, [P] = {KILN_PLAN_PACKED, 0, 0, 64},
        [Q] = {KILN_PLAN_PACKED, 0, 64, 64},   [A] = {KILN_PLAN_ARENA, 1, 0, 64},
        [D] = {KILN_PLAN_ARENA, 1, 64, 64},    [F] = {KILN_PLAN_ARENA, 1, 128, 64},
        [G] = {KILN_PLAN_ARENA, 1, 192, 256},  [R] = {KILN_PLAN_PACKED, 1, 0, 64}};
    memcpy(p->tensor, tensors, sizeof tensors);
    for (uint32_t i = 0; i < 5; i++)
        p->port[i] = (kiln_plan_port){.name = NAME_X + 2 * i,
                                      .tensor = i,
                                      .dtype = i == C ? BOOL : F32,
                                      .rank = i == C ? 0 : 1,
                                      .dim = {i == C ? 0 : tensors[i].bytes / 4},
                                      .bytes = tensors[i].bytes};
    p->kernel[0] = (kiln_plan_kernel){ADD, 0, 3, 1, 0, 0, 128, 64};
    p->kernel[1] = (kiln_plan_kernel){BIG, 0, 2, 1, 3, 0, 0, 0};
    p->kernel[2] = (kiln_plan_kernel){ADD, 1, 3, 1, 5, 0, 128, 64};
    for (int i = 0; i < 8; i++)
        p->size[i] = i != 4 ? 64 : 1;
    memcpy(p->strings, strings, sizeof strings);
    p->header = (kiln_plan_header){.version = KILN_PLAN_VERSION,
                                   .header_bytes = sizeof p->header,
                                   .model = STEP,
                                   .profile = STEP,
                                   .arch = (uint32_t)kiln_runtime_arch_here()->machine,
                                   .n_tensors = N_HOST_TENSORS,
                                   .n_inputs = 3,
                                   .n_outputs = 2,
                                   .n_kernels = 2,
                                   .n_sizes = 5,
                                   .param_bytes = 64,
                                   .workspace_bytes = 128,
                                   .scratch_bytes = 64,
                                   .devices = {.n = 1},
                                   .spaces = {.n = 1},
                                   .queues = {.n = 1},
                                   .modules = {.n = 1}};
    p->space[0] = (kiln_plan_space){0, 0, 448, 128};
    p->device[0].kind = HOST;
    p->module[0].file = LIB;
    memcpy(p->header.magic, KILN_PLAN_MAGIC, sizeof p->header.magic);
}

static void add_device(kiln_test_plan *p) {
    p->header.n_tensors = N_TENSORS;
    p->header.n_kernels = 3;
    p->header.n_sizes = 8;
    p->header.devices.n = p->header.spaces.n = p->header.modules.n = 2;
    p->header.queues.n = 3;
    p->device[1].kind = HOST2;
    p->space[1] = (kiln_plan_space){1, 0, 448, 64};
    p->queue[1].device = p->queue[2].device = 1;
    p->module[1] = (kiln_plan_module){1, TWO};
}

/* The next word of a step; empty at its end. */
static kiln_str next_word(const char **at) {
    while (**at == ' ')
        (*at)++;
    const char *begin = *at;
    *at += strcspn(*at, " ;");
    return (kiln_str){begin, (size_t)(*at - begin)};
}

static uint32_t find(kiln_str word, const char *const *names, int n) {
    for (int i = 0; i < n; i++)
        if (kiln_str_is(word, names[i]))
            return (uint32_t)i;
    KILN_ASSERT(false, "'%.*s' is not known to hand-made plans", KILN_STR_ARG(word));
    return 0;
}

static kiln_plan_step *next_step(kiln_test_plan *p, bool is_open) {
    KILN_ASSERT(p->header.n_steps < KILN_TEST_PLAN_STEPS &&
                    p->header.open.n < KILN_TEST_PLAN_OPEN,
                "too many steps");
    return is_open ? &p->open[p->header.open.n++] : &p->step[p->header.n_steps++];
}

static void read_step(kiln_test_plan *p, const char **at) {
    kiln_str kind = next_word(at);
    const bool is_open = kiln_str_is(kind, "open");
    kiln_plan_step *s = next_step(p, is_open);
    if (is_open)
        kind = next_word(at);
    const uint32_t queue =
        kind.n > 1 && kind.p[0] == '@' ? (uint32_t)(kind.p[1] - '0') : 0;
    if (kind.n > 1 && kind.p[0] == '@')
        kind = next_word(at);
    *s = (kiln_plan_step){.kind = find(kind, kind_name, KILN_PLAN_N_KINDS),
                          .first_operand = p->header.n_operands,
                          .name = STEP,
                          .op = STEP,
                          .queue = queue};
    if (s->kind == KILN_PLAN_LAUNCH)
        s->kernel = find(next_word(at), kernel_name, 3);
    if (s->kind == KILN_PLAN_WAIT)
        s->partner = (uint32_t)strtoul(next_word(at).p, NULL, 10);
    if (s->kind == KILN_PLAN_LOOP)
        s->count = (uint32_t)strtoul(next_word(at).p, NULL, 10);
    for (kiln_str word; (word = next_word(at)).n > 0; s->n_operands++)
        p->operand[p->header.n_operands++] = find(word, tensor_name, N_TENSORS);
}

static void find_partners(kiln_test_plan *p) {
    uint32_t open[KILN_TEST_PLAN_STEPS], depth = 0;
    for (uint32_t i = 0; i < p->header.n_steps; i++) {
        kiln_plan_step *s = &p->step[i];
        if (s->kind == KILN_PLAN_IF || s->kind == KILN_PLAN_LOOP) {
            open[depth++] = i;
        } else if (s->kind == KILN_PLAN_ELSE && depth > 0) {
            p->step[open[depth - 1]].partner = i;
        } else if (s->kind == KILN_PLAN_END && depth > 0) {
            kiln_plan_step *begin = &p->step[open[--depth]];
            s->partner = open[depth];
            if (p->step[begin->partner].kind == KILN_PLAN_ELSE)
                begin = &p->step[begin->partner];
            begin->partner = i;
        }
    }
}

void kiln_test_plan_read(const char *steps, kiln_test_plan *out) {
    memset(out, 0, sizeof *out);
    set_tables(out);
    if (strchr(steps, '@') != NULL)
        add_device(out);
    while (*steps != '\0') {
        read_step(out, &steps);
        steps += *steps == ';';
    }
    find_partners(out);
}

static uint64_t append(char *to, uint64_t *n, const void *table, size_t bytes) {
    const uint64_t at = (*n + 7) / 8 * 8;
    memset(to + *n, 0, (size_t)(at - *n));
    memcpy(to + at, table, bytes);
    *n = at + bytes;
    return at;
}

kiln_str kiln_test_plan_write(kiln_arena *a, const kiln_test_plan *p) {
    const kiln_test_plan *q = p;
    kiln_plan_header h = p->header;
    char *bytes = kiln_arena_alloc(a, sizeof *q + 256); /* with what aligns */
    uint64_t n = sizeof h;
    h.tensors = append(bytes, &n, q->tensor, sizeof q->tensor);
    h.ports = append(bytes, &n, q->port, sizeof q->port);
    h.kernels = append(bytes, &n, q->kernel, sizeof q->kernel);
    h.sizes = append(bytes, &n, q->size, sizeof q->size);
    h.devices.at = append(bytes, &n, q->device, sizeof q->device);
    h.spaces.at = append(bytes, &n, q->space, sizeof q->space);
    h.queues.at = append(bytes, &n, q->queue, sizeof q->queue);
    h.modules.at = append(bytes, &n, q->module, sizeof q->module);
    h.steps = append(bytes, &n, q->step, h.n_steps * sizeof q->step[0]);
    h.open.at = append(bytes, &n, q->open, (size_t)h.open.n * sizeof q->open[0]);
    h.operands = append(bytes, &n, q->operand, h.n_operands * sizeof q->operand[0]);
    h.strings = append(bytes, &n, q->strings, sizeof q->strings);
    h.string_bytes = sizeof q->strings;
    h.total_bytes = n;
    memcpy(bytes, &h, sizeof h);
    return (kiln_str){kiln_arena_dup(a, bytes, (size_t)n), (size_t)n};
}
