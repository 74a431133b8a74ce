/* Layers of networks that read sequences: values [1,tokens,units], as the names of what
 * nodes make. As in zoo_internal.h a node, its output and its weights share `name`.
 * Attention is written as exporters of training frameworks do: products, transposes, a
 * softmax. */
#ifndef KILN_ZOO_SEQUENCE_H
#define KILN_ZOO_SEQUENCE_H

#include "zoo/zoo_internal.h"

typedef struct kiln_zoo_sequence {
    int64_t n_tokens; /* of what attends; what it attends to may be longer */
    int64_t units, n_heads;
    double epsilon; /* of layer normalisation */
} kiln_zoo_sequence;

/* A node of as many inputs as it takes; the caller adds its attributes. */
const char *kiln_zoo_net_put(kiln_zoo_net *net, const char *op, const char *inputs,
                             const char *name);
const char *kiln_zoo_net_transpose(kiln_zoo_net *net, const char *x,
                                   const int64_t *perm, size_t rank, const char *name);
/* Constants: a list of integers, [n]; the integer 0 as a scalar, which picks a first
 * element; a scalar of float. */
void kiln_zoo_net_put_i64s(kiln_zoo_net *net, const char *name, const int64_t *v,
                           size_t n);
void kiln_zoo_net_put_first(kiln_zoo_net *net, const char *name);
void kiln_zoo_net_put_scalar(kiln_zoo_net *net, const char *name, double v);
/* What the layers below read: "root_of_head", "heads" and "units". */
void kiln_zoo_net_put_attention(kiln_zoo_net *net, const kiln_zoo_sequence *s);
/* What kiln_zoo_net_gelu reads: "one", "half", "root_of_two". */
void kiln_zoo_net_put_gelu(kiln_zoo_net *net);

/* x * weight + bias: the last dimension, n_in, becomes n_out. */
const char *kiln_zoo_net_dense(kiln_zoo_net *net, const char *x, const char *name,
                               int64_t n_in, int64_t n_out);
/* Without the bias. */
const char *kiln_zoo_net_product(kiln_zoo_net *net, const char *x, const char *name,
                                 int64_t n_in, int64_t n_out);
const char *kiln_zoo_net_layer_norm(kiln_zoo_net *net, const char *x, const char *name,
                                    int64_t units, double epsilon);
/* x / 2 * (1 + erf(x / sqrt 2)), in the nodes that exporters write. */
const char *kiln_zoo_net_gelu(kiln_zoo_net *net, const char *x, const char *name);

/* [1,tokens,units] to [1,heads,tokens,head], or, for keys, [1,heads,head,tokens]. */
const char *kiln_zoo_net_split_heads(kiln_zoo_net *net, const char *x, const char *name,
                                     bool is_key);
/* softmax(q k / root of head) v and the heads side by side again: [1,tokens,units]. */
const char *kiln_zoo_net_attend(kiln_zoo_net *net, const char *q, const char *k,
                                const char *v, const char *name);
/* One product makes queries, keys and values, as three values [1,tokens,units]. */
void kiln_zoo_net_query_key_value(kiln_zoo_net *net, const char *x,
                                  const kiln_zoo_sequence *s, const char *name,
                                  const char *out[3]);
/* x + y, of one shape or broadcast. */
const char *kiln_zoo_net_sum(kiln_zoo_net *net, const char *x, const char *y,
                             const char *name);

#endif
