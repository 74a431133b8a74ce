#include "tests/support/gpu/gpu_module_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

typedef struct writer {
    kiln_gpu_kernel kernel[MOST];
    kiln_gpu_launch launch[MOST];
    kiln_gpu_arg arg[MOST];
    char string[16 * MOST];
    uint32_t n_kernels, n_launches, n_args, string_bytes;
} writer;

static uint32_t put_string(writer *w, const char *s) {
    const uint32_t at = w->string_bytes;
    const size_t bytes = strlen(s) + 1;
    KILN_ASSERT(at + bytes <= sizeof w->string, "a module of too many names");
    memcpy(w->string + at, s, bytes);
    w->string_bytes += (uint32_t)bytes;
    return at;
}

static void put_arg(writer *w, const char *word) {
    const int64_t value = strtoll(word + 1, NULL, 10);
    kiln_gpu_arg *a = &w->arg[w->n_args++];
    KILN_ASSERT(w->n_args <= MOST, "a module of too many arguments");
    if (word[0] == 'o')
        *a = (kiln_gpu_arg){KILN_GPU_OPERAND, (uint32_t)value, 0};
    else if (word[0] == 'w')
        *a = (kiln_gpu_arg){KILN_GPU_WORKSPACE, 0, (uint64_t)value};
    else
        *a = (kiln_gpu_arg){KILN_GPU_I64, 0, (uint64_t)value};
}

static uint32_t number(char **rest) {
    const char *word = strtok_r(NULL, " ", rest);
    KILN_ASSERT(word != NULL, "a line of a module lacks a number");
    return (uint32_t)strtoul(word, NULL, 10);
}

static void put_line(writer *w, char *line) {
    char *rest = NULL;
    const char *word = strtok_r(line, " ", &rest), *name = strtok_r(NULL, " ", &rest);
    KILN_ASSERT(word != NULL && name != NULL, "a line of a module lacks a name");
    KILN_ASSERT(w->n_kernels < MOST && w->n_launches < MOST, "too large a module");
    const uint32_t at = put_string(w, name);
    if (strcmp(word, "kernel") == 0) {
        kiln_gpu_kernel *k = &w->kernel[w->n_kernels++];
        *k = (kiln_gpu_kernel){.symbol = at, .first_launch = w->n_launches};
        k->n_operands = number(&rest);
        k->workspace_bytes = number(&rest);
        return;
    }
    kiln_gpu_launch *l = &w->launch[w->n_launches++];
    *l = (kiln_gpu_launch){.entry = at, .first_arg = w->n_args};
    for (int i = 0; i < KILN_GPU_AXES; i++)
        l->grid[i] = number(&rest);
    for (int i = 0; i < KILN_GPU_AXES; i++)
        l->block[i] = number(&rest);
    while ((word = strtok_r(NULL, " ", &rest)) != NULL)
        put_arg(w, word);
    l->n_args = w->n_args - l->first_arg;
    w->kernel[w->n_kernels - 1].n_launches++;
}

static uint64_t up(uint64_t n) { return (n + 7) / 8 * 8; }

const void *kiln_gpu_module_text(kiln_arena *a, kiln_gpu_language language,
                                 const char *text, const char *code, size_t *n) {
    writer *w = kiln_arena_alloc(a, sizeof *w);
    memset(w, 0, sizeof *w);
    char *copy = kiln_arena_dup(a, text, strlen(text) + 1), *rest = NULL;
    for (char *line = strtok_r(copy, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest))
        put_line(w, line);
    kiln_gpu_header h = {.version = KILN_GPU_VERSION,
                         .language = language,
                         .n_kernels = w->n_kernels,
                         .n_launches = w->n_launches,
                         .n_args = w->n_args,
                         .kernels = sizeof h,
                         .string_bytes = w->string_bytes,
                         .code_bytes = strlen(code) + 1};
    memcpy(h.magic, KILN_GPU_MAGIC, sizeof h.magic);
    h.launches = up(h.kernels + w->n_kernels * sizeof *w->kernel);
    h.args = up(h.launches + w->n_launches * sizeof *w->launch);
    h.strings = up(h.args + w->n_args * sizeof *w->arg);
    h.code = up(h.strings + h.string_bytes);
    h.bytes = h.code + h.code_bytes;
    char *bytes = kiln_arena_alloc(a, (size_t)h.bytes);
    memset(bytes, 0, (size_t)h.bytes);
    memcpy(bytes, &h, sizeof h);
    memcpy(bytes + h.kernels, w->kernel, w->n_kernels * sizeof *w->kernel);
    memcpy(bytes + h.launches, w->launch, w->n_launches * sizeof *w->launch);
    memcpy(bytes + h.args, w->arg, w->n_args * sizeof *w->arg);
    memcpy(bytes + h.strings, w->string, w->string_bytes);
    memcpy(bytes + h.code, code, (size_t)h.code_bytes);
    *n = (size_t)h.bytes;
    return bytes;
}
