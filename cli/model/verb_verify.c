/* kiln verify: does kiln compute what others computed?
 *
 *   kiln verify --onnx-tests DIR --reference      a folder of ONNX conformance tests
 *   kiln verify MODEL --golden DIR --reference    a model against golden outputs
 *   kiln verify PACKAGE                           a package against what it was made of
 */
#include "cli/options/op_options.h"
#include "cli/options/sign_option.h"
#include "pipeline/machine/machine.h"
#include "pipeline/package/package.h"
#include "pipeline/pipeline.h"
#include "pipeline/remote/remote.h"
#include "compiler/pass/pass.h"

#include <string.h>

enum {
    OPT_ONNX_TESTS,
    OPT_GOLDEN,
    OPT_REFERENCE,
    OPT_PROFILE,
    OPT_RUNNER,
    OPT_PRIORITY,
    OPT_MODEL,
    OPT_THREADS,
    OPT_FILTER,
    OPT_NO_PASSES,
    OPT_CHECK_PASSES,
    OPT_SHAPE,
    OPT_BIND,
    OPT_SIGNATURE,
    OPT_STATE,
    OPT_ROUNDING,
    OPT_KEY,
    OPT_KEYRING,
    OPT_JSON,
    OPT_COUNTS,
    N_OPTIONS
};

static const kiln_option options[N_OPTIONS] = {
    [OPT_ONNX_TESTS] = {"--onnx-tests", "DIR",
                        "run the ONNX conformance tests below DIR", false},
    [OPT_GOLDEN] = {"--golden", "DIR", "compare with DIR/golden.json", false},
    [OPT_REFERENCE] = {"--reference", NULL, "run by the reference interpreter", false},
    [OPT_PROFILE] = {"--profile", "P",
                     "compile for a profile ('native': this machine) and run that",
                     false},
    [OPT_RUNNER] = KILN_RUNNER_OPTION,
    [OPT_PRIORITY] = KILN_PRIORITY_OPTION,
    [OPT_MODEL] = {"--model", "M",
                   "a package: ask the reference about the model it was built from",
                   false},
    [OPT_THREADS] = {"--threads", "N", "a package: at this number of threads (1 and 2)",
                     true},
    [OPT_FILTER] = {"--filter", "TEXT",
                    "only conformance tests whose name contains TEXT", false},
    [OPT_NO_PASSES] = {"--no-passes", NULL, "run the graph as imported", false},
    [OPT_CHECK_PASSES] = {"--check-passes", NULL,
                          "compare each graph pass with the reference", false},
    [OPT_SHAPE] = {"--shape", "NAME:DIMS", "bind an input's dynamic dimensions", true},
    [OPT_BIND] = {"--bind", "NAME=VALUE", "fix an input: a number, FILE.npy or FILE.pb",
                  true},
    [OPT_SIGNATURE] = KILN_SIGNATURE_OPTION,
    [OPT_STATE] = KILN_STATE_OPTION,
    [OPT_ROUNDING] = KILN_ROUNDING_OPTION,
    [OPT_KEY] = {"--key", "NAME.pub", "a package: this key must have signed it", false},
    [OPT_KEYRING] = KILN_KEYRING_OPTION,
    [OPT_JSON] = {"--json", "FILE", "write all results as JSON ('-': standard output)",
                  false},
    [OPT_COUNTS] = {"--counts", NULL, "print the counts only", false},
};

static const kiln_cli_import_at import_at = {OPT_SHAPE, OPT_BIND, OPT_SIGNATURE,
                                             OPT_STATE, OPT_ROUNDING};

static void show_progress(void *user, const kiln_check *c, size_t done, size_t total) {
    (void)user;
    kiln_progress_step("verifying", "tests", (double)done, (double)total, c->name);
}

static void add_lines(kiln_buf *out, const kiln_checks *c, bool passed_too) {
    for (size_t i = 0; i < c->list.n; i++) {
        const kiln_check *x = &c->list.v[i];
        if (x->outcome == KILN_PASSED && !passed_too)
            continue;
        kiln_buf_printf(out, "%-11s %s", kiln_check_outcome_name(x->outcome), x->name);
        if (x->outcome != KILN_PASSED)
            kiln_buf_printf(out, ": %s", x->reason);
        else if (x->rms_want > 0 || x->max_abs > 0)
            kiln_buf_printf(
                out, ": largest error %.3g, rms error %.3g of rms %.3g, %lld ms",
                x->max_abs, x->rms_error, x->rms_want, (long long)x->time_ms);
        kiln_buf_puts(out, "\n");
    }
}

static kiln_status print(const kiln_cli_args *args, const kiln_checks *c,
                         bool passed_too, kiln_err *err) {
    KILN_ASSERT(c->n_passed + c->n_failed + c->n_unsupported == c->list.n,
                "%zu checks have other verdicts", c->list.n);
    kiln_cli_answer answer;
    kiln_cli_answer_init(&answer, args->arena);
    kiln_checks_json(&answer.json, c);
    if (!kiln_args_has(args, OPT_COUNTS))
        add_lines(&answer.text, c, passed_too);
    kiln_buf_printf(&answer.text, "%zu passed, %zu failed, %zu unsupported\n",
                    c->n_passed, c->n_failed, c->n_unsupported);
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}

static kiln_status run_conformance(const kiln_cli_args *args, const kiln_runner *runner,
                                   kiln_checks *out, kiln_err *err) {
    const kiln_conformance_options o = {.filter = kiln_args_get(args, OPT_FILTER, NULL),
                                        .optimize = !kiln_args_has(args, OPT_NO_PASSES),
                                        .check_passes =
                                            kiln_args_has(args, OPT_CHECK_PASSES),
                                        .progress = show_progress,
                                        .runner = runner};
    return kiln_verify_conformance(
        args->arena, kiln_args_get(args, OPT_ONNX_TESTS, NULL), &o, out, err);
}

static kiln_status run_golden(const kiln_cli_args *args, const kiln_runner *runner,
                              kiln_checks *out, kiln_err *err) {
    kiln_import_options o;
    KILN_TRY(kiln_cli_import_options(args, args->pos[0], &import_at, &o, err));
    const kiln_pass_options passes = {.verify = true,
                                      .check = kiln_args_has(args, OPT_CHECK_PASSES),
                                      .check_seed = 1};
    return kiln_verify_golden(
        args->arena, args->pos[0], kiln_args_get(args, OPT_GOLDEN, NULL), &o,
        kiln_args_has(args, OPT_NO_PASSES) ? NULL : &passes, runner, out, err);
}

/* ---- packages -------------------------------------------------------------------- */

/* What the user says of inputs must be what the package was built for. */
static kiln_status check_said(const kiln_cli_args *args, const kiln_package_facts *f,
                              kiln_err *err) {
    for (size_t i = 0; i < args->n_value[OPT_SHAPE]; i++) {
        kiln_shape_binding b;
        size_t k = 0;
        KILN_TRY(
            kiln_cli_shape_binding(args->arena, args->value[OPT_SHAPE][i], &b, err));
        while (k < f->n_inputs && strcmp(f->input[k].name, b.name) != 0)
            k++;
        if (k == f->n_inputs)
            return kiln_fail(err, KILN_ERR_ARG,
                             "--shape %s: the package has no such input", b.name);
        const kiln_package_port *own = &f->input[k];
        if (own->rank != b.rank ||
            memcmp(own->dim, b.dim, (size_t)b.rank * sizeof *b.dim) != 0)
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "--shape %s: the package was built for %s", b.name,
                             kiln_shape_text(args->arena, own->rank, own->dim));
    }
    for (size_t i = 0; i < args->n_value[OPT_BIND]; i++) {
        kiln_value_binding b;
        KILN_TRY(kiln_cli_package_binding(args->arena, f, args->value[OPT_BIND][i], &b,
                                          err));
        KILN_TRY(kiln_package_check_fixed(args->arena, f, &b, err));
    }
    return KILN_OK;
}

static kiln_status read_fixed(const kiln_cli_args *args, kiln_verify_options *o,
                              kiln_err *err) {
    const char *path = args->pos[0];
    kiln_package_facts f;
    kiln_import_options import;
    if (!kiln_args_has(args, OPT_BIND) && !kiln_args_has(args, OPT_SHAPE))
        return KILN_OK;
    KILN_TRY(kiln_package_is_folder(path)
                 ? kiln_package_inspect_folder(args->arena, path, &f, err)
                 : kiln_package_inspect_by(args->arena, path, o->keys, &f, NULL, err));
    KILN_TRY(check_said(args, &f, err));
    if (o->model == NULL)
        return KILN_OK;
    KILN_TRY(kiln_cli_import_options(args, o->model, &import_at, &import, err));
    o->fixed = (kiln_fixed_inputs){import.values, import.n_values};
    return KILN_OK;
}

/* One key, or a ring of them. */
static kiln_status read_keys(const kiln_cli_args *args, const kiln_keyring **out,
                             kiln_err *err) {
    const bool has_one = kiln_args_has(args, OPT_KEY);
    if (has_one && kiln_args_has(args, OPT_KEYRING))
        return kiln_fail(err, KILN_ERR_ARG,
                         "give either --key NAME.pub or --keyring DIR");
    return kiln_cli_keyring(args, has_one ? OPT_KEY : OPT_KEYRING, out, err);
}

static kiln_status run_package(const kiln_cli_args *args, int *exit_code,
                               kiln_err *err) {
    static const int of_models[] = {OPT_ONNX_TESTS, OPT_REFERENCE,    OPT_PROFILE,
                                    OPT_FILTER,     OPT_CHECK_PASSES, OPT_NO_PASSES};
    for (size_t i = 0; i < sizeof of_models / sizeof of_models[0]; i++)
        if (kiln_args_has(args, of_models[i]))
            return kiln_fail(err, KILN_ERR_ARG, "kiln verify: a package has no %s",
                             options[of_models[i]].name);
    int usual[] = {1, 2};
    kiln_verify_options o = {.threads = usual,
                             .n_threads = 2,
                             .golden = kiln_args_get(args, OPT_GOLDEN, NULL),
                             .model = kiln_args_get(args, OPT_MODEL, NULL),
                             .seed = 2};
    KILN_TRY(read_keys(args, &o.keys, err));
    KILN_TRY(read_fixed(args, &o, err));
    KILN_TRY(kiln_cli_device(args, OPT_RUNNER, OPT_PRIORITY, args->pos[0], o.keys,
                             &o.where, err));
    const size_t n = args->n_value[OPT_THREADS];
    int *given = kiln_array(args->arena, int, n);
    for (size_t i = 0; i < n; i++)
        KILN_TRY(kiln_cli_number(args->value[OPT_THREADS][i], "--threads", 1,
                                 KILN_DEVICE_MAX_THREADS, &given[i], err));
    if (n > 0) {
        o.threads = given;
        o.n_threads = (int)n;
    }
    kiln_checks checks = {0};
    KILN_TRY(kiln_verify_package(args->arena, args->pos[0], &o, &checks, err));
    KILN_TRY(print(args, &checks, true, err));
    *exit_code = checks.n_failed == 0 ? KILN_EXIT_OK : KILN_EXIT_CHECK;
    return KILN_OK;
}

/* Here, or on a runner elsewhere: known once, not for each test. */
static kiln_status find_target(const kiln_cli_args *args, const char *name,
                               kiln_profile *profile, kiln_remote_target *target,
                               kiln_err *err) {
    kiln_apart_options there = {.far = NULL};
    KILN_TRY(kiln_machine_find(args->arena, name, profile, err));
    if (!kiln_args_has(args, OPT_RUNNER))
        return kiln_runs_here(profile, err);
    KILN_TRY(
        kiln_cli_borrow(args, OPT_RUNNER, OPT_PRIORITY, profile, 1, &there.far, err));
    target->apart = kiln_apart_new(args->arena, &there);
    return KILN_OK;
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    kiln_interrupt_catch();
    if (args->n_pos == 1 && kiln_cli_is_package(args->pos[0]))
        return run_package(args, exit_code, err);
    const bool conformance = kiln_args_has(args, OPT_ONNX_TESTS);
    const bool golden = kiln_args_has(args, OPT_GOLDEN);
    if (args->n_pos == 1 && !kiln_file_exists(args->pos[0]) &&
        !(golden && kiln_dir_exists(args->pos[0]))) /* models may be folders, too */
        return kiln_fail(err, KILN_ERR_MISSING,
                         "there is no file and no package's folder '%s'", args->pos[0]);
    if (args->n_pos == 1 && !conformance && !golden)
        return kiln_fail(err, KILN_ERR_ARG,
                         "'%s' is no package; a model is verified by --golden DIR",
                         args->pos[0]);
    if (conformance == golden || golden != (args->n_pos == 1))
        return kiln_fail(
            err, KILN_ERR_ARG,
            "kiln verify takes either --onnx-tests DIR, or MODEL --golden DIR, or a "
            "package; see kiln verify --help");
    const char *name = kiln_args_get(args, OPT_PROFILE, NULL);
    if ((name != NULL) == kiln_args_has(args, OPT_REFERENCE))
        return kiln_fail(err, KILN_ERR_ARG,
                         "kiln verify runs models either by the interpreter "
                         "(--reference) or compiled (--profile native)");
    if (kiln_args_has(args, OPT_KEY) || kiln_args_has(args, OPT_KEYRING))
        return kiln_fail(err, KILN_ERR_ARG, "kiln verify: only packages have keys");
    kiln_profile profile;
    kiln_remote_target target = kiln_remote_target_of(args->arena, &profile);
    kiln_runner runner = {kiln_remote_run_graph, &target};
    if (name == NULL && kiln_args_has(args, OPT_RUNNER))
        return kiln_fail(err, KILN_ERR_ARG,
                         "kiln verify: --runner runs what is compiled; say for which "
                         "profile by --profile");
    if (name != NULL)
        KILN_TRY(find_target(args, name, &profile, &target, err));
    else
        runner = kiln_runner_reference;
    kiln_checks checks = {0};
    KILN_TRY(conformance ? run_conformance(args, &runner, &checks, err)
                         : run_golden(args, &runner, &checks, err));
    KILN_TRY(print(args, &checks, golden, err));
    /* What is unsupported was refused with a reason: the folder holds more than kiln
     * promises. A golden model that cannot be run has failed above. */
    *exit_code =
        checks.n_failed == 0 && checks.n_passed > 0 ? KILN_EXIT_OK : KILN_EXIT_CHECK;
    return KILN_OK;
}

const kiln_verb kiln_verb_verify = {
    .name = "verify",
    .summary = "hold a package, a model or conformance tests against right outputs",
    .usage = "PACKAGE [options] | MODEL --golden DIR | --onnx-tests DIR, --reference | "
             "--profile P",
    .example =
        "  kiln verify resnet18-1-native.kiln.tar.zst --model resnet18.onnx\n"
        "  kiln verify resnet18-1-native.kiln.tar.zst --key release.pub\n"
        "  kiln verify resnet18-1-aarch64.kiln.tar.zst --runner board\n"
        "  kiln verify model.onnx --golden golden/model --reference\n"
        "  kiln verify model.onnx --golden golden/model --profile native\n"
        "  kiln verify model.onnx --golden golden/model --profile aarch64 --runner "
        "board\n"
        "  kiln verify --onnx-tests onnx-node-tests --reference --json results.json\n",
    .n_pos_max = 1,
    .takes_oci = true,
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
