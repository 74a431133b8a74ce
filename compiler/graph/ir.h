/* Values, nodes, attributes, graphs. Everything lives in the graph's arena. */
#ifndef KILN_COMPILER_GRAPH_IR_H
#define KILN_COMPILER_GRAPH_IR_H

#include "compiler/graph/type.h"
#include "base/numbers.h"

enum { KILN_MAX_REGION_DEPTH = 32 }; /* graphs inside graphs, the outermost included */

/* Facts about a graph that passes need, make and keep. "Must run after X" is a fact. */
enum {
    KILN_TYPED = 1u << 0, /* every value has a checked type: the builder's work */
    KILN_SHAPES_FOLDED = 1u << 1, /* no node computes a shape */
    KILN_CONSTS_FOLDED =
        1u << 2, /* no node has only constant inputs (but for those past the limit) */
    KILN_INFERENCE_ONLY =
        1u << 3, /* no batch norm behind a convolution, no dropout, no identity */
    KILN_NO_DEAD_CODE = 1u << 4,
    KILN_NO_DUPLICATES = 1u << 5,
};

/* Names of KILN_TYPED and the rest, by bit; NULL where no fact has that bit. */
enum { KILN_N_GRAPH_FACTS = 32 };
extern const char *const kiln_graph_fact_names[KILN_N_GRAPH_FACTS];

typedef struct kiln_value kiln_value;
typedef struct kiln_node kiln_node;
typedef struct kiln_graph kiln_graph;
typedef struct kiln_op_def kiln_op_def;

/* One SSA value: a graph input, a constant, or one output of a node. */
struct kiln_value {
    int id;           /* index in graph->values: for side tables */
    const char *name; /* unique in its graph; any bytes a frontend accepted */
    kiln_type type;
    kiln_node *def;   /* who makes it; NULL for inputs and constants */
    int def_index;    /* which of def's outputs */
    const void *data; /* constants: kiln_type_bytes bytes, in the arena or a mapped
                         file; else NULL */
    /* A bounded value: type holds the largest shape, and axis `bounded_axis` has only
     * the first `count` elements (a scalar i64 value). NULL: not bounded. Made by
     * operators such as NMS. */
    kiln_value *count;
    int bounded_axis;
    /* Memo of kiln_ref_constant: the bytes that a node's output must have, as it
     * depends on constants only; NULL: not asked for yet. With known_by_given they also
     * depend on values that the asker supplied for graph inputs, and say nothing to
     * others. Never copied or printed. */
    const void *known;
    bool known_by_given;
};

/* Attributes are positional: node->attr[i] belongs to node->op->attr[i], so that an
 * operator's file names them by an enum and every attribute has a value. */
typedef enum kiln_attr_kind {
    KILN_ATTR_INT,
    KILN_ATTR_BOOL, /* in .i */
    KILN_ATTR_FLOAT,
    KILN_ATTR_WORD,  /* one of the row's choices; .i is the index of the word */
    KILN_ATTR_DTYPE, /* in .i */
    KILN_ATTR_INTS,
    KILN_ATTR_FLOATS,
    KILN_ATTR_WORDS, /* list of choices, as indexes in .ints */
    KILN_ATTR_GRAPH  /* a region: closed; captured values are inputs of the node and the
                        region */
} kiln_attr_kind;

typedef struct kiln_attr {
    int64_t i;
    double f;
    size_t n; /* of ints or floats */
    const int64_t *ints;
    const double *floats;
    kiln_graph *graph;
} kiln_attr;

struct kiln_node {
    const kiln_op_def *op;
    const char *name; /* unique in its graph */
    kiln_value **in;  /* n_in entries; NULL is an absent optional input */
    int n_in;         /* >= op->n_in_min; trailing absent inputs are dropped */
    kiln_value **out; /* n_out values, all present */
    int n_out;
    kiln_attr *attr;   /* op->n_attr entries */
    kiln_graph *graph; /* back link */
    int index;         /* in graph->nodes; valid after kiln_graph_renumber */
};

struct kiln_graph {
    kiln_arena *arena; /* borrowed; owns everything reachable from here */
    const char *name;
    KILN_VEC(kiln_value *) values; /* all ever made, by id; may hold dead ones */
    KILN_VEC(kiln_value *) inputs;
    KILN_VEC(kiln_value *)
    outputs; /* a value may be listed twice, or be an input or constant */
    KILN_VEC(const char *)
    output_names;                /* as the model spells them; parallel to outputs */
    KILN_VEC(kiln_node *) nodes; /* topological order */
    /* name -> kiln_value / kiln_node; what a pass dropped stays listed, so a name is
     * never reused */
    kiln_map value_names, node_names;
    kiln_numbers value_suffix,
        node_suffix; /* wanted name -> next suffix to try: keeps fresh names O(1) */
    unsigned facts;  /* what passes established: KILN_TYPED, ... (pass.h) */
};

/* ---- building -------------------------------------------------------------------- */

kiln_graph *kiln_graph_new(kiln_arena *a, const char *name);

/* A name that no value (node) of the graph has: `want` itself or `want`.1, .2, ... */
const char *kiln_graph_fresh_value_name(kiln_graph *g, const char *want);
const char *kiln_graph_fresh_node_name(kiln_graph *g, const char *want);

/* `name` is made fresh (NULL or empty: "value"); `t` has passed kiln_type_check. */
kiln_value *kiln_graph_add_input(kiln_graph *g, const char *name, const kiln_type *t);
/* `data` is borrowed: it must live as long as the graph's arena. */
kiln_value *kiln_graph_add_const(kiln_graph *g, const char *name, const kiln_type *t,
                                 const void *data);
/* Copies into the arena. */
kiln_value *kiln_graph_const_i64(kiln_graph *g, const char *name,
                                 int64_t v); /* scalar */
kiln_value *kiln_graph_const_i64s(kiln_graph *g, const char *name, const int64_t *v,
                                  int64_t n); /* 1-D */
/* Scalar of any dtype, rounded to it. */
kiln_value *kiln_graph_const_scalar(kiln_graph *g, const char *name, kiln_dtype dtype,
                                    double v);
void kiln_graph_add_output(kiln_graph *g, kiln_value *v, const char *name);

/* One attribute given by name, for building a node. Those not given take the row's
 * default. */
typedef struct kiln_attr_arg {
    const char *name;
    kiln_attr_kind kind;
    kiln_attr value;
    const char *word; /* KILN_ATTR_WORD, by spelling; NULL: by index, in value.i */
    const char *const
        *words; /* KILN_ATTR_WORDS: value.n spellings; NULL: by index, in value.ints */
} kiln_attr_arg;

kiln_attr_arg kiln_arg_int(const char *name, int64_t v);
kiln_attr_arg kiln_arg_bool(const char *name, bool v);
kiln_attr_arg kiln_arg_float(const char *name, double v);
kiln_attr_arg kiln_arg_word(const char *name, const char *word);
kiln_attr_arg kiln_arg_words(const char *name, const char *const *words, size_t n);
kiln_attr_arg kiln_arg_dtype(const char *name, kiln_dtype v);
/* Lists are borrowed until kiln_graph_add_node has copied them. */
kiln_attr_arg kiln_arg_ints(const char *name, const int64_t *v, size_t n);
kiln_attr_arg kiln_arg_floats(const char *name, const double *v, size_t n);
kiln_attr_arg kiln_arg_graph(const char *name, kiln_graph *region);

typedef struct kiln_node_spec {
    const kiln_op_def *op;
    const char *name;      /* made fresh; NULL: the operator's name */
    kiln_value *const *in; /* NULL entries are absent */
    int n_in;
    int n_out;                    /* 0: the row's smallest number */
    const char *const *out_names; /* made fresh; NULL: from the node's name */
    const kiln_attr_arg *args;
    size_t n_args;
} kiln_node_spec;

/* Checks counts, attribute names and kinds, infers the output types and appends the
 * node. Refuses with KILN_ERR_ARG (counts, attributes) or what the operator's infer
 * says, naming the node. */
kiln_status kiln_graph_add_node(kiln_graph *g, const kiln_node_spec *spec,
                                kiln_node **out, kiln_err *err);

/* Infers types of one node again (inputs or attributes changed). */
kiln_status kiln_node_infer(kiln_node *n, kiln_err *err);

/* ---- rewriting ------------------------------------------------------------------- */

/* Every use of `from` (inputs of nodes, outputs of the graph) becomes a use of `to`. */
void kiln_graph_replace_uses(kiln_graph *g, kiln_value *from, kiln_value *to);
/* Number of uses by value id, n = g->values.n entries in the arena given: as input of a
 * node, as output of the graph, as count of a bounded value. */
int *kiln_graph_count_uses(const kiln_graph *g, kiln_arena *a);
/* Drops nodes marked by keep[index] == false, and renumbers. */
void kiln_graph_keep_nodes(kiln_graph *g, const bool *keep);
/* Moves nodes added behind their users into topological order (stable), and renumbers.
 * KILN_ERR_PARSE names the nodes of a cycle. */
kiln_status kiln_graph_sort(kiln_graph *g, kiln_err *err);
void kiln_graph_renumber(kiln_graph *g);
bool kiln_value_is_const(const kiln_value *v);
/* A deep copy (regions too) into another arena; constant data is shared. */
kiln_graph *kiln_graph_clone(kiln_arena *a, const kiln_graph *g);

/* Positional attribute access for those who know a name but not the row's enum
 * (frontends, tests); asserts that the operator has it. */
const kiln_attr *kiln_node_attr(const kiln_node *n, const char *name);
/* The same, to be set in its place: by passes that keep the node, which users know by
 * its name. */
kiln_attr *kiln_node_own_attr(kiln_node *n, const char *name);

/* ---- text ------------------------------------------------------------------------ */

typedef struct kiln_print_options {
    bool elide_data; /* constants of more than elide_above elements print as {...}: for
                        people; such text is refused by the parser */
    int64_t elide_above;
    /* Constants of more than four elements that are those of random(1), random(2), ...
     * random(this) print so. */
    uint64_t n_random;
} kiln_print_options;

/* Complete and stable: print(parse(print(g))) == print(g). Grammar: docs/graph-text.md.
 */
void kiln_graph_print(kiln_buf *out, const kiln_graph *g, const kiln_print_options *o);
kiln_status kiln_graph_parse(kiln_arena *a, kiln_str text, const char *file,
                             kiln_graph **out, kiln_err *err);

/* ---- verifier -------------------------------------------------------------------- */

/* Reports every broken node by name (as many as fit the message): order, def links,
 * counts, attribute values, types equal to what infer says, names unique, regions
 * closed and matching. */
kiln_status kiln_graph_verify(const kiln_graph *g, kiln_err *err);

#endif
