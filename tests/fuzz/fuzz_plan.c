/* plan.bin: whatever a plan says, checking it stays inside its bytes, and an accepted
 * one is run to its end inside the session's memory, by kernels that touch every byte
 * that the plan states for them (the sanitizer watches). */
#include "tests/fuzz/fuzz.h"

#include "base/base.h"
#include "runtime/kiln.h"
#include "runtime/plan.h"

#include <string.h>

/* Larger plans are checked, but not run. */
enum { MAX_KERNELS = 4, MAX_BYTES = 16 << 10, MAX_STEPS = 4096, MAX_QUEUES = 4 };

static kiln_plan plan;
static uint32_t n_found;
static volatile unsigned char sink;

static int touch(uint32_t index, const kiln_args *args, const kiln_ctx *ctx) {
    const kiln_plan_kernel *k = &plan.kernel[index];
    const uint64_t *size = plan.size + k->first_size;
    for (uint32_t i = 0; i < k->n_operands; i++) {
        unsigned char *bytes = args->tensor[i];
        KILN_ASSERT((uintptr_t)bytes % KILN_PLAN_ALIGN == 0, "a crooked tensor");
        if (i >= k->n_operands - k->n_written)
            memset(bytes, (int)(i + 1), (size_t)size[i]);
        for (uint64_t at = 0; at < size[i]; at++)
            sink ^= bytes[at];
    }
    memset(args->workspace, 0xA5, (size_t)k->workspace_bytes);
    memset(ctx->scratch, 0x5A, (size_t)k->scratch_bytes);
    return 0;
}

#define KERNEL(i)                                                                      \
    static int kernel_##i(const kiln_args *args, kiln_ctx *ctx) {                      \
        return touch(i, args, ctx);                                                    \
    }
KERNEL(0)
KERNEL(1)
KERNEL(2)
KERNEL(3)
#undef KERNEL

/* A model asks for its kernels in order. */
static kiln_kernel_fn *next_kernel(void *user, const char *symbol) {
    static kiln_kernel_fn *const kernel[MAX_KERNELS] = {kernel_0, kernel_1, kernel_2,
                                                        kernel_3};
    (void)user;
    (void)symbol;
    return kernel[n_found++];
}

static bool is_small(void) {
    const kiln_plan_header *h = plan.header;
    uint64_t bytes = kiln_plan_arena_bytes(&plan) + kiln_plan_packed_bytes(&plan) +
                     h->param_bytes +
                     (h->workspace_bytes + h->scratch_bytes) * h->queues.n,
             steps = h->n_steps;
    for (uint32_t i = 0; i < h->n_inputs + h->n_outputs && bytes <= MAX_BYTES; i++)
        bytes += plan.port[i].bytes;
    for (uint32_t i = 0; i < h->n_steps && steps <= MAX_STEPS; i++)
        if (plan.step[i].kind == KILN_PLAN_LOOP && plan.step[i].count > 1)
            steps *= plan.step[i].count;
    return h->n_kernels <= MAX_KERNELS && h->queues.n <= MAX_QUEUES &&
           bytes <= MAX_BYTES && steps <= MAX_STEPS && h->open.n <= MAX_STEPS;
}

static void run(kiln_arena *a, const void *bytes, size_t n) {
    char error[KILN_ERROR_TEXT];
    const size_t param_bytes = (size_t)plan.header->param_bytes;
    const kiln_model_parts parts = {
        bytes,       n,           kiln_arena_alloc(a, param_bytes + KILN_PLAN_ALIGN),
        param_bytes, next_kernel, NULL};
    n_found = 0;
    kiln_model *m = kiln_model_from_parts(&parts, NULL, error);
    if (m == NULL)
        return; /* for another machine, or devices that nobody has */
    kiln_session *s = kiln_session_open(m, NULL, error);
    KILN_ASSERT(s != NULL, "%s", error);
    const void *zeros = kiln_arena_alloc(a, MAX_BYTES);
    for (int i = 0; i < kiln_model_n_inputs(m); i++)
        KILN_ASSERT(kiln_session_set_input(s, i, zeros) == 0, "an input is refused");
    KILN_ASSERT(kiln_session_run(s) == 0, "%s", kiln_session_error(s));
    kiln_session_close(s);
    kiln_model_close(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kiln_arena a = {0};
    char error[KILN_PLAN_ERROR];
    const void *bytes = kiln_arena_dup(&a, data, size); /* aligned */
    if (kiln_plan_check(bytes, size, &plan, error) == 0) {
        if (is_small())
            run(&a, bytes, size);
    } else {
        KILN_ASSERT(error[0] != '\0', "a plan is refused without a reason");
    }
    kiln_arena_fini(&a);
    return 0;
}
