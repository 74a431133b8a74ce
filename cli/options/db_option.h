/* The option that names the tuning database, for every verb that uses it. */
#ifndef KILN_CLI_DB_OPTION_H
#define KILN_CLI_DB_OPTION_H

#include "cli/cli.h"
#include "pipeline/tune/tune.h"
#include "compiler/network/network_choose.h"

#define KILN_DB_OPTION                                                                 \
    {                                                                                  \
        "--db", "FILE",                                                                \
            "the tuning database ($KILN_DB, or the user's own): a file, or "           \
            "postgresql://USER@HOST/DATABASE",                                         \
            false                                                                      \
    }

#define KILN_NO_READY_OPTION                                                           \
    { "--no-ready", NULL, "leave out the ready records that come with kiln", false }

#define KILN_NO_PREDICT_OPTION                                                         \
    {                                                                                  \
        "--no-predict", NULL,                                                          \
            "leave what nobody measured to templates' rules, not to the database's "   \
            "model",                                                                   \
            false                                                                      \
    }

/* What --db says, else $KILN_DB, else kiln/tuning.db in the user's data folder
 * ($XDG_DATA_HOME, or ~/.local/share), which is made where `makes`: by who may make the
 * database. */
kiln_status kiln_cli_db_path(const kiln_cli_args *args, int option, bool makes,
                             const char **out, kiln_err *err);
/* What the option says, else a file of that name in the same folder, which is made. */
kiln_status kiln_cli_data_file(const kiln_cli_args *args, int option, const char *name,
                               const char **out, kiln_err *err);
/* The database's records of kernels with so many threads, and the ready records that
 * come with kiln (unless `no_ready` is given), and its model of all work (unless
 * `no_predict` is), become the oracle of `choose`. The user
 * need have no database, but one that was named must be there. All is open until the
 * arguments' arena is reset. *out (may be NULL) counts what was asked. */
kiln_status kiln_cli_advice(const kiln_cli_args *args, int option, int no_ready,
                            int no_predict, int threads, kiln_choose_options *choose,
                            const kiln_tune_advice **out, kiln_err *err);
/* NULL where they are left out. */
kiln_status kiln_cli_ready(const kiln_cli_args *args, int no_ready,
                           const kiln_tune_ready **out, kiln_err *err);

#endif
