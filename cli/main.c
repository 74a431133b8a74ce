/* The program: finds the verb, parses its arguments, runs it, prints the error chain,
 * maps the code. */
#include "cli/cli.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const kiln_verb *const verbs[] = {
#define KILN_VERB(name) &kiln_verb_##name,
#include "cli/verbs.def"
#undef KILN_VERB
};
enum { N_VERBS = sizeof verbs / sizeof verbs[0] };

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

static void print_help(FILE *out) {
    fprintf(out, "kiln: compiles, tunes, measures and packs neural networks\n\n"
                 "usage: kiln VERB [arguments]\n\nverbs:\n");
    for (int i = 0; i < N_VERBS; i++)
        fprintf(out, "  %-10s %s\n", verbs[i]->name, verbs[i]->summary);
    fprintf(
        out,
        "\n'kiln VERB --help' explains one verb; 'kiln --version' tells the version.\n"
        "exit codes: 0 good, 1 a check failed, 2 wrong usage, 3 bad input,\n"
        "            4 environment or device, 5 a bug in kiln\n");
}

static int unknown_verb(const char *name) {
    const kiln_verb *near = NULL;
    int near_distance = 3;
    for (int i = 0; i < N_VERBS; i++) {
        const int d = kiln_edit_distance(name, verbs[i]->name);
        if (d < near_distance) {
            near_distance = d;
            near = verbs[i];
        }
    }
    fprintf(stderr, "error: kiln has no verb '%s'", name);
    if (near != NULL)
        fprintf(stderr, "; did you mean '%s'?\n", near->name);
    else
        fprintf(stderr, "; see kiln --help\n");
    return KILN_EXIT_USAGE;
}

static int run_verb(kiln_arena *a, const kiln_verb *v, int argc,
                    const char *const *argv) {
    kiln_err err = {0};
    kiln_cli_args args;
    bool wants_help = false;
    int code = KILN_EXIT_OK;
    kiln_status st = kiln_args_parse(a, v, argc, argv, &args, &wants_help, &err);
    if (st == KILN_OK && wants_help) {
        kiln_buf text;
        kiln_buf_init(&text, a);
        kiln_verb_help(v, &text);
        st = kiln_cli_output(NULL, kiln_buf_str(&text), &err);
    } else if (st == KILN_OK) {
        st = v->run(&args, &code, &err);
    }
    if (st != KILN_OK) {
        const kiln_str text = kiln_str_harmless(a, kiln_str_from(err.text));
        fprintf(stderr, "error: %.*s\n", KILN_STR_ARG(text));
        code = kiln_exit_code(st);
    }
    return code;
}

int main(int argc, char **argv) {
    signal(SIGABRT, on_abort);
    if (argc < 2) {
        print_help(stderr);
        return KILN_EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 ||
        strcmp(name, "help") == 0) {
        print_help(stdout);
        return KILN_EXIT_OK;
    }
    if (strcmp(name, "--version") == 0) {
        puts("kiln " KILN_VERSION);
        return KILN_EXIT_OK;
    }
    for (int i = 0; i < N_VERBS; i++) {
        if (strcmp(name, verbs[i]->name) != 0)
            continue;
        kiln_arena arena;
        kiln_arena_init(&arena);
        const int code =
            run_verb(&arena, verbs[i], argc - 2, (const char *const *)(argv + 2));
        kiln_arena_fini(&arena);
        return code;
    }
    return unknown_verb(name);
}
