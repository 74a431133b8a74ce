#include "compiler/loop/fragment.h"

#include <string.h>

enum { BLOCK_COLUMNS = 8, HALF_ROWS = 8 };

int kiln_fragment_thread(int64_t row, int64_t column, int warps) {
    return (int)(row / KILN_FRAGMENT_ROWS % warps * KILN_WARP + row % HALF_ROWS * 4 +
                 column % BLOCK_COLUMNS / 2);
}

int64_t kiln_fragment_element(int64_t row, int64_t column, kiln_fragment_form form) {
    const int64_t block =
        row / ((int64_t)KILN_FRAGMENT_ROWS * form.warps) * (form.row / BLOCK_COLUMNS) +
        column / BLOCK_COLUMNS;
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

int kiln_program_warps(const kiln_program *p) {
    return strncmp(p->name, "wgmma", 5) == 0 ? KILN_WARPGROUP : 1;
}

/* The loops of what it declares begin with rows, panels of columns, columns. */
int64_t kiln_program_columns(const kiln_program *p) {
    const kiln_stmt *s = p->body;
    int64_t panels = 0;
    if (kiln_program_warps(p) == 1)
        return KILN_FRAGMENT_COLUMNS;
    while (s->kind == KILN_STMT_SEQ && s->u.seq.n > 0)
        s = s->u.seq.stmt[0];
    s = s->kind == KILN_STMT_FOR ? s->u.loop.body : s;
    return s->kind == KILN_STMT_FOR && kiln_x_is_int(s->u.loop.extent, &panels)
               ? panels * KILN_WARPGROUP_COLUMNS
               : 0;
}

typedef struct finding {
    const kiln_buffer *buffer;
    kiln_fragment_form form; /* row -1: they differ */
} finding;

/* A block's elements are those from its first to its last. */
static void find_form(void *user, const kiln_stmt *s) {
    finding *f = user;
    for (int i = 0; kiln_stmt_is_warps(s) && i < s->u.call.program->n_args; i++) {
        const kiln_program *p = s->u.call.program;
        const int warps = kiln_program_warps(p);
        const int64_t rows = (int64_t)KILN_FRAGMENT_ROWS * warps,
                      columns = kiln_program_columns(p);
        const int64_t n = kiln_buffer_elems(p->arg[i]);
        const int64_t row = (n - columns) / (rows - 1);
        const bool is_whole = columns > 0 && row >= columns &&
                              row % KILN_FRAGMENT_COLUMNS == 0 &&
                              row * (rows - 1) + columns == n;
        if (buffer_of(s, i) != f->buffer)
            continue;
        f->form.row = is_whole && (f->form.row == 0 ||
                                   (f->form.row == row && f->form.warps == warps))
                          ? row
                          : -1;
        f->form.warps = warps;
    }
}

kiln_fragment_form kiln_fragment_form_of(const kiln_stmt *s, const kiln_buffer *b) {
    finding f = {.buffer = b};
    kiln_stmt_visit(s, find_form, &f);
    return f.form.row > 0 ? f.form : (kiln_fragment_form){0, 0};
}
