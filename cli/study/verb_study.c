/* kiln study: the papers' experiments, repeated here.
 *
 *   kiln study autotvm     searches and cost models, on what was measured once
 *   kiln study neocpu      steps of layouts, libraries, threads, on whole networks
 *   kiln study fusion      operators fused and not
 *   kiln study rivals      models of any format beside libraries
 *   kiln study transfer    builds of networks that the database does not know
 */
#include "cli/study/verb_study.h"

#include <string.h>

#include "cli/options/db_option.h"

static const kiln_option options[KILN_STUDY_N_OPTIONS] = {
    [KILN_STUDY_COLLECT] =
        {"--collect", NULL,
         "autotvm: measure the corpus here first, on one thread; the "
         "same command goes on with one that was cut short",
         false},
    [KILN_STUDY_CORPUS] = {"--corpus", "FILE",
                           "autotvm: the corpus (the one that comes with kiln; with "
                           "--collect kiln/autotvm.jsonl in the user's data folder)",
                           false},
    [KILN_STUDY_TIME] = {"--time-limit", "T",
                         "of --collect, and of what transfer measures: 90, 90s, 15m or "
                         "2h",
                         false},
    [KILN_STUDY_CONFIGURATIONS] = {"--configurations", "N",
                                   "of --collect: of each work at most so many (384)",
                                   false},
    [KILN_STUDY_WORKS] = {"--works", "LIST",
                          "of --collect and --whole-spaces: C2,C6 and so on alone "
                          "(all); what the corpus has of others stays",
                          false},
    [KILN_STUDY_ANEW] = {"--anew", NULL,
                         "of --collect: forget what the database has of the works, "
                         "whose programs are others now",
                         false},
    [KILN_STUDY_SEEDS] = {"--seeds", "N", "autotvm: replays of each search (5)", false},
    [KILN_STUDY_WHOLE] = {"--whole-spaces", NULL,
                          "autotvm: search whole spaces on what the machine model says "
                          "of x86-avx512, in place of the corpus",
                          false},
    [KILN_STUDY_MEASURED] =
        {"--measured", "FILE",
         "transfer: times of this study (kiln/transfer.db in the user's data folder); "
         "what it lacks is measured",
         false},
    [KILN_STUDY_REPLAY] = {"--replay", NULL,
                           "transfer: measure nothing, go by what was measured", false},
    [KILN_STUDY_MODELS] = {"--models", "LIST",
                           "networks of the zoo and files (neocpu: those of the paper; "
                           "fusion: pieces alone, with it these too; rivals, transfer: "
                           "these)",
                           false},
    [KILN_STUDY_PARTS] = {"--parts", "LIST",
                          "neocpu: steps (Table 3), beside (Table 2), threads (Figure "
                          "4) (all)",
                          false},
    [KILN_STUDY_BASELINES] = {"--baselines", "LIST",
                              "neocpu, rivals: libraries (all but torch and tvm), or "
                              "none",
                              false},
    [KILN_STUDY_THREAD_COUNT] = {"--threads", "N",
                                 "neocpu, fusion: threads; threads goes up to so many; "
                                 "rivals: 1 and so many (all cores; transfer: 1)",
                                 false},
    [KILN_STUDY_ROUNDS] = {"--rounds", "R",
                           "all but autotvm: samples of each row (30; transfer: 5)",
                           false},
    [KILN_STUDY_PROFILE] =
        {"--profile", "NAME",
         "make code for this profile (default: this machine's; autotvm: of "
         "--collect)",
         false},
    [KILN_STUDY_DB] = {"--db", "FILE",
                       "records (autotvm --collect: kiln/autotvm.db in the user's data "
                       "folder; else $KILN_DB, or the user's own)",
                       false},
    [KILN_STUDY_NO_READY] = KILN_NO_READY_OPTION,
    [KILN_STUDY_NO_PREDICT] = KILN_NO_PREDICT_OPTION,
    [KILN_STUDY_JSON] = {"--json", "FILE",
                         "all but autotvm: write the results as JSON ('-': standard "
                         "output)",
                         false},
    [KILN_STUDY_CSV] = {"--csv", "FILE", "and as CSV", false},
    [KILN_STUDY_HTML] = {"--html", "FILE", "and as a page with plots", false},
};

#define OF(option) (UINT32_C(1) << KILN_STUDY_##option)
enum { N_OPTIONS_MOST = 32 };
_Static_assert((int)KILN_STUDY_N_OPTIONS <= (int)N_OPTIONS_MOST, "options are bits");
#define REPORTED (OF(JSON) | OF(CSV) | OF(HTML))
#define MADE (OF(THREAD_COUNT) | OF(ROUNDS) | OF(PROFILE) | OF(DB) | OF(NO_READY))

typedef struct experiment {
    const char *name;
    kiln_status (*run)(const kiln_cli_args *args, int *exit_code, kiln_err *err);
    uint32_t options; /* that it has */
} experiment;

static const experiment experiments[] = {
    {"autotvm", kiln_cli_study_autotvm,
     OF(COLLECT) | OF(CORPUS) | OF(TIME) | OF(CONFIGURATIONS) | OF(WORKS) | OF(ANEW) |
         OF(SEEDS) | OF(WHOLE) | OF(PROFILE) | OF(DB) | OF(CSV) | OF(HTML)},
    {"neocpu", kiln_cli_study_neocpu,
     OF(MODELS) | OF(PARTS) | OF(BASELINES) | MADE | OF(NO_PREDICT) | REPORTED},
    {"fusion", kiln_cli_study_fusion, OF(MODELS) | MADE | OF(NO_PREDICT) | REPORTED},
    {"rivals", kiln_cli_study_rivals,
     OF(MODELS) | OF(BASELINES) | MADE | OF(NO_PREDICT) | REPORTED},
    {"transfer", kiln_cli_study_transfer,
     OF(MODELS) | OF(TIME) | OF(MEASURED) | OF(REPLAY) | MADE | REPORTED},
};
enum { N_EXPERIMENTS = sizeof experiments / sizeof experiments[0] };

static kiln_status refuse(const kiln_cli_args *args, const experiment *x,
                          kiln_err *err) {
    for (int i = 0; i < KILN_STUDY_N_OPTIONS; i++)
        if (kiln_args_has(args, i) && (x->options >> i & 1) == 0)
            return kiln_fail(err, KILN_ERR_ARG, "kiln study %s has no %s", x->name,
                             options[i].name);
    return KILN_OK;
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    for (int i = 0; i < N_EXPERIMENTS; i++) {
        const experiment *x = &experiments[i];
        if (strcmp(args->pos[0], x->name) != 0)
            continue;
        KILN_TRY(refuse(args, x, err));
        return x->run(args, exit_code, err);
    }
    return kiln_fail(err, KILN_ERR_ARG,
                     "kiln study does autotvm, neocpu, fusion, rivals or "
                     "transfer, not '%s'",
                     kiln_str_printable(args->arena, kiln_str_from(args->pos[0]), 64));
}

const kiln_verb kiln_verb_study = {
    .name = "study",
    .summary = "repeat experiments of the papers on what is measured here",
    .usage = "autotvm|neocpu|fusion|rivals|transfer [options]",
    .example = "  kiln study autotvm\n"
               "  kiln study autotvm --collect --time-limit 15m\n"
               "  kiln study autotvm --whole-spaces --seeds 3\n"
               "  kiln study neocpu --models resnet18,vgg11 --html neocpu.html\n"
               "  kiln study neocpu --parts beside --baselines onnxruntime,openvino "
               "--csv beside.csv\n"
               "  kiln study fusion --threads 1 --html fusion.html\n"
               "  kiln study rivals --models a.tflite,b.onnx --baselines "
               "litert,openvino --csv rivals.csv\n"
               "  kiln study transfer --models resnet18,mobilenet_v1 --time-limit 10m "
               "--csv transfer.csv\n",
    .n_pos_min = 1,
    .n_pos_max = 1,
    .option = options,
    .n_options = KILN_STUDY_N_OPTIONS,
    .run = run,
};
