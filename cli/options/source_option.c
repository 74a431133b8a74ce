#include "cli/options/source_option.h"

#include <string.h>

static const char *shown(const kiln_cli_args *args, const char *text) {
    return kiln_str_printable(args->arena, kiln_str_from(text), 64);
}

static const char *const format_word[] = {[KILN_CSOURCE_C] = "c",
                                          [KILN_CSOURCE_SHARED] = "shared",
                                          [KILN_CSOURCE_STATIC] = "static"};
enum { N_FORMATS = sizeof format_word / sizeof format_word[0] };

kiln_status kiln_cli_source_options(const kiln_cli_args *args, int format, int params,
                                    int out, const kiln_option *option,
                                    const int *archive, size_t n_archive,
                                    kiln_cli_source *o, kiln_err *err) {
    const char *word = kiln_args_get(args, format, "package");
    const char *how = kiln_args_get(args, params, "c");
    *o = (kiln_cli_source){.is_source = false};
    for (int i = 0; i < N_FORMATS; i++)
        if (strcmp(word, format_word[i]) == 0) {
            o->is_source = true;
            o->options.format = (kiln_csource_format)i;
        }
    if (!o->is_source && strcmp(word, "package") != 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "--format must be package, c, shared or static, is '%s'",
                         shown(args, word));
    if (strcmp(how, "c") != 0 && strcmp(how, "blob") != 0)
        return kiln_fail(err, KILN_ERR_ARG, "--params must be c or blob, is '%s'",
                         shown(args, how));
    if ((!o->is_source || o->options.format != KILN_CSOURCE_C) &&
        kiln_args_has(args, params))
        return kiln_fail(err, KILN_ERR_ARG, "--params is for --format c");
    if (!o->is_source)
        return KILN_OK;
    for (size_t i = 0; i < n_archive; i++)
        if (kiln_args_has(args, archive[i]))
            return kiln_fail(err, KILN_ERR_ARG,
                             "%s is of archives: leave it out, or --format %s",
                             option[archive[i]].name, word);
    o->options.folder = kiln_args_get(args, out, ".");
    o->options.params =
        how[0] == 'c' ? KILN_CSOURCE_PARAMS_C : KILN_CSOURCE_PARAMS_BLOB;
    return KILN_OK;
}

kiln_status kiln_cli_source_write(const kiln_cli_args *args, const kiln_source *s,
                                  const kiln_expectation *e, const kiln_profile *p,
                                  const kiln_cli_source *o, kiln_err *err) {
    kiln_csource made;
    kiln_buf text;
    kiln_buf_init(&text, args->arena);
    KILN_ASSERT(o->is_source, "an archive is asked for, not its source");
    KILN_TRY(kiln_csource_write(args->arena, s, e, p, &o->options, &made, err));
    kiln_csource_text(&text, &made);
    return kiln_cli_print(args->arena, kiln_buf_str(&text), err);
}
