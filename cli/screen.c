/* What people see besides results: how far the work has come, notes, colours.
 *
 * There is one terminal, so there is one state: whoever writes takes the line of the
 * progress away first. */
#include "cli/cli.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static struct {
    kiln_progress_screen progress;
    const char *color; /* "auto", "always", "never" */
} screen = {.color = "auto"};
/* Of what is shown: work tells of itself in several threads. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- progress -------------------------------------------------------------------- */

static int width_of_terminal(void) {
    enum { USUAL = 80 };
    struct winsize w = {0};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : USUAL;
}

/* In one call: lines of several processes stay whole. */
static void write_now(const kiln_buf *text) {
    (void)fwrite(text->p, 1, text->n, stderr);
    (void)fflush(stderr);
}

static void show(void *user, const kiln_progress *p) {
    (void)user;
    kiln_arena scratch = {0};
    kiln_buf text;
    kiln_buf_init(&text, &scratch);
    pthread_mutex_lock(&lock);
    kiln_progress_show(&screen.progress, p, kiln_now_ns(), &text);
    if (text.n > 0)
        write_now(&text);
    pthread_mutex_unlock(&lock);
    kiln_arena_fini(&scratch);
}

static void hide(void) {
    kiln_arena scratch = {0};
    kiln_buf text;
    kiln_buf_init(&text, &scratch);
    pthread_mutex_lock(&lock);
    kiln_progress_hide(&screen.progress, &text);
    if (text.n > 0)
        write_now(&text);
    pthread_mutex_unlock(&lock);
    kiln_arena_fini(&scratch);
}

void kiln_cli_screen_open(const kiln_cli_args *args) {
    static const char variable[] = "KILN_PROGRESS";
    kiln_progress_mode mode =
        isatty(STDERR_FILENO) == 1 ? KILN_PROGRESS_TERMINAL : KILN_PROGRESS_PLAIN;
    (void)kiln_progress_mode_find(getenv(variable), &mode);
    (void)unsetenv(variable); /* ours, not our children's */
    if (args->is_quiet)
        mode = KILN_PROGRESS_QUIET;
    KILN_ASSERT(args->color != NULL, "nothing says when to colour");
    screen.color = args->color;
    kiln_progress_screen_init(&screen.progress, mode, width_of_terminal(),
                              kiln_now_ns());
    if (mode != KILN_PROGRESS_QUIET)
        kiln_progress_watch(show, NULL);
}

void kiln_cli_screen_close(void) {
    kiln_progress_watch(NULL, NULL);
    hide();
}

void kiln_cli_say(const char *fmt, ...) {
    enum { MAX_LINE = 4096 };
    char line[MAX_LINE];
    kiln_arena scratch = {0};
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    kiln_str text = {line, n < 0                     ? 0
                           : (size_t)n < sizeof line ? (size_t)n
                                                     : MAX_LINE - 1};
    text = kiln_str_harmless(&scratch, text);
    hide();
    fprintf(stderr, "%.*s", KILN_STR_ARG(text));
    kiln_arena_fini(&scratch);
}

/* ---- colours -----------------------------------------------------------------------
 *
 * As no-color.org and terminals have it: NO_COLOR with any text, TERM=dumb and what is
 * no terminal get none, unless --color says otherwise. */

static bool is_colored(int fd) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if (strcmp(screen.color, "auto") != 0)
        return strcmp(screen.color, "always") == 0;
    return isatty(fd) == 1 && (no == NULL || no[0] == '\0') && term != NULL &&
           term[0] != '\0' && strcmp(term, "dumb") != 0;
}

static const char red[] = "\x1b[31m", green[] = "\x1b[32m", yellow[] = "\x1b[33m",
                  plain[] = "\x1b[0m";

/* Verdicts and ends, as every verb has them. */
static const struct word {
    const char *text, *color;
} words[] = {
    {"pass", green},          {"passed", green},    {"ok", green},
    {"done", green},          {"equal", green},     {"fail", red},
    {"failed", red},          {"wrong", red},       {"timed out", red},
    {"inconclusive", yellow}, {"invalid", yellow},  {"skipped", yellow},
    {"unsupported", yellow},  {"unjudged", yellow}, {"warning", yellow},
};

/* The one that the text begins with, as a whole word; NULL: none. */
static const struct word *word_at(kiln_str text) {
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const size_t n = strlen(words[i].text);
        if (kiln_str_starts(text, words[i].text) &&
            (text.n == n || strchr(" ,;:\n", text.p[n]) != NULL))
            return &words[i];
    }
    return NULL;
}

/* Where a column begins: at a line's, behind two spaces, behind "verdict: ". */
static bool begins_column(kiln_str text, size_t i) {
    static const char label[] = "verdict: ";
    const size_t n = sizeof label - 1;
    return i == 0 || text.p[i - 1] == '\n' ||
           (i > 1 && text.p[i - 1] == ' ' && text.p[i - 2] == ' ') ||
           (i >= n && memcmp(text.p + i - n, label, n) == 0);
}

static kiln_str colored(kiln_arena *a, kiln_str text) {
    kiln_buf out;
    size_t n_plain = 0;
    kiln_buf_init(&out, a);
    for (size_t i = 0; i < text.n; i++) {
        const struct word *w =
            begins_column(text, i) ? word_at((kiln_str){text.p + i, text.n - i}) : NULL;
        if (w == NULL)
            continue;
        kiln_buf_add(&out, text.p + n_plain, i - n_plain);
        kiln_buf_printf(&out, "%s%s%s", w->color, w->text, plain);
        n_plain = i + strlen(w->text);
        i = n_plain - 1;
    }
    KILN_ASSERT(n_plain <= text.n, "coloured %zu bytes of %zu", n_plain, text.n);
    kiln_buf_add(&out, text.p + n_plain, text.n - n_plain);
    return kiln_buf_str(&out);
}

kiln_status kiln_cli_print(kiln_arena *a, kiln_str text, kiln_err *err) {
    text = kiln_str_harmless(a, text);
    hide();
    return kiln_cli_output(NULL, is_colored(STDOUT_FILENO) ? colored(a, text) : text,
                           err);
}

void kiln_cli_print_error(const char *chain) {
    kiln_arena scratch = {0};
    const bool is = is_colored(STDERR_FILENO);
    const kiln_str text = kiln_str_harmless(&scratch, kiln_str_from(chain));
    hide();
    fprintf(stderr, "%serror:%s %.*s\n", is ? red : "", is ? plain : "",
            KILN_STR_ARG(text));
    kiln_arena_fini(&scratch);
}
