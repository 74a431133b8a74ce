/* plan.bin: what a packaged network does, as flat little-endian tables that are used
 * where they lie (docs/plan-format.md).
 *
 *     header, tensors, inputs and outputs, kernels, sizes, devices, spaces, queues,
 *     modules, steps, open steps, operands, strings
 *
 * Offsets of tables are counted from the beginning. Strings are offsets into the last
 * table, each ended by a zero byte. A plan is untrusted: kiln_plan_check holds every
 * number against its table before anything is used. Of a plan that it accepts these
 * hold, whoever wrote it: every step ends after at most KILN_PLAN_MAX_RUNS steps in
 * all; every byte that a step reads or writes lies in memory that the session has, as
 * far as kernels keep to the sizes stated for them; inputs and parameters are never
 * written. Open steps are launches and copies that a model makes once, when it is
 * opened: each reads parameters and fills one place of a packed memory, which nobody
 * else writes; what steps read of it has been filled.
 *
 * Device 0, space 0 and queue 0 are the host's: inputs, outputs and parameters lie in
 * space 0, and the host decides branches and loops. A launch's operands lie in spaces of
 * its queue's device, a copy's there or in space 0. Each wait is for a step that has
 * been told to its queue whenever the wait is reached, so that all waits end. That steps
 * of several queues wait where they must is whoever writes the plan's care: else they
 * compute something else, in the memory that is theirs.
 */
#ifndef KILN_RUNTIME_PLAN_H
#define KILN_RUNTIME_PLAN_H

#include <stddef.h>
#include <stdint.h>

#define KILN_PLAN_MAGIC "KILNPLAN"
enum {
    KILN_PLAN_VERSION = 4,
    KILN_PLAN_ALIGN = 64, /* of every tensor, in bytes */
    KILN_PLAN_MAX_RANK = 8,
    KILN_PLAN_MAX_DEPTH = 32,     /* branches and loops inside one another */
    KILN_PLAN_MAX_RUNS = 1 << 30, /* steps of one run, loops counted out */
    KILN_PLAN_MAX_DEVICES = 64,   /* and spaces, queues, modules */
    KILN_PLAN_MAX_FILE = 64,      /* of a module's name */
    KILN_PLAN_ERROR = 256
};

typedef enum kiln_plan_place {
    KILN_PLAN_INPUT,  /* index: which input */
    KILN_PLAN_OUTPUT, /* index: which output */
    KILN_PLAN_PARAM,  /* the parameters */
    KILN_PLAN_ARENA, /* an instance's memory for what lies between; index: which space */
    KILN_PLAN_PACKED /* the model's memory: what open steps make of parameters; index:
                         which space */
} kiln_plan_place;

typedef struct kiln_plan_tensor {
    uint32_t place;  /* kiln_plan_place */
    uint32_t index;  /* INPUT, OUTPUT, ARENA, PACKED */
    uint64_t offset; /* into that memory: bytes, a multiple of KILN_PLAN_ALIGN */
    uint64_t bytes;
} kiln_plan_tensor;

/* An input or output, as the model has it: row-major. */
typedef struct kiln_plan_port {
    uint32_t name;   /* string */
    uint32_t tensor; /* the tensor of that place and index */
    uint32_t dtype;  /* string: "f32" */
    uint32_t rank;
    uint64_t dim[KILN_PLAN_MAX_RANK]; /* entries past rank are 0 */
    uint64_t bytes;
} kiln_plan_port;

/* What a kernel needs of whoever calls it. */
typedef struct kiln_plan_kernel {
    uint32_t symbol; /* string: its name in the module */
    uint32_t module;
    uint32_t n_operands;
    uint32_t n_written;  /* of them: the last ones */
    uint32_t first_size; /* index into the sizes: bytes of each operand */
    uint32_t reserved;
    uint64_t workspace_bytes, scratch_bytes; /* at most the header's */
} kiln_plan_kernel;

typedef enum kiln_plan_step_kind {
    KILN_PLAN_LAUNCH, /* a kernel on its operands */
    KILN_PLAN_COPY,   /* operand 0 to operand 1, of the same size */
    /* IF ... ELSE ... END: the steps before ELSE where operand 0's byte is not 0, else
     * those behind it. */
    KILN_PLAN_IF,
    KILN_PLAN_ELSE,
    /* LOOP ... END: `count` times the steps between. The iteration t of the innermost
     * loop counts from 0. */
    KILN_PLAN_LOOP,
    KILN_PLAN_END,
    KILN_PLAN_TAKE, /* element t of operand 0 to operand 1, which has its size */
    KILN_PLAN_PUT,  /* operand 0 to element t of operand 1 */
    KILN_PLAN_WAIT, /* the queue goes on when its partner, of another queue, is done */
    KILN_PLAN_N_KINDS
} kiln_plan_step_kind;

typedef struct kiln_plan_step {
    uint32_t kind;
    uint32_t kernel;        /* LAUNCH */
    uint32_t partner;       /* IF: its ELSE; ELSE, LOOP: its END; END: its IF or LOOP;
                               WAIT: the step that is waited for */
    uint32_t count;         /* LOOP */
    uint32_t first_operand; /* index into the operands: indexes of tensors */
    uint32_t n_operands;
    uint32_t name;  /* string: the nodes that it computes, for profiles */
    uint32_t op;    /* string: the anchor's operator */
    uint32_t queue; /* that does it; IF, ELSE, LOOP, END: 0 */
} kiln_plan_step;

typedef struct kiln_plan_device {
    uint32_t kind; /* string: "host" (runtime/device.h) */
} kiln_plan_device;

/* Memory of a device. */
typedef struct kiln_plan_space {
    uint32_t device;
    uint32_t memory;       /* which kind of the device's; 0: the main one */
    uint64_t arena_bytes;  /* of an instance: intermediate values */
    uint64_t packed_bytes; /* of a model: what open steps fill */
} kiln_plan_space;

typedef struct kiln_plan_queue {
    uint32_t device;
} kiln_plan_queue;

/* Code of a device. */
typedef struct kiln_plan_module {
    uint32_t device;
    uint32_t file; /* string: its name in the package, "lib.so" */
} kiln_plan_module;

/* A table: where it begins, and how many entries it has. */
typedef struct kiln_plan_section {
    uint64_t at, n;
} kiln_plan_section;

typedef struct kiln_plan_header {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes;
    uint64_t total_bytes;
    uint32_t model;   /* string: name */
    uint32_t profile; /* string: name */
    uint32_t arch;    /* ELF machine: one of runtime/archs.def */
    uint32_t n_tensors, n_inputs, n_outputs, n_kernels, n_sizes, n_steps, n_operands;
    /* Offsets of the tables. */
    uint64_t tensors, ports, kernels, sizes, steps, operands, strings;
    uint64_t string_bytes;
    uint64_t param_bytes;     /* of the parameter file's data */
    uint64_t workspace_bytes; /* the most that a kernel wants */
    uint64_t scratch_bytes;   /* per thread */
    kiln_plan_section open; /* kiln_plan_step: LAUNCH, COPY, in order of what they fill:
                                 space, then offset */
    kiln_plan_section devices, spaces, queues, modules;
} kiln_plan_header;

/* A checked plan: pointers into the bytes it was read from. Ports: inputs, then
 * outputs. */
typedef struct kiln_plan {
    const kiln_plan_header *header;
    const kiln_plan_tensor *tensor;
    const kiln_plan_port *port;
    const kiln_plan_kernel *kernel;
    const uint64_t *size;
    const kiln_plan_step *step;
    const kiln_plan_step *open; /* header->open.n of them */
    const kiln_plan_device *device;
    const kiln_plan_space *space;
    const kiln_plan_queue *queue;
    const kiln_plan_module *module;
    const uint32_t *operand;
    const char *strings;
} kiln_plan;

/* 0, or -1 with the reason. `bytes` must be 8-byte aligned and live as long as the
 * plan. */
int kiln_plan_check(const void *bytes, size_t n, kiln_plan *out,
                    char error[KILN_PLAN_ERROR]);
static inline const char *kiln_plan_string(const kiln_plan *p, uint32_t at) {
    return p->strings + at;
}
/* The space that a tensor's bytes lie in. */
static inline uint32_t kiln_plan_space_of(const kiln_plan_tensor *t) {
    return t->place == KILN_PLAN_ARENA || t->place == KILN_PLAN_PACKED ? t->index : 0;
}
/* Operands that a step reads come first. */
static inline uint32_t kiln_plan_n_read(const kiln_plan *p, const kiln_plan_step *s) {
    if (s->kind == KILN_PLAN_LAUNCH)
        return s->n_operands - p->kernel[s->kernel].n_written;
    return s->n_operands > 0 ? 1 : 0;
}
/* Of all spaces. */
static inline uint64_t kiln_plan_arena_bytes(const kiln_plan *p) {
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < p->header->spaces.n; i++)
        bytes += p->space[i].arena_bytes;
    return bytes;
}
static inline uint64_t kiln_plan_packed_bytes(const kiln_plan *p) {
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < p->header->spaces.n; i++)
        bytes += p->space[i].packed_bytes;
    return bytes;
}

#endif
