#include "tests/support/database/db_engine.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/host/child.h"
#include "sql/sql.h"

static bool is_on_postgresql;

/* ---- a test on each engine ------------------------------------------------------- */

typedef struct on_engine {
    bool postgresql;
    void (*check)(void **state);
    void *row;
} on_engine;

static void run_on(void **state) {
    const on_engine *e = *state;
    void *row = e->row;
    is_on_postgresql = e->postgresql;
    if (e->postgresql)
        (void)kiln_test_postgresql();
    e->check(&row);
    is_on_postgresql = false;
}

void kiln_test_add_on_engines(const char *name, void (*check)(void **state),
                              void *row) {
    for (int i = 0; i < 2; i++) {
        on_engine *e = kiln_new(kiln_test_arena(), on_engine);
        *e = (on_engine){i == 1, check, row};
        kiln_test_add(i == 0 ? name
                             : kiln_format(kiln_test_arena(), "%s_on_postgresql", name),
                      run_on, e);
    }
}

bool kiln_test_is_on_postgresql(void) { return is_on_postgresql; }

const char *kiln_test_db_place(const char *name) {
    return is_on_postgresql ? kiln_test_postgresql_place(name)
                            : kiln_path_join(kiln_test_arena(), kiln_test_dir(), name);
}

const char *kiln_test_db_own(void) {
    return is_on_postgresql ? kiln_test_postgresql_place("own") : KILN_SQL_MEMORY;
}

static const char *as_postgresql(const char *text) {
    static const char *const words[][2] = {
        {"PRAGMA foreign_keys = OFF", "SET session_replication_role = replica"},
        {"PRAGMA application_id = 1265194052",
         "CREATE TABLE kiln_identity (application bigint, version bigint);"
         "INSERT INTO kiln_identity VALUES (1265194052, 0)"},
        {"PRAGMA user_version", "UPDATE kiln_identity SET version"},
        {"zeroblob(8)", "decode('0000000000000000', 'hex')"},
        {"zeroblob(7)", "decode('00000000000000', 'hex')"},
        {"x'01'", "decode('01', 'hex')"},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(text, words[i][0]) != NULL)
            text = kiln_test_replaced(text, words[i][0], words[i][1]);
    return text;
}

void kiln_test_db_sql(const char *place, const char *text) {
    kiln_err err = {0};
    kiln_sql *s = NULL;
    const kiln_sql_options o = {.busy_ms = KILN_TEST_PATIENCE_MS,
                                .what = "tuning database",
                                .remedy = "move it away"};
    kiln_assert_status_ok(kiln_sql_open(kiln_test_arena(), place, &o, &s, &err), &err);
    kiln_assert_status_ok(
        kiln_sql_run(s, is_on_postgresql ? as_postgresql(text) : text, &err), &err);
    kiln_sql_close(s);
}

/* ---- the server ------------------------------------------------------------------ */

static const char *folder; /* of its files; NULL: not started */
static const char *programs;
static kiln_child server;
static pid_t owner;

static const char *one_line_of(const char *script) {
    kiln_process_result r = kiln_test_shell(script);
    char *text = kiln_str_dup(kiln_test_arena(), r.out.p);
    text[strcspn(text, "\n")] = '\0';
    return r.end == KILN_PROCESS_EXITED && r.code == 0 ? text : "";
}

/* It refuses to run as root, who steps aside for the user that its package made. */
static const char *aside(void) {
    return geteuid() == 0 ? "setpriv --reuid=postgres --regid=postgres --clear-groups "
                          : "";
}

static void stop(int sig) {
    if (server.pid == 0 || getpid() != owner)
        return;
    kill(server.pid, sig);
    waitpid(server.pid, NULL, 0);
    server.pid = 0;
}
static void stop_at_end(void) { stop(SIGQUIT); }

/* It ends with us, whatever becomes of us. */
static void start(void) {
    kiln_err err = {0};
    kiln_sql *s = NULL;
    const char *place =
        kiln_format(kiln_test_arena(), "postgresql://kiln@/postgres?host=%s", folder);
    const char *script = kiln_format(
        kiln_test_arena(),
        "exec %s%s%s/postgres -D %s/data -k %s -c listen_addresses= -c fsync=off"
        " -c shared_buffers=4MB -c log_min_messages=panic -c max_connections=40"
        " >%s/log 2>&1",
        geteuid() == 0 ? aside() : "setpriv ", "--pdeathsig QUIT ", programs, folder,
        folder, folder);
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    const kiln_cpus any = {0};
    const kiln_sql_options o = {.busy_ms = 1000, .what = "server", .remedy = ""};
    kiln_assert_status_ok(kiln_child_start(argv, -1, &any, &server, &err), &err);
    kiln_status st = KILN_ERR_IO;
    for (int64_t ms = 0; st != KILN_OK && ms < KILN_TEST_PATIENCE_MS; ms += 20) {
        kiln_err_clear(&err);
        poll(NULL, 0, 20);
        st = kiln_sql_open(kiln_test_arena(), place, &o, &s, &err);
    }
    kiln_assert_status_ok(st, &err);
    kiln_sql_close(s);
}

const char *kiln_test_postgresql(void) {
    if (folder != NULL)
        return folder;
    programs =
        one_line_of("d=$(dirname \"$(command -v postgres)\" 2>/dev/null);"
                    "test -x \"$d/initdb\" || d=$(pg_config --bindir 2>/dev/null);"
                    "test -x \"$d/initdb\" && test -x \"$d/postgres\" && echo \"$d\"");
    if (programs[0] == '\0')
        kiln_test_skip("no server of PostgreSQL is installed (apt install postgresql)");
    if (geteuid() == 0 && one_line_of("id -u postgres 2>/dev/null")[0] == '\0')
        kiln_test_skip("a server of PostgreSQL does not run as root, and there is no "
                       "user 'postgres'");
    folder = kiln_test_dir();
    const char *made = one_line_of(kiln_format(
        kiln_test_arena(),
        "cd %s && chmod 755 . && mkdir data && { test $(id -u) != 0 ||"
        " chown postgres . data; } && %s%s/initdb -D %s/data -A trust --no-locale"
        " -E UTF8 --no-sync -U kiln >made 2>&1 && echo yes",
        folder, aside(), programs, folder));
    if (made[0] == '\0')
        fail_msg("initdb failed; %s/made says why", folder);
    owner = getpid();
    atexit(stop_at_end);
    start();
    return folder;
}

const char *kiln_test_postgresql_place(const char *name) {
    static int n;
    const bool was = is_on_postgresql;
    const char *host = kiln_test_postgresql();
    char *schema = kiln_format(kiln_test_arena(), "n%d_%s", n++, name);
    for (char *c = schema; *c != '\0'; c++)
        if (*c == '.' || *c == ' ')
            *c = '_';
    is_on_postgresql = true;
    kiln_test_db_sql(
        kiln_format(kiln_test_arena(), "postgresql://kiln@/postgres?host=%s", host),
        kiln_format(kiln_test_arena(), "CREATE SCHEMA %s", schema));
    is_on_postgresql = was;
    return kiln_format(
        kiln_test_arena(),
        "postgresql://kiln@/postgres?host=%s&options=-csearch_path%%3D%s", host,
        schema);
}

void kiln_test_postgresql_restart(void) {
    stop(SIGQUIT);
    start();
}
