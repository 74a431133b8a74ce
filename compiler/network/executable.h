/* The executable graph: what a graph becomes for one profile, before anybody packs it.
 *
 * Groups of the fusion are compiled one after another; each takes its inputs in the
 * layout that their makers chose where it can, else a conversion comes between (an
 * identity with two layouts: a kernel like any other). Constants are packed as the
 * kernels read them, or are by such kernels when the model is opened. Equal work is
 * compiled once.
 *
 * Slots are tensors in memory; steps call kernels on them, move bytes, choose and
 * repeat. All of it is the host's, unless a placement (place.h) gives steps to other
 * devices: then slots lie in spaces of devices, copies bring values from one to
 * another, and queues wait for one another. Whoever packs it (pipeline/network) writes
 * all as it is here. */
#ifndef KILN_COMPILER_NETWORK_EXECUTABLE_H
#define KILN_COMPILER_NETWORK_EXECUTABLE_H

#include "compiler/graph/memory.h"
#include "compiler/network/groups.h"
#include "compiler/network/kernel.h"

enum { KILN_NETWORK_MAX_RUNS = 1 << 30 }; /* of a loop's body */

struct kiln_placement; /* compiler/network/place.h */

typedef struct kiln_network_options {
    bool no_fusion;
    /* Constants stay row-major, once each; the plan's open steps pack them as kernels
     * read them. Else they are packed here. Either way kernels read the same bytes. */
    bool pack_at_open;
    const kiln_choose_options *choose;      /* NULL: guesses */
    const struct kiln_placement *placement; /* NULL: the host does everything */
    /* For tests: may lay out a value in another way that a group makes, no template
     * lays out, and others read. Any layout must do. NULL: none. */
    void (*relayout)(void *user, const kiln_type *t, kiln_layout *layout);
    void *user;
    /* Told of each kernel that was made: its number, how it was scheduled, and the loop
     * program before code is made of it; both are gone when it returns. NULL: none. */
    void (*watch)(void *watcher, int kernel, const kiln_scheduled *s,
                  const kiln_program *p);
    void *watcher;
} kiln_network_options;

/* One kernel of the library. */
typedef struct kiln_network_kernel {
    const char *symbol; /* "k3" */
    kiln_object object; /* its function has the symbol's name */
    const char *key;    /* workload, layouts, template and configuration */
    const char *workload;
    const char *config; /* JSON object: the template's knobs */
    const char *tmpl;
    kiln_origin origin;
    int n_tried;               /* configurations measured for this very work */
    kiln_cost cost;            /* of one call */
    double amplification;      /* of the error bound, by its algorithm */
    int n_operands, n_written; /* of them: the last ones */
    const kiln_type *operand;  /* each as the kernel reads or writes it */
    kiln_spread spread;        /* of its work on the profile's cores, two at least */
} kiln_network_kernel;

/* Where a slot's bytes are. */
typedef enum kiln_net_place {
    KILN_NET_INPUT,  /* the caller's; index: which input */
    KILN_NET_OUTPUT, /* the caller's; index: which output */
    KILN_NET_PARAM,  /* constants, as they are packed */
    KILN_NET_ARENA,  /* what lies between */
    KILN_NET_PACKED  /* what open steps make of constants */
} kiln_net_place;

typedef enum kiln_net_step_kind {
    KILN_NET_CALL, /* a kernel on its operands */
    KILN_NET_COPY, /* operand 0 to operand 1, of the same size */
    KILN_NET_IF,   /* operand 0 is the condition; partner: its ELSE */
    KILN_NET_ELSE, /* partner: the END */
    KILN_NET_LOOP, /* count times; partner: the END */
    KILN_NET_END,  /* partner: the IF or LOOP that it ends */
    KILN_NET_TAKE, /* element t of operand 0 to operand 1, t: the innermost loop's */
    KILN_NET_PUT,  /* operand 0 to element t of operand 1 */
    KILN_NET_WAIT, /* partner: the step of another queue that is waited for */
    KILN_NET_N_KINDS
} kiln_net_step_kind;

/* A tensor in memory. */
typedef struct kiln_net_slot {
    kiln_net_place place;
    uint32_t index;  /* INPUT, OUTPUT */
    int device;      /* ARENA, PACKED: in whose memory; else 0, the host's */
    uint64_t offset; /* PARAM, PACKED, and ARENA once planned */
    int64_t bytes;
    int view_of;         /* -1: none */
    int64_t view_offset; /* bytes into it */
    kiln_layout layout;
    unsigned facts; /* of its type: are tail lanes zero? */
    const kiln_value *value;
    const char *path; /* PARAM: of the region that the value is in */
    /* What no step makes: result `means_out` of a node of these slots, whose bytes it
     * shares. NULL: a step makes it, or it is another layout of what it is a view of.
     */
    const kiln_node *means;
    int means_out;
    const int *means_in; /* by the node's inputs; -1: none */
    bool is_given; /* the output of a branch: what it is a view of is the if's output */
} kiln_net_slot;

typedef struct kiln_net_step {
    kiln_net_step_kind kind;
    int kernel;         /* CALL */
    int device;         /* whose queue does it; blocks: 0 */
    int partner;        /* blocks, waits: step that the plan's field names */
    int64_t count;      /* LOOP */
    const int *operand; /* slots: what is read, then what is written */
    int n_operands, n_read;
    const kiln_value *const *value; /* with a group: of g, by operand */
    const int *takeable;
    int n_takeable;
    const char *name, *op;
    const kiln_group *group; /* NULL: a conversion, a copy, a choice, a wait */
    const kiln_graph *g;     /* with a group: whose it is */
    const char *path;        /* and of which region */
} kiln_net_step;

typedef struct kiln_net_port {
    const char *name;
    const kiln_value *value;
    int slot;
} kiln_net_port;

/* A device has one queue, and one space for what flows. Device 0 is the host. */
typedef struct kiln_net_device {
    const char *kind; /* as the runtime has it: "host", "host2" */
    int64_t arena_bytes, lower_bound;
    uint64_t packed_bytes;
} kiln_net_device;

typedef struct kiln_net {
    kiln_arena *arena;
    kiln_arena scratch;  /* of one kernel */
    const kiln_graph *g; /* whose nodes are added: the whole, or a region of it */
    const char *path;    /* of the region, before names: "If_0.then_branch/" */
    const kiln_profile *profile;
    const kiln_network_options *o;
    KILN_VEC(kiln_network_kernel) kernel;
    int *slot_of; /* by value id of g: as it was made; -1: not yet */
    KILN_VEC(kiln_net_slot) slot;
    KILN_VEC(kiln_net_step) step;
    KILN_VEC(kiln_net_step)
    open; /* one written slot each, in order of their devices
                                     and offsets: calls; copies to other devices */
    KILN_VEC(kiln_net_device) device;
    KILN_VEC(kiln_net_port) port; /* inputs, then outputs */
    uint32_t n_inputs, n_outputs;
    kiln_map kernel_of;                 /* key -> index + 1 */
    uint64_t param_bytes, packed_bytes; /* of all devices */
    uint64_t workspace_bytes;           /* the most that a kernel wants */
    uint64_t scratch_bytes;             /* of each thread */
    int64_t arena_bytes, lower_bound;   /* of activations, on all devices */
    int n_conversions, n_views, n_in_place;
} kiln_net;

/* Do its bytes belong to the model: a parameter, packed or not? */
bool kiln_net_is_param(const kiln_net *n, int slot);
/* The slot whose bytes a view's are; a slot that is none: itself. */
int kiln_net_root(const kiln_net *n, int slot);
/* The type of what a slot holds: the value's, in its layout, with its facts. */
kiln_type kiln_net_type_of(const kiln_net_slot *s);
/* Holds the steps against one another, once all places are known (check.c).
 * KILN_ERR_BUG: what one writes is not what another reads; both are named. */
kiln_status kiln_net_check(const kiln_net *n, kiln_err *err);
/* `g` has been through the passes and is borrowed, as are profile and options; `out`
 * needs no initialization and lives in `a`. o: NULL, or what is not as usual; its
 * `choose` holds the oracle. Failures name the group's first node. KILN_ERR_LIMIT: a
 * sequence that is too long; KILN_ERR_BUG: steps that contradict one another. */
kiln_status kiln_compile(kiln_arena *a, const kiln_graph *g, const kiln_profile *p,
                         const kiln_network_options *o, kiln_net *out, kiln_err *err);

#endif
