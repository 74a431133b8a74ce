/* kiln study transfer: what a build takes of a network that its database does not know. */
#include "cli/study/verb_study.h"

#include "cli/options/db_option.h"
#include "cli/options/op_options.h"
#include "pipeline/devices/devices.h"
#include "pipeline/study/study.h"

static kiln_status read_options(const kiln_cli_args *args, kiln_profile *profile,
                                kiln_transfer_options *o, kiln_err *err) {
    kiln_arena *a = args->arena;
    const char *models = kiln_args_get(args, KILN_STUDY_MODELS, NULL);
    const kiln_tune_ready *ready = NULL;
    if (models == NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "name networks that the database has trials of: --models "
                         "resnet18,mobilenet_v1");
    KILN_TRY(kiln_study_models(a, models, &o->model, err));
    KILN_TRY(kiln_cli_number(kiln_args_get(args, KILN_STUDY_THREAD_COUNT, "1"),
                             "--threads", 1, KILN_POOL_MAX_THREADS, &o->threads, err));
    KILN_TRY(kiln_cli_number(kiln_args_get(args, KILN_STUDY_ROUNDS, "5"), "--rounds", 1,
                             1000, &o->rounds, err));
    KILN_TRY(kiln_cli_seconds(args, KILN_STUDY_TIME, "--time-limit", &o->seconds, err));
    KILN_TRY(kiln_cli_cpu_profile(a, kiln_args_get(args, KILN_STUDY_PROFILE, NULL),
                                  profile, err));
    o->replays = kiln_args_has(args, KILN_STUDY_REPLAY);
    if (!o->replays)
        KILN_TRY(kiln_device_measures_here(profile, err));
    KILN_TRY(kiln_cli_ready(args, KILN_STUDY_NO_READY, &ready, err));
    o->ready = ready != NULL ? ready->db : NULL;
    o->profile = profile;
    return KILN_OK;
}

static kiln_status study(const kiln_cli_args *args, kiln_transfer_options *o,
                         int *exit_code, kiln_err *err) {
    kiln_doc_study s;
    kiln_interrupt_catch();
    KILN_TRY(kiln_study_transfer(args->arena, o, &s, err));
    return kiln_cli_study_give(args, &s, exit_code, err);
}

kiln_status kiln_cli_study_transfer(const kiln_cli_args *args, int *exit_code,
                                    kiln_err *err) {
    kiln_transfer_options o = {.threads = 1};
    kiln_profile profile;
    const char *path = NULL, *measured = NULL;
    KILN_TRY(read_options(args, &profile, &o, err));
    KILN_TRY(kiln_cli_db_path(args, KILN_STUDY_DB, false, &path, err));
    KILN_TRY(
        kiln_cli_data_file(args, KILN_STUDY_MEASURED, "transfer.db", &measured, err));
    KILN_TRY(kiln_db_open(args->arena, path, NULL, &o.db, err));
    kiln_status st = kiln_db_open(args->arena, measured, NULL, &o.measured, err);
    if (st == KILN_OK)
        st = study(args, &o, exit_code, err);
    kiln_db_close(o.measured);
    kiln_db_close(o.db);
    return st;
}
