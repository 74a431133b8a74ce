/* kiln's own programs, which others of them start, and the files that come with them.
 */
#ifndef KILN_BASE_PROGRAM_H
#define KILN_BASE_PROGRAM_H

#include "base/core/core.h"

/* The path of the program `name`: in the folder that the environment's KILN_LIBEXEC
 * names where it is set (and then nowhere else), beside the running program, or in
 * ../libexec/kiln from there, where make install puts it. KILN_ERR_IO says where it was
 * looked for. */
kiln_status kiln_program_find(kiln_arena *a, const char *name, char **out,
                              kiln_err *err);

/* The path of the file `name` that comes with kiln: in the folder that the
 * environment's KILN_DATA names where it is set (and then nowhere else), beside the
 * running program, or in ../share/kiln from there. KILN_ERR_IO as above. */
kiln_status kiln_data_find(kiln_arena *a, const char *name, char **out, kiln_err *err);

/* The path of an executable file of this name in a folder of PATH; NULL: there is none. */
const char *kiln_program_in_path(kiln_arena *a, const char *name);

/* The path of the running program. */
kiln_status kiln_program_own(kiln_arena *a, char **out, kiln_err *err);

#endif
