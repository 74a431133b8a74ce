/* Which kiln this is: its version, and what code it was made from, how. Whoever asks in
 * half a year which change made a network slower needs the commit, not the version. */
#ifndef KILN_BASE_VERSION_H
#define KILN_BASE_VERSION_H

#include "base/core/core.h"

/* The Makefile reads it here. */
#define KILN_VERSION "0.1.0"

typedef struct kiln_version_info {
    /* 40 hexadecimal digits, with "-modified" behind them where sources differed from
     * it; NULL: made outside of a repository and of what one exports. */
    const char *commit;
    const char *compiler; /* "gcc 12.2.0" */
    const char *variant;  /* and its flags: "release -O2 -DNDEBUG" */
} kiln_version_info;

/* Lives as long as the program. */
kiln_version_info kiln_own_version(void);

/* "gcc 12.2.0, release -O2 -DNDEBUG" */
const char *kiln_own_build(kiln_arena *a);

/* Is it a commit as kiln_version_info has it? Files name some that others wrote. */
bool kiln_is_commit(const char *text);

#endif
