/* pipeline/csource: a network as C source (docs/c-source.md), or as a library that is
 * called in the same way (docs/library.md).
 *
 *     NAME.h              the function, its sizes
 *     NAME.c              one function for each kernel, and NAME_run, which calls them
 *     NAME_params.c       the parameters, as kernels read them; or, as a blob,
 *     NAME_params.bin     and NAME_params.S, which takes it into an object
 *     NAME_selftest.c     a program: inputs, and what the reference gives for them
 *
 * A library is libNAME.so or libNAME.a in place of NAME.c and the parameters.
 */
#ifndef KILN_PIPELINE_CSOURCE_H
#define KILN_PIPELINE_CSOURCE_H

#include "compiler/network/executable.h"
#include "pipeline/pipeline.h"

typedef enum kiln_csource_params {
    KILN_CSOURCE_PARAMS_C,   /* an array in a file of its own */
    KILN_CSOURCE_PARAMS_BLOB /* bytes that the assembler includes */
} kiln_csource_params;

typedef enum kiln_csource_format {
    KILN_CSOURCE_C,
    KILN_CSOURCE_SHARED, /* a shared library, by the linker that packages want */
    KILN_CSOURCE_STATIC
} kiln_csource_format;

typedef struct kiln_csource_options {
    kiln_csource_format format;
    const char *folder; /* made where it is not there */
    kiln_csource_params params;
    const kiln_choose_options *choose; /* NULL: guesses */
    const kiln_net_chooser *chooser;   /* NULL: the usual one */
} kiln_csource_options;

typedef struct kiln_csource {
    const char *name; /* of the files, and in front of all names in them */
    const char *profile;
    KILN_VEC(const char *) path; /* of files, in the order above */
    int n_functions, n_steps;
    uint64_t workspace_bytes; /* values between steps, then what one step wants */
    uint64_t param_bytes;
} kiln_csource;

/* KILN_ERR_UNSUPPORTED: an input or output is of a type that C99 has not, or the profile
 * is a GPU's. KILN_ERR_LIB: there is no linker for a shared library. KILN_ERR_IO
 * names a file that could not be written; those before it are there. */
kiln_status kiln_csource_write(kiln_arena *a, const kiln_source *s,
                               const kiln_expectation *e, const kiln_profile *p,
                               const kiln_csource_options *o, kiln_csource *out,
                               kiln_err *err);
void kiln_csource_text(kiln_buf *out, const kiln_csource *c);

#endif
