/* A package's three files in memory instead of a folder: the same outputs, the same
 * refusals; what is borrowed and what is not. */
#include "tests/support/kiln_test.h"
#include "tests/support/package/package_folder.h"
#include "compiler/reference/reference.h"

#include <string.h>

static const char graph_text[] =
    "graph \"small\" { input %x : f32[1,12] input %w : f32[12,20] %a = matmul(%x, %w) "
    "%b = relu(%a) output %b }";

enum { N_OUT = 20 };
static const char *folder;
static kiln_tensor in;

static void make_folder(void) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_profile p;
    kiln_network n;
    kiln_assert_status_ok(
        kiln_graph_parse(a, kiln_str_from(graph_text), "test", &g, &err), &err);
    kiln_value *w = g->inputs.v[1];
    w->data = kiln_ref_random(a, &w->type, 3).data;
    g->inputs.n = 1;
    kiln_graph_renumber(g);
    in = kiln_ref_random(a, &g->inputs.v[0]->type, kiln_test_seed());
    kiln_assert_status_ok(kiln_profile_detect(a, &p, &err), &err);
    kiln_assert_status_ok(kiln_network_compile(a, g, &p, NULL, &n, &err), &err);
    folder = kiln_test_dir();
    package_folder_write(folder, &n);
}

/* A file's bytes in memory of their own, `off` bytes behind a multiple of 64. */
static void *load(kiln_arena *a, const char *name, size_t off, size_t *bytes) {
    enum { ALIGN = 64 };
    kiln_err err = {0};
    kiln_str file;
    const char *path = kiln_path_join(kiln_test_arena(), folder, name);
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), path, 0, &file, &err), &err);
    char *p = kiln_arena_alloc(a, file.n + ALIGN + off);
    p += (ALIGN - (uintptr_t)p % ALIGN) % ALIGN + off;
    memcpy(p, file.p, file.n);
    *bytes = file.n;
    return p;
}

typedef struct files {
    kiln_model_files f;
    kiln_arena lent, params; /* what f's files are in */
} files;

static void load_all(files *x, size_t params_off) {
    *x = (files){.lent = {0}};
    /* Of plan and library any address will do. */
    x->f.plan = load(&x->lent, "plan.bin", 1, &x->f.plan_bytes);
    x->f.lib = load(&x->lent, "lib.so", 1, &x->f.lib_bytes);
    x->f.params = load(&x->params, "params.safetensors", params_off, &x->f.param_bytes);
}

static void run(kiln_model *m, float out[N_OUT]) {
    char error[KILN_ERROR_TEXT];
    kiln_session *s = kiln_session_open(m, NULL, error);
    assert_non_null(s);
    assert_int_equal(kiln_session_set_input(s, 0, in.data), 0);
    assert_int_equal(kiln_session_run(s), 0);
    memcpy(out, kiln_session_output(s, 0), N_OUT * sizeof *out);
    kiln_session_close(s);
}

static void computes_what_the_folder_does(void **state) {
    (void)state;
    char error[KILN_ERROR_TEXT] = "";
    float want[N_OUT], got[N_OUT];
    files x;
    load_all(&x, 0);
    kiln_model *of_folder = kiln_model_open(folder, NULL, error);
    kiln_model *of_memory = kiln_model_open_memory(&x.f, NULL, error);
    if (of_folder == NULL || of_memory == NULL)
        fail_msg("%s", error);
    kiln_arena_fini(&x.lent); /* only the parameters are borrowed */
    assert_string_equal(kiln_model_name(of_memory), "small");
    run(of_folder, want);
    run(of_memory, got);
    assert_memory_equal(got, want, sizeof want);
    kiln_model_close(of_memory);
    kiln_model_close(of_folder);
    kiln_arena_fini(&x.params);
}

typedef struct row {
    const char *name;
    size_t params_off;
    bool has_no_plan, has_no_lib;
    int cut_params, cut_plan, cut_lib; /* to so many bytes; 0: whole */
    const char *text;
} row;

static row rows[] = {
    {"no_plan", .has_no_plan = true, .text = "the plan in memory is none"},
    {"no_library", .has_no_lib = true, .text = "the library in memory: there is none"},
    {"a_cut_plan", .cut_plan = 40, .text = "plan: 40 bytes are too few"},
    {"a_cut_library", .cut_lib = 60, .text = "the library in memory: "},
    {"parameters_without_a_length", .cut_params = 7,
     .text = "the parameters in memory: their header does not fit"},
    {"parameters_without_data", .cut_params = 9, .text = "their header does not fit"},
    {"crooked_parameters", .params_off = 4, .text = "64-byte aligned"},
};

static void refuses(void **state) {
    const row *r = *state;
    char error[KILN_ERROR_TEXT] = "";
    files x;
    load_all(&x, r->params_off);
    if (r->has_no_plan)
        x.f.plan = NULL;
    if (r->has_no_lib)
        x.f.lib = NULL;
    if (r->cut_params > 0)
        x.f.param_bytes = (size_t)r->cut_params;
    if (r->cut_plan > 0)
        x.f.plan_bytes = (size_t)r->cut_plan;
    if (r->cut_lib > 0)
        x.f.lib_bytes = (size_t)r->cut_lib;
    assert_null(kiln_model_open_memory(&x.f, NULL, error));
    if (strstr(error, r->text) == NULL)
        fail_msg("'%s' does not say '%s'", error, r->text);
    kiln_arena_fini(&x.lent);
    kiln_arena_fini(&x.params);
}

int main(void) {
    make_folder();
    kiln_test_add("computes_what_the_folder_does", computes_what_the_folder_does, NULL);
    kiln_test_add_rows(refuses, rows);
    return kiln_test_run("model_memory");
}
