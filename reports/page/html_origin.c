/* Where configurations come from: a colour and an explanation for each word. Steps and
 * the coverage ledger have the ledger's words (docs/build-json.md), lists of operators
 * those of `kiln bench --ops`. */
#include "reports/page/html_page.h"

enum { N_COLOURS = 5 };

/* From the best to the least known. */
static const struct origin {
    const char *word;
    int colour; /* class o0, o1, ... */
    const char *means;
} origins[] = {
    {"tuned", 0, "the best of a search for this very work"},
    {"timed", 1, "measured for this very work, and nothing else was tried"},
    {"transferred", 1, "measured for work like it, or on a relative of this machine"},
    {"predicted", 2, "what the cost model likes best"},
    {"table", 3, "ships with kiln, found by hand"},
    {"file", 3, "given by --config-file"},
    {"default", 3, "ships with kiln, or the kernel's own rule"},
    {"guess", 4, "the kernel's own rule; nobody measured it"},
    {"generic", 4, "a plain kernel that fits every operator"},
};
enum { N_ORIGINS = sizeof origins / sizeof origins[0] };

int kiln_page_origin_colour(const char *word) {
    for (int i = 0; i < N_ORIGINS; i++)
        if (kiln_page_is(word, origins[i].word))
            return origins[i].colour;
    return N_COLOURS - 1; /* every other word */
}

void kiln_page_origin(kiln_page *p, const char *tag, const char *at,
                      const char *origin) {
    kiln_page_putf(p, "<%s%s>", tag, kiln_page_is(tag, "th") ? " scope=\"row\"" : "");
    if (origin != NULL)
        kiln_page_putf(p, "<span class=\"key o%d\"></span>",
                       kiln_page_origin_colour(origin));
    kiln_page_text(p, "span", NULL, at, "origin", origin);
    kiln_page_putf(p, "</%s>", tag);
}

void kiln_page_origin_keys(kiln_page *p, bool (*has)(const void *of, const char *word),
                           const void *of) {
    for (int i = 0; i < N_ORIGINS; i++)
        if (has(of, origins[i].word))
            kiln_page_putf(p, "<li><span class=\"key o%d\"></span>%s</li>\n",
                           origins[i].colour, origins[i].word);
}

static bool has_origin(const kiln_results *r, const char *word) {
    for (size_t i = 0; i < r->job.n; i++) {
        const kiln_results_job *j = &r->job.v[i];
        for (size_t k = 0; k < j->step.n; k++)
            if (kiln_page_is(j->step.v[k].origin, word))
                return true;
        for (size_t k = 0; k < j->coverage.n; k++)
            if (kiln_page_is(j->coverage.v[k].origin, word))
                return true;
    }
    for (size_t i = 0; i < r->ops.n; i++)
        for (size_t k = 0; k < r->ops.v[i].row.n; k++)
            if (kiln_page_is(r->ops.v[i].row.v[k].origin, word))
                return true;
    return false;
}

void kiln_page_origin_note(kiln_page *p) {
    bool is_first = true;
    for (int i = 0; i < N_ORIGINS; i++) {
        if (!has_origin(p->r, origins[i].word))
            continue;
        kiln_page_putf(p, "%s<li><span class=\"key o%d\"></span><b>%s</b>: %s</li>\n",
                       is_first ? "<p>Where configurations come from:</p>\n"
                                  "<ul class=\"counts note\">\n"
                                : "",
                       origins[i].colour, origins[i].word, origins[i].means);
        is_first = false;
    }
    kiln_page_put(p, is_first ? "" : "</ul>\n");
}
