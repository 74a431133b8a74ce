/* Networks whose code asks the system for what it may not, ends itself, or eats memory:
 * the verdict says what it did, nothing outside of it is touched, and the same runner
 * runs the next network. The kernels are those that lie to the fleet. */
#include <string.h>
#include <sys/stat.h>

#include "compiler/reference/reference.h"
#include "pipeline/kernels/op_line.h"
#include "pipeline/remote/remote.h"
#include "tests/support/kiln_test.h"
#include "tests/support/measuring/measure_run.h"

enum { N = 64, PORT = 47116 };

typedef struct row {
    const char *name; /* of the lie */
    const char *text;
} row;

static row rows[] = {
    {"forks", "it called 'clone'"},
    {"forks_later", "it called 'clone'"},
    {"leaves_a_daemon", "it called 'clone'"},
    {"runs_a_program", "it called 'clone'"},
    {"opens_a_socket", "it called 'socket'"},
    {"listens", "it called 'socket'"},
    {"unlinks", "it called 'unlinkat'"},
    {"truncates", "it called 'truncate'"},
    {"writes_a_file", "it called 'openat'"},
    {"makes_a_file", "it called 'openat'"},
    {"renames", "it called 'renameat2'"},
    {"links", "it called 'symlinkat'"},
    {"makes_a_folder", "it called 'mkdirat'"},
    {"changes_modes", "it called 'fchmodat'"},
    {"maps_a_file", "it called 'openat'"},
    {"kills_its_parent", "it called 'getppid'"},
    {"kills_itself", "it called 'kill'"},
    {"traces_its_parent", "it called 'getppid'"},
    {"takes_signals", "it called 'rt_sigaction'"},
    {"stops_its_timer", "it called 'setitimer'"},
    {"takes_priority", "it called 'setpriority'"},
    {"exits", "ended with code 0"},
    {"crashes", "was ended by signal 11"},
    {"overflows_its_stack", "was ended by signal 11"},
    {"returns_7", "7"},
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

/* y = max(x, 0) over N elements, as it is compiled. */
static kiln_graph *compile(kiln_arena *a, kiln_network *n) {
    kiln_err err = {0};
    kiln_op_line line;
    kiln_op_work work;
    kiln_profile *p = kiln_new(a, kiln_profile);
    kiln_assert_status_ok(kiln_profile_detect(a, p, &err), &err);
    kiln_assert_status_ok(kiln_op_line_of(a, "relu R in=f32[64]", &line, &err), &err);
    kiln_assert_status_ok(kiln_op_work_make(a, &line, &work, &err), &err);
    kiln_assert_status_ok(kiln_network_compile(a, work.graph, p, NULL, n, &err), &err);
    assert_int_equal(n->kernel.n, 1);
    return work.graph;
}

static void put_object(kiln_arena *a, const char *path, kiln_network *n) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_map(a, path, 0, &n->kernel.v[0].object.bytes, &err),
                          &err);
}

/* Further options are read from a file. */
static const char *lie_of(kiln_arena *a, const char *name, const char *symbol,
                          const char *sandbox) {
    const char *dir = kiln_test_dir();
    const char *options = kiln_path_join(a, dir, "options");
    const char *text = kiln_format(a,
                                   "-D_GNU_SOURCE -DLIE_ELEMS=%d -DPORT=%d "
                                   "-DSANDBOX='\"%s\"' -Dlie_%s=%s",
                                   N, PORT, sandbox, name, symbol);
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(options, text, strlen(text), &err), &err);
    kiln_test_compile_kernel_as(a, "tests/pipeline/measure/lying_kernels_linux.c", name,
                                dir, symbol, kiln_format(a, "@%s", options));
    return kiln_path_join(a, dir, kiln_format(a, "%s.o", name));
}

static kiln_status run(kiln_arena *a, const kiln_network *n, const kiln_tensor *in,
                       const kiln_remote_options *o, int runs, float *y,
                       kiln_err *err) {
    const kiln_remote_order many = {.runs = runs};
    kiln_remote_turn turn;
    kiln_remote *r = NULL;
    size_t bytes;
    int session;
    KILN_TRY(kiln_remote_of_network(a, n, in, 1, o, &r, err));
    KILN_TRY(kiln_remote_session(r, 2, &session, &bytes, err));
    KILN_TRY(kiln_remote_take_turn(r, session, &many, &turn, err));
    return kiln_remote_output(r, session, 0, y, err);
}

static void check_good(kiln_arena *a, const kiln_network *n, const kiln_tensor *in,
                       const kiln_remote_options *o) {
    kiln_err err = {0};
    const float *x = in->data;
    float y[N];
    kiln_assert_status_ok(run(a, n, in, o, 3, y, &err), &err);
    for (int i = 0; i < N; i++)
        assert_true(y[i] == (x[i] > 0 ? x[i] : 0));
}

static void check_sandbox(kiln_arena *a, const char *dir) {
    kiln_err err = {0};
    char **entry;
    size_t n;
    kiln_str text;
    struct stat st;
    const char *path = kiln_path_join(a, dir, "a");
    kiln_assert_status_ok(kiln_dir_list(a, dir, &entry, &n, &err), &err);
    assert_int_equal(n, 1);
    kiln_assert_status_ok(kiln_file_map(a, path, 0, &text, &err), &err);
    assert_true(kiln_str_is(text, "a"));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0666);
}

static void verdicts_name_what_it_did(void **state) {
    enum { RUNS = 60 };
    char why[KILN_CONFINE_TEXT];
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_network good, bad;
    float y[N];
    (void)state;
    if (!kiln_confine_works(why))
        kiln_test_skip("%s", why);
    const kiln_apart_options argv = {.argv = kiln_test_worker(&a, "kiln-runner")};
    const kiln_remote_options o = {.apart = kiln_apart_new(&a, &argv),
                                   .has_no_peak = true};
    const char *sandbox = kiln_test_dir();
    const char *file = kiln_path_join(&a, sandbox, "a");
    kiln_test_as_worker_environment();
    kiln_assert_status_ok(kiln_file_write(file, "a", 1, &err), &err);
    assert_int_equal(chmod(file, 0666), 0);
    const kiln_graph *g = compile(&a, &good);
    (void)compile(&a, &bad);
    const kiln_tensor in = kiln_ref_random(&a, &g->inputs.v[0]->type, 5);
    for (int i = 0; i < N_ROWS; i++) {
        put_object(&a, lie_of(&a, rows[i].name, bad.kernel.v[0].symbol, sandbox), &bad);
        const kiln_status st = run(&a, &bad, &in, &o, RUNS, y, &err);
        if (st != KILN_ERR_LIB || strstr(err.text, rows[i].text) == NULL)
            fail_msg("%s: %s", rows[i].name, err.text);
        kiln_err_clear(&err);
        check_good(&a, &good, &in, &o);
    }
    check_sandbox(&a, sandbox);
    kiln_arena_fini(&a);
}

static void memory_has_a_limit(void **state) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_network good, bad;
    float y[N];
    (void)state;
    const kiln_apart_options argv = {.argv = kiln_test_worker(&a, "kiln-runner")};
    const kiln_remote_options o = {.apart = kiln_apart_new(&a, &argv),
                                   .has_no_peak = true,
                                   .data_limit_bytes = UINT64_C(256) << 20};
    const char *dir = kiln_test_dir();
    kiln_test_as_worker_environment();
    const kiln_graph *g = compile(&a, &good);
    (void)compile(&a, &bad);
    const kiln_tensor in = kiln_ref_random(&a, &g->inputs.v[0]->type, 5);
    kiln_test_compile_kernel_as(&a, "tests/pipeline/kernels/failing_kernels.c", "EATS",
                                dir, bad.kernel.v[0].symbol, NULL);
    put_object(&a, kiln_path_join(&a, dir, "EATS.o"), &bad);
    kiln_assert_fails(run(&a, &bad, &in, &o, 1, y, &err), KILN_ERR_LIB, &err, "12");
    kiln_err_clear(&err);
    check_good(&a, &good, &in, &o);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add("verdicts_name_what_it_did", verdicts_name_what_it_did, NULL);
    kiln_test_add("memory_has_a_limit", memory_has_a_limit, NULL);
    return kiln_test_run("guests");
}
