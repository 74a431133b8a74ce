/* Shared inside compiler/network: how an executable graph is made. */
#ifndef KILN_COMPILER_NETWORK_EXECUTABLE_INTERNAL_H
#define KILN_COMPILER_NETWORK_EXECUTABLE_INTERNAL_H

#include "compiler/network/executable.h"

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
/* Gives steps to devices, before memory is planned (place.c). NULL: to the host. */
kiln_status kiln_net_place_steps(kiln_net *n, const struct kiln_placement *o,
                                 kiln_err *err);
/* Steps by which queues wait for one another, once all places are known (waits.c). */
void kiln_net_add_waits(kiln_net *n);
/* Are these enough? KILN_ERR_BUG names two steps in no order (check_order.c). */
kiln_status kiln_net_check_order(const kiln_net *n, kiln_err *err);
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
void kiln_net_add_copy(kiln_net *n, kiln_net_step_kind kind, int from, int to,
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
int kiln_net_add_slot(kiln_net *n, const kiln_net_slot *slot);
/* Says of a slot what it means: result `out` of the node, of the values as they were
 * made; in: NULL, or other slots of the node's inputs. */
void kiln_net_means(kiln_net *n, int slot, const kiln_node *node, int out,
                    const int *in);

#endif
