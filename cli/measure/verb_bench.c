/* kiln bench: how fast, of what the machine could do, and is it right?
 *
 *   kiln bench MODEL             a whole network, compiled in this process
 *   kiln bench PACKAGE           one that was built before
 *   kiln bench --ops LIST        single operators
 *
 * and with --instances or --duration: how many runs in a second, by several at once?
 */
#include "cli/options/db_option.h"
#include "cli/options/op_options.h"
#include "cli/options/sign_option.h"
#include "pipeline/bench/bench.h"
#include "pipeline/curve/curve.h"
#include "pipeline/devices/devices.h"
#include "pipeline/measure/wire/wire.h"

#include <string.h>

enum {
    OPT_OPS,
    OPT_OP,
    OPT_FILTER,
    OPT_THREADS,
    OPT_RUNNER,
    OPT_PRIORITY,
    OPT_PROFILE,
    OPT_TEMPLATE,
    OPT_CONFIG_FILE,
    OPT_DB,
    OPT_NO_READY,
    OPT_NO_PREDICT,
    OPT_SECONDS,
    OPT_ROUNDS,
    OPT_STEPS,
    OPT_INSTANCES,
    OPT_DURATION,
    OPT_SHAPE,
    OPT_BIND,
    OPT_SIGNATURE,
    OPT_STATE,
    OPT_ROUNDING,
    OPT_BASELINES,
    OPT_BESIDE,
    OPT_MODEL,
    OPT_KEYRING,
    OPT_JSON,
    N_OPTIONS
};

static const kiln_option options[N_OPTIONS] = {
    [OPT_OPS] =
        {"--ops", "LIST",
         "resnet18, mobilenet, gemm, gemm-f16, bandwidth, or a file (docs/ops-file.md)",
         false},
    [OPT_OP] = {"--op", "LINE", "one operator, as a line of such a file", false},
    [OPT_FILTER] = {"--filter", "TEXT", "only operators whose name contains TEXT",
                    false},
    [OPT_THREADS] =
        {"--threads", "N[,M]",
         "numbers of threads; a model can be measured at several, compiled for each "
         "as a build is (1)",
         false},
    [OPT_RUNNER] = {"--runner", "DEVICE",
                    "measure there, not here: a device or a pool of them, by its name "
                    "(kiln device add) or its address, as for kiln tune",
                    false},
    [OPT_PRIORITY] = KILN_PRIORITY_OPTION,
    [OPT_PROFILE] = {"--profile", "NAME",
                     "make code for this profile (default: this machine's)", false},
    [OPT_TEMPLATE] = {"--template", "NAME",
                      "operators: use this template (default: the first that fits)",
                      false},
    [OPT_CONFIG_FILE] = {"--config-file", "FILE",
                         "operators: JSON list of {\"op\", \"template\", \"config\"}",
                         false},
    [OPT_DB] = KILN_DB_OPTION,
    [OPT_NO_READY] = KILN_NO_READY_OPTION,
    [OPT_NO_PREDICT] = KILN_NO_PREDICT_OPTION,
    [OPT_SECONDS] = {"--seconds", "S", "measure each operator so long (0.5)", false},
    [OPT_ROUNDS] = {"--rounds", "R", "samples of a model (30)", false},
    [OPT_STEPS] = {"--steps", NULL, "a model's steps too, slowest first", false},
    [OPT_INSTANCES] = {"--instances", "N[,M]",
                       "a model: so many sessions at once, each of --threads; "
                       "percentiles and runs in a second (1)",
                       false},
    [OPT_DURATION] = {"--duration", "S", "so long, with each number of instances (10)",
                      false},
    [OPT_SHAPE] = {"--shape", "NAME:DIMS", "bind a model's dynamic dimensions", true},
    [OPT_BIND] = {"--bind", "NAME=VALUE",
                  "fix a model's input: a number, FILE.npy or FILE.pb", true},
    [OPT_SIGNATURE] = KILN_SIGNATURE_OPTION,
    [OPT_STATE] = KILN_STATE_OPTION,
    [OPT_ROUNDING] = KILN_ROUNDING_OPTION,
    [OPT_BASELINES] =
        {"--baselines", "LIST",
         "measure beside these libraries: onnxruntime, openvino, litert, mnn, ncnn, "
         "iree, torch, tvm, armnn for models, onednn, onednn2, xnnpack, armcl for "
         "operators; on GPUs "
         "torch_cuda, onnxruntime_cuda, tensorrt, and cudnn, clblast (kiln baselines); "
         "profile: those that the profile names, as without this option on a GPU",
         false},
    [OPT_BESIDE] = {"--beside", "PROFILE",
                    "operators: measure this profile's code, too, and say how both "
                    "stand: a GPU's beside a CPU's",
                    false},
    [OPT_MODEL] = {"--model", "MODEL",
                   "a package: what it was built from; the baselines run that", false},
    [OPT_KEYRING] = KILN_KEYRING_OPTION,
    [OPT_JSON] = {"--json", "FILE", "write the results as JSON ('-': standard output)",
                  false},
};

static const kiln_cli_import_at import_at = {OPT_SHAPE, OPT_BIND, OPT_SIGNATURE,
                                             OPT_STATE, OPT_ROUNDING};

/* Those of one kind of subject alone. */
static const int for_operators[] = {OPT_OPS,      OPT_OP,     OPT_FILTER,
                                    OPT_TEMPLATE, OPT_BESIDE, OPT_CONFIG_FILE,
                                    OPT_SECONDS};
static const int for_models[] = {OPT_ROUNDS,    OPT_STEPS, OPT_INSTANCES, OPT_DURATION,
                                 OPT_SHAPE,     OPT_BIND,  OPT_MODEL,     OPT_KEYRING,
                                 OPT_SIGNATURE, OPT_STATE, OPT_ROUNDING};
/* Samples taken one by one. */
static const int for_rounds[] = {OPT_ROUNDS, OPT_STEPS, OPT_BASELINES, OPT_MODEL};

static kiln_status refuse(const kiln_cli_args *args, const int *option, size_t n,
                          const char *what, kiln_err *err) {
    for (size_t i = 0; i < n; i++)
        if (kiln_args_has(args, option[i]))
            return kiln_fail(err, KILN_ERR_ARG, "kiln bench: %s has no %s", what,
                             options[option[i]].name);
    return KILN_OK;
}

/* ---- operators ------------------------------------------------------------------- */

static void show_operator(void *user, const char *name, size_t done, size_t total) {
    (void)user;
    kiln_progress_step("measuring", "operators", (double)done, (double)total, name);
}

static kiln_status read_lines(const kiln_cli_args *args, kiln_op_lines *out,
                              kiln_err *err) {
    const char *ops = kiln_args_get(args, OPT_OPS, NULL);
    const char *op = kiln_args_get(args, OPT_OP, NULL);
    if ((ops == NULL) == (op == NULL))
        return kiln_fail(err, KILN_ERR_ARG,
                         "say what to measure: a model, or operators by --ops LIST or "
                         "by --op LINE");
    if (ops != NULL)
        return kiln_op_lines_read(args->arena, ops, out, err);
    kiln_op_line line;
    KILN_TRY(kiln_op_line_of(args->arena, op, &line, err));
    *out = (kiln_op_lines){.list = {.n = 0}};
    kiln_vec_push(args->arena, &out->list, line);
    return KILN_OK;
}

static kiln_status read_numbers(const kiln_cli_args *args, kiln_bench_options *o,
                                kiln_err *err) {
    const char *seconds = kiln_args_get(args, OPT_SECONDS, "0.5");
    KILN_TRY(kiln_cli_number(kiln_args_get(args, OPT_THREADS, "1"), "--threads", 1,
                             KILN_POOL_MAX_THREADS, &o->threads, err));
    if (!kiln_parse_f64(kiln_str_from(seconds), &o->seconds) || !(o->seconds >= 0) ||
        o->seconds > 3600)
        return kiln_fail(err, KILN_ERR_ARG,
                         "--seconds must be a number from 0 to 3600, is '%s'", seconds);
    return KILN_OK;
}

/* Nobody has a CPU's libraries in mind for a GPU's kernels: without a list those that its
 * profile names. NULL: none. */
static const char *list_of(const kiln_cli_args *args, const kiln_profile *p) {
    const kiln_profile *on = p != NULL && p->device != NULL ? p->device : p;
    const bool names_some = on != NULL && kiln_profile_is_gpu(on) &&
                            on->baseline != NULL && !kiln_args_has(args, OPT_RUNNER);
    return kiln_args_get(args, OPT_BASELINES, names_some ? "profile" : NULL);
}

/* Only those that were asked for must be here. */
static bool is_asked(const kiln_cli_args *args) {
    return kiln_args_has(args, OPT_BASELINES);
}

/* A profile that names none of such subjects has none where nobody asked. */
static kiln_status choose_baselines(const kiln_cli_args *args, const char *list,
                                    const kiln_profile *p,
                                    kiln_baseline_subject subject,
                                    const kiln_baseline *const **out, kiln_err *err) {
    const kiln_status st =
        kiln_baselines_choose(args->arena, list, p, subject, out, err);
    if (st == KILN_OK || is_asked(args))
        return st;
    kiln_err_clear(err);
    *out = NULL;
    return KILN_OK;
}

/* Most need no wheels: without a place for them nothing is installed there. */
static kiln_status read_op_baselines(const kiln_cli_args *args, const kiln_profile *p,
                                     kiln_bench_options *o, kiln_err *err) {
    const char *list = list_of(args, p);
    if (list == NULL)
        return KILN_OK;
    if (kiln_baselines_dir(args->arena, &o->baselines_dir, NULL) != KILN_OK)
        o->baselines_dir = NULL;
    return choose_baselines(args, list, p, KILN_BASELINE_OPERATORS, &o->baseline, err);
}

/* The same list by another profile's code; nothing where that is not asked for. Its
 * libraries are no part of it. */
static kiln_status bench_beside(const kiln_cli_args *args, const kiln_op_lines *lines,
                                const kiln_bench_options *like, kiln_bench *bench,
                                kiln_buf *text, kiln_err *err) {
    const char *name = kiln_args_get(args, OPT_BESIDE, NULL);
    kiln_bench_options o = *like;
    kiln_profile profile;
    kiln_bench other;
    if (name == NULL)
        return KILN_OK;
    o.baseline = NULL;
    KILN_TRY(kiln_cli_profile(args->arena, name, &profile, err));
    KILN_TRY(kiln_device_measures_here(&profile, err));
    profile = kiln_cli_kernels_of(&profile);
    KILN_TRY(kiln_bench_run(args->arena, lines, &profile, &o, &other, err));
    kiln_bench_beside_text(text, bench, &other);
    bench->n_wrong += other.n_wrong;
    bench->n_failed += other.n_failed;
    bench->n_refused += other.n_refused;
    bench->is_interrupted = bench->is_interrupted || other.is_interrupted;
    return KILN_OK;
}

/* Libraries are programs, which nobody sends to a device. */
static kiln_status refuse_libraries(const kiln_cli_args *args, kiln_err *err) {
    if (!kiln_args_has(args, OPT_RUNNER) || !kiln_args_has(args, OPT_BASELINES))
        return KILN_OK;
    const char *list = kiln_str_printable(
        args->arena, kiln_str_from(kiln_args_get(args, OPT_BASELINES, "")), 64);
    return kiln_fail(
        err, KILN_ERR_ARG,
        "kiln bench: --baselines %s does not go with --runner: a device "
        "runs the kernels that it is sent, and no programs. Where kiln is "
        "on it, run 'kiln bench --baselines %s' there; of AArch64, armcl, xnnpack_arm "
        "and armnn run here in an emulator, without --runner and for their "
        "outputs alone",
        list, list);
}

/* Libraries are this machine's, as are profiles to stand beside. */
static kiln_status read_workers(const kiln_cli_args *args, const kiln_profile *p,
                                kiln_workers *out, kiln_err *err) {
    static const int of_this[] = {OPT_BESIDE};
    if (!kiln_args_has(args, OPT_RUNNER))
        return kiln_device_measures_here(p, err);
    KILN_TRY(refuse_libraries(args, err));
    KILN_TRY(refuse(args, of_this, 1, "a runner elsewhere (--runner)", err));
    const char **address = kiln_array(args->arena, const char *, 2);
    KILN_TRY(kiln_known_address(args->arena, kiln_args_get(args, OPT_RUNNER, NULL),
                                &address[0], err));
    out->addresses = address;
    return kiln_cli_number(kiln_args_get(args, OPT_PRIORITY, "10"), "--priority", 1,
                           KILN_WIRE_MAX_PRIORITY, &out->priority, err);
}

static kiln_status bench_operators(const kiln_cli_args *args, int *exit_code,
                                   kiln_err *err) {
    kiln_bench_options o = {.filter = kiln_args_get(args, OPT_FILTER, NULL),
                            .seed = 1,
                            .progress = show_operator};
    kiln_op_lines lines;
    kiln_profile profile;
    kiln_bench bench;
    KILN_TRY(refuse(args, for_models, sizeof for_models / sizeof for_models[0],
                    "a list of operators", err));
    if (kiln_args_has(args, OPT_BESIDE) && kiln_args_has(args, OPT_JSON))
        return kiln_fail(err, KILN_ERR_ARG,
                         "--beside has no --json: measure each profile by itself");
    KILN_TRY(read_lines(args, &lines, err));
    KILN_TRY(read_numbers(args, &o, err));
    KILN_TRY(kiln_cli_profile(args->arena, kiln_args_get(args, OPT_PROFILE, NULL),
                              &profile, err));
    KILN_TRY(read_workers(args, &profile, &o.workers, err));
    profile = kiln_cli_kernels_of(&profile);
    KILN_TRY(read_op_baselines(args, &profile, &o, err));
    KILN_TRY(kiln_cli_choose(args->arena, kiln_args_get(args, OPT_TEMPLATE, NULL),
                             kiln_args_get(args, OPT_CONFIG_FILE, NULL), &o.choose,
                             err));
    KILN_TRY(kiln_cli_advice(args, OPT_DB, OPT_NO_READY, OPT_NO_PREDICT, o.threads,
                             &o.choose, NULL, err));
    KILN_TRY(kiln_bench_run(args->arena, &lines, &profile, &o, &bench, err));
    kiln_cli_answer answer;
    kiln_cli_answer_init(&answer, args->arena);
    kiln_bench_json(&answer.json, &bench);
    kiln_bench_text(&answer.text, &bench);
    KILN_TRY(bench_beside(args, &lines, &o, &bench, &answer.text, err));
    /* With a filter, entries for what is left out fit nothing. */
    const bool all_fit = o.filter != NULL || bench.is_interrupted ||
                         kiln_config_file_unused(&answer.text, &o.choose) == 0;
    KILN_TRY(kiln_cli_answer_give(&answer, args, OPT_JSON, err));
    /* Nothing measured is no success either. */
    const bool is_good =
        bench.n_wrong == 0 && bench.n_refused == 0 && bench.n_failed == 0 && all_fit;
    *exit_code = is_good && (!is_asked(args) || kiln_bench_is_compared(&bench))
                     ? 0
                     : KILN_EXIT_CHECK;
    if (bench.is_interrupted && *exit_code == 0)
        return kiln_fail(err, KILN_ERR_INTERRUPTED,
                         "interrupted after %zu operator%s; the same command measures "
                         "again, --filter chooses some",
                         bench.row.n, kiln_plural((int64_t)bench.row.n));
    return KILN_OK;
}

/* ---- a model --------------------------------------------------------------------- */

static void show_round(void *user, int done, int total) {
    (void)user;
    kiln_progress_step("measuring", "rounds", done, total, NULL);
}

/* "1,2,4" */
static kiln_status read_list(const kiln_cli_args *args, int option, int max,
                             const int **out, int *n, kiln_err *err) {
    KILN_ASSERT(max >= 1, "%s at most %d", options[option].name, max);
    kiln_str rest = kiln_str_from(kiln_args_get(args, option, "1")), word;
    int *number = kiln_array(args->arena, int, rest.n + 1);
    *n = 0;
    while (kiln_str_cut(&rest, ',', &word))
        KILN_TRY(kiln_cli_number(kiln_str_dupv(args->arena, word), options[option].name,
                                 1, max, &number[(*n)++], err));
    KILN_ASSERT(*n > 0, "%s is a list of nothing", options[option].name);
    *out = number;
    return KILN_OK;
}

static kiln_status read_threads(const kiln_cli_args *args, kiln_net_bench_options *o,
                                kiln_err *err) {
    KILN_TRY(read_list(args, OPT_THREADS, KILN_POOL_MAX_THREADS, &o->threads,
                       &o->n_threads, err));
    return kiln_cli_number(kiln_args_get(args, OPT_ROUNDS, "30"), "--rounds", 1, 100000,
                           &o->rounds, err);
}

static kiln_status read_baselines(const kiln_cli_args *args, const kiln_profile *p,
                                  kiln_net_bench_options *o, kiln_err *err) {
    const char *list = list_of(args, p);
    if (list == NULL)
        return KILN_OK;
    if (kiln_baselines_dir(args->arena, &o->baselines_dir, err) != KILN_OK) {
        if (is_asked(args))
            return err->status;
        kiln_err_clear(err);
        return KILN_OK;
    }
    return choose_baselines(args, list, p, KILN_BASELINE_MODELS, &o->baseline, err);
}

/* A runner elsewhere for as long as the arena lives; *where has NULL in it where none is
 * named. Files and wheels of baselines are here. */
static kiln_status borrow_runner(const kiln_cli_args *args, const kiln_profile *p,
                                 const kiln_net_bench_options *o,
                                 kiln_remote_options *where, kiln_machine *machine,
                                 kiln_err *err) {
    kiln_arena *a = args->arena;
    int threads = 1;
    kiln_far *f = NULL;
    *where = (kiln_remote_options){.apart = NULL};
    if (!kiln_args_has(args, OPT_RUNNER))
        return kiln_device_measures_here(p, err);
    KILN_TRY(refuse_libraries(args, err));
    for (int i = 0; i < o->n_threads; i++)
        threads = o->threads[i] > threads ? o->threads[i] : threads;
    KILN_TRY(kiln_cli_borrow(args, OPT_RUNNER, OPT_PRIORITY, p, threads, &f, err));
    const kiln_apart_options there = {.far = f};
    where->apart = kiln_apart_new(a, &there);
    *machine =
        (kiln_machine){.cpu = kiln_format(a, "a runner at %s", kiln_far_address(f)),
                       .os = p->name,
                       .cores = threads};
    return KILN_OK;
}

/* As a build for so many threads chooses. */
static kiln_status advise(const kiln_cli_args *args, int threads,
                          kiln_choose_options *out, kiln_err *err) {
    *out = (kiln_choose_options){.tmpl = NULL};
    return kiln_cli_advice(args, OPT_DB, OPT_NO_READY, OPT_NO_PREDICT, threads, out,
                           NULL, err);
}

/* Records and their model are asked for a number of threads: each has a network of its
 * own, beside the first. */
static kiln_status read_again(const kiln_cli_args *args, kiln_net_bench_options *o,
                              const kiln_remote_options *where, kiln_subject *each,
                              kiln_err *err) {
    kiln_arena *a = args->arena;
    for (int i = 1; i < o->n_threads; i++) {
        kiln_choose_options choose;
        kiln_remote_options own = *where;
        if (where->apart != NULL) {
            const kiln_apart_options there = {.far = kiln_apart_far(where->apart)};
            own.apart = kiln_apart_new(a, &there);
        }
        KILN_TRY(advise(args, o->threads[i], &choose, err));
        KILN_TRY(kiln_subject_again(a, &each[0], &choose, &own, &each[i], err));
    }
    o->each = each;
    return KILN_OK;
}

static kiln_status read_model(const kiln_cli_args *args, kiln_net_bench_options *o,
                              kiln_subject *out, kiln_err *err) {
    static const int of_packages[] = {OPT_MODEL, OPT_KEYRING};
    kiln_arena *a = args->arena;
    KILN_TRY(refuse(args, of_packages, 2, "a model", err));
    kiln_choose_options choose;
    kiln_import_options import;
    kiln_profile *profile = kiln_new(a, kiln_profile);
    KILN_TRY(kiln_cli_import_options(args, args->pos[0], &import_at, &import, err));
    KILN_TRY(kiln_cli_profile(a, kiln_args_get(args, OPT_PROFILE, NULL), profile, err));
    kiln_remote_options where;
    kiln_machine *machine = kiln_new(a, kiln_machine);
    KILN_TRY(borrow_runner(args, profile, o, &where, machine, err));
    KILN_TRY(read_baselines(args, profile, o, err));
    kiln_subject *each = kiln_array(a, kiln_subject, o->n_threads);
    KILN_TRY(advise(args, o->threads[0], &choose, err));
    KILN_TRY(kiln_subject_of_model(a, args->pos[0], &import, profile, &choose, 1,
                                   &where, &each[0], err));
    each[0].machine = where.apart != NULL ? machine : NULL;
    KILN_TRY(read_again(args, o, &where, each, err));
    *out = each[0];
    return KILN_OK;
}

static kiln_status read_facts(const kiln_cli_args *args, const kiln_keyring *keys,
                              kiln_package_facts *out, kiln_err *err) {
    const char *path = args->pos[0];
    return kiln_package_is_folder(path)
               ? kiln_package_inspect_folder(args->arena, path, out, err)
               : kiln_package_inspect_by(args->arena, path, keys, out, NULL, err);
}

/* What is shipped is what is compared: the package itself, beside baselines that run
 * the model it was built from. */
static kiln_status read_package(const kiln_cli_args *args, kiln_net_bench_options *o,
                                kiln_subject *out, kiln_err *err) {
    static const int of_models[] = {OPT_PROFILE,  OPT_SHAPE,      OPT_DB,
                                    OPT_NO_READY, OPT_NO_PREDICT, OPT_SIGNATURE,
                                    OPT_STATE,    OPT_ROUNDING};
    const char *model = kiln_args_get(args, OPT_MODEL, NULL);
    const kiln_keyring *keys = NULL;
    kiln_import_options import = {.values = NULL};
    kiln_package_facts facts;
    KILN_TRY(refuse(args, of_models, sizeof of_models / sizeof of_models[0],
                    "a package", err));
    if (model == NULL &&
        (kiln_args_has(args, OPT_BASELINES) || kiln_args_has(args, OPT_BIND)))
        return kiln_fail(err, KILN_ERR_ARG,
                         "kiln bench: beside a package baselines run the model that it "
                         "was built from: name it by --model");
    KILN_TRY(kiln_cli_keyring(args, OPT_KEYRING, &keys, err));
    if (!kiln_args_has(args, OPT_RUNNER))
        KILN_TRY(read_baselines(args, NULL, o, err));
    if (model != NULL)
        KILN_TRY(kiln_cli_import_options(args, model, &import_at, &import, err));
    const kiln_fixed_inputs fixed = {import.values, import.n_values};
    kiln_remote_options where = {.apart = NULL};
    kiln_machine *machine = kiln_new(args->arena, kiln_machine);
    if (kiln_args_has(args, OPT_RUNNER)) {
        KILN_TRY(read_facts(args, keys, &facts, err));
        KILN_TRY(borrow_runner(args, &facts.profile, o, &where, machine, err));
    }
    const bool is_far = where.apart != NULL;
    KILN_TRY(kiln_subject_of_signed(args->arena, args->pos[0], keys,
                                    is_far ? &where : NULL, model, &fixed, out, err));
    out->machine = is_far ? machine : NULL;
    return KILN_OK;
}

/* ---- a model under load ---------------------------------------------------------- */

static void show_seconds(void *user, double done, double total) {
    (void)user;
    kiln_progress_step("under load", "seconds", done, total, NULL);
}

static kiln_status read_load(const kiln_cli_args *args, const kiln_net_bench_options *n,
                             kiln_load_options *o, kiln_err *err) {
    const char *seconds = kiln_args_get(args, OPT_DURATION, "10");
    const double min_s = 0.1, max_s = 3600;
    *o = (kiln_load_options){
        .threads = n->threads, .n_threads = n->n_threads, .progress = show_seconds};
    KILN_TRY(refuse(args, for_rounds, sizeof for_rounds / sizeof for_rounds[0],
                    "a load (--instances, --duration)", err));
    KILN_TRY(read_list(args, OPT_INSTANCES, KILN_LOAD_MAX_INSTANCES, &o->instances,
                       &o->n_instances, err));
    if (!kiln_parse_f64(kiln_str_from(seconds), &o->seconds) ||
        !(o->seconds >= min_s) || o->seconds > max_s)
        return kiln_fail(err, KILN_ERR_ARG,
                         "--duration must be a number from %.1f to %.0f, is '%s'",
                         min_s, max_s, seconds);
    return KILN_OK;
}

static kiln_status bench_load(const kiln_cli_args *args, const kiln_subject *s,
                              const kiln_load_options *o, int *exit_code,
                              kiln_err *err) {
    kiln_load load;
    KILN_TRY(kiln_load_run(args->arena, s, o, &load, err));
    kiln_cli_answer answer;
    kiln_cli_answer_init(&answer, args->arena);
    kiln_load_json(&answer.json, &load);
    kiln_load_text(&answer.text, &load);
    KILN_TRY(kiln_cli_answer_give(&answer, args, OPT_JSON, err));
    *exit_code = load.check.outcome == KILN_PASSED ? KILN_EXIT_OK : KILN_EXIT_CHECK;
    if (load.is_interrupted)
        return kiln_fail(err, KILN_ERR_INTERRUPTED,
                         "interrupted; the same command measures again");
    return KILN_OK;
}

static kiln_status bench_model(const kiln_cli_args *args, int *exit_code,
                               kiln_err *err) {
    const bool is_load =
        kiln_args_has(args, OPT_INSTANCES) || kiln_args_has(args, OPT_DURATION);
    kiln_load_options load = {.seconds = 0};
    kiln_net_bench_options o = {.steps = kiln_args_has(args, OPT_STEPS),
                                .bandwidth = kiln_args_has(args, OPT_JSON) &&
                                             !kiln_args_has(args, OPT_RUNNER),
                                .progress = show_round};
    kiln_subject subject;
    kiln_net_bench bench;
    KILN_TRY(refuse(args, for_operators, sizeof for_operators / sizeof for_operators[0],
                    "a model", err));
    KILN_TRY(read_threads(args, &o, err));
    if (is_load)
        KILN_TRY(read_load(args, &o, &load, err));
    KILN_TRY(kiln_cli_is_package(args->pos[0]) ? read_package(args, &o, &subject, err)
                                               : read_model(args, &o, &subject, err));
    load.each = o.each; /* known by now */
    if (is_load)
        return bench_load(args, &subject, &load, exit_code, err);
    KILN_TRY(kiln_net_bench_run(args->arena, &subject, &o, &bench, err));
    KILN_ASSERT(bench.side.n > 0, "a bench of nobody");
    kiln_cli_answer answer;
    kiln_cli_answer_init(&answer, args->arena);
    kiln_net_bench_json(&answer.json, &bench);
    kiln_net_bench_text(&answer.text, &bench);
    KILN_TRY(kiln_cli_answer_give(&answer, args, OPT_JSON, err));
    const bool is_good = bench.check.outcome == KILN_PASSED;
    *exit_code = is_good && (!is_asked(args) || kiln_net_bench_is_compared(&bench))
                     ? KILN_EXIT_OK
                     : KILN_EXIT_CHECK;
    if (bench.is_interrupted)
        return kiln_fail(err, KILN_ERR_INTERRUPTED,
                         "interrupted after %zu of %d rounds; the same command "
                         "measures again",
                         bench.side.v[0].sample.n, o.rounds);
    return KILN_OK;
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    kiln_interrupt_catch();
    return args->n_pos == 0 ? bench_operators(args, exit_code, err)
                            : bench_model(args, exit_code, err);
}

const kiln_verb kiln_verb_bench = {
    .name = "bench",
    .summary = "measure and check a network or operators beside the machine's peak",
    .usage = "MODEL|PACKAGE [options] | --ops LIST [options]",
    .example =
        "  kiln bench zoo:resnet18 --threads 1,2 --rounds 50 --steps\n"
        "  kiln bench zoo:resnet18 --threads 1,2 --baselines onnxruntime\n"
        "  kiln bench model-1-native.kiln.tar.zst --model model.onnx --baselines "
        "openvino\n"
        "  kiln bench model-1-native.kiln.tar.zst --instances 1,2,4 --duration 30\n"
        "  kiln bench model.onnx --shape x:1x3x224x224 --json model.json\n"
        "  kiln bench --ops resnet18 --filter C2\n"
        "  kiln bench --op \"conv mine h=28 ic=64 oc=96 k=3 act=relu\" --json -\n"
        "  kiln bench --ops gemm --profile x86-avx2 --seconds 1\n"
        "  kiln bench --ops resnet18 --threads 2 --baselines onednn,xnnpack\n",
    .n_pos_max = 1,
    .takes_oci = true,
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
