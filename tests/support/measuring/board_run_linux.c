#include "tests/support/measuring/board_run.h"

#include <string.h>
#include <stdio.h>
#include <unistd.h>

#include "pipeline/curve/curve.h"
#include "tests/support/kiln_test.h"
#include "tests/support/measuring/measure_run.h"

static void make_key(const board_run *b, const char *name) {
    kiln_err err = {.len = 0};
    kiln_curve_pair pair;
    kiln_assert_status_ok(kiln_curve_start(&err), &err);
    kiln_curve_pair_make(&pair);
    kiln_assert_status_ok(
        kiln_curve_pair_save(b->arena, kiln_path_join(b->arena, b->folder, name), &pair,
                             &err),
        &err);
}

void board_run_start(kiln_arena *a, board_run *b) {
    kiln_err err = {.len = 0};
    const kiln_cpus any = {.n = 0};
    char text[256] = "";
    size_t n = 0;
    *b = (board_run){.arena = a};
    kiln_test_as_worker_environment();
    const char *program = kiln_test_worker(a, "kiln-device")[0];
    kiln_assert_status_ok(kiln_dir_temp(a, &b->folder, &err), &err);
    make_key(b, "board");
    make_key(b, "user");
    make_key(b, "stranger");
    const char *const argv[] = {program,    "serve",
                                "--key",    kiln_path_join(a, b->folder, "board.key"),
                                "--allow",  kiln_path_join(a, b->folder, "user.pub"),
                                "--listen", "tcp:127.0.0.1:0",
                                NULL};
    kiln_assert_status_ok(kiln_child_start(argv, -1, &any, &b->child, &err), &err);
    for (int ms = 0; ms < KILN_TEST_PATIENCE_MS && strchr(text, '\n') == NULL; ms++) {
        const ssize_t got = read(b->child.out, text + n, sizeof text - 1 - n);
        assert_true(got != 0);
        n += got > 0 ? (size_t)got : 0;
        kiln_test_pause_ms(1);
    }
    assert_int_equal(sscanf(text,
                            "kiln-device listens on tcp:127.0.0.1:%d, its key is %64s",
                            &b->port, b->key),
                     2);
}

const char *board_run_address(const board_run *b, const char *who) {
    return kiln_format(b->arena, "curve://127.0.0.1:%d?device=%s&key=%s/%s.key",
                       b->port, b->key, b->folder, who);
}

void board_run_kill(board_run *b) {
    bool by_itself;
    int status;
    kiln_child_end(&b->child, &by_itself, &status);
}
