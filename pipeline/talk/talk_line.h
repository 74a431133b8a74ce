/* Inside pipeline/talk: frames to and from one runner, near or far. */
#ifndef KILN_PIPELINE_TALK_TALK_LINE_H
#define KILN_PIPELINE_TALK_TALK_LINE_H

#include "pipeline/measure/wire/wire.h"
#include "pipeline/talk/far.h"
#include "pipeline/talk/talk.h"

typedef struct kiln_line {
    kiln_arena process; /* of talk */
    kiln_talk *talk;    /* NULL: there is no process, no connection */
    kiln_arena stream;
    kiln_wire_stream in;
} kiln_line;

/* Ends who is at the other end; one that is closed is fine. */
void kiln_line_close(kiln_line *l);
/* Sends a message; `scratch` is used meanwhile. */
kiln_status kiln_line_send(kiln_line *l, kiln_arena *scratch, kiln_wire_kind kind,
                           const void *message, int64_t deadline_ns, kiln_err *err);
/* The next message, borrowed until the one behind it. */
kiln_status kiln_line_next(kiln_line *l, kiln_arena *scratch, int64_t deadline_ns,
                           kiln_wire_frame *out, kiln_err *err);

/* What was asked for of n parts, each with its data, piece by piece. Refuses who asks for
 * what is none of them. */
kiln_status kiln_line_give(kiln_line *l, const kiln_wire_blob *part, size_t n,
                           const kiln_wire_need *need, kiln_err *err);

enum { KILN_LINE_HOW = 256 };

struct kiln_far {
    kiln_far_options o;
    kiln_arena arena; /* of: */
    kiln_str machine;
    kiln_line line;
    struct kiln_far_guest {
        bool is_used;
        char how[KILN_LINE_HOW]; /* it has ended; "": it has not */
    } guest[KILN_WIRE_MAX_GUESTS];
};

#endif
