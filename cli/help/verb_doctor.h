/* What kiln doctor finds, inside of its files. */
#ifndef KILN_CLI_VERB_DOCTOR_H
#define KILN_CLI_VERB_DOCTOR_H

#include "cli/cli.h"

typedef enum level { GOOD, NOTE, BAD } level;

typedef struct finding {
    const char *name;
    level level;
    const char *text;   /* what was found */
    const char *remedy; /* NULL when there is nothing to do */
} finding;

typedef struct findings {
    kiln_arena *arena;
    KILN_VEC(finding) list;
} findings;

void doctor_add(findings *f, const char *name, level l, const char *text,
                const char *remedy);
/* Is it quiet enough to measure: governor, siblings of cores, who else is at work. */
void doctor_measuring(findings *f);
/* What was measured of the machine, and when. */
void doctor_machine(findings *f);
/* What the user has beside kiln: baselines, the tuning database. */
void doctor_installed(findings *f, const kiln_cli_args *args, int db_option);

#endif
