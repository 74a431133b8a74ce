/* Reading a GPU's module: every number is held against its table. */
#include "runtime/gpu_module.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Past these a module is not one of ours: they bound what a hostile one can ask for. */
enum {
    MAX_ENTRIES = 1 << 20,
    MAX_NAME = 1024,
    MAX_THREADS = 1 << 16, /* of a block */
    MAX_SHARED = 1 << 24
};
#define MAX_WORKSPACE ((uint64_t)1 << 40)
#define MAX_BLOCKS ((uint64_t)1 << 40)
#define MAX_GRID ((uint32_t)INT32_MAX)

_Static_assert(sizeof(kiln_gpu_header) == 96, "packed as it is written");
_Static_assert(sizeof(kiln_gpu_kernel) == 24, "packed as it is written");
_Static_assert(sizeof(kiln_gpu_launch) == 40, "packed as it is written");
_Static_assert(sizeof(kiln_gpu_arg) == 16, "packed as it is written");

typedef struct reader {
    const char *bytes;
    uint64_t n;
    const kiln_gpu_header *h;
    kiln_gpu_module m;
    char *error;
} reader;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static int
refused(const reader *r, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(r->error, KILN_GPU_ERROR, fmt, ap);
    va_end(ap);
    return -1;
}

static int read_header(reader *r) {
    const uint64_t least = offsetof(kiln_gpu_header, language);
    if ((uintptr_t)r->bytes % sizeof(uint64_t) != 0)
        return refused(r, "gpu module: its bytes must be 8-byte aligned");
    r->h = (const kiln_gpu_header *)(const void *)r->bytes;
    if (r->n >= least && memcmp(r->h->magic, KILN_GPU_MAGIC, sizeof r->h->magic) != 0)
        return refused(r, "gpu module: does not begin with '%s'", KILN_GPU_MAGIC);
    /* Before its size: other versions have other headers. */
    if (r->n >= least && r->h->version != KILN_GPU_VERSION)
        return refused(r,
                       "gpu module: version %u, this runtime reads version %d: build "
                       "the package again, or use the runtime of the kiln that made it",
                       r->h->version, KILN_GPU_VERSION);
    if (r->n < sizeof(kiln_gpu_header))
        return refused(r, "gpu module: %llu bytes are too few for a header of %zu",
                       (unsigned long long)r->n, sizeof(kiln_gpu_header));
    if (r->n > KILN_GPU_MAX_BYTES || r->h->bytes != r->n)
        return refused(r, "gpu module: must have %llu bytes, at most %d; has %llu",
                       (unsigned long long)r->h->bytes, KILN_GPU_MAX_BYTES,
                       (unsigned long long)r->n);
    if (r->h->language < KILN_GPU_OPENCL_C || r->h->language > KILN_GPU_CUBIN)
        return refused(r,
                       "gpu module: language %u is not one of 1 (OpenCL C), 2 (PTX), 3 "
                       "(machine code of a GPU by NVIDIA)",
                       r->h->language);
    if (r->h->reserved != 0)
        return refused(r, "gpu module: the reserved number must be 0, is %u",
                       r->h->reserved);
    return 0;
}

static int is_table(const reader *r, uint64_t at, uint64_t count, uint64_t size) {
    return count <= MAX_ENTRIES && at % sizeof(uint64_t) == 0 && at <= r->n &&
           count * size <= r->n - at;
}

static int is_text(const reader *r, uint64_t at, uint64_t bytes) {
    return bytes > 0 && at <= r->n && bytes <= r->n - at &&
           r->bytes[at + bytes - 1] == '\0';
}

static int read_tables(reader *r) {
    const kiln_gpu_header *h = r->h;
    if (!is_table(r, h->kernels, h->n_kernels, sizeof(kiln_gpu_kernel)) ||
        !is_table(r, h->launches, h->n_launches, sizeof(kiln_gpu_launch)) ||
        !is_table(r, h->args, h->n_args, sizeof(kiln_gpu_arg)))
        return refused(r, "gpu module: a table lies outside the file");
    if (!is_text(r, h->strings, h->string_bytes))
        return refused(r, "gpu module: its strings do not end in the file");
    const int is_binary = h->language == KILN_GPU_CUBIN;
    if (!is_text(r, h->code, h->code_bytes) ||
        (!is_binary && memchr(r->bytes + h->code, '\0', (size_t)h->code_bytes) !=
                           r->bytes + h->code + h->code_bytes - 1))
        return refused(r, "gpu module: its code is no text that ends in the file");
    if (is_binary && h->code % sizeof(uint64_t) != 0)
        return refused(r, "gpu module: its code is not aligned");
    r->m = (kiln_gpu_module){
        .header = h,
        .kernel = (const kiln_gpu_kernel *)(const void *)(r->bytes + h->kernels),
        .launch = (const kiln_gpu_launch *)(const void *)(r->bytes + h->launches),
        .arg = (const kiln_gpu_arg *)(const void *)(r->bytes + h->args),
        .string = r->bytes + h->strings,
        .code = r->bytes + h->code};
    return 0;
}

/* A name of C or of PTX: it is shown in messages too. */
static int is_name(const reader *r, uint32_t at) {
    if (at >= r->h->string_bytes)
        return 0;
    const uint64_t rest = r->h->string_bytes - at;
    const char *s = r->m.string + at,
               *end = memchr(s, '\0', (size_t)(rest < MAX_NAME ? rest : MAX_NAME));
    return end != NULL && end > s &&
           strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                     "0123456789_$.") == (size_t)(end - s);
}

static int is_range(uint32_t first, uint32_t n, uint32_t all) {
    return first <= all && n <= all - first;
}

static int check_extents(const reader *r, uint32_t launch) {
    const kiln_gpu_launch *l = &r->m.launch[launch];
    uint64_t n_blocks = 1,
             n_threads = 1; /* neither can overflow before it is refused */
    for (int i = 0; i < KILN_GPU_AXES; i++) {
        if (l->grid[i] == 0 || l->grid[i] > MAX_GRID || l->block[i] == 0 ||
            l->block[i] > MAX_THREADS)
            return refused(r,
                           "gpu module: launch %u has %u blocks of %u threads along "
                           "axis %d",
                           launch, l->grid[i], l->block[i], i);
        if (n_blocks <= MAX_BLOCKS)
            n_blocks *= l->grid[i];
        n_threads *= l->block[i];
    }
    if (n_blocks > MAX_BLOCKS || n_threads > MAX_THREADS)
        return refused(r,
                       "gpu module: launch %u must have at most 2^40 blocks of %d "
                       "threads",
                       launch, MAX_THREADS);
    if (l->shared_bytes > MAX_SHARED)
        return refused(r, "gpu module: launch %u asks for %u bytes of shared memory",
                       launch, l->shared_bytes);
    return 0;
}

/* What does not depend on whose it is. */
static int check_launch(const reader *r, uint32_t launch) {
    const kiln_gpu_launch *l = &r->m.launch[launch];
    if (!is_name(r, l->entry))
        return refused(r, "gpu module: launch %u has no name of an entry", launch);
    if (l->n_args > KILN_GPU_MAX_ARGS ||
        !is_range(l->first_arg, l->n_args, r->h->n_args))
        return refused(r,
                       "gpu module: launch %u must have at most %d arguments, all of "
                       "the table",
                       launch, KILN_GPU_MAX_ARGS);
    return check_extents(r, launch);
}

static const char *check_arg(const kiln_gpu_kernel *k, const kiln_gpu_arg *a) {
    switch ((kiln_gpu_arg_kind)a->kind) {
    case KILN_GPU_OPERAND:
        return a->index >= k->n_operands ? "is an operand that the kernel does not have"
               : a->value != 0           ? "is an operand with a value"
                                         : NULL;
    case KILN_GPU_WORKSPACE:
        return a->value >= k->workspace_bytes || a->value % 64 != 0
                   ? "must be a multiple of 64 inside the workspace"
               : a->index != 0 ? "is no operand, but has an index"
                               : NULL;
    case KILN_GPU_I64:
        return a->index != 0 ? "is no operand, but has an index" : NULL;
    }
    return "is of no kind";
}

static int check_kernel(const reader *r, uint32_t kernel) {
    const kiln_gpu_kernel *k = &r->m.kernel[kernel];
    if (!is_name(r, k->symbol))
        return refused(r, "gpu module: kernel %u has no symbol", kernel);
    if (k->n_launches == 0 ||
        !is_range(k->first_launch, k->n_launches, r->h->n_launches))
        return refused(r, "gpu module: kernel %u must have launches, all of the table",
                       kernel);
    if (k->workspace_bytes > MAX_WORKSPACE)
        return refused(r, "gpu module: kernel %u asks for more than 2^40 bytes",
                       kernel);
    for (uint32_t i = 0; i < k->n_launches; i++) {
        const kiln_gpu_launch *l = &r->m.launch[k->first_launch + i];
        for (uint32_t j = 0; j < l->n_args; j++) {
            const char *wrong = check_arg(k, &r->m.arg[l->first_arg + j]);
            if (wrong != NULL)
                return refused(r, "gpu module: argument %u of launch %u of '%.80s' %s",
                               j, i, r->m.string + k->symbol, wrong);
        }
    }
    return 0;
}

int kiln_gpu_module_check(const void *bytes, size_t n, kiln_gpu_module *out,
                          char error[KILN_GPU_ERROR]) {
    reader r = {.bytes = bytes, .n = n, .error = error};
    uint64_t n_launches = 0;
    if (read_header(&r) != 0 || read_tables(&r) != 0)
        return -1;
    for (uint32_t i = 0; i < r.h->n_launches; i++)
        if (check_launch(&r, i) != 0)
            return -1;
    for (uint32_t i = 0; i < r.h->n_kernels; i++) {
        /* Kernels may share launches, but not so many that reading them takes ages. */
        n_launches += r.m.kernel[i].n_launches;
        if (n_launches > MAX_ENTRIES)
            return refused(&r, "gpu module: its kernels have more than %d launches",
                           MAX_ENTRIES);
        if (check_kernel(&r, i) != 0)
            return -1;
    }
    *out = r.m;
    return 0;
}

const kiln_gpu_kernel *kiln_gpu_module_find(const kiln_gpu_module *m,
                                            const char *symbol) {
    for (uint32_t i = 0; i < m->header->n_kernels; i++)
        if (strcmp(m->string + m->kernel[i].symbol, symbol) == 0)
            return &m->kernel[i];
    return NULL;
}
