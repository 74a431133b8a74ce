/* Equal contents, equal bytes: one network built twenty times by processes that differ
 * in folder, user, umask, time zone, locale, home, temporary folder, limits and
 * addresses, and several times in one process.
 *
 * The program starts itself: `test_deterministic --build PATH UMASK FILES USER`. */
#include "tests/support/kiln_test.h"
#include "tests/support/package/package_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* All kinds of templates, values that are converted, constants that are shared. */
static const char network[] =
    "graph \"mixed\" { input %x : f32[1,16,12,12] input %w : f32[32,16,3,3] "
    "input %d : f32[32,1,3,3] input %p : f32[20,32,1,1] input %b : f32[20] "
    "input %m : f32[720,24] "
    "%c = conv(%x, %w) {pads=[1,1,1,1]} %r = relu(%c) "
    "%e = conv(%r, %d) {pads=[1,1,1,1], groups=32} %s = add(%e, %r) %t = tanh(%s) "
    "%f = conv(%t, %p, %b) {strides=[2,2]} %g = sigmoid(%f) "
    "%h, %i = split(%g) {axis=1, sizes=[8,12]} "
    "%j = concat(%i, %h) {axis=1} %k = reshape(%j) {shape=[1,720]} "
    "%l = matmul(%k, %m) %n = softmax(%l) %o = transpose(%f) {perm=[0,2,3,1]} "
    "%q = reduce_mean(%o) {axes=[1,2]} output %n output %q output %h }";

typedef struct row {
    const char *name;
    const char *umask, *n_files, *user;
    const char *env[8]; /* @: the row's folder */
    const char *deep;   /* a folder below the row's, to work in */
    bool is_absolute;   /* the path of the archive */
} row;

static row rows[] = {
    {"plain", "022", "1024", "", {NULL}, "", true},
    {"umask_077", "077", "1024", "", {NULL}, "", true},
    {"umask_000", "000", "1024", "", {NULL}, "", true},
    {"umask_027", "027", "1024", "", {"TZ=UTC"}, "", false},
    {"umask_002_group", "002", "1024", "", {"TZ=Asia/Tokyo"}, "", false},
    {"time_zone_west", "022", "1024", "", {"TZ=America/Los_Angeles"}, "", true},
    {"time_zone_east", "022", "1024", "", {"TZ=Pacific/Kiritimati"}, "", true},
    {"time_zone_by_rule", "022", "1024", "", {"TZ=XYZ-13:45"}, "", true},
    {"locale_german", "022", "1024", "", {"LC_ALL=de_DE.UTF-8", "LANG=de"}, "", true},
    {"locale_c", "022", "1024", "", {"LC_ALL=C", "LANGUAGE=tr"}, "", true},
    {"temporary_folder", "022", "1024", "", {"TMPDIR=@"}, "", true},
    {"temporary_folder_with_blanks",
     "022",
     "1024",
     "",
     {"TMPDIR=@/with a blank"},
     "with a blank",
     true},
    {"home", "022", "1024", "", {"HOME=@", "USER=somebody", "LOGNAME=x"}, "", true},
    {"no_home", "022", "1024", "", {"HOME=", "XDG_CACHE_HOME=@"}, "", true},
    {"few_files", "022", "24", "", {NULL}, "", true},
    {"many_files", "022", "4096", "", {NULL}, "", true},
    {"deep_folder", "022", "1024", "", {NULL}, "a/b/c/d/e/f/g/h/i/j/k/l/m", false},
    {"each_object_alone", "022", "1024", "", {"KILN_ARENA_EACH=1"}, "", true},
    {"each_object_alone_and_dirty",
     "077",
     "1024",
     "",
     {"KILN_ARENA_EACH=1", "MALLOC_PERTURB_=170"},
     "x",
     false},
    {"another_user", "022", "1024", "65534", {"HOME=/", "TMPDIR=@"}, "", true},
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };
_Static_assert(N_ROWS == 20, "the acceptance asks for 20");

static const char *test_dir;
static const char *self;            /* this program */
static char first[KILN_SHA256_HEX]; /* of the first row's archive */

/* ---- the child ------------------------------------------------------------------- */

static int build(char **argv) {
    kiln_err err = {0};
    kiln_profile p;
    const long n_files = strtol(argv[2], NULL, 10), user = strtol(argv[3], NULL, 10);
    struct rlimit limit;
    umask((mode_t)strtol(argv[1], NULL, 8));
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 2;
    if ((rlim_t)n_files < limit.rlim_max)
        limit.rlim_cur = (rlim_t)n_files;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 2;
    if (user > 0 && geteuid() == 0 &&
        (setgid((gid_t)user) != 0 || setuid((uid_t)user) != 0))
        return 2;
    kiln_assert_status_ok(kiln_profile_find(kiln_test_arena(), "x86-avx2", &p, &err),
                          &err);
    kiln_test_package_file(network, &p, argv[0]);
    return 0;
}

/* ---- the parent ------------------------------------------------------------------ */

static void make_folder(kiln_arena *a, const char *path) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_dir_make(path, &err), &err);
    for (; strlen(path) > strlen(test_dir); path = kiln_path_dir(a, path))
        assert_int_equal(chmod(path, 0777), 0);
}

static void sha256_of_file(kiln_arena *a, const char *path, char sha256[]) {
    kiln_err err = {0};
    kiln_str file;
    kiln_assert_status_ok(kiln_file_map(a, path, 0, &file, &err), &err);
    kiln_sha256_of(file.p, file.n, sha256);
}

static void check_row(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_process_result result;
    char sha256[KILN_SHA256_HEX];
    const char *env[9] = {NULL};
    const char *own = kiln_path_join(&a, test_dir, r->name);
    const char *dir = r->deep[0] != '\0' ? kiln_path_join(&a, own, r->deep) : own;
    const char *path = kiln_path_join(&a, dir, "built.tar.zst");
    make_folder(&a, dir);
    for (int i = 0; r->env[i] != NULL; i++) {
        kiln_str value = kiln_str_from(r->env[i]), head;
        kiln_str_cut(&value, '@', &head);
        env[i] = strchr(r->env[i], '@') == NULL
                     ? r->env[i]
                     : kiln_format(&a, "%.*s%s%.*s", KILN_STR_ARG(head), own,
                                   KILN_STR_ARG(value));
    }
    const char *const argv[] = {
        self,     "--build",  r->is_absolute ? path : "built.tar.zst",
        r->umask, r->n_files, r->user,
        NULL};
    const kiln_process_options o = {
        .argv = argv, .dir = dir, .env = env, .time_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_assert_status_ok(kiln_process_run(&a, &o, &result, &err), &err);
    if (result.end != KILN_PROCESS_EXITED || result.code != 0)
        fail_msg("%.*s%.*s", KILN_STR_ARG(result.out), KILN_STR_ARG(result.err));
    sha256_of_file(&a, path, sha256);
    if (first[0] == '\0')
        memcpy(first, sha256, sizeof sha256);
    assert_string_equal(sha256, first);
    kiln_arena_fini(&a);
}

/* Other addresses, other things done before. */
static void again_in_one_process(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_profile p;
    char sha256[KILN_SHA256_HEX];
    const char *path = kiln_path_join(&a, test_dir, "again.tar.zst");
    kiln_assert_status_ok(kiln_profile_find(&a, "x86-avx2", &p, &err), &err);
    for (int i = 0; i < 3; i++) {
        kiln_test_package_file(network, &p, path);
        sha256_of_file(&a, path, sha256);
        assert_string_equal(sha256, first);
        kiln_test_package_file(kiln_test_network_text, NULL, path);
        kiln_arena_alloc(&a, (size_t)1000 * 1000 + 1);
    }
    kiln_arena_fini(&a);
}

/* It follows the contents: something else gives something else. */
static void other_contents_differ(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_profile p;
    kiln_package package;
    char sha256[3][KILN_SHA256_HEX];
    const char *path = kiln_path_join(&a, test_dir, "other.tar.zst");
    kiln_assert_status_ok(kiln_profile_find(&a, "x86-avx2", &p, &err), &err);
    kiln_test_package(&a, network, &p, &package);
    kiln_assert_status_ok(kiln_package_write(&package, path, sha256[0], &err), &err);
    package.time_s++;
    kiln_assert_status_ok(kiln_package_write(&package, path, sha256[1], &err), &err);
    package.time_s--;
    package.facts.version = "2";
    kiln_assert_status_ok(kiln_package_write(&package, path, sha256[2], &err), &err);
    assert_string_equal(sha256[0], first);
    assert_string_not_equal(sha256[0], sha256[1]);
    assert_string_not_equal(sha256[0], sha256[2]);
    kiln_arena_fini(&a);
}

int main(int argc, char **argv) {
    if (argc == 6 && strcmp(argv[1], "--build") == 0)
        return build(argv + 2);
    char folder[4096];
    if (getcwd(folder, sizeof folder) == NULL)
        return 2;
    self = kiln_path_join(kiln_test_arena(), folder, argv[0]);
    test_dir = kiln_test_dir();
    if (chmod(test_dir, 0711) != 0)
        return 2;
    kiln_test_add_rows(check_row, rows);
    kiln_test_add("again_in_one_process", again_in_one_process, NULL);
    kiln_test_add("other_contents_differ", other_contents_differ, NULL);
    return kiln_test_run("package determinism");
}
