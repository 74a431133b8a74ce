/* Manual pages and shell completion: what the verbs' tables say, in the languages of
 * man(1) and of shells. */
#ifndef KILN_CLI_MANUAL_H
#define KILN_CLI_MANUAL_H

#include "cli/cli.h"

/* kiln.1 and kiln-VERB.1 into the folder, which is made. */
kiln_status kiln_manual_write(kiln_arena *a, const char *dir, kiln_err *err);

#endif
