#ifndef KILN_PIPELINE_MEASURE_BOARD_INTERNAL_H
#define KILN_PIPELINE_MEASURE_BOARD_INTERNAL_H

#include "pipeline/curve/curve.h"
#include "pipeline/measure/board/board.h"

typedef struct kiln_board {
    kiln_arena arena;
    kiln_curve_pair pair;
    kiln_curve_allowed allowed;
    const char *listen;  /* "tcp:0.0.0.0:7300" */
    const char *machine; /* of greetings */
} kiln_board;

/* Until it is asked to end. Its first line on standard output says where it listens, and
 * its key. */
kiln_status kiln_board_serve(kiln_board *b, kiln_err *err);

/* In a process of its own: one connection, until it ends. Who is let in gets a socket,
 * whose other end goes through `door`. Never returns. */
void kiln_board_gate(const kiln_board *b, int connection, int door);

#endif
