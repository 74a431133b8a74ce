/* The Python virtual environment that holds the wheels. */
#include "pipeline/baselines/baselines_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

enum { ENVIRONMENT_MS = 180000, INSTALL_MS = 1800000, SAID_BYTES = 1000 };

kiln_status kiln_baselines_dir(kiln_arena *a, const char **out, kiln_err *err) {
    const char *own = getenv("KILN_BASELINES"), *data = getenv("XDG_DATA_HOME");
    const char *home = getenv("HOME");
    if (own != NULL && own[0] != '\0') {
        *out = kiln_str_dup(a, own);
        return KILN_OK;
    }
    if (data != NULL && data[0] == '/')
        *out = kiln_path_join(a, data, "kiln/baselines");
    else if (home != NULL && home[0] == '/')
        *out = kiln_path_join(a, home, ".local/share/kiln/baselines");
    else
        return kiln_fail(err, KILN_ERR_ARG,
                         "no place for baselines: neither KILN_BASELINES nor "
                         "XDG_DATA_HOME nor HOME names a folder");
    return KILN_OK;
}

static const char *own_python(kiln_arena *a, const char *dir) {
    return kiln_path_join(a, dir, "bin/python");
}

const char *kiln_baselines_python_named(void) {
    const char *named = getenv("KILN_PYTHON");
    return named != NULL && named[0] != '\0' ? named : NULL;
}

const char *kiln_baselines_python(kiln_arena *a, const char *dir) {
    const char *named = kiln_baselines_python_named();
    if (named == NULL)
        return own_python(a, dir);
    const char *found =
        strchr(named, '/') == NULL ? kiln_program_in_path(a, named) : NULL;
    return found != NULL ? found : named;
}

/* The end of what a program said, for a message. */
static const char *last_words(kiln_arena *a, const kiln_process_result *r) {
    kiln_str said = kiln_str_trim(r->err.n > 0 ? r->err : r->out);
    if (said.n == 0)
        return "it said nothing";
    if (said.n > SAID_BYTES)
        said = (kiln_str){said.p + said.n - SAID_BYTES, SAID_BYTES};
    char *text = kiln_str_dupv(a, said);
    for (char *c = text; *c != '\0'; c++)
        if (*c != '\n' && (*c < ' ' || *c > '~'))
            *c = '?';
    return text;
}

static kiln_status run(kiln_arena *a, const char *const *argv, int64_t limit_ms,
                       const char *remedy, kiln_err *err) {
    const kiln_process_options o = {.argv = argv, .time_limit_ms = limit_ms};
    kiln_process_result r;
    KILN_TRY(kiln_process_run(a, &o, &r, err));
    if (r.end == KILN_PROCESS_TIMED_OUT)
        return kiln_fail(err, KILN_ERR_IO, "'%s' did not end in %d minutes; %s",
                         argv[0], (int)(limit_ms / 60000), remedy);
    if (r.end != KILN_PROCESS_EXITED || r.code != 0)
        return kiln_fail(err, KILN_ERR_IO, "'%s' ended with %s %d; %s. It said:\n%s",
                         argv[0], r.end == KILN_PROCESS_EXITED ? "code" : "signal",
                         r.code, remedy, last_words(a, &r));
    return KILN_OK;
}

static kiln_status make_environment(kiln_arena *a, const char *dir, kiln_err *err) {
    const char *const argv[] = {"python3", "-m", "venv", dir, NULL};
    const kiln_status st = run(
        a, argv, ENVIRONMENT_MS,
        "Python 3.11 or later with venv and pip is needed: Debian's python3-venv", err);
    if (st != KILN_OK)
        kiln_note(err, "making a Python virtual environment in '%s'", dir);
    return st;
}

/* Whole once pip is: that comes last. */
static bool is_environment(kiln_arena *a, const char *dir) {
    kiln_process_result r;
    const char *const argv[] = {own_python(a, dir), "-I", "-m", "pip",
                                "--version",        NULL};
    const kiln_process_options o = {.argv = argv, .time_limit_ms = ENVIRONMENT_MS};
    return kiln_file_exists(argv[0]) && kiln_process_run(a, &o, &r, NULL) == KILN_OK &&
           r.end == KILN_PROCESS_EXITED && r.code == 0;
}

/* ---- what pip is asked for -------------------------------------------------------- */

const char *kiln_wheel_machine(kiln_arena *a) {
    struct utsname u;
    return uname(&u) == 0 ? kiln_str_dup(a, u.machine) : "unknown";
}

static bool fits(const char *wheel, const char *machine) {
    const kiln_wheel *w = kiln_wheel_find(kiln_str_from(wheel));
    KILN_ASSERT(w != NULL, "wheel '%s' has no row", wheel);
    return w->machine[0] == '\0' || strcmp(w->machine, machine) == 0;
}

bool kiln_wheels_fit(const kiln_baseline *b, const char *machine) {
    for (const char *const *w = b->wheel; w != NULL && *w != NULL; w++)
        if (!fits(*w, machine))
            return false;
    return b->wheel != NULL;
}

bool kiln_baseline_has_wheels(const kiln_baseline *b) {
    kiln_arena scratch = {0};
    const bool has = kiln_wheels_fit(b, kiln_wheel_machine(&scratch));
    kiln_arena_fini(&scratch);
    return has;
}

typedef struct asking {
    kiln_arena *arena;
    KILN_VEC(const kiln_wheel *) wheel;
} asking;

/* With all that it needs, each once. */
static void ask_for(asking *q, kiln_str name) {
    const kiln_wheel *w = kiln_wheel_find(name);
    KILN_ASSERT(w != NULL, "wheel '%.*s' has no row", KILN_STR_ARG(name));
    for (size_t i = 0; i < q->wheel.n; i++)
        if (q->wheel.v[i] == w)
            return;
    kiln_vec_push(q->arena, &q->wheel, w);
    kiln_str rest = kiln_str_from(w->needs), other;
    while (rest.n > 0 && kiln_str_cut(&rest, ' ', &other))
        ask_for(q, other);
}

static kiln_status has_none(const kiln_baseline *b, const char *machine,
                            kiln_err *err) {
    if (b->wheel == NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "'%s' comes with kiln: install Debian's %s and build kiln "
                         "again",
                         b->name, b->packages);
    return kiln_fail(err, KILN_ERR_ARG,
                     "there is no wheel of '%s' for this machine (%s)%s%s%s", b->name,
                     machine, b->packages != NULL ? ": install Debian's " : "",
                     b->packages != NULL ? b->packages : "",
                     b->packages != NULL ? " and build kiln again" : "");
}

kiln_status kiln_wheels_requirements(const kiln_baseline *const *which,
                                     const char *machine, kiln_buf *out,
                                     kiln_err *err) {
    asking q = {.arena = out->arena};
    for (size_t i = 0; which[i] != NULL; i++)
        if (kiln_wheels_fit(which[i], machine))
            for (const char *const *w = which[i]->wheel; *w != NULL; w++)
                ask_for(&q, kiln_str_from(*w));
    if (q.wheel.n == 0)
        return has_none(which[0], machine, err);
    for (size_t i = 0; i < q.wheel.n; i++) {
        const kiln_wheel *w = q.wheel.v[i];
        kiln_str rest = kiln_str_from(w->hashes), hash;
        kiln_buf_printf(out, "%s==%s", w->name, w->version);
        while (rest.n > 0 && kiln_str_cut(&rest, ' ', &hash))
            kiln_buf_printf(out, " \\\n    --hash=sha256:%.*s", KILN_STR_ARG(hash));
        kiln_buf_puts(out, "\n");
    }
    return KILN_OK;
}

kiln_status kiln_baselines_install(kiln_arena *a, const char *dir,
                                   const kiln_baseline *const *which, kiln_err *err) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    KILN_TRY(kiln_wheels_requirements(which, kiln_wheel_machine(a), &text, err));
    const char *list = kiln_path_join(a, dir, "requirements.txt");
    const char *const argv[] = {own_python(a, dir),
                                "-I",
                                "-m",
                                "pip",
                                "install",
                                "--quiet",
                                "--no-input",
                                "--disable-pip-version-check",
                                "--only-binary=:all:",
                                "--require-hashes",
                                "--no-deps", /* the list has what is needed */
                                "-r",
                                list,
                                NULL};
    KILN_TRY(kiln_dir_make(dir, err));
    if (!is_environment(a, dir))
        KILN_TRY(make_environment(a, dir, err));
    KILN_TRY(kiln_file_write(list, text.p, text.n, err));
    const kiln_status st =
        run(a, argv, INSTALL_MS,
            "pip needs a network, or to be told of a mirror; the same command goes on "
            "from here",
            err);
    if (st != KILN_OK)
        kiln_note(err, "installing wheels into '%s'", dir);
    return st;
}
