/* Progress: as text, from program to program, and what is shown when, by a clock of the
 * test's own. */
#include "tests/support/kiln_test.h"

#include <math.h>
#include <string.h>

static const int64_t ms = 1000000;

/* ---- text ------------------------------------------------------------------------ */

typedef struct text_row {
    const char *name;
    kiln_progress p;
    const char *want;
} text_row;

#define UNKNOWN ((double)NAN)

static text_row text_rows[] = {
    {"of_a_phase_alone", {"reading", NULL, 0, 0, UNKNOWN, NULL}, "reading"},
    {"counts",
     {"proving", "steps", 12, 80, 34, NULL},
     "proving: 12 of 80 steps, 34 s left"},
    {"counts_what_has_no_end",
     {"tuning", "trials", 7, 0, UNKNOWN, NULL},
     "tuning: 7 trials"},
    {"has_a_note",
     {"compiling", "steps", 1, 9, UNKNOWN, "conv1"},
     "compiling: 1 of 9 steps: conv1"},
    {"has_no_empty_note",
     {"compiling", "steps", 1, 9, UNKNOWN, ""},
     "compiling: 1 of 9 steps"},
    {"has_a_share_without_unit",
     {"download", NULL, 1, 2, 90, NULL},
     "download: 1 of 2, 90 s left"},
    {"says_minutes", {"x", NULL, 1, 2, 600, NULL}, "x: 1 of 2, 10 min left"},
    {"says_hours", {"x", NULL, 1, 2, 11100, NULL}, "x: 1 of 2, 3 h 05 min left"},
    {"knows_no_end", {"x", NULL, 1, 2, 1e300, NULL}, "x: 1 of 2, a long time left"},
    {"never_less_than_nothing", {"x", NULL, 1, 2, -3, NULL}, "x: 1 of 2, 0 s left"},
};

static void check_text(void **state) {
    const text_row *r = *state;
    kiln_buf out;
    kiln_buf_init(&out, kiln_test_arena());
    kiln_progress_text(&out, &r->p);
    assert_string_equal(out.p, r->want);
}

static void left_is_by_the_rate(void **state) {
    (void)state;
    assert_true(isnan(kiln_progress_left(10, 0, 5)));
    assert_true(isnan(kiln_progress_left(10, 1, 0)));
    assert_true(isnan(kiln_progress_left(0.01, 1, 5)));
    assert_true(kiln_progress_left(10, 2, 8) == 30);
    assert_true(kiln_progress_left(10, 8, 8) == 0);
    assert_true(kiln_progress_left(10, 9, 8) == 0);
}

/* ---- from program to program ----------------------------------------------------- */

static void lines_go_there_and_back(void **state) {
    const text_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_progress p;
    kiln_buf line, text;
    kiln_buf_init(&line, a);
    kiln_buf_init(&text, a);
    kiln_progress_put_line(&line, &r->p);
    assert_true(line.n > 2 && line.p[line.n - 1] == '\n');
    assert_null(memchr(line.p, '\n', line.n - 1));
    assert_true(kiln_progress_read_line(a, (kiln_str){line.p, line.n - 1}, &p));
    kiln_progress_text(&text, &p);
    assert_string_equal(text.p, r->want);
}

typedef struct line_row {
    const char *name, *line;
} line_row;

static line_row line_rows[] = {
    {"refuses_an_empty_line", ""},
    {"refuses_other_text", "[\"x\", null, 1, 2, null, null]"},
    {"refuses_what_is_no_json", "\x1e"
                                "compiling"},
    {"refuses_what_has_no_phase", "\x1e"
                                  "[null, null, 1, 2, null, null]"},
    {"refuses_half_a_line", "\x1e"
                            "[\"x\", null, 1"},
    {"refuses_the_mark_alone", "\x1e"},
};

static void check_line(void **state) {
    const line_row *r = *state;
    kiln_progress p;
    assert_false(
        kiln_progress_read_line(kiln_test_arena(), kiln_str_from(r->line), &p));
}

static void texts_of_others_are_harmless(void **state) {
    (void)state;
    kiln_progress p;
    const kiln_str line =
        kiln_str_from("\x1e"
                      "[\"a\\u001b[2J\\nb\", null, 1, 2, null, \"\\r\"]");
    assert_true(kiln_progress_read_line(kiln_test_arena(), line, &p));
    assert_string_equal(p.phase, "a\\x1b[2J b");
    assert_string_equal(p.note, "\\x0d");
}

/* ---- telling --------------------------------------------------------------------- */

typedef struct heard {
    int n;
    double done, left_s;
} heard;

static void hear(void *user, const kiln_progress *p) {
    heard *h = user;
    h->n++;
    h->done = p->done;
    h->left_s = p->left_s;
}

static void tells_who_watches(void **state) {
    (void)state;
    heard h = {0};
    assert_false(kiln_progress_is_watched());
    kiln_progress_step("x", "things", 1, 2, NULL);
    assert_int_equal(h.n, 0);
    kiln_progress_watch(hear, &h);
    assert_true(kiln_progress_is_watched());
    kiln_progress_step("x", "things", 1, 2, NULL);
    assert_int_equal(h.n, 1);
    assert_true(h.done == 1 && isnan(h.left_s)); /* it has only begun */
    const kiln_progress p = {.phase = "x", .done = 2, .total = 4, .left_s = 7};
    kiln_progress_tell(&p);
    assert_true(h.n == 2 && h.left_s == 7);
    kiln_progress_watch(NULL, NULL);
    kiln_progress_step("x", "things", 2, 2, NULL);
    assert_int_equal(h.n, 2);
}

/* ---- showing --------------------------------------------------------------------- */

static const char *show(kiln_progress_screen *s, const char *phase, double done,
                        int64_t now_ms) {
    const kiln_progress p = {
        .phase = phase, .done = done, .total = 9, .left_s = UNKNOWN};
    kiln_buf out;
    kiln_buf_init(&out, kiln_test_arena());
    kiln_progress_show(s, &p, now_ms * ms, &out);
    return out.n > 0 ? out.p : "";
}

static const char *hide(kiln_progress_screen *s) {
    kiln_buf out;
    kiln_buf_init(&out, kiln_test_arena());
    kiln_progress_hide(s, &out);
    return out.n > 0 ? out.p : "";
}

static void terminals_have_one_line(void **state) {
    (void)state;
    kiln_progress_screen s;
    kiln_progress_screen_init(&s, KILN_PROGRESS_TERMINAL, 40, 0);
    assert_string_equal(show(&s, "abcdef", 1, 0), "\rabcdef: 1 of 9");
    assert_string_equal(show(&s, "abcdef", 2, 100), "");
    assert_string_equal(show(&s, "abcdef", 3, 200), "\rabcdef: 3 of 9");
    assert_string_equal(show(&s, "x", 0, 220), "");
    assert_string_equal(show(&s, "x", 0, 250), "\rx: 0 of 9     ");
    assert_string_equal(hide(&s), "\r         \r");
    assert_string_equal(hide(&s), "");
    assert_string_equal(show(&s, "x", 2, 450), "\rx: 2 of 9");
}

static void lines_fit_the_terminal(void **state) {
    (void)state;
    kiln_progress_screen s;
    kiln_progress_screen_init(&s, KILN_PROGRESS_TERMINAL, 21, 0);
    const char *text = show(&s, "a very long name of a phase that is at work", 1, 0);
    assert_int_equal(strlen(text), 1 + 20);
    assert_non_null(strstr(text, ".."));
    assert_true(kiln_str_ends(kiln_str_from(text), "work: 1 of 9"));
}

/* What is done and how long it takes stays; the note loses its end. */
static void notes_give_way(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const kiln_progress p = {.phase = "tuning",
                             .unit = "trials",
                             .done = 3,
                             .total = 9,
                             .left_s = 5,
                             .note = "a long note"};
    static const struct {
        int room;
        const char *text;
    } rows[] = {
        {20, "\rtuning..ls, 5 s left"}, /* too little even for that */
        {36, "\rtuning: 3 of 9 trials, 5 s left: a.."},
        {44, "\rtuning: 3 of 9 trials, 5 s left: a long note"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        kiln_progress_screen s;
        kiln_buf out;
        kiln_buf_init(&out, a);
        kiln_progress_screen_init(&s, KILN_PROGRESS_TERMINAL, rows[i].room + 1, 0);
        kiln_progress_show(&s, &p, 0, &out);
        assert_string_equal(out.p, rows[i].text);
    }
}

static void plain_lines_come_now_and_then(void **state) {
    (void)state;
    kiln_progress_screen s;
    kiln_progress_screen_init(&s, KILN_PROGRESS_PLAIN, 80, 5000 * ms);
    assert_string_equal(show(&s, "x", 1, 5000), "");
    assert_string_equal(show(&s, "y", 2, 14999), "");
    assert_string_equal(show(&s, "y", 3, 15000), "y: 3 of 9\n");
    assert_string_equal(show(&s, "z", 4, 24999), "");
    assert_string_equal(show(&s, "z", 5, 25001), "z: 5 of 9\n");
    assert_string_equal(hide(&s), "");
}

static void programs_get_lines(void **state) {
    (void)state;
    kiln_progress_screen s;
    kiln_progress_screen_init(&s, KILN_PROGRESS_LINES, 80, 0);
    assert_string_equal(show(&s, "x", 1, 0), "\x1e"
                                             "[\"x\", null, 1, 9, null, null]\n");
    assert_string_equal(show(&s, "x", 2, 499), "");
    assert_string_equal(show(&s, "x", 2, 500), "\x1e"
                                               "[\"x\", null, 2, 9, null, null]\n");
}

static void quiet_shows_nothing(void **state) {
    (void)state;
    kiln_progress_screen s;
    kiln_progress_screen_init(&s, KILN_PROGRESS_QUIET, 80, 0);
    for (int64_t at = 0; at < 100000; at += 1000)
        assert_string_equal(show(&s, "x", 1, at), "");
}

static void modes_have_names(void **state) {
    (void)state;
    kiln_progress_mode m = KILN_PROGRESS_QUIET;
    assert_true(kiln_progress_mode_find("lines", &m) && m == KILN_PROGRESS_LINES);
    assert_true(kiln_progress_mode_find("quiet", &m) && m == KILN_PROGRESS_QUIET);
    assert_false(kiln_progress_mode_find("loud", &m));
    assert_false(kiln_progress_mode_find(NULL, &m));
}

int main(void) {
    kiln_test_add_rows(check_text, text_rows);
    kiln_test_add_rows(lines_go_there_and_back, text_rows);
    kiln_test_add_rows(check_line, line_rows);
    kiln_test_add("left_is_by_the_rate", left_is_by_the_rate, NULL);
    kiln_test_add("texts_of_others_are_harmless", texts_of_others_are_harmless, NULL);
    kiln_test_add("tells_who_watches", tells_who_watches, NULL);
    kiln_test_add("terminals_have_one_line", terminals_have_one_line, NULL);
    kiln_test_add("lines_fit_the_terminal", lines_fit_the_terminal, NULL);
    kiln_test_add("notes_give_way", notes_give_way, NULL);
    kiln_test_add("plain_lines_come_now_and_then", plain_lines_come_now_and_then, NULL);
    kiln_test_add("programs_get_lines", programs_get_lines, NULL);
    kiln_test_add("quiet_shows_nothing", quiet_shows_nothing, NULL);
    kiln_test_add("modes_have_names", modes_have_names, NULL);
    return kiln_test_run("base: progress");
}
