/* The table of profiles that ship, and a machine as one of them: no more than
 * kiln-runner has, which links no library that reads JSON. */
#include "compiler/target/target_internal.h"

#include <string.h>

#define KILN_PROFILE(NAME, ARCH, TRIPLE, CPU, FEATURES, CORES, VECTOR, REGISTERS, L1,  \
                     L2, L3, FMA, VNNI, DOTPROD, BF16, F16, ...)                       \
    {.name = NAME,                                                                     \
     .arch = ARCH,                                                                     \
     .triple = TRIPLE,                                                                 \
     .cpu = CPU,                                                                       \
     .features = FEATURES,                                                             \
     .cores = CORES,                                                                   \
     .vector_bytes = VECTOR,                                                           \
     .vector_registers = REGISTERS,                                                    \
     .l1d_bytes = (int64_t)(L1)*1024,                                                  \
     .l2_bytes = (int64_t)(L2)*1024,                                                   \
     .l3_bytes = (int64_t)(L3)*1024,                                                   \
     .has_fma = FMA,                                                                   \
     .has_vnni = VNNI,                                                                 \
     .has_dotprod = DOTPROD,                                                           \
     .has_bf16 = BF16,                                                                 \
     .has_f16 = F16,                                                                   \
     .numerics = KILN_NUMERICS_FAST,                                                   \
     .core = {__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
static const kiln_profile shipped[] = {
#include "compiler/target/profiles.def"
};
static const kiln_profile shipped_cpus[] = {
#include "compiler/target/cpu_profiles.def"
};
#undef KILN_PROFILE

const kiln_profile *kiln_profile_at(int i) {
    const int n = (int)(sizeof shipped / sizeof shipped[0]);
    return i >= 0 && i < n ? &shipped[i] : NULL;
}

const kiln_profile *kiln_cpu_profile_at(int i) {
    const int n = (int)(sizeof shipped_cpus / sizeof shipped_cpus[0]);
    return i >= 0 && i < n ? &shipped_cpus[i] : NULL;
}

/* What they are compared with on an NVIDIA GPU. */
static const char *const beside_cuda[] = {"cudnn", "torch_cuda", "onnxruntime_cuda",
                                          "tensorrt", NULL};

/* Vectors are what one thread loads at a time; code of its loops counts on no more. */
static const kiln_profile shipped_gpus[] = {
#define KILN_GPU_PROFILE(NAME, ARCH, TRIPLE, CPU, FEATURES, F16, HOST, ...)            \
    {.name = NAME,                                                                     \
     .arch = ARCH,                                                                     \
     .triple = TRIPLE,                                                                 \
     .cpu = CPU,                                                                       \
     .features = FEATURES,                                                             \
     .cores = 1,                                                                       \
     .vector_bytes = 16,                                                               \
     .vector_registers = 32,                                                           \
     .has_fma = true,                                                                  \
     .has_f16 = F16,                                                                   \
     .numerics = KILN_NUMERICS_FAST,                                                   \
     .gpu = {__VA_ARGS__},                                                             \
     .host = HOST,                                                                     \
     .baseline = (ARCH) == KILN_ARCH_NVPTX ? beside_cuda : NULL},
#include "compiler/target/gpu_profiles.def"
#undef KILN_GPU_PROFILE
};

const kiln_profile *kiln_gpu_profile_at(int i) {
    const int n = (int)(sizeof shipped_gpus / sizeof shipped_gpus[0]);
    return i >= 0 && i < n ? &shipped_gpus[i] : NULL;
}

const kiln_profile *kiln_profile_shipped(const char *name) {
    for (int i = 0; kiln_profile_at(i) != NULL; i++)
        if (strcmp(kiln_profile_at(i)->name, name) == 0)
            return kiln_profile_at(i);
    for (int i = 0; kiln_cpu_profile_at(i) != NULL; i++)
        if (strcmp(kiln_cpu_profile_at(i)->name, name) == 0)
            return kiln_cpu_profile_at(i);
    for (int i = 0; kiln_gpu_profile_at(i) != NULL; i++)
        if (strcmp(kiln_gpu_profile_at(i)->name, name) == 0)
            return kiln_gpu_profile_at(i);
    return NULL;
}

kiln_profile kiln_profile_base(const char *name) {
    const kiln_profile *p = kiln_profile_shipped(name);
    KILN_ASSERT(p != NULL, "no profile '%s' ships", name);
    return *p;
}

const char *kiln_numerics_name(kiln_numerics n) {
    static const char *const name[] = {"fast", "strict"};
    KILN_ASSERT((size_t)n < sizeof name / sizeof name[0], "no numerics %d", (int)n);
    return name[n];
}

void kiln_profile_put_machine(kiln_json_writer *w, const kiln_profile *p) {
    kiln_json_member_str(w, "name", p->name);
    kiln_json_member_str(w, "arch", kiln_arch_name(p->arch));
    kiln_json_member_str(w, "triple", p->triple);
    kiln_json_member_str(w, "cpu", p->cpu);
    kiln_json_member_str(w, "features", p->features);
    kiln_json_member_i64(w, "cores", p->cores);
    kiln_json_member_i64(w, "vector_bytes", p->vector_bytes);
    kiln_json_member_i64(w, "vector_registers", p->vector_registers);
    kiln_json_member_i64(w, "l1d_bytes", p->l1d_bytes);
    kiln_json_member_i64(w, "l2_bytes", p->l2_bytes);
    kiln_json_member_i64(w, "l3_bytes", p->l3_bytes);
    kiln_json_member_bool(w, "has_fma", p->has_fma);
    kiln_json_member_bool(w, "has_vnni", p->has_vnni);
    kiln_json_member_bool(w, "has_dotprod", p->has_dotprod);
    kiln_json_member_bool(w, "has_bf16", p->has_bf16);
    kiln_json_member_bool(w, "has_f16", p->has_f16);
    kiln_json_member_str(w, "numerics", kiln_numerics_name(p->numerics));
}

void kiln_profile_machine_json(kiln_buf *out, const kiln_profile *p) {
    kiln_json_writer w;
    kiln_json_writer_init(&w, out);
    kiln_json_begin_object(&w);
    kiln_profile_put_machine(&w, p);
    kiln_json_end_object(&w);
}
