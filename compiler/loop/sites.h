/* Where the statements of a launch stand, and whether two threads can meet at one
 * element: for the pass that puts barriers between them. Inside compiler/loop. */
#ifndef KILN_COMPILER_LOOP_SITES_H
#define KILN_COMPILER_LOOP_SITES_H

#include "compiler/loop/loop.h"

typedef struct kiln_site kiln_site;

/* One access to memory that threads share, of a statement itself. */
typedef struct kiln_touch {
    const kiln_site *at;
    const kiln_buffer *buffer;
    const kiln_expr *const *index;
    const kiln_expr *mask; /* NULL: all lanes */
    bool writes;
    int number; /* of its launch */
} kiln_touch;

struct kiln_site {
    const kiln_stmt *stmt;
    kiln_site *parent;
    int depth, branch; /* branch: which part of the parent it is */
    kiln_site **part;
    int n_parts;
    kiln_touch *touch;
    int n_touches;
    /* The place itself, or the outermost around it of which not all threads do the same:
     * a barrier goes before that. */
    kiln_site *open;
    int choice; /* branches that all threads of a block take alike: their number; else -1
                 */
    unsigned barriers; /* scopes of barriers that the pass put before it, as a set */
};

/* How iterations of one loop stand to each other: of the earlier access, or, FIRST, of
 * the later one. */
typedef enum kiln_turn {
    KILN_TURN_NEXT,   /* the later access is one iteration behind */
    KILN_TURN_LATER,  /* one or more */
    KILN_TURN_LAST,   /* the loop is over: it was in the last iteration */
    KILN_TURN_INSIDE, /* the loop has begun since: the later is in any iteration */
    KILN_TURN_FIRST   /* likewise, in the first */
} kiln_turn;

enum { KILN_MAX_TURNS = 24 };
/* An access since which no barrier has been passed. Of loops around both without an
 * entry, both are in the same iteration. */
typedef struct kiln_pending {
    const kiln_touch *touch;
    int n;
    struct {
        const kiln_site *loop;
        kiln_turn turn;
    } turn[KILN_MAX_TURNS];
} kiln_pending;

typedef enum kiln_meeting {
    KILN_MEET_NEVER,
    KILN_MEET_PERHAPS, /* data decides, or there is too much to try */
    KILN_MEET_SURELY
} kiln_meeting;

/* Blocks that take the same branches. */
typedef struct kiln_blocks {
    const int64_t *extent; /* of all axes of the launch */
    const int64_t *block;  /* their numbers; NULL: all from 0 */
    int64_t n;
    const signed char *taken; /* by choice: 0, 1; -1: not by the block alone */
} kiln_blocks;

/* Can two different threads of one of the blocks make these accesses to one element? */
kiln_meeting kiln_meet(kiln_arena *scratch, const kiln_blocks *b, const kiln_pending *p,
                       const kiln_touch *c);
/* What a block does at a branch: 1: its condition holds; -1: it takes more than the
 * block's number to tell. */
signed char kiln_block_takes(const kiln_site *branch, const int64_t extent[KILN_N_AXES],
                             int64_t block);

#endif
