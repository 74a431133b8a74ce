/* kiln's runtime: runs a packaged network. Plain C, no dependency but libc and threads.
 *
 *     char error[KILN_ERROR_TEXT];
 *     kiln_model *m = kiln_model_open("resnet18", NULL, error);
 *     kiln_session *s = kiln_session_open(m, NULL, error);
 *     kiln_session_set_input(s, 0, image);
 *     if (kiln_session_run(s) == 0)
 *         use(kiln_session_output(s, 0));
 *     kiln_session_close(s);
 *     kiln_model_close(m);
 *
 * A model is code, parameters and plan: read-only once open, shared by any number of
 * sessions in any threads. A session has its own intermediate values and threads; one
 * thread at a time uses it. All memory is allocated when model and session are opened;
 * running allocates nothing.
 */
#ifndef KILN_RUNTIME_KILN_H
#define KILN_RUNTIME_KILN_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { KILN_ERROR_TEXT = 256, KILN_PORT_MAX_RANK = 8 };

typedef struct kiln_model kiln_model;
typedef struct kiln_session kiln_session;

/* Where memory comes from. NULL in the options: malloc and free. Blocks must be 64-byte
 * aligned; alloc returns NULL when there is none. */
typedef struct kiln_allocator {
    void *(*alloc)(void *user, size_t bytes);
    void (*release)(void *user, void *block);
    void *user;
} kiln_allocator;

/* ---- models ---------------------------------------------------------------------- */

/* Code that a plan names: a file of the package. */
typedef struct kiln_model_module {
    const char *file; /* "lib.so" */
    const void *bytes;
    size_t n;
} kiln_model_module;

struct kiln_device_kind; /* runtime/device.h */

typedef struct kiln_model_options {
    const kiln_allocator *allocator; /* copied; sessions in several threads use it */
    /* Kinds of devices that the runtime does not have itself; they stay until the model
     * is closed. */
    const struct kiln_device_kind *const *device;
    size_t n_devices;
    /* For models from memory: modules beside lib.so; from parts: those that are not
     * linked in. They may go once the model is open. */
    const kiln_model_module *module;
    size_t n_modules;
} kiln_model_options;

/* Opens an unpacked package; of one with several variants those for the profile that this
 * machine runs best (below, "shapes"). Files: plan.bin, params.safetensors, and the modules that the plan
 * names: lib.so, and others where it is for several devices. Where it was built
 * with `--pack open`, parameters are packed now, on this thread, into memory of the
 * model that its sessions share. NULL: `error` says what is wrong with which file. */
kiln_model *kiln_model_open(const char *folder, const kiln_model_options *o,
                            char error[KILN_ERROR_TEXT]);

/* The same files in memory, wherever an application has them from: an archive of
 * its own, a section of its program. Plan and library may go once it is open,
 * parameters stay until it is closed; they must be 64-byte aligned. */
typedef struct kiln_model_files {
    const void *plan, *params, *lib;
    size_t plan_bytes, param_bytes, lib_bytes;
} kiln_model_files;
kiln_model *kiln_model_open_memory(const kiln_model_files *files,
                                   const kiln_model_options *o,
                                   char error[KILN_ERROR_TEXT]);

/* The same from memory, for plans that are linked in. All of it is borrowed until the
 * model is closed. Parameters must be 64-byte aligned. */
typedef struct kiln_model_parts {
    const void *plan;
    size_t plan_bytes;
    const void *params;
    size_t param_bytes;
    kiln_kernel_fn *(*kernel)(void *user, const char *symbol); /* NULL: there is none */
    void *user;
} kiln_model_parts;
kiln_model *kiln_model_from_parts(const kiln_model_parts *parts,
                                  const kiln_model_options *o,
                                  char error[KILN_ERROR_TEXT]);
/* Its sessions must be closed before. NULL is fine. */
void kiln_model_close(kiln_model *m);

typedef struct kiln_port_info {
    const char *name;
    const char *dtype; /* "f32"; types of 8 bits and less ("f8e4m3fn", "i4") have a byte
                          for each element: the code of a float, the value of an
                          integer, sign-extended */
    int rank;
    int64_t dim[KILN_PORT_MAX_RANK];
    size_t bytes; /* row-major */
} kiln_port_info;
const char *kiln_model_name(const kiln_model *m);
const char *kiln_model_profile(const kiln_model *m);
int kiln_model_n_inputs(const kiln_model *m);
int kiln_model_n_outputs(const kiln_model *m);
/* -1 when there is no such port. */
int kiln_model_input(const kiln_model *m, int i, kiln_port_info *out);
int kiln_model_output(const kiln_model *m, int i, kiln_port_info *out);
/* Index of the port with this name; -1: there is none. */
int kiln_model_find_input(const kiln_model *m, const char *name);
int kiln_model_find_output(const kiln_model *m, const char *name);

/* ---- shapes ---------------------------------------------------------------------- */

/* A package may have been built for several shapes of its inputs. Each is a variant: a
 * model by itself that computes the same from the same parameters, which are mapped once.
 * What is said above of a model with variants is said of the first one. */
int kiln_model_n_variants(const kiln_model *m); /* 1: only one */
/* Borrowed until `m` is closed; 0 is `m` itself. NULL: there is none. A session of another
 * one runs that one alone. */
const kiln_model *kiln_model_variant(const kiln_model *m, int i);

typedef struct kiln_shape {
    int rank;
    int64_t dim[KILN_PORT_MAX_RANK];
} kiln_shape;
/* The variant whose inputs, n in their order, have these shapes. -1: `error` lists those
 * that there are. */
int kiln_model_find_variant(const kiln_model *m, const kiln_shape *shape, int n,
                            char error[KILN_ERROR_TEXT]);

/* ---- sessions -------------------------------------------------------------------- */

typedef struct kiln_session_options {
    int n_threads; /* 0: 1 */
} kiln_session_options;

kiln_session *kiln_session_open(const kiln_model *m, const kiln_session_options *o,
                                char error[KILN_ERROR_TEXT]);
void kiln_session_close(kiln_session *s); /* NULL is fine */

/* These return 0, or -1 with kiln_session_error. */
/* From now on the session is of the variant whose inputs have these shapes, as long as it
 * is told no others; a session begins with the first variant. Each variant keeps its own
 * inputs, outputs and what is bound to them. All of it was allocated when the session was
 * opened; variants share threads and memory of intermediate values. */
int kiln_session_set_shapes(kiln_session *s, const kiln_shape *shape, int n);
/* Copies the input's bytes. */
int kiln_session_set_input(kiln_session *s, int i, const void *data);
/* Uses the caller's memory, which must be 64-byte aligned and stay until the next bind
 * or the end; NULL goes back to the session's own. While it runs an output may not
 * overlap an input or another output, also not the session's own memory for one (what
 * kiln_session_output gives): steps write outputs before all inputs are read. Running
 * fails then; inputs may overlap one another. */
int kiln_session_bind_input(kiln_session *s, int i, const void *data);
int kiln_session_bind_output(kiln_session *s, int i, void *data);
/* Fails: an input that was never set, a kernel that failed. Outputs hold nothing
 * useful then. */
int kiln_session_run(kiln_session *s);
/* The session's own memory, or what was bound; valid until the next run. */
const void *kiln_session_output(const kiln_session *s, int i);
const char *kiln_session_error(const kiln_session *s);
/* The variant that it is of now: its inputs and outputs are the session's. */
const kiln_model *kiln_session_model(const kiln_session *s);
/* Bytes that the session allocated. */
size_t kiln_session_bytes(const kiln_session *s);
/* Launches of all runs so far that a GPU was told by fewer calls, since they repeated
 * those of the run before (CUDA graphs: docs/devices.md). *why, unless it is NULL: there
 * will be none; else NULL. */
uint64_t kiln_session_replayed(const kiln_session *s, const char **why);

/* ---- profile --------------------------------------------------------------------- */

typedef struct kiln_step_info {
    const char *name;     /* the nodes that the step computes */
    const char *op;       /* the anchor's operator */
    uint64_t nanoseconds; /* in all runs that were measured */
    uint64_t runs;
} kiln_step_info;
/* Measures each step from now on (is_on) or no more; begins from zero. */
void kiln_session_profile(kiln_session *s, int is_on);
int kiln_session_n_steps(const kiln_session *s);
int kiln_session_step(const kiln_session *s, int i, kiln_step_info *out);

/* ---- trace ----------------------------------------------------------------------- */

/* One operand of a step on its way past: for whoever proves what a package does. */
typedef enum kiln_trace_kind {
    KILN_TRACE_READ,    /* before the step; an IF's is its condition */
    KILN_TRACE_WRITTEN, /* after the step */
    KILN_TRACE_END      /* a loop has ended: the step is its end, no data */
} kiln_trace_kind;
typedef struct kiln_trace {
    kiln_trace_kind kind;
    uint32_t step;      /* as kiln_session_step counts them */
    uint32_t operand;   /* of the step */
    uint32_t iteration; /* of the innermost loop; of an END: how many the loop had */
    uint32_t largest;   /* iteration of all loops around it */
    int is_parameter;   /* what is read belongs to the package, or was packed of it */
    const void *data;   /* until the call returns */
    size_t bytes;
} kiln_trace;
/* Calls `fn` for each operand of each step from now on; NULL: no more. A traced run
 * begins with all memory poisoned that its steps may write (bytes 0xFF: NaN), so that
 * what is read and was never written shows. */
typedef void kiln_trace_fn(void *user, const kiln_trace *t);
void kiln_session_trace(kiln_session *s, kiln_trace_fn *fn, void *user);

#ifdef __cplusplus
}
#endif

#endif
