/* Manual pages (man(7)): made of the same tables as --help. */
#include "cli/help/manual.h"

#include <ctype.h>

/* ---- text of roff ---------------------------------------------------------------- */

/* A line that begins with a point or a quote would be a request; hyphens that one types
 * are not those of a text. */
static void put_text(kiln_buf *out, kiln_str s) {
    bool begins = true;
    for (size_t i = 0; i < s.n; i++) {
        const char c = s.p[i];
        if (begins && (c == '.' || c == '\''))
            kiln_buf_puts(out, "\\&");
        if (c == '\\')
            kiln_buf_puts(out, "\\e");
        else if (c == '-')
            kiln_buf_puts(out, "\\-");
        else if (c == '~')
            kiln_buf_puts(out, "\\(ti");
        else if (c == '^')
            kiln_buf_puts(out, "\\(ha");
        else if (c == '\'')
            kiln_buf_puts(out, "\\(aq");
        else
            kiln_buf_add(out, &c, 1);
        begins = c == '\n';
    }
}

static void put_words(kiln_buf *out, const char *z) { put_text(out, kiln_str_from(z)); }

static void put_head(kiln_buf *out, const char *name, const char *summary) {
    kiln_buf_puts(out, ".TH ");
    for (const char *c = name; *c != '\0'; c++)
        kiln_buf_printf(out, "%c", toupper((unsigned char)*c));
    kiln_buf_printf(out, " 1 \"\" \"kiln %s\" \"kiln\"\n.SH NAME\n", KILN_VERSION);
    put_words(out, name);
    kiln_buf_puts(out, " \\- ");
    put_words(out, summary);
    kiln_buf_puts(out, "\n");
}

static void put_options(kiln_buf *out, const kiln_option *option, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const kiln_option *o = &option[i];
        kiln_buf_puts(out, ".TP\n\\fB");
        put_words(out, o->name);
        kiln_buf_puts(out, "\\fR");
        if (o->metavar != NULL) {
            kiln_buf_puts(out, " \\fI");
            put_words(out, o->metavar);
            kiln_buf_puts(out, "\\fR");
        }
        kiln_buf_puts(out, "\n");
        put_words(out, o->doc);
        kiln_buf_printf(out, "%s\n", o->repeats ? " (may be repeated)" : "");
    }
}

static void put_example(kiln_buf *out, const char *example) {
    kiln_str rest = kiln_str_from(example), line;
    kiln_buf_puts(out, ".SH EXAMPLES\n.nf\n");
    while (kiln_str_cut(&rest, '\n', &line)) {
        line = kiln_str_trim(line);
        if (line.n == 0)
            continue;
        put_text(out, line);
        kiln_buf_puts(out, "\n");
    }
    kiln_buf_puts(out, ".fi\n");
}

static void put_codes(kiln_buf *out) {
    static const struct {
        int code;
        const char *means;
    } codes[] = {
        {KILN_EXIT_OK, "good"},
        {KILN_EXIT_CHECK, "a check or a gate failed"},
        {KILN_EXIT_USAGE, "wrong usage"},
        {KILN_EXIT_INPUT, "bad input"},
        {KILN_EXIT_ENVIRONMENT, "environment or device"},
        {KILN_EXIT_BUG, "a bug in kiln"},
        {KILN_EXIT_INVALID, "a gate could not compare"},
        {KILN_EXIT_INTERRUPTED, "interrupted: the same command goes on"},
    };
    _Static_assert(sizeof codes / sizeof codes[0] == KILN_EXIT_INTERRUPTED + 1,
                   "a row for each exit code");
    kiln_buf_puts(out, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        kiln_buf_printf(out, ".TP\n%d\n%s\n", codes[i].code, codes[i].means);
}

/* ---- pages ----------------------------------------------------------------------- */

/* "kiln-device-serve": of a page. */
static const char *page_name(kiln_arena *a, const kiln_verb *v) {
    char *name = kiln_format(a, "kiln-%s", v->name);
    for (char *c = name; *c != '\0'; c++)
        *c = *c == ' ' ? '-' : *c;
    return name;
}

/* A line for each: its page and what it does. */
static void put_see(kiln_buf *out, const kiln_verb *v) {
    kiln_buf_puts(out, ".TP\n.BR ");
    put_words(out, page_name(out->arena, v));
    kiln_buf_puts(out, " (1)\n");
    put_words(out, v->summary);
    kiln_buf_puts(out, "\n");
}

static void put_verb(kiln_buf *out, const kiln_verb *v) {
    put_head(out, page_name(out->arena, v), v->summary);
    kiln_buf_printf(out, ".SH SYNOPSIS\n\\fBkiln %s\\fR ", v->name);
    put_words(out, v->usage);
    kiln_buf_puts(out, "\n");
    if (v->sub != NULL)
        kiln_buf_puts(out, ".SH VERBS\n");
    for (size_t i = 0; v->sub != NULL && v->sub[i] != NULL; i++)
        put_see(out, v->sub[i]);
    if (v->n_options > 0)
        kiln_buf_puts(out, ".SH OPTIONS\n");
    put_options(out, v->option, v->n_options);
    kiln_buf_puts(out, ".SH OPTIONS OF EVERY VERB\n");
    put_options(out, kiln_common_option, kiln_n_common_options);
    put_example(out, v->example);
    put_codes(out);
    kiln_buf_puts(out, ".SH SEE ALSO\n.BR kiln (1)\n");
}

static void put_kiln(kiln_buf *out) {
    put_head(out, "kiln", "compile, tune, measure and pack neural networks");
    kiln_buf_puts(out, ".SH SYNOPSIS\n\\fBkiln\\fR \\fIVERB\\fR [\\fIarguments\\fR]\n"
                       ".SH VERBS\n");
    for (size_t i = 0; kiln_verb_at(i) != NULL; i++)
        put_see(out, kiln_verb_at(i));
    kiln_buf_puts(out, ".SH OPTIONS OF EVERY VERB\n");
    put_options(out, kiln_common_option, kiln_n_common_options);
    put_codes(out);
    kiln_buf_puts(
        out, ".SH ENVIRONMENT\n"
             ".TP\n.B KILN_DB\nthe tuning database\n"
             ".TP\n.B KILN_CACHE\nwhere fetched models are kept\n"
             ".TP\n.B KILN_LOG\nwhat is logged: \\fItopic\\fR=\\fIlevel\\fR, or a "
             "level: \\fBfusion=debug\\fR says "
             "why values go through memory, \\fBchoose=debug\\fR which templates were "
             "taken\n"
             ".TP\n.B KILN_PROGRESS\nhow progress is shown: \\fBterminal\\fR, "
             "\\fBplain\\fR, \\fBlines\\fR (for programs) or \\fBquiet\\fR\n"
             ".TP\n.B NO_COLOR\nno colours, unless \\fB\\-\\-color always\\fR asks\n");
}

static kiln_status write_page(kiln_arena *a, const char *dir, const kiln_verb *v,
                              kiln_err *err) {
    const char *name = v != NULL ? kiln_format(a, "%s.1", page_name(a, v)) : "kiln.1";
    kiln_buf page;
    kiln_buf_init(&page, a);
    if (v != NULL)
        put_verb(&page, v);
    else
        put_kiln(&page);
    return kiln_file_write(kiln_path_join(a, dir, name), page.p, page.n, err);
}

kiln_status kiln_manual_write(kiln_arena *a, const char *dir, kiln_err *err) {
    KILN_TRY(kiln_dir_make(dir, err));
    KILN_TRY(write_page(a, dir, NULL, err));
    for (size_t i = 0; kiln_verb_at(i) != NULL; i++) {
        const kiln_verb *v = kiln_verb_at(i);
        KILN_TRY(write_page(a, dir, v, err));
        for (size_t j = 0; v->sub != NULL && v->sub[j] != NULL; j++)
            KILN_TRY(write_page(a, dir, v->sub[j], err));
    }
    return KILN_OK;
}
