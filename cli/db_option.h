/* The option that names the tuning database, for every verb that uses it. */
#ifndef KILN_CLI_DB_OPTION_H
#define KILN_CLI_DB_OPTION_H

#include "cli/cli.h"
#include "tuning_db/tuning_db.h"

#define KILN_DB_OPTION                                                                 \
    { "--db", "FILE", "the tuning database ($KILN_DB, or the user's own)", false }

/* What --db says, else $KILN_DB, else kiln/tuning.db in the user's data folder
 * ($XDG_DATA_HOME, or ~/.local/share), which is made. */
kiln_status kiln_cli_db_path(const kiln_cli_args *args, int option, const char **out,
                             kiln_err *err);
/* Opened for reading by verbs that can do without: *out is NULL where the user has none
 * and named none; one that was named must be there. */
kiln_status kiln_cli_db_read(const kiln_cli_args *args, int option, kiln_db **out,
                             kiln_err *err);

#endif
