/* Options that several verbs share. */
#ifndef KILN_CLI_OP_OPTIONS_H
#define KILN_CLI_OP_OPTIONS_H

#include "cli/cli.h"
#include "compiler/network/executable.h"
#include "pipeline/package/package.h"
#include "pipeline/talk/far.h"

/* An archive, a folder that was unpacked from one, or what its name says to be one. */
bool kiln_cli_is_package(const char *path);
/* A profile by name or file; NULL: this machine. A GPU's comes with its host. */
kiln_status kiln_cli_profile(kiln_arena *a, const char *name, kiln_profile *out,
                             kiln_err *err);
/* The same of CPUs alone. KILN_ERR_UNSUPPORTED: it is a GPU's. */
kiln_status kiln_cli_cpu_profile(kiln_arena *a, const char *name, kiln_profile *out,
                                 kiln_err *err);
/* What single operators are measured for: of a GPU beside its host, the GPU. */
kiln_profile kiln_cli_kernels_of(const kiln_profile *p);
/* --template and --config-file; both may be NULL. */
kiln_status kiln_cli_choose(kiln_arena *a, const char *tmpl, const char *config_file,
                            kiln_choose_options *out, kiln_err *err);

#define KILN_NUMERICS_OPTION                                                           \
    {                                                                                  \
        "--numerics", "MODE",                                                          \
            "strict: NaN and infinities as the reference; or fast (as the profile "    \
            "says)",                                                                   \
            false                                                                      \
    }

#define KILN_LAYOUTS_OPTION                                                            \
    {                                                                                  \
        "--layouts", "CHOOSER",                                                        \
            "who chooses kernels and layouts: greedy, each kernel by itself; search, " \
            "all together, by measured or estimated costs; or measured, which "        \
            "searches where kernels were measured in other layouts (measured)",        \
            false                                                                      \
    }
/* NULL where the option is not given. */
kiln_status kiln_cli_layouts(const kiln_cli_args *args, int option,
                             const kiln_net_chooser **out, kiln_err *err);

/* The profile with the numerics that the option asks for, where it is given. */
kiln_status kiln_cli_numerics(const kiln_cli_args *args, int option, kiln_profile *p,
                              kiln_err *err);

/* A runner that listens elsewhere (a name of kiln device add, or an address), lent for
 * networks of this profile (NULL: of any) by so many threads, as long as the arena lives.
 * priority: the option, which a pool is told. Fails where its machine does not run the
 * profile. */
#define KILN_RUNNER_OPTION                                                             \
    {                                                                                  \
        "--runner", "DEVICE",                                                          \
            "run networks on a runner that listens: a name that kiln device add "      \
            "gave, "                                                                   \
            "or an address; of a pool where one listens there",                        \
            false                                                                      \
    }
#define KILN_PRIORITY_OPTION                                                           \
    { "--priority", "N", "of a pool: the share beside others' (10)", false }
kiln_status kiln_cli_borrow(const kiln_cli_args *args, int runner, int priority,
                            const kiln_profile *p, int threads, kiln_far **out,
                            kiln_err *err);
/* The same as a device that runs the package at `path` (of variants: any of them; a folder
 * of archives: any device). *out NULL: the option is not there, this machine does. */
kiln_status kiln_cli_device(const kiln_cli_args *args, int runner, int priority,
                            const char *path, const kiln_keyring *keys,
                            const kiln_device **out, kiln_err *err);

#endif
