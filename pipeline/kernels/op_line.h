/* Operators as text (docs/ops-file.md), and the work that they are. */
#ifndef KILN_PIPELINE_KERNELS_OP_LINE_H
#define KILN_PIPELINE_KERNELS_OP_LINE_H

#include "compiler/network/network_work.h"

/* One line of an ops file: not yet looked at but for its name. */
typedef struct kiln_op_line {
    const char *name;
    const char *text;  /* the whole line */
    const char *where; /* "file:line" for messages */
} kiln_op_line;

typedef struct kiln_op_lines {
    KILN_VEC(kiln_op_line) list;
} kiln_op_lines;

/* `source`: the name of a list that ships (kiln_op_list_at) or a file's path. Refuses
 * two lines of one name, and files without any. */
kiln_status kiln_op_lines_read(kiln_arena *a, const char *source, kiln_op_lines *out,
                               kiln_err *err);
/* A single line, as --op takes it. */
kiln_status kiln_op_line_of(kiln_arena *a, const char *text, kiln_op_line *out,
                            kiln_err *err);
const char *kiln_op_list_at(int i); /* "resnet18", ...; NULL past the end */

/* Its weights are random. */
kiln_status kiln_op_work_make(kiln_arena *a, const kiln_op_line *line,
                              kiln_op_work *out, kiln_err *err);

#endif
