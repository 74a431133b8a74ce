/* Groups: which nodes of a graph become one kernel, as a build makes them. */
#ifndef KILN_COMPILER_NETWORK_GROUPS_H
#define KILN_COMPILER_NETWORK_GROUPS_H

#include "compiler/graph/graph_fusion.h"

/* Every tensor of a network begins at a multiple of so many bytes. */
enum { KILN_NETWORK_ALIGN = 64 };

/* A concat of whole runs of memory: its parts can be made in their places, so that
 * there is nothing to do for a kernel, whatever their layouts. Fusion leaves it alone.
 */
bool kiln_network_can_join(const kiln_node *node);

/* The fusion of a build, of this graph without its regions. is_off: every node alone.
 */
void kiln_network_fuse(kiln_arena *a, const kiln_graph *g, bool is_off,
                       kiln_fusion *out);

/* Calls `visit` for each group of the graph and of the regions inside, those of a
 * region ahead of its node's. runs: how often in one run of the whole. The group ends
 * with the call. An interrupt ends it, as does a failure. */
typedef kiln_status kiln_group_visit_fn(void *user, const kiln_graph *g,
                                        const kiln_group *group, double runs,
                                        kiln_err *err);
kiln_status kiln_network_each_group(const kiln_graph *g, kiln_group_visit_fn *visit,
                                    void *user, kiln_err *err);

#endif
