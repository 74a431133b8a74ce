/* TensorFlow graphs out of text, for tests of their import. One node to a line:
 *
 *     NAME OPERATOR INPUT... KEY=VALUE...
 *
 * and a value by its first letter: i5 (int), f0.5 (float), btrue or bfalse, sSAME
 * (string), t1 (DataType), l1,2,2,1 (list of ints), S-1,3 (shape; S alone: a scalar),
 * F2,2:1;2;3;4 (tensor of floats in typed fields), I2:1;2 (int32), L2:1;2 (int64),
 * C2:1;2 (floats as raw bytes), Z2 (zeros as raw bytes), Nname (function). Nothing is checked: tests write broken
 * graphs. */
#ifndef KILN_TESTS_SUPPORT_MODEL_TF_WRITER_H
#define KILN_TESTS_SUPPORT_MODEL_TF_WRITER_H

#include "base/base.h"

/* A NodeDef for each line, as fields `number` of the message that b is. */
void kiln_tf_put_nodes(kiln_arena *a, kiln_buf *b, uint32_t number, const char *text);
/* A GraphDef of these nodes. */
kiln_str kiln_tf_graph_of(kiln_arena *a, const char *text);

/* A function for a library: lists of names are separated by spaces, results are
 * "output=node:output:0". */
typedef struct kiln_tf_test_function {
    const char *name, *in, *out, *results, *nodes;
} kiln_tf_test_function;
/* A GraphDef with functions. */
kiln_str kiln_tf_library_of(kiln_arena *a, const char *text,
                            const kiln_tf_test_function *f, size_t n);
/* A SavedModel of a GraphDef with the signature serving_default: "x=in:0 z=other:0",
 * "y=call:0". */
kiln_str kiln_tf_saved_of(kiln_arena *a, kiln_str graph, const char *inputs,
                          const char *outputs);
/* The same with signatures of any names. */
typedef struct kiln_tf_test_signature {
    const char *name, *inputs, *outputs;
} kiln_tf_test_signature;
kiln_str kiln_tf_saved_by(kiln_arena *a, kiln_str graph,
                          const kiln_tf_test_signature *s, size_t n);
/* A variable of floats, and the table of variables with its one shard. `full`: its name
 * among the objects; NULL: its key is its name. Keys in order of bytes. */
typedef struct kiln_tf_test_variable {
    const char *key, *full, *shape;
    size_t n;
    float v[8];
    const float *many; /* where they are more than 8; NULL: v */
} kiln_tf_test_variable;
void kiln_tf_bundle_of(kiln_arena *a, const kiln_tf_test_variable *v, size_t n,
                       kiln_str *index, kiln_str *data);

#endif
