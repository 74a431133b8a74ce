/* What the files of a network are written from. */
#ifndef KILN_PIPELINE_CSOURCE_INTERNAL_H
#define KILN_PIPELINE_CSOURCE_INTERNAL_H

#include "compiler/codegen/c/c.h"
#include "compiler/codegen/codegen.h"
#include "pipeline/csource/csource.h"
#include "pipeline/network/network.h"

/* A kernel as one function: of a kernel whose operands are the same memory in some
 * calls there are several. */
typedef struct kiln_csource_function {
    const char *name;
    int kernel;
    const int *same; /* by operand: kiln_c_function */
    const bool *is_shared;
    size_t workspace_bytes;
} kiln_csource_function;

typedef struct kiln_csource_writer {
    kiln_arena *arena;
    const char *name, *upper;
    const kiln_network *n;
    kiln_c_unit unit;
    kiln_map names; /* of functions, parameters, places */
    KILN_VEC(kiln_csource_function) function;
    const char **port; /* the parameters' names, by port */
    uint64_t arena_bytes, workspace_bytes;
    bool is_library;     /* of machine code: kernels are not printed */
    uint64_t scratch_at; /* of a library: behind what kernels share */
    kiln_status status;  /* of what is watched */
    kiln_err *err;
} kiln_csource_writer;

/* A word that nothing else in the files is called. */
const char *kiln_csource_name(kiln_csource_writer *w, const char *prefix,
                              const char *wanted);
/* The function that a call is of. */
const kiln_csource_function *kiln_csource_function_of(const kiln_csource_writer *w,
                                                      const kiln_net_step *s);
/* Which operands of the call are the same memory. */
void kiln_csource_overlaps(const kiln_csource_writer *w, const kiln_net_step *s,
                           int *same, bool *is_shared);
/* "float" of what a port holds. */
const char *kiln_csource_port_type(const kiln_net_port *p);

/* Of a library. */
typedef struct kiln_csource_object {
    const char *symbol; /* the function that it defines */
    kiln_str bytes;
} kiln_csource_object;
/* Objects as ar has them. */
kiln_str kiln_csource_archive(kiln_arena *a, const kiln_csource_object *object,
                              size_t n);
/* The whole library. */
kiln_status kiln_csource_link(const kiln_csource_writer *w, bool is_shared,
                              kiln_str *out, kiln_err *err);
/* Once arena_bytes is known. */
void kiln_csource_size_library(kiln_csource_writer *w);

void kiln_csource_put_head(const kiln_csource_writer *w, const char *what,
                           kiln_buf *out);
/* "const float *x, float *y, void *workspace" */
void kiln_csource_put_parameters(const kiln_csource_writer *w, kiln_buf *out);
void kiln_csource_put_header(const kiln_csource_writer *w, kiln_buf *out);
void kiln_csource_put_run(kiln_csource_writer *w, kiln_buf *out);
void kiln_csource_put_params(const kiln_csource_writer *w, kiln_buf *out);
void kiln_csource_put_blob(const kiln_csource_writer *w, kiln_buf *out);
void kiln_csource_put_selftest(const kiln_csource_writer *w, const kiln_expectation *e,
                               kiln_buf *out);

#endif
