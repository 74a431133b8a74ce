/* Shared inside compiler/graph: pieces of the text form and of checking that several
 * files need. */
#ifndef KILN_COMPILER_GRAPH_GRAPH_INTERNAL_H
#define KILN_COMPILER_GRAPH_GRAPH_INTERNAL_H

#include "compiler/graph/graph.h"

/* Appends a type as graph text. */
void kiln_type_print(kiln_buf *out, const kiln_type *t);

/* Values of all attributes of a row (in the arena): defaults, then args over them.
 * KILN_ERR_ARG names an attribute that does not exist, comes twice, has another kind,
 * is missing or out of its choices. */
kiln_status kiln_attrs_make(kiln_arena *a, const kiln_op_def *op,
                            const kiln_attr_arg *args, size_t n_args, kiln_attr **out,
                            kiln_err *err);
/* Whether one attribute's value is one that its row allows; KILN_ERR_ARG says why not.
 */
kiln_status kiln_attr_check(const kiln_attr_def *def, const kiln_attr *value,
                            kiln_err *err);
/* Index of a choice by spelling; -1 when there is none. */
int64_t kiln_attr_choice(const kiln_attr_def *def, kiln_str word);
/* "int", "bool", ... for messages. */
const char *kiln_attr_kind_name(kiln_attr_kind kind);

/* Input and output counts, and presence of required inputs, against the row;
 * KILN_ERR_ARG. */
kiln_status kiln_node_check_counts(const kiln_op_def *op, kiln_value *const *in,
                                   int n_in, int n_out, kiln_err *err);
/* Types of all outputs (out: n->n_out entries), checked; the message names node and
 * operator. */
kiln_status kiln_node_infer_types(const kiln_node *n, kiln_type *out, kiln_err *err);

/* Whether g->nodes lists n at n->index. */
bool kiln_node_is_listed(const kiln_graph *g, const kiln_node *n);

/* Bytes that a value's name may have without quotes in graph text: letters, digits and
 * _ . / - */
bool kiln_text_is_bare(char c);

/* A NaN without payload prints as `nan`, any other as `nan:0x...` with the element's
 * bits. */
uint64_t kiln_text_plain_nan(kiln_dtype dtype);

#endif
