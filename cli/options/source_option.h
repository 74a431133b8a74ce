/* --format of kiln build: what else than an archive a network becomes. */
#ifndef KILN_CLI_SOURCE_OPTION_H
#define KILN_CLI_SOURCE_OPTION_H

#include "cli/cli.h"
#include "pipeline/csource/csource.h"

#define KILN_FORMAT_OPTION                                                             \
    {                                                                                  \
        "--format", "FORMAT",                                                          \
            "package: an archive; c: C source with a header and a self-test, into a "  \
            "folder, for what has no loader and no heap; shared, static: a library "   \
            "that is called like it (package)",                                        \
            false                                                                      \
    }
#define KILN_PARAMS_OPTION                                                             \
    {                                                                                  \
        "--params", "HOW",                                                             \
            "of --format c: c, an array in a file of its own, or blob, bytes that "    \
            "the assembler takes in (c)",                                              \
            false                                                                      \
    }

typedef struct kiln_cli_source {
    bool is_source; /* any --format but package */
    kiln_csource_options options;
} kiln_cli_source;

/* Reads the options at these places of the verb's table. `archive` are those that only an archive has: a
 * KILN_ERR_ARG names one that is given too. */
kiln_status kiln_cli_source_options(const kiln_cli_args *args, int format, int params,
                                    int out, const kiln_option *option,
                                    const int *archive, size_t n_archive,
                                    kiln_cli_source *o, kiln_err *err);

/* Writes the files and says which. */
kiln_status kiln_cli_source_write(const kiln_cli_args *args, const kiln_source *s,
                                  const kiln_expectation *e, const kiln_profile *p,
                                  const kiln_cli_source *o, kiln_err *err);

#endif
