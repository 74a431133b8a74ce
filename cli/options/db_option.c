#include "cli/options/db_option.h"

#include <stdlib.h>

/* NULL: the user has none. */
static const char *data_folder(const kiln_cli_args *args) {
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (data != NULL && data[0] == '/')
        return kiln_path_join(args->arena, data, "kiln");
    if (home != NULL && home[0] == '/')
        return kiln_path_join(args->arena, home, ".local/share/kiln");
    return NULL;
}

kiln_status kiln_cli_data_file(const kiln_cli_args *args, int option, const char *name,
                               const char **out, kiln_err *err) {
    const char *path = kiln_args_get(args, option, NULL);
    const char *folder = data_folder(args);
    if (path == NULL && folder == NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "no place for '%s': neither a file nor HOME is given", name);
    if (path == NULL) {
        KILN_TRY(kiln_dir_make(folder, err));
        path = kiln_path_join(args->arena, folder, name);
    }
    *out = path;
    return KILN_OK;
}

/* NULL: none is named, and the user has no folder for it. */
static const char *name_of(const kiln_cli_args *args, int option) {
    const char *path = kiln_args_get(args, option, getenv("KILN_DB"));
    const char *folder = data_folder(args);
    if (path != NULL && path[0] != '\0')
        return path;
    return folder != NULL ? kiln_path_join(args->arena, folder, "tuning.db") : NULL;
}

static bool is_named(const kiln_cli_args *args, int option) {
    const char *env = getenv("KILN_DB");
    return kiln_args_has(args, option) || (env != NULL && env[0] != '\0');
}

kiln_status kiln_cli_db_path(const kiln_cli_args *args, int option, bool makes,
                             const char **out, kiln_err *err) {
    const char *path = name_of(args, option);
    if (path == NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "no place for the tuning database: neither --db nor KILN_DB "
                         "nor HOME is given");
    if (makes && !is_named(args, option)) /* the user's own is a file */
        KILN_TRY(kiln_dir_make(kiln_path_dir(args->arena, path), err));
    *out = path;
    return KILN_OK;
}

static void close_db(void *db) { kiln_db_close(db); }

kiln_status kiln_cli_ready(const kiln_cli_args *args, int no_ready,
                           const kiln_tune_ready **out, kiln_err *err) {
    kiln_tune_ready *ready = kiln_new(args->arena, kiln_tune_ready);
    *out = NULL;
    if (kiln_args_has(args, no_ready))
        return KILN_OK;
    KILN_TRY(kiln_tune_ready_open(args->arena, NULL, ready, err));
    *out = ready;
    return KILN_OK;
}

kiln_status kiln_cli_advice(const kiln_cli_args *args, int option, int no_ready,
                            int no_predict, int threads, kiln_choose_options *choose,
                            const kiln_tune_advice **out, kiln_err *err) {
    static const kiln_db_options reads = {.read_only = true};
    const char *path = name_of(args, option);
    const kiln_tune_ready *ready = NULL;
    kiln_tune_advice *advice = kiln_new(args->arena, kiln_tune_advice);
    kiln_oracle *oracle = kiln_new(args->arena, kiln_oracle);
    KILN_TRY(kiln_cli_ready(args, no_ready, &ready, err));
    KILN_ASSERT(threads > 0, "advice for %d threads", threads);
    *advice = (kiln_tune_advice){.threads = threads,
                                 .ready = ready != NULL ? ready->db : NULL,
                                 .arena = args->arena};
    /* Who only reads makes no folder. */
    if (is_named(args, option) || (path != NULL && kiln_file_exists(path))) {
        KILN_TRY(kiln_db_open(args->arena, path, &reads, &advice->db, err));
        kiln_arena_defer(args->arena, close_db, advice->db);
        if (!kiln_args_has(args, no_predict))
            KILN_TRY(kiln_tune_transfer_open(args->arena, advice->db,
                                             &kiln_cost_model_xgboost,
                                             &advice->transfer, err));
    }
    *oracle = kiln_tune_oracle(advice);
    choose->oracle = oracle;
    if (out != NULL)
        *out = advice;
    return KILN_OK;
}
