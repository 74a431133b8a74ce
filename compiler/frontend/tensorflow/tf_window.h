/* What the operators with windows have in common: attribute data_format, and lists of
 * one entry for each axis in its order. Values are worked on with channels last
 * (channels_last.h); transposes that a file with channels first makes needless cancel. */
#ifndef KILN_COMPILER_FRONTEND_TENSORFLOW_TF_WINDOW_H
#define KILN_COMPILER_FRONTEND_TENSORFLOW_TF_WINDOW_H

#include "compiler/frontend/channels_last.h"
#include "compiler/frontend/tensorflow/tf_internal.h"

/* Attribute data_format: NHWC, NDHWC, or with channels first NCHW, NCDHW. */
kiln_status kiln_tf_channels_first(kiln_tf_cx *cx, const kiln_tf_node *n,
                                   bool *is_first);
/* The spatial entries of a list attribute (1 where it is absent), whose entries for the
 * batch and the channels must be 1. `out` holds rank - 2. */
kiln_status kiln_tf_spatial_ints(kiln_tf_cx *cx, const kiln_tf_node *n,
                                 const char *name, int rank, bool is_first,
                                 int64_t *out);
/* x or y to channels last, and back. */
kiln_value *kiln_tf_to_last(kiln_compose *c, kiln_value *x, bool is_first);
kiln_value *kiln_tf_from_last(kiln_compose *c, kiln_value *y, bool is_first);
/* Attributes strides, dilations, padding, explicit_paddings, for x [N, spatial..., C]
 * and a kernel. */
kiln_status kiln_tf_window(kiln_compose *c, kiln_tf_cx *cx, const kiln_tf_node *n,
                           const kiln_value *x, const int64_t *kernel, bool is_first,
                           kiln_spatial *out);

#endif
