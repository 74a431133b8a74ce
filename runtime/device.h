/* Devices: who computes, and where its memory is. The runtime asks every device in the
 * same words; a kind of device is one file of runtime/device/ and one row of
 * devices.def, or a table that an application brings (kiln_model_options.device).
 *
 *     device   one for each row of a plan's devices; the model's, shared by its sessions
 *     module   code of one device: a file of the package; the model's
 *     memory   bytes of one device, by kind of memory (0: the main one)
 *     queue    what a device is told, done in order; a session's, told by one thread
 *
 * Order. A queue does its operations one after another, in the order in which it was
 * told. Each has a ticket, which counts up by queue; 0 is done already. Launches that a
 * queue tells its driver by one call have one together: it is done when all are. Queues know
 * nothing of one another, unless one is told to wait for a ticket that the other has
 * given: always one given before, so that waits cannot form a ring, and each ends when
 * the operations before it do. The host waits by `finish`.
 *
 * Memory. Addresses are the device's: what alloc gave, plus bytes. The host reads and
 * writes there only where the kind is_host_visible, and only what no queue works on.
 * A queue's copies have both ends in its own device's memory or the host's. Whoever
 * tells a queue keeps memory, operands and kernels until the operation is done.
 *
 * Errors. What opens or allocates says what is wrong. An operation that fails makes its
 * queue, and queues that wait for it, skip what follows, until finish(KILN_DEVICE_ALL)
 * has told which one it was; then the queue is as new. Tickets of what was skipped
 * count as done: nobody waits for ever.
 *
 * Threads. A device and its modules may be used by several threads at once, a queue by
 * one at a time. Nothing is allocated by an operation: a queue that is full lets its
 * caller wait.
 *
 * Sources: queues in order with counted points in time, on which others wait, are those
 * of Vulkan's timeline semaphores, as IREE's HAL has them; a table of functions for each
 * kind of device, with code apart from memory, is TVM's DeviceAPI. */
#ifndef KILN_RUNTIME_DEVICE_H
#define KILN_RUNTIME_DEVICE_H

#include "runtime/kiln.h"

#define KILN_DEVICE_ALL UINT64_MAX /* the ticket of whatever was told last */

typedef struct kiln_device_kind kiln_device_kind;

/* What a kind makes begins with one of these, which it fills. */
typedef struct kiln_device {
    const kiln_device_kind *kind;
    kiln_allocator allocator; /* for all that the device keeps in the host's memory */
} kiln_device;
typedef struct kiln_device_module {
    const kiln_device_kind *kind;
} kiln_device_module;
typedef struct kiln_device_queue {
    const kiln_device_kind *kind;
} kiln_device_queue;

/* Code: bytes of a file, which may go once the module is open; or, where bytes are
 * NULL, functions that are linked in, which only devices take that run them. */
typedef struct kiln_device_image {
    const void *bytes;
    size_t n;
    kiln_kernel_fn *(*kernel)(void *user, const char *symbol); /* NULL: there is none */
    void *user;
} kiln_device_image;

/* One of them is not NULL: a function of this process, or the device's word for it. */
typedef struct kiln_device_kernel {
    kiln_kernel_fn *fn;
    const void *handle;
} kiln_device_kernel;

typedef struct kiln_device_queue_options {
    int n_threads; /* of whatever computes on the host's processors */
    /* The most that a kernel of this queue wants; the device has them of its own. */
    size_t workspace_bytes, scratch_bytes;
    int is_timed; /* launches are timed, for last_ns: they may take a little longer */
} kiln_device_queue_options;

/* A queue whose launches are calls: whoever tells it calls the kernel itself, in its own
 * thread, with these. */
typedef struct kiln_device_direct {
    kiln_ctx *ctx;
    void *workspace;
    size_t bytes; /* that the queue allocated */
} kiln_device_direct;

typedef struct kiln_device_launch {
    kiln_device_kernel kernel;
    void *const *operand; /* addresses, 64-byte aligned */
    uint32_t n_operands;
    uint32_t tag; /* for failures: the caller's */
} kiln_device_launch;

typedef struct kiln_device_copy {
    void *to;
    const void *from;
    size_t bytes;
    uint32_t tag;
} kiln_device_copy;

typedef struct kiln_device_failure {
    uint32_t tag; /* of the operation */
    int code;     /* the kernel's; the driver's; -1: the device's */
    const char
        *why; /* what it means, for as long as the device is open; NULL: unknown */
} kiln_device_failure;

/* All functions are there but those that say so. Those that return int return 0, or -1
 * with a reason; `finish` returns -1 with the failure. */
struct kiln_device_kind {
    const char *name;    /* as plans have it */
    uint32_t n_memories; /* kinds of memory */
    int is_host_visible; /* the host may read and write the device's memory */
    int is_apart; /* it computes by itself: what the host's processors do meanwhile is no
                     matter to it */
    int has_driver; /* the system's, which opens files and makes code of its own: no
                       process that uses it can be confined */

    int (*open)(const kiln_allocator *allocator, kiln_device **out,
                char error[KILN_ERROR_TEXT]);
    void (*close)(kiln_device *d);
    /* For people: which one it is, as its driver names it. Lives as long as the device.
     * NULL: the kind has no such names. */
    const char *(*title)(const kiln_device *d);
    /* 64-byte aligned, never of no bytes; NULL: there is none. */
    void *(*alloc)(kiln_device *d, uint32_t memory, size_t bytes);
    void (*release)(kiln_device *d, uint32_t memory, void *block);

    int (*module_open)(kiln_device *d, const kiln_device_image *image,
                       kiln_device_module **out, char error[KILN_ERROR_TEXT]);
    int (*module_kernel)(kiln_device_module *m, const char *symbol,
                         kiln_device_kernel *out); /* -1: there is none */
    void (*module_close)(kiln_device_module *m);
    /* The image as this very device's machine code, which opens at once: what its driver
     * would make of it. *bytes are the device's allocator's. NULL: modules are that, or
     * the driver does not give it away. */
    int (*translate)(kiln_device *d, const kiln_device_image *image, void **bytes,
                     size_t *n, char error[KILN_ERROR_TEXT]);

    int (*queue_open)(kiln_device *d, const kiln_device_queue_options *o,
                      kiln_device_queue **out, char error[KILN_ERROR_TEXT]);
    void (*queue_close)(kiln_device_queue *q); /* once it is finished */
    /* What launches are called with; NULL: they are not called, but launched. */
    const kiln_device_direct *(*direct)(kiln_device_queue *q);
    /* A run's operations begin to follow one another, or are over: hints. NULL: none
     * are wanted. */
    void (*begin)(kiln_device_queue *q);
    void (*end)(kiln_device_queue *q);

    uint64_t (*launch)(kiln_device_queue *q, const kiln_device_launch *l);
    uint64_t (*copy)(kiln_device_queue *q, const kiln_device_copy *c);
    /* q goes on when `other`, of the same kind, has done the ticket. NULL: the host
     * waits for q instead. */
    void (*order)(kiln_device_queue *q, kiln_device_queue *other, uint64_t ticket);
    int (*finish)(kiln_device_queue *q, uint64_t ticket, kiln_device_failure *out);
    /* How long the device took for the launch that a timed queue was told last and has
     * done, by the device's clock; 0: it does not say. NULL: the kind has no clock. */
    uint64_t (*last_ns)(kiln_device_queue *q);
    /* Launches of a timed queue that are told between begin and end, 64 at most, are
     * timed as one for last_ns: the device begins them once all are told, so that they
     * follow one another as fast as it can. The queue is finished ahead of it. NULL: the
     * kind cannot. */
    void (*span)(kiln_device_queue *q, int begins);
    /* Launches that repeated those of the run before, and so were told by fewer calls
     * (a driver's graphs), since the queue was opened; *why: there will be none; NULL:
     * there may be. NULL: the kind has no such calls. */
    uint64_t (*n_replayed)(kiln_device_queue *q, const char **why);
    /* Its workspace in the device's memory. NULL: it has none, or nobody may know. */
    void *(*workspace)(kiln_device_queue *q);
    /* Copies to and from these bytes of the host's, whole pages, become faster until they
     * are unpinned; no copy may begin in them and end outside. -1: they do not. NULL:
     * nothing is to be gained. */
    int (*pin)(kiln_device *d, void *host, size_t bytes);
    void (*unpin)(kiln_device *d, void *host);
};

#define KILN_DEVICE(row) extern const kiln_device_kind kiln_device_kind_##row;
#include "runtime/devices.def"
#undef KILN_DEVICE

/* The row of that name; `extra` are asked behind the table's. NULL: there is none. */
const kiln_device_kind *kiln_device_kind_named(const char *name,
                                               const kiln_device_kind *const *extra,
                                               size_t n_extra);

/* The system's memory, for who opens a device without a model. */
void kiln_allocator_default(kiln_allocator *out);

/* ---- for kinds that run this processor's code ------------------------------------ */

/* A device without state of its own, of the allocator; its kind's `open` and `close`. */
int kiln_cpu_open(const kiln_device_kind *kind, const kiln_allocator *allocator,
                  kiln_device **out, char error[KILN_ERROR_TEXT]);
void kiln_cpu_close(kiln_device *d);
/* 64-byte aligned, of the device's allocator. */
void *kiln_cpu_alloc(kiln_device *d, uint32_t memory, size_t bytes);
void kiln_cpu_release(kiln_device *d, uint32_t memory, void *block);
/* ELF objects and shared libraries by runtime/loader.h, and functions linked in. */
int kiln_cpu_module_open(kiln_device *d, const kiln_device_image *image,
                         kiln_device_module **out, char error[KILN_ERROR_TEXT]);
int kiln_cpu_module_kernel(kiln_device_module *base, const char *symbol,
                           kiln_device_kernel *out);
void kiln_cpu_module_close(kiln_device_module *base);
/* Members of the row of a kind that is this processor itself: one memory, which the host
 * sees, and code as above. Its `open` and its queues are its own. */
#define KILN_CPU_MEMORY_AND_CODE                                                       \
    .n_memories = 1, .is_host_visible = 1, .close = kiln_cpu_close,                    \
    .alloc = kiln_cpu_alloc, .release = kiln_cpu_release,                              \
    .module_open = kiln_cpu_module_open, .module_kernel = kiln_cpu_module_kernel,      \
    .module_close = kiln_cpu_module_close

#endif
