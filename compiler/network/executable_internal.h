/* Shared inside compiler/network: how an executable graph is made. */
#ifndef KILN_COMPILER_NETWORK_EXECUTABLE_INTERNAL_H
#define KILN_COMPILER_NETWORK_EXECUTABLE_INTERNAL_H

#include "compiler/network/executable.h"
#include "base/numbers.h"

/* ---- tensors and steps ----------------------------------------------------------- */

/* Its path, where it has none: that of the region that is being laid out. */
int kiln_net_add_slot(kiln_net *n, const kiln_net_slot *slot);
/* What the value takes in that layout. */
int64_t kiln_net_bytes_as(const kiln_value *v, const kiln_layout *layout);
/* One operand read, one written. */
void kiln_net_add_copy(kiln_net *n, kiln_net_step_kind kind, int from, int to,
                       const char *name);
/* The view or join that `fused` was, of the node's values as they were made; in: NULL,
 * or other slots of the node's inputs. */
void kiln_net_add_shared(kiln_net *n, kiln_net_step_kind kind,
                         const kiln_net_step *fused, const int *in);
/* Do bytes of one mean the same elements in the same places of the other? */
bool kiln_net_same_bytes(const kiln_type *x, const kiln_type *y);
/* Gives steps to devices (network_place.c). NULL: to the host. */
kiln_status kiln_net_place_steps(kiln_net *n, const struct kiln_placement *o,
                                 kiln_err *err);
/* Steps by which queues wait for one another, once all places are known (waits.c). */
void kiln_net_add_waits(kiln_net *n);
/* Are these enough? KILN_ERR_BUG names two steps in no order (check_order.c). */
kiln_status kiln_net_check_order(const kiln_net *n, kiln_err *err);
/* Begins and ends of loops, in order of their ends. */
void kiln_net_loops(const kiln_net *n, kiln_flow *out);
/* The number of the step behind this one, and behind the block that it may begin. */
size_t kiln_net_step_behind(const kiln_net_step *step, size_t at);

extern const char *const kiln_net_kind_words[KILN_NET_N_KINDS];
extern const char *const kiln_net_place_words[KILN_NET_N_PLACES];

/* ---- fuse ------------------------------------------------------------------------ */

/* The group's step: a call, or what may be a view or a join. Borrows group and path. */
kiln_net_step kiln_net_step_of(kiln_arena *a, const kiln_graph *g, const char *path,
                               const kiln_group *group);

/* ---- choices and schedules ------------------------------------------------------- */

/* A part of the network, and how it is done. */
typedef struct kiln_net_work {
    kiln_op_work op;
    kiln_choice choice;
} kiln_net_work;

/* A schedule that waits for its code, with all that it is made of. */
typedef struct kiln_net_making {
    kiln_arena arena; /* owned */
    kiln_scheduled scheduled;
    const char *of; /* the first step that calls it */
} kiln_net_making;

extern const kiln_choose_options kiln_net_by_rule;
/* What the caller of kiln_compile said, or by_rule. */
const kiln_choose_options *kiln_net_choose_options(const kiln_net *n);
/* What kernels of that template are made for: the network's profile, or its device's. */
const kiln_profile *kiln_net_profile_of(const kiln_net *n, const kiln_template *t);
/* How the part is done: asked of whoever knows, or as `choose` found it. In the walk's
 * scratch. */
kiln_status kiln_net_choose(kiln_net *n, kiln_graph *part,
                            const kiln_choose_options *how, kiln_net_work *w,
                            kiln_err *err);
/* The same by the rule of the host's templates. */
kiln_status kiln_net_choose_for_host(kiln_net *n, kiln_graph *part, kiln_net_work *w,
                                     kiln_err *err);
kiln_status kiln_net_chosen(kiln_net *n, kiln_graph *part, const kiln_net_choice *c,
                            kiln_net_work *w, kiln_err *err);
/* Schedules the work, in the walk's scratch, and finds its kernel or adds it. of: the
 * step that calls it. */
kiln_status kiln_net_make_kernel(kiln_net *n, kiln_net_work *w, const char *of,
                                 kiln_scheduled *s, int *kernel, kiln_err *err);
/* Its schedule is not wanted any more. */
void kiln_net_made(kiln_network_kernel *k);

/* Choices of steps that were kept (options.given); the rest by the greedy rule.
 * KILN_ERR_PARSE: they are none of this network. */
kiln_status kiln_net_choose_given(kiln_net *n, kiln_err *err);
/* What is to be kept of the choices that the steps have. */
void kiln_net_keep_choices(kiln_net *n);

/* ---- rehearsals ------------------------------------------------------------------ */

/* What lay_out would make. */
typedef struct kiln_net_rehearsal {
    kiln_arena arena; /* owned */
    kiln_net net; /* LAID_OUT, without schedules to make code of; calls keep choices */
    const kiln_net_choice **choice; /* by step of what it was made of; in its arena */
} kiln_net_rehearsal;
/* Of an executable graph that is FUSED. given: by its steps, what is chosen already; the
 * rest is decided by the greedy rule as the steps come. NULL: nothing is. Failures
 * leave nothing to release. */
kiln_status kiln_net_rehearse(kiln_net *n, const kiln_net_choice *const *given,
                              kiln_net_rehearsal *out, kiln_err *err);
void kiln_net_rehearsed(kiln_net_rehearsal *r);

/* ---- lay_out --------------------------------------------------------------------- */

/* Where lay_out is. */
typedef struct kiln_net_walk {
    kiln_arena scratch;         /* of one step */
    const kiln_graph *g;        /* the whole, or a region of it */
    const char *path;           /* of the region, before names: "If_0.then_branch/" */
    int *slot_of;               /* by value id of g: as it was made; -1: not yet */
    const kiln_net_step *fused; /* all steps, as they came */
    kiln_numbers kernel_of;     /* key -> index + 1 */
    /* How each step is done, by its number among those that came. Where nothing is
     * there a rehearsal decides by the rule, and notes it, in memory of `notes`. */
    const kiln_net_choice **choice;
    kiln_arena *notes; /* NULL: this is no rehearsal */
} kiln_net_walk;

/* The steps of a graph, the whole or a region. */
typedef struct kiln_net_part {
    const kiln_graph *g;
    const char *path;
    size_t begin, end; /* among those that came */
} kiln_net_part;

/* All that lay_out does. choice, notes: as the walk has them. */
kiln_status kiln_net_lay_out(kiln_net *n, const kiln_net_choice **choice,
                             kiln_arena *notes, kiln_err *err);
/* The steps of a graph in its place among the steps. in: slots of its inputs, as they
 * were made. out: those of its outputs, in these layouts; NULL: as they were made,
 * constants row-major. */
kiln_status kiln_net_add_graph(kiln_net *n, const kiln_net_part *part, const int *in,
                               const kiln_layout *layout, int *out, kiln_err *err);
/* The steps of an operator that runs regions, from its first one at `at`. */
kiln_status kiln_net_add_control(kiln_net *n, size_t at, kiln_err *err);
/* The value's slot with the wanted layout, and zeros in its tail lanes where they are
 * wanted: as it was made, packed (constants: by the packing, or moved alone), or
 * converted. */
kiln_status kiln_net_slot_like(kiln_net *n, const kiln_value *v,
                               const kiln_op_def *packing, const kiln_type *wanted,
                               int *slot, kiln_err *err);
/* The same whatever its tail lanes hold. */
kiln_status kiln_net_slot_as(kiln_net *n, const kiln_value *v,
                             const kiln_layout *layout, int *slot, kiln_err *err);
/* A group as a graph of its own, and by its value ids the values that these are. */
typedef struct kiln_net_group_part {
    const kiln_group *group;
    kiln_graph *graph;
    const kiln_value **from;
} kiln_net_group_part;
/* Only for those who run the network. */
bool kiln_net_leaves(const kiln_graph *g, const kiln_value *v);
/* Layouts of what the part's nodes make, of how its inputs lie by their types. */
void kiln_net_go_through(const kiln_graph *part);
/* Types of a group's values, as a template takes them: inputs as they were made,
 * results as network_layout.c says. */
void kiln_net_give_layouts(const kiln_net *n, const kiln_net_group_part *part,
                           kiln_takes takes);
/* The same as they were chosen. */
void kiln_net_take_layouts(const kiln_net *n, const kiln_net_group_part *part,
                           const kiln_net_choice *c);
/* How a group is done, with the layouts of its activations as it was scheduled so. */
kiln_net_choice *kiln_net_choice_of(kiln_arena *a, const kiln_graph *part,
                                    const kiln_choice *c, const kiln_scheduled *s);
/* KILN_ERR_BUG: it was scheduled in other layouts than it was chosen in. */
kiln_status kiln_net_check_layouts(const kiln_net *n, const kiln_graph *part,
                                   const kiln_scheduled *s, const kiln_net_choice *c,
                                   kiln_err *err);
/* Does each element of that shape lie in one place in both layouts, and nothing else
 * beside them? */
bool kiln_net_same_places(const kiln_type *shape, const kiln_layout *a,
                          const kiln_layout *b);

/* ---- parts of tensors ------------------------------------------------------------ */

enum { KILN_NET_MAX_PARTS = 64 };

/* A slice or a split whose parts are read where they lie; false: not this step's. */
bool kiln_net_add_slices(kiln_net *n, const kiln_net_step *fused);
/* A pad whose zeros are tail lanes of what it pads; false: not this step's. */
bool kiln_net_add_tail(kiln_net *n, const kiln_net_step *fused);
/* A concat whose parts are made where they belong, for the most part. */
kiln_status kiln_net_add_concat(kiln_net *n, size_t at, bool *done, kiln_err *err);
/* Where the results of a slice or a split begin in its input, which has that layout, in
 * bytes; and the inputs of a concat in its result. At most KILN_NET_MAX_PARTS of them.
 * false: not each is one run of memory. */
bool kiln_net_slice_places(const kiln_node *node, const kiln_layout *layout,
                           int64_t *offset);
bool kiln_net_part_places(const kiln_node *node, const kiln_layout *layout,
                          int64_t *offset);

#endif
