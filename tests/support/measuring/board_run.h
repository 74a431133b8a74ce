/* A kiln-device for tests: a real one, on a loopback address, with keys of its own. */
#ifndef KILN_TESTS_SUPPORT_BOARD_RUN_H
#define KILN_TESTS_SUPPORT_BOARD_RUN_H

#include "base/base.h"

typedef struct board_run {
    kiln_arena *arena; /* borrowed */
    kiln_child child;
    const char *folder; /* board.key, user.key, stranger.key and what belongs to them */
    int port;
    char key[80]; /* the board's, as it says */
} board_run;

/* Once it listens; "user" is allowed, "stranger" is not. Skips the test where there is no
 * kiln-device beside the program that KILN names. */
void board_run_start(kiln_arena *a, board_run *b);
/* "curve://127.0.0.1:PORT?device=...&key=FOLDER/WHO.key" */
const char *board_run_address(const board_run *b, const char *who);
/* SIGKILL. A second time is fine. */
void board_run_kill(board_run *b);

#endif
