/* Progress: see progress.h. Who watches is the one piece of global state, as with the
 * log and with interrupts: what takes long is far below whoever waits for it. */
#include "base/diagnostics/progress.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/text/text.h"
#include "base/host/host.h"

/* ---- telling --------------------------------------------------------------------- */

typedef struct watcher {
    kiln_progress_fn tell;
    void *user;
    char phase[64]; /* that is at work, since when, and what was done of it then */
    int64_t begin_ns;
    double begin_done, total;
} watcher;

static watcher current; /* guarded by lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool is_watched;

void kiln_progress_watch(kiln_progress_fn tell, void *user) {
    pthread_mutex_lock(&lock);
    current = (watcher){.tell = tell, .user = user};
    atomic_store(&is_watched, tell != NULL);
    pthread_mutex_unlock(&lock);
}

bool kiln_progress_is_watched(void) { return atomic_load(&is_watched); }

/* Cut where it does not fit: a name to compare by, not to print. */
static void keep_name(char *to, size_t bytes, const char *name) {
    const size_t n = strnlen(name, bytes - 1);
    memcpy(to, name, n);
    to[n] = '\0';
}

double kiln_progress_left(double elapsed_s, double done, double total) {
    static const double early_s = 0.5; /* before it, a rate is chance */
    if (!(done > 0) || !(total > 0) || !(elapsed_s >= early_s))
        return (double)NAN;
    return done >= total ? 0 : elapsed_s * (total - done) / done;
}

/* A phase that comes again from its beginning is another one. */
static double left_of(watcher *w, const kiln_progress *p) {
    const int64_t now = kiln_now_ns();
    if (strncmp(w->phase, p->phase, sizeof w->phase - 1) != 0 ||
        p->done < w->begin_done || p->total != w->total) {
        keep_name(w->phase, sizeof w->phase, p->phase);
        w->begin_ns = now;
        w->begin_done = p->done;
        w->total = p->total;
    }
    return kiln_progress_left((double)(now - w->begin_ns) * 1e-9,
                              p->done - w->begin_done, p->total - w->begin_done);
}

void kiln_progress_tell(const kiln_progress *p) {
    if (!kiln_progress_is_watched())
        return;
    pthread_mutex_lock(&lock);
    if (current.tell != NULL) {
        kiln_progress own = *p;
        const double left = left_of(&current, p);
        own.left_s = isnan(own.left_s) ? left : own.left_s;
        current.tell(current.user, &own);
    }
    pthread_mutex_unlock(&lock);
}

void kiln_progress_step(const char *phase, const char *unit, double done, double total,
                        const char *note) {
    const kiln_progress p = {.phase = phase,
                             .unit = unit,
                             .done = done,
                             .total = total,
                             .left_s = (double)NAN,
                             .note = note};
    kiln_progress_tell(&p);
}

/* ---- as text --------------------------------------------------------------------- */

void kiln_progress_put_time(kiln_buf *out, double seconds) {
    static const double minute = 60, hour = 3600;
    if (!(seconds < 1e9))
        kiln_buf_puts(out, "a long time");
    else if (seconds < 2 * minute)
        kiln_buf_printf(out, "%.0f s", fmax(seconds, 0));
    else if (seconds < 2 * hour)
        kiln_buf_printf(out, "%.0f min", seconds / minute);
    else
        kiln_buf_printf(out, "%.0f h %02.0f min", floor(seconds / hour),
                        floor(fmod(seconds, hour) / minute));
}

void kiln_progress_text(kiln_buf *out, const kiln_progress *p) {
    const char *unit = p->unit != NULL ? p->unit : "";
    const char *space = p->unit != NULL ? " " : "";
    kiln_buf_puts(out, p->phase);
    if (p->total > 0)
        kiln_buf_printf(out, ": %.0f of %.0f%s%s", p->done, p->total, space, unit);
    else if (p->unit != NULL)
        kiln_buf_printf(out, ": %.0f %s", p->done, unit);
    if (isfinite(p->left_s)) {
        kiln_buf_puts(out, ", ");
        kiln_progress_put_time(out, p->left_s);
        kiln_buf_puts(out, " left");
    }
    if (p->note != NULL && p->note[0] != '\0')
        kiln_buf_printf(out, ": %s", p->note);
}

/* ---- from program to program ----------------------------------------------------- */

static void put_text(kiln_json_writer *w, const char *z) {
    if (z != NULL)
        kiln_json_put_string(w, kiln_str_from(z));
    else
        kiln_json_put_null(w);
}

void kiln_progress_put_line(kiln_buf *out, const kiln_progress *p) {
    const char mark = KILN_PROGRESS_MARK;
    kiln_json_writer w;
    kiln_buf_add(out, &mark, 1);
    kiln_json_writer_init(&w, out);
    kiln_json_begin_row(&w);
    put_text(&w, p->phase);
    put_text(&w, p->unit);
    kiln_json_put_f64(&w, p->done);
    kiln_json_put_f64(&w, p->total);
    kiln_json_put_f64(&w, p->left_s); /* NaN is null */
    put_text(&w, p->note);
    kiln_json_end_array(&w);
    kiln_buf_puts(out, "\n");
}

/* What a program says goes to a terminal. */
static const char *harmless(kiln_arena *a, const kiln_json *v) {
    enum { MAX_BYTES = 500 };
    const char *z = kiln_json_string(v, NULL);
    if (z == NULL)
        return NULL;
    char *own = kiln_str_dupv(a, kiln_str_harmless(a, kiln_str_from(z)));
    for (char *c = own; *c != '\0'; c++)
        *c = *c == '\n' || *c == '\t' ? ' ' : *c;
    return kiln_str_fit(a, own, MAX_BYTES);
}

bool kiln_progress_read_line(kiln_arena *a, kiln_str line, kiln_progress *out) {
    const kiln_json *root = NULL;
    kiln_progress p = {.phase = NULL};
    if (line.n == 0 || line.p[0] != KILN_PROGRESS_MARK)
        return false;
    line.p++;
    line.n--;
    if (kiln_json_parse(a, line, "progress", &root, NULL) != KILN_OK)
        return false;
    p.phase = harmless(a, kiln_json_at(root, 0));
    p.unit = harmless(a, kiln_json_at(root, 1));
    p.done = kiln_json_number(kiln_json_at(root, 2), 0);
    p.total = kiln_json_number(kiln_json_at(root, 3), 0);
    p.left_s = kiln_json_number(kiln_json_at(root, 4), (double)NAN);
    p.note = harmless(a, kiln_json_at(root, 5));
    if (p.phase == NULL)
        return false;
    *out = p;
    return true;
}

/* ---- showing it ------------------------------------------------------------------ */

static const struct mode {
    const char *name;
    int64_t every_ns;
    bool shows_phases; /* as soon as one begins: after a quarter of that time */
} modes[] = {
    [KILN_PROGRESS_QUIET] = {"quiet", 0, false},
    [KILN_PROGRESS_TERMINAL] = {"terminal", INT64_C(200000000), true},
    [KILN_PROGRESS_PLAIN] = {"plain", INT64_C(10000000000), false},
    [KILN_PROGRESS_LINES] = {"lines", INT64_C(500000000), true},
};

bool kiln_progress_mode_find(const char *name, kiln_progress_mode *out) {
    for (size_t i = 0; name != NULL && i < sizeof modes / sizeof modes[0]; i++)
        if (strcmp(name, modes[i].name) == 0) {
            *out = (kiln_progress_mode)i;
            return true;
        }
    return false;
}

void kiln_progress_screen_init(kiln_progress_screen *s, kiln_progress_mode mode,
                               int width, int64_t now_ns) {
    enum { LEAST_WIDTH = 20 };
    *s = (kiln_progress_screen){.mode = mode,
                                .width = width < LEAST_WIDTH ? LEAST_WIDTH : width};
    s->next_ns = modes[mode].shows_phases ? now_ns : now_ns + modes[mode].every_ns;
}

static const char *line_of(kiln_arena *a, const kiln_progress *p) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_progress_text(&text, p);
    return kiln_str_dupv(a, kiln_str_harmless(a, kiln_buf_str(&text)));
}

/* How far it is, then as much of the note as there is room for. */
static const char *fit(kiln_arena *a, const kiln_progress *p, size_t room) {
    static const char more[] = "..";
    kiln_progress bare = *p;
    bare.note = NULL;
    const char *all = line_of(a, p), *front = line_of(a, &bare);
    if (strlen(all) <= room || strlen(front) + sizeof more - 1 > room)
        return kiln_str_fit(a, strlen(all) <= room ? all : front, room);
    size_t n = room - (sizeof more - 1);
    while (n > 0 && ((unsigned char)all[n] & 0xC0) == 0x80) /* inside a letter */
        n--;
    return kiln_format(a, "%.*s%s", (int)n, all, more);
}

/* Over what was there: no sequence that a simple terminal does not know. */
static void put_over(kiln_progress_screen *s, const kiln_progress *p, kiln_buf *out) {
    const char *line = fit(out->arena, p, (size_t)(s->width - 1));
    const int n = (int)strlen(line);
    kiln_buf_printf(out, "\r%s%*s", line, s->n_shown > n ? s->n_shown - n : 0, "");
    s->n_shown = n;
}

void kiln_progress_show(kiln_progress_screen *s, const kiln_progress *p, int64_t now_ns,
                        kiln_buf *out) {
    const struct mode *m = &modes[s->mode];
    const bool begins =
        m->shows_phases && strncmp(s->phase, p->phase, sizeof s->phase - 1) != 0;
    const int64_t early_ns = begins ? m->every_ns - m->every_ns / 4 : 0;
    if (s->mode == KILN_PROGRESS_QUIET || now_ns < s->next_ns - early_ns)
        return;
    s->next_ns = now_ns + m->every_ns;
    keep_name(s->phase, sizeof s->phase, p->phase);
    if (s->mode == KILN_PROGRESS_LINES) {
        kiln_progress_put_line(out, p);
        return;
    }
    if (s->mode == KILN_PROGRESS_TERMINAL)
        put_over(s, p, out);
    else
        kiln_buf_printf(out, "%s\n", line_of(out->arena, p));
}

void kiln_progress_hide(kiln_progress_screen *s, kiln_buf *out) {
    if (s->mode != KILN_PROGRESS_TERMINAL || s->n_shown == 0)
        return;
    kiln_buf_printf(out, "\r%*s\r", s->n_shown, "");
    s->n_shown = 0;
}
