/* cli: one file per verb (verbs.def): parse arguments, call the folder that does the
 * work, print.
 *
 * stdout carries data only; messages go to stderr; only main.c prints an error chain.
 * Exit codes: 0 good, 1 a check or gate failed, 2 wrong usage, 3 bad input, 4
 * environment or device, 5 a bug in kiln, 6 nothing could be compared, 7 interrupted.
 */
#ifndef KILN_CLI_CLI_H
#define KILN_CLI_CLI_H

#include "base/base.h"
#include "compiler/frontend/frontend.h"
#include "packager/packager.h"

enum {
    KILN_EXIT_OK = 0,
    KILN_EXIT_CHECK = 1,
    KILN_EXIT_USAGE = 2,
    KILN_EXIT_INPUT = 3,
    KILN_EXIT_ENVIRONMENT = 4,
    KILN_EXIT_BUG = 5,
    KILN_EXIT_INVALID = 6,
    KILN_EXIT_INTERRUPTED = 7,
};

/* One option of a verb. */
typedef struct kiln_option {
    const char *name;    /* "--shape" */
    const char *metavar; /* "NAME:DIMS"; NULL: a flag */
    const char *doc;
    bool repeats; /* may be given more than once */
} kiln_option;

/* What the user gave, by the option's index in the verb's table. */
typedef struct kiln_cli_args {
    kiln_arena *arena;      /* lives as long as the verb runs */
    const char *const *pos; /* positional arguments */
    size_t n_pos;
    const char ***value; /* per option: its values in order; a flag's value is "" */
    size_t *n_value;
    size_t n_options;  /* of the verb's own table */
    bool is_quiet;     /* --quiet */
    const char *color; /* --color: "auto", "always", "never" */
} kiln_cli_args;

typedef struct kiln_verb {
    const char *name;    /* "device serve", of one of another's */
    const char *summary; /* one line, for `kiln --help` */
    const char *usage;   /* after the verb: "MODEL [options]" */
    const char *example; /* whole command lines */
    size_t n_pos_min, n_pos_max;
    bool takes_oci; /* packages may be named by "oci:DIR:TAG" (docs/oci.md) */
    const kiln_option *option;
    size_t n_options;
    /* Verbs of its own, each with its options, NULL behind the last one: kiln device serve.
     * `run` is what is left: the first argument is none of them. */
    const struct kiln_verb *const *sub;
    /* Returns KILN_OK and sets *exit_code, or fails (main prints the chain and maps the
     * status). */
    kiln_status (*run)(const kiln_cli_args *args, int *exit_code, kiln_err *err);
} kiln_verb;

#define KILN_VERB(name) extern const kiln_verb kiln_verb_##name;
#include "cli/verbs.def"
#undef KILN_VERB

/* Options that every verb has besides its own. */
extern const kiln_option kiln_common_option[];
extern const size_t kiln_n_common_options;
/* By its place in verbs.def; NULL past the end. */
const kiln_verb *kiln_verb_at(size_t i);
const kiln_verb *kiln_verb_find(const char *name); /* NULL: none */
/* Of v's own verbs the one that argv begins with, else v itself; *n_taken: words. */
const kiln_verb *kiln_verb_descend(const kiln_verb *v, int argc,
                                   const char *const *argv, int *n_taken);
/* "serve" of "device serve". */
const char *kiln_verb_last_word(const kiln_verb *v);
/* Fails, and names the verb that may have been meant. */
kiln_status kiln_verb_unknown(const char *name, kiln_err *err);
/* kiln --help. */
void kiln_cli_help(kiln_buf *out);

/* Parses argv behind the verb. KILN_ERR_ARG names the option and, where one is close,
 * the option that may have been meant. *wants_help is set by --help (then nothing else
 * is checked). */
kiln_status kiln_args_parse(kiln_arena *a, const kiln_verb *v, int argc,
                            const char *const *argv, kiln_cli_args *out,
                            bool *wants_help, kiln_err *err);
bool kiln_args_has(const kiln_cli_args *args, int option);
/* The last value given, or `otherwise`. */
const char *kiln_args_get(const kiln_cli_args *args, int option, const char *otherwise);
void kiln_verb_text(const kiln_verb *v, kiln_buf *out);
/* Of two words, insertions, deletions and exchanges counted one each; cut at 64
 * letters. */
int kiln_edit_distance(const char *a, const char *b);

/* An option's whole number; KILN_ERR_ARG names the option and the range. */
kiln_status kiln_cli_number(const char *text, const char *option, int min, int max,
                            int *out, kiln_err *err);

/* An option's share of a hundred, "5%" or "5", as 0.05; *out stays as it is where the
 * option is not given. KILN_ERR_ARG unless it is above 0 and at most `most` percent. */
kiln_status kiln_cli_percent(const kiln_cli_args *args, int option, const char *name,
                             double most, double *out, kiln_err *err);

/* An option's time, "90", "90s", "15m" or "2h", in seconds; *out stays as it is where
 * the option is not given. */
kiln_status kiln_cli_seconds(const kiln_cli_args *args, int option, const char *name,
                             double *out, kiln_err *err);

int kiln_exit_code(kiln_status status);

/* "x:1x3x224x224" (the last colon separates) and "sr=16000", "x=file.npy". */
kiln_status kiln_cli_shape_binding(kiln_arena *a, const char *text,
                                   kiln_shape_binding *out, kiln_err *err);
kiln_status kiln_cli_value_binding(kiln_arena *a, const char *model, const char *text,
                                   kiln_value_binding *out, kiln_err *err);
/* The same for an input that a package was built with a value for. */
kiln_status kiln_cli_package_binding(kiln_arena *a, const kiln_package_facts *f,
                                     const char *text, kiln_value_binding *out,
                                     kiln_err *err);
/* Where a verb has what it says of a model's import; -1: nowhere. */
typedef struct kiln_cli_import_at {
    int shape, bind, signature, state, rounding;
} kiln_cli_import_at;
/* What the options at those indexes of `args` say. */
kiln_status kiln_cli_import_options(const kiln_cli_args *args, const char *model,
                                    const kiln_cli_import_at *at,
                                    kiln_import_options *out, kiln_err *err);
#define KILN_SIGNATURE_OPTION                                                          \
    { "--signature", "NAME", "which of a SavedModel's signatures", false }
#define KILN_STATE_OPTION                                                              \
    {                                                                                  \
        "--state", NULL,                                                               \
            "what the model keeps from one run to the next becomes inputs and "        \
            "outputs",                                                                 \
            false                                                                      \
    }
#define KILN_ROUNDING_OPTION                                                           \
    {                                                                                  \
        "--rounding", "WAY",                                                           \
            "a TFLite model's integers round as its interpreter does by 'default', "   \
            "or "                                                                      \
            "as its 'reference' kernels do",                                           \
            false                                                                      \
    }

/* Writes text to stdout, or atomically to a file when `path` is not NULL and not "-".
 */
kiln_status kiln_cli_output(const char *path, kiln_str text, kiln_err *err);

/* ---- screen.c: what people see besides results ----------------------------------- */

/* From now on whoever tells of progress (base/diagnostics/progress.h) is shown on
 * stderr: on a terminal, and elsewhere now and then, as $KILN_PROGRESS says otherwise,
 * unless the verb is quiet. */
void kiln_cli_screen_open(const kiln_cli_args *args);
void kiln_cli_screen_close(void);
/* Notes, to stderr: names in them cannot speak to the terminal. */
void kiln_cli_say(const char *fmt, ...) KILN_PRINTF(1, 2);
/* Text for people to stdout, verdicts in colour where somebody sees it. */
kiln_status kiln_cli_print(kiln_arena *a, kiln_str text, kiln_err *err);
void kiln_cli_print_error(const char *chain);

/* A verb's result: text for people, JSON for programs; both live in an arena. */
typedef struct kiln_cli_answer {
    kiln_buf text, json;
    kiln_json_writer w; /* writes to `json` */
} kiln_cli_answer;
/* Not moved afterwards: the writer points into it. */
void kiln_cli_answer_init(kiln_cli_answer *r, kiln_arena *a);
/* `json` (with an end of line) to the file that the option names, where it is given;
 * `text` to stdout unless that has the JSON. */
kiln_status kiln_cli_answer_give(kiln_cli_answer *r, const kiln_cli_args *args,
                                 int json_option, kiln_err *err);

#endif
