/* The batch script. Paths and options are words of a shell; what a node lacks is said in
 * one line that begins with "error: ", as kiln's own failures are. */
#include "pipeline/fleet/fleet_engine.h"

#include <string.h>

static void put_assignment(kiln_buf *out, const char *name, const char *value) {
    kiln_buf word;
    kiln_buf_init(&word, out->arena);
    kiln_buf_put_word(&word, value);
    kiln_buf_printf(out, "%s=%s\n", name, value[0] != '\0' ? word.p : "''");
}

/* {job}, {member} and {out} are the script's variables: in double quotes, behind what is
 * quoted singly. */
static void put_own_word(kiln_buf *out, const char *text) {
    static const char *const names[] = {"job", "member", "out"};
    kiln_buf_puts(out, " '");
    for (const char *c = text; *c != '\0'; c++) {
        size_t n = 0;
        for (size_t i = 0; *c == '{' && i < sizeof names / sizeof names[0]; i++) {
            const size_t k = strlen(names[i]);
            if (strncmp(c + 1, names[i], k) == 0 && c[k + 1] == '}') {
                kiln_buf_printf(out, "'\"$%s\"'", names[i]);
                n = k + 1;
            }
        }
        if (n > 0)
            c += n;
        else if (*c == '\'')
            kiln_buf_puts(out, "'\\''");
        else
            kiln_buf_add(out, c, 1);
    }
    kiln_buf_puts(out, "'");
}

static void put_command(kiln_buf *out, const kiln_fleet_options *o, bool is_last) {
    const char *const *own = is_last ? o->last : o->each;
    kiln_buf_puts(out, "\"$kiln\"");
    for (size_t i = 0; o->all[i] != NULL; i++)
        kiln_buf_put_word(out, o->all[i]);
    for (size_t i = 0; own[i] != NULL; i++)
        put_own_word(out, own[i]);
    kiln_buf_puts(out, " >\"$out.txt\"\n");
}

void kiln_fleet_script(kiln_buf *out, const kiln_fleet_engine *engine,
                       const kiln_fleet_options *o, bool is_last) {
    kiln_buf_printf(out, "#!/bin/sh\n# %s. Written by kiln, run by %s.\n",
                    is_last ? "The last tuner of a fleet" : "One tuner of a fleet",
                    engine->name);
    put_assignment(out, "kiln", o->program);
    put_assignment(out, "version", o->version);
    put_assignment(out, "dir", o->dir);
    put_assignment(out, "cwd", o->cwd);
    kiln_buf_printf(out, "job=$%s\nmember=%s%s\nout=\"$dir/$job.$member\"\n",
                    is_last ? engine->last_job_variable : engine->job_variable,
                    is_last ? "last" : "$", is_last ? "" : engine->member_variable);
    kiln_buf_puts(
        out,
        "end() {\n"
        "    echo \"$1\" >\"$out.code.new\" && mv \"$out.code.new\" \"$out.code\"\n"
        "    exit \"$1\"\n"
        "}\n"
        "fail() {\n"
        "    echo \"error: node $(uname -n): $*\" >&2\n"
        "    end 4\n"
        "}\n"
        "rm -f \"$out.code\"\n"
        "cd \"$cwd\" || fail \"there is no folder '$cwd'; it must be there on "
        "every node\"\n"
        "test -x \"$kiln\" || fail \"there is no program '$kiln'; install kiln "
        "there, at the same path\"\n"
        "is=$(\"$kiln\" --version 2>&1)\n"
        "test \"$is\" = \"$version\" || fail \"kiln there is another one: $is\"\n");
    put_command(out, o, is_last);
    kiln_buf_puts(out, "end $?\n");
}
