/* Networks for NVIDIA's GPUs: its assembler takes every kernel, for each architecture that
 * ships. Skipped where there is no ptxas (PATH, CUDA_HOME). KILN_SOAK=1: the whole zoo,
 * or what KILN_NETWORKS names, separated by commas. */
#include "compiler/codegen/codegen_gpu_module.h"
#include "compiler/pass/pass.h"
#include "pipeline/network/network.h"
#include "tests/support/kiln_test.h"
#include "tests/support/gpu/ptxas.h"
#include "zoo/zoo.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const profiles[] = {"cuda-sm70", "cuda-sm80", "cuda-sm90"};
enum { N_PROFILES = sizeof profiles / sizeof profiles[0] };

static const char *names(void) {
    if (getenv("KILN_SOAK") == NULL)
        return "dqn,lstm_lm_step";
    return getenv("KILN_NETWORKS") != NULL ? getenv("KILN_NETWORKS") : "";
}

/* Is the name one of the list's? Empty: all are. */
static bool is_wanted(const char *name) {
    kiln_str list = kiln_str_from(names()), one;
    if (list.n == 0)
        return true;
    while (kiln_str_cut(&list, ',', &one))
        if (kiln_str_is(one, name))
            return true;
    return kiln_str_is(list, name);
}

typedef struct spills {
    int kernels, spilling;
} spills;

/* "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" for each. */
static spills spills_of(const char *said) {
    static const char word[] = " bytes spill stores", none[] = ", 0 bytes spill stores";
    spills s = {0, 0};
    for (const char *at = said; (at = strstr(at, word)) != NULL; at++) {
        s.kernels++;
        s.spilling +=
            strncmp(at - (sizeof none - sizeof word), none, sizeof none - 1) != 0;
    }
    return s;
}

static void check(const kiln_zoo_network *z, const char *name) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_profile host, gpu, p;
    kiln_network n;
    const kiln_network_options o = {.pack_at_open = true};
    kiln_assert_status_ok(kiln_profile_find(&a, name, &gpu, &err), &err);
    kiln_assert_status_ok(kiln_profile_detect(&a, &host, &err), &err);
    kiln_assert_status_ok(kiln_profile_beside(&a, &host, &gpu, &p, &err), &err);
    kiln_assert_status_ok(kiln_zoo_import(&a, z, 1, KILN_ZOO_FILLED, &g, &err), &err);
    kiln_assert_status_ok(kiln_graph_optimize(g, NULL, &err), &err);
    kiln_assert_status_ok(kiln_network_compile(&a, g, &p, &o, &n, &err), &err);
    for (size_t i = 0; i < n.module.n; i++) {
        const kiln_network_module *file = &n.module.v[i];
        kiln_gpu_module m;
        if (!kiln_profile_is_gpu(file->profile))
            continue;
        kiln_assert_status_ok(kiln_gpu_object_open(&a, file->code, &m, &err), &err);
        const spills s = spills_of(ptxas_said(&a, file->profile, m.code));
        print_message("%s for %s: %d kernels, %d of them spill registers\n", z->name,
                      name, s.kernels, s.spilling);
        assert_true(s.kernels > 0);
    }
    kiln_arena_fini(&a);
}

static void every_kernel_assembles(void **state) {
    (void)state;
    if (!ptxas_is_here())
        kiln_test_skip("no ptxas");
    for (int i = 0; kiln_zoo_at(i) != NULL; i++)
        for (int k = 0; k < N_PROFILES && is_wanted(kiln_zoo_at(i)->name); k++)
            check(kiln_zoo_at(i), profiles[k]);
}

int main(void) {
    kiln_test_add("every_kernel_assembles", every_kernel_assembles, NULL);
    return kiln_test_run("networks as PTX");
}
