/* kiln tune: measure configurations of a network's kernels, or of single operators,
 * until the tuning database knows good ones. */
#include "cli/options/db_option.h"
#include "cli/options/op_options.h"
#include "cli/measure/verb_tune.h"
#include "pipeline/curve/curve.h"
#include "pipeline/devices/devices.h"
#include "pipeline/pipeline.h"
#include "pipeline/tune/hints.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const kiln_option options[N_OPTIONS] = {
    [OPT_OPS] = {"--ops", "LIST",
                 "operators instead of a model: resnet18, mobilenet, gemm, gemm-f16, "
                 "bandwidth, "
                 "or a file "
                 "(docs/ops-file.md)",
                 false},
    [OPT_OP] = {"--op", "LINE", "one operator, as a line of such a file", false},
    [OPT_TRIALS] = {"--trials", "N",
                    "trials for each kernel that are on record in the end, on average, "
                    "whoever measured them (64; with --time-limit alone as many as it "
                    "allows)",
                    false},
    [OPT_TIME] =
        {"--time-limit", "T",
         "stop after 90, 90s, 15m or 2h; without --trials all of it is used as long "
         "as more is expected",
         false},
    [OPT_NO_EARLY_END] = {"--no-early-end", NULL,
                          "go on to the end of --trials and --time-limit, also where "
                          "nothing more is expected",
                          false},
    [OPT_THREADS] = {"--threads", "N", "threads of the kernels (1)", false},
    [OPT_RUNNER] = {"--runner", "DEVICE",
                    "measure there, not here: a device's name (kiln device add), or "
                    "where a runner listens (unix:PATH, tcp:127.0.0.1:PORT, "
                    "curve://HOST:PORT?device=KEY); several: on all",
                    true},
    [OPT_POOL] = {"--pool", "ADDRESS",
                  "measure on devices that 'kiln device pool --listen ADDRESS' lends",
                  false},
    [OPT_DEVICES] = {"--devices", "N", "at most so many of them at once (8)", false},
    [OPT_PRIORITY] = {"--priority", "N", "the share of them, beside others' (10)",
                      false},
    [OPT_PROFILE] = {"--profile", "NAME",
                     "tune for this profile (default: this machine's)", false},
    [OPT_NUMERICS] = KILN_NUMERICS_OPTION,
    [OPT_DB] = KILN_DB_OPTION,
    [OPT_NO_READY] = KILN_NO_READY_OPTION,
    [OPT_TEMPLATE] = {"--template", "NAME",
                      "what to tune where several templates take a kernel", false},
    [OPT_SEARCH] = {"--search", "NAME", "how to search (annealing)", false},
    [OPT_MODEL] = {"--cost-model", "NAME",
                   "what it learns with: xgboost, bootstrap, treegru, knobs or random "
                   "(xgboost)",
                   false},
    [OPT_HINTS] = {"--hints", "FILE",
                   "begin with what a log of AutoTVM or of TVM's auto-scheduler "
                   "says; nothing of it is believed",
                   true},
    [OPT_NO_TRANSFER] = {"--no-transfer", NULL, "learn nothing from other kernels",
                         false},
    [OPT_SEED] = {"--seed", "S", "a number that the choices follow from (1)", false},
    [OPT_SHAPE] = {"--shape", "NAME:DIMS", "bind a model's dynamic dimensions", true},
    [OPT_BIND] = {"--bind", "NAME=VALUE",
                  "fix a model's input: a number, FILE.npy or FILE.pb", true},
    [OPT_SIGNATURE] = KILN_SIGNATURE_OPTION,
    [OPT_STATE] = KILN_STATE_OPTION,
    [OPT_ROUNDING] = KILN_ROUNDING_OPTION,
    [OPT_JSON] = {"--json", "FILE", "write the summary as JSON ('-': standard output)",
                  false},
    [OPT_DISPATCH] = {"--dispatch", "ENGINE",
                      "on machines that a scheduler (slurm) hands out, not here; --db "
                      "must be on a server (docs/fleet.md)",
                      false},
    [OPT_TUNERS] = {"--tuners", "N", "so many tuners at once, each on its own (4)",
                    false},
    [OPT_DISPATCH_OPTION] = {"--dispatch-option", "OPTION",
                             "for the scheduler, such as --partition=bench or "
                             "--constraint=zen4",
                             true},
    [OPT_FOLDER] =
        {"--dispatch-dir", "DIR",
         "for their scripts and logs; every machine must see it (kiln-fleet)", false},
    [OPT_NO_WAIT] = {"--no-wait", NULL,
                     "submit, print the numbers of the jobs, and end", false},
    [OPT_SHARD] =
        {"--shard", "K/N",
         "be the K-th (from 0) of N tuners on one database: with a seed of its "
         "own, and kernels alone",
         false},
    [OPT_AS] = {"--as", "NAME",
                "no two tuners have this name at a time: what an earlier one of that "
                "name claimed, or of NAME.*, is free again",
                false},
    [OPT_KEY] = {"--profile-key", "KEY",
                 "fail where records of the profile would go by another key", false},
};

static const kiln_cli_import_at import_at = {OPT_SHAPE, OPT_BIND, OPT_SIGNATURE,
                                             OPT_STATE, OPT_ROUNDING};

/* ---- progress -------------------------------------------------------------------- */

static void show(void *user, const kiln_tune_state *s) {
    (void)user;
    kiln_arena scratch = {0};
    const kiln_progress p = {
        .phase = "tuning",
        .unit = "trials",
        .done = (double)s->n_trials,
        .total = (double)s->n_wanted,
        .left_s = s->seconds_left > 0 ? s->seconds_left : (double)NAN,
        .note =
            kiln_format(&scratch, "%" PRId64 " failed, %.1f/s, kernels %.3f ms, at %s",
                        s->n_failed, s->trials_per_s, s->latency_ns * 1e-6,
                        kiln_str_fit(&scratch, s->work, 40))};
    kiln_progress_tell(&p);
    kiln_arena_fini(&scratch);
}

/* ---- arguments ------------------------------------------------------------------- */

static kiln_status read_template(const kiln_cli_args *args, kiln_tune_options *o,
                                 kiln_err *err) {
    const char *name = kiln_args_get(args, OPT_TEMPLATE, NULL);
    kiln_buf names;
    kiln_buf_init(&names, args->arena);
    if (name == NULL)
        return KILN_OK;
    o->tmpl = kiln_template_find(kiln_str_from(name));
    for (int i = 0; kiln_template_at(i) != NULL; i++)
        kiln_buf_printf(&names, " %s", kiln_template_at(i)->name);
    return o->tmpl != NULL
               ? KILN_OK
               : kiln_fail(err, KILN_ERR_ARG, "--template must be one of%s, is '%s'",
                           names.p,
                           kiln_str_printable(args->arena, kiln_str_from(name), 64));
}

static kiln_status read_search(const kiln_cli_args *args, kiln_tune_options *o,
                               kiln_err *err) {
    const char *search = kiln_args_get(args, OPT_SEARCH, NULL);
    const char *model = kiln_args_get(args, OPT_MODEL, NULL);
    kiln_buf names;
    kiln_buf_init(&names, args->arena);
    if (search != NULL) {
        o->search = kiln_search_find(kiln_str_from(search));
        for (int i = 0; kiln_search_at(i) != NULL; i++)
            kiln_buf_printf(&names, " %s", kiln_search_at(i)->name);
        if (o->search == NULL)
            return kiln_fail(
                err, KILN_ERR_ARG, "--search must be one of%s, is '%s'", names.p,
                kiln_str_printable(args->arena, kiln_str_from(search), 64));
    }
    KILN_TRY(read_template(args, o, err));
    kiln_buf_init(&names, args->arena);
    if (model != NULL) {
        o->model = kiln_cost_model_find(kiln_str_from(model));
        for (int i = 0; kiln_cost_model_at(i) != NULL; i++)
            kiln_buf_printf(&names, " %s", kiln_cost_model_at(i)->name);
        if (o->model == NULL)
            return kiln_fail(err, KILN_ERR_ARG,
                             "--cost-model must be one of%s, is '%s'", names.p,
                             kiln_str_printable(args->arena, kiln_str_from(model), 64));
    }
    return KILN_OK;
}

/* A pool is a runner's address too, once for each device that is wanted of it. */
static kiln_status read_runners(const kiln_cli_args *args, kiln_tune_options *o,
                                kiln_err *err) {
    enum { MOST_DEVICES = 48 };
    const size_t n = args->n_value[OPT_RUNNER];
    const char *pool = kiln_args_get(args, OPT_POOL, NULL);
    int n_devices = 0;
    KILN_TRY(kiln_cli_number(kiln_args_get(args, OPT_DEVICES, "8"), "--devices", 1,
                             MOST_DEVICES, &n_devices, err));
    KILN_TRY(kiln_cli_number(kiln_args_get(args, OPT_PRIORITY, "10"), "--priority", 1,
                             100, &o->priority, err));
    if (pool == NULL &&
        (kiln_args_has(args, OPT_DEVICES) || kiln_args_has(args, OPT_PRIORITY)))
        return kiln_fail(err, KILN_ERR_ARG, "--devices and --priority are of a --pool");
    const size_t n_pooled = pool != NULL ? (size_t)n_devices : 0;
    const char **address = kiln_array(args->arena, const char *, n + n_pooled + 1);
    for (size_t i = 0; i < n; i++)
        KILN_TRY(kiln_known_address(args->arena, args->value[OPT_RUNNER][i],
                                    &address[i], err));
    for (size_t i = 0; i < n_pooled; i++)
        address[n + i] = pool;
    o->runner_addresses = n + n_pooled > 0 ? address : NULL;
    return KILN_OK;
}

/* Which of several, and whose claims: tuners of a fleet say so (docs/fleet.md). */
static kiln_status read_place(const kiln_cli_args *args, kiln_tune_options *o,
                              kiln_err *err) {
    const char *text = kiln_args_get(args, OPT_SHARD, NULL);
    int64_t k = 0, n = 1;
    kiln_str rest = kiln_str_from(text != NULL ? text : "0/1"), head;
    o->name = kiln_args_get(args, OPT_AS, NULL);
    if (o->name != NULL &&
        (o->name[0] == '\0' || strspn(o->name, "abcdefghijklmnopqrstuvwxyz"
                                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                               "0123456789-_.") != strlen(o->name)))
        return kiln_fail(err, KILN_ERR_ARG,
                         "--as takes letters, digits, '-', '_' and '.'");
    if (!kiln_str_cut(&rest, '/', &head) || !kiln_parse_i64(head, &k) ||
        !kiln_parse_i64(rest, &n) || k < 0 || n < 1 || k >= n || n > INT16_MAX)
        return kiln_fail(err, KILN_ERR_ARG,
                         "--shard must be K/N with K from 0 to N - 1, is '%s'",
                         kiln_str_printable(args->arena, kiln_str_from(text), 64));
    KILN_ASSERT(k < n && n <= INT16_MAX, "tuner %" PRId64 " of %" PRId64, k, n);
    enum { FAR = 100003 }; /* further than works of one run, each with the next seed */
    o->seed += (uint64_t)k * FAR;
    return KILN_OK;
}

static kiln_status check_key(const kiln_cli_args *args, const kiln_profile *kernels,
                             kiln_err *err) {
    const char *want = kiln_args_get(args, OPT_KEY, NULL);
    char is[KILN_SHA256_HEX];
    kiln_cli_tune_key(kernels, is);
    return want == NULL || strcmp(want, is) == 0
               ? KILN_OK
               : kiln_fail(err, KILN_ERR_UNSUPPORTED,
                           "profile '%s' of this machine has another key than was "
                           "asked for, so its records would be others; 'kiln profile "
                           "detect -o FILE' on such a machine, and --profile FILE, "
                           "names what all have",
                           kernels->name);
}

static kiln_status read_options(const kiln_cli_args *args, kiln_tune_options *o,
                                kiln_err *err) {
    int trials = 0, seed = 0;
    if (kiln_args_has(args, OPT_TRIALS))
        KILN_TRY(kiln_cli_number(kiln_args_get(args, OPT_TRIALS, NULL), "--trials", 1,
                                 1000000, &trials, err));
    KILN_TRY(kiln_cli_number(kiln_args_get(args, OPT_SEED, "1"), "--seed", 1, INT32_MAX,
                             &seed, err));
    KILN_TRY(kiln_cli_number(kiln_args_get(args, OPT_THREADS, "1"), "--threads", 1,
                             KILN_POOL_MAX_THREADS, &o->threads, err));
    KILN_TRY(kiln_cli_seconds(args, OPT_TIME, "--time-limit", &o->seconds, err));
    o->trials = trials;
    o->seed = (uint64_t)seed;
    KILN_TRY(read_runners(args, o, err));
    KILN_TRY(read_place(args, o, err));
    o->no_transfer = kiln_args_has(args, OPT_NO_TRANSFER);
    o->no_early_end = kiln_args_has(args, OPT_NO_EARLY_END);
    if (o->no_early_end && trials == 0 && o->seconds <= 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "--no-early-end needs an end: --trials or --time-limit");
    return read_search(args, o, err);
}

/* Those of all files; NULL: none are named. */
static kiln_status read_hints(const kiln_cli_args *args, const kiln_tune_works *works,
                              const kiln_tune_hints **out, kiln_err *err) {
    enum { MAX_BYTES = 1 << 30 };
    const size_t n = args->n_value[OPT_HINTS];
    kiln_tune_hints *h = kiln_new(args->arena, kiln_tune_hints);
    kiln_buf text;
    h->arena = args->arena;
    *out = NULL;
    for (size_t i = 0; i < n; i++) {
        kiln_arena a = {0};
        kiln_str log;
        const char *path = args->value[OPT_HINTS][i];
        const kiln_status st = kiln_file_map(&a, path, MAX_BYTES, &log, err);
        if (st == KILN_OK)
            kiln_tune_hints_read(h, log, path);
        kiln_arena_fini(&a);
        KILN_TRY(st);
    }
    if (n == 0)
        return KILN_OK;
    kiln_buf_init(&text, args->arena);
    kiln_tune_hints_text(&text, h, works);
    kiln_cli_say("%s", text.p);
    *out = h;
    return KILN_OK;
}

/* The model's graph (else NULL), and what there is to tune. */
static kiln_status read_works(const kiln_cli_args *args, const kiln_profile *p,
                              kiln_tune_works *out, const kiln_graph **graph,
                              kiln_err *err) {
    const char *ops = kiln_args_get(args, OPT_OPS, NULL);
    const char *op = kiln_args_get(args, OPT_OP, NULL);
    kiln_op_lines lines = {.list = {.n = 0}};
    if ((args->n_pos > 0) + (ops != NULL) + (op != NULL) != 1)
        return kiln_fail(err, KILN_ERR_ARG,
                         "say what to tune: a model, or operators by --ops LIST or by "
                         "--op LINE");
    if (args->n_pos == 0 &&
        (kiln_args_has(args, OPT_SIGNATURE) || kiln_args_has(args, OPT_STATE) ||
         kiln_args_has(args, OPT_ROUNDING)))
        return kiln_fail(err, KILN_ERR_ARG,
                         "--signature, --state and --rounding are for a model");
    if (args->n_pos == 0 &&
        (kiln_args_has(args, OPT_SHAPE) || kiln_args_has(args, OPT_BIND)))
        return kiln_fail(err, KILN_ERR_ARG,
                         "--shape and --bind are for a model; an operator's line "
                         "states its shape");
    if (args->n_pos > 0) {
        kiln_import_options import;
        kiln_source source;
        KILN_TRY(kiln_cli_import_options(args, args->pos[0], &import_at, &import, err));
        KILN_TRY(kiln_source_read(args->arena, args->pos[0], &import, &source, err));
        *graph = source.graph;
        return kiln_tune_works_of_graph(args->arena, source.graph, p, out, err);
    }
    if (ops != NULL)
        KILN_TRY(kiln_op_lines_read(args->arena, ops, &lines, err));
    if (op != NULL) {
        kiln_op_line line;
        KILN_TRY(kiln_op_line_of(args->arena, op, &line, err));
        kiln_vec_push(args->arena, &lines.list, line);
    }
    return kiln_tune_works_of_lines(args->arena, &lines, out, err);
}

/* ---- the verb -------------------------------------------------------------------- */

/* Of a time limit, what is kept for the comparison in the network: a tenth, at most. */
static const double settle_seconds = 60;
/* And for other layouts, and the conversions between. */
static const double layouts_share = 0.15;

static kiln_status tune(const kiln_cli_args *args, kiln_tune_options *o,
                        const kiln_tune_works *works, const kiln_graph *graph,
                        kiln_err *err) {
    kiln_tune_result result;
    kiln_tune_settled settled = {0};
    kiln_tune_layouts layouts = {0};
    kiln_cli_answer answer;
    const double limit = o->seconds;
    if (kiln_args_has(args,
                      OPT_SHARD)) /* what the network is asked, one asks for all */
        graph = NULL;
    const int64_t begin_ns = kiln_now_ns();
    const double to_settle = fmin(limit / 10, settle_seconds);
    if (graph != NULL)
        o->seconds =
            limit - to_settle - (o->network == NULL ? limit * layouts_share : 0);
    KILN_TRY(kiln_tune_run(args->arena, works, o, &result, err));
    if (limit > 0)
        o->seconds =
            fmax(1e-3, limit - to_settle - (double)(kiln_now_ns() - begin_ns) * 1e-9);
    /* A GPU's templates have no layouts to choose between. */
    if (graph != NULL && !result.is_interrupted && o->tmpl == NULL &&
        o->network == NULL)
        KILN_TRY(kiln_tune_try_layouts(args->arena, graph, works, o, &layouts, err));
    if (limit > 0)
        o->seconds = fmax(1e-3, limit - (double)(kiln_now_ns() - begin_ns) * 1e-9);
    if (graph != NULL && !result.is_interrupted)
        KILN_TRY(kiln_tune_settle(graph, o, &settled, err));
    result.is_interrupted = kiln_interrupted();
    kiln_cli_answer_init(&answer, args->arena);
    const kiln_tune_report report = {&result, &settled, &layouts};
    kiln_tune_text(&answer.text, &report);
    kiln_tune_json(&answer.json, &report);
    KILN_TRY(kiln_cli_answer_give(&answer, args, OPT_JSON, err));
    if (result.is_interrupted)
        return kiln_fail(err, KILN_ERR_INTERRUPTED,
                         "interrupted after %" PRId64
                         " trials; they are on record, the same command goes on",
                         result.n_new);
    return KILN_OK;
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    kiln_tune_options o = {.progress = show};
    kiln_profile profile;
    kiln_tune_works works;
    const kiln_graph *graph = NULL;
    const char *path = NULL;
    const kiln_tune_ready *ready = NULL;
    (void)exit_code;
    const bool is_dispatched = kiln_args_has(args, OPT_DISPATCH);
    KILN_TRY(read_options(args, &o, err));
    KILN_TRY(kiln_cli_profile(args->arena, kiln_args_get(args, OPT_PROFILE, NULL),
                              &profile, err));
    KILN_TRY(kiln_cli_numerics(args, OPT_NUMERICS, &profile, err));
    if (o.runner_addresses == NULL && !is_dispatched) {
        KILN_TRY(kiln_device_measures_here(&profile, err));
        KILN_TRY(kiln_runs_here(&profile, err));
    }
    const kiln_profile kernels = kiln_cli_kernels_of(&profile);
    KILN_TRY(read_works(args, &kernels, &works, &graph, err));
    if (o.tmpl != NULL)
        KILN_TRY(kiln_tune_works_for(args->arena, o.tmpl, &kernels, &works, err));
    if (is_dispatched)
        return kiln_cli_tune_dispatch(args, options, &kernels, o.seconds, err);
    KILN_TRY(check_key(args, &kernels, err));
    KILN_TRY(read_hints(args, &works, &o.hints, err));
    KILN_TRY(kiln_cli_ready(args, OPT_NO_READY, &ready, err));
    o.ready = ready != NULL ? ready->db : NULL;
    KILN_TRY(kiln_cli_db_path(args, OPT_DB, true, &path, err));
    KILN_TRY(kiln_db_open(args->arena, path, NULL, &o.db, err));
    kiln_interrupt_catch();
    o.profile = &kernels;
    o.network = profile.device != NULL ? &profile : NULL;
    const kiln_status st = tune(args, &o, &works, graph, err);
    kiln_db_close(o.db);
    return st;
}

const kiln_verb kiln_verb_tune = {
    .name = "tune",
    .summary = "measure configurations until the database knows fast ones",
    .usage = "MODEL [options] | --ops LIST [options]",
    .example = "  kiln tune model.onnx --trials 96 --threads 2\n"
               "  kiln tune zoo:resnet18 --time-limit 15m\n"
               "  kiln tune --ops resnet18 --trials 200 --db my.db --json -\n"
               "  kiln tune zoo:resnet18 --dispatch slurm --tuners 8 --db "
               "postgresql://me@db/tuning\n",
    .n_pos_max = 1,
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
