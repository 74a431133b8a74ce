/* Inside the Caffe frontend's tables: rows for fields of a struct, and the messages that
 * caffe_params.c defines. */
#ifndef KILN_COMPILER_FRONTEND_CAFFE_CAFFE_TABLES_H
#define KILN_COMPILER_FRONTEND_CAFFE_CAFFE_TABLES_H

#include "compiler/frontend/caffe/caffe_model.h"
#include "compiler/frontend/protobuf_table.h"
#include "compiler/frontend/protobuf_text.h"

/* "Was given" goes to has_NAME. */
#define FIELD_GIVEN(number, T, name, kind) FIELD_HAS(number, T, name, kind, has_##name)
#define ENUM(number, T, name, values)                                                  \
    { number, KILN_PB_I64, false, #name, offsetof(T, name), KILN_PB_NONE, &(values) }
#define ENUM_HAS(number, T, name, values)                                              \
    {                                                                                  \
        number, KILN_PB_I64, false, #name, offsetof(T, name), offsetof(T, has_##name), \
            &(values)                                                                  \
    }
/* What decides nothing in inference: how weights begin, which engine computes. */
#define IGNORED(number, T, label)                                                      \
    { number, KILN_PB_COUNT, true, label, offsetof(T, n_ignored), KILN_PB_NONE, NULL }
#define VALUE(number, label)                                                           \
    { number, KILN_PB_I64, false, label, 0, KILN_PB_NONE, NULL }
#define VALUES(label, fields)                                                          \
    { label, 0, fields, sizeof(fields) / sizeof((fields)[0]) }

extern const kiln_pb_message kiln_caffe_shape_message;
#define KILN_CAFFE_PARAM(number, old, name)                                            \
    extern const kiln_pb_message kiln_caffe_##name##_param;
#define KILN_CAFFE_NEW_PARAM(number, name) KILN_CAFFE_PARAM(number, 0, name)
#include "compiler/frontend/caffe/caffe_params.def"
#undef KILN_CAFFE_NEW_PARAM
#undef KILN_CAFFE_PARAM

#endif
