/* The executable graph: what a graph becomes for one profile, before anybody packs it.
 *
 * Passes (net_passes.def) make it, one fact after another. Groups of the fusion become
 * steps; each is given a template and a configuration; each takes its inputs in the
 * layout that their makers chose where it can, else a conversion comes between (an
 * identity with two layouts: a kernel like any other). Constants are packed as the
 * kernels read them, or are by such kernels when the model is opened. Equal work is
 * compiled once.
 *
 * Slots are tensors in memory; steps call kernels on them, move bytes, choose and
 * repeat. All of it is the host's, unless a placement (network_place.h) gives steps to other
 * devices: then slots lie in spaces of devices, copies bring values from one to
 * another, and queues wait for one another. Whoever packs it (pipeline/network) writes
 * all as it is here. */
#ifndef KILN_COMPILER_NETWORK_EXECUTABLE_H
#define KILN_COMPILER_NETWORK_EXECUTABLE_H

#include "compiler/graph/graph_memory.h"
#include "compiler/network/groups.h"
#include "compiler/network/network_kernel.h"

enum { KILN_NETWORK_MAX_RUNS = 1 << 30 }; /* of a loop's body */

/* What holds of an executable graph; each is made by one pass. */
enum {
    KILN_NET_FUSED = 1u << 0,    /* each node is in one step, and blocks are nested */
    KILN_NET_CHOSEN = 1u << 1,   /* each call has a template and a configuration */
    KILN_NET_LAID_OUT = 1u << 2, /* operands are tensors, of the types of kernels */
    KILN_NET_PLACED = 1u << 3,   /* what leaves the network is in the caller's memory */
    KILN_NET_SHARED = 1u << 4,   /* concat and slices are parts of other tensors */
    KILN_NET_ON_DEVICES = 1u << 5, /* each step has a device that reaches its tensors */
    KILN_NET_PLANNED = 1u << 6,    /* each tensor has its bytes, free while it lives */
    KILN_NET_COMPILED = 1u << 7,   /* each kernel has code */
    KILN_NET_N_FACTS = 8
};
extern const char *const kiln_net_fact_names[KILN_NET_N_FACTS]; /* by bit */

struct kiln_net;
struct kiln_net_chooser;
struct kiln_placement; /* compiler/network/network_place.h */

/* How a step was done, as somebody kept it. */
typedef struct kiln_net_given {
    const char *step; /* its name; of several that have it, the next one */
    const char *tmpl; /* NULL: a join */
    const char *config;
    /* Types of its activations in their layouts (kiln_type_text), inputs of its group's
     * graph, then outputs; of a join, of the whole. ';' is behind each. */
    const char *layouts;
} kiln_net_given;

typedef struct kiln_network_options {
    bool no_fusion;
    /* Constants stay row-major, once each; the plan's open steps pack them as kernels
     * read them. Else they are packed here. Either way kernels read the same bytes. */
    bool pack_at_open;
    const kiln_choose_options *choose;      /* NULL: guesses */
    const struct kiln_net_chooser *chooser; /* NULL: the first of net_choosers.def */
    /* Done as they were before: no chooser is asked, other steps are done by the greedy
     * rule. Untrusted. NULL: none. */
    const kiln_net_given *given;
    size_t n_given;
    const struct kiln_placement *placement; /* NULL: the host does everything */
    /* For tests: may lay out a value in another way that a group makes, no template
     * lays out, and others read. Any layout must do. NULL: none. */
    void (*relayout)(void *user, const kiln_type *t, kiln_layout *layout);
    void *user;
    const char *kernel_prefix; /* names of kernels begin with it; NULL: none */
    bool check_text;           /* what is printed after each pass must read back */
    const char *print_after;   /* a pass's name, or "all"; NULL: none */
    void (*print)(void *printer, const char *pass_name, const struct kiln_net *n);
    void *printer;
    /* Told of each kernel that was made: its number, how it was scheduled, and the loop
     * program before code is made of it; both are gone when it returns. NULL: none. */
    void (*watch)(void *watcher, int kernel, const kiln_scheduled *s,
                  const kiln_program *p);
    void *watcher;
} kiln_network_options;

struct kiln_net_making;
struct kiln_net_walk;

/* One kernel of the library. */
typedef struct kiln_network_kernel {
    const char *symbol; /* "k3" */
    kiln_object object; /* its function has the symbol's name */
    const char *key;    /* workload, layouts, template and configuration */
    const char *workload;
    const char *config; /* JSON object: the template's knobs */
    const char *tmpl;
    const kiln_profile
        *profile; /* that it is made for: the network's, or its device's */
    kiln_origin origin;
    int n_tried;               /* configurations measured for this very work */
    kiln_cost cost;            /* of one call */
    double least_flops;        /* that it does without fail; 0: not known */
    double amplification;      /* of the error bound, by its algorithm */
    int n_operands, n_written; /* of them: the last ones */
    const kiln_type *operand;  /* each as the kernel reads or writes it */
    kiln_spread spread;        /* of its work on the profile's cores, two at least */
    struct kiln_net_making *making; /* what code is made of; NULL once it is */
} kiln_network_kernel;

/* Where a slot's bytes are. */
typedef enum kiln_net_place {
    KILN_NET_INPUT,  /* the caller's; index: which input */
    KILN_NET_OUTPUT, /* the caller's; index: which output */
    KILN_NET_PARAM,  /* constants, as they are packed */
    KILN_NET_ARENA,  /* what lies between; until PLACED whatever steps make */
    KILN_NET_PACKED, /* what open steps make of constants */
    KILN_NET_N_PLACES
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
    KILN_NET_VIEW, /* what it writes are bytes of what it reads, until SHARED */
    KILN_NET_JOIN, /* what it reads are parts of what it writes, until SHARED */
    KILN_NET_N_KINDS
} kiln_net_step_kind;

/* A tensor in memory. */
typedef struct kiln_net_slot {
    kiln_net_place place;
    uint32_t index;  /* INPUT, OUTPUT */
    int device;      /* ARENA, PACKED: in whose memory; else 0, the host's */
    uint64_t offset; /* PARAM, PACKED, ARENA: once PLANNED */
    int64_t bytes;
    int view_of;         /* -1: none */
    int64_t view_offset; /* bytes into it, once SHARED */
    kiln_layout layout;
    const kiln_op_def *packing; /* of a constant that is more than moved; else NULL */
    unsigned facts;             /* of its type: are tail lanes zero? */
    const kiln_value *value;
    const char *path; /* of the region that the value is in */
    /* What no step makes: result `means_out` of a node of these slots, whose bytes it
     * shares, once SHARED. NULL: a step makes it, or it is another layout of what it is
     * a view of. */
    const kiln_node *means;
    int means_out;
    const int *means_in; /* by the node's inputs; -1: none */
    bool is_given; /* the output of a branch: what it is a view of is the if's output */
    bool is_alone; /* read by its conversion only: its maker's choice is_alone */
    int line;      /* of the text that it was read from; 0: none */
} kiln_net_slot;

/* How a step is done, as a chooser found it. */
typedef struct kiln_net_choice {
    const kiln_template *tmpl; /* NULL: a join, whose parts are made in their places */
    kiln_config config;        /* of the template's space for the group, row-major */
    kiln_origin origin;
    int n_tried;
    const char *text; /* the configuration as JSON */
    /* How activations lie where the kernel reads and writes them: inputs of the group's
     * graph (kiln_group_graph), then its outputs; of a join, the whole. NULL where the
     * choice was read from a text that does not say. */
    const kiln_layout *layout;
    int n_layouts;
    bool is_searched; /* its layouts may be others than the greedy rule's: texts say */
    /* What it makes is brought back to row-major before anybody reads it, so that no two
     * calls share blocks. */
    bool is_alone;
} kiln_net_choice;

typedef struct kiln_net_step {
    kiln_net_step_kind kind;
    int kernel;    /* CALL, once LAID_OUT */
    int device;    /* whose queue does it, once ON_DEVICES; blocks: 0 */
    int partner;   /* blocks, waits: step that the plan's field names */
    int64_t count; /* LOOP */
    /* Slots: what is read, then what is written; none before LAID_OUT. VIEW and JOIN
     * read the inputs of their node (-1: a constant that is nowhere) and write its
     * results. */
    const int *operand;
    int n_operands, n_read;
    const kiln_value *const *value; /* with a group: of g, by operand */
    const int *takeable;
    int n_takeable;
    const char *name, *op;
    const kiln_group *group; /* NULL: a conversion, a copy, a block, a wait */
    const kiln_graph *g;     /* with a group: whose it is */
    const char *path;        /* and of which region */
    const kiln_node *node;   /* blocks: that they are of */
    const char *region;      /* IF, ELSE, LOOP: the node's attribute that they run */
    /* With a group: CHOSEN till LAID_OUT. NULL: nobody reads what the call makes; a
     * view, whose bytes are those of what it reads. */
    const kiln_net_choice *choice;
    int line; /* of the text that it was read from; 0: none */
} kiln_net_step;

typedef struct kiln_net_port {
    const char *name;
    const kiln_value *value;
    int slot;
} kiln_net_port;

/* What a chooser that searches expects, in nanoseconds of one run on one core. */
typedef struct kiln_net_forecast {
    double greedy_ns; /* as greedy would have it */
    double search_ns; /* what the search found */
    double chosen_ns; /* of both what was taken: greedy, where estimates gain little */
    int greedy_conversions;
    int n_sites, n_ways; /* steps whose layouts were looked at; ways to do them */
    int n_known;         /* of the steps those whose greedy way was measured */
    int n_changed;       /* done in another way than greedy would */
    bool is_least;       /* nothing that its model has is cheaper */
    KILN_VEC(const char *) change; /* each of these steps, for people */
} kiln_net_forecast;
/* For people: a line, and one for each of the first changes. n_conversions: of what was made in the end. */
void kiln_net_forecast_text(kiln_buf *out, const kiln_net_forecast *f,
                            int n_conversions);

/* A device has one queue, and one space for what flows. Device 0 is the host. */
typedef struct kiln_net_device {
    const char *kind; /* as the runtime has it: "host", "host2" */
    int64_t arena_bytes, lower_bound;
    uint64_t packed_bytes;
} kiln_net_device;

typedef struct kiln_net {
    kiln_arena *arena;
    unsigned facts; /* KILN_NET_FUSED and the rest */
    const kiln_graph *g;
    const kiln_profile *profile;
    const kiln_network_options *o;
    struct kiln_net_walk *walk; /* lay_out's own; NULL outside of it */
    KILN_VEC(kiln_network_kernel) kernel;
    KILN_VEC(kiln_net_slot) slot;
    KILN_VEC(kiln_net_step) step;
    /* One written slot each, in order of their devices and offsets: calls; copies to
     * other devices. */
    KILN_VEC(kiln_net_step) open;
    KILN_VEC(kiln_net_device) device;
    KILN_VEC(kiln_net_port) port; /* inputs, then outputs */
    uint32_t n_inputs, n_outputs;
    uint64_t param_bytes, packed_bytes; /* of all devices */
    uint64_t workspace_bytes;           /* the most that a kernel wants */
    uint64_t scratch_bytes;             /* of each thread */
    int64_t arena_bytes, lower_bound;   /* of activations, on all devices */
    int n_conversions, n_views, n_in_place;
    const kiln_net_forecast *forecast; /* CHOSEN; NULL: the chooser made none */
    /* CHOSEN, where a search took other layouts than greedy: all calls and joins, to be
     * made so again. */
    KILN_VEC(kiln_net_given) searched;
} kiln_net;

/* ---- passes ---------------------------------------------------------------------- */

typedef struct kiln_net_pass {
    const char *name; /* --print-after=NAME, log tag, folder in golden/ */
    const char *doc;
    unsigned needs, makes; /* facts */
    /* After a failure the executable graph is of no further use. */
    kiln_status (*run)(kiln_net *n, kiln_err *err);
} kiln_net_pass;

#define KILN_NET_PASS(name) extern const kiln_net_pass kiln_net_pass_##name;
#include "compiler/network/net_passes.def"
#undef KILN_NET_PASS

const kiln_net_pass *kiln_net_pass_at(int i); /* in order; NULL past the end */
const kiln_net_pass *kiln_net_pass_find(kiln_str name);

/* ---- choosers -------------------------------------------------------------------- */

/* Who chooses, layouts included: a row of net_choosers.def and a file chooser/<name>.c
 * each. It gets an executable graph that is FUSED (calls, views, joins, blocks of
 * regions), with its profile and whoever is asked (options.choose), and gives a choice
 * to each step that needs one. `lay_out` follows. */
typedef struct kiln_net_chooser {
    const char *name; /* --layouts=NAME */
    const char *doc;
    kiln_status (*choose)(struct kiln_net *n, kiln_err *err);
    bool
        is_for_study; /* a step of an experiment (kiln study): no package is built so */
} kiln_net_chooser;

#define KILN_NET_CHOOSER(name) extern const kiln_net_chooser kiln_net_chooser_##name;
#include "compiler/network/net_choosers.def"
#undef KILN_NET_CHOOSER

const kiln_net_chooser *kiln_net_chooser_at(int i); /* the usual one first; NULL: end */
const kiln_net_chooser *kiln_net_chooser_find(kiln_str name);

/* ---- asking ---------------------------------------------------------------------- */

/* Do its bytes belong to the model: a parameter, packed or not? */
bool kiln_net_is_param(const kiln_net *n, int slot);
/* The slot whose bytes a view's are; a slot that is none: itself. */
int kiln_net_root(const kiln_net *n, int slot);
/* The type of what a slot holds: the value's, or of what it is packed to, in its layout,
 * with its facts. */
kiln_type kiln_net_type_of(const kiln_net_slot *s);
/* What must hold of an executable graph with its facts; asked after each pass, in every
 * variant of kiln. KILN_ERR_BUG: names the step or tensor, and the line of its text
 * where it was read from one. */
kiln_status kiln_net_verify(const kiln_net *n, kiln_err *err);
/* A part of it: holds the steps against one another, once all places are known
 * (network_check.c). KILN_ERR_BUG: what one writes is not what another reads; both are named.
 */
kiln_status kiln_net_check(const kiln_net *n, kiln_err *err);

/* ---- text ------------------------------------------------------------------------ */

/* Text, in the form of docs/executable-text.md: one line for each tensor, kernel and
 * step, the same on every machine. */
void kiln_net_print(kiln_buf *out, const kiln_net *n);
/* What there is, in one line: "29 steps (28 call, 1 copy), 60 tensors, ...". */
void kiln_net_summary(kiln_buf *out, const kiln_net *n);
/* Reads what kiln_net_print wrote of an executable graph of `g`, which is borrowed, and
 * verifies it; it prints as the text does. Code, costs and spreads of kernels are not
 * in a text: nothing is packed of what was read. The text is untrusted. `out` needs no
 * initialization and lives in `a`. KILN_ERR_PARSE names the place, KILN_ERR_BUG what
 * does not hold and its line. */
kiln_status kiln_net_parse(kiln_arena *a, const kiln_graph *g, const kiln_profile *p,
                           kiln_str text, const char *name, kiln_net *out,
                           kiln_err *err);

/* ---- all of it ------------------------------------------------------------------- */

/* `g` has been through the passes and is borrowed, as are profile and options; `out`
 * needs no initialization and lives in `a`. o: NULL, or what is not as usual; its
 * `choose` holds the oracle. Failures name the group's first node. KILN_ERR_LIMIT: a
 * sequence that is too long; KILN_ERR_BUG: steps that contradict one another. */
kiln_status kiln_compile(kiln_arena *a, const kiln_graph *g, const kiln_profile *p,
                         const kiln_network_options *o, kiln_net *out, kiln_err *err);

#endif
