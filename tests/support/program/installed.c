#include "tests/support/program/installed.h"

#include "pipeline/network/network.h"
#include "tests/support/kiln_test.h"
#include "tests/support/package/package_folder.h"
#include "tests/support/model/residual_model.h"
#include "compiler/reference/reference.h"

#include <unistd.h>

static const char graph_text[] =
    "graph \"small\" { input %x : f32[1,12] input %w : f32[12,20] %a = matmul(%x, %w) "
    "%b = relu(%a) output %b }";

/* Inputs h, q, ... and outputs oh, oq, ... of the same types. */
static const char types_text[] =
    "graph \"types\" { input %h : f16[3] input %q : bf16[3] input %d : f64[2] "
    "input %i : i64[2,2] input %m : bool[4] input %n : i8[3] input %u : u4[3] "
    "%oh = relu(%h) %oq = relu(%q) %od = neg(%d) %oi = add(%i, %i) "
    "%om = logical_not(%m) %on = neg(%n) %ou = identity(%u) "
    "output %oh output %oq output %od output %oi output %om output %on output %ou }";

kiln_process_result installed_run(const installed *i, const char *script) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_process_result got;
    char root[4096];
    assert_non_null(getcwd(root, sizeof root));
    const char *const argv[] = {"sh", "-c", script, root, NULL};
    const char *const env[] = {
        kiln_format(a, "DEST=%s", i->dest),
        kiln_format(a, "PACKAGE=%s", i->package),
        kiln_format(a, "BOARD=%s", i->board),
        kiln_format(a, "TYPES=%s", i->types),
        kiln_format(a, "SHAPES=%s", i->shapes),
        kiln_format(a, "PKG_CONFIG_SYSROOT_DIR=%s", i->dest),
        kiln_format(a, "PKG_CONFIG_PATH=%s/opt/kiln/lib/pkgconfig", i->dest),
        NULL};
    const kiln_process_options o = {.argv = argv,
                                    .dir = i->package,
                                    .env = env,
                                    .time_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_assert_status_ok(kiln_process_run(a, &o, &got, &err), &err);
    return got;
}

static void make_types(const char *folder, const kiln_profile *p) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_graph *g = NULL;
    kiln_network n;
    kiln_assert_status_ok(
        kiln_graph_parse(a, kiln_str_from(types_text), "test", &g, &err), &err);
    kiln_graph_renumber(g);
    kiln_assert_status_ok(kiln_network_compile(a, g, p, NULL, &n, &err), &err);
    package_folder_write(folder, &n);
}

static const char *make_shapes(void) {
    kiln_arena *a = kiln_test_arena();
    const char *dir = kiln_test_dir(), *folder = kiln_path_join(a, dir, "shapes");
    const char *model = kiln_path_join(a, dir, "m.onnx");
    kiln_err err = {.status = KILN_OK};
    kiln_test_write_residual(model);
    kiln_build part[] = {
        kiln_test_build_residual(model, "native", 1, kiln_path_join(a, dir, "1")),
        kiln_test_build_residual(model, "native", 4, kiln_path_join(a, dir, "4"))};
    const char *both = kiln_test_join(part, 2, kiln_path_join(a, dir, "both"));
    kiln_assert_status_ok(kiln_package_unpack(a, both, folder, NULL, &err), &err);
    return folder;
}

static void make_packages(installed *i) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_graph *g = NULL;
    kiln_profile profile;
    kiln_network n;
    kiln_assert_status_ok(
        kiln_graph_parse(a, kiln_str_from(graph_text), "test", &g, &err), &err);
    kiln_value *w = g->inputs.v[1];
    w->data = kiln_ref_random(a, &w->type, 3).data;
    g->inputs.n = 1;
    kiln_graph_renumber(g);
    const kiln_tensor in = kiln_ref_random(a, &g->inputs.v[0]->type, kiln_test_seed());
    kiln_assert_status_ok(kiln_ref_run(a, g, &in, 1, &i->want, &err), &err);
    kiln_assert_status_ok(kiln_profile_detect(a, &profile, &err), &err);
    kiln_assert_status_ok(kiln_network_compile(a, g, &profile, NULL, &n, &err), &err);
    package_folder_write(i->package, &n);
    make_types(i->types, &profile);
    i->shapes = make_shapes();
    kiln_assert_status_ok(kiln_profile_find(a, "aarch64", &profile, &err), &err);
    kiln_assert_status_ok(kiln_network_compile(a, g, &profile, NULL, &n, &err), &err);
    package_folder_write(i->board, &n);
    const char *input = kiln_path_join(a, i->package, "input.bin");
    kiln_assert_status_ok(
        kiln_file_write(input, in.data, INSTALLED_N_IN * sizeof(float), &err), &err);
}

/* A build of kiln's own may be what runs this test: its make is not ours. Two tests
 * that install take turns: both build the release variant. */
installed installed_make(void) {
    installed i = {.dest = kiln_test_dir(),
                   .package = kiln_test_dir(),
                   .board = kiln_test_dir(),
                   .types = kiln_test_dir(),
                   .shapes = ""};
    const kiln_process_result got =
        installed_run(&i, "unset MAKEFLAGS MFLAGS MAKELEVEL V CC TEST; set -e;"
                          "put() { flock \"$0\"/build make -C \"$0\" CC=gcc "
                          "WERROR=${KILN_WERROR:-0} DESTDIR=\"$DEST\" PREFIX=/opt/kiln "
                          "install-runtime; };"
                          "put; rm -r \"$DEST\"/opt; umask 077; put");
    if (got.end != KILN_PROCESS_EXITED || got.code != 0)
        fail_msg("make install-runtime: %s", got.err.p);
    make_packages(&i);
    return i;
}
