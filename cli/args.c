/* Options of a verb, by its table: long names only, `--name value` and `--name=value`;
 * `--` ends them. */
#include "cli/cli.h"

#include <limits.h>
#include <string.h>

enum { MAX_WORD = 64 };

int kiln_edit_distance(const char *a, const char *b) {
    int row[MAX_WORD + 1];
    const int n = (int)strnlen(b, MAX_WORD);
    for (int j = 0; j <= n; j++)
        row[j] = j;
    for (int i = 1; a[i - 1] != '\0' && i <= MAX_WORD; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            const int above = row[j];
            int best = diagonal + (a[i - 1] != b[j - 1]);
            if (above + 1 < best)
                best = above + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
            diagonal = above;
        }
    }
    return row[n];
}

enum { COMMON_QUIET, COMMON_COLOR, N_COMMON };
const kiln_option kiln_common_option[] = {
    [COMMON_QUIET] = {"--quiet", NULL,
                      "show no progress; results, notes and errors stay", false},
    [COMMON_COLOR] = {"--color", "WHEN",
                      "colour verdicts: auto (on a terminal), always or never", false},
};
const size_t kiln_n_common_options = N_COMMON;

static int find_option(const kiln_option *option, size_t n, kiln_str name) {
    for (size_t i = 0; i < n; i++)
        if (kiln_str_is(name, option[i].name))
            return (int)i;
    return -1;
}

/* Of every verb: the same of each. */
static kiln_status take_common(kiln_cli_args *out, const char *name, const char *value,
                               kiln_err *err) {
    out->is_quiet =
        out->is_quiet || strcmp(name, kiln_common_option[COMMON_QUIET].name) == 0;
    if (strcmp(name, kiln_common_option[COMMON_COLOR].name) != 0)
        return KILN_OK;
    if (strcmp(value, "auto") != 0 && strcmp(value, "always") != 0 &&
        strcmp(value, "never") != 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "--color must be auto, always or never, is '%s'",
                         kiln_str_printable(out->arena, kiln_str_from(value), 64));
    out->color = value;
    return KILN_OK;
}

static kiln_status unknown_option(kiln_arena *a, const kiln_verb *v, kiln_str name,
                                  kiln_err *err) {
    const char *word = kiln_str_printable(a, name, MAX_WORD);
    const char *near = NULL;
    int near_distance = 4; /* farther words are no typing errors */
    for (size_t i = 0; i < v->n_options + N_COMMON; i++) {
        const char *name_i = i < v->n_options
                                 ? v->option[i].name
                                 : kiln_common_option[i - v->n_options].name;
        const int d = kiln_edit_distance(word, name_i);
        if (d < near_distance) {
            near_distance = d;
            near = name_i;
        }
    }
    if (near != NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "kiln %s has no option '%s'; did you mean '%s'?", v->name,
                         word, near);
    return kiln_fail(err, KILN_ERR_ARG,
                     "kiln %s has no option '%s'; see kiln %s --help", v->name, word,
                     v->name);
}

static kiln_status check_positional(const kiln_verb *v, size_t n, kiln_err *err) {
    if (n >= v->n_pos_min && n <= v->n_pos_max)
        return KILN_OK;
    const bool few = n < v->n_pos_min;
    const size_t limit = few ? v->n_pos_min : v->n_pos_max;
    return kiln_fail(err, KILN_ERR_ARG,
                     "kiln %s takes at %s %zu argument%s, %zu given; usage: kiln %s %s",
                     v->name, few ? "least" : "most", limit, limit == 1 ? "" : "s", n,
                     v->name, v->usage);
}

/* One option at argv[*i]; steps over its value. */
static kiln_status take_option(const kiln_verb *v, int argc, const char *const *argv,
                               int *i, kiln_cli_args *out, kiln_err *err) {
    kiln_str rest = kiln_str_from(argv[*i]), name;
    const bool has_value = kiln_str_cut(&rest, '=', &name) && name.n < strlen(argv[*i]);
    const int o = find_option(v->option, v->n_options, name);
    const int common = find_option(kiln_common_option, N_COMMON, name);
    KILN_ASSERT(o < 0 || common < 0, "kiln %s hides every verb's option '%s'", v->name,
                v->option[o].name);
    const kiln_option *opt = common >= 0 ? &kiln_common_option[common] : NULL;
    if (o >= 0)
        opt = &v->option[o];
    if (opt == NULL)
        return unknown_option(out->arena, v, name, err);
    const char *value = "";
    if (opt->metavar == NULL && has_value)
        return kiln_fail(err, KILN_ERR_ARG, "option '%s' takes no value", opt->name);
    if (opt->metavar != NULL) {
        if (has_value)
            value = argv[*i] + name.n + 1;
        else if (*i + 1 < argc)
            value = argv[++*i];
        else
            return kiln_fail(err, KILN_ERR_ARG, "option '%s' needs a value: %s %s",
                             opt->name, opt->name, opt->metavar);
    }
    if (o < 0)
        return take_common(out, opt->name, value, err);
    if (out->n_value[o] > 0 && !opt->repeats)
        return kiln_fail(err, KILN_ERR_ARG, "option '%s' is given twice", opt->name);
    out->value[o][out->n_value[o]++] = value;
    return KILN_OK;
}

kiln_status kiln_args_parse(kiln_arena *a, const kiln_verb *v, int argc,
                            const char *const *argv, kiln_cli_args *out,
                            bool *wants_help, kiln_err *err) {
    KILN_ASSERT(v->n_options == 0 || v->option != NULL, "kiln %s has no table",
                v->name);
    KILN_ASSERT(v->n_pos_min <= v->n_pos_max, "kiln %s takes %zu to %zu arguments",
                v->name, v->n_pos_min, v->n_pos_max);
    const size_t n_args = argc > 0 ? (size_t)argc : 0;
    const char **pos = kiln_array(a, const char *, n_args + 1);
    *out = (kiln_cli_args){
        .arena = a, .pos = pos, .n_options = v->n_options, .color = "auto"};
    out->value = kiln_array(a, const char **, v->n_options + 1);
    out->n_value = kiln_array(a, size_t, v->n_options + 1);
    for (size_t o = 0; o < v->n_options; o++)
        out->value[o] = kiln_array(a, const char *, n_args + 1);
    *wants_help = false;

    bool options_ended = false;
    for (int i = 0; i < argc; i++) {
        const bool is_option =
            !options_ended && argv[i][0] == '-' && argv[i][1] != '\0';
        if (is_option &&
            (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)) {
            *wants_help = true;
            return KILN_OK;
        }
        if (is_option && strcmp(argv[i], "--") == 0)
            options_ended = true;
        else if (is_option)
            KILN_TRY(take_option(v, argc, argv, &i, out, err));
        else
            pos[out->n_pos++] = argv[i];
    }
    return check_positional(v, out->n_pos, err);
}

static void assert_option(const kiln_cli_args *args, int option) {
    KILN_ASSERT(option >= 0 && (size_t)option < args->n_options,
                "option %d of a table of %zu", option, args->n_options);
}

bool kiln_args_has(const kiln_cli_args *args, int option) {
    assert_option(args, option);
    return args->n_value[option] > 0;
}

const char *kiln_args_get(const kiln_cli_args *args, int option,
                          const char *otherwise) {
    assert_option(args, option);
    const size_t n = args->n_value[option];
    return n > 0 ? args->value[option][n - 1] : otherwise;
}

kiln_status kiln_cli_number(const char *text, const char *option, int min, int max,
                            int *out, kiln_err *err) {
    int64_t n;
    KILN_ASSERT(min <= max, "%s from %d to %d", option, min, max);
    if (!kiln_parse_i64(kiln_str_from(text), &n) || n < min || n > max)
        return kiln_fail(err, KILN_ERR_ARG,
                         "%s must be a number from %d to %d, is '%.64s'", option, min,
                         max, text);
    *out = (int)n;
    return KILN_OK;
}

kiln_status kiln_cli_percent(const kiln_cli_args *args, int option, const char *name,
                             double most, double *out, kiln_err *err) {
    const char *text = kiln_args_get(args, option, NULL);
    double percent = 0;
    kiln_str s = kiln_str_from(text);
    if (text == NULL)
        return KILN_OK;
    if (kiln_str_ends(s, "%"))
        s.n--;
    if (!kiln_parse_f64(s, &percent) || !(percent > 0) || percent > most)
        return kiln_fail(err, KILN_ERR_ARG,
                         "%s must be a share above 0%%, at most %g%%, such as 5%%, is "
                         "'%s'",
                         name, most,
                         kiln_str_printable(args->arena, kiln_str_from(text), 64));
    *out = percent / 100;
    KILN_ASSERT(*out > 0 && *out <= most / 100, "%s is a share of %g", name, *out);
    return KILN_OK;
}

kiln_status kiln_cli_seconds(const kiln_cli_args *args, int option, const char *name,
                             double *out, kiln_err *err) {
    const char *text = kiln_args_get(args, option, NULL);
    kiln_str s = kiln_str_from(text);
    double unit = 1;
    if (text == NULL)
        return KILN_OK;
    if (s.n > 1) {
        const char last = s.p[s.n - 1];
        unit = last == 'h' ? 3600 : last == 'm' ? 60 : 1;
        s.n -= last == 'h' || last == 'm' || last == 's';
    }
    if (!kiln_parse_f64(s, out) || !(*out > 0) || *out * unit > 1e7)
        return kiln_fail(err, KILN_ERR_ARG,
                         "%s must be a time such as 90s, 15m or 2h, is '%s'", name,
                         kiln_str_printable(args->arena, kiln_str_from(text), 64));
    *out *= unit;
    KILN_ASSERT(*out > 0 && *out <= 1e7, "%s is %g s", name, *out);
    return KILN_OK;
}

static void put_options(kiln_buf *out, const char *title, const kiln_option *option,
                        size_t n) {
    if (n > 0)
        kiln_buf_printf(out, "\n%s:\n", title);
    for (size_t i = 0; i < n; i++) {
        const kiln_option *o = &option[i];
        KILN_ASSERT(o->name[0] == '-' && o->doc != NULL, "row %zu of '%s'", i, title);
        const char *left =
            kiln_format(out->arena, "%s%s%s", o->name, o->metavar != NULL ? " " : "",
                        o->metavar != NULL ? o->metavar : "");
        kiln_buf_printf(out, "  %-26s %s%s\n", left, o->doc,
                        o->repeats ? " (may be repeated)" : "");
    }
}

void kiln_verb_text(const kiln_verb *v, kiln_buf *out) {
    kiln_buf_printf(out, "kiln %s: %s\n\nusage: kiln %s %s\n", v->name, v->summary,
                    v->name, v->usage);
    if (v->sub != NULL)
        kiln_buf_puts(out, "\nverbs:\n");
    for (size_t i = 0; v->sub != NULL && v->sub[i] != NULL; i++)
        kiln_buf_printf(out, "  %-10s %s\n", kiln_verb_last_word(v->sub[i]),
                        v->sub[i]->summary);
    put_options(out, "options", v->option, v->n_options);
    put_options(out, "options of every verb", kiln_common_option, N_COMMON);
    kiln_buf_printf(out, "\nexample:\n%s", v->example);
}
