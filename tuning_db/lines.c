/* Files of one JSON object a line, the first of which says what they are. */
#include "tuning_db/tuning_db_internal.h"

void kiln_db_line_begin(kiln_json_writer *w, kiln_buf *out) {
    kiln_json_writer_init(w, out);
    w->compact_from = 1;
    kiln_json_begin_object(w);
}

void kiln_db_line_end(kiln_json_writer *w) {
    kiln_json_end_object(w);
    kiln_buf_puts(w->out, "\n");
}

static kiln_status read_head(const kiln_db_lines *l, const kiln_json *o,
                             kiln_err *err) {
    int64_t version = 0;
    if (!kiln_json_i64(kiln_json_get(o, l->version_key), &version))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "no %s: the first line must be {\"%s\": %d}", l->what,
                         l->version_key, l->version);
    if (version != l->version)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "%s of version %lld; this kiln reads %d", l->brief,
                         (long long)version, l->version);
    return KILN_OK;
}

static kiln_status read_line(const kiln_db_lines *l, kiln_arena *scratch, kiln_str text,
                             const char *name, bool is_first, void *user,
                             kiln_err *err) {
    const kiln_json *o = NULL;
    KILN_TRY(kiln_json_parse(scratch, text, name, &o, err));
    if (!kiln_json_is_object(o))
        return kiln_fail(err, KILN_ERR_PARSE, "each line must be a JSON object");
    return is_first ? read_head(l, o, err) : l->take(user, o, err);
}

kiln_status kiln_db_lines_read(const kiln_db_lines *l, kiln_arena *scratch,
                               kiln_str text, const char *name, void *user,
                               kiln_err *err) {
    kiln_str rest = text, line;
    for (size_t n = 1; kiln_str_cut(&rest, '\n', &line); n++) {
        if (kiln_str_trim(line).n == 0 && n > 1)
            continue;
        const kiln_status st = read_line(l, scratch, line, name, n == 1, user, err);
        kiln_arena_reset(scratch);
        if (st != KILN_OK) {
            kiln_note(err, "%s line %zu of %s'%s'", l->doing, n, l->of, name);
            return st;
        }
    }
    return KILN_OK;
}
