/* The Graph: typed values and the nodes that make them, in topological order.
 *
 * This is the only header of compiler/graph that other folders include. The parts:
 *   type.h   dtypes, layouts, places, types, tensors
 *   ir.h     values, nodes, attributes, graphs; building, printing, parsing, verifying
 *   op.h     the operator table: one row per operator
 */
#ifndef KILN_COMPILER_GRAPH_GRAPH_H
#define KILN_COMPILER_GRAPH_GRAPH_H

#include "base/base.h"

#include "compiler/graph/type.h"

#include "compiler/graph/ir.h"

#include "compiler/graph/op.h"

#endif
