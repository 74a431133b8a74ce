/* simplify: expressions with the ranges of loops and the conditions around them;
 * branches that are decided and loops of at most one iteration go away. */
#include "compiler/loop/loop_walk.h"

static kiln_status run(kiln_program *p, const kiln_loop_options *o, kiln_err *err) {
    (void)o;
    kiln_walk w = kiln_walk_make(p->arena, NULL, NULL, err);
    p->body = kiln_walk_stmt(&w, p->body);
    return w.status;
}

const kiln_loop_pass kiln_loop_pass_simplify = {
    .name = "simplify",
    .doc = "decides branches and simplifies indexes by ranges and conditions",
    .run = run,
};
