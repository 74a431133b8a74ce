/* Profiles of this machine's GPUs: a shipped one, with what the driver says of this very
 * GPU in the place of its numbers. */
#include "pipeline/machine/machine_internal.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static kiln_gpu_facts_fn *const kinds[] = {kiln_cuda_facts, kiln_opencl_facts};
static const char *const kind_names[] = {"cuda", "opencl"};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

/* Multiply-adds of f32 that a multiprocessor begins in a cycle, from this compute
 * capability on (NVIDIA, CUDA C++ Programming Guide, throughput of arithmetic
 * instructions). */
static const struct {
    int capability, lanes;
} lanes_of[] = {{70, 64},  {75, 64},  {80, 64},   {86, 128},
                {89, 128}, {90, 128}, {100, 128}, {120, 128}};

static int cuda_lanes(int capability) {
    int lanes = 0;
    for (size_t i = 0; i < sizeof lanes_of / sizeof lanes_of[0]; i++)
        if (lanes_of[i].capability <= capability)
            lanes = lanes_of[i].lanes;
    return lanes;
}

/* The one of the highest capability that the GPU has: its code runs there. */
static const kiln_profile *cuda_base(const kiln_gpu_facts *f) {
    const kiln_profile *best = NULL, *p;
    long most = 0;
    for (int i = 0; (p = kiln_gpu_profile_at(i)) != NULL; i++) {
        const bool is_own = strcmp(kiln_arch_of(p->arch)->device, f->kind) == 0;
        const long sm = is_own ? strtol(p->cpu + strlen("sm_"), NULL, 10) : 0;
        if (sm > most && sm <= f->capability) {
            best = p;
            most = sm;
        }
    }
    return best;
}

static const kiln_profile *opencl_base(const kiln_gpu_facts *f) {
    const char *name = f->is_processor                    ? "opencl-pocl"
                       : strstr(f->title, "Mali") != NULL ? "opencl-mali"
                                                          : "opencl-generic";
    const kiln_profile *p = NULL;
    for (int i = 0; (p = kiln_gpu_profile_at(i)) != NULL; i++)
        if (strcmp(p->name, name) == 0)
            break;
    return p;
}

static int at_least_one(double n) {
    const double most = 1 << 30;
    return n < 1 ? 1 : n > most ? (int)most : (int)(n + 0.5);
}

static void take(int32_t said, int most, int *to) {
    if (said > 0)
        *to = said < most ? said : most;
}

/* Code declares its shared memory, and so gets what a block has without asking for more.
 * OpenCL says nothing of lanes and bandwidth: a compute unit is taken for one of the
 * shipped profile's. */
static kiln_gpu limits(const kiln_gpu_facts *f, const kiln_gpu *base) {
    enum { MOST = 65536, MOST_REGISTERS = 1 << 30, MOST_SHARED = 1 << 24, KIB = 1024 };
    kiln_gpu g = *base;
    int shared = (int)base->shared_bytes;
    const int lanes = cuda_lanes(f->capability);
    take(f->warp, 1024, &g.warp);
    take(f->block_threads, MOST, &g.block_threads);
    take(f->shared_bytes, MOST_SHARED, &shared);
    take(f->processors, MOST, &g.processors);
    take(f->processor_threads, MOST, &g.processor_threads);
    take(f->processor_registers, MOST_REGISTERS, &g.processor_registers);
    g.shared_bytes = shared;
    if (f->l2_bytes > 0)
        g.l2_kib = at_least_one((double)f->l2_bytes / KIB);
    if (lanes > 0 && f->clock_khz > 0)
        g.peak_gflops =
            at_least_one(2e-6 * lanes * g.processors * (double)f->clock_khz);
    else
        g.peak_gflops =
            at_least_one((double)base->peak_gflops / base->processors * g.processors);
    if (f->memory_clock_khz > 0 && f->memory_bus_bits > 0) /* two transfers a cycle */
        g.memory_gbs =
            at_least_one(2e-6 * f->memory_clock_khz * ((double)f->memory_bus_bits / 8));
    return g;
}

/* "NVIDIA H200" behind "cuda-sm90": "cuda-sm90-nvidia-h200". Of OpenCL's
 * "PLATFORM: DEVICE" the latter. */
static const char *name_of(kiln_arena *a, const char *base, const char *title) {
    enum { MOST = 48 };
    const char *behind = strstr(title, ": ");
    title = behind != NULL ? behind + 2 : title;
    char *name = kiln_format(a, "%s-%.*s", base, MOST, title);
    size_t n = strlen(base) + 1;
    for (const char *from = name + n; *from != '\0'; from++)
        if (isalnum((unsigned char)*from))
            name[n++] = (char)tolower((unsigned char)*from);
        else if (name[n - 1] != '-')
            name[n++] = '-';
    while (name[n - 1] == '-')
        n--;
    name[n] = '\0';
    return name;
}

static const char *text_of(kiln_arena *a, const kiln_gpu_facts *f, const kiln_gpu *g) {
    const char *capability = f->capability > 0
                                 ? kiln_format(a, "capability %d.%d, ",
                                               f->capability / 10, f->capability % 10)
                                 : "";
    const char *more = f->shared_most_bytes > f->shared_bytes
                           ? kiln_format(a, " (%d on request)", f->shared_most_bytes)
                           : "";
    return kiln_format(a,
                       "%s%d processors at %.2f GHz, blocks of %d threads and %" PRId64
                       " bytes%s, L2 %d KiB, %d GFLOP/s, %d GB/s",
                       capability, g->processors, f->clock_khz * 1e-6, g->block_threads,
                       g->shared_bytes, more, g->l2_kib, g->peak_gflops, g->memory_gbs);
}

void kiln_machine_gpu_of(kiln_arena *a, const kiln_gpu_facts *f,
                         kiln_machine_gpu *out) {
    const kiln_profile *base =
        strcmp(f->kind, "cuda") == 0 ? cuda_base(f) : opencl_base(f);
    *out = (kiln_machine_gpu){.kind = f->kind, .title = kiln_str_dup(a, f->title)};
    if (base == NULL) {
        out->problem = kiln_format(
            a, "its compute capability is %d.%d, kiln makes code from 7.0 on",
            f->capability / 10, f->capability % 10);
        return;
    }
    out->profile = *base;
    out->profile.gpu = limits(f, &base->gpu);
    out->profile.has_f16 = base->has_f16 && f->has_f16;
    out->profile.name = name_of(a, base->name, f->title);
    out->text = text_of(a, f, &out->profile.gpu);
}

kiln_machine_gpus kiln_machine_gpus_here(kiln_arena *a) {
    kiln_machine_gpus all = {.n = 0};
    all.gpu = kiln_array(a, kiln_machine_gpu, KILN_MOST_GPUS);
    for (size_t k = 0; k < N_KINDS && all.n < KILN_MOST_GPUS; k++) {
        char error[KILN_ERROR_TEXT] = "";
        kiln_gpu_facts facts = {.kind = kind_names[k]};
        int end = 0;
        for (uint32_t i = 0; all.n < KILN_MOST_GPUS; i++) {
            end = kinds[k](i, &facts, error);
            if (end != 0)
                break;
            kiln_machine_gpu_of(a, &facts, &all.gpu[all.n++]);
        }
        if (end < 0 && all.n < KILN_MOST_GPUS)
            all.gpu[all.n++] = (kiln_machine_gpu){.kind = kind_names[k],
                                                  .problem = kiln_str_dup(a, error)};
    }
    return all;
}
