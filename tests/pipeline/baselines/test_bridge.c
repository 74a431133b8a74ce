/* Libraries behind the bridge, whatever they do: answer, refuse, crash, hang, babble.
 * The real ones run where kiln baselines install put them. */
#include "compiler/reference/reference.h"
#include "pipeline/baselines/baselines_internal.h"
#include "tests/support/measuring/fake_baseline.h"
#include "zoo/zoo.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct row {
    const char *name;
    const char *script;
    const char *open_fails, *run_fails; /* text; NULL: goes well */
} row;

#define RIGHT "case $line in *load*) give @OUT;; *) sample;; esac"

static row rows[] = {
    {"answers", RIGHT, NULL, NULL},
    {"refuses", "echo '{\"problem\": \"NotImplemented: no kernel for Frobnicate\"}'",
     "NotImplemented: no kernel for Frobnicate", NULL},
    {"exits", "echo >&2 'libfoo.so: cannot open'; exit 3",
     "the process 'python' ended with code 3; it said last:\nlibfoo.so: cannot open",
     NULL},
    {"crashes", "kill -SEGV $$", "the process 'python' was ended by signal 11", NULL},
    {"hangs", "sleep 3600", "did not answer in time and was ended", NULL},
    {"closes_its_output_and_hangs", "exec >&-; sleep 3600",
     "closed its pipe and did not end", NULL},
    {"babbles", "echo Segfault imminent, have a nice day",
     "answered what is no answer: 'Segfault imminent, have a nice day'", NULL},
    {"babbles_without_end", "tr '\\0' 'x' </dev/zero",
     "answered a megabyte that is no line", NULL},
    {"answers_a_list", "echo '[1, 2]'", "answered what is no answer: '[1, 2]'", NULL},
    {"promises_outputs_and_writes_none", "echo '{}'", "out0.npy", NULL},
    {"writes_what_is_no_tensor", "case $line in *load*) give /bin/sh;; esac",
     "out0.npy", NULL},
    {"crashes_in_a_run", "case $line in *load*) give @OUT;; *) kill -ABRT $$;; esac",
     NULL, "was ended by signal 6"},
    {"gives_no_times", "case $line in *load*) give @OUT;; *) echo '{}';; esac", NULL,
     "answered without 'wall_ns', 'cpu_ns' and 'preempted'"},
    {"gives_times_before_it_began",
     "case $line in *load*) give @OUT;; *) echo '{\"wall_ns\": -5, \"cpu_ns\": 1, "
     "\"preempted\": 0}';; esac",
     NULL, "answered without 'wall_ns', 'cpu_ns' and 'preempted'"},
};

static const kiln_baseline *ort(void) { return kiln_baseline_at(0); }

static kiln_tensor tensor_of(const float *v, int64_t n) {
    const kiln_type t = kiln_type_make(KILN_F32, 1, &n);
    kiln_tensor out = kiln_tensor_new(kiln_test_arena(), &t);
    memcpy(out.data, v, (size_t)n * sizeof *v);
    return out;
}

/* @OUT in a script is a file that holds 1, 2, 3. */
static const char *with_output(const char *script) {
    kiln_arena *a = kiln_test_arena();
    const char *at = strstr(script, "@OUT");
    const char *file = kiln_path_join(a, kiln_test_dir(), "right.npy");
    const kiln_tensor right = tensor_of((const float[]){1, 2, 3}, 3);
    kiln_err err = {.status = KILN_OK};
    if (at == NULL)
        return script;
    kiln_assert_status_ok(kiln_tensor_write_npy(file, &right, &err), &err);
    return kiln_format(a, "%.*s%s%s", (int)(at - script), script, file, at + 4);
}

static void check_row(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {.status = KILN_OK};
    kiln_baseline_session s;
    kiln_baseline_sample sample;
    const char *out = "y";
    const kiln_value_binding in = {"x", tensor_of((const float[]){4}, 1)};
    const kiln_baseline_job job = {.dir =
                                       kiln_test_fake_baseline(with_output(r->script)),
                                   .model = "model.onnx",
                                   .threads = 1,
                                   .in = &in,
                                   .n_in = 1,
                                   .out = &out,
                                   .n_out = 1,
                                   .limit_ms = kiln_test_answer_ms(r->open_fails)};
    kiln_status st = ort()->open(ort(), &a, &job, &s, &err);
    if (r->open_fails != NULL) {
        assert_int_not_equal(st, KILN_OK);
        if (strstr(err.text, r->open_fails) == NULL)
            fail_msg("'%s' is not in: %s", r->open_fails, err.text);
        assert_non_null(strstr(err.text, "ready in onnxruntime with 1 thread"));
        kiln_arena_fini(&a);
        return;
    }
    kiln_assert_status_ok(st, &err);
    kiln_assert_close(s.out[0].data, ((const float[]){1, 2, 3}), 3, 0, 0);
    kiln_test_answer_within(&s, kiln_test_answer_ms(r->run_fails));
    st = ort()->run(&s, 3, &sample, &err);
    if (r->run_fails != NULL) {
        kiln_assert_fails(st, KILN_ERR_LIB, &err, r->run_fails);
    } else {
        kiln_assert_status_ok(st, &err);
        assert_int_equal(sample.wall_ns, 2000000);
    }
    kiln_arena_fini(&a);
}

/* After it was given up, no call waits again. */
static void fails_at_once_after_a_failure(void **state) {
    (void)state;
    kiln_err err = {.status = KILN_OK};
    kiln_baseline_session s;
    kiln_baseline_sample sample;
    const char *script =
        with_output("case $line in *load*) give @OUT;; *) sleep 3600;; esac");
    static const char late[] = "did not answer in time and was ended";
    const char *out = "y";
    const kiln_baseline_job job = {.dir = kiln_test_fake_baseline(script),
                                   .model = "model.onnx",
                                   .threads = 2,
                                   .out = &out,
                                   .n_out = 1,
                                   .limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_assert_status_ok(ort()->open(ort(), kiln_test_arena(), &job, &s, &err), &err);
    kiln_test_answer_within(&s, kiln_test_answer_ms(late));
    kiln_assert_fails(ort()->run(&s, 1, &sample, &err), KILN_ERR_LIB, &err, late);
    kiln_err_clear(&err);
    kiln_assert_fails(ort()->run(&s, 1, &sample, &err), KILN_ERR_LIB, &err,
                      "did not answer in time and was ended before");
}

/* ---- places ---------------------------------------------------------------------- */

static void tells_what_is_here(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_baseline_here here;
    kiln_assert_status_ok(
        ort()->find(ort(), a, kiln_test_fake_baseline("exit"), &here, &err), &err);
    assert_true(here.is_here);
    assert_string_equal(here.version, "1.2.3");
    kiln_assert_status_ok(ort()->find(ort(), a, "/nowhere", &here, &err), &err);
    assert_false(here.is_here);
    assert_string_equal(here.remedy, "not in '/nowhere'; 'kiln baselines install "
                                     "--only onnxruntime' gets it");
}

/* Broken is not absent. */
static void tells_what_is_broken(void **state) {
    (void)state;
    kiln_err err = {.status = KILN_OK};
    kiln_baseline_here here;
    const char *dir = kiln_test_fake_baseline("exit");
    const char *python = kiln_path_join(kiln_test_arena(), dir, "bin/python");
    static const char broken[] = "#!/bin/sh\necho 'no module named os' >&2; exit 1\n";
    kiln_assert_status_ok(kiln_file_write(python, broken, sizeof broken - 1, &err),
                          &err);
    assert_int_equal(chmod(python, 0700), 0);
    kiln_assert_fails(ort()->find(ort(), kiln_test_arena(), dir, &here, &err),
                      KILN_ERR_LIB, &err,
                      "cannot say which version of 'onnxruntime' is here: no module "
                      "named os");
}

static void rows_have_their_wheels(void **state) {
    (void)state;
    for (int i = 0; kiln_baseline_at(i) != NULL; i++) {
        const kiln_baseline *b = kiln_baseline_at(i);
        assert_true(strlen(b->doc) > 0);
        assert_true(b->open == NULL || b->wheel != NULL || b->packages != NULL);
        assert_true(b->packages == NULL || b->open_op != NULL || b->wheel == NULL);
        assert_true(b->packages != NULL || b->wheel != NULL);
        for (const char *const *w = b->wheel; w != NULL && *w != NULL; w++)
            assert_non_null(kiln_wheel_version(*w));
    }
    assert_null(kiln_wheel_version("antigravity"));
}

typedef struct list_row {
    const char *name, *list;
    kiln_baseline_subject subject;
    const char *text; /* of the refusal; NULL: taken as it is */
} list_row;

static list_row lists[] = {
    {"takes_models", "openvino,onnxruntime", KILN_BASELINE_MODELS, NULL},
    {"takes_operators", "xnnpack,onednn", KILN_BASELINE_OPERATORS, NULL},
    {"takes_both_kinds", "xnnpack,openvino", KILN_BASELINE_ANY, NULL},
    {"refuses_an_unknown_one", "onnxruntime,magma", KILN_BASELINE_MODELS,
     "there is no baseline 'magma'; there are: onnxruntime, openvino, litert, mnn, "
     "ncnn, iree, torch, tvm, armnn, torch_cuda, onnxruntime_cuda, tensorrt"},
    {"refuses_a_second_time", "openvino,openvino", KILN_BASELINE_MODELS,
     "baseline 'openvino' is given twice"},
    {"refuses_a_model_for_onednn", "onnxruntime,onednn", KILN_BASELINE_MODELS,
     "baseline 'onednn' runs operators; those of models are: onnxruntime, openvino, "
     "litert, mnn, ncnn, iree, torch, tvm, armnn, torch_cuda, onnxruntime_cuda, "
     "tensorrt"},
    {"refuses_an_operator_for_openvino", "openvino", KILN_BASELINE_OPERATORS,
     "baseline 'openvino' runs models; those of operators are: onednn, onednn2, "
     "xnnpack, xnnpack_arm, armcl, cudnn, clblast"},
};

static void check_list(void **state) {
    const list_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    const kiln_baseline *const *list;
    kiln_str rest = kiln_str_from(r->list), name;
    const kiln_status st = kiln_baselines_parse(a, r->list, r->subject, &list, &err);
    if (r->text != NULL) {
        kiln_assert_fails(st, KILN_ERR_ARG, &err, r->text);
        return;
    }
    kiln_assert_status_ok(st, &err);
    while (kiln_str_cut(&rest, ',', &name))
        assert_true(kiln_str_is(name, (*list++)->name));
    assert_null(*list);
}

/* ---- installing ------------------------------------------------------------------ */

typedef struct install_row {
    const char *name;
    const char *python3; /* a script that PATH finds; "@DIR" is where to install */
    const char *text;
} install_row;

static install_row installs[] = {
    {"reports_a_python_without_venv", "echo 'No module named venv' >&2; exit 1",
     "'python3' ended with code 1; Python 3.11 or later with venv and pip is needed: "
     "Debian's python3-venv. It said:\nNo module named venv\n  while making a Python "
     "virtual environment in '"},
    {"reports_a_pip_without_network",
     "mkdir -p \"$3/bin\"; printf '#!/bin/sh\\necho \"no route to host\" >&2; exit "
     "2\\n' "
     ">\"$3/bin/python\"; chmod 700 \"$3/bin/python\"",
     "ended with code 2; pip needs a network, or to be told of a mirror; the same "
     "command goes on from here. It said:\nno route to host\n  while installing wheels "
     "into '"},
};

static void check_install(void **state) {
    const install_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    const kiln_baseline *const which[] = {ort(), NULL};
    const char *fake = kiln_test_fake_baseline("exit"), *path = getenv("PATH");
    const char *old = kiln_str_dup(a, path);
    const char *bin = kiln_path_join(a, fake, "bin");
    const char *target = kiln_path_join(a, fake, "made/here");
    const char *text = kiln_format(a, "#!/bin/sh\n%s\n", r->python3);
    const char *python3 = kiln_path_join(a, bin, "python3");
    const kiln_str bytes = kiln_str_from(text);
    kiln_assert_status_ok(kiln_file_write(python3, bytes.p, bytes.n, &err), &err);
    assert_int_equal(chmod(python3, 0700), 0);
    assert_int_equal(setenv("PATH", kiln_format(a, "%s:%s", bin, old), 1), 0);
    const kiln_status st = kiln_baselines_install(a, target, which, &err);
    assert_int_equal(setenv("PATH", old, 1), 0);
    kiln_assert_fails(st, KILN_ERR_IO, &err, r->text);
}

/* What pip is asked for: each wheel once, with all that it needs, by hash. */
static void asks_by_hash(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    const kiln_baseline *const which[] = {ort(), kiln_baseline_at(1), NULL};
    const char *fake = kiln_test_fake_baseline("exit");
    kiln_str mapped;
    static const char *const names[] = {
        "numpy",     "onnxruntime", "openvino",   "openvino-telemetry",
        "packaging", "protobuf",    "flatbuffers"};
    (void)kiln_baselines_install(a, fake, which, &err);
    kiln_assert_status_ok(kiln_file_map(a, kiln_path_join(a, fake, "requirements.txt"),
                                        1 << 20, &mapped, &err),
                          &err);
    const char *list = kiln_str_dupv(a, mapped);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *line = kiln_format(a, "%s==%s \\\n    --hash=sha256:", names[i],
                                       kiln_wheel_version(names[i]));
        const char *at = strstr(list, line);
        assert_non_null(at);
        assert_null(strstr(at + 1, line));
    }
}

/* ---- wheels for some machines ---------------------------------------------------- */

/* Of those that `list` names, for a machine: pip is asked for them, or for none. */
typedef struct machine_row {
    const char *name, *list, *machine;
    bool has_onednn;
    const char *refusal; /* NULL: there is something to install */
} machine_row;

static machine_row machines[] = {
    {"onednn_has_a_wheel", "onednn", "x86_64", true, NULL},
    {"onednn_with_others", "openvino,onednn,xnnpack", "x86_64", true, NULL},
    {"onednn_is_left_out", "openvino,onednn,xnnpack", "aarch64", false, NULL},
    {"onednn_alone_is_refused", "onednn", "aarch64", false,
     "there is no wheel of 'onednn' for this machine (aarch64): install Debian's "
     "libdnnl-dev and build kiln again"},
    {"xnnpack_has_none", "xnnpack", "x86_64", false,
     "'xnnpack' comes with kiln: install Debian's libxnnpack-dev libpthreadpool-dev "
     "and build kiln again"},
};

static void check_machine(void **state) {
    const machine_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    const kiln_baseline *const *list;
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_assert_status_ok(
        kiln_baselines_parse(a, r->list, KILN_BASELINE_ANY, &list, &err), &err);
    const kiln_status st = kiln_wheels_requirements(list, r->machine, &text, &err);
    if (r->refusal != NULL) {
        kiln_assert_fails(st, KILN_ERR_ARG, &err, r->refusal);
        return;
    }
    kiln_assert_status_ok(st, &err);
    const char *line = kiln_format(a, "onednn-cpu-gomp==%s \\\n    --hash=sha256:",
                                   kiln_wheel_version("onednn-cpu-gomp"));
    assert_true((strstr(text.p, line) != NULL) == r->has_onednn);
    assert_true((strstr(text.p, "onednn") != NULL) == r->has_onednn);
    assert_true((strstr(text.p, "openvino==") != NULL) ==
                (strstr(r->list, "openvino") != NULL));
}

/* ---- the real ones --------------------------------------------------------------- */

static void runs_dqn(void **state) {
    const kiln_baseline *b = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_baseline_here here;
    kiln_baseline_session s;
    kiln_baseline_sample sample;
    const kiln_zoo_network *net = NULL;
    kiln_graph *g = NULL;
    const char *dir, *model = kiln_path_join(a, kiln_test_dir(), "dqn.onnx");
    if (kiln_baselines_dir(a, &dir, &err) != KILN_OK)
        kiln_test_skip("%s is absent: %s", b->name, err.text);
    kiln_assert_status_ok(b->find(b, a, dir, &here, &err), &err);
    if (!here.is_here)
        kiln_test_skip("%s is absent: %s", b->name, here.remedy);
    kiln_assert_status_ok(kiln_zoo_find("dqn", &net, &err), &err);
    kiln_assert_status_ok(kiln_zoo_write(net, 1, model, &err), &err);
    kiln_assert_status_ok(kiln_zoo_import(a, net, 1, KILN_ZOO_OUTLINE, &g, &err), &err);
    const char *out = g->output_names.v[0];
    const kiln_value_binding in = {g->inputs.v[0]->name,
                                   kiln_ref_random(a, &g->inputs.v[0]->type, 1)};
    const kiln_baseline_job job = {.dir = dir,
                                   .model = model,
                                   .threads = 2,
                                   .in = &in,
                                   .n_in = 1,
                                   .out = &out,
                                   .n_out = 1};
    kiln_assert_status_ok(b->open(b, a, &job, &s, &err), &err);
    assert_int_equal(kiln_type_elems(&s.out[0].type),
                     kiln_type_elems(&g->outputs.v[0]->type));
    kiln_assert_status_ok(b->run(&s, 5, &sample, &err), &err);
    assert_true(sample.wall_ns > 0);
}

/* ---- of a profile ---------------------------------------------------------------- */

typedef struct of_row {
    const char *name, *text, *listed[4]; /* listed: the profile's */
    kiln_baseline_subject subject;
    bool has_profile;
    const char *want; /* names, each with a blank; NULL: refused */
    const char *message;
} of_row;

static of_row of_rows[] = {
    {"takes_the_profiles_of_models",
     "profile",
     {"onednn", "openvino", "onnxruntime"},
     KILN_BASELINE_MODELS,
     true,
     "openvino onnxruntime ",
     NULL},
    {"takes_the_profiles_of_operators",
     "profile",
     {"onednn", "openvino"},
     KILN_BASELINE_OPERATORS,
     true,
     "onednn ",
     NULL},
    {"takes_named_ones_as_before",
     "onnxruntime",
     {"openvino"},
     KILN_BASELINE_MODELS,
     true,
     "onnxruntime ",
     NULL},
    {"says_where_the_profile_names_none",
     "profile",
     {"onednn"},
     KILN_BASELINE_MODELS,
     true,
     NULL,
     "profile 'mine' names no baselines of models: add \"baselines\" to its file, or "
     "name them; there are: onnxruntime, openvino, litert, mnn, "
     "ncnn, iree, torch, tvm, armnn, torch_cuda, onnxruntime_cuda, tensorrt"},
    {"knows_its_baselines_in_profiles",
     "profile",
     {"magma"},
     KILN_BASELINE_MODELS,
     true,
     NULL,
     "there is no baseline 'magma'"},
    {"says_that_packages_name_none",
     "profile",
     {NULL},
     KILN_BASELINE_MODELS,
     false,
     NULL,
     "a package does not say with what it is compared"},
};

static void check_of_profile(void **state) {
    const of_row *r = *state;
    const kiln_profile p = {.name = "mine", .baseline = r->listed};
    const kiln_baseline *const *list = NULL;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_buf names;
    const kiln_status st = kiln_baselines_choose(a, r->text, r->has_profile ? &p : NULL,
                                                 r->subject, &list, &err);
    if (r->want == NULL) {
        kiln_assert_fails(st, KILN_ERR_ARG, &err, r->message);
        return;
    }
    kiln_assert_status_ok(st, &err);
    kiln_buf_init(&names, a);
    for (; *list != NULL; list++)
        kiln_buf_printf(&names, "%s ", (*list)->name);
    assert_string_equal(names.p, r->want);
}

int main(void) {
    /* Fakes stand for the Python of an environment: none is named. */
    assert_int_equal(unsetenv("KILN_PYTHON"), 0);
    kiln_test_add_rows(check_of_profile, of_rows);
    kiln_test_add_rows(check_row, rows);
    kiln_test_add("fails_at_once_after_a_failure", fails_at_once_after_a_failure, NULL);
    kiln_test_add("tells_what_is_here", tells_what_is_here, NULL);
    kiln_test_add("tells_what_is_broken", tells_what_is_broken, NULL);
    kiln_test_add("rows_have_their_wheels", rows_have_their_wheels, NULL);
    kiln_test_add("asks_by_hash", asks_by_hash, NULL);
    kiln_test_add_rows(check_machine, machines);
    kiln_test_add_rows(check_list, lists);
    kiln_test_add_rows(check_install, installs);
    for (int i = 0; kiln_baseline_at(i) != NULL; i++) {
        const kiln_baseline *b = kiln_baseline_at(i);
        if (b->open == NULL || !kiln_baseline_reads(b, "onnx"))
            continue;
        kiln_test_add(kiln_format(kiln_test_arena(), "runs_dqn_in_%s", b->name),
                      runs_dqn, (void *)(uintptr_t)b);
    }
    return kiln_test_run("bridge");
}
