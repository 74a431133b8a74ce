/* Shared inside pipeline/network. */
#ifndef KILN_PIPELINE_NETWORK_INTERNAL_H
#define KILN_PIPELINE_NETWORK_INTERNAL_H

#include "pipeline/network/network.h"

/* A tensor of the plan in the making. */
typedef struct kiln_net_slot {
    kiln_plan_place place;
    uint32_t index;  /* INPUT, OUTPUT */
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
    kiln_plan_step_kind kind;
    int kernel;         /* CALL */
    int partner;        /* blocks: step that the plan's field names */
    int64_t count;      /* LOOP */
    const int *operand; /* slots: what is read, then what is written */
    int n_operands, n_read;
    const kiln_value *const *value; /* with a group: of g, by operand */
    const int *takeable;
    int n_takeable;
    const char *name, *op;
    const kiln_group *group; /* NULL: a conversion, a copy, a choice */
    const kiln_graph *g;     /* with a group: whose it is */
    const char *path;        /* and of which region */
} kiln_net_step;

typedef struct kiln_net_port {
    const char *name;
    const kiln_value *value;
    int slot;
} kiln_net_port;

typedef struct kiln_net {
    kiln_arena *arena;
    kiln_arena scratch;  /* of one kernel */
    const kiln_graph *g; /* whose nodes are added: the whole, or a region of it */
    const char *path;    /* of the region, before names: "If_0.then_branch/" */
    const kiln_profile *profile;
    const kiln_network_options *o;
    kiln_network *out;
    int *slot_of; /* by value id of g: as it was made; -1: not yet */
    KILN_VEC(kiln_net_slot) slot;
    KILN_VEC(kiln_net_step) step;
    KILN_VEC(kiln_net_step) open; /* one written slot each, in order of their offsets */
    KILN_VEC(kiln_net_port) port; /* inputs, then outputs */
    uint32_t n_inputs, n_outputs;
    kiln_map kernel_of; /* key -> index + 1 */
    uint64_t param_bytes, packed_bytes;
    uint64_t workspace_bytes, scratch_bytes;
} kiln_net;

/* The steps of a graph, the whole or a region, in its place among the steps. in: slots
 * of its inputs, as they were made. out: those of its outputs, in these layouts; NULL:
 * as they were made, constants row-major. */
kiln_status kiln_net_add_graph(kiln_net *n, const kiln_graph *g, const char *path,
                               const int *in, const kiln_layout *layout, int *out,
                               kiln_err *err);
/* Is it an operator that runs regions? */
bool kiln_net_is_control(const kiln_node *node);
/* The steps of such a node: its regions' between those that choose and repeat. */
kiln_status kiln_net_add_control(kiln_net *n, const kiln_node *node, kiln_err *err);
/* Begins and ends of loops, in order of their ends. */
void kiln_net_loops(const kiln_net *n, kiln_flow *out);

/* A step that runs `part`, whose values are from[] (by id in part) of the whole. */
kiln_status kiln_net_add_group(kiln_net *n, const kiln_group *group, kiln_err *err);
/* The value's slot with the wanted layout, and zeros in its tail lanes where they are
 * wanted: as it was made, packed (constants), or converted. */
kiln_status kiln_net_slot_like(kiln_net *n, const kiln_value *v,
                               const kiln_type *wanted, int *slot, kiln_err *err);
/* The same whatever its tail lanes hold. */
kiln_status kiln_net_slot_as(kiln_net *n, const kiln_value *v,
                             const kiln_layout *layout, int *slot, kiln_err *err);
/* One operand read, one written. */
void kiln_net_add_copy(kiln_net *n, kiln_plan_step_kind kind, int from, int to,
                       const char *name);
/* Types of a group's values, as a template takes them: inputs as they were made,
 * results as layout.c says. */
void kiln_net_give_layouts(const kiln_net *n, const kiln_group *group, kiln_graph *part,
                           const kiln_value *const *from, kiln_takes takes);
/* Does each element of that shape lie in one place in both layouts, and nothing else
 * beside them? */
bool kiln_net_same_places(const kiln_type *shape, const kiln_layout *a,
                          const kiln_layout *b);
/* A slice or a split whose parts are read where they lie; false: not this node's. */
bool kiln_net_add_slices(kiln_net *n, const kiln_node *node);
/* A pad whose zeros are tail lanes of what it pads; false: not this node's. */
bool kiln_net_add_tail(kiln_net *n, const kiln_node *node);
/* A concat whose parts are made where they belong, for the most part. */
kiln_status kiln_net_add_concat(kiln_net *n, const kiln_node *node, bool *done,
                                kiln_err *err);
enum { KILN_NET_MAX_PARTS = 64 };
/* Do its bytes belong to the model: a parameter, packed or not? */
bool kiln_net_is_param(const kiln_net *n, int slot);
/* The slot whose bytes a view's are; a slot that is none: itself. */
int kiln_net_root(const kiln_net *n, int slot);
int kiln_net_add_slot(kiln_net *n, const kiln_net_slot *slot);
/* Says of a slot what it means: result `out` of the node, of the values as they were
 * made; in: NULL, or other slots of the node's inputs. */
void kiln_net_means(kiln_net *n, int slot, const kiln_node *node, int out,
                    const int *in);
/* The type of what a slot holds: the value's, in its layout, with its facts. */
kiln_type kiln_net_type_of(const kiln_net_slot *s);
/* Holds the steps against one another, once all places are known (check.c).
 * KILN_ERR_BUG: what one writes is not what another reads; both are named. */
kiln_status kiln_net_check(const kiln_net *n, kiln_err *err);
/* plan.bin and the parameters' bytes, once all places are known. */
void kiln_net_write(kiln_net *n);

#endif
