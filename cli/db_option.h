/* The option that names the tuning database, for every verb that uses it. */
#ifndef KILN_CLI_DB_OPTION_H
#define KILN_CLI_DB_OPTION_H

#include "cli/cli.h"
#include "pipeline/kernels/kernels.h"

#define KILN_DB_OPTION                                                                 \
    { "--db", "FILE", "the tuning database ($KILN_DB, or the user's own)", false }

/* What --db says, else $KILN_DB, else kiln/tuning.db in the user's data folder
 * ($XDG_DATA_HOME, or ~/.local/share), which is made where `makes`: by who may make the
 * database. */
kiln_status kiln_cli_db_path(const kiln_cli_args *args, int option, bool makes,
                             const char **out, kiln_err *err);
/* The database's records of kernels with so many threads become the adviser of
 * `choose`. None where the user has no database and named none; one that was named must
 * be there. It is open until the arguments' arena is reset. */
kiln_status kiln_cli_advice(const kiln_cli_args *args, int option, int threads,
                            kiln_choose_options *choose, kiln_err *err);

#endif
