#include "compiler/loop/fragment.h"

enum { BLOCK_COLUMNS = 8, HALF_ROWS = 8 };

int kiln_fragment_thread(int64_t row, int64_t column) {
    return (int)(row % HALF_ROWS * 4 + column % BLOCK_COLUMNS / 2);
}

int64_t kiln_fragment_element(int64_t row, int64_t column, int64_t columns) {
    const int64_t block =
        row / KILN_FRAGMENT_ROWS * (columns / BLOCK_COLUMNS) + column / BLOCK_COLUMNS;
    return block * KILN_FRAGMENT_HELD + row % KILN_FRAGMENT_ROWS / HALF_ROWS * 2 +
           column % 2;
}

void kiln_fragment_named(int thread, bool along_rows, int *row, int *column) {
    const int second = thread >> 3 & 1, third = thread >> 4;
    *row = thread % HALF_ROWS + HALF_ROWS * (along_rows ? third : second);
    *column = along_rows ? second : third;
}

static const kiln_buffer *buffer_of(const kiln_stmt *s, int arg) {
    return s->u.call.arg[arg]->u.load.buffer;
}

bool kiln_stmt_is_warps(const kiln_stmt *s) {
    if (s->kind != KILN_STMT_CALL)
        return false;
    for (int i = 0; i < s->u.call.program->n_args; i++)
        if (buffer_of(s, i)->scope == KILN_SCOPE_FRAGMENT)
            return true;
    return false;
}

typedef struct finding {
    const kiln_buffer *buffer;
    int64_t row; /* -1: they differ */
} finding;

/* A block's elements are those from its first to its last. */
static void find_row(void *user, const kiln_stmt *s) {
    finding *f = user;
    for (int i = 0; kiln_stmt_is_warps(s) && i < s->u.call.program->n_args; i++) {
        const int64_t n = kiln_buffer_elems(s->u.call.program->arg[i]);
        const int64_t row = (n - KILN_FRAGMENT_COLUMNS) / (KILN_FRAGMENT_ROWS - 1);
        const bool is_whole =
            row >= KILN_FRAGMENT_COLUMNS && row % KILN_FRAGMENT_COLUMNS == 0 &&
            row * (KILN_FRAGMENT_ROWS - 1) + KILN_FRAGMENT_COLUMNS == n;
        if (buffer_of(s, i) == f->buffer)
            f->row = is_whole && (f->row == 0 || f->row == row) ? row : -1;
    }
}

int64_t kiln_fragment_row(const kiln_stmt *s, const kiln_buffer *b) {
    finding f = {.buffer = b};
    kiln_stmt_visit(s, find_row, &f);
    return f.row > 0 ? f.row : 0;
}
