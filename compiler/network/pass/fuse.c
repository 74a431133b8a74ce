/* fuse: groups of the fusion become steps, regions become blocks.
 *
 * A group without a kernel of its own is a view or a join as far as its operator says;
 * lay_out, which knows how values lie, makes a call of one that can be neither. */
#include "base/fault.h"
#include "compiler/network/executable_internal.h"

static void fuse_graph(kiln_net *n, const kiln_graph *g, const char *path);

/* ---- operators that run regions -------------------------------------------------- */

static int add_block(kiln_net *n, const kiln_net_step *of, kiln_net_step_kind kind,
                     const char *region, int partner) {
    kiln_net_step step = *of;
    step.kind = kind;
    step.partner = partner;
    step.region = region;
    kiln_vec_push(n->arena, &n->step, step);
    return (int)n->step.n - 1;
}

static void fuse_region(kiln_net *n, const kiln_net_step *of, const char *region) {
    const char *path =
        kiln_format(n->arena, "%s%s.%s/", of->path, of->node->name, region);
    fuse_graph(n, kiln_node_attr(of->node, region)->graph, path);
}

static void fuse_if(kiln_net *n, const kiln_net_step *of) {
    const bool swaps = KILN_FAULT(if_swapped);
    const char *first = swaps ? "else_branch" : "then_branch";
    const char *second = swaps ? "then_branch" : "else_branch";
    const int begin = add_block(n, of, KILN_NET_IF, first, 0);
    fuse_region(n, of, first);
    const int other = add_block(n, of, KILN_NET_ELSE, second, 0);
    n->step.v[begin].partner = other;
    fuse_region(n, of, second);
    const int ends = add_block(n, of, KILN_NET_END, NULL, begin); /* steps may move */
    n->step.v[other].partner = ends;
}

static void fuse_scan(kiln_net *n, const kiln_net_step *of) {
    const int begin = add_block(n, of, KILN_NET_LOOP, "body", 0);
    n->step.v[begin].count = of->node->op->region_runs(of->node);
    fuse_region(n, of, "body");
    const int ends = add_block(n, of, KILN_NET_END, NULL, begin); /* steps may move */
    n->step.v[begin].partner = ends;
}

static const struct {
    const kiln_op_def *op;
    void (*fuse)(kiln_net *n, const kiln_net_step *of);
} controls[] = {{&kiln_op_if, fuse_if}, {&kiln_op_scan, fuse_scan}};
enum { N_CONTROLS = sizeof controls / sizeof controls[0] };

static bool fuse_control(kiln_net *n, const kiln_node *node, const kiln_graph *g,
                         const char *path) {
    const kiln_net_step of = {
        .node = node,
        .name = kiln_format(n->arena, "%s%s", path, node->name),
        .op = node->op->name,
        .g = g,
        .path = path,
    };
    for (int i = 0; i < N_CONTROLS; i++)
        if (node->op == controls[i].op) {
            controls[i].fuse(n, &of);
            return true;
        }
    return false;
}

/* ---- groups ---------------------------------------------------------------------- */

static const char *name_of(kiln_arena *a, const char *path, const kiln_group *group) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_buf_puts(&text, path);
    for (int i = 0; i < group->n; i++)
        kiln_buf_printf(&text, "%s%s", i == 0 ? "" : " + ", group->node[i]->name);
    return text.p;
}

static kiln_net_step_kind kind_of(const kiln_group *group) {
    const kiln_op_def *op = group->node[0]->op;
    if (group->is_view)
        return KILN_NET_VIEW;
    if (group->n > 1)
        return KILN_NET_CALL;
    return op == &kiln_op_concat ? KILN_NET_JOIN
           : op == &kiln_op_slice || op == &kiln_op_split || op == &kiln_op_pad
               ? KILN_NET_VIEW
               : KILN_NET_CALL;
}

kiln_net_step kiln_net_step_of(kiln_arena *a, const kiln_graph *g, const char *path,
                               const kiln_group *group) {
    return (kiln_net_step){.kind = kind_of(group),
                           .name = name_of(a, path, group),
                           .op = group->anchor != NULL
                                     ? group->anchor->op->name
                                     : group->node[group->n - 1]->op->name,
                           .group = group,
                           .g = g,
                           .path = path};
}

static void fuse_graph(kiln_net *n, const kiln_graph *g, const char *path) {
    kiln_fusion *fusion = kiln_new(n->arena, kiln_fusion);
    kiln_network_fuse(n->arena, g, n->o != NULL && n->o->no_fusion, fusion);
    for (int i = 0; i < fusion->n; i++) {
        const kiln_group *group = &fusion->group[i];
        if (fuse_control(n, group->node[0], g, path))
            continue;
        const kiln_net_step step = kiln_net_step_of(n->arena, g, path, group);
        kiln_vec_push(n->arena, &n->step, step);
    }
}

static kiln_status run(kiln_net *n, kiln_err *err) {
    fuse_graph(n, n->g, "");
    return kiln_interrupt_check(err);
}

const kiln_net_pass kiln_net_pass_fuse = {
    .name = "fuse",
    .doc = "groups of nodes become steps, regions become blocks",
    .makes = KILN_NET_FUSED,
    .run = run,
};
