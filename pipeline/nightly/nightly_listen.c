/* What a stage says while it runs: into its log as it comes, and how far it is to
 * whoever waits for the night. */
#include "pipeline/nightly/nightly_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    OUTPUT_BYTES = 4 * 1024 * 1024, /* of each stream that are kept and logged */
    LINE_BYTES = 64 * 1024          /* a longer one is taken in parts */
};

/* ---- the log --------------------------------------------------------------------- */

/* At once: whoever looks at it sees what there is. The first failure is kept. */
static void log_bytes(nightly_listener *l, const char *p, size_t n) {
    if (l->log == NULL || l->why != 0)
        return;
    if (fwrite(p, 1, n, l->log) != n || fflush(l->log) != 0)
        l->why = errno != 0 ? errno : EIO;
}

static void log_text(nightly_listener *l, const char *z) { log_bytes(l, z, strlen(z)); }

/* ---- progress -------------------------------------------------------------------- */

/* Of this stage, by the night before; NaN: there was none. */
static double expected_left(const nightly_listener *l, double elapsed_s) {
    return fmax(l->expected_s - elapsed_s, 0);
}

/* What is at work, and the rest of the night where all of it is known. */
static const char *note_of(kiln_arena *a, const nightly_listener *l, const char *own,
                           double left_s) {
    kiln_buf out;
    kiln_buf_init(&out, a);
    if (own != NULL)
        kiln_buf_puts(&out, own);
    if (isfinite(l->rest_s) && isfinite(left_s)) {
        kiln_buf_printf(&out, "%sthe night: ", out.n > 0 ? "; " : "");
        kiln_progress_put_time(&out, left_s + l->rest_s);
        kiln_buf_puts(&out, " left");
    }
    return out.p;
}

static void tell(nightly_listener *l, int64_t now_ns) {
    kiln_arena scratch = {0};
    const double elapsed_s = (double)(now_ns - l->begin_ns) * 1e-9;
    const double by_night =
        isfinite(l->expected_s) ? expected_left(l, elapsed_s) : (double)NAN;
    const bool has_said = l->said.phase != NULL;
    const double left_s =
        has_said && isfinite(l->said.left_s) ? l->said.left_s : by_night;
    kiln_progress p = l->said;
    p.phase = has_said ? kiln_format(&scratch, "%s: %s", l->title, p.phase) : l->title;
    p.left_s = has_said ? p.left_s : by_night;
    p.note = note_of(&scratch, l, p.note, fmax(left_s, by_night));
    kiln_progress_tell(&p);
    kiln_arena_fini(&scratch);
}

static void hear_progress(nightly_listener *l, const kiln_progress *p) {
    const int64_t now = kiln_now_ns();
    kiln_buf text;
    kiln_arena_reset(&l->of_said);
    l->said = *p;
    l->said.phase = kiln_str_dup(&l->of_said, p->phase);
    l->said.unit = p->unit != NULL ? kiln_str_dup(&l->of_said, p->unit) : NULL;
    l->said.note = p->note != NULL ? kiln_str_dup(&l->of_said, p->note) : NULL;
    kiln_buf_init(&text, &l->of_said);
    kiln_progress_show(&l->screen, p, now, &text);
    if (text.n > 0)
        log_bytes(l, text.p, text.n);
    tell(l, now);
}

/* ---- lines ----------------------------------------------------------------------- */

/* With its end, where it has one. */
static void take_line(nightly_listener *l, nightly_stream *s, kiln_str line) {
    kiln_arena scratch = {0};
    kiln_progress p;
    kiln_str bare = line;
    bare.n -= kiln_str_ends(line, "\n");
    if (kiln_progress_read_line(&scratch, bare, &p)) {
        hear_progress(l, &p);
    } else {
        const size_t room = OUTPUT_BYTES - s->text.n;
        const size_t kept = line.n < room ? line.n : room;
        kiln_buf_add(&s->text, line.p, kept);
        log_bytes(l, line.p, kept);
        if (kept < line.n && !s->is_cut)
            log_text(l, "\n(more was printed)\n");
        s->is_cut = s->is_cut || kept < line.n;
    }
    kiln_arena_fini(&scratch);
}

static void flush_line(nightly_listener *l, nightly_stream *s) {
    if (s->line.n > 0)
        take_line(l, s, kiln_buf_str(&s->line));
    s->line.n = 0;
}

void kiln_nightly_heard(void *user, int stream, const char *bytes, size_t n) {
    nightly_listener *l = user;
    if (stream != STDOUT_FILENO && stream != STDERR_FILENO) {
        tell(l, kiln_now_ns()); /* a second has gone by */
        return;
    }
    nightly_stream *s = stream == STDERR_FILENO ? &l->err : &l->out;
    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        size_t part = end != NULL ? (size_t)(end - bytes) + 1 : n;
        KILN_ASSERT(s->line.n < LINE_BYTES, "a line of %zu bytes", s->line.n);
        const size_t room = LINE_BYTES - s->line.n;
        part = part < room ? part : room;
        kiln_buf_add(&s->line, bytes, part);
        if (s->line.p[s->line.n - 1] == '\n' || s->line.n == LINE_BYTES)
            flush_line(l, s);
        bytes += part;
        n -= part;
    }
}

/* ---- from its beginning to its end ----------------------------------------------- */

/* Of stages that are still to come, by the night before; NaN: not of all. */
static double rest_of(const night *n, size_t stage) {
    double sum = 0;
    for (size_t i = stage + 1; i < n->g->stage.n; i++)
        sum += n->g->stage.v[i].skip != NULL ? 0 : n->expected_s[i];
    return sum;
}

kiln_status kiln_nightly_listen(kiln_arena *a, const night *n, size_t stage,
                                const char *folder, const char *command,
                                nightly_listener *out, kiln_err *err) {
    KILN_ASSERT(stage < n->g->stage.n, "stage %zu of %zu", stage, n->g->stage.n);
    const kiln_nightly_stage *s = &n->g->stage.v[stage];
    const int64_t now = kiln_now_ns();
    nightly_listener l = {.path = kiln_path_join(a, folder, "log.txt"),
                          .title = kiln_format(a, "%zu of %zu  %s: %s", stage + 1,
                                               n->g->stage.n,
                                               kiln_nightly_title(a, n->c, n->g, s),
                                               kiln_nightly_kind_name(s->kind)),
                          .begin_ns = now,
                          .expected_s = n->expected_s[stage],
                          .rest_s = rest_of(n, stage),
                          .said = {.phase = NULL, .left_s = (double)NAN}};
    kiln_buf_init(&l.out.text, a);
    kiln_buf_init(&l.err.text, a);
    kiln_buf_init(&l.out.line, a);
    kiln_buf_init(&l.err.line, a);
    kiln_progress_screen_init(&l.screen, KILN_PROGRESS_PLAIN, 0, now);
    l.log = fopen(l.path, "w");
    if (l.log == NULL)
        return kiln_fail(err, KILN_ERR_IO, "cannot write '%s': %s", l.path,
                         strerror(errno));
    *out = l;
    log_text(out, kiln_format(a, "$ %s\n", command));
    return KILN_OK;
}

/* A process that was killed may have ended inside a line. */
static void end_line(nightly_listener *l, nightly_stream *s) {
    const bool is_open = s->line.n > 0 && s->line.p[s->line.n - 1] != '\n';
    flush_line(l, s);
    if (is_open)
        log_text(l, "\n");
}

kiln_status kiln_nightly_listen_end(nightly_listener *l, kiln_process_result *r,
                                    kiln_err *err) {
    char text[64];
    end_line(l, &l->out);
    end_line(l, &l->err);
    if (r != NULL) {
        (void)snprintf(text, sizeof text, "(ended by %s %d after %.3f s)\n",
                       r->end == KILN_PROCESS_EXITED ? "exit code" : "signal", r->code,
                       (double)r->wall_ms * 1e-3);
        log_text(l, text);
        r->out = kiln_buf_str(&l->out.text);
        r->err = kiln_buf_str(&l->err.text);
    }
    if (l->log != NULL && fclose(l->log) != 0 && l->why == 0)
        l->why = errno;
    l->log = NULL;
    kiln_arena_fini(&l->of_said);
    return l->why == 0 ? KILN_OK
                       : kiln_fail(err, KILN_ERR_IO, "cannot write '%s': %s%s", l->path,
                                   strerror(l->why), kiln_errno_remedy(l->why));
}
