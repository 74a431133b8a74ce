/* Shared by the runtime's model and sessions. */
#ifndef KILN_RUNTIME_MODEL_INTERNAL_H
#define KILN_RUNTIME_MODEL_INTERNAL_H

#include "runtime/device.h"
#include "runtime/plan.h"

struct kiln_model {
    kiln_allocator allocator;
    kiln_plan plan;
    const char *params;   /* param_bytes of the plan */
    kiln_device **device; /* these by the plan's index; owned */
    kiln_device_module **module;
    kiln_device_kernel *kernel; /* what the modules have; the table is owned */
    char **packed;              /* by space: packed_bytes of the device's memory */
    /* What a folder brought; all NULL for parts. */
    void *plan_file;
    void *param_map;
    size_t param_map_bytes;
    /* The same model for other shapes, whose parameters are this one's: owned; NULL:
     * there are none. */
    kiln_model **sibling;
    int n_siblings;
};

/* Where modules come from. */
typedef struct kiln_model_source {
    /* 0, with the file's code and its name for messages; or -1 with the reason. */
    int (*find)(void *user, const char *file, kiln_device_image *out,
                char where[KILN_ERROR_TEXT], char error[KILN_ERROR_TEXT]);
    void (*release)(kiln_device_image *image); /* NULL: nothing is to be done */
    void *user;
} kiln_model_source;

/* Room for n bytes, 64-byte aligned; NULL: none. */
void *kiln_model_alloc(const kiln_model *m, size_t n);
void kiln_model_release(const kiln_model *m, void *block);

/* Checks and takes the parts, but for their kernels, which are the source's: -1 with the
 * reason. */
int kiln_model_assemble(kiln_model *m, const kiln_model_parts *parts,
                        const kiln_model_source *source, const kiln_model_options *o,
                        char error[KILN_ERROR_TEXT]);
/* Opens the plan's devices, modules and kernels (model_devices.c): -1 with the reason. */
int kiln_model_open_devices(kiln_model *m, const kiln_model_source *source,
                            const kiln_model_options *o, char error[KILN_ERROR_TEXT]);
void kiln_model_close_devices(kiln_model *m);
/* The device that a space is of, and the kind of a queue's. */
static inline kiln_device *kiln_model_device_of(const kiln_model *m, uint32_t space) {
    return m->device[m->plan.space[space].device];
}
/* The module of that name that the options bring; NULL: none. */
const kiln_model_module *kiln_model_module_of(const kiln_model_options *o,
                                              const char *file);
/* Fills the packed memory by the plan's open steps (open.c): -1 with the reason. */
int kiln_model_pack(kiln_model *m, char error[KILN_ERROR_TEXT]);
/* Reads a folder's files into the model (model_files.c): -1 with the reason. */
int kiln_model_read_files(kiln_model *m, const char *folder,
                          const kiln_model_options *o, char error[KILN_ERROR_TEXT]);
/* Have both the same inputs and outputs, but for shapes? */
int kiln_model_is_like(const kiln_model *m, const kiln_model *other);
/* One more model with the same allocator; NULL with the reason: no memory. */
kiln_model *kiln_model_new(const kiln_allocator *allocator,
                           char error[KILN_ERROR_TEXT]);
/* The same of files in memory. */
int kiln_model_read_memory(kiln_model *m, const kiln_model_files *files,
                           const kiln_model_options *o, char error[KILN_ERROR_TEXT]);
void kiln_model_release_files(kiln_model *m);

#endif
