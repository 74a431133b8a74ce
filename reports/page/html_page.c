/* Texts, numbers and tables of the page: see html_page.h. */
#include "reports/page/html_page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reports/text/markup.h"

const kiln_page_unit kiln_unit_plain = {.by = 1, .digits = 3};
const kiln_page_unit kiln_unit_count = {.by = 1, .is_fixed = true, .may_be_0 = true};
const kiln_page_unit kiln_unit_percent = {
    .by = 100, .digits = 1, .is_fixed = true, .suffix = "%"};
const kiln_page_unit kiln_unit_part = {
    .by = 100, .digits = 1, .is_fixed = true, .may_be_0 = true, .suffix = "%"};
const kiln_page_unit kiln_unit_change = {.by = 100,
                                         .digits = 1,
                                         .is_fixed = true,
                                         .has_plus = true,
                                         .may_be_0 = true,
                                         .suffix = "%"};
const kiln_page_unit kiln_unit_ratio = {.by = 1, .digits = 2, .is_fixed = true};
const kiln_page_unit kiln_unit_mib = {.by = 0x1p-20, .digits = 3, .may_be_0 = true};
const kiln_page_unit kiln_unit_gib = {.by = 0x1p-30, .digits = 3};
const kiln_page_unit kiln_unit_mega = {.by = 1e-6, .digits = 3, .may_be_0 = true};
const kiln_page_unit kiln_unit_us = {.by = 1000, .digits = 3};
const kiln_page_unit kiln_unit_ns_as_us = {.by = 1e-3, .digits = 3};
const kiln_page_unit kiln_unit_seconds = {
    .by = 1, .digits = 3, .may_be_0 = true, .suffix = " s"};
const kiln_page_unit kiln_unit_error = {.by = 1, .may_be_0 = true};

bool kiln_page_is(const char *text, const char *word) {
    return text != NULL && strcmp(text, word) == 0;
}

void kiln_page_put(kiln_page *p, const char *html) { kiln_buf_puts(p->out, html); }

static const char *escape_of(unsigned char c) {
    if (c == '\n' || c == '\t')
        return NULL;
    return c == '\'' ? "&#39;" : kiln_markup_escape(c);
}

void kiln_page_escape(kiln_page *p, const char *text) {
    kiln_markup_put(p->out, text, escape_of);
}

const char *kiln_page_at(kiln_page *p, const char *at, const char *member) {
    return kiln_format(p->arena, "%s%s%s", at, at[0] != '\0' ? "." : "", member);
}

const char *kiln_page_item(kiln_page *p, const char *at, const char *list, size_t i) {
    return kiln_format(p->arena, "%s[%zu]", kiln_page_at(p, at, list), i);
}

static void open_element(kiln_page *p, const char *tag, const char *cls, const char *at,
                         const char *member) {
    kiln_page_putf(p, "<%s", tag);
    if (strcmp(tag, "th") == 0)
        kiln_page_put(p, " scope=\"row\"");
    if (cls != NULL)
        kiln_page_putf(p, " class=\"%s\"", cls);
    if (member == NULL)
        return;
    const size_t n = p->base != NULL ? strlen(p->base) : 0;
    if (n > 0 && strncmp(at, p->base, n) == 0)
        kiln_page_putf(p, " data-path=\"%s.%s\"", at + n, member);
    else
        kiln_page_putf(p, " data-path=\"%s%s%s\"", at, at[0] != '\0' ? "." : "",
                       member);
}

void kiln_page_base(kiln_page *p, const char *at) {
    KILN_ASSERT(p->base == NULL, "'%s' begins in '%s'", at, p->base);
    kiln_page_putf(p, " data-at=\"%s\"", at);
    p->base = at;
}

void kiln_page_base_end(kiln_page *p) {
    KILN_ASSERT(p->base != NULL, "what ends has not begun");
    p->base = NULL;
}

static void put_unknown(kiln_page *p, const char *tag, const char *cls) {
    open_element(p, tag, cls, NULL, NULL);
    kiln_page_putf(p, "><span class=\"none\">\xE2\x80\x93</span></%s>", tag);
}

void kiln_page_text(kiln_page *p, const char *tag, const char *cls, const char *at,
                    const char *member, const char *text) {
    if (text == NULL) {
        put_unknown(p, tag, cls);
        return;
    }
    open_element(p, tag, cls, at, member);
    kiln_page_put(p, ">");
    kiln_page_escape(p, text);
    kiln_page_putf(p, "</%s>", tag);
}

/* Digits in groups of three from five digits on, with a narrow space. */
static void put_grouped(kiln_page *p, const char *digits) {
    const size_t n = strcspn(digits, ".");
    for (size_t i = 0; i < n; i++) {
        if (n > 4 && i > 0 && (n - i) % 3 == 0)
            kiln_page_put(p, "\xE2\x80\xAF");
        kiln_buf_add(p->out, digits + i, 1);
    }
    kiln_page_put(p, digits + n);
}

static void put_number(kiln_page *p, double v, const kiln_page_unit *u) {
    enum { MAX_DECIMALS = 9 };
    char text[64];
    const double x = fabs(v);
    KILN_ASSERT(isfinite(v) && u->digits >= 0, "%g with %d digits", v, u->digits);
    if (u->digits == 0 && !u->is_fixed) {
        snprintf(text, sizeof text, "%.1e", x);
    } else if (x >= 1e15) {
        snprintf(text, sizeof text, "%.3g", x);
    } else {
        int decimals = u->digits;
        if (!u->is_fixed)
            decimals -= x > 0 ? 1 + (int)floor(log10(x)) : decimals;
        decimals = decimals < 0 ? 0 : decimals;
        decimals = decimals > MAX_DECIMALS ? MAX_DECIMALS : decimals;
        snprintf(text, sizeof text, "%.*f", decimals, x);
    }
    if (strpbrk(text, "123456789") == NULL)
        v = 0; /* no sign for what rounds to nothing */
    if (v < 0)
        kiln_page_put(p, "\xE2\x88\x92");
    else if (u->has_plus && v > 0)
        kiln_page_put(p, "+");
    if (strchr(text, 'e') != NULL)
        kiln_page_put(p, text);
    else
        put_grouped(p, text);
    if (u->suffix != NULL)
        kiln_page_putf(p, "%s%s", u->suffix[0] == ' ' ? "\xC2\xA0" : "",
                       u->suffix + (u->suffix[0] == ' '));
}

static bool is_unknown(double v, const kiln_page_unit *u) {
    return !isfinite(v) || (v == 0 && !u->may_be_0);
}

void kiln_page_number(kiln_page *p, const char *tag, const char *at, const char *member,
                      double v, const kiln_page_unit *u) {
    if (is_unknown(v, u)) {
        put_unknown(p, tag, "n");
        return;
    }
    open_element(p, tag, "n", at, member);
    if (u->by != 1)
        kiln_page_putf(p, " data-by=\"%.15g\"", u->by);
    kiln_page_put(p, ">");
    put_number(p, v * u->by, u);
    kiln_page_putf(p, "</%s>", tag);
}

void kiln_page_count(kiln_page *p, const char *tag, const char *at, const char *member,
                     int64_t v) {
    kiln_page_number(p, tag, at, member, (double)v, &kiln_unit_count);
}

void kiln_page_interval(kiln_page *p, const char *at, const char *member,
                        const kiln_stats_interval *v, const kiln_page_unit *u) {
    const bool is_known = isfinite(v->low) && isfinite(v->high) &&
                          (u->has_plus || (v->low != 0 && v->high != 0));
    if (!is_known)
        return;
    const char *path = kiln_page_at(p, at, member);
    kiln_page_put(p, " <span class=\"interval\">(");
    kiln_page_number(p, "span", path, "low", v->low, u);
    kiln_page_put(p, " to ");
    kiln_page_number(p, "span", path, "high", v->high, u);
    kiln_page_put(p, ")</span>");
}

void kiln_page_pill(kiln_page *p, const char *at, const char *member,
                    const char *word) {
    static const struct {
        const char *word, *cls;
    } looks[] = {
        {"pass", "good"},         {"equal", "good"},       {"ok", "good"},
        {"done", "good"},         {"fail", "bad"},         {"failed", "bad"},
        {"invalid", "bad"},       {"wrong", "bad"},        {"timed out", "bad"},
        {"inconclusive", "warn"}, {"interrupted", "warn"}, {"regressed", "bad"},
        {"unjudged", "warn"},     {"stable", "good"},      {"faster", "good"},
        {"step", "bad"},          {"drift", "warn"}};
    const char *cls = "calm";
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++)
        if (kiln_page_is(word, looks[i].word))
            cls = looks[i].cls;
    kiln_page_text(p, "span", kiln_format(p->arena, "pill %s", cls), at, member, word);
}

void kiln_page_fact(kiln_page *p, const char *label) {
    kiln_page_putf(p, "<div><dt>%s</dt><dd>", label);
}

void kiln_page_fact_end(kiln_page *p) { kiln_page_put(p, "</dd></div>\n"); }

void kiln_page_fact_number(kiln_page *p, const char *label, const char *at,
                           const char *member, double v, const kiln_page_unit *u) {
    kiln_page_fact(p, label);
    kiln_page_number(p, "span", at, member, v, u);
    kiln_page_fact_end(p);
}

const char *kiln_page_frame(kiln_page *p, const char *cls) {
    const char *id = kiln_format(p->arena, "c%zu", ++p->n_named);
    kiln_page_putf(p,
                   "<div class=\"scroll%s%s\" role=\"region\" tabindex=\"0\" "
                   "aria-labelledby=\"%s%s%s\">",
                   cls != NULL ? " " : "", cls != NULL ? cls : "", id,
                   p->of != NULL ? " " : "", p->of != NULL ? p->of : "");
    return id;
}

static void begin_table(kiln_page *p, const char *cls, const char *caption) {
    const char *id = kiln_page_frame(p, NULL);
    kiln_page_putf(p,
                   "<table class=\"%s\">\n<caption id=\"%s\">%s</caption>\n"
                   "<thead><tr>",
                   cls, id, caption);
}

void kiln_page_table(kiln_page *p, const char *cls, const char *caption,
                     const char *const *title, size_t n_titles) {
    KILN_ASSERT(n_titles > 0, "the table '%s' has no columns", caption);
    begin_table(p, cls, caption);
    for (size_t i = 0; i < n_titles; i++) {
        const bool is_number = title[i][0] == '#';
        kiln_page_putf(p, "<th scope=\"col\"%s>%s</th>",
                       is_number ? " class=\"n\"" : "", title[i] + is_number);
    }
    kiln_page_put(p, "</tr></thead>\n<tbody>\n");
}

void kiln_page_column_table(kiln_page *p, const char *cls, const char *caption,
                            const kiln_page_column *column, size_t n) {
    KILN_ASSERT(n > 0, "the table '%s' has no columns", caption);
    begin_table(p, cls, caption);
    for (size_t i = 0; i < n; i++) {
        const kiln_page_column *c = &column[i];
        kiln_page_putf(p, "<th scope=\"col\"%s data-col=\"%s\"",
                       c->unit != NULL ? " class=\"n\"" : "", c->member);
        if (c->unit != NULL && c->unit->by != 1)
            kiln_page_putf(p, " data-by=\"%.15g\"", c->unit->by);
        kiln_page_putf(p, ">%s</th>", c->title);
    }
    kiln_page_put(p, "</tr></thead>\n<tbody>\n");
}

void kiln_page_row(kiln_page *p, const char *at) {
    kiln_page_put(p, "<tr");
    kiln_page_base(p, at);
    kiln_page_put(p, ">");
}

void kiln_page_row_end(kiln_page *p) {
    kiln_page_base_end(p);
    kiln_page_put(p, "</tr>\n");
}

void kiln_page_cell_text(kiln_page *p, const char *tag, const char *text) {
    kiln_page_putf(p, "<%s%s>", tag, strcmp(tag, "th") == 0 ? " scope=\"row\"" : "");
    if (text != NULL)
        kiln_page_escape(p, text);
    else
        kiln_page_put(p, "\xE2\x80\x93");
}

void kiln_page_cell_number(kiln_page *p, double v, const kiln_page_unit *u) {
    kiln_page_put(p, "<td>");
    if (is_unknown(v, u))
        kiln_page_put(p, "\xE2\x80\x93");
    else
        put_number(p, v * u->by, u);
}

void kiln_page_table_end(kiln_page *p) { kiln_page_put(p, "</tbody></table></div>\n"); }

void kiln_page_job_name(kiln_page *p, size_t job) {
    KILN_ASSERT(job < p->r->job.n, "job %zu of %zu", job, p->r->job.n);
    const kiln_results_job *j = &p->r->job.v[job];
    const char *at = kiln_page_item(p, "", "jobs", job);
    kiln_page_text(p, "span", NULL, at, "model", j->model);
    kiln_page_put(p, " <span class=\"on\">on ");
    kiln_page_count(p, "span", at, "threads", j->threads);
    kiln_page_put(p, j->threads == 1 ? " thread" : " threads");
    if (!kiln_page_one_profile(p->r)) {
        kiln_page_put(p, ", ");
        kiln_page_text(p, "span", NULL, at, "profile", j->profile);
    }
    kiln_page_put(p, "</span>");
}

bool kiln_page_one_profile(const kiln_results *r) {
    for (size_t i = 0; i < r->job.n; i++)
        if (r->job.v[i].profile == NULL ||
            !kiln_page_is(r->job.v[i].profile, r->job.v[0].profile))
            return false;
    return r->job.n > 0;
}
