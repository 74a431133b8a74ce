/* The zoo: networks of published architectures with synthetic weights, written as ONNX.
 *
 * Speed, memory and correctness of compiled code do not ask what a network has learnt,
 * so these need no download and no licence: the weights come from a seed, scaled so
 * that activations stay of order one through the depth. One row per network in
 * networks.def, one file per family in network/.
 */
#ifndef KILN_ZOO_ZOO_H
#define KILN_ZOO_ZOO_H

#include "compiler/graph/graph.h"

typedef struct kiln_zoo_net kiln_zoo_net; /* a network being written: zoo_internal.h */

/* What publications say, to be compared with what the written graph has. */
typedef struct kiln_zoo_network {
    const char *name;
    const char *doc;    /* one line */
    const char *source; /* who published the architecture, and its numbers */
    int64_t n_params; /* trainable: no running statistics, no constants of operators */
    int64_t muladds;  /* of one inference at batch 1; normalisation not counted */
    /* The number of multiply-adds as its source prints it, and the unit of its last
     * digit: 1.81e9 and 0.01e9. 0: the source prints none, `muladds` follows from the
     * architecture. */
    double published_muladds, published_unit;
    void (*build)(kiln_zoo_net *net);
} kiln_zoo_network;

/* In the order of the rows; NULL past the last. */
const kiln_zoo_network *kiln_zoo_at(int index);
/* KILN_ERR_ARG lists the names. */
kiln_status kiln_zoo_find(const char *name, const kiln_zoo_network **out,
                          kiln_err *err);

/* Writes the model, whole or not at all; the same network and seed give the same bytes
 * on every machine. The weights are made in pieces and never lie in memory as a whole.
 */
kiln_status kiln_zoo_write(const kiln_zoo_network *network, uint64_t seed,
                           const char *path, kiln_err *err);

typedef enum kiln_zoo_weights {
    KILN_ZOO_FILLED,
    KILN_ZOO_OUTLINE /* all zero and never touched: for counting, costs no memory */
} kiln_zoo_weights;

/* The graph as kiln imports it from what kiln_zoo_write would write. */
kiln_status kiln_zoo_import(kiln_arena *a, const kiln_zoo_network *network,
                            uint64_t seed, kiln_zoo_weights weights, kiln_graph **out,
                            kiln_err *err);

/* Counted on an imported graph before any pass. */
typedef struct kiln_zoo_facts {
    int64_t n_params; /* as in kiln_zoo_network */
    int64_t muladds;
    int64_t constant_bytes; /* all that the graph uses */
} kiln_zoo_facts;
void kiln_zoo_count(kiln_arena *scratch, const kiln_graph *g, kiln_zoo_facts *out);

#endif
