/* kiln nightly: a whole pipeline, unattended. */
#include "cli/options/db_option.h"
#include "pipeline/gate/gate.h"
#include "pipeline/nightly/nightly.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    OPT_CHECK,
    OPT_OUT,
    OPT_ACCEPTED,
    OPT_FROZEN_DB,
    OPT_NO_READY,
    OPT_NEW,
    OPT_ONLY,
    OPT_INJECT,
    N_OPTIONS
};

static const kiln_option options[N_OPTIONS] = {
    [OPT_CHECK] = {"--check", NULL,
                   "only read the file and print jobs, stages and commands", false},
    [OPT_OUT] = {"--out", "DIR", "folder of runs (instead of the file's)", false},
    [OPT_ACCEPTED] = {"--accepted", "DIR",
                      "compare with these accepted archives (instead of the file's)",
                      false},
    [OPT_FROZEN_DB] = {"--frozen-db", NULL,
                       "tune nothing, only read the tuning database: equal inputs give "
                       "equal archives",
                       false},
    [OPT_NO_READY] = KILN_NO_READY_OPTION,
    [OPT_ONLY] =
        {"--only", "JOB",
         "only jobs MODEL[,PROFILE[,THREADS]], as 'resnet*' or '*,native,2': a "
         "part, which is not in the history and not the latest run",
         true},
    [OPT_NEW] = {"--new", NULL, "begin another run, even where one has not ended",
                 false},
    [OPT_INJECT] =
        {"--inject", "P%",
         "let the gate slow every candidate by so much on purpose: a test of "
         "the alarm, kept out of the history",
         false},
};

/* Two lines a stage, one for what is not run; what goes on inside of it is progress. */
static void show(void *user, const kiln_nightly_event *e) {
    (void)user;
    if (!e->is_end) {
        kiln_cli_say("%4zu of %zu  %s: %s\n", e->index + 1, e->n_stages, e->title,
                     e->stage);
        return;
    }
    if (e->is_reused)
        kiln_cli_say("%4zu of %zu  %s: %s: %s before\n", e->index + 1, e->n_stages,
                     e->title, e->stage, e->state);
    else if (e->seconds > 0)
        kiln_cli_say("            %s after %.1f s", e->state, e->seconds);
    else
        kiln_cli_say("%4zu of %zu  %s: %s: %s", e->index + 1, e->n_stages, e->title,
                     e->stage, e->state);
    if (!e->is_reused)
        kiln_cli_say("%s%s\n", e->message != NULL ? ": " : "",
                     e->message != NULL ? e->message : "");
}

static kiln_status check(kiln_arena *a, const kiln_nightly_config *c,
                         const kiln_nightly_graph *g, kiln_err *err) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_nightly_plan_text(&text, c, g);
    return kiln_cli_output(NULL, kiln_buf_str(&text), err);
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    kiln_arena *a = args->arena;
    kiln_nightly_overrides over = {.out = kiln_args_get(args, OPT_OUT, NULL),
                                   .accepted = kiln_args_get(args, OPT_ACCEPTED, NULL),
                                   .is_frozen = kiln_args_has(args, OPT_FROZEN_DB),
                                   .no_ready = kiln_args_has(args, OPT_NO_READY),
                                   .only = args->value[OPT_ONLY],
                                   .n_only = args->n_value[OPT_ONLY]};
    const kiln_nightly_options o = {.is_new = kiln_args_has(args, OPT_NEW),
                                    .progress = args->is_quiet ? NULL : show};
    kiln_nightly_config config;
    kiln_nightly_graph graph;
    kiln_nightly_result result;
    kiln_buf text;
    KILN_TRY(kiln_cli_percent(args, OPT_INJECT, "--inject",
                              100 * KILN_GATE_MAX_INJECTED, &over.injected, err));
    KILN_TRY(kiln_nightly_read(a, args->pos[0], &over, &config, err));
    KILN_TRY(kiln_nightly_plan(a, &config, &graph, err));
    if (kiln_args_has(args, OPT_CHECK))
        return check(a, &config, &graph, err);
    kiln_interrupt_catch();
    KILN_TRY(kiln_nightly_run(a, &config, &graph, &o, &result, err));
    kiln_buf_init(&text, a);
    kiln_nightly_text(&text, &result);
    KILN_TRY(kiln_cli_print(a, kiln_buf_str(&text), err));
    const bool is_unjudged = strcmp(result.results.status, "unjudged") == 0;
    *exit_code = result.is_good ? KILN_EXIT_OK
                 : is_unjudged  ? KILN_EXIT_INVALID
                                : KILN_EXIT_CHECK;
    if (result.is_interrupted)
        return kiln_fail(err, KILN_ERR_INTERRUPTED,
                         "interrupted after %d of %d stages; they are kept, the same "
                         "command goes on",
                         result.n_done + result.n_failed + result.n_skipped,
                         result.n_stages);
    return KILN_OK;
}

const kiln_verb kiln_verb_nightly = {
    .name = "nightly",
    .summary = "fetch, tune, build, verify, measure and judge all models of a pipeline",
    .usage = "PIPELINE.json [options]",
    .example = "  kiln nightly pipeline.json --check\n"
               "  kiln nightly pipeline.json\n"
               "  kiln nightly pipeline.json --out /var/kiln/nights --new\n"
               "  kiln nightly pipeline.json --inject 5% --out /tmp/alarm\n"
               "  kiln nightly pipeline.json --only 'resnet*' --only bert,native,2\n",
    .n_pos_min = 1,
    .n_pos_max = 1,
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
