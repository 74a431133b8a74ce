/* Files and folders: atomic writing, mapped reading, listing, removing without
 * following links. */
#include "base/core/resting.h"
#include "tests/support/kiln_test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char *in(const char *dir, const char *name) {
    return kiln_path_join(kiln_test_arena(), dir, name);
}

static void write_text(const char *path, const char *text) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(path, text, strlen(text), &err), &err);
}

static void assert_holds(const char *path, const char *text) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_str got;
    kiln_assert_status_ok(kiln_file_map(&a, path, 0, &got, &err), &err);
    assert_true(kiln_str_is(got, text));
    kiln_arena_fini(&a);
}

/* The names in a folder, each followed by a blank. */
static const char *listing(const char *dir) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    char **names = NULL;
    size_t n = 0;
    kiln_assert_status_ok(kiln_dir_list(a, dir, &names, &n, &err), &err);
    kiln_buf b;
    kiln_buf_init(&b, a);
    for (size_t i = 0; i < n; i++)
        kiln_buf_printf(&b, "%s ", names[i]);
    return kiln_buf_str(&b).p;
}

static void writes_and_replaces_a_file(void **state) {
    (void)state;
    const char *dir = kiln_test_dir(), *path = in(dir, "x");
    write_text(path, "first, and longer");
    assert_holds(path, "first, and longer");
    write_text(path, "second");
    assert_holds(path, "second");
    write_text(path, "");
    assert_holds(path, "");
    assert_string_equal(listing(dir), "x "); /* no temporary file stays */
}

static void writes_into_the_working_folder(void **state) {
    (void)state;
    const char *dir = kiln_test_dir();
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(dir), 0);
    kiln_err err = {0};
    const kiln_status st = kiln_file_write("plain", "text", 4, &err);
    assert_int_equal(chdir(before), 0);
    kiln_assert_status_ok(st, &err);
    assert_holds(in(dir, "plain"), "text");
}

static void writes_under_the_longest_name(void **state) {
    (void)state;
    char name[256];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    const char *path = in(kiln_test_dir(), name);
    write_text(path, "text");
    assert_holds(path, "text");
}

static void writer_joins_pieces_of_any_size(void **state) {
    (void)state;
    const char *dir = kiln_test_dir(), *path = in(dir, "pieces");
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    kiln_buf want;
    kiln_buf_init(&want, &a);
    kiln_file_writer *w = NULL;
    kiln_assert_status_ok(kiln_file_writer_open(&w, path, &err), &err);
    static unsigned char piece[200000];
    for (int i = 0; i < 60; i++) {
        const size_t n = (size_t)kiln_rng_range(&rng, 0, i % 6 == 0 ? 199999 : 3000);
        memset(piece, i, n);
        kiln_buf_add(&want, piece, n);
        kiln_assert_status_ok(kiln_file_writer_add(w, piece, n, &err), &err);
    }
    assert_false(kiln_file_exists(path)); /* not before the commit */
    kiln_assert_status_ok(kiln_file_writer_commit(w, &err), &err);
    kiln_str got;
    kiln_assert_status_ok(kiln_file_map(&a, path, 0, &got, &err), &err);
    assert_true(kiln_str_eq(got, kiln_buf_str(&want)));
    kiln_arena_fini(&a);
}

static void closing_a_writer_leaves_the_old_file(void **state) {
    (void)state;
    const char *dir = kiln_test_dir(), *path = in(dir, "x");
    write_text(path, "old");
    kiln_err err = {0};
    kiln_file_writer *w = NULL;
    kiln_assert_status_ok(kiln_file_writer_open(&w, path, &err), &err);
    kiln_assert_status_ok(kiln_file_writer_add(w, "new", 3, &err), &err);
    kiln_file_writer_close(w);
    kiln_file_writer_close(NULL);
    assert_holds(path, "old");
    assert_string_equal(listing(dir), "x ");
}

/* The size limit of a process stands for a full disk: write fails with EFBIG in the
 * middle. */
static void write_past_the_limit(void *arg) {
    const char *path = arg;
    static char data[300000];
    const struct rlimit limit = {100000, 100000};
    kiln_err err = {0};
    if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || setrlimit(RLIMIT_FSIZE, &limit) != 0)
        _exit(9);
    const kiln_status st = kiln_file_write(path, data, sizeof data, &err);
    fprintf(stderr, "%s: %s", kiln_status_name(st), err.text);
}

static void a_failed_write_leaves_the_old_file(void **state) {
    (void)state;
    const char *dir = kiln_test_dir();
    char *path = in(dir, "x");
    write_text(path, "old");
    kiln_test_death child;
    kiln_test_in_child(write_past_the_limit, path, &child);
    assert_int_equal(child.exit_code, 0);
    assert_string_equal(child.stderr_text,
                        kiln_format(kiln_test_arena(), "IO: cannot write '%s': %s%s",
                                    path, strerror(EFBIG), kiln_errno_remedy(EFBIG)));
    assert_holds(path, "old");
    assert_string_equal(listing(dir), "x ");
}

static void write_names_path_and_reason(void **state) {
    (void)state;
    const char *dir = kiln_test_dir();
    kiln_err err = {0};
    kiln_assert_fails(kiln_file_write(in(dir, "no/such/x"), "a", 1, &err), KILN_ERR_IO,
                      &err, "no/such/x': No such file or directory");
    assert_int_equal(mkdir(in(dir, "folder"), 0777), 0);
    kiln_assert_fails(kiln_file_write(in(dir, "folder"), "a", 1, &err), KILN_ERR_IO,
                      &err, "folder': Is a directory");
    assert_string_equal(listing(dir), "folder ");
}

static void map_refuses_what_is_no_file(void **state) {
    (void)state;
    const char *dir = kiln_test_dir();
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_str got = {"untouched", 9};
    kiln_assert_fails(kiln_file_map(&a, in(dir, "none"), 0, &got, &err),
                      KILN_ERR_MISSING, &err, "none': No such file or directory");
    kiln_assert_fails(kiln_file_map(&a, dir, 0, &got, &err), KILN_ERR_IO, &err,
                      "not a regular file");
    const char *fifo = in(dir, "fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    kiln_assert_fails(kiln_file_map(&a, fifo, 0, &got, &err), KILN_ERR_IO, &err,
                      "not a regular file"); /* and did not wait for a writer */
    assert_true(kiln_str_is(got, "untouched"));
    kiln_arena_fini(&a);
}

static void map_holds_size_against_the_limit(void **state) {
    (void)state;
    const char *path = in(kiln_test_dir(), "x");
    write_text(path, "12345");
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_str got;
    kiln_assert_status_ok(kiln_file_map(&a, path, 5, &got, &err), &err);
    kiln_assert_fails(kiln_file_map(&a, path, 4, &got, &err), KILN_ERR_LIMIT, &err,
                      "x' has 5 bytes; at most 4 are read");
    kiln_arena_fini(&a);
}

static void map_outlives_replacing_the_file(void **state) {
    (void)state;
    const char *path = in(kiln_test_dir(), "x");
    write_text(path, "before");
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_str got;
    kiln_assert_status_ok(kiln_file_map(&a, path, 0, &got, &err), &err);
    write_text(path, "behind");
    assert_true(kiln_str_is(got, "before"));
    kiln_arena_fini(&a);
}

/* Pages that may rest are read again; what is no mapping of the arena is left alone. */
static void pages_that_rest_come_back(void **state) {
    (void)state;
    enum { BYTES = 3 * 65536 + 7 };
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_str got;
    const char *const path = in(kiln_test_dir(), "large");
    char *const text = kiln_arena_alloc(&a, BYTES);
    for (int i = 0; i < BYTES; i++)
        text[i] = (char)('a' + i % 23);
    kiln_assert_status_ok(kiln_file_write(path, text, BYTES, &err), &err);
    kiln_assert_status_ok(kiln_file_map(&a, path, 0, &got, &err), &err);
    assert_memory_equal(got.p, text, BYTES);
    kiln_file_rest(&a, got.p + 5000, BYTES); /* more than there is behind it */
    kiln_file_rest(&a, got.p, 0);
    kiln_file_rest(&a, text, BYTES);
    assert_memory_equal(got.p, text, BYTES);
    for (int i = 0; i < BYTES; i++)
        assert_int_equal(text[i], 'a' + i % 23);
    kiln_arena_fini(&a);
}

static void makes_folders_with_parents(void **state) {
    (void)state;
    const char *dir = kiln_test_dir();
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_dir_make(in(dir, "a/b//c/"), &err), &err);
    kiln_assert_status_ok(kiln_dir_make(in(dir, "a/b/c"), &err), &err);
    assert_true(kiln_dir_exists(in(dir, "a/b/c")));
    assert_false(kiln_file_exists(in(dir, "a/b/c")));
    kiln_assert_status_ok(kiln_dir_make("/", &err), &err);
    write_text(in(dir, "file"), "");
    kiln_assert_fails(kiln_dir_make(in(dir, "file"), &err), KILN_ERR_IO, &err,
                      "file': Not a directory");
    kiln_assert_fails(kiln_dir_make(in(dir, "file/below"), &err), KILN_ERR_IO, &err,
                      "file/below': Not a directory");
    kiln_assert_fails(kiln_dir_make("", &err), KILN_ERR_IO, &err, "No such file");
}

static void lists_sorted_by_bytes(void **state) {
    (void)state;
    const char *dir = kiln_test_dir();
    assert_string_equal(listing(dir), "");
    static const char *const names[] = {"b", "a10",     "a2", "\xC3\xA9",
                                        "B", ".hidden", "a"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        write_text(in(dir, names[i]), "");
    assert_string_equal(listing(dir), ".hidden B a a10 a2 b \xC3\xA9 ");
    kiln_err err = {0};
    char **out = NULL;
    size_t n = 0;
    kiln_assert_fails(kiln_dir_list(kiln_test_arena(), in(dir, "none"), &out, &n, &err),
                      KILN_ERR_MISSING, &err, "none': No such file");
}

static void removes_a_tree_but_not_behind_links(void **state) {
    (void)state;
    const char *dir = kiln_test_dir();
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_dir_make(in(dir, "keep"), &err), &err);
    kiln_assert_status_ok(kiln_dir_make(in(dir, "tree/a/b"), &err), &err);
    write_text(in(dir, "keep/x"), "precious");
    for (int i = 0; i < 300; i++)
        write_text(in(dir, kiln_format(kiln_test_arena(), "tree/a/%d", i)), "");
    assert_int_equal(symlink("../keep", in(dir, "tree/link")), 0);
    assert_int_equal(symlink("keep", in(dir, "outer")), 0);
    assert_int_equal(symlink("nowhere", in(dir, "tree/a/dangling")), 0);
    kiln_assert_status_ok(kiln_remove_tree(in(dir, "tree"), &err), &err);
    kiln_assert_status_ok(kiln_remove_tree(in(dir, "outer/"), &err), &err);
    assert_string_equal(listing(dir), "keep ");
    assert_holds(in(dir, "keep/x"), "precious");
    kiln_assert_status_ok(kiln_remove_tree(in(dir, "keep/x"), &err), &err);
    kiln_assert_status_ok(kiln_remove_tree(in(dir, "none"), &err), &err);
    assert_string_equal(listing(in(dir, "keep")), "");
}

static void remove_says_what_it_cannot(void **state) {
    (void)state;
    kiln_err err = {0};
    if (geteuid() == 0)
        kiln_test_skip("root may remove anything");
    const char *dir = kiln_test_dir();
    kiln_assert_status_ok(kiln_dir_make(in(dir, "shut"), &err), &err);
    write_text(in(dir, "shut/x"), "");
    assert_int_equal(chmod(in(dir, "shut"), 0500), 0);
    const kiln_status st = kiln_remove_tree(in(dir, "shut"), &err);
    assert_int_equal(chmod(in(dir, "shut"), 0700), 0);
    kiln_assert_fails(st, KILN_ERR_IO, &err, "shut': Permission denied");
}

typedef struct path_row {
    const char *name, *dir, *file, *want_join, *want_dir, *want_base;
} path_row;

static path_row path_rows[] = {
    /* dir and base of what was joined */
    {"path_puts_one_slash_between", "a/b", "c", "a/b/c", "a/b", "c"},
    {"path_keeps_one_slash_only", "a//", "c", "a/c", "a", "c"},
    {"path_below_the_root", "/", "c", "/c", "/", "c"},
    {"path_of_an_absolute_name", "a", "/b/c", "/b/c", "/b", "c"},
    {"path_of_an_empty_folder", "", "c", "c", ".", "c"},
    {"path_of_a_dot", ".", "c", "./c", ".", "c"},
    {"path_with_slashes_inside", "a", "b//c", "a/b//c", "a/b", "c"},
    {"path_of_an_empty_name", "a", "", "a/", "a", ""},
};

static void check_path(void **state) {
    const path_row *r = *state;
    kiln_arena a = {0};
    const char *joined = kiln_path_join(&a, r->dir, r->file);
    assert_string_equal(joined, r->want_join);
    assert_string_equal(kiln_path_dir(&a, joined), r->want_dir);
    assert_string_equal(kiln_path_base(joined), r->want_base);
    kiln_arena_fini(&a);
}

typedef struct contained_row {
    const char *name;
    kiln_str path;
    bool want;
} contained_row;

static contained_row contained_rows[] = {
    {"contains_a_name", {"a", 1}, true},
    {"contains_a_path", {"a/b.c/..d/e..", 13}, true},
    {"contains_utf8", {"\xC3\xA9", 2}, true},
    {"does_not_contain_nothing", {"", 0}, false},
    {"does_not_contain_absolute_paths", {"/a", 2}, false},
    {"does_not_contain_the_parent", {"..", 2}, false},
    {"does_not_contain_the_parent_inside", {"a/../b", 6}, false},
    {"does_not_contain_the_parent_at_the_end", {"a/..", 4}, false},
    {"does_not_contain_a_dot", {"./a", 3}, false},
    {"does_not_contain_an_empty_part", {"a//b", 4}, false},
    {"does_not_contain_a_slash_at_the_end", {"a/", 2}, false},
    {"does_not_contain_backslashes", {"a\\b", 3}, false},
    {"does_not_contain_a_terminator", {"a\0b", 3}, false},
    {"does_not_contain_newlines", {"a\nb", 3}, false},
    {"does_not_contain_delete", {"a\x7F", 2}, false},
};

static void check_contained(void **state) {
    const contained_row *r = *state;
    assert_int_equal(kiln_path_is_contained(r->path), r->want);
}

static void real_paths_have_no_links(void **state) {
    const char *dir = kiln_test_dir(), *real = NULL, *got = NULL;
    const char *link = kiln_path_join(kiln_test_arena(), dir, "link");
    kiln_err err = {0};
    (void)state;
    kiln_assert_status_ok(kiln_path_real(kiln_test_arena(), dir, &real, &err), &err);
    assert_true(real[0] == '/');
    assert_int_equal(symlink(dir, link), 0);
    kiln_assert_status_ok(kiln_path_real(kiln_test_arena(),
                                         kiln_path_join(kiln_test_arena(), link, "."),
                                         &got, &err),
                          &err);
    assert_string_equal(got, real);
    kiln_assert_fails(kiln_path_real(kiln_test_arena(), "no/such/thing", &got, &err),
                      KILN_ERR_MISSING, &err, "cannot find 'no/such/thing'");
}

/* ---- what is no regular file ----------------------------------------------------- */

static void devices_stay_devices(void **state) {
    (void)state;
    struct stat st;
    kiln_err err = {0};
    write_text("/dev/null", "gone");
    assert_true(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode));
    kiln_assert_fails(kiln_file_write("/dev/full", "x", 1, &err), KILN_ERR_IO, &err,
                      "cannot write '/dev/full': No space left");
    assert_true(stat("/dev/full", &st) == 0 && S_ISCHR(st.st_mode));
}

static void pipes_get_the_bytes(void **state) {
    (void)state;
    char text[16] = "";
    struct stat st;
    const char *path = in(kiln_test_dir(), "pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    const int fd = open(path, O_RDWR); /* its reader, so that nobody waits */
    assert_true(fd >= 0);
    write_text(path, "hello");
    assert_int_equal(read(fd, text, sizeof text), 5);
    assert_string_equal(text, "hello");
    assert_true(lstat(path, &st) == 0 && S_ISFIFO(st.st_mode));
    close(fd);
}

/* Where it stands, not from the beginning of the file behind it. */
static void descriptors_are_written_where_they_stand(void **state) {
    (void)state;
    const char *path = in(kiln_test_dir(), "out");
    const int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0 && write(fd, "before, ", 8) == 8);
    write_text(kiln_format(kiln_test_arena(), "/dev/fd/%d", fd), "between, ");
    write_text(kiln_format(kiln_test_arena(), "/proc/self/fd/%d", fd), "more");
    assert_int_equal(write(fd, ", after", 7), 7);
    close(fd);
    assert_holds(path, "before, between, more, after");
    kiln_err err = {0};
    kiln_assert_fails(kiln_file_write("/dev/fd/9999", "x", 1, &err), KILN_ERR_IO, &err,
                      "Bad file descriptor");
}

/* ---- what a kill leaves ---------------------------------------------------------- */

static void be_killed_while_writing(void *arg) {
    kiln_file_writer *w = NULL;
    if (kiln_file_writer_open(&w, arg, NULL) == KILN_OK)
        kill(getpid(), SIGKILL);
}

/* The next file in that folder takes it away; one that somebody writes now stays. */
static void files_of_the_killed_go(void **state) {
    (void)state;
    const char *dir = kiln_test_dir(), *other = kiln_test_dir();
    kiln_test_death d;
    kiln_err err = {0};
    kiln_file_writer *w = NULL;
    kiln_test_in_child(be_killed_while_writing, in(dir, "x"), &d);
    assert_int_equal(d.signal, SIGKILL);
    assert_true(kiln_str_starts(kiln_str_from(listing(dir)), ".kiln-"));
    /* A new folder may have the number of one that an earlier test removed, and that was
     * looked through. */
    write_text(in(other, "z"), "elsewhere");
    kiln_assert_status_ok(kiln_file_writer_open(&w, in(dir, "y"), &err), &err);
    const char *living = listing(dir);
    assert_true(kiln_str_ends(kiln_str_from(living), ".tmp ")); /* one name */
    assert_ptr_equal(strchr(living, ' '), strrchr(living, ' '));
    write_text(in(other, "z"), "elsewhere"); /* so that the folder is looked at again */
    write_text(in(dir, "x"), "text");
    assert_true(strstr(listing(dir), kiln_format(kiln_test_arena(), "%.*s",
                                                 (int)strcspn(living, " "), living)) !=
                NULL);
    kiln_assert_status_ok(kiln_file_writer_commit(w, &err), &err);
    assert_string_equal(listing(dir), "x y ");
}

int main(void) {
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(writes_and_replaces_a_file),
        cmocka_unit_test(writes_into_the_working_folder),
        cmocka_unit_test(writes_under_the_longest_name),
        cmocka_unit_test(writer_joins_pieces_of_any_size),
        cmocka_unit_test(closing_a_writer_leaves_the_old_file),
        cmocka_unit_test(a_failed_write_leaves_the_old_file),
        cmocka_unit_test(write_names_path_and_reason),
        cmocka_unit_test(map_refuses_what_is_no_file),
        cmocka_unit_test(map_holds_size_against_the_limit),
        cmocka_unit_test(map_outlives_replacing_the_file),
        cmocka_unit_test(pages_that_rest_come_back),
        cmocka_unit_test(makes_folders_with_parents),
        cmocka_unit_test(lists_sorted_by_bytes),
        cmocka_unit_test(removes_a_tree_but_not_behind_links),
        cmocka_unit_test(remove_says_what_it_cannot),
        cmocka_unit_test(real_paths_have_no_links),
        cmocka_unit_test(devices_stay_devices),
        cmocka_unit_test(pipes_get_the_bytes),
        cmocka_unit_test(descriptors_are_written_where_they_stand),
        cmocka_unit_test(files_of_the_killed_go),
    };
    kiln_test_add_tests(plain);
    kiln_test_add_rows(check_path, path_rows);
    kiln_test_add_rows(check_contained, contained_rows);
    return kiln_test_run("file");
}
