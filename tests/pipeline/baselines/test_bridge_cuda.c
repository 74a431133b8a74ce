/* PyTorch behind the bridge as it runs on GPUs: which Python is asked, what it says where
 * there is no GPU, and, where KILN_PYTHON or kiln's environment has torch and onnx, that
 * the bridge's reader of ONNX computes what kiln's reference does, on the processor. */
#include "compiler/reference/reference.h"
#include "pipeline/baselines/baselines_internal.h"
#include "tests/support/measuring/fake_baseline.h"
#include "zoo/zoo.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *own_python; /* that KILN_PYTHON named; NULL: none */

static const kiln_baseline *torch_cuda(void) {
    const kiln_baseline *const *list;
    kiln_err err = {.status = KILN_OK};
    kiln_assert_status_ok(kiln_baselines_parse(kiln_test_arena(), "torch_cuda",
                                               KILN_BASELINE_MODELS, &list, &err),
                          &err);
    return list[0];
}

static void use_python(const char *python) {
    if (python == NULL)
        assert_int_equal(unsetenv("KILN_PYTHON"), 0);
    else
        assert_int_equal(setenv("KILN_PYTHON", python, 1), 0);
}

static kiln_status find_in(const char *dir, kiln_baseline_here *here, kiln_err *err) {
    *here = (kiln_baseline_here){.is_here = false};
    return torch_cuda()->find(torch_cuda(), kiln_test_arena(), dir, here, err);
}

/* ---- which Python? --------------------------------------------------------------- */

static void asks_the_python_that_is_named(void **state) {
    (void)state;
    kiln_err err = {.status = KILN_OK};
    kiln_baseline_here here;
    const char *dir = kiln_test_fake_baseline("exit");
    const char *bin = kiln_path_join(kiln_test_arena(), dir, "bin");
    const char *path = getenv("PATH");
    use_python(kiln_path_join(kiln_test_arena(), bin, "python"));
    kiln_assert_status_ok(find_in("/nowhere", &here, &err), &err);
    assert_string_equal(here.version, "1.2.3");
    /* By its name alone, as a shell finds it. */
    assert_int_equal(
        setenv("PATH", kiln_format(kiln_test_arena(), "bin:%s:%s", bin, path), 1), 0);
    use_python("python");
    kiln_assert_status_ok(find_in("/nowhere", &here, &err), &err);
    assert_int_equal(setenv("PATH", path, 1), 0);
    assert_string_equal(here.version, "1.2.3");
    use_python("/nowhere/python");
    kiln_assert_fails(find_in(dir, &here, &err), KILN_ERR_MISSING, &err,
                      "there is no Python '/nowhere/python', which KILN_PYTHON names");
    kiln_err_clear(&err);
    use_python(NULL);
    kiln_assert_status_ok(find_in(dir, &here, &err), &err);
    assert_string_equal(here.version, "1.2.3");
}

static void says_why_it_cannot_run(void **state) {
    static const char script[] =
        "#!/bin/sh\necho 'absent: torch finds no NVIDIA GPU'\n";
    (void)state;
    kiln_err err = {.status = KILN_OK};
    kiln_baseline_here here;
    const char *dir = kiln_test_fake_baseline("exit");
    const char *python = kiln_path_join(kiln_test_arena(), dir, "bin/python");
    kiln_assert_status_ok(kiln_file_write(python, script, sizeof script - 1, &err),
                          &err);
    assert_int_equal(chmod(python, 0700), 0);
    use_python(NULL);
    kiln_assert_status_ok(find_in(dir, &here, &err), &err);
    assert_false(here.is_here);
    assert_string_equal(here.remedy, "torch finds no NVIDIA GPU");
}

/* ---- networks -------------------------------------------------------------------- */

static void compare(kiln_arena *a, const kiln_graph *g, const kiln_tensor *in,
                    const kiln_tensor *got) {
    kiln_tensor *want = kiln_array(a, kiln_tensor, g->outputs.n);
    kiln_err err = {.status = KILN_OK};
    kiln_diff d;
    kiln_assert_status_ok(kiln_ref_run(a, g, in, 1, want, &err), &err);
    kiln_assert_status_ok(kiln_ref_compare(got, &want[0], 1e-4, 1e-5, &d, &err), &err);
    if (!d.ok)
        fail_msg("element %d is %g, must be %g", (int)d.worst_index, d.worst_got,
                 d.worst_want);
}

static void runs(void **state) {
    const char *name = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_baseline_here here;
    kiln_baseline_session s;
    kiln_baseline_sample sample;
    const kiln_zoo_network *net = NULL;
    kiln_graph *g = NULL;
    const char *dir = "", *model = kiln_path_join(a, kiln_test_dir(), "model.onnx");
    use_python(own_python);
    (void)kiln_baselines_dir(a, &dir, NULL);
    kiln_assert_status_ok(find_in(dir, &here, &err), &err);
    if (!here.is_here)
        kiln_test_skip("torch_cuda is absent: %s", here.remedy);
    kiln_assert_status_ok(kiln_zoo_find(name, &net, &err), &err);
    kiln_assert_status_ok(kiln_zoo_write(net, 1, model, &err), &err);
    kiln_assert_status_ok(kiln_zoo_import(a, net, 1, KILN_ZOO_FILLED, &g, &err), &err);
    const char *out = g->output_names.v[0];
    const kiln_value_binding in = {g->inputs.v[0]->name,
                                   kiln_ref_random(a, &g->inputs.v[0]->type, 1)};
    const kiln_baseline_job job = {.dir = dir,
                                   .model = model,
                                   .threads = 1,
                                   .in = &in,
                                   .n_in = 1,
                                   .out = &out,
                                   .n_out = 1};
    kiln_assert_status_ok(torch_cuda()->open(torch_cuda(), a, &job, &s, &err), &err);
    compare(a, g, &in.value, &s.out[0]);
    kiln_assert_status_ok(torch_cuda()->run(&s, 2, &sample, &err), &err);
    assert_true(sample.wall_ns > 0 && sample.cpu_ns == 0);
}

int main(void) {
    const char *named = getenv("KILN_PYTHON");
    own_python = named != NULL ? kiln_str_dup(kiln_test_arena(), named) : NULL;
    assert_int_equal(setenv("KILN_TORCH_DEVICE", "cpu", 1), 0);
    kiln_test_add("asks_the_python_that_is_named", asks_the_python_that_is_named, NULL);
    kiln_test_add("says_why_it_cannot_run", says_why_it_cannot_run, NULL);
    kiln_test_add("runs_dqn", runs, (void *)(uintptr_t) "dqn");
    kiln_test_add("runs_dcgan", runs, (void *)(uintptr_t) "dcgan");
    return kiln_test_run("bridge_cuda");
}
