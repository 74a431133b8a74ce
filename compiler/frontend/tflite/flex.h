/* Options of custom operators as converters write them: a FlexBuffers map of numbers.
 * Nothing of it is trusted. Source: FlexBuffers, "FlexBuffers in C++", binary format. */
#ifndef KILN_COMPILER_FRONTEND_TFLITE_FLEX_H
#define KILN_COMPILER_FRONTEND_TFLITE_FLEX_H

#include "base/base.h"

/* A map: keys and values by number. */
typedef struct kiln_flex_map {
    kiln_str bytes;
    size_t keys, key_width; /* where elements begin; bytes of each */
    size_t values, value_width;
    size_t n;
} kiln_flex_map;

/* KILN_ERR_PARSE: it is none, or lies outside of its bytes. */
kiln_status kiln_flex_open(kiln_str bytes, kiln_flex_map *out, kiln_err *err);
/* A number or a truth value; false: there is none of this name, *out stays. */
bool kiln_flex_number(const kiln_flex_map *m, const char *key, double *out);

#endif
