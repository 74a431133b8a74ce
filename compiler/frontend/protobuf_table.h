/* Rows of the protobuf reader's tables, for the files that write such tables: a field
 * is its number in the .proto file, the struct and member that it goes to, and its
 * kind. Lists count in a member n_NAME. Short names without the house's prefix: no
 * other header includes this one but a frontend's own of tables.
 *
 *     static const kiln_pb_field axis_fields[] = {FIELD(1, axis, index, KILN_PB_I32),
 *                                                 SUBS(2, axis, part, part_message)};
 *     static const kiln_pb_message axis_message = MESSAGE("Axis", axis, axis_fields);
 */
#ifndef KILN_COMPILER_FRONTEND_PROTOBUF_TABLE_H
#define KILN_COMPILER_FRONTEND_PROTOBUF_TABLE_H

#include "compiler/frontend/protobuf.h"

#include <stddef.h>

#define FIELD(number, T, name, kind)                                                   \
    { number, kind, false, #name, offsetof(T, name), KILN_PB_NONE, NULL }
/* `flag` becomes true where it was given. */
#define FIELD_HAS(number, T, name, kind, flag)                                         \
    { number, kind, false, #name, offsetof(T, name), offsetof(T, flag), NULL }
#define LIST(number, T, name, kind)                                                    \
    { number, kind, true, #name, offsetof(T, name), offsetof(T, n_##name), NULL }
/* A message by a pointer (NULL: absent), and a list of messages. */
#define SUB(number, T, name, table)                                                    \
    { number, KILN_PB_MESSAGE, false, #name, offsetof(T, name), KILN_PB_NONE, &(table) }
#define SUBS(number, T, name, table)                                                   \
    {                                                                                  \
        number, KILN_PB_MESSAGE, true, #name, offsetof(T, name),                       \
            offsetof(T, n_##name), &(table)                                            \
    }
/* A message in a struct inside this one, and one whose fields lie in this one. */
#define INSIDE(number, T, name, table)                                                 \
    { number, KILN_PB_INLINE, false, #name, offsetof(T, name), KILN_PB_NONE, &(table) }
#define FLAT(number, label, table)                                                     \
    { number, KILN_PB_INLINE, false, label, 0, KILN_PB_NONE, &(table) }
#define FLAT_HAS(number, label, T, flag, table)                                        \
    { number, KILN_PB_INLINE, false, label, 0, offsetof(T, flag), &(table) }
#define MESSAGE(label, T, fields)                                                      \
    { label, sizeof(T), fields, sizeof(fields) / sizeof((fields)[0]) }

#endif
