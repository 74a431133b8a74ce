/* Runs on a board: proves and times candidates for those whose keys it knows
 * (docs/boards.md). */
#include "compiler/target/target.h"
#include "pipeline/measure/board/board.h"

int main(int argc, char **argv) {
    kiln_arena a = {0};
    kiln_profile p;
    kiln_buf machine;
    kiln_buf_init(&machine, &a);
    if (kiln_profile_detect(&a, &p, NULL) == KILN_OK)
        kiln_profile_machine_json(&machine, &p);
    const int code = kiln_board_main(argc, argv, machine.n > 0 ? machine.p : "");
    kiln_arena_fini(&a);
    return code;
}
