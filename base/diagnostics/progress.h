/* How far work that takes long has come, for whoever waits for it.
 *
 *     kiln_progress_step("compiling", "steps", done, total, name);  where the work is
 *     kiln_progress_watch(tell, user);                              where somebody waits
 *
 * Work says so between its steps, as it looks there whether it was interrupted; where
 * nobody watches it costs next to nothing. Who watches shows it (kiln_progress_screen):
 * a line that changes, a plain line now and then, or lines for another program.
 */
#ifndef KILN_BASE_PROGRESS_H
#define KILN_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/core.h"

typedef struct kiln_progress {
    const char *phase;  /* "compiling" */
    const char *unit;   /* what is counted: "steps"; NULL: nothing is */
    double done, total; /* total 0: nobody knows how many there are */
    double left_s;      /* NaN: who tells does not know */
    const char *note;   /* what is at work now, more numbers; NULL: none */
} kiln_progress;

typedef void (*kiln_progress_fn)(void *user, const kiln_progress *p);
/* From now on `tell` is called, by one thread at a time; NULL: nobody is. */
void kiln_progress_watch(kiln_progress_fn tell, void *user);
bool kiln_progress_is_watched(void);
/* Where left_s is NaN, and some is done, the rate since the phase began fills it in. */
void kiln_progress_tell(const kiln_progress *p);
void kiln_progress_step(const char *phase, const char *unit, double done, double total,
                        const char *note);

/* Seconds left at the rate so far; NaN: too early to say. */
double kiln_progress_left(double elapsed_s, double done, double total);
/* "34 s", "12 min", "3 h 05 min". */
void kiln_progress_put_time(kiln_buf *out, double seconds);
/* "compiling: 12 of 80 steps, 34 s left: conv1". */
void kiln_progress_text(kiln_buf *out, const kiln_progress *p);

/* ---- from program to program -------------------------------------------------------
 *
 * A line of stderr that begins with this byte, which nothing else that kiln prints can
 * hold, and has a JSON list behind it: phase, unit, done, total, seconds left, note.
 */

enum { KILN_PROGRESS_MARK = 0x1e }; /* ASCII's record separator */
void kiln_progress_put_line(kiln_buf *out, const kiln_progress *p);
/* A whole line without its end. False: it is none, or says nothing. Texts in `a`, with
 * no control characters. */
bool kiln_progress_read_line(kiln_arena *a, kiln_str line, kiln_progress *out);

/* ---- showing it ------------------------------------------------------------------ */

typedef enum kiln_progress_mode {
    KILN_PROGRESS_QUIET,
    KILN_PROGRESS_TERMINAL, /* one line, written over, five times a second at most */
    KILN_PROGRESS_PLAIN,    /* a line every ten seconds, the first after ten */
    KILN_PROGRESS_LINES     /* for a program, twice a second at most */
} kiln_progress_mode;
/* "quiet", "terminal", "plain", "lines"; false: no such mode. */
bool kiln_progress_mode_find(const char *name, kiln_progress_mode *out);

typedef struct kiln_progress_screen {
    kiln_progress_mode mode;
    int width;       /* of the terminal, in letters */
    int n_shown;     /* letters that are there now */
    int64_t next_ns; /* not before this */
    char phase[64];  /* another one is shown sooner, but for plain lines */
} kiln_progress_screen;

void kiln_progress_screen_init(kiln_progress_screen *s, kiln_progress_mode mode,
                               int width, int64_t now_ns);
/* Appends what is to be written now: nothing where it is too soon. */
void kiln_progress_show(kiln_progress_screen *s, const kiln_progress *p, int64_t now_ns,
                        kiln_buf *out);
/* Appends what takes a terminal's line away: before anything else is written there. */
void kiln_progress_hide(kiln_progress_screen *s, kiln_buf *out);

#endif
