/* What gpu_conv guesses for cuda-sm90, beside what an H200 was fastest with: of plans of
 * every way to fetch and of one to eight blocks for each sum, and of depthwise kernels of
 * many tiles, all timed as CUDA graphs or in a row. The model decides, not this table. */
#include "tests/support/kernel/template_check.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_conv.h"

#include <string.h>

typedef struct row {
    const char *name;
    int64_t size, in, out, kernel, step;
    bool is_depthwise;
    const char *has[3]; /* members of the configuration */
} row;

/* TVM (OSDI'18), table 2, and MobileNet-v1's depthwise convolutions. */
static row rows[] = {
    {"C1", 224, 3, 64, 7, 2, false, {"\"ahead\": \"async\"", "\"splits\": 1"}},
    {"C3", 56, 64, 64, 1, 1, false, {"\"ahead\": \"no\"", "\"splits\": 1"}},
    {"C4", 56, 64, 128, 3, 2, false, {"\"ahead\": \"async\"", "\"splits\": 1"}},
    {"C6", 28, 128, 128, 3, 1, false, {"\"ahead\": \"async\"", "\"splits\": 1"}},
    {"C7", 28, 128, 256, 3, 2, false, {"\"fetch\": \"local\"", "\"splits\": 1"}},
    {"C9", 14, 256, 256, 3, 1, false, {"\"ahead\": \"async\"", "\"splits\": 8"}},
    {"C10", 14, 256, 512, 3, 2, false, {"\"fetch\": \"local\"", "\"splits\": 1"}},
    {"C12", 7, 512, 512, 3, 1, false, {"\"ahead\": \"async\"", "\"splits\": 8"}},
    {"D1", 112, 32, 32, 3, 1, true, {"\"tile_oh\": 4", "\"tile_ow\": 1"}},
    {"D3", 56, 128, 128, 3, 1, true, {"\"tile_oh\": 4", "\"tile_ow\": 1"}},
    {"D7", 14, 512, 512, 3, 1, true, {"\"tile_oh\": 2", "\"tile_ow\": 1"}},
    {"D9", 7, 1024, 1024, 3, 1, true, {"\"tile_oh\": 1", "\"tile_ow\": 1"}},
};

static void check(void **state) {
    const row *r = *state;
    const kiln_template *t = &kiln_template_gpu_conv;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_workload w;
    kiln_space s;
    kiln_profile p;
    kiln_buf text;
    kiln_graph *g = kiln_graph_new(&a, "conv");
    const int64_t before = (r->kernel - 1) / 2, behind = r->kernel - r->step - before;
    const random_conv_shape shape = {.n_spatial = 2,
                                     .batch = 1,
                                     .groups = r->is_depthwise ? r->in : 1,
                                     .c = r->is_depthwise ? 1 : r->in,
                                     .o = r->is_depthwise ? 1 : r->out,
                                     .in = {r->size, r->size},
                                     .kernel = {r->kernel, r->kernel},
                                     .stride = {r->step, r->step},
                                     .dilation = {1, 1},
                                     .pads = {before, before, behind, behind}};
    kiln_graph_add_output(g, random_conv_of(g, &shape, KILN_F32, false), "y");
    kiln_assert_status_ok(kiln_profile_find(&a, "cuda-sm90", &p, &err), &err);
    kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
    kiln_space_init(&s, &a);
    kiln_assert_status_ok(t->space(&w, &p, &s, &err), &err);
    const kiln_config c = t->guess(&w, &p, &s);
    kiln_buf_init(&text, &a);
    kiln_config_json(&text, t, &s, &c);
    for (size_t i = 0; i < sizeof r->has / sizeof r->has[0] && r->has[i] != NULL; i++)
        if (strstr(text.p, r->has[i]) == NULL)
            fail_msg("%s is not in %s", r->has[i], text.p);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_rows(check, rows);
    return kiln_test_run("what gpu_conv guesses");
}
