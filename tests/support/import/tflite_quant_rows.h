/* Words for kiln_tflite_case's rows of quantised operators. */
#ifndef KILN_TESTS_SUPPORT_TFLITE_QUANT_ROWS_H
#define KILN_TESTS_SUPPORT_TFLITE_QUANT_ROWS_H

#include "tests/support/import/tflite_run.h"

#define I8(shape_, scale_, zero_, ...)                                                 \
    {                                                                                  \
        .shape = (shape_), .type = KILN_TFW_I8, .scale = (scale_), .zero = (zero_),    \
        .v = {                                                                         \
            __VA_ARGS__                                                                \
        }                                                                              \
    }
#define U8(shape_, scale_, zero_, ...)                                                 \
    {                                                                                  \
        .shape = (shape_), .type = KILN_TFW_U8, .scale = (scale_), .zero = (zero_),    \
        .v = {                                                                         \
            __VA_ARGS__                                                                \
        }                                                                              \
    }
#define W8(shape_, scale_, ...)                                                        \
    {                                                                                  \
        .shape = (shape_), .type = KILN_TFW_I8, .scale = (scale_), .v = {__VA_ARGS__}, \
        .is_const = true                                                               \
    }
#define SIZE(height, width)                                                            \
    { .shape = "2", .type = KILN_TFW_I32, .v = {(height), (width)}, .is_const = true }
#define EXACT .within = 0.25

#endif
