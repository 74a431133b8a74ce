/* The table of verbs, and what kiln --help says of them. */
#include "cli/cli.h"

#include <string.h>

static const kiln_verb *const verbs[] = {
#define KILN_VERB(name) &kiln_verb_##name,
#include "cli/verbs.def"
#undef KILN_VERB
};
enum { N_VERBS = sizeof verbs / sizeof verbs[0] };

const kiln_verb *kiln_verb_at(size_t i) { return i < N_VERBS ? verbs[i] : NULL; }

const kiln_verb *kiln_verb_find(const char *name) {
    for (int i = 0; i < N_VERBS; i++)
        if (strcmp(name, verbs[i]->name) == 0)
            return verbs[i];
    return NULL;
}

const char *kiln_verb_last_word(const kiln_verb *v) {
    const char *space = strrchr(v->name, ' ');
    KILN_ASSERT(space == NULL || space[1] != '\0', "a verb ends in '%s'", v->name);
    return space != NULL ? space + 1 : v->name;
}

const kiln_verb *kiln_verb_descend(const kiln_verb *v, int argc,
                                   const char *const *argv, int *n_taken) {
    *n_taken = 0;
    for (size_t i = 0; argc > 0 && v->sub != NULL && v->sub[i] != NULL; i++)
        if (strcmp(argv[0], kiln_verb_last_word(v->sub[i])) == 0) {
            *n_taken = 1;
            return v->sub[i];
        }
    return v;
}

void kiln_cli_help(kiln_buf *out) {
    kiln_buf_puts(out, "kiln: compiles, tunes, measures and packs neural networks\n\n"
                       "usage: kiln VERB [arguments]\n\nverbs:\n");
    for (int i = 0; i < N_VERBS; i++)
        kiln_buf_printf(out, "  %-10s %s\n", verbs[i]->name, verbs[i]->summary);
    kiln_buf_puts(
        out,
        "\n'kiln help VERB' explains one verb; 'kiln --version' tells the version.\n"
        "exit codes: 0 good, 1 a check failed, 2 wrong usage, 3 bad input,\n"
        "            4 environment or device, 5 a bug in kiln, 6 a gate that could\n"
        "            not compare, 7 interrupted: the same command goes on\n");
}
