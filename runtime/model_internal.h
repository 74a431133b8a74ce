/* Shared by the runtime's model and sessions. */
#ifndef KILN_RUNTIME_MODEL_INTERNAL_H
#define KILN_RUNTIME_MODEL_INTERNAL_H

#include "runtime/kiln.h"
#include "runtime/loader.h"
#include "runtime/plan.h"

struct kiln_model {
    kiln_allocator allocator;
    kiln_plan plan;
    const char *params;      /* param_bytes of the plan */
    char *packed;            /* packed_bytes of the plan; owned */
    kiln_kernel_fn **kernel; /* by the plan's index; owned */
    /* What a folder brought; all NULL for parts. */
    void *plan_file;
    void *param_map;
    size_t param_map_bytes;
    kiln_code *library;
};

/* Room for n bytes, 64-byte aligned; NULL: none. */
void *kiln_model_alloc(const kiln_model *m, size_t n);
void kiln_model_release(const kiln_model *m, void *block);
void kiln_allocator_default(kiln_allocator *out);

/* Checks and takes the parts: -1 with the reason. */
int kiln_model_assemble(kiln_model *m, const kiln_model_parts *parts,
                        char error[KILN_ERROR_TEXT]);
/* Fills the packed memory by the plan's open steps (open.c): -1 with the reason. */
int kiln_model_pack(kiln_model *m, char error[KILN_ERROR_TEXT]);
/* Reads a folder's files into the model (model_files.c): -1 with the reason. */
int kiln_model_read_files(kiln_model *m, const char *folder,
                          char error[KILN_ERROR_TEXT]);
/* The same of files in memory. */
int kiln_model_read_memory(kiln_model *m, const kiln_model_files *files,
                           char error[KILN_ERROR_TEXT]);
void kiln_model_release_files(kiln_model *m);

#endif
