/* Rows of tables for the flatbuffers reader, a line each: of the schema and of the
 * metadata. `name` is the field's, in the file's schema and in the struct alike. */
#ifndef KILN_COMPILER_FRONTEND_TFLITE_TFLITE_TABLES_H
#define KILN_COMPILER_FRONTEND_TFLITE_TFLITE_TABLES_H

#include "compiler/frontend/flatbuffers.h"

/* clang-format off */
#define FIELD(slot, T, name, kind) {slot, kind, #name, offsetof(T, name), 0, 0, NULL}
#define FIELD_ELSE(slot, T, name, kind, v) {slot, kind, #name, offsetof(T, name), 0, v, NULL}
#define LIST(slot, T, name, kind) {slot, kind, #name, offsetof(T, name), offsetof(T, n_##name), 0, NULL}
#define SUB(slot, T, name, table) {slot, KILN_FB_TABLE, #name, offsetof(T, name), 0, 0, &(table)}
#define SUBS(slot, T, name, table) \
    {slot, KILN_FB_TABLES, #name, offsetof(T, name), offsetof(T, n_##name), 0, &(table)}
#define TABLE(label, T, fields) {label, sizeof(T), fields, sizeof(fields) / sizeof((fields)[0])}
/* clang-format on */

#endif
