/* What templates share that keep values of rank 3 and more with their channels in
 * blocks, NCHW[x]c (NeoCPU, ATC'19, section 3.1). Inside compiler/schedule/template. */
#ifndef KILN_COMPILER_SCHEDULE_TEMPLATE_BLOCKED_H
#define KILN_COMPILER_SCHEDULE_TEMPLATE_BLOCKED_H

#include "compiler/schedule/template.h"

/* One output, of the shape of the anchor's result and with elements; besides the anchor
 * only nodes that are element-wise on that shape: the anchor's tile is theirs. */
bool kiln_ends_element_wise(const kiln_workload *w);

/* Entry i of an attribute; of an empty list: `otherwise`. */
static inline int64_t kiln_attr_at(const kiln_attr *a, int i, int64_t otherwise) {
    return a->n > 0 ? a->ints[i] : otherwise;
}
/* Is every entry v? An empty list's are. */
bool kiln_attr_is_all(const kiln_attr *a, int64_t v);
/* Does the anchor's attribute "pads" hold anything but zeros? */
bool kiln_pads_any(const kiln_node *n);

/* Blocks of one element are none. */
void kiln_layout_add_block(kiln_layout *l, int axis, int64_t size);
/* By value id of `g`: all values of the shape of y, the anchor's result there, with
 * their channels in blocks of y_block; the anchor's first input in blocks of x_block;
 * all others plain. */
kiln_layout *kiln_blocked_layouts(kiln_arena *a, const kiln_graph *g,
                                  const kiln_node *anchor, int64_t x_block,
                                  int64_t y_block);

/* Two knobs, the first two that a template has: "oc_block", powers of two up to `lanes`
 * as far as o output channels fill them; "ic_block", 1 and such powers as far as c input
 * channels do; none below `least`, which is 1, or a dot product's depth. */
void kiln_space_add_blocks(kiln_space *s, int64_t o, int64_t c, int64_t lanes,
                           int64_t least);

/* The stages of an anchor that reduces, its padding, what else of x it sums up in
 * registers (byte_dot.h), and what is behind it. */
typedef struct kiln_blocked_stages {
    kiln_stage *y, *anchor, *pad, *x_sum; /* pad, x_sum: NULL where there is none */
} kiln_blocked_stages;
/* The anchor is the stage with the tag, in registers: a stage of its own where it is
 * the output too. All else between it and the output is computed in place. */
kiln_status kiln_blocked_stages_of(kiln_schedule *s, const char *tag,
                                   kiln_blocked_stages *out, kiln_err *err);

/* Where the stage with a tag goes. */
typedef struct kiln_tagged_stage {
    const char *tag;
    kiln_stage **stage; /* untouched where there is none */
} kiln_tagged_stage;
/* Finds them and the output, which may be one of them; all other stages are computed in
 * place. */
kiln_status kiln_tagged_stages(kiln_schedule *s, const kiln_tagged_stage *named,
                               size_t n, kiln_stage **output, kiln_err *err);

#endif
