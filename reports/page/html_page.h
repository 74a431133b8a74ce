/* What the parts of the page share: escaped texts and numbers that say where in
 * results.json they are from.
 *
 * Each number and each text of the results stands in an element of its own, whose
 * data-path names the member; data-by is the factor from the member's unit to the one
 * shown. A data-path that starts with a point goes on from the data-at of the nearest
 * element around it, and in long tables the columns' heads name the member of what
 * their cells begin with: pages would be half as long again without. So "the page
 * shows the results" can be checked, element by element, by somebody who knows nothing
 * of this code; tests/reports/page/test_html.c does.
 */
#ifndef KILN_REPORTS_HTML_PAGE_H
#define KILN_REPORTS_HTML_PAGE_H

#include "reports/results/results.h"

typedef struct kiln_page {
    kiln_buf *out;
    kiln_arena *arena; /* until the page is done */
    const kiln_results *r;
    const char *base; /* the data-at that holds here; NULL: none */
    const char *of;   /* id of the heading that things are of: a job's; NULL: none */
    size_t n_named;   /* ids that were given to captions */
} kiln_page;

typedef struct kiln_page_unit {
    double by;          /* shown = member * by */
    int digits;         /* significant ones, else behind the point */
    bool is_fixed;      /* the latter */
    bool has_plus;      /* of differences */
    bool may_be_0;      /* else 0 is not known */
    const char *suffix; /* "%"; a unit behind a number that no heading names */
} kiln_page_unit;

extern const kiln_page_unit kiln_unit_plain, kiln_unit_count, kiln_unit_percent,
    kiln_unit_part, kiln_unit_change, kiln_unit_ratio, kiln_unit_mib, kiln_unit_gib,
    kiln_unit_mega, kiln_unit_us, kiln_unit_ns_as_us, kiln_unit_seconds,
    kiln_unit_error;

/* Markup of our own, as it is. */
void kiln_page_put(kiln_page *p, const char *html);
void kiln_page_escape(kiln_page *p, const char *text);
#define kiln_page_putf(p, ...) kiln_buf_printf((p)->out, __VA_ARGS__)
/* What follows, up to the end, names members from `at` on: " data-at" in a tag that is
 * open. Nothing else is between them. */
void kiln_page_base(kiln_page *p, const char *at);
void kiln_page_base_end(kiln_page *p);
/* "jobs[3].latency"; `at` may be empty. Lives in the page's arena. */
const char *kiln_page_at(kiln_page *p, const char *at, const char *member);
const char *kiln_page_item(kiln_page *p, const char *at, const char *list, size_t i);

/* <tag class="cls" data-path>text</tag>; NULL becomes a dash. cls may be NULL. */
void kiln_page_text(kiln_page *p, const char *tag, const char *cls, const char *at,
                    const char *member, const char *text);
/* The same of a number; NaN, infinities and, where the unit says so, 0 become a dash.
 */
void kiln_page_number(kiln_page *p, const char *tag, const char *at, const char *member,
                      double v, const kiln_page_unit *u);
void kiln_page_count(kiln_page *p, const char *tag, const char *at, const char *member,
                     int64_t v);
/* " (low to high)" of an interval; nothing where there is none. */
void kiln_page_interval(kiln_page *p, const char *at, const char *member,
                        const kiln_stats_interval *v, const kiln_page_unit *u);
/* A state or a verdict, in the colour that its word has. */
void kiln_page_pill(kiln_page *p, const char *at, const char *member, const char *word);
/* One line of a list of facts: <dt>label</dt><dd>, and its end. */
void kiln_page_fact(kiln_page *p, const char *label);
void kiln_page_fact_end(kiln_page *p);
/* A fact that is one number. */
void kiln_page_fact_number(kiln_page *p, const char *label, const char *at,
                           const char *member, double v, const kiln_page_unit *u);

/* A frame that what is wider than the page scrolls in, by keys too; its name is the
 * caption's, which gets the id that is returned, and that of the job. */
const char *kiln_page_frame(kiln_page *p, const char *cls);
/* A table in such a frame. Titles that start with '#' head columns of numbers. */
void kiln_page_table(kiln_page *p, const char *cls, const char *caption,
                     const char *const *title, size_t n_titles);
void kiln_page_table_end(kiln_page *p);
/* One whose columns are members of what each row's data-at names. */
typedef struct kiln_page_column {
    const char *title, *member;
    const kiln_page_unit *unit; /* of numbers; NULL: texts */
} kiln_page_column;
void kiln_page_column_table(kiln_page *p, const char *cls, const char *caption,
                            const kiln_page_column *column, size_t n);
void kiln_page_row(kiln_page *p, const char *at);
void kiln_page_row_end(kiln_page *p);
/* What a cell begins with; the caller closes it. */
void kiln_page_cell_text(kiln_page *p, const char *tag, const char *text);
void kiln_page_cell_number(kiln_page *p, double v, const kiln_page_unit *u);
#define KILN_PAGE_TABLE(p, cls, caption, titles)                                       \
    kiln_page_table((p), (cls), (caption), (titles), sizeof(titles) / sizeof *(titles))

/* "dqn on 2 threads, x86-64-v4": of a job. */
void kiln_page_job_name(kiln_page *p, size_t job);
/* Have all jobs one profile? Then their names are without. */
bool kiln_page_one_profile(const kiln_results *r);
bool kiln_page_is(const char *text, const char *word); /* NULL is nothing */

/* Where a configuration comes from (html_origin.c): the colour of a word, as the number
 * of its class; the word with it, in a <tag> of its own; the colours of a plot, by the
 * words that are there; and what all words mean that the results hold. */
int kiln_page_origin_colour(const char *word);
void kiln_page_origin(kiln_page *p, const char *tag, const char *at,
                      const char *origin);
void kiln_page_origin_keys(kiln_page *p, bool (*has)(const void *of, const char *word),
                           const void *of);
void kiln_page_origin_note(kiln_page *p);

/* ---- the parts ------------------------------------------------------------------- */

/* The texts of files beside this one, which the build embeds: lines, NULL at the end. */
extern const char *const kiln_reports_page_page_css[];
extern const char *const kiln_reports_page_nights_css[];
extern const char *const kiln_reports_page_study_css[];
extern const char *const kiln_reports_page_page_js[];
void kiln_page_embed(kiln_page *p, const char *const *line);
/* The hash of page.js, for the policy that lets no other script run. */
void kiln_page_script_hash(kiln_page *p);

/* Does a job need a look, and how much? */
typedef enum kiln_page_concern {
    KILN_CONCERN_NONE,
    KILN_CONCERN_WARN,
    KILN_CONCERN_BAD
} kiln_page_concern;
kiln_page_concern kiln_page_concern_of(const kiln_results_job *j);

void kiln_page_summary(kiln_page *p);
void kiln_page_looks(kiln_page *p);
void kiln_page_jobs(kiln_page *p);
void kiln_page_job(kiln_page *p, size_t job);
void kiln_page_gate(kiln_page *p, const char *at, const kiln_results_gate *g);
void kiln_page_samples(kiln_page *p, const kiln_results_latency *l);
void kiln_page_pairs(kiln_page *p, const kiln_results_gate *g);
void kiln_page_steps(kiln_page *p, const char *at, const kiln_results_job *j);
void kiln_page_roofline(kiln_page *p, const char *at, const kiln_results_job *j);
void kiln_page_coverage(kiln_page *p, const char *at, const kiln_results_job *j);
void kiln_page_memory(kiln_page *p, const char *job, const kiln_results_job *j);
void kiln_page_tuning(kiln_page *p, const char *at, const kiln_results_tuning *t);
/* Commands of stages, but for `shown`, which stands elsewhere (may be NULL). */
void kiln_page_stages(kiln_page *p, const char *at, const kiln_results_stage *stage,
                      size_t n, const char *shown, bool is_open);
void kiln_page_past(kiln_page *p);
void kiln_page_history(kiln_page *p, const char *at, const kiln_results_history *h);
void kiln_page_ops(kiln_page *p, size_t list);
void kiln_page_machine(kiln_page *p);
void kiln_page_versus(kiln_page *p, const char *at,
                      const kiln_results_versus_list *versus, const char *of_what);
/* Tables of kiln beside libraries: their titles, and the rows of one job's or
 * operator's, on an axis from 0 to `most`. */
extern const char *const kiln_page_ratio_titles[4];
double kiln_page_ratio_axis(double most, const kiln_results_baselines *b);
void kiln_page_ratio_rows(kiln_page *p, const char *at, const kiln_results_baselines *b,
                          double most);
void kiln_page_ratio_foot(kiln_page *p, double most);

#endif
