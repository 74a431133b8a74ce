/* The program: finds the verb, parses its arguments, runs it, prints the error chain,
 * maps the code. */
#include "cli/cli.h"
#include "packager/oci.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What the caller can do about a status decides the code: the one table. */
int kiln_exit_code(kiln_status status) {
    switch (status) {
    case KILN_OK:
        return KILN_EXIT_OK;
    case KILN_ERR_ARG:
        return KILN_EXIT_USAGE;
    case KILN_ERR_PARSE:
    case KILN_ERR_SHAPE:
    case KILN_ERR_UNSUPPORTED:
    case KILN_ERR_LIMIT:
    case KILN_ERR_MISSING:
        return KILN_EXIT_INPUT;
    case KILN_ERR_IO:
    case KILN_ERR_LIB:
    case KILN_ERR_OOM:
        return KILN_EXIT_ENVIRONMENT;
    case KILN_ERR_BUG:
        return KILN_EXIT_BUG;
    case KILN_ERR_INTERRUPTED:
        return KILN_EXIT_INTERRUPTED;
    }
    return KILN_EXIT_BUG;
}

/* KILN_ASSERT has printed its text and aborts: the exit code says that kiln is at
 * fault. */
static void on_abort(int signal_number) {
    (void)signal_number;
    static const char text[] =
        "this is a bug in kiln: please report it with the command; for 'kiln build', "
        "'kiln reduce' makes a small example of it\n";
    const ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    (void)written;
    _exit(KILN_EXIT_BUG);
}

static void put_version(kiln_buf *out) {
    const kiln_version_info b = kiln_own_version();
    kiln_buf_printf(out, "kiln %s\ncommit %s\nbuilt by %s, %s\n", KILN_VERSION,
                    b.commit != NULL ? b.commit : "unknown", b.compiler, b.variant);
}

kiln_status kiln_verb_unknown(const char *name, kiln_err *err) {
    const kiln_verb *near = NULL;
    int near_distance = 3;
    for (size_t i = 0; kiln_verb_at(i) != NULL; i++) {
        const int d = kiln_edit_distance(name, kiln_verb_at(i)->name);
        if (d < near_distance) {
            near_distance = d;
            near = kiln_verb_at(i);
        }
    }
    if (near != NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "kiln has no verb '%.64s'; did you mean '%s'?", name,
                         near->name);
    return kiln_fail(err, KILN_ERR_ARG, "kiln has no verb '%.64s'; see kiln --help",
                     name);
}

/* Of packages in an OCI layout the archives: "oci:" begins no other name. */
static kiln_status resolve_oci(kiln_arena *a, const kiln_verb *v, kiln_cli_args *args,
                               kiln_err *err) {
    const char **pos = kiln_array(a, const char *, args->n_pos);
    for (size_t i = 0; i < args->n_pos; i++) {
        pos[i] = args->pos[i];
        if (v->takes_oci && kiln_oci_is_reference(pos[i]))
            KILN_TRY(kiln_oci_resolve(a, args->pos[i], &pos[i], err));
    }
    args->pos = pos;
    return KILN_OK;
}

static kiln_status run_verb(kiln_arena *a, const kiln_verb *v, int argc,
                            const char *const *argv, int *code, kiln_err *err) {
    kiln_cli_args args;
    bool wants_help = false;
    kiln_buf text;
    KILN_TRY(kiln_args_parse(a, v, argc, argv, &args, &wants_help, err));
    if (!wants_help) {
        KILN_TRY(resolve_oci(a, v, &args, err));
        kiln_cli_screen_open(&args);
        const kiln_status st = v->run(&args, code, err);
        kiln_cli_screen_close();
        KILN_ASSERT(*code >= KILN_EXIT_OK && *code <= KILN_EXIT_INTERRUPTED,
                    "kiln %s ends with %d", v->name, *code);
        return st;
    }
    kiln_buf_init(&text, a);
    kiln_verb_text(v, &text);
    return kiln_cli_output(NULL, kiln_buf_str(&text), err);
}

static bool is_one_of(const char *word, const char *x, const char *y, const char *z) {
    return strcmp(word, x) == 0 || strcmp(word, y) == 0 || strcmp(word, z) == 0;
}

/* argv: behind the program, one word at least. */
static kiln_status run(kiln_arena *a, int argc, const char *const *argv, int *code,
                       kiln_err *err) {
    KILN_ASSERT(argc > 0 && argv[0] != NULL, "no word behind the program");
    const bool asks_help = is_one_of(argv[0], "--help", "-h", "help");
    const kiln_verb *v = asks_help ? &kiln_verb_help : kiln_verb_find(argv[0]);
    kiln_buf text;
    if (v != NULL) {
        int n = 0;
        v = kiln_verb_descend(v, argc - 1, argv + 1, &n);
        return run_verb(a, v, argc - 1 - n, argv + 1 + n, code, err);
    }
    if (!is_one_of(argv[0], "--version", "-V", "version"))
        return kiln_verb_unknown(argv[0], err);
    kiln_buf_init(&text, a);
    put_version(&text);
    return kiln_cli_output(NULL, kiln_buf_str(&text), err);
}

int main(int argc, char **argv) {
    signal(SIGABRT, on_abort);
    signal(SIGXFSZ, SIG_IGN); /* a limit of files' sizes is said as a full disk is */
    kiln_arena arena;
    kiln_err err = {.status = KILN_OK};
    int code = KILN_EXIT_OK;
    kiln_status st = KILN_OK;
    kiln_arena_init(&arena);
    if (argc < 2) {
        kiln_buf text;
        kiln_buf_init(&text, &arena);
        kiln_cli_help(&text);
        (void)fwrite(text.p, 1, text.n, stderr);
        code = KILN_EXIT_USAGE;
    } else {
        st = run(&arena, argc - 1, (const char *const *)(argv + 1), &code, &err);
    }
    if (st != KILN_OK) {
        kiln_cli_print_error(err.text);
        code = kiln_exit_code(st);
    }
    kiln_arena_fini(&arena);
    return code;
}
