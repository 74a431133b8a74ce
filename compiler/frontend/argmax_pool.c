/* Largest elements and their places; see argmax_pool.h. max_pool counts places through
 * all of x [N, C, H, W]: those before the plane go. */
#include "compiler/frontend/argmax_pool.h"
#include "compiler/frontend/channels_last.h"

void kiln_channels_last_argmax_pool(kiln_compose *c, kiln_value *x, kiln_spatial *s,
                                    kiln_value *y[2]) {
    kiln_attr_arg args[KILN_SPATIAL_ARGS + 1];
    y[0] = y[1] = x;
    if (c->status != KILN_OK)
        return;
    if (x->type.rank != 4 || kiln_type_elems(&x->type) < 1) {
        kiln_compose_fail(c, kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                                       "what is pooled must be [n, height, width, "
                                       "channels] without a 0, is %s",
                                       kiln_type_text(&c->cx->scratch, &x->type)));
        return;
    }
    const int64_t plane = x->type.dim[1] * x->type.dim[2];
    x = kiln_channels_first(c, x);
    kiln_spatial_args(s, args);
    args[KILN_SPATIAL_ARGS] = kiln_arg_ints("kernel", s->kernel, (size_t)s->n);
    if (c->status == KILN_OK)
        kiln_compose_fail(c, kiln_import_emit(c->cx, c->site, &kiln_op_max_pool, &x, 1,
                                              args, KILN_SPATIAL_ARGS + 1, 2, y));
    if (c->status != KILN_OK) {
        y[0] = y[1] = x;
        return;
    }
    y[0] = kiln_channels_last(c, y[0]);
    y[1] = kiln_compose_scalar(c, &kiln_op_mod, kiln_channels_last(c, y[1]),
                               (double)plane);
}
