/* kiln help: of kiln, of one verb; and all of it as manual pages. */
#include "cli/help/manual.h"

enum { OPT_MAN, N_OPTIONS };

static const kiln_option options[N_OPTIONS] = {
    [OPT_MAN] = {"--man", "DIR",
                 "write a manual page for kiln and one for each verb into DIR: "
                 "kiln.1, kiln-build.1, ...",
                 false},
};

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    kiln_buf text;
    (void)exit_code;
    if (kiln_args_has(args, OPT_MAN) && args->n_pos > 0)
        return kiln_fail(err, KILN_ERR_ARG, "--man writes the pages of all verbs");
    if (kiln_args_has(args, OPT_MAN))
        return kiln_manual_write(args->arena, kiln_args_get(args, OPT_MAN, NULL), err);
    kiln_buf_init(&text, args->arena);
    if (args->n_pos == 0) {
        kiln_cli_help(&text);
    } else {
        const kiln_verb *v = kiln_verb_find(args->pos[0]);
        int n = 0;
        if (v == NULL)
            return kiln_verb_unknown(args->pos[0], err);
        v = kiln_verb_descend(v, (int)args->n_pos - 1, args->pos + 1, &n);
        if (args->n_pos != (size_t)n + 1)
            return kiln_fail(
                err, KILN_ERR_ARG,
                "kiln %s has no verb '%s' of its own; see kiln %s --help", v->name,
                kiln_str_printable(args->arena, kiln_str_from(args->pos[1]), 64),
                v->name);
        kiln_verb_text(v, &text);
    }
    return kiln_cli_output(NULL, kiln_buf_str(&text), err);
}

const kiln_verb kiln_verb_help = {
    .name = "help",
    .summary = "explain kiln or one verb, or write manual pages",
    .usage = "[VERB [VERB]] | --man DIR",
    .example = "  kiln help tune\n"
               "  kiln help --man ~/.local/share/man/man1\n",
    .n_pos_max = 2,
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
