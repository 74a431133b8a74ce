/* kiln completion: what a shell offers behind `kiln`, from the verbs' tables. */
#include "cli/cli.h"

#include <string.h>

/* What an option takes is a file where its metavar says so. */
static bool takes_path(const kiln_option *o) {
    static const char *const words[] = {
        "FILE", "DIR", "PACKAGE", "ACCEPTED", "ARCHIVE", "M", "MODEL", ".key", ".pub"};
    for (size_t i = 0; o->metavar != NULL && i < sizeof words / sizeof words[0]; i++)
        if (kiln_str_ends(kiln_str_from(o->metavar), words[i]))
            return true;
    return false;
}

/* Behind a verb that has verbs of its own, they come first. */
static const char *words_of(const kiln_verb *v) {
    static const struct {
        const char *verb, *words;
    } rows[] = {
        {"completion", "bash zsh fish"}, {"help", NULL}, /* the verbs */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].verb, v->name) == 0)
            return rows[i].words;
    return "";
}

static void put_verbs(kiln_buf *out) {
    for (size_t i = 0; kiln_verb_at(i) != NULL; i++)
        kiln_buf_printf(out, "%s%s", i > 0 ? " " : "", kiln_verb_at(i)->name);
}

/* The words behind a verb, NULL for the verbs themselves; "": files. */
static void put_words(kiln_buf *out, const kiln_verb *v, const char *words) {
    if (words == NULL)
        put_verbs(out);
    else
        kiln_buf_puts(out, words);
    for (size_t i = 0; v->sub != NULL && v->sub[i] != NULL; i++)
        kiln_buf_printf(out, "%s%s", i > 0 ? " " : "", kiln_verb_last_word(v->sub[i]));
}

static bool has_words(const kiln_verb *v, const char *words) {
    return words == NULL || words[0] != '\0' || v->sub != NULL;
}

/* Of its own and of its verbs, each name once: v's i-th; NULL: past the end. */
static const kiln_option *option_at(const kiln_verb *v, size_t i) {
    if (i < v->n_options)
        return &v->option[i];
    i -= v->n_options;
    for (size_t s = 0; v->sub != NULL && v->sub[s] != NULL; s++)
        for (size_t o = 0; o < v->sub[s]->n_options; o++) {
            bool is_new = true;
            for (size_t t = 0; t < s; t++)
                for (size_t p = 0; p < v->sub[t]->n_options; p++)
                    is_new = is_new && strcmp(v->sub[t]->option[p].name,
                                              v->sub[s]->option[o].name) != 0;
            if (is_new && i-- == 0)
                return &v->sub[s]->option[o];
        }
    return NULL;
}

static void put_names(kiln_buf *out, const kiln_verb *v) {
    const kiln_option *o;
    for (size_t i = 0; (o = option_at(v, i)) != NULL; i++)
        kiln_buf_printf(out, "%s ", o->name);
    for (size_t i = 0; i < kiln_n_common_options; i++)
        kiln_buf_printf(out, "%s ", kiln_common_option[i].name);
}

/* Options whose value is a path, or (false) another word. */
static void put_valued(kiln_buf *out, const kiln_verb *v, bool are_paths) {
    const kiln_option *o;
    for (size_t i = 0; (o = option_at(v, i)) != NULL; i++)
        if (o->metavar != NULL && takes_path(o) == are_paths)
            kiln_buf_printf(out, "%s ", o->name);
}

/* ---- bash ------------------------------------------------------------------------ */

static void put_bash(kiln_buf *out) {
    kiln_buf_puts(out, "# bash completion for kiln: kiln completion bash\n"
                       "_kiln() {\n"
                       "    local cur=${COMP_WORDS[COMP_CWORD]} "
                       "prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                       "    local verb=${COMP_WORDS[1]} options= words= other=\n"
                       "    COMPREPLY=()\n"
                       "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                       "        COMPREPLY=($(compgen -W '");
    put_verbs(out);
    kiln_buf_puts(out, " --help --version' -- \"$cur\"))\n        return\n    fi\n"
                       "    case $verb in\n");
    for (size_t i = 0; kiln_verb_at(i) != NULL; i++) {
        const kiln_verb *v = kiln_verb_at(i);
        const char *words = words_of(v);
        kiln_buf_printf(out, "    %s)\n        options='", v->name);
        put_names(out, v);
        kiln_buf_puts(out, "--help'\n        other='");
        put_valued(out, v, false);
        kiln_buf_puts(out, "'\n");
        if (has_words(v, words)) {
            kiln_buf_puts(out, "        words='");
            put_words(out, v, words);
            kiln_buf_puts(out, "'\n");
        }
        kiln_buf_puts(out, "        ;;\n");
    }
    kiln_buf_puts(
        out, "    *) return ;;\n"
             "    esac\n"
             "    case $prev in\n"
             "    --color) COMPREPLY=($(compgen -W 'auto always never' -- \"$cur\")); "
             "return ;;\n"
             "    -*) case \" $other \" in *\" $prev \"*) return ;; esac ;;\n"
             "    esac\n"
             "    case $cur in\n"
             "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$cur\")) ;;\n"
             "    *)\n"
             "        if [ -n \"$words\" ]; then\n"
             "            COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
             "        else\n"
             "            compopt -o filenames 2>/dev/null\n"
             "            COMPREPLY=($(compgen -f -- \"$cur\"))\n"
             "        fi\n"
             "        ;;\n"
             "    esac\n"
             "}\n"
             "complete -F _kiln kiln\n");
}

/* ---- zsh ------------------------------------------------------------------------- */

/* Inside single quotes; colons and brackets end a part of _arguments. */
static void put_quoted(kiln_buf *out, const char *text, const char *ends) {
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\'')
            kiln_buf_puts(out, "'\\''");
        else if (strchr(ends, *c) != NULL)
            kiln_buf_printf(out, "\\%c", *c);
        else
            kiln_buf_add(out, c, 1);
    }
}

static void put_zsh_option(kiln_buf *out, const kiln_option *o) {
    kiln_buf_printf(out, "            '%s%s[", o->repeats ? "*" : "", o->name);
    put_quoted(out, o->doc, "[]\\");
    kiln_buf_puts(out, "]");
    if (o->metavar != NULL) {
        kiln_buf_puts(out, ":");
        put_quoted(out, o->metavar, ":\\");
        kiln_buf_printf(out, ":%s", takes_path(o) ? "_files" : "");
    }
    kiln_buf_puts(out, "' \\\n");
}

static void put_zsh(kiln_buf *out) {
    kiln_buf_puts(out, "#compdef kiln\n# zsh completion for kiln: kiln completion zsh\n"
                       "_kiln() {\n    local -a verbs\n    verbs=(\n");
    for (size_t i = 0; kiln_verb_at(i) != NULL; i++) {
        kiln_buf_printf(out, "        '%s:", kiln_verb_at(i)->name);
        put_quoted(out, kiln_verb_at(i)->summary, ":\\");
        kiln_buf_puts(out, "'\n");
    }
    kiln_buf_puts(out, "    )\n    if (( CURRENT == 2 )); then\n"
                       "        _describe 'verb' verbs\n        return\n    fi\n"
                       "    local verb=$words[2]\n    shift words\n"
                       "    (( CURRENT-- ))\n    case $verb in\n");
    for (size_t i = 0; kiln_verb_at(i) != NULL; i++) {
        const kiln_verb *v = kiln_verb_at(i);
        const char *words = words_of(v);
        kiln_buf_printf(out, "    %s)\n        _arguments \\\n", v->name);
        const kiln_option *o;
        for (size_t j = 0; (o = option_at(v, j)) != NULL; j++)
            put_zsh_option(out, o);
        for (size_t j = 0; j < kiln_n_common_options; j++)
            put_zsh_option(out, &kiln_common_option[j]);
        kiln_buf_puts(out, "            '*:argument:");
        if (has_words(v, words)) {
            kiln_buf_puts(out, "(");
            put_words(out, v, words);
            kiln_buf_puts(out, ")'\n");
        } else {
            kiln_buf_puts(out, "_files'\n");
        }
        kiln_buf_puts(out, "        ;;\n");
    }
    kiln_buf_puts(out, "    esac\n}\n"
                       "if [ \"$funcstack[1]\" = _kiln ]; then\n    _kiln \"$@\"\n"
                       "else\n    compdef _kiln kiln\nfi\n");
}

/* ---- fish ------------------------------------------------------------------------ */

static void put_fish_text(kiln_buf *out, const char *z) {
    kiln_buf_puts(out, "'");
    for (const char *c = z; *c != '\0'; c++)
        kiln_buf_printf(out, "%s%c", *c == '\'' || *c == '\\' ? "\\" : "", *c);
    kiln_buf_puts(out, "'");
}

static void put_fish_option(kiln_buf *out, const char *verb, const kiln_option *o) {
    KILN_ASSERT(o->name[0] == '-' && o->name[1] != '\0', "an option '%s'", o->name);
    const bool is_long = kiln_str_starts(kiln_str_from(o->name), "--");
    kiln_buf_printf(out,
                    "complete -c kiln -n '__fish_seen_subcommand_from %s' -%c "
                    "%s",
                    verb, is_long ? 'l' : 's', o->name + (is_long ? 2 : 1));
    if (o->metavar != NULL)
        kiln_buf_puts(out, takes_path(o) ? " -r -F" : " -x");
    kiln_buf_puts(out, " -d ");
    put_fish_text(out, o->doc);
    kiln_buf_puts(out, "\n");
}

static void put_fish(kiln_buf *out) {
    kiln_buf_puts(out, "# fish completion for kiln: kiln completion fish\n");
    for (size_t i = 0; kiln_verb_at(i) != NULL; i++) {
        const kiln_verb *v = kiln_verb_at(i);
        const char *words = words_of(v);
        kiln_buf_printf(out, "complete -c kiln -f -n __fish_use_subcommand -a %s -d ",
                        v->name);
        put_fish_text(out, v->summary);
        kiln_buf_puts(out, "\n");
        const kiln_option *o;
        for (size_t j = 0; (o = option_at(v, j)) != NULL; j++)
            put_fish_option(out, v->name, o);
        for (size_t j = 0; j < kiln_n_common_options; j++)
            put_fish_option(out, v->name, &kiln_common_option[j]);
        if (!has_words(v, words))
            continue;
        kiln_buf_printf(out,
                        "complete -c kiln -f -n '__fish_seen_subcommand_from %s' -a"
                        " '",
                        v->name);
        put_words(out, v, words);
        kiln_buf_puts(out, "'\n");
    }
}

/* ---- the verb -------------------------------------------------------------------- */

static const struct shell {
    const char *name;
    void (*put)(kiln_buf *out);
} shells[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    kiln_buf out;
    (void)exit_code;
    kiln_buf_init(&out, args->arena);
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++)
        if (strcmp(shells[i].name, args->pos[0]) == 0) {
            shells[i].put(&out);
            return kiln_cli_output(NULL, kiln_buf_str(&out), err);
        }
    return kiln_fail(err, KILN_ERR_ARG, "the shell must be bash, zsh or fish, is '%s'",
                     kiln_str_printable(args->arena, kiln_str_from(args->pos[0]), 64));
}

const kiln_verb kiln_verb_completion = {
    .name = "completion",
    .summary = "write what a shell needs to complete kiln's commands",
    .usage = "bash|zsh|fish",
    .example = "  source <(kiln completion bash)\n"
               "  kiln completion zsh > \"${fpath[1]}/_kiln\"\n"
               "  kiln completion fish > ~/.config/fish/completions/kiln.fish\n",
    .n_pos_min = 1,
    .n_pos_max = 1,
    .run = run,
};
