#include "tests/support/gpu/gpu_trial.h"

#include "tests/support/gpu/gpu_module_text.h"

#include <stdio.h>
#include <string.h>

enum { N = KILN_GPU_TRIAL_N, TENSORS = KILN_GPU_TRIAL_TENSORS, WORKSPACE = 4096 };

const char kiln_gpu_trial_kernels[] = "kernel step 2 2048\n"
                                      "launch times5 3 1 1 64 1 1 o0 w1024 i192\n"
                                      "launch plus3 6 1 1 32 1 1 w1024 o1\n"
                                      "kernel mix 3 0\n"
                                      "launch mixed 2 3 1 8 4 1 o0 o1 o2\n";

const char kiln_gpu_trial_opencl[] =
    "kernel void times5(global const uint *restrict x, global uint *restrict w, long "
    "n)\n"
    "{ const size_t i = get_group_id(0) * get_local_size(0) + get_local_id(0);\n"
    "  if (i < (size_t)n) w[i] = 5 * x[i]; }\n"
    "kernel void plus3(global const uint *restrict w, global uint *restrict y)\n"
    "{ const size_t i = get_global_id(0); y[i] = w[i] + 3; }\n"
    "kernel void mixed(global const uint *x, global const uint *y, global uint *z)\n"
    "{ local uint part[32];\n"
    "  const size_t at = get_local_id(1) * 8 + get_local_id(0);\n"
    "  const size_t block = (get_group_id(1) * 2 + get_group_id(0)) * 32;\n"
    "  part[at] = y[191 - block - at];\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  z[block + 31 - at] = x[block + 31 - at] + 7 * part[31 - at]; }\n";

/* ---- a trial that is open --------------------------------------------------------- */

bool kiln_gpu_trial_open(kiln_gpu_trial *t, const char *kind,
                         const kiln_allocator *allocator, const char *ptx,
                         char error[KILN_ERROR_TEXT]) {
    kiln_arena a = {0};
    kiln_device_image image = {0};
    const kiln_device_queue_options options = {.workspace_bytes = WORKSPACE};
    *t = (kiln_gpu_trial){.kind = kiln_device_kind_named(kind, NULL, 0)};
    image.bytes = kiln_gpu_module_text(
        &a, ptx != NULL ? KILN_GPU_PTX : KILN_GPU_OPENCL_C, kiln_gpu_trial_kernels,
        ptx != NULL ? ptx : kiln_gpu_trial_opencl, &image.n);
    bool is_open = t->kind->open(allocator, &t->device, error) == 0 &&
                   t->kind->module_open(t->device, &image, &t->module, error) == 0 &&
                   t->kind->queue_open(t->device, &options, &t->queue[0], error) == 0 &&
                   t->kind->queue_open(t->device, &options, &t->queue[1], error) == 0 &&
                   t->kind->module_kernel(t->module, "step", &t->step) == 0 &&
                   t->kind->module_kernel(t->module, "mix", &t->mix) == 0;
    kiln_arena_fini(&a); /* the file may go */
    if (!is_open)
        return false;
    t->memory = t->kind->alloc(t->device, 0, (size_t)TENSORS * KILN_GPU_TRIAL_BYTES);
    if (t->memory == NULL)
        snprintf(error, KILN_ERROR_TEXT, "no memory for tensors");
    return t->memory != NULL;
}

void kiln_gpu_trial_close(kiln_gpu_trial *t) {
    if (t->device == NULL)
        return;
    t->kind->release(t->device, 0, t->memory);
    for (int i = 0; i < 2; i++)
        if (t->queue[i] != NULL)
            t->kind->queue_close(t->queue[i]);
    t->kind->module_close(t->module);
    t->kind->close(t->device);
}

/* ---- the model -------------------------------------------------------------------- */

/* A tensor of the device, or a row of the host's room. */
typedef struct value {
    uint32_t want[N]; /* what it must be when all is done */
    uint64_t used[2]; /* last ticket of each queue that touches it */
    uint32_t *host;   /* NULL: on the device */
    void *at;         /* its address */
} value;

typedef struct run {
    const kiln_gpu_trial *t;
    kiln_rng rng;
    value value[2 * TENSORS]; /* the device's, then the host's */
} run;

static int draw(run *r, int n) { return (int)kiln_rng_range(&r->rng, 0, n - 1); }

/* What the queue is told next comes after all that the other was told about it. */
static void wait_for(run *r, int queue, const value *v) {
    const int other = 1 - queue;
    if (v->used[other] > 0)
        r->t->kind->order(r->t->queue[queue], r->t->queue[other], v->used[other]);
}

static void copy(run *r, int queue) {
    value *from = &r->value[draw(r, 2 * TENSORS)];
    value *to =
        &r->value[draw(r, TENSORS) + (from->host != NULL ? 0 : draw(r, 2) * TENSORS)];
    const size_t n = (size_t)draw(r, N + 1),
                 at = n < N ? (size_t)draw(r, (int)(N - n)) : 0;
    const kiln_device_copy c = {(uint32_t *)to->at + at, (uint32_t *)from->at + at,
                                n * sizeof(uint32_t), 0};
    wait_for(r, queue, from);
    wait_for(r, queue, to);
    from->used[queue] = to->used[queue] = r->t->kind->copy(r->t->queue[queue], &c);
    memmove(to->want + at, from->want + at, n * sizeof(uint32_t));
}

static void launch(run *r, int queue) {
    int which[3] = {draw(r, TENSORS), 0, 0};
    const bool is_mix = draw(r, 2) == 1;
    const uint32_t n_operands = is_mix ? 3 : 2;
    void *operand[3];
    /* Three different ones: kernels' arguments are restrict. */
    which[1] = (which[0] + 1 + draw(r, TENSORS - 2)) % TENSORS;
    which[2] = (which[0] + TENSORS - 1) % TENSORS;
    for (uint32_t i = 0; i < n_operands; i++) {
        operand[i] = r->value[which[i]].at;
        wait_for(r, queue, &r->value[which[i]]);
    }
    const kiln_device_launch l = {is_mix ? r->t->mix : r->t->step, operand, n_operands,
                                  0};
    const uint64_t ticket = r->t->kind->launch(r->t->queue[queue], &l);
    for (uint32_t i = 0; i < n_operands; i++)
        r->value[which[i]].used[queue] = ticket;
    const uint32_t *x = r->value[which[0]].want, *y = r->value[which[1]].want;
    for (int i = 0; i < N; i++)
        r->value[which[n_operands - 1]].want[i] =
            is_mix ? x[i] + 7 * y[N - 1 - i] : 5 * x[i] + 3;
}

/* -1: the device failed. */
static int begin(run *r, kiln_arena *a) {
    for (int i = 0; i < 2 * TENSORS; i++) {
        value *v = &r->value[i];
        for (int k = 0; k < N; k++)
            v->want[k] = (uint32_t)kiln_rng_next(&r->rng);
        if (i >= TENSORS)
            v->host = kiln_arena_dup(a, v->want, sizeof v->want);
        v->at = v->host != NULL ? (void *)v->host
                                : r->t->memory + (size_t)i * KILN_GPU_TRIAL_BYTES;
        const kiln_device_copy c = {v->at, v->want, sizeof v->want, 0};
        kiln_device_failure failure;
        if (v->host == NULL) {
            r->t->kind->copy(r->t->queue[0], &c);
            if (r->t->kind->finish(r->t->queue[0], KILN_DEVICE_ALL, &failure) != 0)
                return -1;
        }
    }
    return 0;
}

const char *kiln_gpu_trial_run(const kiln_gpu_trial *t, kiln_arena *a, uint64_t seed,
                               int n_operations) {
    kiln_device_failure failure = {0};
    run *r = kiln_arena_alloc(a, sizeof *r);
    memset(r, 0, sizeof *r);
    r->t = t;
    kiln_rng_init(&r->rng, seed);
    if (begin(r, a) != 0)
        return "a first copy failed";
    for (int i = 0; i < n_operations; i++) {
        const int queue = draw(r, 2);
        if (draw(r, 2) == 0)
            copy(r, queue);
        else
            launch(r, queue);
        const value *v = &r->value[draw(r, 2 * TENSORS)];
        if (draw(r, 32) == 0 &&
            t->kind->finish(t->queue[queue], v->used[queue], &failure) != 0)
            return "an operation failed";
    }
    for (int i = 0; i < 2; i++)
        if (t->kind->finish(t->queue[i], KILN_DEVICE_ALL, &failure) != 0)
            return failure.why != NULL ? failure.why : "a queue failed";
    for (int i = 0; i < 2 * TENSORS; i++) {
        uint32_t got[N];
        const value *v = &r->value[i];
        const kiln_device_copy c = {got, v->at, sizeof got, 0};
        if (v->host != NULL)
            memcpy(got, v->host, sizeof got);
        else
            t->kind->copy(t->queue[i % 2], &c);
        if (t->kind->finish(t->queue[i % 2], KILN_DEVICE_ALL, &failure) != 0)
            return "a last copy failed";
        for (int k = 0; k < N; k++)
            if (got[k] != v->want[k])
                return kiln_format(a, "value %d, element %d: %u, must be %u", i, k,
                                   got[k], v->want[k]);
    }
    return NULL;
}
