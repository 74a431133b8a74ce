/* The table of exporters, and writing what they make. */
#include "compiler/export/export.h"

#include <string.h>

static const kiln_exporter *const rows[] = {
#define KILN_EXPORTER(name) &kiln_exporter_##name,
#include "compiler/export/exporters.def"
#undef KILN_EXPORTER
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

const kiln_exporter *kiln_exporter_at(int i) {
    return i >= 0 && i < N_ROWS ? rows[i] : NULL;
}

kiln_status kiln_exporter_find(const char *name, const kiln_exporter **out,
                               kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_buf known;
    kiln_buf_init(&known, &scratch);
    for (int i = 0; i < N_ROWS; i++) {
        if (strcmp(rows[i]->name, name) == 0) {
            *out = rows[i];
            kiln_arena_fini(&scratch);
            return KILN_OK;
        }
        kiln_buf_printf(&known, " %s", rows[i]->name);
    }
    const kiln_status st =
        kiln_fail(err, KILN_ERR_ARG, "no format '%s' to export to; formats:%s",
                  kiln_str_printable(&scratch, kiln_str_from(name), 40), known.p);
    kiln_arena_fini(&scratch);
    return st;
}

void kiln_export_add(kiln_arena *a, kiln_export_bytes *b, const void *p, size_t n) {
    const kiln_str piece = {p, n};
    if (n == 0)
        return;
    kiln_vec_push(a, &b->piece, piece);
    b->n += n;
}

kiln_str kiln_export_join(kiln_arena *a, const kiln_export_bytes *b) {
    char *const p = kiln_arena_alloc_raw(a, (size_t)b->n);
    size_t at = 0;
    for (size_t i = 0; i < b->piece.n; i++) {
        memcpy(p + at, b->piece.v[i].p, b->piece.v[i].n);
        at += b->piece.v[i].n;
    }
    return (kiln_str){p, at};
}

static kiln_status write_file(const char *path, const kiln_export_bytes *b,
                              kiln_err *err) {
    kiln_file_writer *w = NULL;
    kiln_status st = kiln_file_writer_open(&w, path, err);
    if (st != KILN_OK)
        return st;
    for (size_t i = 0; i < b->piece.n && st == KILN_OK; i++)
        st = kiln_file_writer_add(w, b->piece.v[i].p, b->piece.v[i].n, err);
    if (st == KILN_OK)
        return kiln_file_writer_commit(w, err);
    kiln_file_writer_close(w);
    return st;
}

kiln_status kiln_export(kiln_arena *a, const kiln_graph *g, const kiln_exporter *to,
                        const char *path, const kiln_export_options *o,
                        kiln_exported *out, kiln_err *err) {
    const char *const data = kiln_format(a, "%s.data", path);
    kiln_export_options own = {.is_external = false};
    if (o != NULL)
        own = *o;
    own.data_name = kiln_path_base(data);
    KILN_TRY(to->write(a, g, &own, out, err));
    if (out->data.n > 0)
        KILN_TRY(write_file(data, &out->data, err));
    return write_file(path, &out->model, err);
}
