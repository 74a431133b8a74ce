/* See package_build.h. */
#include "tests/support/package/package_build.h"

#include "compiler/reference/reference.h"
#include "pipeline/package/package_internal.h"
#include "tests/support/kiln_test.h"
#include "tests/support/model/weighted_graph.h"

#include <string.h>

const char kiln_test_network_text[] =
    "graph \"small\" { input %x : f32[1,3,9,9] input %w : f32[8,3,3,3] "
    "input %b : f32[8] input %v : f32[128,10] "
    "%c = conv(%x, %w, %b) {pads=[1,1,1,1]} %r = relu(%c) "
    "%p = max_pool(%r) {kernel=[2,2], strides=[2,2]} "
    "%f = reshape(%p) {shape=[1,128]} %y = matmul(%f, %v) output %y output %r }";

static const char source_sha256[] =
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static bool stays(const kiln_value *v) { return strcmp(v->name, "x") == 0; }

static kiln_graph *read_graph(kiln_arena *a, const char *text) {
    return kiln_test_weighted_graph(a, text, stays);
}

static void put_ledger(kiln_arena *a, const kiln_network *n, kiln_package *out) {
    kiln_err err = {0};
    kiln_package_kernel *kernel = kiln_array(a, kiln_package_kernel, n->kernel.n);
    for (size_t i = 0; i < n->kernel.n; i++) {
        const kiln_network_kernel *k = &n->kernel.v[i];
        const char **step = kiln_array(a, const char *, n->step.n);
        kernel[i] = (kiln_package_kernel){.symbol = k->symbol,
                                          .origin = "default",
                                          .tmpl = k->tmpl,
                                          .config = k->config,
                                          .workload = k->workload,
                                          .step = step};
        for (size_t s = 0; s < n->step.n; s++)
            if (n->step.v[s].kernel == (int)i)
                step[kernel[i].n_steps++] = n->step.v[s].name;
        kiln_assert_status_ok(kiln_package_code_of(a, n->profile->arch, k->object.bytes,
                                                   &kernel[i].code_sha256,
                                                   &kernel[i].code_bytes, &err),
                              &err);
    }
    out->facts.kernel = kernel;
    out->facts.n_kernels = n->kernel.n;
}

static kiln_str link_module(kiln_arena *a, const kiln_network *n, size_t module) {
    kiln_err err = {0};
    kiln_package_object *object = kiln_array(a, kiln_package_object, n->kernel.n);
    kiln_str lib;
    size_t n_objects = 0;
    for (size_t i = 0; i < n->kernel.n; i++)
        if (n->module.v[module].is_called[i])
            object[n_objects++] = (kiln_package_object){n->kernel.v[i].symbol,
                                                        n->kernel.v[i].object.bytes};
    kiln_assert_status_ok(
        kiln_package_link(a, n->profile->arch, object, n_objects, &lib, &err), &err);
    return lib;
}

static void put_modules(kiln_arena *a, const kiln_network *n, kiln_package *out) {
    kiln_str *module = kiln_array(a, kiln_str, n->module.n);
    out->lib = link_module(a, n, 0);
    for (size_t i = 1; i < n->module.n; i++)
        module[i - 1] = link_module(a, n, i);
    out->module = module;
    out->n_modules = n->module.n - 1;
}

static void put_files(kiln_arena *a, const kiln_graph *g, const kiln_network *n,
                      kiln_package *out) {
    kiln_package_tensor *param = kiln_array(a, kiln_package_tensor, n->param.n);
    for (size_t i = 0; i < n->param.n; i++)
        param[i] = (kiln_package_tensor){n->param.v[i].name, n->param.v[i].type,
                                         n->param.v[i].offset};
    put_modules(a, n, out);
    out->plan = n->plan;
    out->params = n->params;
    out->params_head = kiln_package_params_head(a, param, n->param.n, n->param_bytes);
    out->graph = kiln_package_graph_of(a, g, n);
}

static void put_selftest(kiln_arena *a, const kiln_graph *g, kiln_package *out) {
    kiln_err err = {0};
    kiln_tensor *in = kiln_array(a, kiln_tensor, g->inputs.n);
    kiln_tensor *want = kiln_array(a, kiln_tensor, g->outputs.n);
    for (size_t i = 0; i < g->inputs.n; i++)
        in[i] = kiln_ref_random(a, &g->inputs.v[i]->type, 1 + i);
    kiln_assert_status_ok(kiln_ref_run(a, g, in, g->inputs.n, want, &err), &err);
    kiln_package_expected *expected =
        kiln_array(a, kiln_package_expected, g->outputs.n);
    for (size_t i = 0; i < g->outputs.n; i++)
        expected[i].value = want[i];
    kiln_package_selftest_make(a, in, g->inputs.n, expected, g->outputs.n,
                               &out->selftest);
}

void kiln_test_package(kiln_arena *a, const char *graph_text,
                       const kiln_profile *profile, kiln_package *out) {
    kiln_test_package_on(a, graph_text, profile, NULL, out);
}

void kiln_test_package_on(kiln_arena *a, const char *graph_text,
                          const kiln_profile *profile, const kiln_placement *o,
                          kiln_package *out) {
    const kiln_network_options how = {.placement = o};
    kiln_err err = {0};
    kiln_network *n = kiln_new(a, kiln_network);
    kiln_profile *p = kiln_new(a, kiln_profile);
    const kiln_graph *g = read_graph(a, graph_text);
    if (profile == NULL)
        kiln_assert_status_ok(kiln_profile_detect(a, p, &err), &err);
    else
        *p = *profile;
    kiln_assert_status_ok(kiln_network_compile(a, g, p, &how, n, &err), &err);
    *out = (kiln_package){.facts = {.model = g->name,
                                    .version = "1",
                                    .source_sha256 = source_sha256,
                                    .licence = "MIT",
                                    .kiln_version = "0.1.0",
                                    .llvm_version = "19",
                                    .lld_version = "LLD 19",
                                    .profile = *p,
                                    .tolerance = {1e-4, 1e-4, 0x1p-22},
                                    .memory.lower_bound = (uint64_t)n->lower_bound},
                          .time_s = KILN_PACKAGE_TIME};
    put_ledger(a, n, out);
    put_files(a, g, n, out);
    put_selftest(a, g, out);
}

void kiln_test_package_file(const char *graph_text, const kiln_profile *profile,
                            const char *path) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_package p;
    kiln_test_package(&a, graph_text, profile, &p);
    kiln_assert_status_ok(kiln_package_write(&p, path, NULL, &err), &err);
    kiln_arena_fini(&a);
}
